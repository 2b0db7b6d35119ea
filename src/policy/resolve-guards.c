/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "policy/facts-answers.h"
#include "policy/facts-roots.h"
#include "policy/guards.h"

/* Below a root no link is followed. */
#define GUARDS_RESOLVE (RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS)

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

void guard_add(struct guards *g, size_t root, struct guard guard)
{
	if (guard_is_shadowed(g, root, guard.at))
		return;
	guard.root_at = g->in->facts->roots.v[root].root->at;
	guard.root_writable = g->in->access[root].write;
	/* A read-only root is frozen as it is. */
	if (guard.kind != GUARD_HIDE && !guard.root_writable)
		return;
	*array_push(g->arena, &g->ret->guards) = guard;
}

/* A root, or a directory above one, is no target: a link planted in a root would take the root
 * away from the next run. */
static bool holds_root(const struct guards *g, const char *at)
{
	return guards_root_below(g, at) != NULL;
}

/* A link that must not be replaced is covered: a mount sits on the link itself. What it leads to
 * is guarded too when programs can reach it by its own name. A directory cannot be mounted on a
 * link, so a link to one is hidden rather than frozen. */
static void guard_link(struct guards *g, size_t root, const char *at, enum guard_kind kind,
		       const struct profile_rule *rule, const struct file_id *id)
{
	struct guard cover = { .at = at, .kind = kind, .is_link = true, .rule = rule, .id = *id };
	struct view_target t;
	enum view_result r = view_resolve(g->arena, g->in->view, at, &t);

	if (r == VIEW_FOUND && t.object.fd >= 0) {
		bool is_dir = S_ISDIR(t.object.mode);

		if (t.node->kind == VIEW_ROOT && !holds_root(g, t.path))
			guard_add(g, t.node->root,
				  (struct guard){ .at = t.path,
						  .kind = kind,
						  .is_dir = is_dir,
						  .rule = rule,
						  .nlink = is_dir ? 0 : t.object.nlink,
						  .id = t.object.id });
		if (!is_dir)
			cover.from = t.path;
	}
	if (cover.from == NULL && kind == GUARD_FREEZE && g->in->access[root].write)
		cover.kind = GUARD_HIDE;
	view_target_close(&t);
	guard_add(g, root, cover);
}

int guards_open(const struct guards *g, size_t root, const char *rel, uint64_t flags)
{
	struct open_how how = {
		.flags = flags | O_CLOEXEC,
		.resolve = GUARDS_RESOLVE,
	};
	long fd = syscall(SYS_openat2, g->in->facts->roots.v[root].object.fd,
			  rel[0] == '\0' ? "." : rel, &how, sizeof(how));

	return fd < 0 ? -errno : (int)fd;
}

int guard_entry(struct guards *g, size_t root, const char *rel, enum guard_kind kind,
		struct err *err)
{
	const struct facts_root *fr = &g->in->facts->roots.v[root];
	const char *at = path_join(g->arena, fr->root->at, rel);
	FD_AUTO fd = guards_open(g, root, rel, O_PATH | O_NOFOLLOW);
	struct facts_object o;
	const char *below;
	int r;

	/* A link on the way has come meanwhile: the path was free of them. */
	if (fd == -ENOENT || fd == -ENOTDIR)
		return 0;
	if (fd < 0)
		return err_set(err, ERR_HOST, -fd, "protected entry %s", at);
	r = facts_object_hold(fd, &o);
	if (r < 0)
		return err_set(err, ERR_HOST, -r, "protected entry %s", at);
	below = kind == GUARD_HIDE && S_ISDIR(o.mode) ? guards_root_below(g, at) : NULL;
	if (below != NULL && strcmp(below, at) != 0)
		return err_set_at(err, ERR_PROFILE, fr->root->pos.file, fr->root->pos.line,
				  fr->root->pos.col,
				  "root '%s': %s is hidden there, and the root '%s' with it: show "
				  "that one elsewhere ('at'), or say protect: {except: [%s]}",
				  fr->root->path, at, below, path_basename(at));
	guard_hold(g, root, rel, kind, NULL, &o);
	return 0;
}

