/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/strbuf.h"
#include "hand.h"
#include "tap.h"

#define FIXED                                                                                      \
	"HOME=/home/agent USER=agent LOGNAME=agent SHELL=/bin/sh TMPDIR=/tmp container=agentbox"
#define SYSTEM "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

/* The command's environment, joined by spaces. @env: the sandbox's env block; @caller: variables
 * separated by spaces; @pass: one --env or NULL. */
static const char *env_of(struct arena *a, const char *env, const char *caller, const char *pass)
{
	const char *const passes[] = { pass };
	const char *text = arena_printf(
		a, "sandbox: {roots: [/w], env: {%s}}\npermissions: {agents: {me: allow}}\n", env);
	char *copy = arena_strdup(a, caller);
	char *save = NULL;
	char *environ_in[32] = { NULL };
	size_t n = 0;
	struct hand_options o = { .environ = environ_in,
				  .env_pass = passes,
				  .n_env_pass = pass != NULL };
	struct hand h;
	STRBUF_AUTO sb = { 0 };

	for (char *v = strtok_r(copy, " ", &save); v != NULL && n < 31;
	     v = strtok_r(NULL, " ", &save))
		environ_in[n++] = v;
	if (hand_load(&h, text, strlen(text)) != 0)
		return arena_printf(a, "profile: %s", h.err.msg);
	hand_facts(&h, &o);
	if (hand_compile(&h) != 0)
		return arena_printf(a, "plan: %s", h.err.msg);
	for (size_t i = 0; h.plan->envp[i] != NULL; i++)
		strbuf_printf(&sb, "%s%s", i > 0 ? " " : "", h.plan->envp[i]);
	hand_free(&h);
	return arena_strdup(a, strbuf_str(&sb));
}

struct row {
	const char *what;
	const char *env, *caller, *pass;
	const char *want;
};

