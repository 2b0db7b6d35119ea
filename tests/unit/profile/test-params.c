/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "common.h"

#define PARAMS(p) "params: {" p "}\nsandbox: {}\npermissions: {}\n"
/* A root's path at 2:19. */
#define USED(p, path) "params: {" p "}\nsandbox: {roots: [" path "]}\npermissions: {}\n"
#define RULE(path)                                                                                 \
	"params: {workspace: {}}\n"                                                                \
	"permissions: {agents: {me: {rules: [{operations: [read], paths: [" path                   \
	"], mode: allow}]}}}\n"                                                                    \
	"sandbox: {}\n"

static const struct common_row rows[] = {
	{ PARAMS(""), 0, 0, NULL },
	{ PARAMS("a: {}, b-1: {required: false}, c_2: {type: word, default: x.y@z:1+2-3}"), 0, 0,
	  NULL },
	{ PARAMS("a: {type: path, default: /x}"), 0, 0, NULL },
	{ PARAMS("a: {type: path, default: ./x}"), 0, 0, NULL },
	{ PARAMS("a: {type: path, default: ../x}"), 1, 35, "without '..'" },
	{ PARAMS("a: {type: number}"), 1, 20, "'type' must be path or word" },
	{ PARAMS("a: {default: x y}"), 1, 23, "'default' must be a word" },
	{ PARAMS("a: {default: /x}"), 1, 23, "'default' must be a word" },
	{ PARAMS("a: {default: ''}"), 1, 23, "'default' must be a word" },
	{ PARAMS("a: {default: '${uid}'}"), 1, 23, "does not take ${...}" },
	{ PARAMS("a: {default: [x]}"), 1, 23, "must be one value" },
	{ PARAMS("a: {required: no}"), 1, 24, "true or false" },
	{ PARAMS("a: {require: true}"), 1, 14, "unknown key 'require'" },
	{ PARAMS("a: word"), 1, 13, "a parameter must be a map" },
	{ PARAMS("'a b': {}"), 1, 10, "a name is 1 to 64" },
	{ PARAMS("'': {}"), 1, 10, "a name is 1 to 64" },
	{ PARAMS("home: {}"), 1, 10, "'home' is predeclared" },
	{ PARAMS("uid: {}"), 1, 10, "'uid' is predeclared" },
	{ PARAMS("instance: {}"), 1, 10, "'instance' is predeclared" },
	{ "params: [a]\nsandbox: {}\npermissions: {}\n", 1, 9, "must be a map of names" },
	{ PARAMS("a: {}, a: {}"), 1, 17, "duplicate key 'a'" },
	{ PARAMS("workspace: {required: true}"), 1, 10,
	  "param 'workspace' is required: give -w DIR or --param workspace=DIR" },
	{ PARAMS("a: {required: true}"), 1, 10, "param 'a' is required: give it with --param" },
	/* use */
	{ USED("a: {default: x}", "\"/r/${a}\""), 0, 0, NULL },
	{ USED("a: {default: x}", "\"/r/${b}\""), 2, 19, "undeclared ${b}" },
	{ USED("flavour: {default: x}", "\"/r/${flavor}\""), 2, 19, "did you mean ${flavour}?" },
	{ USED("a: {default: x}", "\"/r/${A}\""), 2, 19, "undeclared ${A}" },
	{ USED("a: {default: x}", "\"/r/${}\""), 2, 19, "undeclared ${}" },
	{ USED("a: {default: x}", "\"/r/${a\""), 2, 19, "'${' without '}'" },
	{ USED("a: {default: x}", "\"/r/${ a }\""), 2, 19, "undeclared ${ a }" },
	{ USED("a: {default: x}", "\"/r/$a\""), 0, 0, NULL },
	{ USED("a: {}", "\"/r/${a}\""), 2, 19, "${a} has no value" },
	{ USED("a: {default: ..}", "\"/r/${a}\""), 2, 19, "without '..'" },
	{ USED("", "\"${home}/x\""), 0, 0, NULL },
	{ USED("", "\"/r/${uid}\""), 0, 0, NULL },
	{ USED("", "\"/r/${instance}\""), 2, 19,
	  "${instance} has no value: give the agent as ID/INSTANCE" },
	/* and nowhere else */
	{ "version: ${uid}\nsandbox: {}\npermissions: {}\n", 1, 10, "can only be 1" },
	{ SANDBOX("network: \"${uid}\""), 1, 20, "does not take ${...}" },
	{ SANDBOX("limits: {timeout: \"${uid}s\"}"), 1, 29, "does not take ${...}" },
	{ SANDBOX("env: {pass: [\"${uid}\"]}"), 1, 24, "does not take ${...}" },
	{ SANDBOX("protect: {hide: [\"${uid}\"]}"), 1, 28, "does not take ${...}" },
	{ SANDBOX("env: {set: {\"${uid}\": a}}"), 1, 23, "not the name of a variable" },
	{ PERMISSIONS("agents: {\"${uid}\": allow}"), 2, 24, "an id is" },
	{ PERMISSIONS("agents: {me: \"${uid}\"}"), 2, 28, "must be the word allow" },
};

