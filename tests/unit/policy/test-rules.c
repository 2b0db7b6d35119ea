/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "policy/guards.h"
#include "tap.h"
#include "world.h"

struct row {
	const char *name;
	const char *rules; /* lines of a YAML list, but for the last ones, that allow everything */
	const char *want;  /* guards, or a part of the message */
};

#define ALL                                                                                        \
	", {operations: [read, write], paths: [/w/**], mode: allow}"                               \
	", {operations: [execute], commands: ['*'], mode: allow}"

static const struct row rows[] = {
	{ "nothing finer", "{operations: [read], paths: [/x/**], mode: deny}", "" },
	{ "a file", "{operations: [read, write], paths: [/w/a/f], mode: deny}", "hide ! /w/a/f\n" },
	{ "its writing", "{operations: [write], paths: [/w/a/f], mode: deny}",
	  "freeze ! /w/a/f\n" },
	{ "its writing, until a person says so",
	  "{operations: [write], paths: [/w/a/f], mode: interrupt}", "freeze ! /w/a/f\n" },
	{ "its reading alone", "{operations: [read], paths: [/w/a/f], mode: deny}",
	  "hide ! /w/a/f\n" },
	{ "a directory and all in it", "{operations: [read], paths: [/w/a/**], mode: deny}",
	  "hide d ! /w/a\n" },
	{ "a directory by its own name alone: all in it too",
	  "{operations: [read], paths: [/w/a], mode: deny}", "hide d ! /w/a\n" },
	{ "an earlier allow wins",
	  "{operations: [read, write], paths: [/w/a/f], mode: allow},"
	  "{operations: [read, write], paths: [/w/a/*], mode: deny, absent: report}",
	  "hide d ! /w/a/b\nhide ! /w/a/g.key\n" },
	{ "one that is never reached",
	  "{operations: [read, write], paths: [/w/**], mode: allow},"
	  "{operations: [read, write], paths: [/w/nowhere], mode: deny}",
	  "" },
	{ "a pattern", "{operations: [read], paths: ['/**/*.key'], mode: deny, absent: report}",
	  "hide ! /w/a/g.key\nhide d ! /w/d.key\nhide ! /w/top.key\n" },
	{ "a pattern in one directory",
	  "{operations: [read], paths: ['/w/*.key'], mode: deny, absent: report}",
	  "hide d ! /w/d.key\nhide ! /w/top.key\n" },
	{ "what may come later", "{operations: [write], paths: ['/w/*.key'], mode: deny}",
	  "may match names that a program makes later" },
	{ "what is not there", "{operations: [write], paths: [/w/a/new], mode: deny}",
	  "names nothing that exists in a writable root" },
	{ "nor the directory above it", "{operations: [write], paths: [/w/no/new], mode: deny}",
	  "names nothing that exists in a writable root" },
	{ "told instead", "{operations: [write], paths: [/w/a/new], mode: deny, absent: report}",
	  "" },
	{ "through a link", "{operations: [write], paths: [/w/l/f], mode: deny}",
	  "is reached through a link" },
	{ "a link to a file", "{operations: [read, write], paths: [/w/lf], mode: deny}",
	  "hide ! /w/a/f\nhide l ! /w/lf < /w/a/f\n" },
	{ "strict: a directory", "{operations: [read], paths: [/w/a/**], mode: deny, strict: true}",
	  "hide d ! /w/a\n" },
	{ "strict: a file", "{operations: [read], paths: [/w/a/f], mode: deny, strict: true}",
	  "is 'strict'" },
	{ "an exception in a frozen directory",
	  "{operations: [write], paths: [/w/a/b/**], mode: allow},"
	  "{operations: [write], paths: [/w/a/**], mode: deny}",
	  "freeze d ! /w/a\nkeep d ! /w/a/b\n" },
	{ "no exception from protect", "{operations: [write], paths: [/w/.idea/x/**], mode: allow}",
	  "freeze d ! /w/.idea\n" },
	{ "an exception in a hidden directory",
	  "{operations: [read], paths: [/w/a/b/**], mode: allow},"
	  "{operations: [read], paths: [/w/a/**], mode: deny}",
	  "which another rule hides as a whole" },
	{ "in the base", "{operations: [read], paths: [/usr/bin/tool], mode: deny}",
	  "hide /usr/bin/tool\n" },
	{ "in the base, by a pattern", "{operations: [read], paths: ['/usr/**/to*'], mode: deny}",
	  "hide /usr/bin/tool\n" },
	{ "in the base, through its links",
	  "{operations: [read], paths: [/usr/bin/**, /bin/tool], mode: deny}",
	  "hide d /usr/bin\n" },
	{ "in the base, by a link of it, whatever its real name is allowed",
	  "{operations: [read], paths: [/bin/tool], mode: deny},"
	  "{operations: [read], paths: [/usr/**], mode: allow}",
	  "hide /usr/bin/tool\n" },
	{ "the same by a pattern behind the link",
	  "{operations: [read], paths: ['/bin/to*'], mode: deny},"
	  "{operations: [read], paths: [/usr/**], mode: allow}",
	  "hide /usr/bin/tool\n" },
	{ "by a link in the base", "{operations: [read], paths: [/usr/bin/alias], mode: deny}",
	  "hide /usr/bin/tool\n" },
	{ "by a pattern that the link matches, and not what it leads to",
	  "{operations: [read], paths: ['/usr/**/ali*'], mode: deny}", "hide /usr/bin/tool\n" },
	{ "a link to a directory that a pattern matches",
	  "{operations: [read], paths: ['/usr/bin/her*'], mode: deny}", "" },
	{ "by a pattern from /",
	  "{operations: [read], paths: ['/*/bin/tool'], mode: deny, absent: report}",
	  "hide /usr/bin/tool\n" },
	{ "by a pattern from / that a link of the base matches",
	  "{operations: [read], paths: ['/b*/tool'], mode: deny}", "hide /usr/bin/tool\n" },
	{ "by a pattern from / of any depth: in base and roots",
	  "{operations: [read], paths: ['/**/{to*l,top.key}'], mode: deny, absent: report}",
	  "hide /usr/bin/tool\nhide ! /w/top.key\n" },
	{ "an earlier allow in the base wins",
	  "{operations: [read], paths: [/usr/bin/tool], mode: allow},"
	  "{operations: [read], paths: ['/usr/bin/t*'], mode: deny}",
	  "" },
	{ "a rule of all paths hides nothing of the base",
	  "{operations: [read, write], paths: [/w/**], mode: allow},"
	  "{operations: [read], paths: ['/**', '/*', '/**/*'], mode: deny}",
	  "" },
	{ "writing in the base: it is read-only",
	  "{operations: [write], paths: [/usr/bin/tool], mode: deny}", "" },
};