void guard_hold(struct guards *g, size_t root, const char *rel, enum guard_kind kind,
		const struct profile_rule *rule, const struct facts_object *o)
{
	const char *at = path_join(g->arena, g->in->facts->roots.v[root].root->at, rel);

	if (S_ISLNK(o->mode))
		guard_link(g, root, at, kind, rule, &o->id);
	else
		guard_add(g, root,
			  (struct guard){ .at = at,
					  .kind = kind,
					  .is_dir = S_ISDIR(o->mode),
					  .rule = rule,
					  .nlink = S_ISREG(o->mode) ? o->nlink : 0,
					  .id = o->id });
}

const char *guards_root_below(const struct guards *g, const char *at)
{
	const struct facts *f = g->in->facts;

	for (size_t i = 0; i < f->roots.n; i++) {
		if (f->roots.v[i].present && g->in->access[i].read &&
		    path_covers(at, f->roots.v[i].root->at))
			return f->roots.v[i].root->at;
	}
	return NULL;
}

enum guard_kind guard_kind_of(enum policy_trap trap)
{
	return trap == POLICY_TRAP_HIDE ? GUARD_HIDE : GUARD_FREEZE;
}

static const char *scope_rel(const struct guards *g, const struct guard_scope *s, const char *name)
{
	return s->rel[0] == '\0' ? name : path_join(g->arena, s->rel, name);
}

void guards_watch(struct guards *g, const char *path)
{
	struct timespec now;
	struct stat st;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	if (stat(path, &st) != 0)
		st = (struct stat){ 0 };
	/* Times of files go by the tick of the kernel, or of another machine. */
	*array_push(g->arena, &g->ret->watched) = (struct guard_watch){
		.path = path,
		.dev = st.st_dev,
		.ino = st.st_ino,
		.ctime = st.st_ctim,
		.recent = now.tv_sec - st.st_ctim.tv_sec < 2,
	};
}

void guards_scope_add(struct guards *g, size_t root, const char *rel, uint64_t deeper)
{
	for (size_t i = 0; i < g->scopes.n; i++) {
		if (g->scopes.v[i].root == root && strcmp(g->scopes.v[i].rel, rel) == 0)
			return;
	}
	*array_push(g->arena, &g->scopes) =
		(struct guard_scope){ .root = root, .rel = rel, .deeper = deeper };
}

/* "dir/name" traps of a directory that exists; a dir that is a file or a link is itself what must
 * not be replaced. What git's directory holds is for guards_git(). */
static int guard_dir_traps(struct guards *g, const struct guard_scope *scope, const char *name,
			   bool is_dir, struct err *err)
{
	const struct profile_sandbox *s = &g->in->profile->sandbox;
	const struct profile_trap *lists[] = { s->hide.v, s->freeze.v };
	const size_t counts[] = { s->hide.n, s->freeze.n };
	size_t len = strlen(name);

	for (size_t l = 0; l < ARRAY_SIZE(lists); l++) {
		for (size_t i = 0; i < counts[l]; i++) {
			const char *pattern = lists[l][i].pattern;
			enum policy_trap trap;

			if (strncmp(pattern, name, len) != 0 || pattern[len] != '/')
				continue;
			trap = policy_trap_name(s, pattern);
			if (trap == POLICY_TRAP_NONE)
				continue;
			if (!is_dir)
				return guard_entry(g, scope->root, scope_rel(g, scope, name),
						   GUARD_FREEZE, err);
			if (guard_entry(g, scope->root, scope_rel(g, scope, pattern),
					guard_kind_of(trap), err) != 0)
				return -1;
		}
	}
	return 0;
}

