/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "policy/facts-roots.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"

/* Directories that no root may be or contain, judged by device and inode. */
static const char *const refused_dirs[] = { "/",    "/etc", "/usr",  "/var",  "/run", "/proc",
					    "/sys", "/dev", "/boot", "/root", "/home" };

/* File systems that are interfaces of the kernel, not trees of files. */
static const long refused_magics[] = { PROC_SUPER_MAGIC,    SYSFS_MAGIC,        CGROUP_SUPER_MAGIC,
				       CGROUP2_SUPER_MAGIC, DEBUGFS_MAGIC,      TRACEFS_MAGIC,
				       SECURITYFS_MAGIC,    DEVPTS_SUPER_MAGIC, BPF_FS_MAGIC };

static bool is_absent(int e)
{
	return e == ENOENT || e == ENOTDIR || e == EACCES || e == ELOOP;
}

static int refuse_path(struct arena *a, struct facts_judge *s, const char *path, const char *what)
{
	struct stat st;

	if (stat(path, &st) != 0)
		return is_absent(errno) ? 0 : -errno;
	*array_push(a, &s->set) =
		(struct facts_refused){ .dev = st.st_dev, .ino = st.st_ino, .what = what };
	return 0;
}

/* A directory and everything above it: a root that contains it would grant it. */
static int refuse_chain(struct arena *a, struct facts_judge *s, const char *path, const char *what)
{
	struct facts_object o;
	int r;

	if (path == NULL || path[0] != '/')
		return 0;
	/* What does not exist yet is guarded by the part that does. */
	while ((r = facts_object_open(a, AT_FDCWD, path, true, &o)) != 0) {
		if (!is_absent(-r))
			return r;
		if (path[1] == '\0')
			return 0;
		path = path_dirname(a, path);
	}
	*array_push(a, &s->set) = (struct facts_refused){
		.dev = makedev(o.id.dev_major, o.id.dev_minor), .ino = o.id.ino, .what = what
	};
	fd_close(&o.fd);
	/* "/" is in the table. */
	for (const char *p = path_dirname(a, o.path); r == 0 && p[1] != '\0';
	     p = path_dirname(a, p))
		r = refuse_path(a, s, p, what);
	return r;
}

int facts_judge_build(struct arena *a, const struct facts_input *in, const struct facts_caller *c,
		      struct facts_judge *s, struct err *err)
{
	const struct {
		const char *path, *what;
	} chains[] = {
		{ c->home, "your home directory" },
		{ in->state_dir, "the state directory of agentbox" },
		{ in->runtime_dir, "the runtime directory" },
		{ in->profiles_dir, "the installed profiles" },
	};
	int r = 0;

	s->state_dir = in->state_dir;
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(refused_dirs); i++)
		r = refuse_path(a, s, refused_dirs[i], refused_dirs[i]);
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(chains); i++)
		r = refuse_chain(a, s, chains[i].path, chains[i].what);
	return r == 0 ? 0 : err_set(err, ERR_HOST, -r, "looking at what no root may contain");
}

int facts_judge(const struct facts_judge *j, const struct facts_object *o, const char *key,
		const char *path, const struct profile_pos *pos, struct err *err)
{
	struct statfs fs;
	struct stat st;

	if (!S_ISDIR(o->mode) && !S_ISREG(o->mode))
		return err_set_at(err, ERR_PROFILE, pos->file, pos->line, pos->col,
				  "%s '%s' is neither a directory nor a regular file", key, path);
	if (fstat(o->fd, &st) != 0 || fstatfs(o->fd, &fs) != 0)
		return err_set(err, ERR_HOST, errno, "%s '%s'", key, path);
	for (size_t i = 0; i < j->set.n; i++) {
		if (j->set.v[i].dev == st.st_dev && j->set.v[i].ino == st.st_ino)
			return err_set_at(err, ERR_PROFILE, pos->file, pos->line, pos->col,
					  "%s '%s' is or contains %s: name a narrower directory",
					  key, path, j->set.v[i].what);
	}
	if (j->state_dir != NULL && path_covers(j->state_dir, o->path))
		return err_set_at(err, ERR_PROFILE, pos->file, pos->line, pos->col,
				  "%s '%s' lies in the state directory of agentbox", key, path);
	for (size_t i = 0; i < ARRAY_SIZE(refused_magics); i++) {
		if ((long)fs.f_type == refused_magics[i])
			return err_set_at(err, ERR_PROFILE, pos->file, pos->line, pos->col,
					  "%s '%s' lies on a kernel file system", key, path);
	}
	return 0;
}

/* Below a root that programs may write, a link may have been planted by an earlier run: nothing
 * there is followed. */
static int root_open_below(const struct facts_root *outer, const struct profile_root *root)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};
	const char *rest = path_rest(outer->root->path, root->path);
	long fd = syscall(SYS_openat2, outer->object.fd, rest, &how, sizeof(how));

	return fd < 0 ? -errno : (int)fd;
}

static int open_free(const char *path)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_NO_MAGICLINKS };
	long fd = syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));

	return fd < 0 ? -errno : (int)fd;
}

