/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Who asks: chains, parents, instances, labels, roles. Each denial beside the same allowed. */
#include "tap.h"
#include "world.h"

static const char family[] =
	"sandbox: {roots: [/w, /r, /p]}\n"
	"permissions:\n"
	"  context: [env, class]\n"
	"  roles:\n"
	"    reader: {rules: [{operations: [read], paths: [/r/**], mode: allow}]}\n"
	"    secret: {rules: [{operations: [read], paths: [/r/s/**, /q], mode: allow}]}\n"
	"  agents:\n"
	"    alice:\n"
	"      roles: [reader, secret]\n"
	"      rules:\n"
	"        - {operations: [read], paths: [/r/s/**], mode: deny}\n" /* 11 */
	"        - {operations: [write], paths: [/w/ask], mode: interrupt}\n"
	"        - {operations: [read, write], paths: [/w/**], mode: allow}\n"
	"    bob: {allowed_actions: [read_file], allowed_roots: [/r, /w]}\n"
	"    heir: {parent: alice}\n"
	"    child:\n"
	"      parent: alice\n"
	"      rules:\n"
	"        - {operations: [read], paths: [/w/**, /p/**], mode: allow}\n" /* 19 */
	"    grandchild: {parent: child, rules: [{operations: [read, write], paths: [/**], mode: "
	"allow}]}\n"
	"    worker:\n"
	"      rules:\n"
	"        - {operations: [read], paths: ['/p/${instance}/no'], mode: deny}\n" /* 23 */
	"        - {operations: [read], paths: ['/p/${instance}/**', '/p/x-${instance}'], mode: "
	"allow}\n"
	"        - {operations: [read], paths: [/p/all/**], mode: allow}\n"
	"    labels:\n"
	"      rules:\n"
	"        - {operations: [read], paths: [/w/**], mode: deny, when: {class: secret}}\n"
	"        - {operations: [read], paths: [/r/**], mode: interrupt, when: {class: secret}}\n"
	"        - {operations: [read], paths: [/w/**, /r/**], mode: allow, when: {env: dev}}\n"
	"        - {operations: [read], paths: [/p/**], mode: allow}\n";

struct row {
	const char *what;
	const char *chain[3];  /* ends with who asks */
	const char *labels[2]; /* key, value */
	enum action action;
	const char *path;
	enum profile_verdict want;
};

#define READ  ACTION_READ_FILE
#define WRITE ACTION_WRITE_FILE
#define NONE                                                                                       \
	{                                                                                          \
		NULL, NULL                                                                         \
	}
#define YES PROFILE_ALLOW
#define NO  PROFILE_DENY
#define ASK PROFILE_INTERRUPT

static const struct row rows[] = {
	{ "a role's rule", { "alice" }, NONE, READ, "/r/x", YES },
	{ "own rules come before roles", { "alice" }, NONE, READ, "/r/s/x", NO },
	{ "the second role", { "alice" }, NONE, READ, "/q", YES },
	{ "a role is no identity", { "reader" }, NONE, READ, "/r/x", NO },
	{ "an agent of lists", { "bob" }, NONE, READ, "/w/x", YES },
	{ "which may not write", { "bob" }, NONE, WRITE, "/w/x", NO },
	/* chains */
	{ "both may", { "bob", "alice" }, NONE, READ, "/w/x", YES },
	{ "only the agent may", { "bob", "alice" }, NONE, WRITE, "/w/x", NO },
	{ "only the principal may", { "alice", "bob" }, NONE, WRITE, "/w/x", NO },
	{ "and alone it may", { "alice" }, NONE, WRITE, "/w/x", YES },
	{ "one of them must ask", { "alice", "grandchild" }, NONE, WRITE, "/w/ask", NO },
	{ "the strictest of ask and allow", { "alice", "alice" }, NONE, WRITE, "/w/ask", ASK },
	{ "three of them", { "bob", "alice", "child" }, NONE, READ, "/w/x", YES },
	{ "the middle one may not", { "alice", "bob", "alice" }, NONE, READ, "/q", NO },
	{ "an unknown principal", { "eve", "alice" }, NONE, READ, "/w/x", NO },
	/* parents */
	{ "inherited", { "heir" }, NONE, WRITE, "/w/x", YES },
	{ "with what it asks", { "heir" }, NONE, WRITE, "/w/ask", ASK },
	{ "with its denials", { "heir" }, NONE, READ, "/r/s/x", NO },
	{ "replaced", { "child" }, NONE, READ, "/w/x", YES },
	{ "and not appended", { "child" }, NONE, READ, "/r/x", NO },
	{ "never more than the parent", { "child" }, NONE, READ, "/p/x", NO },
	{ "nor than the one above that", { "grandchild" }, NONE, WRITE, "/w/x", NO },
	{ "within both", { "grandchild" }, NONE, READ, "/w/x", YES },
	/* instances */
	{ "its own place", { "worker/17" }, NONE, READ, "/p/17/x", YES },
	{ "part of a name", { "worker/17" }, NONE, READ, "/p/x-17", YES },
	{ "another's place", { "worker/17" }, NONE, READ, "/p/18/x", NO },
	{ "whose it is", { "worker/18" }, NONE, READ, "/p/18/x", YES },
	{ "denied in its own", { "worker/17" }, NONE, READ, "/p/17/no", NO },
	{ "without an instance nothing of it", { "worker" }, NONE, READ, "/p/17/x", NO },
	{ "but the rest", { "worker" }, NONE, READ, "/p/all/x", YES },
	{ "and every denial", { "worker" }, NONE, READ, "/p/all/no", NO },
	{ "which others' are not", { "worker/17" }, NONE, READ, "/p/all/no", YES },
	{ "two instances in one chain", { "worker/17", "worker/18" }, NONE, READ, "/p/18/x", NO },
	{ "may what both may", { "worker/17", "worker/18" }, NONE, READ, "/p/all/x", YES },
	{ "an instance of who has no rule for it", { "bob/1" }, NONE, READ, "/w/x", YES },
	{ "no pattern", { "worker/*" }, NONE, READ, "/p/17/x", NO },
	{ "no path", { "worker/1/2" }, NONE, READ, "/p/all/x", NO },
	{ "not up", { "worker/.." }, NONE, READ, "/p/all/x", NO },
	{ "not empty", { "worker/" }, NONE, READ, "/p/all/x", NO },
	{ "of nobody", { "eve/1" }, NONE, READ, "/p/all/x", NO },
	/* labels */
	{ "an allow with its label", { "labels" }, { "env", "dev" }, READ, "/w/x", NO },
	{ "with another", { "labels" }, { "env", "prod" }, READ, "/w/x", NO },
	{ "without", { "labels" }, NONE, READ, "/w/x", NO },
	{ "an absent label satisfies a deny", { "labels" }, { "env", "dev" }, READ, "/w/y", NO },
	{ "and an interrupt", { "labels" }, { "env", "dev" }, READ, "/r/y", ASK },
	{ "a given one may not", { "labels" }, { "class", "public" }, READ, "/w/x", NO },
	{ "rules without labels", { "labels" }, NONE, READ, "/p/x", YES },
};

