/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <pwd.h>
#include <stdio.h>

#include "base/strbuf.h"
#include "tap.h"
#include "world.h"

static const char *guards_of(struct world *w, const char *roots)
{
	world_roots(w, roots);
	world_facts(w);
	return world_guards_text(w);
}

/* A repository in main/, with everything that git on the host acts on. */
static void repository(struct world *w, const char *dir)
{
	world_file(w, arena_printf(&w->arena, "%s/HEAD", dir), 0600);
	world_file(w, arena_printf(&w->arena, "%s/objects/x", dir), 0600);
	world_text_file(w, arena_printf(&w->arena, "%s/config", dir), "[core]\n\tbare = false\n");
	world_file(w, arena_printf(&w->arena, "%s/hooks/pre-commit", dir), 0700);
	world_file(w, arena_printf(&w->arena, "%s/info/attributes", dir), 0600);
}

static void linked(struct world *w, const char *main, const char *name, const char *tree)
{
	const char *own = arena_printf(&w->arena, "%s/.git/worktrees/%s", main, name);

	world_file(w, arena_printf(&w->arena, "%s/HEAD", own), 0600);
	world_text_file(w, arena_printf(&w->arena, "%s/commondir", own), "../..\n");
	world_text_file(w, arena_printf(&w->arena, "%s/gitdir", own),
			arena_printf(&w->arena, "@/%s/.git\n", tree));
	world_text_file(w, arena_printf(&w->arena, "%s/.git", tree),
			arena_printf(&w->arena, "gitdir: @/%s\n", own));
}

#define MAIN                                                                                       \
	"freeze ! /w/main/.git/config\n"                                                           \
	"freeze d ! /w/main/.git/hooks\n"                                                          \
	"freeze d ! /w/main/.git/info\n"

static void test_worktree(struct tap *t)
{
	struct world w;

	world_open(&w);
	repository(&w, "w/main/.git");
	linked(&w, "w/main", "x", "w/tree");
	world_file(&w, "w/tree/.env", 0600);
	tap_str(t, guards_of(&w, "{path: '@/w', at: /w}"),
		MAIN "freeze ! /w/main/.git/worktrees/x/commondir\n"
		     "hide ! /w/tree/.env\n"
		     "freeze ! /w/tree/.git\n",
		"a linked work tree and its repository in one root");
	world_close(&w);

	world_open(&w);
	repository(&w, "main/.git");
	linked(&w, "main", "x", "tree");
	tap_str(t, guards_of(&w, "{path: '@/tree', at: /tree}"), "freeze ! /tree/.git\n",
		"the repository outside: the pointer alone");
	tap_str(t, guards_of(&w, "{path: '@/tree', at: /tree}, {path: '@/main', at: /m}"),
		"freeze ! /m/.git/config\n"
		"freeze d ! /m/.git/hooks\n"
		"freeze d ! /m/.git/info\n"
		"freeze ! /m/.git/worktrees/x/commondir\n"
		"freeze ! /tree/.git\n",
		"in a root of its own, under another name");
	world_close(&w);

	world_open(&w);
	repository(&w, "w/deep/main/.git");
	linked(&w, "w/deep/main", "x", "w/tree");
	tap_str(t, guards_of(&w, "{path: '@/w', at: /w}"),
		"freeze ! /w/deep/main/.git/config\n"
		"freeze d ! /w/deep/main/.git/hooks\n"
		"freeze d ! /w/deep/main/.git/info\n"
		"freeze ! /w/deep/main/.git/worktrees/x/commondir\n"
		"freeze ! /w/tree/.git\n",
		"found from the linked one, however deep it lies");
	world_close(&w);
}

/* A mount for each would double the time of a start. */
static void test_many(struct tap *t)
{
	struct world w;

	world_open(&w);
	repository(&w, "w/main/.git");
	linked(&w, "w/main", "x", "w/tree");
	for (int i = 1; i < 32; i++)
		linked(&w, "w/main", arena_printf(&w.arena, "y%d", i),
		       arena_printf(&w.arena, "gone/%d", i));
	tap_ok(t,
	       strstr(guards_of(&w, "{path: '@/w', at: /w}"),
		      "freeze ! /w/main/.git/worktrees/y31/commondir\n") != NULL,
	       "32 linked work trees: each its own guard");
	linked(&w, "w/main", "y32", "gone/32");
	tap_str(t, guards_of(&w, "{path: '@/w', at: /w}"),
		MAIN "freeze d ! /w/main/.git/worktrees\n"
		     "keep d ! /w/main/.git/worktrees/x\n"
		     "freeze ! /w/main/.git/worktrees/x/commondir\n"
		     "freeze ! /w/tree/.git\n",
		"33: all in one, but for that one which is worked in");
	world_close(&w);
}

