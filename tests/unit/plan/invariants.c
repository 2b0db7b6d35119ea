/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "invariants.h"

#include <string.h>
#include <sys/stat.h>

#include "base/path.h"
#include "sys/landlock.h"

#define BROKEN(h, i, what)                                                                         \
	arena_printf(&(h)->arena, "op %u at %s: %s", (unsigned)(i), (h)->plan->ops[i].at, what)

static bool is_made(enum plan_op_kind kind)
{
	return kind == PLAN_OP_MKDIR || kind == PLAN_OP_FILE || kind == PLAN_OP_SYMLINK;
}

static bool is_mounted(enum plan_op_kind kind)
{
	return kind == PLAN_OP_TREE || kind == PLAN_OP_TMPFS || kind == PLAN_OP_DEVPTS ||
	       kind == PLAN_OP_PROC || kind == PLAN_OP_BIND;
}

static bool is_staged(const char *path)
{
	return path != NULL &&
	       (path_covers("/proc/own", path) || path_covers("/proc/scratch", path) ||
		path_covers("/proc/loader", path));
}

/* Was @path made, or does it lie in something that was mounted, before op @i? */
static bool exists_before(const struct plan *p, uint32_t i, const char *path)
{
	if (path[1] == '\0')
		return true;
	for (uint32_t k = 0; k < i; k++) {
		const struct plan_op *o = &p->ops[k];

		if (o->kind == PLAN_OP_MKDIR || o->kind == PLAN_OP_FILE) {
			if (strcmp(o->at, path) == 0)
				return true;
		} else if ((o->kind == PLAN_OP_TREE || o->kind == PLAN_OP_PROC) &&
			   path_covers(o->at, path)) {
			return true;
		}
	}
	return false;
}

/* A place of the host: below a tree of the base or of a root. */
static bool on_host(const struct plan *p, uint32_t i, const char *path)
{
	for (uint32_t k = 0; k < i; k++) {
		if (p->ops[k].kind == PLAN_OP_TREE && path_covers(p->ops[k].at, path))
			return true;
	}
	return false;
}

static const char *text_broken(struct hand *h, uint32_t i)
{
	const struct plan_op *o = &h->plan->ops[i];

	if (!path_is_canonical(o->at))
		return BROKEN(h, i, "not canonical");
	if (o->from != NULL && !path_is_canonical(o->from))
		return BROKEN(h, i, "its source is not canonical");
	if ((o->kind == PLAN_OP_BIND) != (o->from != NULL))
		return BROKEN(h, i, "only a bind comes from somewhere");
	for (uint32_t k = 0; k < h->plan->n_ops; k++) {
		const struct plan_op *l = &h->plan->ops[k];

		if (l->kind == PLAN_OP_SYMLINK && k != i && path_covers(l->at, o->at))
			return BROKEN(h, i, "its path leads through a link of ours");
	}
	return NULL;
}

static const char *order_broken(struct hand *h, uint32_t i)
{
	const struct plan *p = h->plan;
	const struct plan_op *o = &p->ops[i];

	if (is_made(o->kind)) {
		if (!exists_before(p, i, path_dirname(&h->arena, o->at)))
			return BROKEN(h, i, "its parent does not exist yet");
		if (on_host(p, i, o->at))
			return BROKEN(h, i, "would be made on the host");
		if (exists_before(p, i, o->at))
			return BROKEN(h, i, "exists already");
	}
	if (is_mounted(o->kind) && !exists_before(p, i, o->at))
		return BROKEN(h, i, "has no mountpoint");
	if (o->kind == PLAN_OP_BIND && !exists_before(p, i, o->from))
		return BROKEN(h, i, "its source does not exist yet");
	for (uint32_t k = 0; k < i; k++) {
		if (p->ops[k].kind == PLAN_OP_PROC && (is_staged(o->at) || is_staged(o->from)))
			return BROKEN(h, i, "refers to the staging area after proc covers it");
		/* What comes later must not lie below: it would be covered. */
		if (is_mounted(o->kind) && is_mounted(p->ops[k].kind) &&
		    p->ops[k].kind != PLAN_OP_BIND && o->kind != PLAN_OP_BIND &&
		    o->kind != PLAN_OP_PROC && path_covers(o->at, p->ops[k].at))
			return BROKEN(h, i, "covers what was mounted before");
	}
	return NULL;
}

