/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "policy/decide.h"

#include "tap.h"
#include "world.h"

static const char three[] =
	"sandbox:\n"
	"  roots:\n"
	"    - {path: /w}\n"
	"    - {path: /w/in}\n"
	"    - {path: /w/.idea}\n"
	"    - {path: /ro, mode: ro}\n"
	"    - {path: /rw, mode: rw}\n"
	"    - {path: /f.txt}\n"
	"  network: host\n"
	"  protect: {hide: [secret], freeze: [lock], except: [.env.mine]}\n"
	"permissions:\n"
	"  agents:\n"
	"    a:\n"
	"      rules:\n"
	"        - {operations: [write], paths: [/w/**], mode: interrupt}\n" /* 15 */
	"        - {operations: [read], paths: [/q/**], mode: deny}\n"
	"        - {operations: [read, write], paths: [/w/**, /q/**, /rw/**],"
	" mode: allow}\n" /* 17 */
	"        - {operations: [read, write], paths: [/w/**], mode: deny}\n"
	"        - {operations: [read], paths: [/ro/**, /f.txt, /dir], mode: allow}\n"
	"        - {operations: [execute], commands: [git push, rm *], mode: deny}\n"
	"        - {operations: [execute], commands: [git *], mode: allow}\n"
	"        - {operations: [execute], commands: [make], mode: interrupt}\n"
	"        - {operations: [connect], hosts: [\"*\"], mode: allow}\n"
	"    b: {rules: []}\n"
	"    c: allow\n";

static const struct policy_agent *identify(struct world *w, const char *id, struct decision *d)
{
	const struct agent_asked asked = { .id = id };

	return policy_identify(&w->arena, w->profile, &asked, d);
}

static void test_identify(struct tap *t)
{
	struct world w;
	struct decision d = { 0 };

	world_open(&w);
	world_parse(&w, three);
	tap_ok(t, identify(&w, NULL, &d) == NULL, "none of several is implied");
	tap_str(t, d.code, "identity", "the code says so");
	tap_str(t, d.layer, "identity", "and the layer");
	tap_int(t, d.verdict, PROFILE_DENY, "it is a denial");
	tap_ok(t, strcmp(identify(&w, "b", &d)->id, "b") == 0, "one that is named");
	tap_ok(t, identify(&w, "B", &d) == NULL, "not in another case");
	tap_ok(t, identify(&w, "", &d) == NULL, "not the empty name");
	tap_ok(t, identify(&w, "ab", &d) == NULL, "not a longer one");
	tap_ok(t, identify(&w, "zzz-unknown", &d) == NULL, "not an unknown one");
	tap_ok(t, strstr(d.reason, "zzz") == NULL, "the reason names nobody");
	world_parse(&w, "sandbox: {}\npermissions: {agents: {only: allow}}\n");
	tap_ok(t, strcmp(identify(&w, NULL, &d)->id, "only") == 0, "the only one is implied");
	tap_ok(t, identify(&w, "other", &d) == NULL, "but not for another name");
	world_parse(&w, "sandbox: {}\npermissions: {agents: {}}\n");
	tap_ok(t, identify(&w, NULL, &d) == NULL, "none of none");
	world_close(&w);
}

struct path_row {
	const char *agent;
	enum action action;
	const char *path;
	enum profile_verdict want;
	const char *code;
	unsigned line; /* 0: no rule */
};

