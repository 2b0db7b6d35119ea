/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "policy/agent.h"

#include <string.h>

#include "base/path.h"

/* FNV-1a: short keys, and what is equal is compared again. */
#define HASH_START 2166136261u
#define HASH_PRIME 16777619u

uint32_t agent_hash(const char *s, size_t len)
{
	uint32_t h = HASH_START;

	for (size_t i = 0; i < len; i++)
		h = (h ^ (unsigned char)s[i]) * HASH_PRIME;
	return h | 1;
}

void agent_hashes(const char *path, size_t len, uint32_t *ret)
{
	uint32_t h = HASH_START;

	for (size_t i = 0; i < len; i++) {
		ret[i] = path[i] == '/' ? h | 1 : 0;
		h = (h ^ (unsigned char)path[i]) * HASH_PRIME;
	}
	ret[len] = h | 1;
}

const char *agent_instance(const char *id)
{
	const char *slash = id == NULL ? NULL : strchr(id, '/');

	return slash == NULL ? NULL : slash + 1;
}

struct build {
	struct arena *arena;
	const struct agent_asked *asked;
	struct policy_agent *agent;
	bool widest;
};

static const char *label_value(const struct agent_asked *asked, const char *key)
{
	for (size_t i = 0; i < asked->n_context; i++) {
		if (strcmp(asked->context[i].key, key) == 0)
			return asked->context[i].value;
	}
	return NULL;
}

/* An absent label never lets an allow hold, and lets all that is stricter hold. */
static bool when_holds(const struct build *b, const struct profile_rule *rule)
{
	if (b->widest && rule->when.n > 0)
		return rule->mode == PROFILE_ALLOW;
	for (size_t i = 0; i < rule->when.n; i++) {
		const char *value = label_value(b->asked, rule->when.v[i].key);

		if (value == NULL ? rule->mode == PROFILE_ALLOW
				  : strcmp(value, rule->when.v[i].value) != 0)
			return false;
	}
	return true;
}

/* The instance in its place; without one, an allow is about nothing there and what is stricter
 * about every instance. Return: false to leave the path out. */
static bool path_instance(struct build *b, enum profile_verdict mode, const char *instance,
			  struct profile_path *p)
{
	STRBUF_AUTO sb = { 0 };
	const char *s = p->instance;
	struct glob exact;

	if (s == NULL)
		return true;
	if (instance == NULL)
		return b->widest == (mode == PROFILE_ALLOW);
	for (; *s != '\0'; s++) {
		if (*s == PROFILE_INSTANCE_MARK)
			glob_escape(&sb, instance);
		else
			strbuf_add(&sb, s, 1);
	}
	if (!path_is_canonical(strbuf_str(&sb)) ||
	    glob_compile(b->arena, arena_strdup(b->arena, strbuf_str(&sb)), &exact) != NULL)
		return mode != PROFILE_ALLOW;
	p->glob = exact;
	return true;
}

/* The longest name that every match has among its components. */
static uint32_t needed_name(const struct glob *g)
{
	const struct glob_segment *best = NULL;

	for (size_t i = 0; i < g->n; i++) {
		const struct glob_segment *s = &g->segments[i];

		if (s->kind == GLOB_LITERAL && (best == NULL || s->len > best->len))
			best = s;
	}
	return best == NULL ? 0 : agent_hash(best->text, best->len);
}

static void paths_add(struct build *b, struct agent_rules *list, const struct profile_rule *from,
		      const char *instance)
{
	struct profile_rule *rule = &list->rules.v[list->rules.n - 1];
	struct agent_row row = { .actions = rule->actions,
				 .rule = (uint32_t)list->rules.n - 1,
				 .strict = rule->mode != PROFILE_ALLOW };

	for (size_t i = 0; i < from->paths.n; i++) {
		struct profile_path p = from->paths.v[i];

		if (!path_instance(b, rule->mode, instance, &p))
			continue;
		row.item = (uint32_t)rule->paths.n;
		row.len = (uint16_t)(p.glob.prefix[1] == '\0' ? 0 : strlen(p.glob.prefix));
		row.hash = agent_hash(p.glob.prefix, row.len);
		row.need = needed_name(&p.glob);
		*array_push(b->arena, &rule->paths) = p;
		*array_push(b->arena, &list->paths) = row;
	}
}