/* The narrowest writable root of the profile that holds this one, among those opened already. */
static const struct facts_root *root_outer(const struct facts *f, const struct profile_root *root)
{
	const struct facts_root *best = NULL;

	for (size_t i = 0; i < f->roots.n; i++) {
		const struct facts_root *o = &f->roots.v[i];

		if (!o->present || o->root == root || o->root->mode == PROFILE_MODE_RO ||
		    !S_ISDIR(o->object.mode) || !path_covers(o->root->path, root->path) ||
		    strcmp(o->root->path, root->path) == 0)
			continue;
		if (best == NULL || strlen(o->root->path) > strlen(best->root->path))
			best = o;
	}
	return best;
}

static int root_open_failed(const struct profile_root *root, int r, bool below, struct err *err)
{
	const struct profile_pos *pos = &root->pos;
	struct stat st;

	if (r == -ENOENT && lstat(root->path, &st) == 0 && S_ISLNK(st.st_mode))
		return err_set_at(err, ERR_PROFILE, pos->file, pos->line, pos->col,
				  "root '%s' is a dangling symlink", root->path);
	if (r == -ENOENT)
		return err_set_at(err, ERR_PROFILE, pos->file, pos->line, pos->col,
				  "root '%s' does not exist (create it, or say optional: true)",
				  root->path);
	if (below && (r == -ELOOP || r == -EXDEV))
		return err_set_at(err, ERR_PROFILE, pos->file, pos->line, pos->col,
				  "root '%s' is reached through a link below a writable root: "
				  "name its real path",
				  root->path);
	return err_set_at(err, ERR_PROFILE, pos->file, pos->line, pos->col, "root '%s': %s",
			  root->path, strerror(-r));
}

static int root_gather(struct arena *a, const struct facts_judge *judge, struct facts *f,
		       struct facts_root *fr, struct err *err)
{
	const struct profile_root *root = fr->root;
	const struct facts_root *outer = root_outer(f, root);
	struct stat st;
	FD_AUTO fd = outer != NULL ? root_open_below(outer, root) : open_free(root->path);
	int r;

	if (fd == -ENOENT && root->optional && lstat(root->path, &st) != 0)
		return 0;
	if (fd < 0)
		return root_open_failed(root, fd, outer != NULL, err);
	r = facts_object_hold(fd, &fr->object);
	if (r < 0)
		return err_set(err, ERR_HOST, -r, "root '%s'", root->path);
	(void)fd_take(&fd);
	r = facts_object_path(a, &fr->object);
	if (r < 0)
		return err_set(err, ERR_HOST, -r, "root '%s'", root->path);
	fr->present = true;
	return facts_judge(judge, &fr->object, "root", root->path, &root->pos, err);
}

int facts_named_open(struct arena *a, const char *key, const char *path,
		     const struct profile_pos *pos, struct facts_object *ret, struct err *err)
{
	FD_AUTO fd = open_free(path);
	int r;

	*ret = (struct facts_object){ .fd = -1 };
	if (fd == -ENOENT)
		return err_set_at(err, ERR_PROFILE, pos->file, pos->line, pos->col,
				  "%s '%s' does not exist", key, path);
	if (fd < 0)
		return err_set_at(err, ERR_PROFILE, pos->file, pos->line, pos->col, "%s '%s': %s",
				  key, path, strerror(-fd));
	r = facts_object_hold(fd, ret);
	if (r < 0)
		return err_set(err, ERR_HOST, -r, "%s '%s'", key, path);
	(void)fd_take(&fd);
	r = facts_object_path(a, ret);
	if (r < 0) {
		fd_close(&ret->fd);
		return err_set(err, ERR_HOST, -r, "%s '%s'", key, path);
	}
	return 0;
}

int facts_roots_gather(struct arena *a, const struct facts_input *in, struct facts *ret,
		       struct err *err)
{
	const struct profile_sandbox *s = &in->profile->sandbox;
	struct facts_judge judge = { 0 };
	size_t deepest = 0;

	for (size_t i = 0; i < s->roots.n; i++) {
		struct facts_root *fr = array_push(a, &ret->roots);
		size_t depth = path_depth(s->roots.v[i].path);

		*fr = (struct facts_root){ .root = &s->roots.v[i], .object = { .fd = -1 } };
		deepest = depth > deepest ? depth : deepest;
	}
	if (s->roots.n == 0)
		return 0;
	if (facts_judge_build(a, in, &ret->caller, &judge, err) != 0)
		return -1;
	/* Outer roots first, so that an inner one can be opened below what is already held. */
	for (size_t depth = 0; depth <= deepest; depth++) {
		for (size_t i = 0; i < ret->roots.n; i++) {
			struct facts_root *fr = &ret->roots.v[i];

			if (path_depth(fr->root->path) == depth &&
			    root_gather(a, &judge, ret, fr, err) != 0)
				return -1;
		}
	}
	return 0;
}

static int name_order(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

int facts_names_list(struct arena *a, int dirfd, struct facts_names *ret)
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
		*array_push(a, ret) = arena_strdup(a, e->d_name);
	}
	if (errno != 0) {
		int r = -errno;

		(void)closedir(d);
		return r;
	}
	(void)closedir(d);
	if (ret->n > 1)
		qsort(ret->v, ret->n, sizeof(*ret->v), name_order);
	return 0;
}
