/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "policy/facts-roots.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
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
#include "policy/facts-answers.h"
#include "policy/facts-mounts.h"

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
static int refuse_chain(struct arena *a, struct facts_judge *s, const char *path, const char *what,
			const char **ret_real)
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
	*ret_real = o.path;
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
		{ in->default_state_dir, "the default state directory of agentbox" },
		{ in->runtime_dir, "the runtime directory" },
		{ in->profiles_dir, "the installed profiles" },
	};
	const char *real[ARRAY_SIZE(chains)] = { NULL };
	int r = 0;

	s->state_dirs[0] = in->state_dir;
	s->state_dirs[1] = in->default_state_dir;
	s->room = in->room;
	for (const char *const *dir = profile_refused_roots; r == 0 && *dir != NULL; dir++)
		r = refuse_path(a, s, *dir, *dir);
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(chains); i++)
		r = refuse_chain(a, s, chains[i].path, chains[i].what, &real[i]);
	s->home = real[0];
	return r == 0 ? 0 : err_set(err, ERR_HOST, -r, "looking at what no root may contain");
}

/* @rel is @dir or lies in it; both relative. */
static bool path_below(const char *rel, const char *dir)
{
	size_t n = strlen(dir);

	return strncmp(rel, dir, n) == 0 && (rel[n] == '\0' || rel[n] == '/');
}

/* Below home: what opens other doors. No root, whoever names it. */
static const char *const credential_dirs[] = {
	".ssh",
	".gnupg",
	".aws",
	".azure",
	".kube",
	".docker",
	".password-store",
	".config/gcloud",
	".config/gh",
	".mozilla",
	".local/share/keyrings",
};

/* What the host runs or boots from: no root for writing. */
static const char *const host_dirs[] = { "/etc", "/boot", "/var/spool" };

/* What may be granted to be looked at, or to nobody, may still be no place to write. */
static int judge_place(const struct facts_judge *j, const struct facts_root *fr, struct err *err)
{
	const struct profile_pos *pos = &fr->root->pos;
	const char *path = fr->object.path;

	for (size_t i = 0; j->home != NULL && i < ARRAY_SIZE(credential_dirs); i++) {
		if (path_covers(j->home, path) && strcmp(j->home, path) != 0 &&
		    path_below(path_rest(j->home, path), credential_dirs[i]))
			return err_set_at(err, ERR_PROFILE, pos->file, pos->line, pos->col,
					  "root '%s' holds credentials (~/%s): pass what is needed "
					  "another way",
					  fr->root->path, credential_dirs[i]);
	}
	for (size_t i = 0; i < ARRAY_SIZE(host_dirs); i++) {
		if (fr->root->mode != PROFILE_MODE_RO && path_covers(host_dirs[i], path))
			return err_set_at(err, ERR_PROFILE, pos->file, pos->line, pos->col,
					  "root '%s' lies in %s, where the host looks for what to "
					  "run: say mode: ro",
					  fr->root->path, host_dirs[i]);
	}
	return 0;
}

static int judge_type(const struct facts_object *o, const char *key, const char *path,
		      const struct profile_pos *pos, struct err *err)
{
	if (S_ISDIR(o->mode) || S_ISREG(o->mode))
		return 0;
	return err_set_at(err, ERR_PROFILE, pos->file, pos->line, pos->col,
			  "%s '%s' is neither a directory nor a regular file", key, path);
}

int facts_judge_place(const struct facts_judge *j, const struct facts_object *o, const char *key,
		      const char *path, const struct profile_pos *pos, struct err *err)
{
	dev_t dev = makedev(o->id.dev_major, o->id.dev_minor);

	if (judge_type(o, key, path, pos, err) != 0)
		return -1;
	for (size_t i = 0; i < j->set.n; i++) {
		if (j->set.v[i].dev == dev && j->set.v[i].ino == o->id.ino)
			return err_set_at(err, ERR_PROFILE, pos->file, pos->line, pos->col,
					  "%s '%s' is or contains %s: name a narrower directory",
					  key, path, j->set.v[i].what);
	}
	for (size_t i = 0; i < ARRAY_SIZE(j->state_dirs); i++) {
		if (j->state_dirs[i] == NULL || !path_covers(j->state_dirs[i], o->path) ||
		    (j->room != NULL && path_covers(j->room, o->path)))
			continue;
		return err_set_at(err, ERR_PROFILE, pos->file, pos->line, pos->col,
				  "%s '%s' lies in the state directory of agentbox", key, path);
	}
	return 0;
}