static const struct path_row path_rows[] = {
	{ "a", ACTION_READ_FILE, "/w/x", PROFILE_ALLOW, "acl_allow", 17 },
	{ "a", ACTION_READ_FILE, "/w", PROFILE_ALLOW, "acl_allow", 17 },
	{ "a", ACTION_READ_FILE, "/w2/x", PROFILE_DENY, "acl_deny", 0 },
	{ "a", ACTION_READ_FILE, "/", PROFILE_DENY, "acl_deny", 0 },
	{ "a", ACTION_WRITE_FILE, "/w/x", PROFILE_INTERRUPT, "interrupt", 15 },
	{ "a", ACTION_WRITE_FILE, "/rw/x", PROFILE_ALLOW, "acl_allow", 17 },
	{ "a", ACTION_READ_FILE, "/q/x", PROFILE_DENY, "acl_deny", 16 },
	{ "a", ACTION_WRITE_FILE, "/q/x", PROFILE_ALLOW, "acl_allow", 17 },
	{ "a", ACTION_READ_FILE, "/ro/x", PROFILE_ALLOW, "acl_allow", 19 },
	{ "a", ACTION_WRITE_FILE, "/ro/x", PROFILE_DENY, "acl_deny", 0 },
	{ "a", ACTION_READ_FILE, "/f.txt", PROFILE_ALLOW, "acl_allow", 19 },
	{ "a", ACTION_READ_FILE, "/f.txt2", PROFILE_DENY, "acl_deny", 0 },
	{ "a", ACTION_READ_FILE, "/dir", PROFILE_ALLOW, "acl_allow", 19 },
	{ "a", ACTION_READ_FILE, "/dir/x", PROFILE_DENY, "acl_deny", 0 },
	{ "a", ACTION_READ_FILE, "/W/x", PROFILE_DENY, "acl_deny", 0 },
	{ "b", ACTION_READ_FILE, "/w/x", PROFILE_DENY, "acl_deny", 0 },
	{ "c", ACTION_READ_FILE, "/any", PROFILE_ALLOW, "acl_allow", 25 },
	{ "c", ACTION_DELETE, "/any", PROFILE_ALLOW, "acl_allow", 25 },
	/* the floor: no rule lifts it */
	{ "c", ACTION_READ_FILE, "/w/.env", PROFILE_DENY, "protected", 0 },
	{ "c", ACTION_LS, "/w/.env", PROFILE_DENY, "protected", 0 },
	{ "c", ACTION_WRITE_FILE, "/w/.env", PROFILE_DENY, "protected", 0 },
	{ "c", ACTION_READ_FILE, "/w/.env.local", PROFILE_DENY, "protected", 0 },
	{ "c", ACTION_READ_FILE, "/w/.env.example", PROFILE_ALLOW, "acl_allow", 25 },
	{ "c", ACTION_READ_FILE, "/w/.env.mine", PROFILE_ALLOW, "acl_allow", 25 },
	{ "c", ACTION_READ_FILE, "/w/secret/deep/x", PROFILE_DENY, "protected", 0 },
	{ "c", ACTION_READ_FILE, "/w/secrets", PROFILE_ALLOW, "acl_allow", 25 },
	{ "c", ACTION_READ_FILE, "/w/sub/.env", PROFILE_ALLOW, "acl_allow", 25 },
	{ "c", ACTION_READ_FILE, "/w/in/.env", PROFILE_DENY, "protected", 0 },
	{ "c", ACTION_READ_FILE, "/w/lock", PROFILE_ALLOW, "acl_allow", 25 },
	{ "c", ACTION_WRITE_FILE, "/w/lock", PROFILE_DENY, "protected", 0 },
	{ "c", ACTION_EDIT_FILE, "/w/lock/x", PROFILE_DENY, "protected", 0 },
	{ "c", ACTION_WRITE_FILE, "/w/.vscode/x", PROFILE_DENY, "protected", 0 },
	{ "c", ACTION_WRITE_FILE, "/w/.idea/x", PROFILE_ALLOW, "acl_allow", 25 },
	{ "c", ACTION_READ_FILE, "/w/.git/config", PROFILE_ALLOW, "acl_allow", 25 },
	{ "c", ACTION_WRITE_FILE, "/w/.git/config", PROFILE_DENY, "protected", 0 },
	{ "c", ACTION_WRITE_FILE, "/w/.git/hooks/x", PROFILE_DENY, "protected", 0 },
	{ "c", ACTION_WRITE_FILE, "/w/.git/index", PROFILE_ALLOW, "acl_allow", 25 },
	{ "c", ACTION_READ_FILE, "/elsewhere/.env", PROFILE_ALLOW, "acl_allow", 25 },
	{ "a", ACTION_READ_FILE, "/w/.env", PROFILE_DENY, "protected", 0 },
};

static void test_paths(struct tap *t)
{
	struct world w;

	world_open(&w);
	world_parse(&w, three);
	for (size_t i = 0; i < ARRAY_SIZE(path_rows); i++) {
		const struct path_row *r = &path_rows[i];
		const struct policy_agent *agent = world_agent(&w, r->agent);
		struct request rq = { .action = r->action, .path = r->path };
		struct decision d;

		policy_decide(w.profile, agent, &rq, &d);
		tap_ok(t,
		       d.verdict == r->want && strcmp(d.code, r->code) == 0 &&
			       d.has_rule == (r->line > 0) &&
			       (!d.has_rule || d.rule.line == r->line),
		       "%s %s %s: %s", r->agent, action_name(r->action), r->path, r->code);
		if (strcmp(d.code, r->code) != 0 || d.rule.line != r->line)
			printf("# got %s, line %u, want line %u\n", d.code, d.rule.line, r->line);
		if (d.verdict == PROFILE_DENY && !d.has_rule && strcmp(d.code, "acl_deny") == 0)
			tap_str(t, d.reason, "no matching rule", "and says why");
	}
	world_close(&w);
}

static void decide_one(struct world *w, const char *agent, const struct request *rq,
		       struct decision *d)
{
	policy_decide(w->profile, world_agent(w, agent), rq, d);
}

