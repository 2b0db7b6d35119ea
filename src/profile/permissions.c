/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>

#include "base/suggest.h"
#include "profile/block.h"

enum model { MODEL_ANY = 0, MODEL_RULES, MODEL_LIST_ACL };

struct agent_text {
	const struct yaml_pair *roles;
	const struct yaml_pair *rules;
	const struct yaml_pair *parent;
	const struct yaml_pair *actions;
	const struct yaml_pair *roots;
};

/* The block while it is read: the model is only needed to check the agents. */
struct permissions_text {
	enum model model;
	const struct yaml_node *roles; /* a map, or NULL */
	struct profile_permissions *out;
};

/* Where there was an agent to take the place of, the key is gone by now. */
static int parse_override(struct schema_ctx *c, const struct schema_row *row,
			  const struct yaml_pair *p, void *field)
{
	bool on = false;

	(void)field;
	if (schema_parse_bool(c, row, p, &on) != 0)
		return -1;
	if (on)
		return schema_fail(c, p->key,
				   "'override' has nothing to override: no profile of 'extends' "
				   "declares this agent");
	return 0;
}

static const struct schema_row agent_rows[] = {
	{ .key = "override",
	  .parse = parse_override,
	  .type = "true or false",
	  .help = "take the place of an agent that a profile of extends declares (default false)" },
	{ .key = "rules",
	  .parse = schema_parse_pair,
	  .offset = offsetof(struct agent_text, rules),
	  .shape = SCHEMA_SHAPE_LIST,
	  .sub = &block_rule_map,
	  .type = "list of rules",
	  .help = "first match wins; nothing matched: denied" },
	{ .key = "roles",
	  .parse = schema_parse_pair,
	  .offset = offsetof(struct agent_text, roles),
	  .shape = SCHEMA_SHAPE_LIST,
	  .type = "list of roles",
	  .help = "whose rules come after its own, in this order" },
	{ .key = "parent",
	  .parse = schema_parse_pair,
	  .offset = offsetof(struct agent_text, parent),
	  .type = "an agent's id",
	  .help = "whose rules it has unless it has its own, and whose rights it never exceeds" },
	{ .key = "allowed_actions",
	  .parse = schema_parse_pair,
	  .offset = offsetof(struct agent_text, actions),
	  .shape = SCHEMA_SHAPE_LIST,
	  .type = "list of actions",
	  .help = "list_acl: what may be done in each of allowed_roots" },
	{ .key = "allowed_roots",
	  .parse = schema_parse_pair,
	  .offset = offsetof(struct agent_text, roots),
	  .shape = SCHEMA_SHAPE_LIST,
	  .type = "list of virtual paths",
	  .help = "list_acl: where it may be done, with all below" },
};
static const struct schema_map agent_map = SCHEMA_MAP("an agent", agent_rows);

static const struct schema_row role_rows[] = {
	{ .key = "rules",
	  .parse = schema_parse_pair,
	  .offset = offsetof(struct agent_text, rules),
	  .shape = SCHEMA_SHAPE_LIST,
	  .sub = &block_rule_map,
	  .type = "list of rules",
	  .required = "a role needs 'rules'",
	  .help = "for every agent that has the role" },
};
static const struct schema_map role_map = SCHEMA_MAP("a role", role_rows);

static int action_add(struct schema_ctx *c, const char *key, const struct yaml_node *n, void *out)
{
	struct profile_rule *rule = out;
	const char *best = NULL;
	const char *s;
	size_t distance = 0;
	enum action action;

	if (schema_scalar(c, key, n, &s) != 0)
		return -1;
	if (action_from_name(s, &action)) {
		if (action == ACTION_HOST_RUN)
			return schema_fail(c, n,
					   "action 'host_run': host tools are not part of this "
					   "version");
		rule->actions |= ACTION_BIT(action);
		return 0;
	}
	for (size_t i = 0; i < ACTION_MAX; i++) {
		if (i != ACTION_HOST_RUN)
			suggest_best(s, action_name((enum action)i), &best, &distance);
	}
	if (best != NULL)
		return schema_fail(c, n, "unknown action '%.80s' (did you mean '%s'?)", s, best);
	return schema_fail(c, n, "unknown action '%.80s'", s);
}

