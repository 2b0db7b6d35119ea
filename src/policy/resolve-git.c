/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Theory of operation: git on the host runs what the configuration and the hooks of a git directory
 * say, so programs inside may write objects and refs there, and not those. Which directory that is
 * stands in files that a program may have written in an earlier run. They are read with bounds, the
 * paths are walked by hand as git on the host would walk them, and the one thing that comes of them
 * is a guard on what lies in a root as it is: a forged pointer freezes something more, and never
 * mounts or opens anything. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/io.h"
#include "base/path.h"
#include "policy/facts-roots.h"
#include "policy/gitconfig.h"
#include "policy/guards.h"

#define GIT             ".git/"
#define POINTER_MAX     ((size_t)PATH_MAX + 16)
#define LINKS_MAX       40
#define INCLUDES_DEEP   10 /* of git itself */
#define CONFIGS_MAX     1024
#define DIRECTORIES_MAX 2048
/* From here on it is one mount for all, and no linked work tree can be added inside. */
#define WORKTREES_SINGLE 32

static bool is_absent(int r)
{
	return r == -ENOENT || r == -ENOTDIR || r == -EACCES || r == -ELOOP || r == -ENAMETOOLONG;
}

/* Guard what lies at a host path free of links, in each root that shows it. */
static int guard_host(struct guards *g, const char *path, enum guard_kind kind, struct err *err)
{
	const struct facts *f = g->in->facts;

	for (size_t i = 0; i < f->roots.n; i++) {
		const struct facts_root *fr = &f->roots.v[i];

		if (!fr->present || !g->in->access[i].read || !S_ISDIR(fr->object.mode) ||
		    !path_covers(fr->object.path, path) || strcmp(fr->object.path, path) == 0)
			continue;
		if (guard_entry(g, i, path_rest(fr->object.path, path), kind, err) != 0)
			return -1;
	}
	return 0;
}

/* Return: does it lie in a root? */
static bool scope_host(struct guards *g, const char *path)
{
	const struct facts *f = g->in->facts;
	bool found = false;

	for (size_t i = 0; i < f->roots.n; i++) {
		const struct facts_root *fr = &f->roots.v[i];

		if (!fr->present || !g->in->access[i].read || !S_ISDIR(fr->object.mode) ||
		    !path_covers(fr->object.path, path))
			continue;
		guards_scope_add(g, i, path_rest(fr->object.path, path), 0);
		found = true;
	}
	return found;
}

struct way {
	const char *base; /* where a relative path begins */
	const char *file; /* that says the path */
	const char *cur;  /* host path without links */
	const char *rest; /* still to walk */
	int links;
};

/* Back by "..": in the place of the directory that it leaves a program could put a link, and the
 * same words would lead elsewhere. Those above the file that says them, and above the work tree,
 * cannot be moved: what is guarded lies in both. */
static int walk_up(struct guards *g, struct way *w, struct err *err)
{
	if (!path_covers(w->cur, w->base) && !path_covers(w->cur, w->file) &&
	    guard_host(g, w->cur, GUARD_FREEZE, err) != 0)
		return -1;
	w->cur = path_dirname(g->arena, w->cur);
	return 1;
}

/* One component further. Return: 1, 0 when it leads nowhere, -1. */
static int walk_step(struct guards *g, struct way *w, struct err *err)
{
	size_t len = strcspn(w->rest, "/");
	const char *name = arena_strndup(g->arena, w->rest, len);
	char text[PATH_MAX];
	const char *next;
	struct stat st;
	ssize_t n;
	int r;

	w->rest += len + (w->rest[len] == '/');
	if (len == 0 || strcmp(name, ".") == 0)
		return 1;
	if (strcmp(name, "..") == 0)
		return walk_up(g, w, err);
	next = path_join(g->arena, w->cur, name);
	r = facts_look(AT_FDCWD, next, &st);
	if (r < 0)
		return is_absent(r) ? 0 : err_set(err, ERR_HOST, -r, "%s", next);
	if (r == 0)
		return 0;
	if (!S_ISLNK(st.st_mode)) {
		w->cur = next;
		return 1;
	}
	n = readlink(next, text, sizeof(text));
	if (n <= 0 || n >= (ssize_t)sizeof(text) || ++w->links > LINKS_MAX)
		return 0;
	/* What leads there must not lead elsewhere after the run. */
	if (guard_host(g, next, GUARD_FREEZE, err) != 0)
		return -1;
	w->rest = arena_printf(g->arena, "%.*s/%s", (int)n, text, w->rest);
	if (text[0] == '/')
		w->cur = "/";
	return 1;
}

