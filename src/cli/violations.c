/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/violations.h"

#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/path.h"

/* What a record of the audit log has room for beside everything else. */
#define VIOLATIONS_BYTES ((size_t)16 * 1024)

static const char *const kinds[] = {
	[GUARD_HIDE] = "hide", [GUARD_FREEZE] = "freeze", [GUARD_KEEP] = "keep"
};

/* Is what lies there now what was covered again? */
static bool is_remasked(const struct violations *v, const struct appeared *a)
{
	for (size_t i = 0; a->replaced && i < v->masks.n; i++) {
		const struct remask_mask *m = &v->masks.masks[i];
		struct stat st;

		if (strcmp(m->at, a->at) == 0)
			return m->times > 0 &&
			       lstat(path_join(v->arena, m->dir, m->name), &st) == 0 &&
			       st.st_dev == m->dev && st.st_ino == m->ino;
	}
	return false;
}

static const char *code_of(const struct violations *v, const struct appeared *a)
{
	if (!a->replaced)
		return "appeared";
	return is_remasked(v, a) ? "remasked" : "replaced";
}

static void list_add(const struct violations *v, json_t *list, const struct appeared *a)
{
	json_t *o = json_object();

	json_put(o, "code", json_text(code_of(v, a)));
	json_put(o, "path", json_text(a->at));
	json_put(o, "protect", json_text(kinds[a->kind]));
	(void)json_array_append_new(list, o);
}

static void list_fill(const struct violations *v, json_t *list, const appeared_list *found)
{
	size_t bytes = 0;
	size_t i = 0;

	for (; i < found->n; i++) {
		/* An escape takes six bytes for one. */
		bytes += 64 + 6 * strlen(found->v[i].at);
		if (bytes > VIOLATIONS_BYTES)
			break;
		list_add(v, list, &found->v[i]);
	}
	if (i < found->n) {
		json_t *o = json_object();

		json_put(o, "code", json_text("more"));
		json_put(o, "count", json_integer((json_int_t)(found->n - i)));
		(void)json_array_append_new(list, o);
	}
}

static void say(const struct violations *v, const appeared_list *found)
{
	const struct appeared *first = &found->v[0];

	cli_say("%s %s during the run: what 'protect' says of it %s%s", first->at,
		first->replaced ? "was replaced" : "appeared",
		is_remasked(v, first) ? "did not hold for a moment"
		: first->replaced     ? "no longer held"
				      : "did not hold",
		found->n > 1 ? " (and there is more: see violations in the result)" : "");
}

static void hook_settled(void *ctx)
{
	struct violations *v = ctx;
	struct prepared *p = v->prepared;
	const struct resolve_input in = {
		.profile = p->context.profile,
		.agent = p->context.agent,
		.facts = &p->context.facts,
		.view = &p->context.view,
		.access = p->context.access,
	};

	p->record.violations = json_array();
	if (resolve_appeared(v->arena, &in, &p->resolved, &v->found, &v->unknown) != 0) {
		json_t *unknown = json_object();

		json_put(unknown, "code", json_text("unknown"));
		json_put(unknown, "reason", json_text(v->unknown.msg));
		(void)json_array_append_new(p->record.violations, unknown);
		return;
	}
	list_fill(v, p->record.violations, &v->found);
}

static int hook_finish(void *ctx, const struct outcome *o, struct err *err)
{
	const struct violations *v = ctx;

	(void)o;
	(void)err;
	if (v->quiet)
		return 0;
	if (v->unknown.set)
		cli_say("what appeared during the run is not known: %s", v->unknown.msg);
	else if (v->found.n > 0)
		say(v, &v->found);
	return 0;
}

/* A host path free of links, by the root that shows it. */
static void mask_add(struct violations *v, const struct guard *g)
{
	const struct facts *f = &v->prepared->context.facts;
	struct remask *r = &v->masks;

	for (size_t i = 0; i < f->roots.n; i++) {
		const char *root_at = f->roots.v[i].root->at;
		const char *host;

		if (strcmp(root_at, g->root_at) != 0)
			continue;
		host = path_join(v->arena, f->roots.v[i].object.path, path_rest(root_at, g->at));
		r->masks[r->n++] = (struct remask_mask){
			.at = g->at,
			.dir = path_dirname(v->arena, host),
			.name = path_basename(host),
			.hide = g->kind == GUARD_HIDE,
			.dev = makedev(g->id.dev_major, g->id.dev_minor),
			.ino = g->id.ino,
		};
	}
}

void violations_masks(struct violations *v, struct run_attachment *ret)
{
	const struct prepared *p = v->prepared;

	v->masks = (struct remask){
		.masks = arena_array(v->arena, p->resolved.guards.n, sizeof(*v->masks.masks)),
		.uid = p->plan->ids.inside_uid,
		.gid = p->plan->ids.inside_gid,
	};
	for (size_t i = 0; i < p->resolved.guards.n; i++) {
		const struct guard *g = &p->resolved.guards.v[i];

		/* Nobody replaces what the system consists of during a run. */
		if (g->kind != GUARD_KEEP && g->root_at != NULL)
			mask_add(v, g);
	}
	remask_attachment(&v->masks, ret);
}

void violations_attachment(struct violations *v, struct run_attachment *ret)
{
	*ret = (struct run_attachment){
		.name = "protect", .ctx = v, .settled = hook_settled, .finish = hook_finish
	};
}
