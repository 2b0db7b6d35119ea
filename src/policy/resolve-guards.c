/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "policy/facts-roots.h"
#include "policy/resolve.h"

struct guards {
	struct arena *arena;
	const struct resolve_input *in;
	struct resolved *ret;
};

/* A deeper root that is mounted there has its own top level, and is not this one's to guard. */
static bool guard_is_shadowed(const struct guards *g, size_t root, const char *at)
{
	const struct facts *f = g->in->facts;
	const char *root_at = f->roots.v[root].root->at;

	for (size_t i = 0; i < f->roots.n; i++) {
		const char *other = f->roots.v[i].root->at;

		if (i != root && f->roots.v[i].present && g->in->access[i].read &&
		    path_covers(other, at) && strlen(other) > strlen(root_at))
			return true;
	}
	return false;
}

static void guard_add(struct guards *g, size_t root, struct guard guard)
{
	if (guard_is_shadowed(g, root, guard.at))
		return;
	guard.root_at = g->in->facts->roots.v[root].root->at;
	guard.root_writable = g->in->access[root].write;
	/* A read-only root is frozen as it is. */
	if (guard.kind == GUARD_FREEZE && !guard.root_writable)
		return;
	*array_push(g->arena, &g->ret->guards) = guard;
}

/* A root, or a directory above one, is no target: a link planted in a root would take the root
 * away from the next run. */
static bool holds_root(const struct guards *g, const char *at)
{
	const struct facts *f = g->in->facts;

	for (size_t i = 0; i < f->roots.n; i++) {
		if (f->roots.v[i].present && g->in->access[i].read &&
		    path_covers(at, f->roots.v[i].root->at))
			return true;
	}
	return false;
}

/* A link that must not be replaced is covered: a mount sits on the link itself. What it leads to
 * is guarded too when programs can reach it by its own name. A directory cannot be mounted on a
 * link, so a link to one is hidden rather than frozen. */
static void guard_link(struct guards *g, size_t root, const char *at, enum guard_kind kind,
		       const struct file_id *id)
{
	struct guard cover = { .at = at, .kind = kind, .is_link = true, .id = *id };
	struct view_target t;
	enum view_result r = view_resolve(g->arena, g->in->view, at, &t);

	if (r == VIEW_FOUND && t.object.fd >= 0) {
		bool is_dir = S_ISDIR(t.object.mode);

		if (t.node->kind == VIEW_ROOT && !holds_root(g, t.path))
			guard_add(g, t.node->root,
				  (struct guard){ .at = t.path,
						  .kind = kind,
						  .is_dir = is_dir,
						  .id = t.object.id });
		if (!is_dir)
			cover.from = t.path;
	}
	if (cover.from == NULL && kind == GUARD_FREEZE && g->in->access[root].write)
		cover.kind = GUARD_HIDE;
	view_target_close(&t);
	guard_add(g, root, cover);
}

static int guard_entry(struct guards *g, size_t root, const char *rel, enum guard_kind kind,
		       struct err *err)
{
	const struct facts_root *fr = &g->in->facts->roots.v[root];
	const char *at = path_join(g->arena, fr->root->at, rel);
	FD_AUTO fd = openat(fr->object.fd, rel, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct facts_object o;
	int r;

	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
		return 0;
	if (fd < 0)
		return err_set(err, ERR_HOST, errno, "protected entry %s", at);
	r = facts_object_hold(fd, &o);
	if (r < 0)
		return err_set(err, ERR_HOST, -r, "protected entry %s", at);
	if (S_ISLNK(o.mode))
		guard_link(g, root, at, kind, &o.id);
	else
		guard_add(g, root,
			  (struct guard){
				  .at = at, .kind = kind, .is_dir = S_ISDIR(o.mode), .id = o.id });
	return 0;
}

/* "dir/name" traps of a directory that exists; a dir that is a file or a link (.git of a linked
 * work tree) is itself what must not be replaced. */
static int guard_dir_traps(struct guards *g, size_t root, const char *name, struct err *err)
{
	const struct profile_sandbox *s = &g->in->profile->sandbox;
	const struct profile_trap *lists[] = { s->hide.v, s->freeze.v };
	const size_t counts[] = { s->hide.n, s->freeze.n };
	size_t len = strlen(name);
	struct stat st;

	for (size_t l = 0; l < ARRAY_SIZE(lists); l++) {
		for (size_t i = 0; i < counts[l]; i++) {
			const char *pattern = lists[l][i].pattern;
			enum policy_trap trap;

			if (strncmp(pattern, name, len) != 0 || pattern[len] != '/')
				continue;
			trap = policy_trap_name(s, pattern);
			if (trap == POLICY_TRAP_NONE)
				continue;
			if (fstatat(g->in->facts->roots.v[root].object.fd, name, &st,
				    AT_SYMLINK_NOFOLLOW) != 0)
				return err_set(err, ERR_HOST, errno, "protected entry %s", name);
			if (!S_ISDIR(st.st_mode))
				return guard_entry(g, root, name, GUARD_FREEZE, err);
			if (guard_entry(g, root, pattern,
					trap == POLICY_TRAP_HIDE ? GUARD_HIDE : GUARD_FREEZE,
					err) != 0)
				return -1;
		}
	}
	return 0;
}

static bool is_lent(const struct guards *g, const char *at)
{
	const struct facts *f = g->in->facts;

	for (size_t i = 0; i < f->lent_sockets.n; i++) {
		if (strcmp(f->lent_sockets.v[i].at, at) == 0)
			return true;
	}
	return false;
}

/* A socket or a FIFO is a way to a process outside, and a read-only mount does not close it. */
static int guard_sockets(struct guards *g, size_t root, struct err *err)
{
	const struct facts_root *fr = &g->in->facts->roots.v[root];
	facts_names_found found = { 0 };
	int r = facts_sockets_find(g->arena, fr->object.fd, &found);

	if (r == -E2BIG)
		return err_set_at(err, ERR_PROFILE, fr->root->pos.file, fr->root->pos.line,
				  fr->root->pos.col,
				  "root '%s' holds more than 262144 names in its two top levels: "
				  "too many to look for sockets there; name a narrower directory",
				  fr->root->path);
	if (r < 0)
		return err_set(err, ERR_HOST, -r, "looking for sockets at the top of root '%s'",
			       fr->root->path);
	for (size_t i = 0; i < found.n; i++) {
		if (!is_lent(g, path_join(g->arena, fr->root->at, found.v[i])) &&
		    guard_entry(g, root, found.v[i], GUARD_HIDE, err) != 0)
			return -1;
	}
	return 0;
}

static int guard_root(struct guards *g, size_t root, struct err *err)
{
	const struct facts_root *fr = &g->in->facts->roots.v[root];
	struct facts_names names = { 0 };
	int r = facts_names_list(g->arena, fr->object.fd, &names);

	if (r < 0)
		return err_set(err, ERR_HOST, -r,
			       "looking for protected names at the top of root '%s'",
			       fr->root->path);
	for (size_t i = 0; i < names.n; i++) {
		enum policy_trap trap = policy_trap_name(&g->in->profile->sandbox, names.v[i]);

		if (trap != POLICY_TRAP_NONE) {
			if (guard_entry(g, root, names.v[i],
					trap == POLICY_TRAP_HIDE ? GUARD_HIDE : GUARD_FREEZE,
					err) != 0)
				return -1;
		} else if (guard_dir_traps(g, root, names.v[i], err) != 0) {
			return -1;
		}
	}
	return 0;
}

/* A file of the control plane, found in whatever root holds one of its directories (by device and
 * inode: a root may be another name of the same directory). */
static int guard_control(struct guards *g, const char *real, enum guard_kind kind, bool *found,
			 struct err *err)
{
	const struct facts *f = g->in->facts;
	const char *dir = real;

