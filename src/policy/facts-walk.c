/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* facts-walk - names in a directory; and those below it, one after the other: no recursion, one
 * descriptor at a time, and memory for directories alone. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "policy/facts-answers.h"
#include "policy/facts-roots.h"

#define WALK_BUF 32768

struct walk {
	struct facts_walk *w;
	ARRAY_OF(const char *) dirs; /* to be listed */
	char rel[PATH_MAX];
	size_t len; /* of the directory in rel, with its slash */
};

static int walk_open(const struct walk *k, const char *rel)
{
	return facts_answers_dir(k->w->answers, k->w->dirfd, rel[0] == '\0' ? "." : rel,
				 RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);
}

/* DT_*; DT_UNKNOWN: gone meanwhile. */
static int walk_type(int fd, const struct dirent64 *e)
{
	struct stat st;
	int r;

	if (e->d_type != DT_UNKNOWN)
		return e->d_type;
	r = facts_look(fd, e->d_name, &st);
	return r > 0 ? (int)IFTODT(st.st_mode) : r < 0 ? r : DT_UNKNOWN;
}

static int walk_name(struct walk *k, int fd, const struct dirent64 *e)
{
	size_t len = strlen(e->d_name);
	int type, r;

	if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
		return 0;
	if (++k->w->names > k->w->max)
		return -E2BIG;
	if (k->len + len >= sizeof(k->rel))
		return -ENAMETOOLONG;
	type = walk_type(fd, e);
	if (type <= 0)
		return type;
	memcpy(k->rel + k->len, e->d_name, len + 1);
	r = k->w->fn(k->w->ctx, k->rel, type, e->d_ino);
	if (r > 0 && type == DT_DIR)
		*array_push(k->w->arena, &k->dirs) = arena_strdup(k->w->arena, k->rel);
	return r < 0 ? r : 0;
}

static int walk_dir(struct walk *k, const char *rel)
{
	_Alignas(struct dirent64) char buf[WALK_BUF];
	FD_AUTO fd = walk_open(k, rel);
	ssize_t n;

	/* Closed to the caller, as whom the programs run: they know names in it, or open it. Or it
	 * does not answer now, and will later. */
	if (fd == -EACCES)
		return k->w->fn(k->w->ctx, rel, DT_UNKNOWN, 0) < 0 ? -EACCES : 0;
	/* Gone, or replaced. */
	if (fd == -ENOENT || fd == -ENOTDIR || fd == -ELOOP)
		return 0;
	if (fd < 0)
		return fd;
	k->len = strlen(rel);
	memcpy(k->rel, rel, k->len);
	if (k->len > 0)
		k->rel[k->len++] = '/';
	while ((n = getdents64(fd, buf, sizeof(buf))) > 0) {
		for (ssize_t at = 0; at < n;) {
			const struct dirent64 *e = (const void *)(buf + at);
			int r = walk_name(k, fd, e);

			if (r < 0)
				return r;
			at += e->d_reclen;
		}
	}
	return n < 0 ? -errno : 0;
}

int facts_walk(struct facts_walk *w)
{
	struct walk k = { .w = w };
	int r = walk_dir(&k, w->start);

	while (r == 0 && k.dirs.n > 0)
		r = walk_dir(&k, k.dirs.v[--k.dirs.n]);
	return r;
}

static int entry_order(const void *a, const void *b)
{
	const struct facts_entry *x = a;
	const struct facts_entry *y = b;

	return strcmp(x->name, y->name);
}

static bool entry_is_dir(int dirfd, const struct dirent *e)
{
	struct stat st;

	if (e->d_type != DT_UNKNOWN)
		return e->d_type == DT_DIR;
	return fstatat(dirfd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
}

int facts_entries_list(struct arena *a, int dirfd, facts_entries *ret)
{
	int fd = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d;
	struct dirent *e;

	if (fd < 0)
		return -errno;
	d = fdopendir(fd);
	if (d == NULL) {
		int r = -errno;

		(void)close(fd);
		return r;
	}
	while (errno = 0, (e = readdir(d)) != NULL) {
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		*array_push(a, ret) = (struct facts_entry){ .name = arena_strdup(a, e->d_name),
							    .is_dir = entry_is_dir(dirfd, e) };
	}
	if (errno != 0) {
		int r = -errno;

		(void)closedir(d);
		return r;
	}
	(void)closedir(d);
	if (ret->n > 1)
		qsort(ret->v, ret->n, sizeof(*ret->v), entry_order);
	return 0;
}

int facts_names_list(struct arena *a, int dirfd, struct facts_names *ret)
{
	facts_entries found = { 0 };
	int r = facts_entries_list(a, dirfd, &found);

	for (size_t i = 0; i < found.n; i++)
		*array_push(a, ret) = found.v[i].name;
	return r;
}
