/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Theory of operation: a root is mounted as the agent's rules say of the whole of it. What they say
 * of a part of it becomes a mask (not readable) or a freeze (not writable) of what exists there;
 * policy_tree_access() is asked for each such object, so that the order of the rules counts here as
 * it does in a decision. A literal path is looked up. Patterns are matched in one walk of the
 * directories that they reach, and only then. What does not exist has no mount: a rule on it is
 * refused where programs could make it, unless it asks for a report. The base: resolve-base.c. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/path.h"
#include "policy/facts-roots.h"
#include "policy/match.h"
#include "policy/rules.h"

#define ACTIONS_FILES (action_operation_set(OPERATION_READ) | action_operation_set(OPERATION_WRITE))

int rules_refuse(const struct part *p, const char *why, struct err *err)
{
	const struct profile_pos *pos = &p->rule->pos;

	return err_set_at(err, ERR_PROFILE, pos->file, pos->line, pos->col, "'%s' %s",
			  p->path->text, why);
}

const char *rules_over_root(const struct rules *r, const char *root_at)
{
	return arena_printf(r->g->arena,
			    "would hide the root '%s' too: show that root elsewhere ('at')",
			    root_at);
}

static bool is_writable(const struct rules *r)
{
	return r->g->in->access[r->root].write;
}

/* A deeper root that is mounted there has rules of its own. */
static bool is_in_root(const struct rules *r, const char *at)
{
	const struct facts *f = r->g->in->facts;
	const char *root_at = f->roots.v[r->root].root->at;

	if (root_at == NULL || !path_covers(root_at, at) || strcmp(root_at, at) == 0)
		return false;
	for (size_t i = 0; i < f->roots.n; i++) {
		const char *other = f->roots.v[i].root->at;

		if (i != r->root && f->roots.v[i].present && r->g->in->access[i].read &&
		    path_covers(other, at) && strlen(other) > strlen(root_at))
			return false;
	}
	return true;
}

static const char *const absent_text =
	"names nothing that exists in a writable root, and no mount keeps a program from making "
	"it: say mode: ro for the root, deny a directory that exists (DIR/**), or say 'absent: "
	"report' to be told";
static const char *const later_text =
	"may match names that a program makes later in a writable root, and no mount keeps it from "
	"that: say mode: ro for the root, deny a directory (DIR/**), or say 'absent: report' to be "
	"told";

static bool may_be_absent(const struct rules *r, const struct part *p)
{
	const struct glob *g = &p->path->glob;
	struct tree_access t = { 0 };

	/* An earlier rule allows it. */
	if (glob_is_literal(g) || glob_is_subtree(g))
		policy_tree_access(r->g->in->profile, r->g->in->agent, g->prefix,
				   glob_is_literal(g), &t);
	if (t.read && t.write)
		return true;
	return !is_writable(r) || p->rule->absent_report || r->g->in->names_only;
}

static int guard_part(struct rules *r, const struct part *p, const char *rel,
		      const struct facts_object *o)
{
	const struct facts_root *fr = &r->g->in->facts->roots.v[r->root];
	const char *at = path_join(r->g->arena, fr->root->at, rel);
	bool is_dir = S_ISDIR(o->mode);
	struct tree_access t;
	const char *below;

	policy_tree_access(r->g->in->profile, r->g->in->agent, at, !is_dir, &t);
	if (t.read && (t.write || !is_writable(r)))
		/* Where a directory of that name is denied, a program could put one there. */
		return is_dir || !glob_is_subtree(&p->path->glob) || may_be_absent(r, p)
			       ? 0
			       : rules_refuse(p, absent_text, r->err);
	if (p->rule->strict && !is_dir && is_writable(r))
		return rules_refuse(
			p,
			"is 'strict', and a file in a writable root is masked only until the "
			"host replaces it: deny a directory that holds it, or say mode: ro "
			"for the root",
			r->err);
	below = guards_root_below(r->g, at);
	if (!t.read && below != NULL)
		return rules_refuse(p, rules_over_root(r, below), r->err);
	guard_hold(r->g, r->root, rel, t.read ? GUARD_FREEZE : GUARD_HIDE, p->rule, o);
	return guards_limit(r->g, 0, r->err);
}

