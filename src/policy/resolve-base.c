/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Theory of operation: the base, /dev and what is lent can be read by whoever runs commands, but
 * for what a rule names. A path that begins at a name of the base, or behind a link there, is
 * followed as programs would follow it, and what it leads to is masked whatever rules say of that
 * by another name. A pattern that begins at "/" is matched in each tree of the base. One of stars
 * alone is a rule of all paths: it speaks of the roots, whose mounts there are without it. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/path.h"
#include "policy/facts-roots.h"
#include "policy/rules.h"

struct base_walk {
	struct rules *r;
	const struct part *part;
	const char *spelled; /* where the walk begins, as the pattern says it */
	const char *at;      /* and where that is */
};

static bool is_readable(const struct rules *r, const char *at, bool is_dir)
{
	struct tree_access t;

	policy_tree_access(r->g->in->profile, r->g->in->agent, at, !is_dir, &t);
	return t.read;
}

static void hide(struct rules *r, const struct part *p, struct guard guard)
{
	guard.kind = GUARD_HIDE;
	guard.rule = p->rule;
	*array_push(r->g->arena, &r->g->ret->guards) = guard;
}

static int hide_target(struct rules *r, const struct part *p, const struct view_target *t)
{
	bool is_dir = S_ISDIR(t->object.mode);
	const char *below;

	if (t->node->kind == VIEW_ROOT)
		return rules_refuse(p, "is reached through a link: name its real path", r->err);
	below = guards_root_below(r->g, t->path);
	if (below != NULL)
		return rules_refuse(p, rules_over_root(r, below), r->err);
	if (t->node->kind == VIEW_BASE && t->object.fd >= 0)
		hide(r, p,
		     (struct guard){ .at = t->path,
				     .is_dir = is_dir,
				     .nlink = S_ISREG(t->object.mode) ? t->object.nlink : 0,
				     .id = t->object.id });
	return 0;
}

/* A link that the pattern itself names: of a directory behind it the pattern says nothing. */
static int hide_behind(struct rules *r, const struct part *p, const char *spelled)
{
	struct view_target t;
	int e = 0;

	if (view_resolve(r->g->arena, r->g->in->view, spelled, &t) == VIEW_FOUND &&
	    !S_ISDIR(t.object.mode) && t.node->kind == VIEW_BASE)
		e = hide_target(r, p, &t);
	view_target_close(&t);
	return e;
}

static int base_name(void *ctx, const char *rel, int type, uint64_t ino)
{
	struct base_walk *b = ctx;
	struct rules *r = b->r;
	const struct glob *g = &b->part->path->glob;
	const char *spelled;

	(void)ino;
	/* Programs cannot list it either: they run as the caller. */
	if (type == DT_UNKNOWN)
		return 0;
	spelled = path_join(r->g->arena, b->spelled, rel);
	if (glob_match(g, spelled) && !is_readable(r, spelled, type == DT_DIR)) {
		const char *at = path_join(r->g->arena, b->at, rel);
		struct view_target t = { .object = { .fd = -1 } };
		int e = 0;

		if (type == DT_LNK)
			e = hide_behind(r, b->part, spelled);
		else if (view_resolve(r->g->arena, r->g->in->view, at, &t) == VIEW_FOUND)
			e = hide_target(r, b->part, &t);
		view_target_close(&t);
		if (e != 0 || guards_limit(r->g, 0, r->err) != 0)
			return -ECANCELED;
	}
	return type == DT_DIR && glob_reaches(g, spelled);
}

static int walk(struct rules *r, const struct part *p, const char *spelled, const char *at,
		int dirfd)
{
	struct base_walk b = { .r = r, .part = p, .spelled = spelled, .at = at };
	struct facts_walk w = { .arena = r->g->arena,
				.answers = r->g->in->facts->answers,
				.dirfd = dirfd,
				.start = "",
				.fn = base_name,
				.ctx = &b,
				.max = GUARD_NAMES_MAX,
				.names = r->g->ret->names };
	int e = facts_walk(&w);

	r->g->ret->names = w.names;
	if (e == -ECANCELED)
		return -1;
	if (e < 0)
		return rules_refuse(
			p,
			"cannot be looked for in the base: begin it with a root, or with a "
			"narrower directory",
			r->err);
	return 0;
}

