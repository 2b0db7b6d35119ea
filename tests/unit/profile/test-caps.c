/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a profile may cost: each bound, at it and one above. */
#include <string.h>

#include "base/strbuf.h"
#include "profile/block.h"
#include "tap.h"

static bool loads(const struct strbuf *text, struct err *err)
{
	struct profile_source src = { .fd = -1, .cwd = "/", .uid = 1000, .gid = 1000 };
	struct arena a = { 0 };
	const struct profile_text in = {
		.name = "p.yaml", .dir = "/srv", .text = strbuf_str(text), .len = text->len
	};
	const struct profile *p = NULL;
	bool ok;

	*err = (struct err){ 0 };
	ok = profile_parse(&a, &src, &in, &p, err) == 0;
	arena_free(&a);
	return ok;
}

static void at_and_above(struct tap *t, const struct strbuf *at, const struct strbuf *above,
			 unsigned line, const char *want)
{
	struct err err;
	bool ok = loads(at, &err);

	tap_ok(t, ok, "at the bound it loads: %u:%u %s", err.line, err.col, err.msg);
	ok = loads(above, &err);
	tap_ok(t, !ok && err.line == line && strstr(err.msg, want) != NULL,
	       "one above is refused at %u:%u: %s", err.line, err.col, err.msg);
}

static void add_list(struct strbuf *sb, const char *prefix, size_t n)
{
	for (size_t i = 0; i < n; i++)
		strbuf_printf(sb, "%s%s%zu", i == 0 ? "" : ", ", prefix, i);
}

static void roots_of(struct strbuf *sb, size_t n)
{
	strbuf_puts(sb, "permissions: {agents: {me: allow}}\nsandbox:\n  roots:\n");
	for (size_t i = 0; i < n; i++)
		strbuf_printf(sb, "    - /w/%zu\n", i);
}

static void test_roots(struct tap *t)
{
	STRBUF_AUTO at = { 0 };
	STRBUF_AUTO above = { 0 };

	roots_of(&at, PROFILE_ROOTS_MAX);
	roots_of(&above, PROFILE_ROOTS_MAX + 1);
	at_and_above(t, &at, &above, 4 + PROFILE_ROOTS_MAX, "more than 256 roots");
}

static void env_of(struct strbuf *sb, size_t n)
{
	strbuf_puts(sb, "permissions: {agents: {me: allow}}\nsandbox:\n  env:\n    pass:\n");
	for (size_t i = 0; i < n; i++)
		strbuf_printf(sb, "      - E%zu\n", i);
}

static void test_list(struct tap *t)
{
	STRBUF_AUTO at = { 0 };
	STRBUF_AUTO above = { 0 };

	env_of(&at, SCHEMA_ITEMS_MAX);
	env_of(&above, SCHEMA_ITEMS_MAX + 1);
	at_and_above(t, &at, &above, 5 + SCHEMA_ITEMS_MAX, "'pass' has more than 4096 entries");
}

/* One agent, four rules, the rest patterns. */
static void rules_of(struct strbuf *sb, size_t patterns, const char *last)
{
	strbuf_puts(sb, "sandbox: {}\npermissions:\n  agents:\n    me:\n      rules:\n");
	for (size_t i = 0; i < 4; i++) {
		size_t n = patterns < 4095 ? patterns : 4095;

		strbuf_puts(sb, "        - {operations: [read], mode: allow, paths: [");
		add_list(sb, "/", n);
		strbuf_printf(sb, "%s]}\n", i == 3 ? last : "");
		patterns -= n;
	}
}

static void test_rules(struct tap *t)
{
	STRBUF_AUTO at = { 0 };
	STRBUF_AUTO above = { 0 };
	STRBUF_AUTO braces = { 0 };
	const char *want = "more than 16384 agents, rules and patterns";
	struct err err;
	bool ok;

	rules_of(&at, BLOCK_RULES_MAX - 5, "");
	rules_of(&above, BLOCK_RULES_MAX - 5, ", /x");
	at_and_above(t, &at, &above, 9, want);
	rules_of(&braces, BLOCK_RULES_MAX - 6, ", \"/{x,y}\"");
	ok = loads(&braces, &err);
	tap_ok(t, !ok && strstr(err.msg, want) != NULL,
	       "a pattern counts for each that it stands for");
}

static void roles_of(struct strbuf *sb, size_t agents, size_t more, const char *roles)
{
	strbuf_puts(
		sb,
		"sandbox: {}\npermissions:\n  roles:\n    r: {rules: [{operations: [read], mode: "
		"allow, paths: [");
	add_list(sb, "/", 510);
	strbuf_puts(sb, "]}]}\n  agents:\n");
	for (size_t i = 0; i < agents; i++)
		strbuf_printf(sb, "    a%zu: {roles: [%s]}\n", i, roles);
	for (size_t i = 0; i < more; i++)
		strbuf_printf(sb, "    z%zu: {rules: []}\n", i);
}

static void test_roles(struct tap *t)
{
	STRBUF_AUTO at = { 0 };
	STRBUF_AUTO above = { 0 };
	STRBUF_AUTO twice = { 0 };
	struct err err;
	bool ok;

	/* Read once for itself, and for each of 31 agents. */
	roles_of(&at, 31, 1, "r");
	roles_of(&above, 31, 2, "r");
	at_and_above(t, &at, &above, 38, "more than 16384 agents");
	roles_of(&twice, 1, 0, "r, r");
	ok = loads(&twice, &err);
	tap_ok(t,
	       !ok && err.line == 6 &&
		       strstr(err.msg, "role 'r' is listed twice (the other at line 6)") != NULL,
	       "a role twice: %u:%u %s", err.line, err.col, err.msg);
}

/* Each file alone is within its own bound. */
static void test_files(struct tap *t)
{
	const char *want[] = { "'context' has more than 4096 entries",
			       "'extends': more than 100000 values in all files of one profile" };
	const size_t n[] = { 5000, 99970 };

	for (size_t i = 0; i < ARRAY_SIZE(n); i++) {
		STRBUF_AUTO sb = { 0 };
		struct err err;
		bool ok;

		strbuf_puts(&sb, "extends:\n  - builtin:default\n"
				 "params: {workspace: {required: false, default: .}}\npermissions: "
				 "{context: [");
		add_list(&sb, "k", n[i]);
		strbuf_puts(&sb, "]}\n");
		ok = loads(&sb, &err);
		tap_ok(t, !ok && strstr(err.msg, want[i]) != NULL,
		       "%zu values and another file: %u:%u %s", n[i], err.line, err.col, err.msg);
		tap_ok(t, err.line == (i == 0 ? 4 : 2), "with its place");
	}
}

int main(void)
{
	struct tap t = { 0 };

	test_roots(&t);
	test_list(&t);
	test_rules(&t);
	test_roles(&t);
	test_files(&t);
	return tap_done(&t);
}