int facts_judge(const struct facts_judge *j, const struct facts_object *o, const char *key,
		const char *path, const struct profile_pos *pos, struct err *err)
{
	struct statfs fs;

	if (facts_judge_place(j, o, key, path, pos, err) != 0)
		return -1;
	if (fstatfs(o->fd, &fs) != 0)
		return err_set(err, ERR_HOST, errno, "%s '%s'", key, path);
	for (size_t i = 0; i < ARRAY_SIZE(refused_magics); i++) {
		if ((long)fs.f_type == refused_magics[i])
			return err_set_at(err, ERR_PROFILE, pos->file, pos->line, pos->col,
					  "%s '%s' lies on a kernel file system", key, path);
	}
	return 0;
}

#define LINK_HOPS_MAX 40

/* Put what the first link of *path leads to in its place. -EPERM for a stranger's link. */
static int link_replace(struct arena *a, const char **path, const struct facts_caller *c)
{
	const char *p = *path;
	char text[PATH_MAX];

	for (const char *end = strchr(p + 1, '/');; end = strchr(end + 1, '/')) {
		size_t len = end == NULL ? strlen(p) : (size_t)(end - p);
		const char *name = arena_strndup(a, p, len);
		struct stat st;
		ssize_t n;

		if (lstat(name, &st) != 0)
			return -errno;
		if (S_ISLNK(st.st_mode)) {
			if (st.st_uid != c->uid && st.st_uid != 0 &&
			    !facts_uid_is_unmapped(st.st_uid))
				return -EPERM;
			n = readlink(name, text, sizeof(text));
			if (n <= 0 || n >= (ssize_t)sizeof(text))
				return n < 0 ? -errno : -ENAMETOOLONG;
			text[n] = '\0';
			*path = arena_printf(
				a, "%s%s%s%s", text[0] == '/' ? "" : path_dirname(a, name),
				text[0] == '/' ? "" : "/", text, end == NULL ? "" : end);
			return 0;
		}
		if (end == NULL)
			return -ELOOP;
	}
}

/* What the kernel does not have of the path at hand, a server may have to tell, which may never
 * answer. */
static int open_plain(struct arena *a, const char *path)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_CACHED,
	};
	long fd = syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));
	int r;

	if (fd >= 0 || errno != EAGAIN)
		return fd < 0 ? -errno : (int)fd;
	r = facts_answers_open(a, path);
	if (r <= 0)
		return r < 0 ? r : -ETIMEDOUT;
	how.resolve &= ~(uint64_t)RESOLVE_CACHED;
	fd = syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));
	return fd < 0 ? -errno : (int)fd;
}

/* A link that another local user made may lead anywhere, and tomorrow elsewhere: only those of the
 * caller and of root are followed. Resolved by hand, then opened as a path without any. */
static int open_free(struct arena *a, const char *path, const struct facts_caller *c)
{
	int fd = open_plain(a, path);

	for (int hops = 0; fd == -ELOOP && hops < LINK_HOPS_MAX; hops++) {
		int r = link_replace(a, &path, c);

		/* None is there any more: as it is now. */
		if (r < 0 && r != -ELOOP)
			return r;
		fd = open_plain(a, path);
	}
	return fd;
}

/* A directory above @path, by the text of the profile, that is a writable root: *ret_rest is what
 * follows. Compared by device and inode, since a root may have another name.
 * Return: 1 with *ret, 0 without one, or -errno. */
static int root_outer(struct arena *a, const struct facts *f, const struct facts_root *inner,
		      const struct facts_root **ret, const char **ret_rest)
{
	const char *path = inner->root->path;

	for (const char *dir = path_dirname(a, path); dir[1] != '\0'; dir = path_dirname(a, dir)) {
		struct stat st;

		if (stat(dir, &st) != 0) {
			if (is_absent(errno))
				continue;
			return -errno;
		}
		for (size_t i = 0; i < f->roots.n; i++) {
			const struct facts_root *o = &f->roots.v[i];
			const struct file_id *id = &o->object.id;

			if (!o->present || o == inner || o->root->mode == PROFILE_MODE_RO ||
			    id->ino != st.st_ino ||
			    makedev(id->dev_major, id->dev_minor) != st.st_dev)
				continue;
			*ret = o;
			*ret_rest = path_rest(dir, path);
			return 1;
		}
	}
	return 0;
}

/* Below a root that programs may write, a link may have been planted by an earlier run: what is
 * found without following any must be what was found. */