static enum profile_verdict decide(struct world *w, const struct row *r,
				   const struct profile_label *labels, size_t n_labels)
{
	struct agent_asked asked = { .on_behalf = r->chain,
				     .context = labels,
				     .n_context = n_labels };
	struct request rq = { .action = r->action, .path = r->path };
	const struct policy_agent *agent;
	struct decision d = { 0 };

	while (asked.n_on_behalf + 1 < ARRAY_SIZE(r->chain) &&
	       r->chain[asked.n_on_behalf + 1] != NULL)
		asked.n_on_behalf++;
	asked.id = r->chain[asked.n_on_behalf];
	agent = policy_identify(&w->arena, w->profile, &asked, &d);
	if (agent != NULL)
		policy_decide(w->profile, agent, &rq, &d);
	return d.verdict;
}

static void test_rows(struct tap *t)
{
	struct world w;

	world_open(&w);
	world_parse(&w, family);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct profile_label label = { rows[i].labels[0], rows[i].labels[1] };

		tap_int(t, decide(&w, &rows[i], &label, label.key != NULL), rows[i].want,
			rows[i].what);
	}
	world_close(&w);
}

/* Both labels, in each combination. */
static void test_two_labels(struct tap *t)
{
	static const struct {
		const char *env, *class;
		enum profile_verdict w, r;
	} cases[] = {
		{ "dev", "public", YES, YES }, { "dev", "secret", NO, ASK },
		{ "prod", "public", NO, NO },  { "prod", "secret", NO, ASK },
		{ "", "public", NO, NO },
	};
	struct world w;

	world_open(&w);
	world_parse(&w, family);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct profile_label labels[] = { { "env", cases[i].env },
							{ "class", cases[i].class } };
		const struct row on_w = { .chain = { "labels" }, .action = READ, .path = "/w/x" };
		const struct row on_r = { .chain = { "labels" }, .action = READ, .path = "/r/x" };

		tap_int(t, decide(&w, &on_w, labels, 2), cases[i].w, cases[i].env);
		tap_int(t, decide(&w, &on_r, labels, 2), cases[i].r, cases[i].class);
	}
	world_close(&w);
}

static void test_shape(struct tap *t)
{
	static const char *const behalf[] = { "bob", "worker/3" };
	const struct agent_asked asked = { .id = "child", .on_behalf = behalf, .n_on_behalf = 2 };
	const struct policy_agent *agent;
	const char *reason;
	struct tree_access got;
	struct world w;

	world_open(&w);
	world_parse(&w, family);
	agent = agent_find(&w.arena, w.profile, &asked, &reason);
	tap_int(t, (long long)agent->n_chain, 3, "the chain");
	tap_str(t, agent->chain[0], "bob", "the first principal first");
	tap_str(t, agent->chain[1], "worker/3", "with the instance");
	tap_str(t, agent->chain[2], "child", "and the agent last");
	tap_str(t, agent->id, "child", "which is who asks");
	tap_int(t, (long long)agent->lists.n, 4, "with the parent's rules in the list");
	policy_tree_access(w.profile, world_agent(&w, "child"), "/w", false, &got);
	tap_ok(t, got.read && !got.write, "a child that only reads mounts read-only");
	policy_tree_access(w.profile, world_agent(&w, "heir"), "/w", false, &got);
	tap_ok(t, got.read, "an heir mounts what its parent does");
	world_close(&w);
}

int main(void)
{
	struct tap t = { 0 };

	test_rows(&t);
	test_two_labels(&t);
	test_shape(&t);
	return tap_done(&t);
}