static const struct facts_root *root_at(const struct hand *h, const char *at, size_t *index)
{
	for (size_t i = 0; i < h->facts.roots.n; i++) {
		if (strcmp(h->facts.roots.v[i].root->at, at) == 0) {
			*index = i;
			return &h->facts.roots.v[i];
		}
	}
	return NULL;
}

static const char *tree_broken(struct hand *h, uint32_t i)
{
	const unsigned safe = PLAN_ATTR_NOSUID | PLAN_ATTR_NODEV;
	const struct plan_op *o = &h->plan->ops[i];
	const struct plan_source *s = &h->plan->sources[o->source];
	const struct facts_root *root;
	size_t k = 0;

	if (o->source >= h->plan->n_sources)
		return BROKEN(h, i, "has no source");
	root = root_at(h, o->at, &k);
	if (root != NULL) {
		if (!root->present || !h->access[k].read)
			return BROKEN(h, i, "the agent may not read this root");
		if ((s->attrs & safe) != safe)
			return BROKEN(h, i, "a root without nosuid and nodev");
		if (h->plan->only_commands && (s->attrs & (PLAN_ATTR_RO | PLAN_ATTR_NOEXEC)) == 0)
			return BROKEN(h, i, "writable and not noexec beside commands");
		if (((s->attrs & PLAN_ATTR_RO) == 0) != h->access[k].write)
			return BROKEN(h, i, "a root writable or not against the agent's rights");
		if (root->root->mode == PROFILE_MODE_RO && (s->attrs & PLAN_ATTR_RO) == 0)
			return BROKEN(h, i, "a ro root that is writable");
		return strcmp(s->path, root->object.path) == 0 ? NULL
							       : BROKEN(h, i, "of another path");
	}
	if (path_covers("/dev", o->at))
		return s->attrs == (PLAN_ATTR_RO | PLAN_ATTR_NOSUID | PLAN_ATTR_NOEXEC)
			       ? NULL
			       : BROKEN(h, i, "a device with other attributes");
	if (s->attrs != (PLAN_ATTR_RO | safe))
		return BROKEN(h, i, "a part of the base that is not ro, nosuid, nodev");
	return NULL;
}

static const char *attrs_broken(struct hand *h, uint32_t i)
{
	const unsigned safe = PLAN_ATTR_NOSUID | PLAN_ATTR_NODEV;
	const struct plan_op *o = &h->plan->ops[i];

	if (o->kind == PLAN_OP_TREE)
		return tree_broken(h, i);
	if (o->kind == PLAN_OP_TMPFS &&
	    (o->bytes == 0 || o->bytes % 4096 != 0 || o->inodes == 0 || (o->attrs & safe) != safe))
		return BROKEN(h, i, "a scratch that is unlimited or unsafe");
	if (o->kind != PLAN_OP_BIND)
		return NULL;
	if ((o->attrs & safe) != safe)
		return BROKEN(h, i, "a bind without nosuid and nodev");
	/* Writable are the parts of the scratch, and the pins: directories bound onto themselves.
	 */
	if ((o->attrs & PLAN_ATTR_RO) == 0 && !path_covers("/proc/scratch", o->from) &&
	    strcmp(o->from, o->at) != 0)
		return BROKEN(h, i, "a writable bind");
	if (h->plan->only_commands && (o->attrs & (PLAN_ATTR_RO | PLAN_ATTR_NOEXEC)) == 0)
		return BROKEN(h, i, "writable and not noexec beside commands");
	if (path_covers("/proc/own", o->from) &&
	    (o->attrs & (PLAN_ATTR_RO | PLAN_ATTR_NOEXEC)) != (PLAN_ATTR_RO | PLAN_ATTR_NOEXEC))
		return BROKEN(h, i, "a file of ours that is not ro, noexec");
	return NULL;
}