static void with(struct tap *t, const struct profile_param *v, size_t n, const char *text,
		 unsigned line, unsigned col, const char *want)
{
	struct profile_source src = common_source();
	struct arena a = { 0 };

	src.params = v;
	src.n_params = n;
	if (want != NULL)
		common_bad_from(t, &src, text, line, col, want);
	else
		(void)common_good_from(t, &a, &src, text);
	arena_free(&a);
}

static void test_given(struct tap *t)
{
	static const struct profile_param space[] = { { "workspace", "/work/space" } };
	static const struct profile_param twice[] = { { "workspace", "/a" },
						      { "workspace", "/a" } };
	static const struct profile_param typo[] = { { "worksapce", "/a" } };
	static const struct profile_param home[] = { { "home", "/a" } };
	static const struct profile_param rel[] = { { "workspace", "a" } };
	static const struct profile_param slash[] = { { "workspace", "/a/" } };
	static const struct profile_param word[] = { { "a", "x y" } };
	static const struct profile_param empty[] = { { "a", "" } };
	static const struct profile_param fine[] = { { "a", "x" } };

	with(t, space, 1, PARAMS("workspace: {required: true}"), 0, 0, NULL);
	with(t, space, 1, PARAMS(""), 0, 0, "param 'workspace' is not declared in p.yaml");
	with(t, typo, 1, PARAMS("workspace: {}"), 0, 0, "(did you mean 'workspace'?)");
	with(t, twice, 2, PARAMS("workspace: {}"), 0, 0, "'workspace' is given twice");
	with(t, home, 1, PARAMS(""), 0, 0, "'home' is predeclared");
	with(t, rel, 1, PARAMS("workspace: {}"), 0, 0, "not an absolute path");
	with(t, slash, 1, PARAMS("workspace: {}"), 0, 0, "not an absolute path");
	with(t, rel, 1, PARAMS("workspace: {type: word}"), 0, 0, NULL);
	with(t, word, 1, PARAMS("a: {}"), 0, 0, "not a word");
	with(t, empty, 1, PARAMS("a: {}"), 0, 0, "not a word");
	with(t, fine, 1, PARAMS("a: {}"), 0, 0, NULL);
}

