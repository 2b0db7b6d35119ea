/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>

#include "base/suggest.h"
#include "profile/block.h"

#define ID_MAX 64

enum model { MODEL_ANY = 0, MODEL_RULES, MODEL_LIST_ACL };

struct agent_text {
	const struct yaml_pair *rules;
	const struct yaml_pair *actions;
	const struct yaml_pair *roots;
};

/* The block while it is read: the model is only needed to check the agents. */
struct permissions_text {
	enum model model;
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

	if (t->rules != NULL && lists != NULL)
		return schema_fail(c, lists->key,
				   "'%s' beside 'rules' (line %u): one model for each agent",
				   lists->key->text, t->rules->key->line);
	if (model == MODEL_RULES && lists != NULL)
		return schema_fail(c, lists->key, "'%s' needs 'policy_model: list_acl'",
				   lists->key->text);
	if (model == MODEL_LIST_ACL && t->rules != NULL)
		return schema_fail(c, t->rules->key, "'rules' needs 'policy_model: rules'");
	return 0;
}

static int agent_build(struct schema_ctx *c, enum model model, const struct yaml_pair *p,
		       struct profile_agent *agent)
{
	const char *id = p->key->text;
	const struct yaml_node *v = p->value;
	struct agent_text t = { 0 };
	size_t n = strspn(id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-");

	if (id[n] != '\0' || n == 0 || n > ID_MAX || strcmp(id, ".") == 0 || strcmp(id, "..") == 0)
		return schema_fail(c, p->key,
				   "agent '%.80s': an id is 1 to %d letters, digits, '.', '_' and "
				   "'-'",
				   id, ID_MAX);
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
	if (schema_walk(c, &agent_map, v, &t) != 0 || agent_check_model(c, model, &t) != 0)
		return -1;
	if (t.rules != NULL)
		return schema_each(c, t.rules, rule_add, agent);
	return t.actions != NULL || t.roots != NULL ? agent_from_lists(c, &t, agent) : 0;
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
		if (agent_build(c, t->model, &p->value->pairs[i],
				array_push(c->a, &t->out->agents)) != 0)
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