static int root_add(struct schema_ctx *c, const char *key, const struct yaml_node *n, void *out)
{
	return block_rule_path(c, key, n, true, out);
}

static int rule_add(struct schema_ctx *c, const char *key, const struct yaml_node *n, void *out)
{
	struct profile_agent *agent = out;

	(void)key;
	return block_rule_build(c, n, array_push(c->a, &agent->rules));
}

/* Every action in every root is one allow rule. Nothing listed: no rule, so nothing. */
static int agent_from_lists(struct schema_ctx *c, const struct agent_text *t,
			    struct profile_agent *agent)
{
	struct profile_rule rule = { .mode = PROFILE_ALLOW };
	const struct yaml_pair *first = t->actions != NULL ? t->actions : t->roots;

	rule.pos = schema_pos(c, first->key);
	if (t->actions != NULL && schema_each(c, t->actions, action_add, &rule) != 0)
		return -1;
	if (t->roots != NULL && schema_each(c, t->roots, root_add, &rule) != 0)
		return -1;
	if (rule.actions == 0)
		return 0;
	if ((rule.actions & ACTION_BIT(ACTION_RUN_COMMAND)) != 0)
		block_rule_any_command(c->a, &rule);
	rule.any_host = (rule.actions & ACTION_BIT(ACTION_NET_CONNECT)) != 0;
	*array_push(c->a, &agent->rules) = rule;
	return 0;
}

static void agent_allow_all(struct schema_ctx *c, struct profile_agent *agent)
{
	struct profile_rule *rule = array_push(c->a, &agent->rules);

	agent->allow_all = true;
	for (size_t i = 0; i < ACTION_MAX; i++)
		rule->actions |= ACTION_BIT(i);
	/* Host tools lie outside the sandbox: the short form never reaches them. */
	rule->actions &= ~ACTION_BIT(ACTION_HOST_RUN);
	block_rule_any_path(c->a, rule);
	block_rule_any_command(c->a, rule);
	rule->any_host = true;
	rule->mode = PROFILE_ALLOW;
	rule->pos = agent->pos;
}

static int agent_check_model(struct schema_ctx *c, enum model model, const struct agent_text *t)
{
	const struct yaml_pair *lists = t->actions != NULL ? t->actions : t->roots;
	const struct yaml_pair *rules = t->rules != NULL ? t->rules : t->roles;

	if (rules != NULL && lists != NULL)
		return schema_fail(c, lists->key,
				   "'%s' beside '%s' (line %u): one model for each agent",
				   lists->key->text, rules->key->text, rules->key->line);
	if (model == MODEL_RULES && lists != NULL)
		return schema_fail(c, lists->key, "'%s' needs 'policy_model: list_acl'",
				   lists->key->text);
	if (model == MODEL_LIST_ACL && rules != NULL)
		return schema_fail(c, rules->key, "'%s' needs 'policy_model: rules'",
				   rules->key->text);
	return 0;
}

/* What an agent is read with. */
struct agent_build {
	const struct permissions_text *block;
	struct profile_agent *agent;
	profile_names used; /* roles */
};

/* What is listed again could only repeat what was decided. */
static int role_once(struct schema_ctx *c, const struct yaml_node *n, const char *name,
		     struct agent_build *b)
{
	for (size_t i = 0; i < b->used.n; i++) {
		if (strcmp(b->used.v[i].name, name) == 0)
			return schema_fail(c, n, "role '%.80s' is listed twice (the other at %s)",
					   name, schema_where(c, n->file, &b->used.v[i].pos));
	}
	*array_push(c->a, &b->used) =
		(struct profile_name){ .name = name, .pos = schema_pos(c, n) };
	return 0;
}

static int role_use(struct schema_ctx *c, const char *key, const struct yaml_node *n, void *out)
{
	struct agent_build *b = out;
	const struct yaml_node *roles = b->block->roles;
	struct agent_text t = { 0 };
	const char *best = NULL;
	size_t distance = 0;
	const char *s;

	if (schema_scalar(c, key, n, &s) != 0 || role_once(c, n, s, b) != 0)
		return -1;
	for (size_t i = 0; roles != NULL && i < roles->n; i++) {
		if (strcmp(roles->pairs[i].key->text, s) == 0)
			return schema_walk(c, &role_map, roles->pairs[i].value, &t) != 0
				       ? -1
				       : schema_each(c, t.rules, rule_add, b->agent);
		suggest_best(s, roles->pairs[i].key->text, &best, &distance);
	}
	if (best != NULL)
		return schema_fail(c, n, "unknown role '%.80s' (did you mean '%s'?)", s, best);
	return schema_fail(c, n, "unknown role '%.80s': add it under permissions.roles", s);
}

