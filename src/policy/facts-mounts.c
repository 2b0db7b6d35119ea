/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "policy/facts-mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/io.h"
#include "base/path.h"
#include "policy/facts-answers.h"

/* Thousands of mounts with kilobytes of options each. */
#define MOUNTINFO_MAX ((size_t)64 * 1024 * 1024)

/* The fifth field: id, parent, major:minor, root, mountpoint. */
#define POINT_FIELD 4

static bool is_octal(const char *p, const char *end)
{
	return end - p >= 4 && p[0] == '\\' && p[1] >= '0' && p[1] <= '3' && p[2] >= '0' &&
	       p[2] <= '7' && p[3] >= '0' && p[3] <= '7';
}

const char *facts_mounts_point(struct arena *a, const char *line, size_t len)
{
	const char *end = line + len;
	const char *p = line;
	const char *stop;
	char *out;
	size_t n = 0;

	for (int i = 0; i < POINT_FIELD; i++) {
		p = memchr(p, ' ', (size_t)(end - p));
		if (p == NULL)
			return NULL;
		p++;
	}
	stop = memchr(p, ' ', (size_t)(end - p));
	if (stop == NULL || *p != '/')
		return NULL;
	out = arena_alloc(a, (size_t)(stop - p) + 1);
	while (p < stop) {
		if (is_octal(p, stop)) {
			out[n++] = (char)((p[1] - '0') << 6 | (p[2] - '0') << 3 | (p[3] - '0'));
			p += 4;
		} else {
			out[n++] = *p++;
		}
	}
	return out;
}

/* The first field behind " - ". NULL for a line that has none. */
static const char *mount_type(struct arena *a, const char *line, size_t len)
{
	const char *sep = memmem(line, len, " - ", 3);
	const char *end = line + len;
	const char *stop;

	if (sep == NULL)
		return NULL;
	sep += 3;
	stop = memchr(sep, ' ', (size_t)(end - sep));
	return arena_strndup(a, sep, (size_t)((stop == NULL ? end : stop) - sep));
}

struct mounts {
	struct arena *arena;
	const struct facts_input *in;
	const struct facts_judge *judge;
	const struct facts *facts;
	struct err *err;
};

/* Is this directory above a file of the control plane? Then the file has a name in the root that
 * is not the one it is hidden under. */
static bool holds_control(const struct mounts *m, const struct facts_object *o)
{
	for (size_t i = 0; i < m->in->profile->files.n; i++) {
		const char *dir = m->in->profile->files.v[i].real;
		struct stat st;

		for (; dir != NULL && dir[1] != '\0'; dir = path_dirname(m->arena, dir)) {
			if (stat(dir, &st) != 0 ||
			    (st.st_ino == o->id.ino &&
			     st.st_dev == makedev(o->id.dev_major, o->id.dev_minor)))
				return true;
		}
	}
	return false;
}

static int check_mount(struct mounts *m, const struct facts_root *root, const char *point,
		       const char *type)
{
	const struct profile_pos *pos = &root->root->pos;
	struct facts_object o;
	int r = facts_object_open(m->arena, AT_FDCWD, point, false, &o);

	/* What the caller cannot reach, the command cannot either; something else may be mounted
	 * over it, which has a line of its own. */
	if (r == -ENOENT || r == -EACCES || r == -ENOTDIR)
		return 0;
	if (r < 0)
		return err_set(m->err, ERR_HOST, -r, "the mount '%s' below a root", point);
	/* What somebody serves is no file system of the kernel's, and need not answer. */
	if (S_ISDIR(o.mode) || S_ISREG(o.mode))
		r = (facts_is_served(type) ? facts_judge_place : facts_judge)(
			m->judge, &o, "the mount below a root", point, pos, m->err);
	if (r == 0 && holds_control(m, &o))
		r = err_set_at(m->err, ERR_PROFILE, pos->file, pos->line, pos->col,
			       "below root '%s', '%s' is a mount that shows the profile: it cannot "
			       "be hidden there",
			       root->root->path, point);
	fd_close(&o.fd);
	return r;
}

static int unreadable(struct err *err)
{
	return err_set(err, ERR_HOST, 0, "/proc/self/mountinfo cannot be read");
}

static int check_point(struct mounts *m, const char *point, const char *line, size_t len)
{
	for (size_t i = 0; i < m->facts->roots.n; i++) {
		const struct facts_root *root = &m->facts->roots.v[i];
		const char *type;

		if (!root->present || !path_covers(root->object.path, point) ||
		    strcmp(root->object.path, point) == 0)
			continue;
		type = mount_type(m->arena, line, len);
		return type == NULL ? unreadable(m->err) : check_mount(m, root, point, type);
	}
	return 0;
}

static bool has_directory(const struct facts *f)
{
	for (size_t i = 0; i < f->roots.n; i++) {
		if (f->roots.v[i].present && S_ISDIR(f->roots.v[i].object.mode))
			return true;
	}
	return false;
}

static int table_read(struct facts_answers *s)
{
	FD_AUTO fd = -1;
	char *text = NULL;
	int r;

	if (s->table != NULL)
		return 0;
	fd = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
	r = fd < 0 ? -errno : io_read_file(fd, MOUNTINFO_MAX, s->arena, &text, &s->table_len);
	if (r == 0)
		s->table = text;
	return r;
}

int facts_mounts_served(struct facts_answers *s, uint64_t mnt_id)
{
	int r = table_read(s);

	if (r < 0)
		return r;
	for (const char *line = s->table, *last = line + s->table_len; line < last;) {
		const char *end = memchr(line, '\n', (size_t)(last - line));
		const char *type;
		char *stop;

		if (end == NULL)
			end = last;
		if (strtoull(line, &stop, 10) == mnt_id && stop > line && *stop == ' ') {
			type = mount_type(s->arena, line, (size_t)(end - line));
			return type == NULL ? -EINVAL : facts_is_served(type);
		}
		line = end + 1;
	}
	/* Mounted meanwhile, or seen from another root: it is asked. */
	return 1;
}

int facts_mounts_check(struct arena *a, const struct facts_input *in,
		       const struct facts_judge *judge, const struct facts *f, struct err *err)
{
	struct mounts m = { .arena = a, .in = in, .judge = judge, .facts = f, .err = err };
	int r;

	if (!has_directory(f))
		return 0;
	/* Not the one that the roots were looked at with: that is older than the copy of the mounts
	 * that the child builds from, and what was mounted between the two is in the copy. */
	f->answers->table = NULL;
	r = table_read(f->answers);
	if (r < 0)
		return err_set(err, ERR_HOST, -r, "/proc/self/mountinfo");
	for (const char *line = f->answers->table, *last = line + f->answers->table_len;
	     line < last;) {
		const char *end = memchr(line, '\n', (size_t)(last - line));
		const char *point;

		if (end == NULL)
			end = last;
		point = facts_mounts_point(a, line, (size_t)(end - line));
		if (point == NULL)
			return unreadable(err);
		if (check_point(&m, point, line, (size_t)(end - line)) != 0)
			return -1;
		line = end + 1;
	}
	return 0;
}