	while (dir[1] != '\0') {
		struct stat st;

		if (stat(dir, &st) != 0)
			return err_set(err, ERR_HOST, errno, "%s", dir);
		for (size_t i = 0; i < f->roots.n; i++) {
			const struct facts_root *fr = &f->roots.v[i];
			const struct file_id *id = &fr->object.id;

			if (!fr->present || !g->in->access[i].read || id->ino != st.st_ino ||
			    makedev(id->dev_major, id->dev_minor) != st.st_dev)
				continue;
			if (strcmp(dir, real) == 0)
				return err_set_at(err, ERR_PROFILE, fr->root->pos.file,
						  fr->root->pos.line, fr->root->pos.col,
						  "root '%s' is a file of agentbox itself",
						  fr->root->path);
			*found = true;
			if (guard_entry(g, i, path_rest(dir, real), kind, err) != 0)
				return -1;
		}
		dir = path_dirname(g->arena, dir);
	}
	return 0;
}

static int guard_profile(struct guards *g, const struct profile_file *file, struct err *err)
{
	bool found = false;

	if (file->real == NULL)
		return 0;
	if (guard_control(g, file->real, GUARD_HIDE, &found, err) != 0)
		return -1;
	if (found && file->nlink > 1)
		return err_set(err, ERR_PROFILE, 0,
			       "%s lies in a root and has %lu names (hard links): it cannot be "
			       "hidden there; copy it out of the root",
			       file->name, (unsigned long)file->nlink);
	return 0;
}

static int guard_order(const void *a, const void *b)
{
	const struct guard *x = a;
	const struct guard *y = b;
	int r = strcmp(x->at, y->at);

	return r != 0 ? r : (int)x->kind - (int)y->kind;
}

/* Sorted, parents come first; then whatever an earlier one already covers is dropped. */
static void guards_settle(struct resolved *ret)
{
	size_t kept = 0;

	if (ret->guards.n > 1)
		qsort(ret->guards.v, ret->guards.n, sizeof(*ret->guards.v), guard_order);
	for (size_t i = 0; i < ret->guards.n; i++) {
		struct guard *g = &ret->guards.v[i];
		bool covered = false;

		for (size_t k = 0; k < kept && !covered; k++) {
			const struct guard *o = &ret->guards.v[k];

			if (strcmp(o->at, g->at) == 0)
				covered = true;
			else if (o->is_dir && path_covers(o->at, g->at))
				covered = o->kind == GUARD_HIDE || g->kind == GUARD_FREEZE;
		}
		if (!covered)
			ret->guards.v[kept++] = *g;
	}
	ret->guards.n = kept;
}

int resolve_guards(struct arena *a, const struct resolve_input *in, struct resolved *ret,
		   struct err *err)
{
	struct guards g = { .arena = a, .in = in, .ret = ret };
	const struct facts *f = in->facts;
	bool found = false;

	for (size_t i = 0; i < f->roots.n; i++) {
		const struct facts_root *fr = &f->roots.v[i];

		if (fr->present && in->access[i].read && S_ISDIR(fr->object.mode) &&
		    (guard_root(&g, i, err) != 0 ||
		     (in->profile->sandbox.unix_sockets == PROFILE_UNIX_PRIVATE &&
		      guard_sockets(&g, i, err) != 0)))
			return -1;
	}
	for (size_t i = 0; i < in->profile->files.n; i++) {
		if (guard_profile(&g, &in->profile->files.v[i], err) != 0)
			return -1;
	}
	if (guard_control(&g, f->self.path, GUARD_FREEZE, &found, err) != 0)
		return -1;
	guards_settle(ret);
	return 0;
}