static int root_check_below(struct arena *a, const struct facts *f, const struct facts_root *fr,
			    struct err *err)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};
	const struct profile_pos *pos = &fr->root->pos;
	const char *rest = NULL;
	const struct facts_root *outer = NULL;
	struct facts_object o = { .fd = -1 };
	FD_AUTO fd = -1;
	int r = root_outer(a, f, fr, &outer, &rest);

	if (r < 0)
		return err_set(err, ERR_HOST, -r, "what lies above root '%s'", fr->root->path);
	if (outer == NULL)
		return 0;
	fd = (int)syscall(SYS_openat2, outer->object.fd, rest, &how, sizeof(how));
	if (fd < 0 && errno != ELOOP && errno != EXDEV && errno != ENOENT)
		return err_set(err, ERR_HOST, errno, "root '%s'", fr->root->path);
	if (fd >= 0 && facts_object_hold(fd, &o) == 0 && file_id_same(&o.id, &fr->object.id))
		return 0;
	return err_set_at(err, ERR_PROFILE, pos->file, pos->line, pos->col,
			  "root '%s' is reached through a link below a writable root: name its "
			  "real path",
			  fr->root->path);
}

static int root_open_failed(const struct profile_root *root, int r, struct err *err)
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
	if (r == -EPERM)
		return err_set_at(err, ERR_PROFILE, pos->file, pos->line, pos->col,
				  "root '%s' is reached through a link that belongs to another "
				  "user: name its real path",
				  root->path);
	if (r == -ETIMEDOUT)
		return err_set_at(
			err, ERR_HOST, pos->file, pos->line, pos->col,
			"root '%s' lies on a file system that does not answer (a FUSE or "
			"network mount without its server?): unmount it, or take the root "
			"out",
			root->path);
	return err_set_at(err, ERR_PROFILE, pos->file, pos->line, pos->col, "root '%s': %s",
			  root->path, err_text(-r));
}

/* Local disks have numbers of their own; what the system itself runs from is not asked. */
static bool may_be_served(const struct facts *f, const struct facts_object *o)
{
	if (o->id.dev_major != 0)
		return false;
	for (size_t i = 0; i < f->base.n; i++) {
		const struct file_id *id = &f->base.v[i].object.id;

		if (f->base.v[i].object.fd >= 0 && id->dev_major == 0 &&
		    id->dev_minor == o->id.dev_minor)
			return false;
	}
	return true;
}

/* The kernel may have no owner yet of what a server has. */
static int root_ask(struct facts *f, struct facts_object *o)
{
	int r;

	if (!may_be_served(f, o))
		return 0;
	r = facts_answers(f->answers, o->fd, o->id.mnt_id);
	if (r <= 0)
		return r < 0 ? r : -ETIMEDOUT;
	return facts_object_hold(o->fd, o);
}

static int root_gather(struct arena *a, struct facts *f, struct facts_root *fr, struct err *err)
{
	const struct profile_root *root = fr->root;
	struct stat st;
	FD_AUTO fd = open_free(a, root->path, &f->caller);
	int r;

	if (fd == -ENOENT && root->optional && lstat(root->path, &st) != 0)
		return 0;
	if (fd < 0)
		return root_open_failed(root, fd, err);
	r = facts_object_hold(fd, &fr->object);
	if (r < 0)
		return err_set(err, ERR_HOST, -r, "root '%s'", root->path);
	(void)fd_take(&fd);
	r = root_ask(f, &fr->object);
	if (r == -ETIMEDOUT)
		return root_open_failed(root, r, err);
	if (r == 0)
		r = facts_object_path(a, &fr->object);
	if (r < 0)
		return err_set(err, ERR_HOST, -r, "root '%s'", root->path);
	fr->present = true;
	return judge_type(&fr->object, "root", root->path, &root->pos, err);
}

int facts_named_open(struct arena *a, const struct facts_caller *c, const char *key,
		     const char *path, const struct profile_pos *pos, struct facts_object *ret,
		     struct err *err)
{
	FD_AUTO fd = open_free(a, path, c);
	int r;

	*ret = (struct facts_object){ .fd = -1 };
	if (fd == -ENOENT)
		return err_set_at(err, ERR_PROFILE, pos->file, pos->line, pos->col,
				  "%s '%s' does not exist", key, path);
	if (fd == -EPERM)
		return err_set_at(err, ERR_PROFILE, pos->file, pos->line, pos->col,
				  "%s '%s' is reached through a link that belongs to another user: "
				  "name its real path",
				  key, path);
	if (fd < 0)
		return err_set_at(err, ERR_PROFILE, pos->file, pos->line, pos->col, "%s '%s': %s",
				  key, path, err_text(-fd));
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

	for (size_t i = 0; i < s->roots.n; i++) {
		struct facts_root *fr = array_push(a, &ret->roots);

		*fr = (struct facts_root){ .root = &s->roots.v[i], .object = { .fd = -1 } };
	}
	for (size_t i = 0; i < ret->roots.n; i++) {
		if (root_gather(a, ret, &ret->roots.v[i], err) != 0)
			return -1;
	}
	for (size_t i = 0; ret->roots.n > 1 && i < ret->roots.n; i++) {
		if (ret->roots.v[i].present && root_check_below(a, ret, &ret->roots.v[i], err) != 0)
			return -1;
	}
	return 0;
}

