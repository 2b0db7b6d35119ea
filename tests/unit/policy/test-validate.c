/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tap.h"
#include "world.h"

struct row {
	const char *what;
	const char *roots;
	const char *rules;
	const char *want; /* in the message; NULL: accepted */
	unsigned line;
};

#define RUN      "{operations: [execute], commands: ['*'], mode: allow}"
#define RW(path) "{operations: [read, write], paths: [" path "], mode: allow}"

/* Rules start at line 3, one a line. */
static const struct row rows[] = {
	{ "the root and all below it", "/w", RW("/w/**"), NULL, 0 },
	{ "everything", "/w", RW("/**"), NULL, 0 },
	{ "outside every root", "/w", RW("/x/**"), NULL, 0 },
	{ "a neighbour with the same prefix", "/w", RW("/w2/**"), NULL, 0 },
	{ "an allow of a part of a root", "/w", RW("/w/sub/**"), "make it a root of its own", 3 },
	{ "of one file in a root", "/w", RW("/w/f"), "finer than the root '/w'", 3 },
	{ "the same with a root of its own", "/w, /w/sub", RW("/w/sub/**"), NULL, 0 },
	{ "in any order of roots", "/w/sub, /w", RW("/w/sub/**"), NULL, 0 },
	{ "a root of its own that is a file", "/w, /w/f", RW("/w/f"), NULL, 0 },
	{ "a part of the inner root", "/w, /w/sub", RW("/w/sub/x/**"),
	  "finer than the root '/w/sub'", 3 },
	{ "a root further in is not that part", "/w, /w/sub/x", RW("/w/sub"),
	  "finer than the root '/w'", 3 },
	{ "a subtree that holds a root further in", "/w, /w/sub/x", RW("/w/sub/**"), NULL, 0 },
	{ "a deny of a part of a root", "/w",
	  RW("/x/**") ",\n{operations: [read], paths: [/w/sub/**], mode: deny}", NULL, 0 },
	{ "with a root of its own too: masked in the outer one", "/w, /w/sub",
	  "{operations: [read], paths: [/w/sub/**], mode: deny},\n" RW("/w/**"), NULL, 0 },
	{ "an interrupt as well", "/w, /w/sub",
	  "{operations: [write], paths: [/w/sub/**], mode: interrupt},\n" RW("/w/**"), NULL, 0 },
	{ "an exception from a deny", "/w",
	  RW("/w/sub/x") ",\n{operations: [read, write], paths: [/w/sub/**], mode: deny},\n" RW(
		  "/w/**"),
	  NULL, 0 },
	{ "an allow of writing a part", "/w",
	  "{operations: [write], paths: [/w/out/**], mode: allow},\n"
	  "{operations: [read], paths: [/w/**], mode: allow}",
	  "make it a root of its own", 3 },
	{ "a deny of a whole root", "/w, /x",
	  "{operations: [read], paths: [/w/**], mode: deny},\n" RW("/**"), NULL, 0 },
	{ "a deny outside every root", "/w",
	  "{operations: [read], paths: [/secrets/**], mode: deny},\n" RW("/w/**"), NULL, 0 },
	{ "write without read and commands", "/w",
	  "{operations: [write], paths: [/w/**], mode: allow},\n" RUN, "not read it", 3 },
	{ "write without read, no commands", "/w",
	  "{operations: [write], paths: [/w/**], mode: allow}", NULL, 0 },
	{ "read and write and commands", "/w", RW("/w/**") ",\n" RUN, NULL, 0 },
	{ "read denied, then both allowed", "/w",
	  "{operations: [read], paths: [/w/**], mode: deny},\n" RW("/w/**") ",\n" RUN,
	  "not read it", 4 },
	{ "read that waits for a person", "/w",
	  "{operations: [read], paths: [/w/**], mode: interrupt},\n" RW("/w/**") ",\n" RUN,
	  "not read it", 4 },
	{ "no rule", "/w", "", NULL, 0 },
	{ "a glob that covers the root", "/w/a", RW("/w/*/**"), NULL, 0 },
	{ "one that covers it in two ways", "/w/a, /w/b",
	  "{operations: [read], paths: ['/w/{a,b}/**'], mode: allow}", NULL, 0 },
	{ "one that covers it among others", "/srv/x/data", RW("'/**/data/**'"), NULL, 0 },
	{ "an allow of some names in a root", "/w", RW("/w/*.c"), "finer than the root '/w'", 3 },
	{ "an allow of names far below", "/w", RW("/w/**/*.c"), "'/w/**/*.c' is finer", 3 },
	{ "a deny of names far below", "/w",
	  "{operations: [read], paths: ['/**/.env'], mode: deny},\n" RW("/w/**"), NULL, 0 },
	{ "a deny glob elsewhere", "/w",
	  "{operations: [read], paths: ['/x/**/.env', '/w2*/?'], mode: deny},\n" RW("/w/**"), NULL,
	  0 },
	{ "a deny glob that names the root", "/w/a, /w/b",
	  "{operations: [read], paths: ['/w/a*'], mode: deny},\n" RW("/**"), NULL, 0 },
	{ "a deny in the scratch", "/w",
	  "{operations: [read], paths: [/tmp/x/**], mode: deny},\n" RW("/w/**") ",\n" RUN,
	  "/tmp is the sandbox's own scratch", 3 },
	{ "of writing in it", "/w",
	  "{operations: [write], paths: [/home/agent], mode: deny},\n" RW("/w/**") ",\n" RUN,
	  "'/home/agent' cannot be enforced", 3 },
	{ "an interrupt there", "/w",
	  "{operations: [write], paths: ['/var/tmp/*'], mode: interrupt},\n" RW("/w/**") ",\n" RUN,
	  "'/var/tmp/*' cannot be enforced", 3 },
	{ "a deny in /proc", "/w",
	  "{operations: [read], paths: [/proc/cpuinfo], mode: deny},\n" RW("/w/**") ",\n" RUN,
	  "/proc is the kernel's view", 3 },
	{ "of all devices", "/w",
	  "{operations: [read], paths: [/dev/**], mode: deny},\n" RW("/w/**") ",\n" RUN,
	  "leave it out of the rule", 3 },
	{ "of a name of descriptors", "/w",
	  "{operations: [read], paths: [/dev/stdin], mode: deny},\n" RW("/w/**") ",\n" RUN,
	  "/dev/stdin is a name", 3 },
	{ "of one device", "/w",
	  "{operations: [read], paths: [/dev/zero, '/dev/sd*'], mode: deny},\n" RW(
		  "/w/**") ",\n" RUN,
	  NULL, 0 },
	{ "of a root below the scratch", "/tmp/w",
	  "{operations: [read], paths: [/tmp/w/x], mode: deny},\n" RW(
		  "/tmp/w/**") ",\n" RUN
			       ",\n{operations: [read, write], paths: ['/tmp/**'], mode: deny}",
	  NULL, 0 },
	{ "a deny of all paths, and of directories above the scratch", "/w",
	  RW("/w/**") ",\n" RUN ",\n{operations: [read, write], paths: ['/home/**', '/var/**', "
		      "'/**'], mode: deny}",
	  NULL, 0 },
	{ "one alternative that is finer", "/w",
	  "{operations: [read], paths: ['/{x,w/y}/**'], mode: deny},\n" RW("/w/**"), NULL, 0 },
};