/* Where git on the host gets by @path, taken from directory @base: *ret is a host path without
 * links, NULL when there is nothing. */
static int walk_from(struct guards *g, const char *file, const char *base, const char *path,
		     const char **ret, struct err *err)
{
	struct way w = { .base = base, .file = file, .cur = "/", .rest = path };
	int r = 1;

	*ret = NULL;
	if (path[0] != '/')
		w.rest = arena_printf(g->arena, "%s/%s", base, path);
	while (r == 1 && *w.rest != '\0')
		r = walk_step(g, &w, err);
	if (r == 1)
		*ret = w.cur;
	return r < 0 ? -1 : 0;
}

static int walk(struct guards *g, const char *base, const char *path, const char **ret,
		struct err *err)
{
	return walk_from(g, base, base, path, ret, err);
}

/* The bytes of a regular file. Return: 1, 0 when there is none to be read, -1. */
static int read_host(struct guards *g, const char *path, size_t max, char **ret, size_t *ret_len,
		     struct err *err)
{
	FD_AUTO fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat st;
	int r;

	if (fd < 0)
		return is_absent(-errno) || errno == ENXIO
			       ? 0
			       : err_set(err, ERR_HOST, errno, "%s", path);
	if (fstat(fd, &st) != 0)
		return err_set(err, ERR_HOST, errno, "%s", path);
	if (!S_ISREG(st.st_mode))
		return 0;
	r = io_read_file(fd, max, g->arena, ret, ret_len);
	if (r == -EFBIG)
		return err_set(err, ERR_HOST, 0,
			       "%s: more than %zu bytes, too many for a file of git: what it "
			       "names could not be protected",
			       path, max);
	return r < 0 ? err_set(err, ERR_HOST, -r, "%s", path) : 1;
}

/* The one path in a file like .git, commondir or gitdir; *ret NULL when there is none. */
static int read_pointer(struct guards *g, const char *file, const char *prefix, const char **ret,
			struct err *err)
{
	char *text;
	size_t len;
	int r = read_host(g, file, POINTER_MAX, &text, &len, err);

	*ret = r == 1 ? gitconfig_pointer(g->arena, text, len, prefix) : NULL;
	return r < 0 ? -1 : 0;
}

static enum policy_trap trap_of(const struct guards *g, const char *name)
{
	return policy_trap_name(&g->in->profile->sandbox, name);
}

/* "~/..." and "~user/..." in a configuration; *ret NULL when that home is not known, to git
 * neither. */
static int home_path(struct guards *g, const char *value, const char **ret, struct err *err)
{
	size_t len = strcspn(value, "/");
	const char *home = g->in->facts->caller.home;

	if (len > 1 &&
	    facts_home(g->arena, arena_strndup(g->arena, value + 1, len - 1), &home, err) != 0)
		return -1;
	*ret = home == NULL ? NULL : arena_printf(g->arena, "%s/%s", home, value + len);
	return 0;
}

/* What @value names is run or read by git on the host. One of the directories that hold the roots
 * cannot be frozen, and the roots would have to be. */