static void rule_add(struct build *b, struct agent_rules *list, const struct profile_rule *from,
		     const char *instance)
{
	struct profile_rule *rule = array_push(b->arena, &list->rules);
	struct agent_row row = { .actions = from->actions,
				 .rule = (uint32_t)list->rules.n - 1,
				 .strict = from->mode != PROFILE_ALLOW };

	*rule = *from;
	memset(&rule->paths, 0, sizeof(rule->paths));
	paths_add(b, list, from, instance);
	for (size_t i = 0; i < from->commands.n; i++) {
		const struct profile_command *c = &from->commands.v[i];
		const char *name = path_basename(c->words[0]);

		row.item = (uint32_t)i;
		row.number = (uint32_t)b->agent->n_commands++;
		row.any = c->n == 1 && strcmp(c->words[0], "*") == 0;
		row.hash = agent_hash(name, strlen(name));
		*array_push(b->arena, &list->commands) = row;
	}
	row = (struct agent_row){
		.actions = from->actions, .rule = row.rule, .strict = row.strict, .any = true
	};
	if (from->any_host)
		*array_push(b->arena, &list->hosts) = row;
	row.any = false;
	for (size_t i = 0; i < from->hosts.n; i++) {
		const struct hostpat *h = &from->hosts.v[i].pattern;

		row.item = (uint32_t)i;
		row.hash = h->kind == HOSTPAT_NAME ? agent_hash(h->name, strlen(h->name)) : 0;
		*array_push(b->arena, &list->hosts) = row;
	}
}

static void list_add(struct build *b, const struct profile_agent *declared, const char *instance)
{
	struct agent_rules *list = array_push(b->arena, &b->agent->lists);

	list->declared = declared;
	for (size_t i = 0; i < declared->rules.n; i++) {
		if (when_holds(b, &declared->rules.v[i]))
			rule_add(b, list, &declared->rules.v[i], instance);
	}
}

/* The agent and those above it; one that has its parent's rules is no other than that. */
static void declared_add(struct build *b, const struct profile_agent *declared,
			 const char *instance)
{
	for (; declared != NULL; declared = declared->parent) {
		if (!declared->inherits)
			list_add(b, declared, instance);
	}
}

/* ID or ID/INSTANCE. */
static const struct profile_agent *find_declared(struct arena *a, const struct profile *p,
						 const char *id)
{
	const char *instance = agent_instance(id);

	if (instance == NULL)
		return profile_agent_find(p, id);
	if (!profile_id_ok(instance))
		return NULL;
	return profile_agent_find(p, arena_strndup(a, id, (size_t)(instance - 1 - id)));
}

const struct policy_agent *agent_find(struct arena *a, const struct profile *p,
				      const struct agent_asked *asked, const char **ret_reason)
{
	struct build b = { .arena = a, .asked = asked };
	const char **chain = arena_array(a, AGENT_CHAIN_MAX, sizeof(*chain));
	const char *id = asked->id;

	*ret_reason = "too many principals in one chain";
	if (asked->n_on_behalf >= AGENT_CHAIN_MAX)
		return NULL;
	*ret_reason = "no agent named and not exactly one declared";
	if (id == NULL && p->permissions.agents.n == 1)
		id = p->permissions.agents.v[0].id;
	if (id == NULL)
		return NULL;
	b.agent = arena_new(a, struct policy_agent);
	*ret_reason = "unknown agent";
	for (size_t i = 0; i <= asked->n_on_behalf; i++) {
		const char *one = i < asked->n_on_behalf ? asked->on_behalf[i] : id;
		const struct profile_agent *declared = find_declared(a, p, one);

		if (declared == NULL)
			return NULL;
		chain[i] = one;
		declared_add(&b, declared, agent_instance(one));
	}
	b.agent->id = id;
	b.agent->chain = chain;
	b.agent->n_chain = asked->n_on_behalf + 1;
	return b.agent;
}

static const struct policy_agent *alone(struct arena *a, const struct profile_agent *declared,
					bool widest)
{
	const struct agent_asked asked = { .id = declared->id };
	const char **chain = arena_array(a, 1, sizeof(*chain));
	struct build b = { .arena = a,
			   .asked = &asked,
			   .agent = arena_new(a, struct policy_agent),
			   .widest = widest };

	chain[0] = declared->id;
	declared_add(&b, declared, NULL);
	b.agent->id = declared->id;
	b.agent->chain = chain;
	b.agent->n_chain = 1;
	return b.agent;
}

const struct policy_agent *agent_alone(struct arena *a, const struct profile_agent *declared)
{
	return alone(a, declared, false);
}

const struct policy_agent *agent_widest(struct arena *a, const struct profile_agent *declared)
{
	return alone(a, declared, true);
}