/* Before they are looked at: settling and mounting are what costs. */
int guards_limit(const struct guards *g, size_t more, struct err *err)
{
	size_t n = g->ret->guards.n + more;

	if (n <= GUARDS_MAX)
		return 0;
	return err_set(
		err, ERR_HOST, 0,
		"%zu entries of the roots would need a mask each, more than %d: remove those "
		"that a run left there (FIFOs, sockets, names of 'protect')",
		n, GUARDS_MAX);
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

/* What would be masked with a directory that cannot be listed; NULL when nothing would. */
static const char *granted_below(const struct guards *g, const char *at)
{
	const struct facts *f = g->in->facts;

	for (size_t i = 0; i < f->roots.n; i++) {
		const char *root = f->roots.v[i].root->at;

		if (f->roots.v[i].present && g->in->access[i].read && strcmp(root, at) != 0 &&
		    path_covers(at, root))
			return root;
	}
	for (size_t i = 0; i < f->lent_sockets.n; i++) {
		if (path_covers(at, f->lent_sockets.v[i].at))
			return f->lent_sockets.v[i].at;
	}
	return NULL;
}

/* A socket or a FIFO is a way to a process outside, and a read-only mount does not close it. */
static int guard_sockets(struct guards *g, size_t root, struct err *err)
{
	const struct facts_root *fr = &g->in->facts->roots.v[root];
	facts_names_found found = { 0 };
	int r = facts_sockets_find(g->arena, g->in->facts->answers, fr->object.fd, &found);

	if (r == -E2BIG)
		return err_set_at(err, ERR_PROFILE, fr->root->pos.file, fr->root->pos.line,
				  fr->root->pos.col,
				  "root '%s' holds more than 262144 names in its two top levels: "
				  "too many to look for sockets there; name a narrower directory",
				  fr->root->path);
	if (r < 0)
		return err_set(err, ERR_HOST, -r, "looking for sockets at the top of root '%s'",
			       fr->root->path);
	if (guards_limit(g, found.n, err) != 0)
		return -1;
	for (size_t i = 0; i < found.n; i++) {
		const char *at = path_join(g->arena, fr->root->at, found.v[i]);
		const char *granted;

		if (is_lent(g, at) || guard_is_shadowed(g, root, at))
			continue;
		granted = granted_below(g, at);
		if (granted != NULL)
			return err_set(err, ERR_HOST, 0,
				       "%s cannot be listed, so sockets in it cannot be found, and "
				       "it cannot be masked with %s in it: chmod u+rx it",
				       at, granted);
		if (guard_entry(g, root, found.v[i], GUARD_HIDE, err) != 0)
			return -1;
	}
	return 0;
}

/* Directly in a root, a directory may be a work tree of its own. */
static int guard_below(struct guards *g, const struct guard_scope *scope, const char *name,
		       struct err *err)
{
	const struct facts_root *fr = &g->in->facts->roots.v[scope->root];
	int r;

	if (scope->deeper > 0) {
		/* Each once: what is walked below a root is met in no other way before. */
		*array_push(g->arena, &g->scopes) =
			(struct guard_scope){ .root = scope->root,
					      .rel = scope_rel(g, scope, name),
					      .deeper = scope->deeper - 1 };
		return 0;
	}
	if (scope->rel[0] != '\0')
		return 0;
	r = facts_answers_look(g->in->facts->answers, fr->object.fd, name, ".git");
	if (r == -ETIMEDOUT)
		return guard_entry(g, scope->root, name, GUARD_HIDE, err);
	if (r < 0)
		return err_set(err, ERR_HOST, -r, "%s", path_join(g->arena, fr->root->at, name));
	if (r > 0)
		guards_scope_add(g, scope->root, name, 0);
	return 0;
}

static int guard_scope_entry(struct guards *g, const struct guard_scope *scope,
			     const struct facts_entry *e, struct err *err)
{
	enum policy_trap trap = policy_trap_name(&g->in->profile->sandbox, e->name);
	const char *rel = scope_rel(g, scope, e->name);

	if (trap != POLICY_TRAP_NONE)
		return guard_entry(g, scope->root, rel, guard_kind_of(trap), err);
	if (strcmp(e->name, ".git") == 0)
		return guards_git(g, scope, err);
	if (guard_dir_traps(g, scope, e->name, e->is_dir, err) != 0)
		return -1;
	return e->is_dir ? guard_below(g, scope, e->name, err) : 0;
}

static int guard_scope_walk(struct guards *g, struct guard_scope scope, struct err *err)
{
	const struct facts_root *fr = &g->in->facts->roots.v[scope.root];
	facts_entries entries = { 0 };
	FD_AUTO fd = facts_answers_dir(g->in->facts->answers, fr->object.fd,
				       scope.rel[0] == '\0' ? "." : scope.rel, GUARDS_RESOLVE);
	int r = fd < 0 ? fd : facts_entries_list(g->arena, fd, &entries);

	/* Programs run as the caller: they could open it. */
	if (r == -EACCES && scope.rel[0] != '\0')
		return guard_entry(g, scope.root, scope.rel, GUARD_HIDE, err);
	if (r < 0)
		return err_set(err, ERR_HOST, -r, "looking for protected names in %s%s%s",
			       fr->root->path, scope.rel[0] == '\0' ? "" : "/", scope.rel);
	guards_watch(g, scope.rel[0] == '\0' ? fr->object.path
					     : path_join(g->arena, fr->object.path, scope.rel));
	g->ret->names += entries.n;
	if (scope.deeper + g->in->profile->sandbox.protect_depth > 0 &&
	    g->ret->names > GUARD_NAMES_MAX)
		return err_set_at(err, ERR_PROFILE, fr->root->pos.file, fr->root->pos.line,
				  fr->root->pos.col,
				  "root '%s': more than %d names within 'depth: %llu' of protect: "
				  "name a narrower root, or less depth",
				  fr->root->path, GUARD_NAMES_MAX,
				  (unsigned long long)g->in->profile->sandbox.protect_depth);
	for (size_t i = 0; i < entries.n; i++) {
		if (guard_scope_entry(g, &scope, &entries.v[i], err) != 0)
			return -1;
	}
	return guards_limit(g, 0, err);
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

/* By its other names the file may lie anywhere on its file system. */
static bool shares_device(const struct guards *g, dev_t dev)
{
	const struct facts *f = g->in->facts;

	for (size_t i = 0; i < f->roots.n; i++) {
		const struct file_id *id = &f->roots.v[i].object.id;

		if (f->roots.v[i].present && g->in->access[i].read &&
		    makedev(id->dev_major, id->dev_minor) == dev)
			return true;
	}
	return false;
}

static int guard_profile(struct guards *g, const struct profile_file *file, struct err *err)
{
	bool found = false;

	/* The caller's own: what an ordinary one cannot link, others have linked (a package). */
	if (file->nlink > 1 && file->uid == g->in->facts->caller.uid && shares_device(g, file->dev))
		return err_set(
			err, ERR_PROFILE, 0,
			"%s has %lu names (hard links), and a root lies on the same file "
			"system: it cannot be hidden there by a name that is not known; copy "
			"it",
			file->name, (unsigned long)file->nlink);
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

/* A slash is the lowest: a directory, all that is in it, and then its neighbours. */
static int byte_rank(unsigned char c)
{
	return c == '\0' ? 0 : c == '/' ? 1 : c + 1;
}

/* The sandbox's own first, then the strictest. */
static int rule_rank(const struct profile_rule *rule)
{
	return rule == NULL ? -1 : (int)rule->mode;
}

int guard_order(const void *a, const void *b)
{
	const struct guard *x = a;
	const struct guard *y = b;
	size_t i = 0;

	while (x->at[i] != '\0' && x->at[i] == y->at[i])
		i++;
	if (x->at[i] == y->at[i])
		return x->kind != y->kind ? (int)x->kind - (int)y->kind
					  : rule_rank(x->rule) - rule_rank(y->rule);
	return byte_rank((unsigned char)x->at[i]) - byte_rank((unsigned char)y->at[i]);
}

static bool guard_covers(const struct guard *o, const struct guard *g)
{
	if (strcmp(o->at, g->at) == 0)
		return true;
	/* A root below a frozen directory stays as it is, and so do its own guards. */
	if (o->kind == GUARD_FREEZE && strcmp(o->root_at, g->root_at) != 0 &&
	    path_covers(o->at, g->root_at))
		return false;
	return o->is_dir &&
	       (o->kind == GUARD_HIDE || (o->kind == GUARD_FREEZE && g->kind == GUARD_FREEZE));
}

/* From the nearest on: a freeze ends at what is kept, and keeping starts at a freeze. */
static bool guard_is_covered(const struct resolved *ret, const size_t *chain, size_t depth,
			     const struct guard *g)
{
	bool kept = false;

	while (depth-- > 0) {
		const struct guard *o = &ret->guards.v[chain[depth]];

		if (guard_covers(o, g) && !(kept && o->kind == GUARD_FREEZE))
			return true;
		/* A rule lifts what another rule says, and nothing that the sandbox does. */
		if (g->kind == GUARD_KEEP && o->kind == GUARD_FREEZE)
			return g->rule != NULL && o->rule == NULL;
		if (g->kind == GUARD_KEEP && o->kind == GUARD_KEEP)
			return true;
		kept = kept || o->kind == GUARD_KEEP;
	}
	return g->kind == GUARD_KEEP;
}

/* Whatever an earlier one already covers is dropped. In this order the ancestors of an entry are
 * those of the one before it, and that one. */
static void guards_settle(struct arena *a, struct resolved *ret)
{
	size_t *chain = arena_array(a, ret->guards.n, sizeof(*chain));
	size_t depth = 0;
	size_t kept = 0;

	if (ret->guards.n > 1)
		qsort(ret->guards.v, ret->guards.n, sizeof(*ret->guards.v), guard_order);
	for (size_t i = 0; i < ret->guards.n; i++) {
		struct guard *g = &ret->guards.v[i];

		while (depth > 0 && !path_covers(ret->guards.v[chain[depth - 1]].at, g->at))
			depth--;
		if (guard_is_covered(ret, chain, depth, g))
			continue;
		ret->guards.v[kept] = *g;
		chain[depth++] = kept++;
	}
	ret->guards.n = kept;
}

typedef int more_fn(struct guards *g, struct err *err);

/* What comes of guards that hold, and is settled with them. */
static int settle_more(struct guards *g, more_fn *more, struct err *err)
{
	size_t n = g->ret->guards.n;

	if (more(g, err) != 0 || guards_limit(g, 0, err) != 0)
		return -1;
	if (g->ret->guards.n > n)
		guards_settle(g->arena, g->ret);
	return 0;
}

int resolve_guards(struct arena *a, const struct resolve_input *in, struct resolved *ret,
		   struct err *err)
{
	struct guards g = { .arena = a, .in = in, .ret = ret };
	const struct facts *f = in->facts;
	bool found = false;

	/* Who asks for paths one by one is answered by each path's own root. */
	if (!in->no_rules && guards_twins(in, err) != 0)
		return -1;
	for (size_t i = 0; i < f->roots.n; i++) {
		const struct facts_root *fr = &f->roots.v[i];

		if (!fr->present || !in->access[i].read || !S_ISDIR(fr->object.mode))
			continue;
		guards_scope_add(&g, i, "", in->profile->sandbox.protect_depth);
		if (!in->names_only && in->profile->sandbox.unix_sockets == PROFILE_UNIX_PRIVATE &&
		    guard_sockets(&g, i, err) != 0)
			return -1;
	}
	/* It grows by the work trees that are found. */
	for (size_t i = 0; i < g.scopes.n; i++) {
		if (guard_scope_walk(&g, g.scopes.v[i], err) != 0)
			return -1;
	}
	for (size_t i = 0; !in->names_only && i < in->profile->files.n; i++) {
		if (guard_profile(&g, &in->profile->files.v[i], err) != 0)
			return -1;
	}
	if (!in->no_rules && guards_rules(&g, err) != 0)
		return -1;
	if (!in->names_only && guard_control(&g, f->self.path, GUARD_FREEZE, &found, err) != 0)
		return -1;
	if (guards_limit(&g, 0, err) != 0)
		return -1;
	guards_settle(a, ret);
	if (settle_more(&g, guards_mirror, err) != 0)
		return -1;
	if (settle_more(&g, guards_links, err) != 0)
		return -1;
	return guards_programs(ret, err);
}