static void test_floor(struct tap *t)
{
	struct world w;
	struct decision d;
	struct request rq = { .action = ACTION_READ_FILE, .path = "/any/x" };

	world_open(&w);
	world_parse(&w, three);
	decide_one(&w, "c", &rq, &d);
	tap_int(t, d.verdict, PROFILE_ALLOW, "an ordinary file (control)");
	rq.control_plane = true;
	decide_one(&w, "c", &rq, &d);
	tap_ok(t, d.verdict == PROFILE_DENY && strcmp(d.code, "protected") == 0,
	       "a file of the control plane is protected");
	rq.path_invalid = true;
	decide_one(&w, "c", &rq, &d);
	tap_ok(t, d.verdict == PROFILE_DENY && strcmp(d.code, "invalid_path") == 0,
	       "text that is not canonical comes first");
	rq = (struct request){ .action = ACTION_READ_FILE,
			       .path = "/w/../x",
			       .path_invalid = true };
	decide_one(&w, "c", &rq, &d);
	tap_ok(t, d.verdict == PROFILE_DENY && strcmp(d.code, "invalid_path") == 0,
	       "and is denied whatever the rules allow");
	world_close(&w);
}

/* Every action is denied to who has no rule, and allowed to who has all; but host tools, which
 * `allow` never grants. */
static void test_actions(struct tap *t)
{
	char name[] = "any";
	char *argv[] = { name, NULL };
	const struct request_command command = { .argv = argv };
	struct world w;

	world_open(&w);
	world_parse(&w, three);
	for (int i = 0; i < ACTION_MAX; i++) {
		struct request rq = { .action = (enum action)i,
				      .path = "/any",
				      .command = &command };
		bool host = i == ACTION_HOST_RUN;
		struct decision d;

		rq.kind = i == ACTION_RUN_COMMAND   ? REQUEST_COMMAND
			  : i == ACTION_NET_CONNECT ? REQUEST_HOST
						    : REQUEST_PATH;
		decide_one(&w, "b", &rq, &d);
		tap_ok(t, d.verdict == PROFILE_DENY && strcmp(d.code, "acl_deny") == 0,
		       "%s without a rule is denied", action_name(rq.action));
		decide_one(&w, "c", &rq, &d);
		tap_ok(t, d.verdict == (host ? PROFILE_DENY : PROFILE_ALLOW), "%s with `allow` %s",
		       action_name(rq.action), host ? "is denied" : "is allowed");
	}
	world_close(&w);
}

static void test_commands(struct tap *t)
{
	static const struct {
		const char *a0, *a1;
		uint64_t ino; /* git is file 1, make 2, rm 3 */
		enum profile_verdict want;
	} rows[] = {
		{ "git", "status", 1, PROFILE_ALLOW },  { "git", "push", 1, PROFILE_DENY },
		{ "git", NULL, 1, PROFILE_ALLOW },      { "mygit", "push", 1, PROFILE_DENY },
		{ "git", "status", 9, PROFILE_DENY },   { "mygit", "status", 1, PROFILE_DENY },
		{ "rm", "x", 9, PROFILE_DENY },         { "git", "x", 3, PROFILE_DENY },
		{ "make", NULL, 2, PROFILE_INTERRUPT }, { "make", NULL, 9, PROFILE_INTERRUPT },
		{ "make", "x", 2, PROFILE_DENY },       { "sh", "-c", 8, PROFILE_DENY },
	};
	/* In the order of agent a's rules: "git push", "rm *", "git *", "make". */
	static const uint64_t files[] = { 1, 3, 1, 2 };
	struct command_file pattern_files[4];
	struct world w;

	world_open(&w);
	world_parse(&w, three);
	for (size_t i = 0; i < 4; i++)
		pattern_files[i] =
			(struct command_file){ .found = true, .id = { .ino = files[i] } };
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char a0[16];
		char a1[16];
		char *argv[3] = { a0, rows[i].a1 == NULL ? NULL : a1, NULL };
		struct request_command c = { .argv = argv,
					     .file = { .found = true,
						       .id = { .ino = rows[i].ino } },
					     .pattern_files = pattern_files,
					     .n_pattern_files = 4 };
		struct request rq = { .action = ACTION_RUN_COMMAND,
				      .kind = REQUEST_COMMAND,
				      .command = &c };
		struct decision d;

		(void)snprintf(a0, sizeof(a0), "%s", rows[i].a0);
		(void)snprintf(a1, sizeof(a1), "%s", rows[i].a1 == NULL ? "" : rows[i].a1);
		decide_one(&w, "a", &rq, &d);
		tap_ok(t, d.verdict == rows[i].want, "%s %s, file %d: %s", a0, a1, (int)rows[i].ino,
		       d.code);
		c.n_pattern_files = 0;
		decide_one(&w, "a", &rq, &d);
		tap_ok(t, d.verdict != PROFILE_ALLOW,
		       "without the rules' files nothing is allowed");
	}
	world_close(&w);
}