/* @spelled leads to something, by links or not. */
static int tree(struct rules *r, const struct part *p, const char *spelled)
{
	const struct glob *g = &p->path->glob;
	struct view_target t;
	int e = 0;

	if (view_resolve(r->g->arena, r->g->in->view, spelled, &t) == VIEW_FOUND &&
	    t.object.fd >= 0) {
		bool is_dir = S_ISDIR(t.object.mode);

		if (glob_match(g, spelled))
			e = is_readable(r, spelled, is_dir) ? 0 : hide_target(r, p, &t);
		else if (is_dir && t.node->kind == VIEW_BASE)
			e = walk(r, p, spelled, t.path, t.object.fd);
		else if (is_dir && t.node->kind == VIEW_ROOT)
			e = hide_target(r, p, &t);
	}
	view_target_close(&t);
	return e;
}

static bool is_in_a_root(const struct rules *r, const char *at)
{
	const struct facts *f = r->g->in->facts;

	for (size_t i = 0; i < f->roots.n; i++) {
		if (f->roots.v[i].root->at != NULL && path_covers(f->roots.v[i].root->at, at))
			return true;
	}
	return false;
}

static int trees(struct rules *r, const struct part *p)
{
	const struct facts *f = r->g->in->facts;
	const struct glob *g = &p->path->glob;

	if (is_in_a_root(r, g->prefix))
		return 0;
	/* In the base, or behind a link of it; else trees of the base may lie below. */
	if (facts_base_holder(f, g->prefix) != NULL)
		return tree(r, p, g->prefix);
	for (size_t i = 0; i < f->base.n; i++) {
		const struct facts_base *b = &f->base.v[i];

		if (b->kind == FACTS_BASE_ABSENT || b->kind == FACTS_BASE_MADE ||
		    !path_covers(g->prefix, b->at) || !glob_reaches(g, b->at))
			continue;
		if (tree(r, p, b->at) != 0)
			return -1;
	}
	return 0;
}

/* One file that is mounted by itself. A read-only mount keeps nobody from writing to a device or
 * from connecting to a socket. */
static int single(struct rules *r, const struct part *p, const char *at, bool is_device)
{
	action_set reads = action_operation_set(OPERATION_READ);
	struct tree_access t;

	if (!glob_match(&p->path->glob, at) || is_in_a_root(r, at))
		return 0;
	policy_tree_access(r->g->in->profile, r->g->in->agent, at, true, &t);
	if (t.read && t.write)
		return 0;
	if (is_device && (p->rule->actions & reads) == 0)
		return rules_refuse(p,
				    "is a device, and no mount keeps it from being written to "
				    "while it may be read: deny reading too",
				    r->err);
	hide(r, p, (struct guard){ .at = at });
	return 0;
}

static int singles(struct rules *r, const struct part *p)
{
	const struct facts *f = r->g->in->facts;
	struct arena *a = r->g->arena;
	int e = 0;

	for (size_t i = 0; e == 0 && i < FACTS_DEVICES; i++) {
		if (f->devices[i].object.fd >= 0)
			e = single(r, p, path_join(a, "/dev", f->devices[i].name), true);
	}
	for (size_t i = 0; e == 0 && i < f->lent_devices.n; i++)
		e = single(r, p, f->lent_devices.v[i].at, true);
	for (size_t i = 0; e == 0 && i < f->lent_sockets.n; i++)
		e = single(r, p, f->lent_sockets.v[i].at, false);
	return e;
}

/* Our own files of /etc, where that is a directory of ours. */
static void own_files(struct rules *r, const struct part *p)
{
	const struct facts *f = r->g->in->facts;

	for (size_t i = 0; f->etc_made && i < f->etc.n; i++) {
		const char *at = path_join(r->g->arena, "/etc", f->etc.v[i].name);

		if (glob_match(&p->path->glob, at) && !is_readable(r, at, false))
			hide(r, p, (struct guard){ .at = at });
	}
}

int rules_base(struct rules *r, const struct part *p)
{
	if (p->rule->mode == PROFILE_ALLOW || p->path->glob.prefix == NULL ||
	    glob_is_everything(&p->path->glob))
		return 0;
	if (singles(r, p) != 0)
		return -1;
	if ((p->rule->actions & action_operation_set(OPERATION_READ)) == 0)
		return guards_limit(r->g, 0, r->err);
	own_files(r, p);
	return trees(r, p) != 0 ? -1 : guards_limit(r->g, 0, r->err);
}