/* @dir, which exists, or a directory above it is a root that programs may write to. */
static bool in_writable_root(struct arena *a, const struct facts *f, const char *dir)
{
	char *real = realpath(dir, NULL);
	bool hit = false;

	for (const char *p = real; p != NULL && p[1] != '\0' && !hit; p = path_dirname(a, p)) {
		struct stat st;

		if (stat(p, &st) != 0)
			break;
		for (size_t i = 0; i < f->roots.n && !hit; i++) {
			const struct facts_root *r = &f->roots.v[i];
			const struct file_id *id = &r->object.id;

			hit = r->present && r->root->mode != PROFILE_MODE_RO &&
			      id->ino == st.st_ino &&
			      makedev(id->dev_major, id->dev_minor) == st.st_dev;
		}
	}
	free(real);
	return hit;
}

/* A profile is hidden and pinned where it lies. On the way to it a link, or a directory that ".."
 * leaves, could be exchanged by a program that may write where that stands, or by the stranger who
 * made it, and the next run would read another profile. */
static int judge_way(struct arena *a, const struct facts *f, const struct profile_file *file,
		     struct err *err)
{
	const char *at = "/";

	for (const char *p = file->way; *p != '\0';) {
		size_t len = strcspn(p, "/");
		const char *name = arena_strndup(a, p, len);
		const char *next = strcmp(at, "/") == 0 ? arena_printf(a, "/%s", name)
							: arena_printf(a, "%s/%s", at, name);
		bool up = strcmp(name, "..") == 0;
		struct stat st;

		p += len + (p[len] == '/');
		if (len == 0 || strcmp(name, ".") == 0)
			continue;
		if (lstat(next, &st) != 0)
			return err_set(err, ERR_PROFILE, errno, "profile %s", file->name);
		if (S_ISLNK(st.st_mode) && st.st_uid != f->caller.uid && st.st_uid != 0 &&
		    !facts_uid_is_unmapped(st.st_uid))
			return err_set(
				err, ERR_PROFILE, 0,
				"profile %s is reached through a link that belongs to another "
				"user: name its real path",
				file->name);
		if ((up || S_ISLNK(st.st_mode)) &&
		    in_writable_root(a, f, up ? arena_printf(a, "%s/..", at) : at))
			return err_set(err, ERR_PROFILE, 0,
				       "profile %s is reached through %s in a writable root: name "
				       "its real path",
				       file->name, up ? "'..'" : "a link");
		at = next;
	}
	return 0;
}

/* A root hides the file. The base does not: whoever may run a command reads it there. */
static int judge_values(struct arena *a, const struct facts_input *in, const struct facts *f,
			const struct profile_file *file, struct err *err)
{
	const struct profile_pos *pos = &in->profile->sandbox.env_file_pos;
	const char *at = file->real;

	while (at[1] != '\0') {
		struct stat st;

		if (stat(at, &st) != 0)
			return err_set(err, ERR_HOST, errno, "%s", at);
		for (size_t i = 0; i < f->base.n; i++) {
			const struct facts_base *b = &f->base.v[i];

			if ((b->kind == FACTS_BASE_DIR || b->kind == FACTS_BASE_FILE) &&
			    b->object.id.ino == st.st_ino &&
			    makedev(b->object.id.dev_major, b->object.id.dev_minor) == st.st_dev)
				return err_set_at(
					err, ERR_PROFILE, pos->file, pos->line, pos->col,
					"'file': '%.200s' lies in '%s' of the base, which "
					"every program reads: move it",
					file->real, b->at);
		}
		at = path_dirname(a, at);
	}
	return 0;
}

int facts_judge_roots(struct arena *a, const struct facts_input *in, const struct facts *f,
		      struct err *err)
{
	struct facts_judge judge = { 0 };

	for (size_t i = 0; i < in->profile->files.n; i++) {
		const struct profile_file *file = &in->profile->files.v[i];

		if ((file->way != NULL && judge_way(a, f, file, err) != 0) ||
		    (file->values && judge_values(a, in, f, file, err) != 0))
			return -1;
	}
	if (f->roots.n == 0)
		return 0;
	if (facts_judge_build(a, in, &f->caller, &judge, err) != 0)
		return -1;
	for (size_t i = 0; i < f->roots.n; i++) {
		const struct facts_root *fr = &f->roots.v[i];

		if (fr->present && (facts_judge(&judge, &fr->object, "root", fr->root->path,
						&fr->root->pos, err) != 0 ||
				    judge_place(&judge, fr, err) != 0))
			return -1;
	}
	return facts_mounts_check(a, in, &judge, f, err);
}
