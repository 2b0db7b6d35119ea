/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tap.h"
#include "world.h"

static void test_twins(struct tap *t)
{
	static const struct {
		const char *what, *roots;
		bool is_refused;
	} rows[] = {
		{ "one directory, writable and not",
		  "{path: '@/w', at: /w, mode: rw}, {path: '@/w', at: /r, mode: ro}", true },
		{ "by a link", "{path: '@/l', at: /r, mode: ro}, {path: '@/w', at: /w, mode: rw}",
		  true },
		{ "twice writable",
		  "{path: '@/w', at: /w, mode: rw}, {path: '@/w', at: /r, mode: rw}", false },
		{ "twice read-only",
		  "{path: '@/w', at: /w, mode: ro}, {path: '@/w', at: /r, mode: ro}", false },
		{ "two directories",
		  "{path: '@/w', at: /w, mode: rw}, {path: '@/x', at: /r, mode: ro}", false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct resolved r;
		struct err err;
		struct world w;
		int rc;

		world_open(&w);
		world_mkdir(&w, "w");
		world_mkdir(&w, "x");
		world_link(&w, "w", "l");
		world_roots(&w, rows[i].roots);
		world_facts(&w);
		rc = world_guards(&w, &r, &err);
		tap_int(t, rc, rows[i].is_refused ? -1 : 0, rows[i].what);
		tap_ok(t,
		       !rows[i].is_refused || (err.code == ERR_PROFILE && err.line == 1 &&
					       strstr(err.msg, "(line 1, column ") != NULL),
		       "with both positions");
		world_close(&w);
	}
}

/* What two roots show is guarded in both. */
static void test_mirror(struct tap *t)
{
	static const struct {
		const char *what, *sandbox, *rules, *want;
	} rows[] = {
		{ "a name at the top of the inner one, and of the outer one",
		  "roots: [{path: '@/w', at: /w}, {path: '@/w/in', at: /in}]", "",
		  "hide ! /in/.env\nhide ! /w/in/.env\n" },
		{ "a root in its own place is seen there alone",
		  "roots: [{path: '@/w', at: /w}, {path: '@/w/in', at: /w/in}]", "",
		  "hide ! /w/in/.env\n" },
		{ "a rule on the outer one's name",
		  "roots: [{path: '@/w', at: /w}, {path: '@/w/in', at: /in}], protect: {except: "
		  "[.env]}",
		  "{operations: [read, write], paths: [/w/in/f], mode: deny},",
		  "hide ! /in/f\nhide ! /w/in/f\n" },
		{ "on a directory that holds the inner one: that is granted by its own name",
		  "roots: [{path: '@/w', at: /w}, {path: '@/w/in', at: /in}], protect: {except: "
		  "[.env]}",
		  "{operations: [read, write], paths: ['/w/in/**'], mode: deny},",
		  "hide d ! /w/in\n" },
		{ "one directory twice",
		  "roots: [{path: '@/w', at: /w}, {path: '@/w', at: /x}], protect: {except: "
		  "[.env]}",
		  "{operations: [read, write], paths: ['/w/in/d/**'], mode: deny},",
		  "hide d ! /w/in/d\nhide d ! /x/in/d\n" },
		{ "what is frozen stays so in the writable one of them",
		  "roots: [{path: '@/w', at: /w, mode: ro}, {path: '@/w/in', at: /in}], protect: "
		  "{except: [.env], freeze: [f]}",
		  "", "freeze ! /in/f\n" },
		{ "and in the base", "roots: [{path: '@/usr/r', at: /r}]", "",
		  "hide ! /r/.env\nhide /usr/r/.env\n" },
		{ "two directories", "roots: [{path: '@/w/in', at: /in}, {path: '@/v', at: /v}]",
		  "", "hide ! /in/.env\n" },
	};
	struct world w;

	world_open(&w);
	world_file(&w, "w/in/.env", 0600);
	world_file(&w, "w/in/f", 0600);
	world_file(&w, "w/in/d/x", 0600);
	world_file(&w, "usr/r/.env", 0600);
	world_mkdir(&w, "v");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		world_parse(&w, arena_printf(&w.arena,
					     "sandbox: {%s}\npermissions: {agents: {me: {rules: [%s"
					     "{operations: [read, write], paths: ['/**'], mode: "
					     "allow}]}}}\n",
					     rows[i].sandbox, rows[i].rules));
		world_facts(&w);
		tap_str(t, world_guards_text(&w), rows[i].want, rows[i].what);
	}
	world_close(&w);
}

/* What is hidden with a directory cannot be shown. */
static void test_root_below(struct tap *t)
{
	struct world w;
	const char *text;

	world_open(&w);
	world_mkdir(&w, "w/private/in");
	world_parse(&w, "sandbox: {roots: [{path: '@/w', at: /w}, {path: '@/w/private/in', at: "
			"/w/private/in}], protect: {hide: [private]}}\n"
			"permissions: {agents: {me: allow}}\n");
	world_facts(&w);
	text = world_guards_text(&w);
	tap_ok(t, strstr(text, "and the root '/w/private/in' with it") != NULL, "%s", text);
	world_parse(&w, "sandbox: {roots: [{path: '@/w', at: /w}, {path: '@/w/private/in', at: "
			"/in}], protect: {hide: [private]}}\n"
			"permissions: {agents: {me: allow}}\n");
	world_facts(&w);
	tap_str(t, world_guards_text(&w), "hide d ! /w/private\n", "elsewhere it can");
	world_close(&w);
}

int main(void)
{
	struct tap t = { 0 };

	test_twins(&t);
	test_mirror(&t);
	test_root_below(&t);
	return tap_done(&t);
}