static int guard_named(struct guards *g, const char *file, const char *base, const char *value,
		       const char **ret, struct err *err)
{
	const struct facts *f = g->in->facts;
	const char *path = value;

	*ret = NULL;
	if (value[0] == '~' && home_path(g, value, &path, err) != 0)
		return -1;
	if (path == NULL)
		return 0;
	if (walk_from(g, file, base, path, ret, err) != 0)
		return -1;
	for (size_t i = 0; *ret != NULL && i < f->roots.n; i++) {
		if (f->roots.v[i].present && g->in->access[i].write &&
		    path_covers(*ret, f->roots.v[i].object.path))
			return err_set(err, ERR_HOST, 0,
				       "%s: '%s' names a whole root, which cannot be frozen and "
				       "written to: name a directory in it, or say protect: "
				       "{except: [.git]}",
				       file, value);
	}
	return *ret == NULL ? 0 : guard_host(g, *ret, GUARD_FREEZE, err);
}

static int git_config(struct guards *g, const char *file, const char *work, unsigned deep,
		      const char **ret_worktree, struct err *err)
{
	gitconfig_entries entries = { 0 };
	const char *dir = path_dirname(g->arena, file);
	const char *target;
	char *text;
	size_t len;
	int r = read_host(g, file, GITCONFIG_BYTES_MAX, &text, &len, err);

	if (r <= 0)
		return r;
	if (++g->git_configs > CONFIGS_MAX || !gitconfig_parse(g->arena, text, len, &entries))
		return err_set(err, ERR_HOST, 0,
			       "%s: too many includes: what they name could not be protected",
			       file);
	for (size_t i = 0; i < entries.n; i++) {
		const char *value = entries.v[i].value;

		switch (entries.v[i].key) {
		case GITCONFIG_WORKTREE:
			*ret_worktree = value;
			break;
		case GITCONFIG_HOOKS:
			if (trap_of(g, GIT "hooks") != POLICY_TRAP_NONE &&
			    guard_named(g, file, work, value, &target, err) != 0)
				return -1;
			break;
		case GITCONFIG_INCLUDE:
			if (trap_of(g, GIT "config") == POLICY_TRAP_NONE || deep == INCLUDES_DEEP)
				break;
			if (guard_named(g, file, dir, value, &target, err) != 0)
				return -1;
			if (target != NULL &&
			    git_config(g, target, work, deep + 1, ret_worktree, err) != 0)
				return -1;
			break;
		}
	}
	return 0;
}

/* One of them may be a link: by it git on the host gets where nobody inside may change things. */
static int guard_git_name(struct guards *g, const char *dir, const char *name, enum guard_kind kind,
			  struct err *err)
{
	const char *path = path_join(g->arena, dir, name);
	struct stat st;
	int r = facts_look(AT_FDCWD, path, &st);

	if (r < 0)
		return err_set(err, ERR_HOST, -r, "%s", path);
	if (r == 0)
		return 0;
	if (guard_host(g, path, kind, err) != 0)
		return -1;
	if (!S_ISLNK(st.st_mode))
		return 0;
	if (walk(g, dir, name, &path, err) != 0)
		return -1;
	return path == NULL ? 0 : guard_host(g, path, kind, err);
}

/* The traps of .git, in a directory that need not have that name. */
static int guard_git_names(struct guards *g, const char *dir, struct err *err)
{
	const struct profile_sandbox *s = &g->in->profile->sandbox;
	const struct profile_trap *lists[] = { s->hide.v, s->freeze.v };
	const size_t counts[] = { s->hide.n, s->freeze.n };

	for (size_t l = 0; l < ARRAY_SIZE(lists); l++) {
		for (size_t i = 0; i < counts[l]; i++) {
			const char *pattern = lists[l][i].pattern;
			enum policy_trap trap;

			if (strncmp(pattern, GIT, strlen(GIT)) != 0)
				continue;
			trap = trap_of(g, pattern);
			if (trap != POLICY_TRAP_NONE &&
			    guard_git_name(g, dir, pattern + strlen(GIT), guard_kind_of(trap),
					   err) != 0)
				return -1;
		}
	}
	return guards_limit(g, 0, err);
}

static bool is_there(const char *dir, const char *name, struct arena *a)
{
	struct stat st;

	return facts_look(AT_FDCWD, path_join(a, dir, name), &st) > 0;
}

