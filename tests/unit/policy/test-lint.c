/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Each finding beside a profile that differs in what it is about and has none. */
#include <string.h>

#include "policy/lint.h"
#include "tap.h"

#define P(sandbox, permissions) "sandbox: {" sandbox "}\npermissions: {agents: {" permissions "}}\n"
#define RULES(rules)            P("roots: [/w, /o]", "a: {rules: [\n" rules "]}")
#define HOSTS(list)             "a: {rules: [{operations: [connect], hosts: [" list "], mode: allow}]}"
#define HOST_ALL(id)            id ": {rules: [{operations: [connect], hosts: [\"*\"], mode: allow}]}"
#define LAST                    "{operations: [read], paths: [\"/w/**\", \"/o/**\"], mode: allow}"

static const struct {
	const char *text;
	const char *name; /* NULL: nothing is found */
	unsigned line;
	const char *want;
} rows[] = {
	{ P("roots: [/w]", "a: allow"), NULL, 0, NULL },
	{ P("commands: [git, sh]", "a: allow"), "shell", 1, "'sh' lets 'sh' start" },
	{ P("commands: [/bin/bash]", "a: allow"), "shell", 1, "'bash' start" },
	{ P("commands: [\"*\"]", "a: allow"), "shell", 1, "'sh' start" },
	{ P("commands: [git, show]", "a: allow"), NULL, 0, NULL },
	{ P("network: host", "a: {rules: []}"), "connect", 1, "agent 'a'" },
	{ P("network: host", "a: {rules: [{operations: [connect], hosts: [\"*\"], mode: allow}]}"),
	  NULL, 0, NULL },
	{ P("network: host", "a: allow"), NULL, 0, NULL },
	{ P("network: none", "a: {rules: []}"), NULL, 0, NULL },
	{ P("network: {allow: [\"example.org\"]}", "a: {rules: []}"), "connect", 1, "agent 'a'" },
	{ P("network: {allow: [\"example.org\"]}",
	    "a: {rules: [{operations: [connect], hosts: [\"example.org:443\"], mode: allow}]}"),
	  NULL, 0, NULL },
	{ P("network: {allow: [169.254.0.0/16]}", "a: allow"), "hosts", 1, "169.254.169.254" },
	{ P("network: {allow: [128.0.0.0/7]}", "a: allow"), "hosts", 1, "large part of all" },
	{ P("network: {allow: [10.0.0.0/8, \"*.example.org\"]}", "a: allow"), NULL, 0, NULL },
	{ P("network: {private_ranges: [0.0.0.0/0], allow: [a.test]}", "a: allow"), "hosts", 1,
	  "'0.0.0.0/0' holds the host's own loopback" },
	{ P("network: {private_ranges: [\"::/0\"], allow: [a.test]}", "a: allow"), "hosts", 1,
	  "'::/0' holds the host's own loopback" },
	{ P("network: {private_ranges: [10.0.0.0/8, fd00::/8], allow: [a.test]}", "a: allow"), NULL,
	  0, NULL },
	{ P("network: {host_ports: [5432]}",
	    "a: {rules: [{operations: [connect], hosts: [\"127.0.0.1:5432\"], mode: allow}]}"),
	  NULL, 0, NULL },
	{ P("network: {host_ports: [5432]}",
	    "a: {rules: [{operations: [connect], hosts: [\"127.0.0.1:*\"], mode: allow}, "
	    "{operations: [connect], hosts: [\"127.0.0.1:80\"], mode: allow}]}"),
	  "dead", 2, "'127.0.0.1:80' is never connected to" },
	{ P("network: {publish: [\"0.0.0.0:80:80\"]}", "a: {rules: []}"), "publish", 1,
	  "other machines reach" },
	{ P("network: {publish: [80, \"127.1.2.3:81:81\"]}", "a: {rules: []}"), NULL, 0, NULL },
	{ P("roots: [/home/me/bin]", "a: allow"), "path", 1, "holds '/home/me/bin'" },
	{ P("roots: [/home/me]", "a: allow"), "path", 1, "is run outside" },
	{ P("roots: [{path: /home/me/bin, mode: ro}]", "a: allow"), NULL, 0, NULL },
	{ P("roots: [/home/me/binary]", "a: allow"), NULL, 0, NULL },
	{ P("roots: [/opt-agentbox]", "a: allow"), "binary", 1, "holds agentbox itself" },
	{ P("roots: [/w]", "a: {rules: []}"), "unused", 1, "wider than policy" },
	{ P("roots: [{path: /w, at: /v}]",
	    "a: {allowed_actions: [read_file], allowed_roots: [/usr]}"),
	  "unused", 1, "'/v'" },
	{ P("roots: [/w]", "a: {allowed_actions: [read_file], allowed_roots: [/w]}"), NULL, 0,
	  NULL },
	{ P("roots: [/w]", "a: {allowed_actions: [read_file], allowed_roots: [/w, /x]}"), "outside",
	  2, "'/x/**' is outside sandbox roots" },
	{ P("roots: [/w]", "a: {allowed_actions: [read_file], allowed_roots: [/w, /usr/share]}"),
	  NULL, 0, NULL },
	{ P("base: {from: host, add: [/srv/t]}, roots: [/w]",
	    "a: {allowed_actions: [read_file], allowed_roots: [/w, /srv/t/lib]}"),
	  NULL, 0, NULL },
	{ P("roots: [{path: /w, mode: ro}]",
	    "a: {allowed_actions: [read_file, write_file], allowed_roots: [/w]}"),
	  "readonly", 2, "writing it, and the root '/w' (line 1) is read-only" },
	{ P("roots: [{path: /w, mode: ro}, {path: /w/x, mode: rw}]",
	    "a: {allowed_actions: [read_file], allowed_roots: [/w]}, "
	    "b: {allowed_actions: [write_file], allowed_roots: [/w/x]}"),
	  NULL, 0, NULL },
	{ P("roots: [{path: /w, mode: ro}]", "a: allow"), NULL, 0, NULL },
	/* dead: what no host of the sandbox can be */
	{ P("network: none", HOSTS("example.org")), "dead", 2, "the sandbox has no network" },
	{ P("network: none", "a: {rules: [{operations: [connect], hosts: [\"*\"], mode: allow}]}"),
	  NULL, 0, NULL },
	{ P("network: {allow: [example.org, \"*.example.com\"]}",
	    HOSTS("example.org, example.net")),
	  "dead", 2, "'example.net' is never connected to" },
	{ P("network: {allow: [example.org, \"*.example.com\"]}",
	    HOSTS("example.org, a.example.com, \"*.b.example.com\", \"*.com\"")),
	  NULL, 0, NULL },
	{ P("network: {allow: [example.org, \"*.example.com\"]}",
	    HOSTS("example.org, example.com")),
	  "dead", 2, "'example.com'" },
	{ P("network: {allow: [example.org]}", HOSTS("example.org, \"example.org:8080\"")), "dead",
	  2, "'example.org:8080'" },
	{ P("network: {allow: [example.org, 203.0.113.0/24]}", HOSTS("example.org, 203.0.113.9")),
	  NULL, 0, NULL },
	{ P("network: {allow: [example.org, 203.0.113.0/24]}", HOSTS("example.org, 203.0.112.9")),
	  "dead", 2, "'203.0.112.9'" },
	{ P("network: {allow: [example.org]}",
	    "a: {rules: [{operations: [connect], hosts: [example.net], mode: deny}, "
	    "{operations: [connect], hosts: [\"*\"], mode: allow}]}"),
	  NULL, 0, NULL },
	{ P("network: {allow: [\"*:443\"]}", HOSTS("example.org")), "wide", 1,
	  "'*:443' allows every host" },
	/* sensitive: who reads it beside who may connect */
	{ P("roots: [{path: /w, label: sensitive}]\n  , network: host", "a: allow"), "sensitive", 1,
	  "agent 'a' (line 3) may read it and has a network (line 2)" },
	{ P("roots: [/w], network: host", "a: allow"), NULL, 0, NULL },
	{ P("roots: [{path: /w, label: sensitive}], network: none", "a: allow"), NULL, 0, NULL },
	{ P("roots: [{path: /w, label: sensitive}], network: {allow: [example.org]}", "a: allow"),
	  NULL, 0, NULL },
	{ P("roots: [{path: /w, label: sensitive}], network: host",
	    "a: {allowed_actions: [read_file], allowed_roots: [/w]}, " HOST_ALL("b")),
	  "connect", 1, "agent 'a'" },
	{ RULES("{operations: [read], paths: [\"/**/secrets\"], mode: interrupt},\n" LAST),
	  "anchor", 3, "'/**/secrets' asks a person" },
	{ RULES("{operations: [write], paths: [\"/w/**\"], mode: interrupt},\n" LAST), NULL, 0,
	  NULL },
	{ RULES("{operations: [write], paths: [\"/**\"], mode: interrupt},\n" LAST), NULL, 0,
	  NULL },
	{ RULES("{operations: [execute], commands: [\"git push *\"], mode: deny},\n"
		"{operations: [execute], commands: [\"git *\"], mode: allow},\n" LAST),
	  "advisory", 3, "'git push *'" },
	{ RULES("{operations: [execute], commands: [\"git push *\"], mode: deny},\n" LAST), NULL, 0,
	  NULL },
	/* shadowed: the later rule's line, and the earlier's in the text */
	{ RULES(LAST ",\n{operations: [read], paths: [/w/x], mode: deny}"), "shadowed", 4,
	  "this deny rule is never reached: it is shadowed by the allow rule at line 3" },
	{ RULES(LAST ",\n{operations: [read], paths: [\"/w/x/**\"], mode: interrupt}"), "shadowed",
	  4, "this interrupt rule" },
	{ RULES(LAST ",\n{operations: [read, write], paths: [\"/w/x/**\"], mode: interrupt}"), NULL,
	  0, NULL },
	{ RULES("{operations: [read], paths: [/w/x], mode: deny},\n" LAST), NULL, 0, NULL },
	{ RULES(LAST ",\n{operations: [read], paths: [\"/**\"], mode: deny}"), NULL, 0, NULL },
	{ RULES(LAST ",\n{operations: [execute], commands: [\"*\"], mode: allow},\n"
		     "{operations: [execute], commands: [\"rm *\"], mode: allow}"),
	  "shadowed", 5, "the allow rule at line 4" },
	{ RULES(LAST ",\n{operations: [execute], commands: [\"rm *\"], mode: allow},\n"
		     "{operations: [execute], commands: [\"rm -r *\", rm], mode: allow}"),
	  "shadowed", 5, "the allow rule at line 4" },
	{ RULES(LAST ",\n{operations: [execute], commands: [\"rm -r *\"], mode: allow},\n"
		     "{operations: [execute], commands: [\"rm *\"], mode: allow}"),
	  NULL, 0, NULL },
	{ RULES(LAST ",\n{operations: [execute], commands: [\"rm *\"], mode: allow},\n"
		     "{operations: [execute], commands: [\"/bin/rm *\"], mode: allow}"),
	  NULL, 0, NULL },
	/* by several together: no one of them decides all of it */
	{ RULES("{operations: [read], paths: [\"/w/a/**\"], mode: allow},\n"
		"{operations: [read], paths: [\"/w/b/**\"], mode: deny},\n"
		"{operations: [read], paths: [\"/w/a/x\", \"/w/b/y\"], mode: deny},\n" LAST),
	  "shadowed", 5,
	  "this deny rule is never reached: it is shadowed by several rules together, the allow "
	  "rule at line 3, the deny rule at line 4, and the first match wins" },
	{ RULES("{operations: [read], paths: [\"/w/a/**\"], mode: allow},\n"
		"{operations: [read], paths: [\"/w/b/**\"], mode: deny},\n"
		"{operations: [read], paths: [\"/w/a/x\", \"/w/c\"], mode: deny},\n" LAST),
	  NULL, 0, NULL },
	{ RULES("{operations: [read], paths: [\"/w/**\"], mode: allow},\n"
		"{operations: [write], paths: [\"/w/**\"], mode: deny},\n"
		"{operations: [read, write], paths: [\"/w/{x,y}/**\"], mode: interrupt},\n"
		"{operations: [read], paths: [\"/o/**\"], mode: allow}"),
	  "shadowed", 5, "the allow rule at line 3, the deny rule at line 4" },
	{ RULES("{operations: [read], paths: [\"/w/**\"], mode: allow},\n"
		"{operations: [write], paths: [\"/w/x/**\"], mode: deny},\n"
		"{operations: [read, write], paths: [\"/w/{x,y}/**\"], mode: interrupt},\n"
		"{operations: [read], paths: [\"/o/**\"], mode: allow}"),
	  NULL, 0, NULL },
	{ RULES(LAST ",\n{operations: [execute], commands: [\"rm *\"], mode: deny},\n"
		     "{operations: [execute], commands: [\"mv *\"], mode: interrupt},\n"
		     "{operations: [execute], commands: [rm -r, \"mv -f *\"], mode: deny}"),
	  "shadowed", 6, "the deny rule at line 4, the interrupt rule at line 5" },
	{ RULES(LAST
		",\n{operations: [execute], commands: [\"rm *\"], mode: allow},\n"
		"{operations: [execute, read], commands: [rm -r], paths: [/w/q], mode: allow}"),
	  "shadowed", 5, "together, the allow rule at line 3, the allow rule at line 4" },
};

