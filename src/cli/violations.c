/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/violations.h"

#include <string.h>

/* What a record of the audit log has room for beside everything else. */
#define VIOLATIONS_BYTES ((size_t)16 * 1024)

static const char *const kinds[] = {
	[GUARD_HIDE] = "hide", [GUARD_FREEZE] = "freeze", [GUARD_KEEP] = "keep"
};

static void list_add(json_t *list, const struct appeared *a)
{
	json_t *o = json_object();

	json_put(o, "code", json_text(a->replaced ? "replaced" : "appeared"));
	json_put(o, "path", json_text(a->at));
	json_put(o, "protect", json_text(kinds[a->kind]));
	(void)json_array_append_new(list, o);
}

static void list_fill(json_t *list, const appeared_list *found)
{
	size_t bytes = 0;
	size_t i = 0;

	for (; i < found->n; i++) {
		/* An escape takes six bytes for one. */
		bytes += 64 + 6 * strlen(found->v[i].at);
		if (bytes > VIOLATIONS_BYTES)
			break;
		list_add(list, &found->v[i]);
	}
	if (i < found->n) {
		json_t *o = json_object();

		json_put(o, "code", json_text("more"));
		json_put(o, "count", json_integer((json_int_t)(found->n - i)));
		(void)json_array_append_new(list, o);
	}
}

static void say(const appeared_list *found)
{
	const struct appeared *first = &found->v[0];

	cli_say("%s %s during the run: what 'protect' says of it %s%s", first->at,
		first->replaced ? "was replaced" : "appeared",
		first->replaced ? "no longer held" : "did not hold",
		found->n > 1 ? " (and there is more: see violations in the result)" : "");
}

static int hook_finish(void *ctx, const struct outcome *o, struct err *err)
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
	appeared_list found = { 0 };

	if (!o->started)
		return 0;
	p->record.violations = json_array();
	if (resolve_appeared(v->arena, &in, &p->resolved, &found, err) != 0) {
		json_t *unknown = json_object();

		json_put(unknown, "code", json_text("unknown"));
		json_put(unknown, "reason", json_text(err->msg));
		(void)json_array_append_new(p->record.violations, unknown);
		if (!v->quiet)
			cli_say("what appeared during the run is not known: %s", err->msg);
		return 0;
	}
	if (found.n == 0)
		return 0;
	list_fill(p->record.violations, &found);
	if (!v->quiet)
		say(&found);
	return 0;
}

void violations_attachment(struct violations *v, struct run_attachment *ret)
{
	*ret = (struct run_attachment){ .name = "protect", .ctx = v, .finish = hook_finish };
}