static void make(struct world *w)
{
	world_file(w, "w/a/f", 0600);
	world_file(w, "w/a/g.key", 0600);
	world_file(w, "w/a/b/c", 0600);
	world_file(w, "w/d.key/x.key", 0600);
	world_file(w, "w/top.key", 0600);
	world_file(w, "w/.idea/x/y", 0600);
	world_link(w, "a", "w/l");
	world_link(w, "a/f", "w/lf");
	world_file(w, "usr/bin/tool", 0700);
	world_link(w, "tool", "usr/bin/alias");
	world_link(w, ".", "usr/bin/here");
}

static void rules(struct world *w, const char *root, const char *text)
{
	world_parse(w, arena_printf(&w->arena,
				    "sandbox: {roots: [%s], protect: {except: [.idea]}}\n"
				    "permissions: {agents: {me: {rules: [%s]}}}\n",
				    root, text));
	world_facts(w);
}

static void test_rows(struct tap *t)
{
	struct world w;

	world_open(&w);
	make(&w);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const char *got;

		if (strstr(rows[i].want, ".idea") != NULL)
			world_parse(&w, arena_printf(&w.arena,
						     "sandbox: {roots: [{path: '@/w', at: /w}]}\n"
						     "permissions: {agents: {me: {rules: [%s]}}}\n",
						     arena_printf(&w.arena, "%s%s", rows[i].rules,
								  ALL))),
				world_facts(&w);
		else
			rules(&w, "{path: '@/w', at: /w}",
			      arena_printf(&w.arena, "%s%s", rows[i].rules, ALL));
		got = world_guards_text(&w);
		if (strncmp(got, "error ", 6) == 0 && rows[i].want[0] != '\0')
			tap_ok(t, strstr(got, rows[i].want) != NULL, "%s: %s", rows[i].name, got);
		else
			tap_str(t, got, rows[i].want, rows[i].name);
	}
	rules(&w, "{path: '@/w', at: /w, mode: ro}",
	      "{operations: [read], paths: ['/w/**/*.key', /w/new], mode: deny},"
	      "{operations: [write], paths: [/w/a/f], mode: deny}" ALL);
	tap_str(t, world_guards_text(&w), "hide /w/a/g.key\nhide d /w/d.key\nhide /w/top.key\n",
		"a read-only root: nothing can come, nothing is written");
	rules(&w, "{path: '@/w', at: /w}, {path: '@/usr', at: /w/a/b}",
	      "{operations: [read], paths: [/w/a/**], mode: deny},"
	      "{operations: [read, write], paths: [/w/a/b/**], mode: allow}" ALL);
	tap_ok(t, strstr(world_guards_text(&w), "error") == NULL,
	       "a root that is not granted is not hidden by the way");
	world_close(&w);
}