static int literal(struct rules *r, const struct part *p)
{
	const struct facts_root *fr = &r->g->in->facts->roots.v[r->root];
	const char *rel = path_rest(fr->root->at, p->path->glob.prefix);
	FD_AUTO fd = guards_open(r->g, r->root, rel, O_PATH | O_NOFOLLOW);
	struct facts_object o;
	int e;

	guards_watch(r->g, path_dirname(r->g->arena, path_join(r->g->arena, fr->object.path, rel)));
	if (fd == -ELOOP && !r->g->in->names_only)
		return rules_refuse(p, "is reached through a link: name its real path", r->err);
	if (fd == -ENOENT || fd == -ENOTDIR || fd == -ELOOP)
		return may_be_absent(r, p) ? 0 : rules_refuse(p, absent_text, r->err);
	if (fd < 0)
		return err_set(r->err, ERR_HOST, -fd, "%s", p->path->glob.prefix);
	e = facts_object_hold(fd, &o);
	if (e < 0)
		return err_set(r->err, ERR_HOST, -e, "%s", p->path->glob.prefix);
	return guard_part(r, p, rel, &o);
}

static int glob_hit(struct rules *r, const struct part *p, const char *rel)
{
	FD_AUTO fd = guards_open(r->g, r->root, rel, O_PATH | O_NOFOLLOW);
	struct facts_object o;
	int e;

	/* Gone meanwhile. */
	if (fd == -ENOENT || fd == -ENOTDIR || fd == -ELOOP)
		return 0;
	e = fd < 0 ? fd : facts_object_hold(fd, &o);
	if (e < 0)
		return err_set(r->err, ERR_HOST, -e, "%s", rel);
	return guard_part(r, p, rel, &o);
}

static int glob_name(void *ctx, const char *rel, int type, uint64_t ino)
{
	struct rules *r = ctx;
	const char *root_at = r->g->in->facts->roots.v[r->root].root->at;
	char at[2 * PATH_MAX];
	bool below = false;

	(void)ino;
	/* Names in it are known, or it can be opened: nothing of it may be seen. */
	if (type == DT_UNKNOWN)
		return guard_entry(r->g, r->root, rel, GUARD_HIDE, r->err) == 0 ? 0 : -ECANCELED;
	(void)snprintf(at, sizeof(at), "%s/%s", root_at, rel);
	if (type == DT_DIR && !is_in_root(r, at))
		return 0;
	for (size_t i = 0; i < r->globs.n; i++) {
		const struct glob *g = &r->globs.v[i].path->glob;

		below = below || (type == DT_DIR && glob_reaches(g, at));
		if (glob_match(g, at) && glob_hit(r, &r->globs.v[i], rel) != 0)
			return -ECANCELED;
	}
	return below;
}

static int walk_globs(struct rules *r)
{
	const struct facts_root *fr = &r->g->in->facts->roots.v[r->root];
	struct facts_walk w = { .arena = r->g->arena,
				.answers = r->g->in->facts->answers,
				.dirfd = fr->object.fd,
				.start = "",
				.fn = glob_name,
				.ctx = r,
				.max = GUARD_NAMES_MAX,
				.names = r->g->ret->names };
	int e;

	for (size_t i = 0; i < r->globs.n; i++) {
		if (!may_be_absent(r, &r->globs.v[i]))
			return rules_refuse(&r->globs.v[i], later_text, r->err);
	}
	/* Afterwards it is looked for anew, wherever it may be. */
	if (is_writable(r)) {
		guards_watch(r->g, fr->object.path);
		r->g->ret->watched.v[r->g->ret->watched.n - 1].recent = true;
	}
	e = facts_walk(&w);
	r->g->ret->names = w.names;
	if (e == -ECANCELED)
		return -1;
	if (e == -E2BIG || e == -ENAMETOOLONG)
		return rules_refuse(
			&r->globs.v[0],
			e == -E2BIG ? "asks for a walk of more than 1048576 names: begin it "
				      "with a narrower directory"
				    : "asks for a walk of paths that are too long to be opened",
			r->err);
	return e < 0 ? err_set(r->err, ERR_HOST, -e, "looking for '%s' in root '%s'",
			       r->globs.v[0].path->text, fr->root->path)
		     : 0;
}