static void access_is(struct tap *t, struct world *w, const char *agent, size_t root, bool read,
		      bool write)
{
	const struct profile_root *r = &w->profile->sandbox.roots.v[root];
	struct tree_access got;

	policy_root_access(w->profile, world_agent(w, agent), r, strcmp(r->at, "/f.txt") == 0,
			   &got);
	tap_ok(t, got.read == read && got.write == write, "%s at %s: %s%s", agent, r->at,
	       read ? "r" : "-", write ? "w" : "-");
}

static void test_access(struct tap *t)
{
	struct tree_access got;
	struct world w;

	world_open(&w);
	world_parse(&w, three);
	/* roots: /w /w/in /w/.idea /ro /rw /f.txt. An interrupt binds programs as a deny. */
	access_is(t, &w, "a", 0, true, false);
	access_is(t, &w, "a", 1, true, false);
	access_is(t, &w, "a", 3, true, false);
	access_is(t, &w, "a", 4, true, true);
	access_is(t, &w, "a", 5, true, false);
	access_is(t, &w, "b", 0, false, false);
	access_is(t, &w, "c", 0, true, true);
	access_is(t, &w, "c", 3, true, false);
	access_is(t, &w, "c", 4, true, true);
	policy_tree_access(w.profile, world_agent(&w, "a"), "/q", false, &got);
	tap_ok(t, !got.read && got.write && got.write_rule.line == 17,
	       "what granted writing is named");
	policy_tree_access(w.profile, world_agent(&w, "a"), "/dir", false, &got);
	tap_ok(t, !got.read, "the literal path of a directory is no tree");
	policy_tree_access(w.profile, world_agent(&w, "a"), "/dir", true, &got);
	tap_ok(t, got.read, "of a file it is");
	world_parse(&w, "sandbox: {roots: [{path: /q}, {path: /w}]}\n"
			"permissions: {agents: {me: {rules: [\n"
			"  {operations: [write], paths: [/q/**], mode: allow},\n"
			"  {operations: [read], paths: [/w], mode: deny},\n"
			"  {operations: [read], paths: [/w/**], mode: allow}]}}}\n");
	access_is(t, &w, "me", 0, false, false);
	access_is(t, &w, "me", 1, false, false);
	world_parse(&w, "sandbox: {roots: [{path: /q}, {path: /w}, {path: /x}]}\n"
			"permissions: {policy_model: list_acl, agents: {\n"
			"  dl: {allowed_actions: [download], allowed_roots: [/q]},\n"
			"  ls: {allowed_actions: [ls, glob, grep], allowed_roots: [/q]},\n"
			"  rm: {allowed_actions: [download, delete], allowed_roots: [/q]}}}\n");
	access_is(t, &w, "dl", 0, true, false);
	access_is(t, &w, "dl", 1, false, false);
	access_is(t, &w, "ls", 0, false, false);
	access_is(t, &w, "rm", 0, true, true);
	access_is(t, &w, "rm", 2, false, false);
	world_close(&w);
}

static void test_traps(struct tap *t)
{
	static const struct {
		const char *path;
		enum policy_trap want;
	} rows[] = {
		{ "/w", POLICY_TRAP_NONE },
		{ "/w/.env", POLICY_TRAP_HIDE },
		{ "/w/.netrc", POLICY_TRAP_HIDE },
		{ "/w/.env.example", POLICY_TRAP_NONE },
		{ "/w/.envrc", POLICY_TRAP_FREEZE },
		{ "/w/in/.envrc", POLICY_TRAP_FREEZE },
		{ "/w/in", POLICY_TRAP_NONE },
		{ "/w/.idea", POLICY_TRAP_NONE },
		{ "/w/.idea/.env", POLICY_TRAP_HIDE },
		{ "/w/.git", POLICY_TRAP_NONE },
		{ "/w/.git/config", POLICY_TRAP_FREEZE },
		{ "/w/.git/configs", POLICY_TRAP_NONE },
		{ "/w/a/.git/config", POLICY_TRAP_NONE },
		{ "/x/.env", POLICY_TRAP_NONE },
		{ "/w/secret", POLICY_TRAP_HIDE },
		{ "/w/lock", POLICY_TRAP_FREEZE },
		{ "/w2/.env", POLICY_TRAP_NONE },
	};
	struct world w;

	world_open(&w);
	world_parse(&w, three);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		tap_ok(t, policy_trap(&w.profile->sandbox, rows[i].path) == rows[i].want,
		       "trap at %s: %d", rows[i].path, (int)rows[i].want);
	world_close(&w);
}

int main(void)
{
	struct tap t = { 0 };

	test_identify(&t);
	test_paths(&t);
	test_floor(&t);
	test_actions(&t);
	test_commands(&t);
	test_access(&t);
	test_traps(&t);
	return tap_done(&t);
}