static void link_to(struct world *w, const char *from, const char *to)
{
	if (link(world_path(w, from), world_path(w, to)) != 0)
		abort();
}

static void test_links(struct tap *t)
{
	static const char rule[] = "{operations: [read, write], paths: [/w/a/f], mode: deny}" ALL
				   ", {operations: [read, write], paths: [/v/**], mode: allow}";
	struct world w;

	world_open(&w);
	make(&w);
	world_mkdir(&w, "w/deep/er");
	world_mkdir(&w, "v");
	world_mkdir(&w, "out");
	link_to(&w, "w/a/f", "w/deep/er/alias");
	link_to(&w, "w/a/f", "v/alias");
	link_to(&w, "w/a/f", "out/alias");
	rules(&w, "{path: '@/w', at: /w}, {path: '@/v', at: /v, mode: ro}", rule);
	tap_str(t, world_guards_text(&w), "hide /v/alias\nhide ! /w/a/f\nhide ! /w/deep/er/alias\n",
		"the other names of a hidden file, in every root");
	(void)mkdir(world_path(&w, "w/closed"), 0);
	if (geteuid() != 0)
		tap_ok(t, strstr(world_guards_text(&w), "a directory cannot be listed") != NULL,
		       "where one of them may lie that cannot be found");
	(void)rmdir(world_path(&w, "w/closed"));
	world_file(&w, "w/.env", 0600);
	link_to(&w, "w/.env", "w/copy");
	world_roots(&w, "{path: '@/w', at: /w}");
	world_facts(&w);
	tap_str(t, world_guards_text(&w), "hide ! /w/.env\nfreeze d ! /w/.idea\nhide ! /w/copy\n",
		"a trap's too");
	world_close(&w);
}

/* Of files in a directory that is guarded as a whole. */
static void test_links_below(struct tap *t)
{
	struct world w;

	world_open(&w);
	world_file(&w, "w/a/d/f", 0600);
	world_file(&w, "w/a/alone", 0600);
	world_file(&w, "w/.idea/x/y", 0600);
	world_file(&w, "w/.idea/kept/z", 0600);
	world_mkdir(&w, "v");
	link_to(&w, "w/a/d/f", "w/alias");
	link_to(&w, "w/a/d/f", "w/a/twin");
	link_to(&w, "w/a/d/f", "v/alias");
	link_to(&w, "w/.idea/x/y", "w/conf");
	link_to(&w, "w/.idea/x/y", "w/.idea/conf");
	link_to(&w, "w/.idea/kept/z", "w/free");
	world_parse(&w, "sandbox: {roots: [{path: '@/w', at: /w}, {path: '@/v', at: /v}]}\n"
			"permissions: {agents: {me: {rules: ["
			"{operations: [read], paths: [/w/a/**], mode: deny},"
			"{operations: [read, write], paths: [/v/**], mode: allow}" ALL "]}}}\n");
	world_facts(&w);
	tap_str(t, world_guards_text(&w),
		"hide ! /v/alias\n"
		"freeze d ! /w/.idea\n"
		"hide d ! /w/a\n"
		"hide ! /w/alias\n"
		"freeze ! /w/conf\n"
		"freeze ! /w/free\n",
		"the other names of files below a hidden and below a frozen directory");
	rules(&w, "{path: '@/w', at: /w}",
	      "{operations: [read], paths: [/w/none/**], mode: deny, absent: report}" ALL);
	tap_str(t, world_guards_text(&w), "", "without such a rule they are files like any other");
	rules(&w, "{path: '@/w', at: /w}",
	      "{operations: [write], paths: [/w/.idea/kept/**], mode: allow},"
	      "{operations: [write], paths: [/w/.idea/**], mode: deny}" ALL);
	tap_str(t, world_guards_text(&w),
		"freeze d ! /w/.idea\nkeep d ! /w/.idea/kept\nfreeze ! /w/conf\n",
		"what an exception leaves writable has no such names");
	world_mkdir(&w, "w/a/shut");
	if (chmod(world_path(&w, "w/a/shut"), 0) != 0)
		abort();
	rules(&w, "{path: '@/w', at: /w}",
	      "{operations: [read], paths: [/w/a/**], mode: deny}" ALL);
	if (geteuid() != 0)
		tap_ok(t,
		       strstr(world_guards_text(&w), "cannot be listed, so that other names") !=
			       NULL,
		       "a directory in it that the caller closed");
	(void)rmdir(world_path(&w, "w/a/shut"));
	tap_str(t, world_guards_text(&w), "hide d ! /w/a\nhide ! /w/alias\n", "and without it");
	world_file(&w, "usr/bin/tool", 0700);
	link_to(&w, "usr/bin/tool", "usr/bin/copy");
	rules(&w, "{path: '@/w', at: /w}",
	      "{operations: [read], paths: [/usr/bin/tool], mode: deny}" ALL);
	tap_str(t, world_guards_text(&w), "hide /usr/bin/copy\nhide /usr/bin/tool\n",
		"of a file in the base");
	world_close(&w);
}