/* What is allowed below a directory that another rule freezes stays writable; below one that it
 * hides nothing can be shown. */
static int exception(struct rules *r, const struct part *p)
{
	const struct facts_root *fr = &r->g->in->facts->roots.v[r->root];
	const char *at = p->path->glob.prefix;
	FD_AUTO fd = -1;
	struct facts_object o;
	struct tree_access t;

	policy_tree_access(r->g->in->profile, r->g->in->agent, at, true, &t);
	for (size_t i = 0; t.read && i < r->g->ret->guards.n; i++) {
		const struct guard *k = &r->g->ret->guards.v[i];

		if (k->rule == NULL || k->kind != GUARD_HIDE || !k->is_dir ||
		    strcmp(k->at, at) == 0 || !path_covers(k->at, at))
			continue;
		return rules_refuse(
			p,
			arena_printf(r->g->arena,
				     "lies in %s, which another rule hides as a whole: move "
				     "it out of there",
				     k->at),
			r->err);
	}
	if (!is_writable(r) ||
	    !(glob_is_literal(&p->path->glob) || glob_is_subtree(&p->path->glob)))
		return 0;
	fd = guards_open(r->g, r->root, path_rest(fr->root->at, at), O_PATH | O_NOFOLLOW);
	if (fd < 0 || facts_object_hold(fd, &o) != 0 || S_ISLNK(o.mode))
		return 0;
	policy_tree_access(r->g->in->profile, r->g->in->agent, at, !S_ISDIR(o.mode), &t);
	if (t.read && t.write)
		guard_hold(r->g, r->root, path_rest(fr->root->at, at), GUARD_KEEP, p->rule, &o);
	return guards_limit(r->g, 0, r->err);
}

typedef int part_fn(struct rules *r, const struct part *p);

static int stricter(struct rules *r, const struct part *p)
{
	const struct glob *g = &p->path->glob;

	if (p->rule->mode == PROFILE_ALLOW)
		return 0;
	if (!glob_is_literal(g) && !glob_is_subtree(g)) {
		*array_push(r->g->arena, &r->globs) = *p;
		return 0;
	}
	return is_in_root(r, g->prefix) ? literal(r, p) : 0;
}

static int kept(struct rules *r, const struct part *p)
{
	return p->rule->mode == PROFILE_ALLOW && is_in_root(r, p->path->glob.prefix)
		       ? exception(r, p)
		       : 0;
}

/* @at: of the root; NULL for the base. */
static int each_rule(struct rules *r, const struct profile_rule *rule, const char *at, part_fn *fn)
{
	for (size_t i = 0; i < rule->paths.n; i++) {
		const struct part p = { rule, &rule->paths.v[i] };

		/* Of the whole root its mount speaks. */
		if ((rule->actions & ACTIONS_FILES) == 0 ||
		    (at != NULL &&
		     (match_tree(p.path, at, true) || !glob_reaches(&p.path->glob, at))))
			continue;
		if (fn(r, &p) != 0)
			return -1;
	}
	return 0;
}

static int each_part(struct rules *r, const char *at, part_fn *fn)
{
	const struct policy_agent *agent = r->g->in->agent;

	for (size_t i = 0; i < agent->lists.n; i++) {
		const struct agent_rules *list = &agent->lists.v[i];

		for (size_t k = 0; k < list->rules.n; k++) {
			if (each_rule(r, &list->rules.v[k], at, fn) != 0)
				return -1;
		}
	}
	return 0;
}

int guards_rules(struct guards *g, struct err *err)
{
	const struct facts *f = g->in->facts;

	struct rules base = { .g = g, .err = err };

	if (each_part(&base, NULL, rules_base) != 0)
		return -1;
	for (size_t i = 0; i < f->roots.n; i++) {
		struct rules r = { .g = g, .root = i, .err = err };
		const char *at = f->roots.v[i].root->at;

		if (!f->roots.v[i].present || !g->in->access[i].read ||
		    !S_ISDIR(f->roots.v[i].object.mode))
			continue;
		if (each_part(&r, at, stricter) != 0 || (r.globs.n > 0 && walk_globs(&r) != 0) ||
		    each_part(&r, at, kept) != 0)
			return -1;
	}
	return 0;
}
