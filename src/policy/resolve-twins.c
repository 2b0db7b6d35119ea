/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Theory of operation: one part of the host may be seen at several places, by roots that overlap
 * and by the base. A guard sits on one place, and what it is to keep is behind the others too: it
 * is copied to each of them, by canonical host path. A root that begins at what is guarded, or
 * below, was named by the profile and stays as it is granted. */
#include <string.h>
#include <sys/stat.h>

#include "base/path.h"
#include "policy/guards.h"

/* One directory by two names is as writable as by the more writable one: the profile says two
 * things of it, and one of them would not hold. */
int guards_twins(const struct resolve_input *in, struct err *err)
{
	const struct facts *f = in->facts;

	for (size_t i = 0; i < f->roots.n; i++) {
		const struct facts_root *x = &f->roots.v[i];

		for (size_t k = 0; k < i && x->present && in->access[i].read; k++) {
			const struct facts_root *y = &f->roots.v[k];

			if (!y->present || !in->access[k].read ||
			    in->access[i].write == in->access[k].write ||
			    !file_id_same(&x->object.id, &y->object.id))
				continue;
			return err_set_at(err, ERR_PROFILE, x->root->pos.file, x->root->pos.line,
					  x->root->pos.col,
					  "root '%s' is the same as '%s' (line %u, column %u), and "
					  "only one of them is writable: grant one, or both alike",
					  x->root->path, y->root->path, y->root->pos.line,
					  y->root->pos.col);
		}
	}
	return 0;
}

static int program_check(const struct resolved *ret, const char *path, struct err *err)
{
	for (size_t i = 0; i < ret->guards.n; i++) {
		const struct guard *g = &ret->guards.v[i];
		const struct profile_rule *rule = g->rule;

		if (g->kind != GUARD_HIDE || !g->is_dir || !path_covers(g->at, path))
			continue;
		if (rule == NULL)
			return err_set(err, ERR_PROFILE, 0,
				       "%s is needed by the sandbox's commands, and %s is hidden",
				       path, g->at);
		return err_set_at(err, ERR_PROFILE, rule->pos.file, rule->pos.line, rule->pos.col,
				  "%s is needed by the sandbox's commands, and this rule hides %s: "
				  "deny less of it, or leave the command out",
				  path, g->at);
	}
	return 0;
}

int guards_programs(const struct resolved *ret, struct err *err)
{
	for (size_t i = 0; i < ret->programs.n; i++) {
		if (program_check(ret, ret->programs.v[i].path, err) != 0)
			return -1;
	}
	for (size_t i = 0; i < ret->loaders.n; i++) {
		if (program_check(ret, ret->loaders.v[i].path, err) != 0)
			return -1;
	}
	return 0;
}

/* A directory of the host, where it is seen. */
struct place {
	const char *at;
	const struct facts_object *object;
	size_t root; /* SIZE_MAX: of the base */
};

typedef ARRAY_OF(struct place) place_list;

static void places_find(struct guards *g, place_list *ret)
{
	const struct facts *f = g->in->facts;

	for (size_t i = 0; i < f->roots.n; i++) {
		const struct facts_root *r = &f->roots.v[i];

		if (r->present && g->in->access[i].read && S_ISDIR(r->object.mode))
			*array_push(g->arena, ret) = (struct place){ .at = r->root->at,
								     .object = &r->object,
								     .root = i };
	}
	for (size_t i = 0; i < f->base.n; i++) {
		if (f->base.v[i].kind == FACTS_BASE_DIR)
			*array_push(g->arena, ret) = (struct place){ .at = f->base.v[i].at,
								     .object = &f->base.v[i].object,
								     .root = SIZE_MAX };
	}
}

/* Some part of the host is seen at both. */
static bool overlap(const struct place *x, const struct place *y)
{
	return path_covers(x->object->path, y->object->path) ||
	       path_covers(y->object->path, x->object->path) ||
	       file_id_same(&x->object->id, &y->object->id);
}

static bool any_overlap(const place_list *places)
{
	for (size_t i = 0; i < places->n; i++) {
		for (size_t k = 0; k < i; k++) {
			if (overlap(&places->v[i], &places->v[k]))
				return true;
		}
	}
	return false;
}

/* The place that shows it; the deepest one is mounted last. */
static const struct place *place_of(const place_list *places, const struct guard *guard)
{
	const struct place *best = NULL;

	for (size_t i = 0; i < places->n; i++) {
		const struct place *p = &places->v[i];

		if ((guard->root_at == NULL) == (p->root == SIZE_MAX) &&
		    path_covers(p->at, guard->at) &&
		    (best == NULL || strlen(p->at) > strlen(best->at)))
			best = p;
	}
	return best;
}

bool guards_place(const struct guards *g, const struct guard *guard, int *ret_dirfd,
		  const char **ret_at)
{
	const struct facts *f = g->in->facts;
	const struct facts_base *base;

	for (size_t i = 0; guard->root_at != NULL && i < f->roots.n; i++) {
		if (strcmp(f->roots.v[i].root->at, guard->root_at) != 0)
			continue;
		*ret_dirfd = f->roots.v[i].object.fd;
		*ret_at = guard->root_at;
		return true;
	}
	base = guard->root_at == NULL ? facts_base_holder(f, guard->at) : NULL;
	if (base == NULL || base->kind != FACTS_BASE_DIR)
		return false;
	*ret_dirfd = base->object.fd;
	*ret_at = base->at;
	return true;
}

/* The base is read-only as it is. */
static void copy_to(struct guards *g, const struct place *to, const struct guard *guard,
		    const char *rel)
{
	struct guard copy = *guard;

	copy.at = path_join(g->arena, to->at, rel);
	if (to->root != SIZE_MAX) {
		guard_add(g, to->root, copy);
	} else if (guard->kind == GUARD_HIDE) {
		copy.root_at = NULL;
		copy.root_writable = false;
		*array_push(g->arena, &g->ret->guards) = copy;
	}
}

static int mirror(struct guards *g, const place_list *places, const struct guard *guard,
		  struct err *err)
{
	const struct place *from = place_of(places, guard);
	const char *rel, *host;

	if (from == NULL || strcmp(from->at, guard->at) == 0)
		return 0;
	rel = path_rest(from->at, guard->at);
	host = path_join(g->arena, from->object->path, rel);
	for (size_t i = 0; i < places->n; i++) {
		const struct place *to = &places->v[i];

		if (to == from)
			continue;
		if (file_id_same(&to->object->id, &from->object->id))
			copy_to(g, to, guard, rel);
		else if (path_covers(to->object->path, host) && strcmp(to->object->path, host) != 0)
			copy_to(g, to, guard, path_rest(to->object->path, host));
	}
	return guards_limit(g, 0, err);
}

int guards_mirror(struct guards *g, struct err *err)
{
	const size_t n = g->ret->guards.n;
	place_list places = { 0 };

	if (n == 0)
		return 0;
	places_find(g, &places);
	if (!any_overlap(&places))
		return 0;
	for (size_t i = 0; i < n; i++) {
		const struct guard guard = g->ret->guards.v[i];

		if (guard.kind != GUARD_KEEP && mirror(g, &places, &guard, err) != 0)
			return -1;
	}
	return 0;
}