static void test_submodule(struct tap *t)
{
	struct world w;

	world_open(&w);
	repository(&w, "w/.git");
	repository(&w, "w/.git/modules/lib/a");
	world_text_file(&w, "w/.git/modules/lib/a/config",
			"[core]\nworktree = ../../../../vendor/a\n");
	world_text_file(&w, "w/vendor/a/.git", "gitdir: ../../.git/modules/lib/a\n");
	world_file(&w, "w/vendor/a/.npmrc", 0600);
	world_file(&w, "w/vendor/.npmrc", 0600);
	tap_str(t, guards_of(&w, "{path: '@/w', at: /w}"),
		"freeze ! /w/.git/config\n"
		"freeze d ! /w/.git/hooks\n"
		"freeze d ! /w/.git/info\n"
		"freeze ! /w/.git/modules/lib/a/config\n"
		"freeze d ! /w/.git/modules/lib/a/hooks\n"
		"freeze d ! /w/.git/modules/lib/a/info\n"
		"freeze ! /w/vendor/a/.git\n"
		"freeze ! /w/vendor/a/.npmrc\n",
		"a submodule with a slash in its name, and its work tree");
	/* git finds the submodules by it all the same. */
	world_text_file(&w, "w/.git/commondir", "../.git\n");
	tap_str(t, guards_of(&w, "{path: '@/w', at: /w}"),
		"freeze ! /w/.git/commondir\n"
		"freeze ! /w/.git/config\n"
		"freeze d ! /w/.git/hooks\n"
		"freeze d ! /w/.git/info\n"
		"freeze ! /w/.git/modules/lib/a/config\n"
		"freeze d ! /w/.git/modules/lib/a/hooks\n"
		"freeze d ! /w/.git/modules/lib/a/info\n"
		"freeze ! /w/vendor/a/.git\n"
		"freeze ! /w/vendor/a/.npmrc\n",
		"the same where the common directory is said to be itself");
	world_close(&w);
}

static void test_named(struct tap *t)
{
	struct world w;

	world_open(&w);
	world_text_file(&w, "w/.git/config",
			"[core]\nhooksPath = tools/hooks\n[include]\npath = ../conf/git\n"
			"path = /nowhere/at/all\npath = config\n");
	world_file(&w, "w/tools/hooks/pre-commit", 0700);
	world_text_file(&w, "w/conf/git", "[core]\nhooksPath = @/w/more\n");
	world_mkdir(&w, "w/more");
	tap_str(t, guards_of(&w, "{path: '@/w', at: /w}"),
		"freeze ! /w/.git/config\n"
		"freeze ! /w/conf/git\n"
		"freeze d ! /w/more\n"
		"freeze d ! /w/tools/hooks\n",
		"what core.hooksPath and include.path name, and an include names");
	world_parse(&w,
		    "sandbox: {roots: [{path: '@/w', at: /w}], protect: {except: [.git/hooks]}}\n"
		    "permissions: {agents: {me: allow}}\n");
	world_facts(&w);
	tap_str(t, world_guards_text(&w), "freeze ! /w/.git/config\nfreeze ! /w/conf/git\n",
		"an exception for hooks is one for those too");
	world_close(&w);

	world_open(&w);
	world_text_file(&w, "w/.git/config", "[core]\nhooksPath = link/h\n");
	world_mkdir(&w, "w/real/h");
	world_link(&w, "real", "w/link");
	tap_str(t, guards_of(&w, "{path: '@/w', at: /w}"),
		"freeze ! /w/.git/config\n"
		"hide l ! /w/link\n"
		"freeze d ! /w/real\n",
		"through a link: it cannot be turned to elsewhere");
	world_close(&w);

	world_open(&w);
	world_text_file(&w, "w/.git/config", "[core]\nhooksPath = .\n");
	tap_ok(t, strstr(guards_of(&w, "{path: '@/w', at: /w}"), "names a whole root") != NULL,
	       "a root that would have to be frozen");
	tap_str(t, guards_of(&w, "{path: '@/w', at: /w, mode: ro}"), "",
		"one that is read-only is");
	world_close(&w);
}

