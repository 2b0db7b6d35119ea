/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The tests of a profile: each row is what one of them gets. */
#include <string.h>

#include "policy/cases.h"
#include "tap.h"

static const char head[] = "sandbox:\n"
			   "  roots:\n"
			   "    - {path: /srv/w, at: /w, mode: rw}\n"
			   "    - {path: /srv/r, at: /w/ro, mode: ro}\n"
			   "    - {path: /srv/o, at: /o}\n"
			   "  base: {from: host, add: [/srv/tools]}\n";
static const char agents[] =
	"permissions:\n"
	"  agents:\n"
	"    all: allow\n"
	"    some:\n"
	"      rules:\n"
	"        - {operations: [read, write], paths: [\"/o/**\"], mode: interrupt}\n"
	"        - {operations: [read], paths: [\"/w/**\", \"/w/ro/**\"], mode: allow}\n"
	"        - {operations: [execute], commands: [\"git push *\"], mode: deny}\n"
	"        - {operations: [execute], commands: [\"git *\", \"/usr/bin/make test\"], mode: "
	"allow}\n";

static const struct {
	const char *sandbox; /* more lines of the block */
	const char *test;
	const char *verdict, *code;
} rows[] = {
	{ "", "agent: all, action: read_file, resource: /w/x", "allow", "acl_allow" },
	{ "", "agent: all, action: write_file, resource: /w/x", "allow", "acl_allow" },
	{ "", "agent: all, action: write_file, resource: /w/ro/x", "deny", "sandbox_deny" },
	{ "", "agent: all, action: read_file, resource: /w/ro/x", "allow", "acl_allow" },
	{ "", "agent: all, action: write_file, resource: /o/x", "allow", "acl_allow" },
	{ "", "agent: all, action: read_file, resource: /elsewhere", "deny", "sandbox_deny" },
	{ "", "agent: all, action: read_file, resource: /wx", "deny", "sandbox_deny" },
	{ "", "agent: all, action: read_file, resource: /usr/bin/ls", "allow", "acl_allow" },
	{ "", "agent: all, action: write_file, resource: /usr/bin/ls", "deny", "sandbox_deny" },
	{ "", "agent: all, action: read_file, resource: /srv/tools/x", "allow", "acl_allow" },
	{ "", "agent: all, action: read_file, resource: /w/../etc/x", "deny", "invalid_path" },
	{ "", "agent: all, action: read_file, resource: w/x", "deny", "invalid_path" },
	{ "", "agent: all, action: read_file, resource: /w/.env", "deny", "protected" },
	{ "", "agent: all, action: delete, resource: /w/.git/config", "deny", "protected" },
	{ "", "agent: all, action: read_file, resource: /w/.git/config", "allow", "acl_allow" },
	{ "", "agent: some, action: read_file, resource: /w/x", "allow", "acl_allow" },
	{ "", "agent: some, action: write_file, resource: /w/x", "deny", "acl_deny" },
	{ "", "agent: some, action: write_file, resource: /o/x", "interrupt", "interrupt" },
	{ "", "agent: none, action: read_file, resource: /w/x", "deny", "identity" },
	{ "", "action: read_file, resource: /w/x", "deny", "identity" },
	{ "", "agent: some, action: run_command, resource: git status", "allow", "acl_allow" },
	{ "", "agent: some, action: run_command, resource: /usr/bin/git status", "allow",
	  "acl_allow" },
	{ "", "agent: some, action: run_command, resource: /w/git status", "deny", "acl_deny" },
	{ "", "agent: some, action: run_command, resource: git push origin", "deny", "acl_deny" },
	{ "", "agent: some, action: run_command, resource: /w/git push origin", "deny",
	  "acl_deny" },
	{ "", "agent: some, action: run_command, resource: make test", "allow", "acl_allow" },
	{ "", "agent: some, action: run_command, resource: make all", "deny", "acl_deny" },
	{ "", "agent: all, action: run_command, resource: [sh, -c, \"a b\"]", "allow",
	  "acl_allow" },
	{ "", "agent: all, action: run_command, resource: /elsewhere/x", "deny", "sandbox_deny" },
	{ "  commands: [git, \"py*\", /usr/bin/make]\n",
	  "agent: all, action: run_command, resource: python3 x", "allow", "acl_allow" },
	{ "  commands: [git, \"py*\", /usr/bin/make]\n",
	  "agent: all, action: run_command, resource: make", "allow", "acl_allow" },
	{ "  commands: [git, \"py*\", /usr/bin/make]\n",
	  "agent: all, action: run_command, resource: sh", "deny", "sandbox_deny" },
	{ "  commands: []\n", "agent: all, action: run_command, resource: sh", "deny",
	  "sandbox_deny" },
	{ "", "agent: all, action: net_connect, resource: \"example.org:443\"", "deny",
	  "sandbox_deny" },
	{ "  network: host\n", "agent: all, action: net_connect, resource: \"example.org:443\"",
	  "allow", "acl_allow" },
	{ "  network: host\n", "agent: some, action: net_connect, resource: \"example.org:443\"",
	  "deny", "acl_deny" },
	{ "  network: {allow: [\"example.org:443\"]}\n",
	  "agent: all, action: net_connect, resource: \"example.org:443\"", "allow", "acl_allow" },
	{ "  network: {allow: [\"example.org:443\"]}\n",
	  "agent: all, action: net_connect, resource: \"example.org:80\"", "deny", "sandbox_deny" },
	{ "", "agent: all, action: net_connect, resource: \"https://x\"", "deny", "invalid_host" },
	{ "", "agent: all, action: host_run, resource: x", "deny", "acl_deny" },
};

static const char *const words[] = {
	[PROFILE_DENY] = "deny", [PROFILE_INTERRUPT] = "interrupt", [PROFILE_ALLOW] = "allow"
};

static void test_row(struct tap *t, size_t i)
{
	struct profile_source src = { .fd = -1, .cwd = "/", .uid = 1000, .gid = 1000 };
	struct arena a = { 0 };
	struct err err = { 0 };
	struct profile_text in = { .name = "p.yaml", .dir = "/srv" };
	const struct profile *p = NULL;
	struct decision d = { 0 };
	bool ok;

	in.text =
		arena_printf(&a, "%s%s%stests:\n  - {%s, decision: %s, code: %s}\n", head,
			     rows[i].sandbox, agents, rows[i].test, rows[i].verdict, rows[i].code);
	in.len = strlen(in.text);
	if (!tap_ok(t, profile_parse(&a, &src, &in, &p, &err) == 0, "row %zu loads", i)) {
		printf("# %u:%u %s\n", err.line, err.col, err.msg);
		arena_free(&a);
		return;
	}
	cases_decide(&a, p, &p->tests.v[0], &d);
	ok = strcmp(words[d.verdict], rows[i].verdict) == 0 && strcmp(d.code, rows[i].code) == 0;
	tap_ok(t, ok && cases_holds(&p->tests.v[0], &d), "%s%s", rows[i].sandbox, rows[i].test);
	if (!ok)
		printf("# got %s %s\n", words[d.verdict], d.code);
	d.code = "other";
	tap_ok(t, !cases_holds(&p->tests.v[0], &d), "another code is a failure");
	arena_free(&a);
}

int main(void)
{
	struct tap t = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		test_row(&t, i);
	return tap_done(&t);
}