static int agent_read(struct schema_ctx *c, const struct agent_text *t, struct agent_build *b)
{
	struct profile_agent *agent = b->agent;
	bool lists = t->actions != NULL || t->roots != NULL;

	if (agent_check_model(c, b->block->model, t) != 0)
		return -1;
	agent->inherits = t->parent != NULL && !lists && t->rules == NULL && t->roles == NULL;
	if (t->rules != NULL && schema_each(c, t->rules, rule_add, agent) != 0)
		return -1;
	if (t->roles != NULL && schema_each(c, t->roles, role_use, b) != 0)
		return -1;
	return lists ? agent_from_lists(c, t, agent) : 0;
}

static int agent_build(struct schema_ctx *c, const struct permissions_text *block,
		       const struct yaml_pair *p, struct profile_agent *agent)
{
	const char *id = p->key->text;
	const struct yaml_node *v = p->value;
	struct agent_build b = { .block = block, .agent = agent };
	struct agent_text t = { 0 };

	if (block_rule_charge(c, p->key) != 0)
		return -1;
	if (!profile_id_ok(id))
		return schema_fail(c, p->key,
				   "agent '%.80s': an id is 1 to %d letters, digits, '.', '_' and "
				   "'-'",
				   id, PROFILE_ID_MAX);
	agent->id = id;
	agent->pos = schema_pos(c, p->key);
	if (v->kind == YAML_SCALAR && v->plain && strcmp(v->text, "allow") == 0) {
		agent_allow_all(c, agent);
		return 0;
	}
	if (v->kind != YAML_MAP)
		return schema_fail(
			c, v,
			"agent '%s' must be the word allow, or a map with rules, or a map "
			"with allowed_actions and allowed_roots, not %s",
			id, schema_got(c, v));
	if (schema_walk(c, &agent_map, v, &t) != 0)
		return -1;
	return agent_read(c, &t, &b);
}

static const struct profile_agent *agent_in(const struct profile_permissions *p, const char *id)
{
	for (size_t i = 0; i < p->agents.n; i++) {
		if (strcmp(p->agents.v[i].id, id) == 0)
			return &p->agents.v[i];
	}
	return NULL;
}

static int parent_find(struct schema_ctx *c, const struct profile_permissions *p,
		       const struct yaml_node *agent, const struct profile_agent **ret)
{
	const struct yaml_node *n = agent->kind == YAML_MAP ? yaml_get(agent, "parent") : NULL;
	const char *id;

	if (n == NULL)
		return 0;
	if (schema_scalar(c, "parent", n, &id) != 0)
		return -1;
	*ret = agent_in(p, id);
	if (*ret == NULL)
		return schema_fail(c, n, "'parent': no agent '%.80s' is declared", id);
	return 0;
}

/* After all of them were read: where they lie is settled. */
static int parents_read(struct schema_ctx *c, const struct profile_permissions *p,
			const struct yaml_node *agents)
{
	for (size_t i = 0; i < p->agents.n; i++) {
		if (parent_find(c, p, agents->pairs[i].value, &p->agents.v[i].parent) != 0)
			return -1;
	}
	for (size_t i = 0; i < p->agents.n; i++) {
		const struct profile_agent *up = &p->agents.v[i];

		for (size_t n = 0; up != NULL; up = up->parent) {
			if (n++ > PROFILE_PARENTS_MAX)
				return schema_fail(c, agents->pairs[i].key,
						   "agent '%s' has more than %d parents above it, "
						   "or is above itself",
						   p->agents.v[i].id, PROFILE_PARENTS_MAX);
		}
	}
	return 0;
}