/* What every verb refuses, and then what is refused before anything is mounted. */
static int judge(struct world *w, struct err *err)
{
	if (policy_validate(&w->arena, w->profile, err) != 0)
		return -1;
	return policy_enforceable(w->profile, w->agent, err);
}

static void test_rows(struct tap *t)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct row *r = &rows[i];
		struct err err = { 0 };
		struct world w;
		int got;

		world_open(&w);
		world_parse(&w, arena_printf(&w.arena,
					     "sandbox: {roots: [%s]}\n"
					     "permissions: {agents: {me: {rules: [\n%s]}}}\n",
					     r->roots, r->rules));
		got = judge(&w, &err);
		tap_ok(t,
		       r->want == NULL
			       ? got == 0 && !err.set
			       : got == -1 && err.code == ERR_PROFILE &&
					 strstr(err.msg, r->want) != NULL && err.line == r->line,
		       "%s: %s", r->what, r->want == NULL ? "accepted" : "refused");
		if (got != 0)
			printf("# %s:%u:%u: %s\n", err.file, err.line, err.col, err.msg);
		world_close(&w);
	}
}

static void test_agents(struct tap *t)
{
	struct err err = { 0 };
	struct world w;

	world_open(&w);
	world_parse(&w, "sandbox: {roots: [/w]}\npermissions: {agents: {me: allow,\n"
			"  you: {rules: [" RW("/w/x/**") "]}}}\n");
	tap_int(t, policy_validate(&w.arena, w.profile, &err), 0,
		"what is finer than a root can be judged");
	tap_int(t, policy_enforceable(w.profile, w.agent, &err), 0, "and concerns no other agent");
	tap_int(t, policy_enforceable(w.profile, world_agent(&w, "you"), &err), -1,
		"but its own is refused");
	tap_int(t, err.line, 3, "at its rule");
	err = (struct err){ 0 };
	world_parse(&w, "sandbox: {roots: [/w]}\npermissions: {policy_model: list_acl, agents:\n"
			"  {me: {allowed_actions: [run_command, delete], allowed_roots: [/w]}}}\n");
	tap_int(t, policy_validate(&w.arena, w.profile, &err), -1, "list_acl: write without read");
	tap_ok(t, strstr(err.msg, "agent 'me'") != NULL, "the agent is named");
	world_parse(&w, "sandbox: {roots: [/w]}\npermissions: {policy_model: list_acl, agents:\n"
			"  {me: {allowed_actions: [run_command, delete, download], allowed_roots: "
			"[/w]}}}\n");
	tap_int(t, policy_validate(&w.arena, w.profile, &err), 0,
		"list_acl: write with read (control)");
	world_close(&w);
}

int main(void)
{
	struct tap t = { 0 };

	test_rows(&t);
	test_agents(&t);
	return tap_done(&t);
}