/* Back by "..": the directory that is left must stay the one that it is. */
static void test_back(struct tap *t)
{
	static const struct {
		const char *value, *want, *name;
	} rows[] = {
		{ "x/../hk", "freeze ! /w/.git/config\nfreeze d ! /w/hk\nfreeze d ! /w/x\n",
		  "through a directory" },
		{ "@/w/x/y/../../hk",
		  "freeze ! /w/.git/config\nfreeze d ! /w/hk\nfreeze d ! /w/x\n",
		  "through two, by an absolute path" },
		{ "x/y/../hk", "freeze ! /w/.git/config\nfreeze d ! /w/x/hk\nfreeze d ! /w/x/y\n",
		  "to one beside it" },
		{ "l/../hk",
		  "freeze ! /w/.git/config\nhide l ! /w/l\nfreeze d ! /w/x/hk\nfreeze d ! /w/x/y\n",
		  "through a link" },
		{ ".git/../hk", "freeze ! /w/.git/config\nfreeze d ! /w/hk\n",
		  "through the directory of git itself" },
		{ "../w/hk", "freeze ! /w/.git/config\nfreeze d ! /w/hk\n",
		  "above the file that says so: pinned as it is" },
		{ "~/hk", "freeze ! /w/.git/config\nfreeze d ! /w/home/hk\n", "at home" },
		{ "~agentbox-nobody/hk", "freeze ! /w/.git/config\n", "of nobody" },
		{ "~root/hk", "freeze ! /w/.git/config\n", "of somebody whose home is no root" },
	};
	const struct passwd *pw;
	struct err err = { 0 };
	const char *home;
	struct world w;

	world_open(&w);
	world_mkdir(&w, "w/x/y");
	world_mkdir(&w, "w/x/hk");
	world_mkdir(&w, "w/hk");
	world_mkdir(&w, "w/home/hk");
	world_link(&w, "x/y", "w/l");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		world_text_file(&w, "w/.git/config",
				arena_printf(&w.arena, "[core]\nhooksPath = %s\n", rows[i].value));
		world_roots(&w, "{path: '@/w', at: /w}");
		world_facts(&w);
		w.facts.caller.home = world_path(&w, "w/home");
		tap_str(t, world_guards_text(&w), rows[i].want, rows[i].name);
	}
	world_close(&w);

	world_open(&w);
	world_text_file(&w, "w/.git", "gitdir: ~root/g\n");
	world_file(&w, "w/~root/g/HEAD", 0600);
	world_file(&w, "w/~root/g/config", 0600);
	tap_str(t, guards_of(&w, "{path: '@/w', at: /w}"),
		"freeze ! /w/.git\nfreeze ! /w/~root/g/config\n",
		"a pointer is no configuration: a tilde is a letter");
	pw = getpwnam("root");
	tap_int(t, facts_home(&w.arena, "root", &home, &err), 0, "a home by name");
	if (pw != NULL)
		tap_str(t, home, pw->pw_dir, "is that of passwd");
	world_close(&w);
}

/* Pointers that an earlier run may have written. */
static void test_forged(struct tap *t)
{
	static const struct {
		const char *text, *want, *name;
	} rows[] = {
		{ "gitdir: /etc\n", "freeze ! /w/.git\n", "out of the roots" },
		{ "gitdir: ../../../../../../../../etc\n", "freeze ! /w/.git\n", "the same by .." },
		{ "gitdir: @/other/.git\n", "freeze ! /w/.git\n", "to a repository elsewhere" },
		{ "gitdir: escape/.git\n", "freeze ! /w/.git\nhide l ! /w/escape\n",
		  "the same by a link" },
		{ "gitdir: loop\n", "freeze ! /w/.git\nhide l ! /w/loop\n", "a loop" },
		{ "gitdir: sub\n", "freeze ! /w/.git\n", "to what is no git directory" },
		{ "gitdir: fifo\n", "freeze ! /w/.git\nhide ! /w/fifo\n", "to a FIFO" },
		{ "gitdir: .\n", "freeze ! /w/.git\n", "to the work tree" },
		{ "gitdir: .git\n", "freeze ! /w/.git\n", "to itself" },
		{ "gitdir: \n", "freeze ! /w/.git\n", "to nothing" },
		{ "x\n", "freeze ! /w/.git\n", "not a pointer" },
		{ "gitdir: own\n",
		  "freeze ! /w/.git\nfreeze ! /w/own/commondir\nfreeze ! /w/own/config\n",
		  "to a directory whose common one lies elsewhere" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct world w;

		world_open(&w);
		repository(&w, "other/.git");
		world_text_file(&w, "w/.git", rows[i].text);
		world_link(&w, "../other", "w/escape");
		world_link(&w, "loop", "w/loop");
		world_file(&w, "w/sub/config", 0600);
		world_file(&w, "w/own/HEAD", 0600);
		world_file(&w, "w/own/config", 0600);
		world_text_file(&w, "w/own/commondir", "/etc\n");
		if (strstr(rows[i].want, "fifo") != NULL)
			world_fifo(&w, "w/fifo");
		tap_str(t, guards_of(&w, "{path: '@/w', at: /w}"), rows[i].want, rows[i].name);
		world_close(&w);
	}
}

static void test_bounds(struct tap *t)
{
	struct world w;

	world_open(&w);
	world_text_file(&w, "w/.git/config", "[include]\npath = config\npath = ../more\n");
	world_text_file(&w, "w/more", "[include]\npath = more\npath = .git/config\n");
	tap_ok(t, strstr(guards_of(&w, "{path: '@/w', at: /w}"), "too many includes") != NULL,
	       "includes of each other end");
	world_close(&w);
}

int main(void)
{
	struct tap t = { 0 };

	test_worktree(&t);
	test_many(&t);
	test_submodule(&t);
	test_named(&t);
	test_back(&t);
	test_forged(&t);
	test_bounds(&t);
	return tap_done(&t);
}
