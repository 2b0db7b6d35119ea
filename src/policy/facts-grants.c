/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* facts-grants - devices and sockets that the profile lends, and the sockets that lie in roots. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "policy/facts-answers.h"
#include "policy/facts-roots.h"
#include "policy/grants.h"

/* Names in the two top levels of one root. */
#define SOCKET_NAMES_MAX 262144
#define SOCKET_BUF       8192

static int refuse(const struct profile_name *n, const char *key, const char *why, struct err *err)
{
	return err_set_at(err, ERR_PROFILE, n->pos.file, n->pos.line, n->pos.col, "%s: %s: %s", key,
			  n->name, why);
}

/* Hold what @n names. @resolve: RESOLVE_*. */
static int grant_open(struct arena *a, const struct profile_name *n, const char *key,
		      uint64_t resolve, struct facts_object *ret, struct err *err)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC, .resolve = resolve };
	FD_AUTO fd = (int)syscall(SYS_openat2, AT_FDCWD, n->name, &how, sizeof(how));
	int r;

	if (fd < 0)
		return refuse(n, key,
			      errno == ELOOP    ? "is reached through a link: name its real path"
			      : errno == ENOENT ? "does not exist"
						: err_text(errno),
			      err);
	r = facts_object_hold(fd, ret);
	if (r < 0)
		return err_set(err, ERR_HOST, -r, "%s", n->name);
	(void)fd_take(&fd);
	r = facts_object_path(a, ret);
	if (r < 0)
		return err_set(err, ERR_HOST, -r, "%s", n->name);
	return 0;
}

static struct facts_grant *grant_push(struct arena *a, facts_grants *list, const char *at)
{
	for (size_t i = 0; i < list->n; i++) {
		if (strcmp(list->v[i].at, at) == 0)
			return NULL;
	}
	*array_push(a, list) = (struct facts_grant){ .at = at, .object = { .fd = -1 } };
	return &list->v[list->n - 1];
}

static bool is_standard(const struct facts *f, const char *path)
{
	for (size_t i = 0; i < FACTS_DEVICES; i++) {
		if (f->devices[i].object.fd >= 0 && strcmp(f->devices[i].name, path + 5) == 0)
			return true;
	}
	return false;
}

static int device_gather(struct arena *a, const struct facts_input *in, struct facts *f,
			 const struct profile_name *n, struct err *err)
{
	bool nested = in->profile->sandbox.nested_sandboxes;
	struct facts_grant *g;
	const char *why;

	/* There already, and asking twice is no mistake. */
	if (is_standard(f, n->name))
		return 0;
	g = grant_push(a, &f->lent_devices, n->name);
	if (g == NULL)
		return 0;
	if (grant_open(a, n, "device", RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS, &g->object,
		       err) != 0)
		return -1;
	if (!S_ISCHR(g->object.mode))
		return refuse(n, "device", "is no character device", err);
	why = grants_device_refusal(n->name, true, g->object.id.rdev_major, g->object.id.rdev_minor,
				    nested);
	return why == NULL ? 0 : refuse(n, "device", why, err);
}

/* /var/run is a link to /run inside, whatever it is outside. */
static const char *socket_at(struct arena *a, const char *path)
{
	if (path_covers("/var/run", path) && strcmp(path, "/var/run") != 0)
		return path_join(a, "/run", path_rest("/var/run", path));
	return path;
}

static const char *socket_is_known(const struct facts_object *o)
{
	const char *why = NULL;
	const char *path;
	struct stat st, own;
	int r;

	if (fstat(o->fd, &own) != 0)
		return "cannot be looked at";
	for (unsigned i = 0; (path = grants_socket_place(i, &why)) != NULL; i++) {
		r = facts_look(AT_FDCWD, path, &st);
		if (r < 0 || (r > 0 && st.st_dev == own.st_dev && st.st_ino == own.st_ino))
			return why;
	}
	return NULL;
}

