/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "common.h"

static const struct common_row rows[] = {
	{ PERMISSIONS(""), 0, 0, NULL },
	{ PERMISSIONS("default_deny: true"), 0, 0, NULL },
	{ PERMISSIONS("default_deny: false"), 2, 29, "can only be true" },
	{ PERMISSIONS("default_deny: yes"), 2, 29, "true or false" },
	{ PERMISSIONS("policy_model: acl"), 2, 29, "rules or list_acl, not 'acl'" },
	{ PERMISSIONS("roles: {}, context: []"), 0, 0, NULL },
	{ PERMISSIONS("roles: []"), 2, 22, "'roles' must be a map of names, not a list" },
	{ PERMISSIONS("roles: {r: {}}"), 2, 26, "a role needs 'rules'" },
	{ PERMISSIONS("roles: {r: {parent: x}}"), 2, 27, "unknown key 'parent' in a role" },
	{ PERMISSIONS("roles: {r: {rules: [{operations: [reed], paths: [/x], mode: allow}]}}"), 2,
	  49, "unknown operation 'reed'" },
	{ PERMISSIONS("roles: {reader: {rules: []}}, agents: {a: {roles: [reader]}}"), 0, 0, NULL },
	{ PERMISSIONS("roles: {reader: {rules: []}}, agents: {a: {roles: [raeder]}}"), 2, 66,
	  "unknown role 'raeder' (did you mean 'reader'?)" },
	{ PERMISSIONS("agents: {a: {roles: [x]}}"), 2, 36,
	  "unknown role 'x': add it under permissions.roles" },
	{ PERMISSIONS("agents: {a: {roles: [], allowed_roots: []}}"), 2, 39,
	  "'allowed_roots' beside 'roles' (line 2): one model for each agent" },
	{ PERMISSIONS("policy_model: list_acl, agents: {a: {roles: []}}"), 2, 52,
	  "'roles' needs 'policy_model: rules'" },
	{ PERMISSIONS("context: [env, 'a b']"), 2, 30, "a key is 1 to 64 letters" },
	{ PERMISSIONS("context: env"), 2, 24, "must be a list" },
	{ PERMISSIONS("agents: [me]"), 2, 23, "'agents' must be a map of ids, not a list" },
	{ PERMISSIONS("agents: {}"), 0, 0, NULL },
	{ PERMISSIONS("agents: {me: allow, you: allow}"), 0, 0, NULL },
	{ PERMISSIONS("agents: {me: allow, me: allow}"), 2, 35, "duplicate key 'me'" },
	{ PERMISSIONS("agents: {me: 'allow'}"), 2, 28, "must be the word allow" },
	{ PERMISSIONS("agents: {me: Allow}"), 2, 28, "must be the word allow" },
	{ PERMISSIONS("agents: {me: }"), 2, 28, "not nothing" },
	{ PERMISSIONS("agents: {me: [allow]}"), 2, 28, "not a list" },
	{ PERMISSIONS("agents: {me: {}}"), 0, 0, NULL },
	{ PERMISSIONS("agents: {a/b: allow}"), 2, 24, "agent 'a/b'" },
	{ PERMISSIONS("agents: {'': allow}"), 2, 24, "an id is 1 to 64" },
	{ PERMISSIONS("agents: {..: allow}"), 2, 24, "agent '..'" },
	{ PERMISSIONS("agents: {'a b': allow}"), 2, 24, "agent 'a b'" },
	{ PERMISSIONS("agents: {\"\xc3\xa9\": allow}"), 2, 24, "an id is 1 to 64" },
	{ PERMISSIONS("agents: {"
		      "a23456789012345678901234567890123456789012345678901234567890123"
		      "4: allow}"),
	  0, 0, NULL },
	{ PERMISSIONS("agents: {"
		      "a23456789012345678901234567890123456789012345678901234567890123"
		      "45: allow}"),
	  2, 24, "an id is 1 to 64" },
	{ PERMISSIONS("agents: {me: {parent: you}}"), 2, 37, "no agent 'you' is declared" },
	{ PERMISSIONS("agents: {me: {parent: you}, you: allow}"), 0, 0, NULL },
	{ PERMISSIONS("agents: {you: allow, me: {parent: you, rules: []}}"), 0, 0, NULL },
	{ PERMISSIONS("agents: {you: {}, me: {parent: you, allowed_actions: []}}"), 0, 0, NULL },
	{ PERMISSIONS("agents: {me: {parent: me}}"), 2, 24, "or is above itself" },
	{ PERMISSIONS("agents: {a: {parent: b}, b: {parent: c}, c: {parent: b}}"), 2, 24,
	  "or is above itself" },
	{ PERMISSIONS("agents: {me: {parent: [you]}, you: allow}"), 2, 37, "must be one value" },
	/* models */
	{ PERMISSIONS("policy_model: rules, agents: {a: {rules: []}, b: allow}"), 0, 0, NULL },
	{ PERMISSIONS("policy_model: list_acl, agents: {a: {allowed_actions: []}, b: allow}"), 0, 0,
	  NULL },
	{ PERMISSIONS("agents: {a: {allowed_actions: []}, b: {rules: []}}"), 0, 0, NULL },
	{ PERMISSIONS("policy_model: rules, agents: {a: {allowed_roots: []}}"), 2, 49,
	  "'allowed_roots' needs 'policy_model: list_acl'" },
	/* the model binds, wherever it stands */
	{ PERMISSIONS("agents: {a: {rules: []}}, policy_model: list_acl"), 2, 28,
	  "'rules' needs 'policy_model: rules'" },
	{ PERMISSIONS("agents: {a: {rules: [], allowed_actions: []}}"), 2, 39,
	  "'allowed_actions' beside 'rules' (line 2)" },
	/* list_acl */
	{ PERMISSIONS("agents: {a: {allowed_actions: [read_file], allowed_roots: [/x]}}"), 0, 0,
	  NULL },
	{ PERMISSIONS("agents: {a: {allowed_actions: [READ_FILE]}}"), 2, 46,
	  "unknown action 'READ_FILE' (did you mean 'read_file'?)" },
	{ PERMISSIONS("agents: {a: {allowed_actions: [read]}}"), 2, 46, "unknown action 'read'" },
	{ PERMISSIONS("agents: {a: {allowed_actions: ['*']}}"), 2, 46, "unknown action '*'" },
	{ PERMISSIONS("agents: {a: {allowed_actions: [host_run]}}"), 2, 46,
	  "host tools are not part of this version" },
	{ PERMISSIONS("agents: {a: {allowed_actions: read_file}}"), 2, 45, "must be a list" },
	{ PERMISSIONS("agents: {a: {allowed_roots: [x]}}"), 2, 44, "must start with '/'" },
	{ PERMISSIONS("agents: {a: {allowed_roots: [~/x]}}"), 2, 44, "'~' is not read in rules" },
	{ PERMISSIONS("agents: {a: {allowed_roots: ['/x*']}}"), 0, 0, NULL },
	{ PERMISSIONS("agents: {a: {allowed_roots: ['/x[']}}"), 2, 44, "'[' without ']'" },
};