static const struct row rows[] = {
	/* required */
	{ "what is required is there", "pass: [A], required: [A]", "A=1", NULL,
	  SYSTEM " " FIXED " A=1" },
	{ "with an empty value too", "pass: [A], required: [A]", "A=", NULL,
	  SYSTEM " " FIXED " A=" },
	{ "by set", "set: {A: x}, required: [A]", "", NULL, SYSTEM " " FIXED " A=x" },
	{ "by --env", "required: [A]", "A=1", "A", SYSTEM " " FIXED " A=1" },
	{ "as a part of the minimum", "required: [HOME, TERM]", "TERM=vt", NULL,
	  SYSTEM " " FIXED " TERM=vt" },
	{ "not what the caller lacks", "pass: [A, B, C], required: [A, B, C]", "B=hush", NULL,
	  "plan: missing: A, C ('required': the command would not have it; 'pass', 'file' and "
	  "'set' bring variables, --env NAME one of the caller's)" },
	{ "nor what nothing brings", "required: [A]", "A=hush", NULL,
	  "plan: missing: A ('required': the command would not have it; 'pass', 'file' and "
	  "'set' bring variables, --env NAME one of the caller's)" },
	{ "nor what deny takes away", "pass: [A], set: {A: x}, deny: [A*], required: [A]", "A=1",
	  NULL,
	  "plan: missing: A ('required': the command would not have it; 'pass', 'file' and "
	  "'set' bring variables, --env NAME one of the caller's)" },
	{ "a name is no part of another", "pass: [AB], required: [A]", "AB=1", NULL,
	  "plan: missing: A ('required': the command would not have it; 'pass', 'file' and "
	  "'set' bring variables, --env NAME one of the caller's)" },
	{ "nor is it a pattern", "pass: [A*], required: [A*]", "AB=1", NULL,
	  "profile: 'required': 'A*' is not the name of a variable (letters, digits, '_')" },
	{ "nothing but the minimum", "", "", NULL, SYSTEM " " FIXED },
	{ "what nobody asked for stays outside", "", "SECRET=x FOO=y HOME=/root USER=root", NULL,
	  SYSTEM " " FIXED },
	{ "language, terminal, time zone", "", "LANG=C LC_ALL=C LC_TIME=de TERM=vt TZ=UTC LCX=no",
	  NULL, SYSTEM " " FIXED " LANG=C LC_ALL=C LC_TIME=de TERM=vt TZ=UTC" },
	{ "the fixed part is not the caller's", "", "SHELL=/bin/zsh TMPDIR=/x container=docker",
	  NULL, SYSTEM " " FIXED },
	/* PATH */
	{ "PATH: entries in the base, in order", "", "PATH=/usr/bin:/home/u/bin:/opt/x/bin:/bin",
	  NULL, "PATH=/usr/bin:/opt/x/bin:/bin " FIXED },
	{ "PATH: empty and relative entries go", "", "PATH=:/usr/bin:.:bin:", NULL,
	  "PATH=/usr/bin " FIXED },
	{ "PATH: what is not canonical goes", "", "PATH=/usr/../w:/usr/bin/:/usr//bin:/usr/bin",
	  NULL, "PATH=/usr/bin " FIXED },
	{ "PATH: a neighbour of the base goes", "", "PATH=/usrx:/optics:/usr/bin", NULL,
	  "PATH=/usr/bin " FIXED },
	{ "PATH: a part of the base that is absent goes", "", "PATH=/lib32/x:/usr/bin", NULL,
	  "PATH=/usr/bin " FIXED },
	{ "PATH: nothing left is the system's", "", "PATH=/w/bin:/home/u/bin", NULL,
	  SYSTEM " " FIXED },
	{ "PATH: empty is the system's", "", "PATH=", NULL, SYSTEM " " FIXED },
	/* pass */
	{ "pass: a name", "pass: [FOO]", "FOO=1 FOOD=2 foo=3", NULL, SYSTEM " " FIXED " FOO=1" },
	{ "pass: one that is not set", "pass: [FOO]", "BAR=1", NULL, SYSTEM " " FIXED },
	{ "pass: an empty value", "pass: [FOO]", "FOO=", NULL, SYSTEM " " FIXED " FOO=" },
	{ "pass: a pattern", "pass: ['CI_*']", "CI_A=1 CI_B=2 CI=3 XCI_=4", NULL,
	  SYSTEM " " FIXED " CI_A=1 CI_B=2" },
	{ "pass: a pattern never takes a secret name", "pass: ['CI_*']",
	  "CI_TOKEN=1 CI_KEYS=1 CI_my_secret=1 CI_PASSWORD=1 CI_CREDENTIALS=1 CI_DSN=1 CI_OK=1",
	  NULL, SYSTEM " " FIXED " CI_OK=1" },
	{ "pass: a secret by its very name", "pass: [CI_TOKEN]", "CI_TOKEN=1", NULL,
	  SYSTEM " " FIXED " CI_TOKEN=1" },
	{ "pass: a pattern never takes a URL with a password", "pass: ['CI_*']",
	  "CI_A=https://u:p@h/x CI_B=https://h/x CI_C=https://u@h/x CI_D=https://h/u:p@x "
	  "CI_E=postgres://u:p@h",
	  NULL, SYSTEM " " FIXED " CI_B=https://h/x CI_C=https://u@h/x CI_D=https://h/u:p@x" },
	{ "pass: such a URL by its very name", "pass: [CI_A]", "CI_A=https://u:p@h/x", NULL,
	  SYSTEM " " FIXED " CI_A=https://u:p@h/x" },
	{ "pass: what is no variable is passed over", "pass: ['*']", "novalue =x A=1", NULL,
	  SYSTEM " " FIXED " A=1" },
	{ "pass: a pattern leaves the minimum alone", "pass: ['*']",
	  "HOME=/root PATH=/w:/usr/bin USER=root TMPDIR=/x SHELL=/z A=1", NULL,
	  "PATH=/usr/bin " FIXED " A=1" },
	{ "pass: a name does not", "pass: [HOME]", "HOME=/root", NULL,
	  SYSTEM " HOME=/root USER=agent LOGNAME=agent SHELL=/bin/sh TMPDIR=/tmp"
		 " container=agentbox" },
	{ "--env: a name", "", "FOO=1 BAR=2", "FOO", SYSTEM " " FIXED " FOO=1" },
	{ "--env: a secret, which is named", "", "MY_TOKEN=1", "MY_TOKEN",
	  SYSTEM " " FIXED " MY_TOKEN=1" },
	/* set, deny */
	{ "set", "set: {A: '1', B: x=y}", "A=0", NULL, SYSTEM " " FIXED " A=1 B=x=y" },
	{ "set beats pass", "pass: [A], set: {A: '1'}", "A=0", NULL, SYSTEM " " FIXED " A=1" },
	{ "set beats the minimum", "set: {HOME: /w}", "", NULL,
	  SYSTEM " HOME=/w USER=agent LOGNAME=agent SHELL=/bin/sh TMPDIR=/tmp container=agentbox" },
	{ "a longer name is another", "set: {HOMER: x, HOM: y}", "", NULL,
	  SYSTEM " " FIXED " HOMER=x HOM=y" },
	{ "deny beats set, pass, --env and the minimum",
	  "pass: [A], set: {B: x}, deny: [A, B, C, SHELL]", "A=1 C=2", "C",
	  SYSTEM " HOME=/home/agent USER=agent LOGNAME=agent TMPDIR=/tmp container=agentbox" },
	{ "deny by pattern", "set: {LD_PRELOAD: x, LD_AUDIT: y, LDX: z}, deny: ['LD_*']", "", NULL,
	  SYSTEM " " FIXED " LDX=z" },
};