static int socket_gather(struct arena *a, struct facts *f, const struct profile_name *n,
			 struct err *err)
{
	struct facts_grant *g = grant_push(a, &f->lent_sockets, socket_at(a, n->name));
	const char *why;

	if (g == NULL)
		return 0;
	if (grant_open(a, n, "socket", RESOLVE_NO_MAGICLINKS, &g->object, err) != 0)
		return -1;
	if (!S_ISSOCK(g->object.mode))
		return refuse(n, "socket", "is no socket", err);
	why = grants_socket_refusal(n->name);
	if (why == NULL)
		why = grants_socket_refusal(g->object.path);
	if (why == NULL)
		why = socket_is_known(&g->object);
	return why == NULL ? 0 : refuse(n, "socket", why, err);
}

int facts_grants_gather(struct arena *a, const struct facts_input *in, struct facts *ret,
			struct err *err)
{
	const struct profile_sandbox *s = &in->profile->sandbox;

	for (size_t i = 0; i < s->devices.n; i++) {
		if (device_gather(a, in, ret, &s->devices.v[i], err) != 0)
			return -1;
	}
	for (size_t i = 0; i < s->sockets.n; i++) {
		if (socket_gather(a, ret, &s->sockets.v[i], err) != 0)
			return -1;
	}
	return 0;
}

struct scan {
	struct arena *arena;
	struct facts_answers *answers;
	facts_names_found *found;
	size_t names;
};

/* DT_*; DT_UNKNOWN: gone meanwhile. */
static int type_of(int dirfd, const struct dirent64 *e)
{
	struct stat st;
	int r;

	if (e->d_type != DT_UNKNOWN)
		return e->d_type;
	r = facts_look(dirfd, e->d_name, &st);
	if (r <= 0)
		return r < 0 ? r : DT_UNKNOWN;
	return IFTODT(st.st_mode);
}

static int scan_dir(struct scan *s, int fd, const char *rel);

static int scan_entry(struct scan *s, int fd, const char *rel, const struct dirent64 *e)
{
	int type = type_of(fd, e);
	FD_AUTO sub = -1;

	if (type < 0)
		return type;
	if (type == DT_SOCK || type == DT_FIFO) {
		*array_push(s->arena, s->found) = rel[0] == '\0'
							  ? arena_strdup(s->arena, e->d_name)
							  : path_join(s->arena, rel, e->d_name);
		return 0;
	}
	if (type != DT_DIR || rel[0] != '\0')
		return 0;
	sub = facts_answers_dir(s->answers, fd, e->d_name, RESOLVE_NO_SYMLINKS);
	if (sub >= 0)
		return scan_dir(s, sub, e->d_name);
	/* Closed to the caller, as whom the programs run: they know names in it, or open it. Or it
	 * does not answer now, and will later. */
	if (sub == -EACCES) {
		*array_push(s->arena, s->found) = arena_strdup(s->arena, e->d_name);
		return 0;
	}
	/* Gone, or replaced. */
	return sub == -ENOENT || sub == -ENOTDIR || sub == -ELOOP ? 0 : sub;
}

static int scan_dir(struct scan *s, int fd, const char *rel)
{
	_Alignas(struct dirent64) char buf[SOCKET_BUF];
	ssize_t n;
	int r;

	while ((n = getdents64(fd, buf, sizeof(buf))) > 0) {
		for (ssize_t at = 0; at < n;) {
			const struct dirent64 *e = (const void *)(buf + at);

			at += e->d_reclen;
			if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
				continue;
			if (++s->names > SOCKET_NAMES_MAX)
				return -E2BIG;
			r = scan_entry(s, fd, rel, e);
			if (r < 0)
				return r;
		}
	}
	return n < 0 ? -errno : 0;
}

int facts_sockets_find(struct arena *a, struct facts_answers *answers, int dirfd,
		       facts_names_found *ret)
{
	struct scan s = { .arena = a, .answers = answers, .found = ret };
	FD_AUTO fd = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -errno : scan_dir(&s, fd, "");
}