static const struct common_row rules[] = {
	{ RULES(""), 0, 0, NULL },
	{ RULES("{operations: [read], paths: [/x], mode: allow}"), 0, 0, NULL },
	{ RULES("{operations: [read], paths: [/x], mode: deny}"), 0, 0, NULL },
	{ RULES("{operations: [read], paths: [/x], mode: interrupt}"), 0, 0, NULL },
	{ RULES("{operations: [read], paths: [/x], mode: ask}"), 2, 77,
	  "allow or deny or interrupt, not 'ask'" },
	{ RULES("{operations: [read], paths: [/x]}"), 2, 37, "needs a 'mode'" },
	{ RULES("{paths: [/x], mode: allow}"), 2, 37, "needs 'operations'" },
	{ RULES("{operations: [], mode: allow}"), 2, 50, "'operations' is empty" },
	{ RULES("{operations: read, mode: allow}"), 2, 50, "'operations' must be a list" },
	{ RULES("{operations: [raed], paths: [/x], mode: allow}"), 2, 51,
	  "unknown operation 'raed' (did you mean 'read'?)" },
	{ RULES("{operations: [Read], paths: [/x], mode: allow}"), 2, 51,
	  "unknown operation 'Read'" },
	{ RULES("{operations: [host], mode: allow}"), 2, 51,
	  "host tools are not part of this version" },
	{ RULES("allow"), 2, 37, "a rule must be a map, not 'allow'" },
	{ RULES("{operations: [read], paths: [/x], mode: allow, when: {a: b}}"), 2, 91,
	  "'when': 'a' is not declared: add it to permissions.context" },
	{ PERMISSIONS("context: [env], agents: {me: {rules: [{operations: [read], paths: [/x], "
		      "mode: allow, when: {env: dev}}]}}"),
	  0, 0, NULL },
	{ PERMISSIONS("agents: {me: {rules: [{operations: [read], paths: [/x], mode: allow, "
		      "when: {env: dev}}]}}, context: [env]"),
	  0, 0, NULL },
	{ PERMISSIONS("context: [env], agents: {me: {rules: [{operations: [read], paths: [/x], "
		      "mode: allow, when: {evn: dev}}]}}"),
	  2, 107, "'when': 'evn' is not declared (did you mean 'env'?)" },
	{ PERMISSIONS("context: [env], agents: {me: {rules: [{operations: [read], paths: [/x], "
		      "mode: allow, when: {}}]}}"),
	  2, 106, "'when' is empty: leave it out" },
	/* the lists and their operations */
	{ RULES("{operations: [read], mode: allow}"), 2, 37, "needs 'paths'" },
	{ RULES("{operations: [write], mode: allow}"), 2, 37, "needs 'paths'" },
	{ RULES("{operations: [execute], mode: allow}"), 2, 37, "needs 'commands'" },
	{ RULES("{operations: [connect], mode: allow}"), 2, 37, "needs 'hosts'" },
	{ RULES("{operations: [read], paths: [], mode: allow}"), 0, 0, NULL },
	{ RULES("{operations: [execute], commands: ['*'], paths: [/x], mode: allow}"), 2, 78,
	  "'paths' only goes with read or write" },
	{ RULES("{operations: [read], paths: [/x], commands: ['*'], mode: allow}"), 2, 71,
	  "'commands' only goes with execute" },
	{ RULES("{operations: [read], paths: [/x], hosts: ['*'], mode: allow}"), 2, 71,
	  "'hosts' only goes with connect" },
	{ RULES("{operations: [read, execute, connect], paths: [/x], commands: [a], hosts: ['*'], "
		"mode: allow}"),
	  0, 0, NULL },
	/* paths */
	{ RULES("{operations: [read], paths: ['/x/**', '/**', /], mode: allow}"), 0, 0, NULL },
	{ RULES("{operations: [read], paths: [x], mode: allow}"), 2, 66, "must start with '/'" },
	{ RULES("{operations: [read], paths: ['**'], mode: allow}"), 2, 66, "must start with '/'" },
	{ RULES("{operations: [read], paths: [/x/../y], mode: allow}"), 2, 66, "without '..'" },
	{ RULES("{operations: [read], paths: ['/x/../**'], mode: allow}"), 2, 66, "without '..'" },
	{ RULES("{operations: [read], paths: [/..x/y..], mode: allow}"), 0, 0, NULL },
	{ RULES("{operations: [read], paths: [~/x], mode: allow}"), 2, 66, "'~' is not read" },
	{ RULES("{operations: [read], paths: [/~x], mode: allow}"), 2, 66, "'~' is not read" },
	{ RULES("{operations: [read], paths: [/x/], mode: allow}"), 2, 66, "slash at the end" },
	{ RULES("{operations: [read], paths: [/x//y], mode: allow}"), 2, 66, "'//'" },
	{ RULES("{operations: [read], paths: ['//**'], mode: allow}"), 2, 66, "'//'" },
	{ RULES("{operations: [read], paths: ['/x/*'], mode: allow}"), 0, 0, NULL },
	{ RULES("{operations: [read], paths: [\"/x\\n\"], mode: allow}"), 2, 66,
	  "tab or a line break" },
	/* commands */
	{ RULES("{operations: [execute], commands: ['*', git, git status, 'git *'], mode: allow}"),
	  0, 0, NULL },
	{ RULES("{operations: [execute], commands: [''], mode: allow}"), 2, 72,
	  "at least one word" },
	{ RULES("{operations: [execute], commands: ['  '], mode: allow}"), 2, 72,
	  "at least one word" },
	{ RULES("{operations: [execute], commands: ['* push'], mode: allow}"), 2, 72,
	  "'*' can only be the last word" },
	{ RULES("{operations: [execute], commands: ['git p*'], mode: allow}"), 2, 72,
	  "patterns within a word" },
	{ RULES("{operations: [execute], commands: ['git **'], mode: allow}"), 2, 72,
	  "patterns within a word" },
	{ RULES("{operations: [execute], commands: ['gi?'], mode: allow}"), 2, 72,
	  "patterns within a word" },
	{ RULES("{operations: [execute], commands: ['a \"b c\"'], mode: allow}"), 2, 72, "quotes" },
	{ RULES("{operations: [execute], commands: ['${home}/x'], mode: allow}"), 2, 72,
	  "does not take ${...}" },
	/* hosts */
	{ RULES("{operations: [connect], hosts: ['*'], mode: allow}"), 0, 0, NULL },
	{ RULES("{operations: [connect], hosts: ['github.com:443', '*.example.org', '*:80', "
		"'10.0.0.0/8:22'], mode: deny}"),
	  0, 0, NULL },
	{ RULES("{operations: [connect], hosts: [], mode: allow}"), 0, 0, NULL },
	{ RULES("{operations: [connect], hosts: ['a..b'], mode: allow}"), 2, 69,
	  "'hosts': 'a..b':" },
	{ RULES("{operations: [connect], hosts: ['a.b:0'], mode: allow}"), 2, 69, "'hosts'" },
	{ RULES("{operations: [connect], hosts: ['https://a.b'], mode: allow}"), 2, 69, "'hosts'" },
	{ RULES("{operations: [connect], hosts: '*', mode: allow}"), 2, 68, "must be a list" },
};