static const char *place_broken(struct hand *h, uint32_t i)
{
	static const char *const own[] = {
		"/proc", "/dev", "/tmp", "/var", "/run", "/home", "/etc"
	};
	const char *at = h->plan->ops[i].at;

	if (h->plan->ops[i].from != NULL && path_covers("/proc/loader", h->plan->ops[i].from))
		return NULL;
	for (size_t k = 0; k < ARRAY_SIZE(own); k++) {
		if (path_covers(own[k], at))
			return NULL;
	}
	for (size_t k = 0; k < h->facts.base.n; k++) {
		if (strcmp(h->facts.base.v[k].at, at) == 0)
			return NULL;
	}
	for (size_t k = 0; k < h->facts.roots.n; k++) {
		const char *root = h->facts.roots.v[k].root->at;

		if (path_covers(at, root) || path_covers(root, at))
			return NULL;
	}
	return BROKEN(h, i, "has no business there");
}

/* Every root that may be read is there, once; every other is not. */
static const char *roots_broken(struct hand *h)
{
	for (size_t k = 0; k < h->facts.roots.n; k++) {
		const struct facts_root *r = &h->facts.roots.v[k];
		unsigned n = 0;

		for (uint32_t i = 0; i < h->plan->n_ops; i++)
			n += h->plan->ops[i].kind == PLAN_OP_TREE &&
			     strcmp(h->plan->ops[i].at, r->root->at) == 0;
		if (n != (r->present && h->access[k].read))
			return arena_printf(&h->arena, "root %s is mounted %u times", r->root->at,
					    n);
	}
	return NULL;
}

/* A right to write is for what is writable; nothing is said twice; nothing that is not handled. */
static const char *landlock_broken(struct hand *h)
{
	static const char *const writable[] = { "/tmp",     "/var/tmp", "/home/agent",
						"/dev/shm", "/dev",     "/proc" };
	const struct plan_landlock *ll = &h->plan->landlock;

	if (ll->fs == 0)
		return ll->n_rules == 0 && !h->plan->only_commands ? NULL : "rules of no Landlock";
	if (h->plan->nested)
		return "Landlock around nested sandboxes";
	for (uint32_t i = 0; i < ll->n_rules; i++) {
		const struct plan_landlock_rule *r = &ll->rules[i];
		size_t k = 0;
		bool may = r->access == SYS_LANDLOCK_EXECUTE;

		if (r->access == 0 || (r->access & ~ll->fs) != 0)
			return arena_printf(&h->arena, "landlock rule at %s: not handled", r->at);
		for (size_t j = 0; j < ARRAY_SIZE(writable); j++)
			may = may || strcmp(writable[j], r->at) == 0;
		if (!may && (root_at(h, r->at, &k) == NULL || !h->access[k].write))
			return arena_printf(&h->arena, "landlock rule at %s: not writable", r->at);
		for (uint32_t j = 0; j < i; j++) {
			if (strcmp(ll->rules[j].at, r->at) == 0)
				return arena_printf(&h->arena, "two landlock rules at %s", r->at);
		}
	}
	return NULL;
}

const char *invariants_broken(struct hand *h)
{
	static const char *(*const rules[])(struct hand * h,
					    uint32_t i) = { text_broken, order_broken, attrs_broken,
							    place_broken };
	const struct plan *p = h->plan;
	unsigned procs = 0;
	unsigned scratches = 0;

	if (p->n_ops > PLAN_OPS_MAX || p->n_sources > PLAN_SOURCES_MAX)
		return "the plan is too big";
	if (!path_is_canonical(p->workdir) || p->argv[0] == NULL)
		return "no working directory or no command";
	for (uint32_t i = 0; i < p->n_ops; i++) {
		if (p->ops[i].kind <= PLAN_OP_NONE || p->ops[i].kind >= PLAN_OP_MAX)
			return BROKEN(h, i, "no such op");
		procs += p->ops[i].kind == PLAN_OP_PROC;
		scratches += p->ops[i].kind == PLAN_OP_TMPFS &&
			     strcmp(p->ops[i].at, "/proc/loader") != 0;
		for (size_t k = 0; k < ARRAY_SIZE(rules); k++) {
			const char *why = rules[k](h, i);

			if (why != NULL)
				return why;
		}
	}
	if (procs != 1)
		return "not exactly one proc";
	/* The allowance is for all of it together. */
	if (scratches != 1)
		return "not exactly one scratch";
	if (landlock_broken(h) != NULL)
		return landlock_broken(h);
	return roots_broken(h);
}
