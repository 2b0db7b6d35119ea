/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* tests - the profile's own expectations: who asks for what, and what must be decided. */
#include <string.h>

#include "base/suggest.h"
#include "profile/block.h"

struct test_text {
	const struct yaml_pair *agent;
	const struct yaml_pair *action;
	const struct yaml_pair *resource;
	enum profile_verdict decision;
	const struct yaml_pair *code;
};

static const struct schema_word verdicts[] = { { "allow", PROFILE_ALLOW },
					       { "deny", PROFILE_DENY },
					       { "interrupt", PROFILE_INTERRUPT },
					       { NULL, 0 } };

static const struct schema_row rows[] = {
	{ .key = "agent",
	  .parse = schema_parse_pair,
	  .offset = offsetof(struct test_text, agent),
	  .type = "id",
	  .help = "who asks (implied when the profile declares one)" },
	{ .key = "action",
	  .parse = schema_parse_pair,
	  .offset = offsetof(struct test_text, action),
	  .type = "action",
	  .required = "a test needs an 'action', such as read_file",
	  .help = "what is asked for" },
	{ .key = "resource",
	  .parse = schema_parse_pair,
	  .offset = offsetof(struct test_text, resource),
	  .type = "text, or list of words",
	  .required = "a test needs a 'resource': a path, a command or a HOST:PORT",
	  .help = "a virtual path, a command line (its words are split at spaces), or HOST:PORT" },
	{ .key = "decision",
	  .parse = schema_parse_word,
	  .offset = offsetof(struct test_text, decision),
	  .words = verdicts,
	  .type = "word",
	  .required = "a test needs a 'decision': allow, deny or interrupt",
	  .help = "what must come of it" },
	{ .key = "code",
	  .parse = schema_parse_pair,
	  .offset = offsetof(struct test_text, code),
	  .type = "word",
	  .help = "the code that must come with it (default: any)" },
};

const struct schema_map block_test_map = SCHEMA_MAP("a test", rows);

/* Those of policy/decide.h, and the sandbox's. */
static const char *const codes[] = { "acl_allow",    "acl_deny",     "interrupt", "protected",
				     "invalid_path", "invalid_host", "identity",  "sandbox_deny" };

static int code_read(struct schema_ctx *c, const struct yaml_node *n, const char **ret)
{
	const char *best = NULL;
	size_t distance = 0;

	if (schema_scalar(c, "code", n, ret) != 0)
		return -1;
	for (size_t i = 0; i < ARRAY_SIZE(codes); i++) {
		if (strcmp(codes[i], *ret) == 0)
			return 0;
		suggest_best(*ret, codes[i], &best, &distance);
	}
	if (best != NULL)
		return schema_fail(c, n, "unknown code '%.80s' (did you mean '%s'?)", *ret, best);
	return schema_fail(c, n,
			   "unknown code '%.80s': acl_allow, acl_deny, interrupt, protected, "
			   "invalid_path, invalid_host, identity or sandbox_deny",
			   *ret);
}

static int action_read(struct schema_ctx *c, const struct yaml_node *n, enum action *ret)
{
	const char *best = NULL;
	const char *s;
	size_t distance = 0;

	if (schema_scalar(c, "action", n, &s) != 0)
		return -1;
	if (action_from_name(s, ret))
		return 0;
	for (size_t i = 0; i < ACTION_MAX; i++)
		suggest_best(s, action_name((enum action)i), &best, &distance);
	if (best != NULL)
		return schema_fail(c, n, "unknown action '%.80s' (did you mean '%s'?)", s, best);
	return schema_fail(c, n, "unknown action '%.80s'", s);
}

static int word_add(struct schema_ctx *c, const char *key, const struct yaml_node *n, void *out)
{
	struct profile_test *t = out;
	const char *s;

	if (schema_scalar_raw(c, key, n, &s) != 0 || param_expand(c, key, n, s, &s) != 0)
		return -1;
	*array_push(c->a, &t->words) = s;
	return 0;
}

static int resource_read(struct schema_ctx *c, const struct yaml_pair *p, struct profile_test *t)
{
	const struct yaml_node *n = p->value;
	const char *s;

	if (n->kind == YAML_LIST && t->action != ACTION_RUN_COMMAND)
		return schema_fail(c, n, "'resource' is a list for run_command only");
	if (n->kind == YAML_LIST) {
		if (schema_each(c, p, word_add, t) != 0)
			return -1;
	} else if (t->action != ACTION_RUN_COMMAND) {
		return word_add(c, "resource", n, t);
	} else {
		if (schema_scalar(c, "resource", n, &s) != 0)
			return -1;
		for (s += strspn(s, " "); *s != '\0'; s += strspn(s, " ")) {
			size_t len = strcspn(s, " ");

			*array_push(c->a, &t->words) = arena_strndup(c->a, s, len);
			s += len;
		}
	}
	if (t->words.n == 0)
		return schema_fail(c, n, "'resource' names no command");
	return 0;
}

static int test_add(struct schema_ctx *c, const char *key, const struct yaml_node *item, void *out)
{
	struct profile *p = out;
	struct profile_test *test = array_push(c->a, &p->tests);
	struct test_text t = { .decision = PROFILE_DENY };

	(void)key;
	if (schema_walk(c, &block_test_map, item, &t) != 0)
		return -1;
	test->pos = schema_pos(c, item);
	test->decision = t.decision;
	if (t.agent != NULL && schema_scalar(c, "agent", t.agent->value, &test->agent) != 0)
		return -1;
	if (t.code != NULL && code_read(c, t.code->value, &test->code) != 0)
		return -1;
	if (action_read(c, t.action->value, &test->action) != 0)
		return -1;
	return resource_read(c, t.resource, test);
}

int block_parse_tests(struct schema_ctx *c, const struct schema_row *row, const struct yaml_pair *p,
		      void *field)
{
	(void)row;
	return schema_each(c, p, test_add, field);
}