static void test_rules_values(struct tap *t)
{
	struct arena a = { 0 };
	const struct profile *p = common_good(
		t, &a,
		"sandbox: {}\n"
		"permissions:\n"
		"  agents:\n"
		"    me:\n"
		"      rules:\n"
		"        - {operations: [write, read], paths: [/a, '/b/**', '/**'], mode: deny}\n"
		"        - {operations: [execute], commands: [' git   push  * ', '*'], mode: "
		"interrupt}\n"
		"        - {operations: [connect], hosts: ['*'], mode: allow}\n");
	const struct profile_agent *me;
	const struct profile_rule *r;

	if (p == NULL)
		goto out;
	me = profile_agent_find(p, "me");
	tap_ok(t, profile_agent_find(p, "Me") == NULL, "ids are exact");
	if (!tap_ok(t, me != NULL && me->rules.n == 3, "three rules"))
		goto out;
	tap_int(t, me->allow_all, false, "not the short form");
	tap_int(t, me->pos.line, 4, "agent line");
	tap_int(t, me->pos.col, 5, "agent column");
	r = &me->rules.v[0];
	tap_int(t, r->actions,
		action_operation_set(OPERATION_READ) | action_operation_set(OPERATION_WRITE),
		"read and write");
	tap_int(t, r->mode, PROFILE_DENY, "deny");
	tap_int(t, r->pos.line, 6, "rule line");
	tap_int(t, r->pos.col, 11, "rule column");
	tap_int(t, r->any_host, false, "no host");
	tap_str(t, r->paths.v[0].glob.prefix, "/a", "literal");
	tap_int(t, glob_is_literal(&r->paths.v[0].glob), true, "literal: no subtree");
	tap_str(t, r->paths.v[1].glob.prefix, "/b", "prefix");
	tap_str(t, r->paths.v[1].text, "/b/**", "text");
	tap_int(t, glob_is_subtree(&r->paths.v[1].glob), true, "subtree");
	tap_str(t, r->paths.v[2].glob.prefix, "/", "everything");
	tap_str(t, r->paths.v[2].text, "/**", "everything: text");
	r = &me->rules.v[1];
	tap_int(t, r->mode, PROFILE_INTERRUPT, "interrupt");
	tap_int(t, r->actions, ACTION_BIT(ACTION_RUN_COMMAND), "execute");
	tap_int(t, (long long)r->commands.v[0].n, 3, "three words");
	tap_str(t, r->commands.v[0].words[0], "git", "first word");
	tap_str(t, r->commands.v[0].words[1], "push", "second word");
	tap_str(t, r->commands.v[0].words[2], "*", "last word");
	tap_int(t, (long long)r->commands.v[1].n, 1, "any command");
	r = &me->rules.v[2];
	tap_int(t, r->any_host, true, "any host");
	tap_int(t, r->actions, ACTION_BIT(ACTION_NET_CONNECT), "connect");
	tap_int(t, r->mode, PROFILE_ALLOW, "allow");
out:
	arena_free(&a);
}