static void test_values(struct tap *t)
{
	static const struct profile_param v[] = { { "workspace", "/w/${b}" }, { "b", "given" } };
	struct profile_source src = common_source();
	struct arena a = { 0 };
	const struct profile *p;

	src.params = v;
	src.n_params = 2;
	p = common_good_from(
		t, &a, &src,
		"permissions: {}\n"
		"sandbox:\n"
		"  roots:\n"
		"    - {path: '${workspace}', at: '/in/${b}-${b}'}\n"
		"  workdir: '/in/${b}-${b}'\n"
		"  env: {set: {A: 'x${b}y${uid}z${c}'}}\n"
		"params: {workspace: {}, b: {default: unused}, c: {default: fallback}}\n");
	if (p == NULL)
		goto out;
	tap_str(t, p->sandbox.roots.v[0].path, "/w/${b}", "a value is literal");
	tap_str(t, p->sandbox.roots.v[0].at, "/in/given-given", "twice in one text");
	tap_str(t, p->sandbox.workdir, "/in/given-given", "workdir");
	tap_str(t, p->sandbox.env_set.v[0].value, "xgiveny1000zfallback", "three in one text");
out:
	arena_free(&a);
}

static void test_rules(struct tap *t)
{
	static const struct profile_param plain[] = { { "workspace", "/w" } };
	static const struct profile_param root[] = { { "workspace", "/" } };
	static const struct profile_param star[] = { { "workspace", "/w/**" } };
	static const struct profile_param set[] = { { "workspace", "/w[1]" } };
	static const struct profile_param braces[] = { { "workspace", "/w/${home}" } };
	static const struct profile_param tilde[] = { { "workspace", "/w/a~1" } };
	struct profile_source src = common_source();
	struct arena a = { 0 };
	const struct profile *p;

	with(t, plain, 1, RULE("'${workspace}'"), 0, 0, NULL);
	with(t, plain, 1, RULE("'${workspace}/x/**'"), 0, 0, NULL);
	with(t, tilde, 1, RULE("'${workspace}/**'"), 0, 0, NULL);
	/* A value stands for itself, whatever it holds. */
	with(t, star, 1, RULE("'${workspace}'"), 0, 0, NULL);
	with(t, braces, 1, RULE("'${workspace}/**'"), 0, 0, NULL);
	with(t, set, 1, RULE("'${workspace}/**'"), 0, 0, NULL);
	src.params = set;
	src.n_params = 1;
	p = common_good_from(t, &a, &src, RULE("'${workspace}/{x,y}'"));
	if (p != NULL) {
		const struct profile_rule *r = &p->permissions.agents.v[0].rules.v[0];

		tap_str(t, r->paths.v[0].text, "/w\\[1\\]/{x,y}", "escaped in the text");
		tap_ok(t, glob_match(&r->paths.v[1].glob, "/w[1]/y"), "it is matched");
		tap_ok(t, !glob_match(&r->paths.v[1].glob, "/w1/y"), "as it stands");
	}
	with(t, plain, 1, RULE("'/x${workspace}'"), 0, 0, NULL);
	with(t, plain, 1, RULE("'/${workspace}'"), 2, 66, "'//'");
	src.params = root;
	src.n_params = 1;
	p = common_good_from(t, &a, &src, RULE("'${workspace}/**'"));
	if (p != NULL) {
		tap_str(t, p->permissions.agents.v[0].rules.v[0].paths.v[0].text, "/**",
			"/ and all below");
		tap_int(t, glob_is_subtree(&p->permissions.agents.v[0].rules.v[0].paths.v[0].glob),
			true, "a subtree");
	}
	arena_free(&a);
}

static void test_home(struct tap *t)
{
	struct profile_source src = common_source();
	struct arena a = { 0 };

	src.home = NULL;
	common_bad_from(t, &src, SANDBOX("roots: [~/x]"), 1, 19, "no home directory");
	common_bad_from(t, &src, SANDBOX("roots: ['${home}/x']"), 1, 19, "${home} has no value");
	(void)common_good_from(t, &a, &src, SANDBOX("roots: [x]"));
	arena_free(&a);
}

int main(void)
{
	struct tap t = { 0 };

	common_rows(&t, rows, ARRAY_SIZE(rows));
	test_given(&t);
	test_values(&t);
	test_rules(&t);
	test_home(&t);
	return tap_done(&t);
}