static int parse_agents(struct schema_ctx *c, const struct schema_row *row,
			const struct yaml_pair *p, void *field)
{
	struct permissions_text *t = field;

	(void)row;
	if (p->value->kind != YAML_MAP)
		return schema_fail(c, p->value, "'agents' must be a map of ids, not %s",
				   schema_got(c, p->value));
	for (size_t i = 0; i < p->value->n; i++) {
		if (agent_build(c, t, &p->value->pairs[i], array_push(c->a, &t->out->agents)) != 0)
			return -1;
	}
	return parents_read(c, t->out, p->value);
}

static int context_add(struct schema_ctx *c, const char *key, const struct yaml_node *n, void *out)
{
	profile_names *keys = out;
	const char *s;

	if (schema_scalar(c, key, n, &s) != 0)
		return -1;
	if (!profile_id_ok(s))
		return schema_fail(c, n,
				   "'%s': '%.80s': a key is 1 to %d letters, digits, '.', '_' and "
				   "'-'",
				   key, s, PROFILE_ID_MAX);
	*array_push(c->a, keys) = (struct profile_name){ .name = s, .pos = schema_pos(c, n) };
	return 0;
}

static int parse_context(struct schema_ctx *c, const struct schema_row *row,
			 const struct yaml_pair *p, void *field)
{
	struct permissions_text *t = field;

	(void)row;
	c->context = &t->out->context;
	return schema_each(c, p, context_add, &t->out->context);
}

/* Each is read once here, so that one that nobody has is looked at too. */
static int parse_roles(struct schema_ctx *c, const struct schema_row *row,
		       const struct yaml_pair *p, void *field)
{
	struct permissions_text *t = field;

	(void)row;
	if (p->value->kind != YAML_MAP)
		return schema_fail(c, p->value, "'roles' must be a map of names, not %s",
				   schema_got(c, p->value));
	t->roles = p->value;
	for (size_t i = 0; i < p->value->n; i++) {
		struct agent_text role = { 0 };
		struct profile_agent unused = { 0 };

		if (schema_walk(c, &role_map, p->value->pairs[i].value, &role) != 0 ||
		    schema_each(c, role.rules, rule_add, &unused) != 0)
			return -1;
	}
	return 0;
}

static int parse_default_deny(struct schema_ctx *c, const struct schema_row *row,
			      const struct yaml_pair *p, void *field)
{
	bool on = false;

	(void)field;
	if (schema_parse_bool(c, row, p, &on) != 0)
		return -1;
	if (!on)
		return schema_fail(
			c, p->value,
			"'default_deny' can only be true: what no rule allows is denied");
	return 0;
}

static const struct schema_word models[] = { { "rules", MODEL_RULES },
					     { "list_acl", MODEL_LIST_ACL },
					     { NULL, 0 } };

/* The model stands before the agents, which are read against it. */
static const struct schema_row rows[] = {
	{ .key = "default_deny",
	  .parse = parse_default_deny,
	  .type = "true",
	  .help = "the only value there is; written for the reader" },
	{ .key = "policy_model",
	  .parse = schema_parse_word,
	  .offset = offsetof(struct permissions_text, model),
	  .words = models,
	  .type = "word",
	  .help = "how all agents are written (default: each as it likes)" },
	{ .key = "context",
	  .parse = parse_context,
	  .shape = SCHEMA_SHAPE_LIST,
	  .type = "list of keys",
	  .help = "which labels --context may set and rules may ask for" },
	{ .key = "roles",
	  .parse = parse_roles,
	  .shape = SCHEMA_SHAPE_NAMED,
	  .sub = &role_map,
	  .type = "map",
	  .help = "groups of rules that agents can have; never an identity" },
	{ .key = "agents",
	  .parse = parse_agents,
	  .shape = SCHEMA_SHAPE_NAMED,
	  .sub = &agent_map,
	  .type = "allow, or a map",
	  .help = "who may do what; an id that is not here may do nothing" },
};

const struct schema_map block_permissions_map = SCHEMA_MAP("permissions", rows);

int block_parse_permissions(struct schema_ctx *c, const struct schema_row *row,
			    const struct yaml_pair *p, void *field)
{
	struct permissions_text t = { .out = field };

	t.out->pos = schema_pos(c, p->key);
	return schema_walk(c, row->sub, p->value, &t);
}