static void test_lists_values(struct tap *t)
{
	struct arena a = { 0 };
	const struct profile *p = common_good(
		t, &a,
		PERMISSIONS(
			"agents: {a: {allowed_actions: [ls, run_command], allowed_roots: [/x, "
			"/y/**]}, b: {allowed_actions: [net_connect]}, c: {allowed_roots: [/x]}, "
			"d: allow, e: {allowed_actions: [ls]}}"));
	const struct profile_agent *v;

	if (p == NULL || !tap_int(t, (long long)p->permissions.agents.n, 5, "five agents"))
		goto out;
	v = p->permissions.agents.v;
	tap_int(t, (long long)v[0].rules.n, 1, "lists: one rule");
	tap_int(t, v[0].rules.v[0].actions, ACTION_BIT(ACTION_LS) | ACTION_BIT(ACTION_RUN_COMMAND),
		"lists: actions");
	tap_int(t, (long long)v[0].rules.v[0].paths.n, 2, "lists: paths");
	tap_int(t, glob_is_subtree(&v[0].rules.v[0].paths.v[0].glob), true,
		"lists: with all below");
	tap_str(t, v[0].rules.v[0].paths.v[0].text, "/x/**", "lists: as a rule says it");
	tap_str(t, v[0].rules.v[0].paths.v[1].text, "/y/**", "lists: not twice");
	tap_str(t, v[0].rules.v[0].commands.v[0].words[0], "*", "lists: any command");
	tap_int(t, v[0].rules.v[0].any_host, false, "lists: no host without net_connect");
	tap_int(t, v[0].rules.v[0].mode, PROFILE_ALLOW, "lists: allow");
	tap_int(t, v[1].rules.v[0].any_host, true, "net_connect: any host");
	tap_int(t, (long long)v[1].rules.v[0].commands.n, 0, "net_connect: no command");
	tap_int(t, (long long)v[1].rules.v[0].paths.n, 0, "net_connect: no path");
	tap_int(t, (long long)v[2].rules.n, 0, "roots without actions: nothing");
	tap_int(t, v[3].allow_all, true, "short form");
	tap_int(t, v[3].rules.v[0].actions,
		(ACTION_BIT(ACTION_MAX) - 1) & ~ACTION_BIT(ACTION_HOST_RUN),
		"short form: all but host_run");
	tap_str(t, v[3].rules.v[0].paths.v[0].text, "/**", "short form: everywhere");
	tap_int(t, v[3].rules.v[0].any_host, true, "short form: any host");
	tap_str(t, v[3].rules.v[0].commands.v[0].text, "*", "short form: any command");
	tap_int(t, (long long)v[4].rules.v[0].paths.n, 0, "actions without roots: no path");
out:
	arena_free(&a);
}