/* The first time only. */
static int git_dir_is_new(struct guards *g, const char *dir, bool *ret, struct err *err)
{
	*ret = false;
	for (size_t i = 0; i < g->git_dirs.n; i++) {
		if (strcmp(g->git_dirs.v[i], dir) == 0)
			return 0;
	}
	if (g->git_dirs.n == DIRECTORIES_MAX)
		return err_set(err, ERR_HOST, 0,
			       "%s: more than %d git directories in the roots (git worktree prune "
			       "removes what is left over)",
			       dir, DIRECTORIES_MAX);
	*array_push(g->arena, &g->git_dirs) = dir;
	*ret = true;
	return 0;
}

/* Directories in @dir that are none of links; nothing when it is not there. */
static int list_dirs(struct guards *g, const char *dir, facts_entries *ret, struct err *err)
{
	FD_AUTO fd = open(dir, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int r = fd < 0 ? -errno : facts_entries_list(g->arena, fd, ret);

	return r == 0 || is_absent(r) ? 0 : err_set(err, ERR_HOST, -r, "%s", dir);
}

/* @own: the directory of one linked work tree. @frozen: it lies in a frozen one, and is worked in
 * from inside only where the work tree lies in a root. */
static int git_worktree(struct guards *g, const char *own, bool frozen, struct err *err)
{
	const char *pointer;
	const char *target = NULL;
	bool is_new, in_root;

	if (git_dir_is_new(g, own, &is_new, err) != 0 ||
	    read_pointer(g, path_join(g->arena, own, "gitdir"), "", &pointer, err) != 0 ||
	    (pointer != NULL && walk(g, own, pointer, &target, err) != 0))
		return -1;
	in_root = target != NULL && scope_host(g, path_dirname(g->arena, target));
	if (frozen && !in_root)
		return 0;
	if (frozen && guard_host(g, own, GUARD_KEEP, err) != 0)
		return -1;
	return is_new ? guard_git_names(g, own, err) : 0;
}

/* Of the linked work trees that @common knows: their own files, and the work trees themselves
 * where they lie in a root. */
static int git_worktrees(struct guards *g, const char *common, struct err *err)
{
	const char *dir = path_join(g->arena, common, "worktrees");
	facts_entries found = { 0 };

	if (list_dirs(g, dir, &found, err) != 0)
		return -1;
	for (size_t i = 0; i < found.n; i++) {
		if (found.v[i].is_dir && git_worktree(g, path_join(g->arena, dir, found.v[i].name),
						      found.n > WORKTREES_SINGLE, err) != 0)
			return -1;
	}
	return found.n > WORKTREES_SINGLE ? guard_host(g, dir, GUARD_FREEZE, err) : 0;
}

static int git_dir(struct guards *g, const char *dir, const char *work, struct err *err);

/* A submodule's name may have slashes: a directory that is none of git's holds more of them. */
static int git_modules(struct guards *g, const char *dir, unsigned deep, struct err *err)
{
	facts_entries found = { 0 };

	if (list_dirs(g, dir, &found, err) != 0)
		return -1;
	for (size_t i = 0; i < found.n; i++) {
		const char *own = path_join(g->arena, dir, found.v[i].name);
		int r = 0;

		if (!found.v[i].is_dir)
			continue;
		if (is_there(own, "HEAD", g->arena))
			r = git_dir(g, own, NULL, err);
		else if (deep > 0)
			r = git_modules(g, own, deep - 1, err);
		if (r != 0)
			return -1;
	}
	return 0;
}

/* Configuration by work tree: a relative core.hooksPath starts there. */
static int git_configs(struct guards *g, const char *dir, const char *common, const char *work,
		       struct err *err)
{
	const char *worktree = NULL;
	const char *base = work == NULL ? common : work;

	if (git_config(g, path_join(g->arena, common, "config"), base, 0, &worktree, err) != 0 ||
	    git_config(g, path_join(g->arena, dir, "config.worktree"), base, 0, &worktree, err) !=
		    0)
		return -1;
	if (worktree == NULL || work != NULL)
		return 0;
	/* A submodule's: it comes back as a scope of its own when it lies in a root. */
	if (walk(g, dir, worktree, &worktree, err) != 0)
		return -1;
	if (worktree != NULL)
		(void)scope_host(g, worktree);
	return 0;
}

/* @dir: canonical host path. @work: the work tree that leads here, or NULL. */
static int git_dir(struct guards *g, const char *dir, const char *work, struct err *err)
{
	const char *pointer;
	const char *common = dir;
	bool is_new;

	guards_watch(g, dir);
	if (git_dir_is_new(g, dir, &is_new, err) != 0 ||
	    (is_new && guard_git_names(g, dir, err) != 0) ||
	    read_pointer(g, path_join(g->arena, dir, "commondir"), "", &pointer, err) != 0)
		return -1;
	if (pointer != NULL) {
		if (walk(g, dir, pointer, &common, err) != 0)
			return -1;
		if (common == NULL)
			return 0;
		/* One that names itself is as new as it was. */
		if (strcmp(common, dir) != 0 && (git_dir_is_new(g, common, &is_new, err) != 0 ||
						 (is_new && guard_git_names(g, common, err) != 0)))
			return -1;
		if (strcmp(path_basename(common), ".git") == 0)
			(void)scope_host(g, path_dirname(g->arena, common));
	}
	if (git_configs(g, dir, common, work, err) != 0)
		return -1;
	if (!is_new)
		return 0;
	if (git_worktrees(g, common, err) != 0)
		return -1;
	return git_modules(g, path_join(g->arena, common, "modules"), 4, err);
}

static bool git_is_guarded(const struct guards *g)
{
	const struct profile_sandbox *s = &g->in->profile->sandbox;
	const struct profile_trap *lists[] = { s->hide.v, s->freeze.v };
	const size_t counts[] = { s->hide.n, s->freeze.n };

	for (size_t l = 0; l < ARRAY_SIZE(lists); l++) {
		for (size_t i = 0; i < counts[l]; i++) {
			if (strncmp(lists[l][i].pattern, GIT, strlen(GIT)) == 0 &&
			    trap_of(g, lists[l][i].pattern) != POLICY_TRAP_NONE)
				return true;
		}
	}
	return false;
}

int guards_git(struct guards *g, const struct guard_scope *scope, struct err *err)
{
	const char *work = g->in->facts->roots.v[scope->root].object.path;
	const char *rel = ".git";
	const char *dir;
	struct stat st;
	int r;

	if (!git_is_guarded(g))
		return 0;
	if (scope->rel[0] != '\0') {
		work = path_join(g->arena, work, scope->rel);
		rel = path_join(g->arena, scope->rel, ".git");
	}
	dir = path_join(g->arena, work, ".git");
	r = facts_look(AT_FDCWD, dir, &st);
	if (r < 0)
		return err_set(err, ERR_HOST, -r, "%s", dir);
	if (r > 0 && S_ISDIR(st.st_mode))
		return git_dir(g, dir, work, err);
	if (r == 0)
		return 0;
	/* The file or link that says where: it must say so tomorrow. */
	if (guard_entry(g, scope->root, rel, GUARD_FREEZE, err) != 0 ||
	    walk(g, work, ".git", &dir, err) != 0)
		return -1;
	if (dir != NULL && facts_look(AT_FDCWD, dir, &st) > 0 && S_ISREG(st.st_mode)) {
		const char *pointer;

		if (read_pointer(g, dir, "gitdir: ", &pointer, err) != 0)
			return -1;
		dir = NULL;
		if (pointer != NULL && walk(g, work, pointer, &dir, err) != 0)
			return -1;
	}
	/* Whatever else lies there is no git directory, and git says so too. */
	return dir != NULL && is_there(dir, "HEAD", g->arena) ? git_dir(g, dir, work, err) : 0;
}