static void test_secret_names(struct tap *t)
{
	static const struct {
		const char *name;
		bool want;
	} names[] = {
		{ "HOME", false },      { "PATHS", false },      { "API_KEY", true },
		{ "apikey", true },     { "Token", true },       { "GITHUB_TOKEN", true },
		{ "TOKENS", true },     { "MY_SECRET_X", true }, { "PASSWD", true },
		{ "PASSWORD", true },   { "passphrase", true },  { "CREDENTIALS", true },
		{ "SENTRY_DSN", true }, { "TOK", false },        { "", false },
	};
	char name[129];

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		tap_ok(t, plan_env_is_secret(names[i].name) == names[i].want, "'%s' is %sa secret",
		       names[i].name, names[i].want ? "" : "not ");
	memset(name, 'A', sizeof(name));
	name[127] = '\0';
	tap_ok(t, !plan_env_is_secret(name), "127 bytes are read");
	name[127] = 'A';
	name[128] = '\0';
	tap_ok(t, plan_env_is_secret(name), "128 are taken for the worse");
}

/* Does @text, as a sandbox block, give @want to a caller? git asks who owns a tree. */
static void test_git(struct tap *t, const char *what, const char *block, enum hand_caller caller,
		     const char *want)
{
	struct arena a = { 0 };
	const char *text =
		arena_printf(&a, "sandbox: {%s}\npermissions: {agents: {me: allow}}\n", block);
	struct hand_options o = { .caller = caller };
	STRBUF_AUTO sb = { 0 };
	struct hand h;

	if (hand_load(&h, text, strlen(text)) != 0) {
		tap_ok(t, false, "%s: %s", what, h.err.msg);
		return;
	}
	hand_facts(&h, &o);
	for (size_t i = 0; i < h.facts.roots.n; i++) {
		/* The second one is another user's. */
		if (i == 1)
			h.facts.roots.v[i].object.uid = 4321;
	}
	plan_ids_user(&h.profile->sandbox, &h.rq.ids);
	if (tap_ok(t, hand_compile(&h) == 0, "%s: a plan", what)) {
		for (size_t i = 0; h.plan->envp[i] != NULL; i++) {
			if (strncmp(h.plan->envp[i], "GIT_", 4) == 0 ||
			    strncmp(h.plan->envp[i], "USER=", 5) == 0)
				strbuf_printf(&sb, "%s ", h.plan->envp[i]);
		}
		tap_str(t, strbuf_str(&sb), want, what);
	}
	hand_free(&h);
	arena_free(&a);
}

#define GIT_TRUST "GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0=* "

/* run and check look for PATH before the rights of the agent are known. */
static void test_search_early(struct tap *t)
{
	static const char text[] = "sandbox: {roots: [/w, /x], env: {set: {A: b}}}\n"
				   "permissions: {agents: {me: allow}}\n";
	char path[] = "PATH=/usr/bin:/nowhere";
	char *const caller[] = { path, NULL };
	struct hand_options o = { .environ = caller };
	struct hand h;

	if (hand_load(&h, text, strlen(text)) != 0) {
		tap_ok(t, false, "search: %s", h.err.msg);
		return;
	}
	hand_facts(&h, &o);
	h.rq.access = NULL;
	tap_str(t, plan_env_search(&h.arena, &h.rq), "/usr/bin", "PATH without any access");
	hand_free(&h);
}

static void test_foreign(struct tap *t)
{
	test_git(t, "own roots", "roots: [/w]", HAND_USER, "USER=agent ");
	test_git(t, "own roots of root's", "roots: [/w]", HAND_ROOT, "USER=agent ");
	test_git(t, "roots of the id that root takes", "roots: [/w]", HAND_ROOT_OTHERS,
		 "USER=agent ");
	test_git(t, "inside unshare -r", "roots: [/w]", HAND_NESTED, "USER=agent ");
	test_git(t, "a foreign root", "roots: [/w, /x]", HAND_USER, "USER=agent " GIT_TRUST);
	test_git(t, "a foreign root beside root's", "roots: [/w, /x]", HAND_ROOT,
		 "USER=agent " GIT_TRUST);
	test_git(t, "no roots", "roots: []", HAND_USER, "USER=agent ");
	test_git(t, "the profile's own word wins",
		 "roots: [/w, /x], env: {set: {GIT_CONFIG_VALUE_0: /x}}", HAND_USER,
		 "USER=agent GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory "
		 "GIT_CONFIG_VALUE_0=/x ");
	/* The names are those of the ids that the request chose. */
	test_git(t, "user: root", "roots: [/w], user: root", HAND_USER, "USER=root ");
}

int main(void)
{
	struct tap t = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct arena a = { 0 };

		tap_str(&t, env_of(&a, rows[i].env, rows[i].caller, rows[i].pass), rows[i].want,
			rows[i].what);
		arena_free(&a);
	}
	test_foreign(&t);
	test_search_early(&t);
	test_secret_names(&t);
	return tap_done(&t);
}