static void test_hashes(struct tap *t)
{
	static const struct {
		const char *a, *b;
		bool sandbox, permissions; /* equal? */
	} pairs[] = {
		{ PERMISSIONS(
			  "agents: {a: {allowed_actions: [ls, glob, read_file, grep, download], "
			  "allowed_roots: [/x]}}"),
		  PERMISSIONS("agents: {a: {rules: [{operations: [read], paths: ['/x/**'], mode: "
			      "allow}]}}"),
		  true, true },
		{ PERMISSIONS("agents: {a: allow, b: {}}"),
		  PERMISSIONS("agents: {b: {}, a: allow}"), true, true },
		{ PERMISSIONS("agents: {a: allow}"), PERMISSIONS("agents: {b: allow}"), true,
		  false },
		{ SANDBOX("timeout_seconds: 60, max_output_bytes: 1024, allowed_roots: [a], "
			  "allow_network: false, runtime: subprocess"),
		  SANDBOX("limits: {output: 1K, timeout: 1m}, network: none, roots: [{path: ./a, "
			  "at: "
			  "/srv/p/a}], base: host, scratch: {size: 256M}, hostname: agentbox"),
		  true, true },
		{ SANDBOX("roots: [a]"), SANDBOX("roots: [{path: a, mode: ro}]"), false, true },
		{ SANDBOX("roots: [a, b]"), SANDBOX("roots: [b, a]"), false, true },
	};

	for (size_t i = 0; i < ARRAY_SIZE(pairs); i++) {
		struct arena a = { 0 };
		const struct profile *x = common_good(t, &a, pairs[i].a);
		const struct profile *y = common_good(t, &a, pairs[i].b);

		if (x != NULL && y != NULL) {
			struct profile_hashes hx, hy;

			profile_hash_blocks(x, &hx);
			profile_hash_blocks(y, &hy);
			tap_int(t, strlen(hx.sandbox_sha256), 64, "a digest");
			tap_int(t, strcmp(hx.sandbox_sha256, hy.sandbox_sha256) == 0,
				pairs[i].sandbox, "equal sandbox");
			tap_int(t, strcmp(hx.permissions_sha256, hy.permissions_sha256) == 0,
				pairs[i].permissions, "equal permissions");
		}
		arena_free(&a);
	}
}