/* What is mounted by itself, by facts of the test's own. */
static void test_single(struct tap *t)
{
	static const struct {
		const char *what, *rules, *want;
	} single_rows[] = {
		{ "a lent device", "{operations: [read], paths: [/dev/kvm], mode: deny}",
		  "hide /dev/kvm\n" },
		{ "by a pattern", "{operations: [read], paths: ['/dev/k*'], mode: deny}",
		  "hide /dev/kvm\n" },
		{ "writing to it alone", "{operations: [write], paths: [/dev/kvm], mode: deny}",
		  "is a device, and no mount keeps it from being written" },
		{ "a lent socket", "{operations: [read], paths: [/run/x/s], mode: deny}",
		  "hide /run/x/s\n" },
		{ "writing to it is connecting",
		  "{operations: [write], paths: [/run/x/s], mode: deny}", "hide /run/x/s\n" },
		{ "a file of our own in /etc",
		  "{operations: [read], paths: [/etc/hosts], mode: deny}", "hide /etc/hosts\n" },
		{ "others", "{operations: [read], paths: [/dev/x, /run/y, /etc/y], mode: deny}",
		  "" },
		{ "all paths", "{operations: [write], paths: ['/*'], mode: deny}", "" },
	};
	struct resolved_program program = { .path = "/usr/bin/tool" };
	struct resolved r = { 0 };
	struct err err = { 0 };
	struct world w;
	int e;

	world_open(&w);
	for (size_t i = 0; i < ARRAY_SIZE(single_rows); i++) {
		const char *got;

		rules(&w, "",
		      arena_printf(&w.arena,
				   "%s%s, {operations: [read, write], paths: "
				   "['/**'], mode: allow}",
				   single_rows[i].rules, ALL));
		if (i == 0) {
			*array_push(&w.arena, &w.facts.lent_devices) =
				(struct facts_grant){ .at = "/dev/kvm", .object = { .fd = -1 } };
			*array_push(&w.arena, &w.facts.lent_sockets) =
				(struct facts_grant){ .at = "/run/x/s", .object = { .fd = -1 } };
			*array_push(&w.arena, &w.facts.etc) = (struct facts_etc){ .name = "hosts" };
			w.facts.etc_made = true;
		}
		got = world_guards_text(&w);
		if (strncmp(got, "error ", 6) == 0 && single_rows[i].want[0] != '\0')
			tap_ok(t, strstr(got, single_rows[i].want) != NULL, "%s: %s",
			       single_rows[i].what, got);
		else
			tap_str(t, got, single_rows[i].want, single_rows[i].what);
	}
	world_file(&w, "usr/bin/tool", 0700);
	rules(&w, "", "{operations: [read], paths: ['/usr/bin/**'], mode: deny}" ALL);
	tap_int(t, world_guards(&w, &r, &err), 0, "a hidden directory");
	tap_int(t, guards_programs(&r, &err), 0, "without a command in it");
	*array_push(&w.arena, &r.programs) = program;
	e = guards_programs(&r, &err);
	tap_ok(t, e == -1 && err.code == ERR_PROFILE && err.line > 0, "with one: %s", err.msg);
	world_close(&w);
}

int main(void)
{
	struct tap t = { 0 };

	test_rows(&t);
	test_links(&t);
	test_links_below(&t);
	test_single(&t);
	return tap_done(&t);
}