static void test_row(struct tap *t, size_t i)
{
	static const struct lint_host host = { .path_env = "/usr/bin:/home/me/bin:/bin",
					       .self = "/opt-agentbox/bin/agentbox" };
	struct profile_source src = { .fd = -1, .cwd = "/", .uid = 1000, .gid = 1000 };
	struct arena a = { 0 };
	struct err err = { 0 };
	const struct profile_text in = {
		.name = "p.yaml", .dir = "/srv", .text = rows[i].text, .len = strlen(rows[i].text)
	};
	const struct profile *p = NULL;
	lint_findings found = { 0 };
	bool ok;

	if (!tap_ok(t, profile_parse(&a, &src, &in, &p, &err) == 0, "row %zu loads", i)) {
		printf("# %u:%u %s\n", err.line, err.col, err.msg);
		arena_free(&a);
		return;
	}
	lint_profile(&a, p, &host, &found);
	ok = rows[i].name == NULL
		     ? found.n == 0
		     : found.n == 1 && strcmp(found.v[0].name, rows[i].name) == 0 &&
			       found.v[0].pos.line == rows[i].line && found.v[0].pos.col > 0 &&
			       strstr(found.v[0].text, rows[i].want) != NULL;
	if (!tap_ok(t, ok, "row %zu: %s", i, rows[i].name == NULL ? "nothing" : rows[i].want)) {
		for (size_t k = 0; k < found.n; k++)
			printf("# %s %u:%u %s\n", found.v[k].name, found.v[k].pos.line,
			       found.v[k].pos.col, found.v[k].text);
	}
	arena_free(&a);
}

int main(void)
{
	struct tap t = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		test_row(&t, i);
	return tap_done(&t);
}