static void test_actions(struct tap *t)
{
	action_set all = 0;
	enum action got;

	for (size_t i = 0; i < ACTION_MAX; i++) {
		got = ACTION_MAX;
		tap_ok(t, action_from_name(action_name((enum action)i), &got) && got == i, "%s",
		       action_name((enum action)i));
	}
	for (size_t i = 0; i < OPERATION_MAX; i++) {
		action_set set = action_operation_set((enum action_operation)i);

		tap_ok(t, set != 0 && (all & set) == 0, "%s: own actions",
		       action_operation_name((enum action_operation)i));
		all |= set;
	}
	tap_int(t, all, ACTION_BIT(ACTION_MAX) - 1, "every action has its operation");
	tap_int(t, action_operation(ACTION_DELETE), OPERATION_WRITE, "delete is write");
	tap_int(t, action_operation(ACTION_GREP), OPERATION_READ, "grep is read");
	tap_ok(t, !action_from_name("Read_file", &got), "case matters");
	tap_ok(t, !action_from_name("", &got), "the empty word is none");
}

int main(void)
{
	struct tap t = { 0 };

	common_rows(&t, rows, ARRAY_SIZE(rows));
	common_rows(&t, rules, ARRAY_SIZE(rules));
	test_rules_values(&t);
	test_lists_values(&t);
	test_hashes(&t);
	test_actions(&t);
	return tap_done(&t);
}
