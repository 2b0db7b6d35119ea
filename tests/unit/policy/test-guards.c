/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "tap.h"
#include "world.h"

static const char *guards_of(struct world *w, const char *roots)
{
	world_roots(w, roots);
	world_facts(w);
	return world_guards_text(w);
}

static void test_kinds(struct tap *t)
{
	struct world w;

	world_open(&w);
	world_file(&w, "w/.env", 0600);
	world_file(&w, "w/.env.local", 0600);
	world_file(&w, "w/.env.example", 0600);
	world_file(&w, "w/plain", 0600);
	world_mkdir(&w, "w/.idea");
	world_file(&w, "w/.npmrc", 0600);
	world_file(&w, "w/sub/.env", 0600);
	tap_str(t, guards_of(&w, "{path: '@/w', at: /w}"),
		"hide ! /w/.env\n"
		"hide ! /w/.env.local\n"
		"freeze d ! /w/.idea\n"
		"freeze ! /w/.npmrc\n",
		"files and directories, sorted; deeper ones and exceptions not");
	world_close(&w);
	world_open(&w);
	world_file(&w, "w/.env", 0600);
	world_file(&w, "w/.npmrc", 0600);
	tap_str(t, guards_of(&w, "{path: '@/w', at: /w, mode: ro}"), "hide /w/.env\n",
		"a read-only root is frozen as it is");
	world_close(&w);
	world_open(&w);
	world_mkdir(&w, "w");
	world_mkdir(&w, "w/.env");
	tap_str(t, guards_of(&w, "{path: '@/w', at: /w}, {path: '@/none', at: /n, optional: true}"),
		"hide d ! /w/.env\n", "a hidden directory; an absent root has no top");
	world_close(&w);
	world_open(&w);
	world_file(&w, ".env", 0600);
	tap_str(t, guards_of(&w, "{path: '@/.env', at: /x/.env}"), "",
		"a root that is a protected name is granted");
	world_close(&w);
}

static void test_links(struct tap *t)
{
	struct world w;

	world_open(&w);
	world_file(&w, "w/real", 0600);
	world_file(&w, "w/conf", 0600);
	world_mkdir(&w, "w/dir");
	world_mkdir(&w, "w/edit");
	world_link(&w, "real", "w/.env");
	world_link(&w, "dir", "w/.env.d");
	world_link(&w, "nowhere", "w/.env.gone");
	world_link(&w, "conf", "w/.npmrc");
	world_link(&w, "edit", "w/.vscode");
	world_link(&w, "nowhere", "w/.husky");
	tap_str(t, guards_of(&w, "{path: '@/w', at: /w}"),
		"hide l ! /w/.env < /w/real\n"
		"hide l ! /w/.env.d\n"
		"hide l ! /w/.env.gone\n"
		"hide l ! /w/.husky\n"
		"freeze l ! /w/.npmrc < /w/conf\n"
		"hide l ! /w/.vscode\n"
		"freeze ! /w/conf\n"
		"hide d ! /w/dir\n"
		"freeze d ! /w/edit\n"
		"hide ! /w/real\n",
		"a link is covered, and what it leads to is guarded by its own name");
	world_close(&w);
	world_open(&w);
	world_file(&w, "w/real", 0600);
	world_link(&w, "real", "w/.npmrc");
	world_link(&w, "real", "w/.env");
	tap_str(t, guards_of(&w, "{path: '@/w', at: /w, mode: ro}"),
		"hide l /w/.env < /w/real\nhide /w/real\n", "in a read-only root links stay");
	world_close(&w);
	world_open(&w);
	world_file(&w, "other/secret", 0600);
	world_file(&w, "usr/conf", 0600);
	world_file(&w, "gone/x", 0600);
	world_link(&w, "/o/secret", "w/.env");
	world_link(&w, "/usr/conf", "w/.npmrc");
	world_link(&w, "@/gone/x", "w/.netrc");
	tap_str(t, guards_of(&w, "{path: '@/w', at: /w}, {path: '@/other', at: /o, mode: ro}"),
		"hide /o/secret\n"
		"hide l ! /w/.env < /o/secret\n"
		"hide l ! /w/.netrc\n"
		"freeze l ! /w/.npmrc < /usr/conf\n",
		"targets in another root, in the base and outside");
	world_close(&w);
}

/* A link planted in a root must not take the root away from the next run. */
static void test_link_to_root(struct tap *t)
{
	struct world w;

	world_open(&w);
	world_mkdir(&w, "w/in");
	world_link(&w, ".", "w/.env");
	world_link(&w, ".", "w/.vscode");
	world_link(&w, "..", "w/in/.env");
	tap_str(t, guards_of(&w, "{path: '@/w', at: /w}, {path: '@/w/in', at: /w/in}"),
		"hide l ! /w/.env\n"
		"hide l ! /w/.vscode\n"
		"hide l ! /w/in/.env\n",
		"a link to the root itself, or above it, is covered and not followed");
	world_close(&w);
}

static void test_git(struct tap *t)
{
	struct world w;

	world_open(&w);
	world_file(&w, "w/.git/config", 0600);
	world_file(&w, "w/.git/hooks/pre-commit", 0700);
	world_file(&w, "w/.git/index", 0600);
	world_file(&w, "w/.git/commondir", 0600);
	tap_str(t, guards_of(&w, "{path: '@/w', at: /w}"),
		"freeze ! /w/.git/commondir\n"
		"freeze ! /w/.git/config\n"
		"freeze d ! /w/.git/hooks\n",
		"a work tree: what programs outside act on");
	world_close(&w);
	world_open(&w);
	world_file(&w, "w/.git", 0600);
	tap_str(t, guards_of(&w, "{path: '@/w', at: /w}"), "freeze ! /w/.git\n",
		"a linked work tree: the file that says where");
	world_close(&w);
	world_open(&w);
	world_mkdir(&w, "w/g");
	world_link(&w, "g", "w/.git");
	tap_str(t, guards_of(&w, "{path: '@/w', at: /w}"), "hide l ! /w/.git\nfreeze d ! /w/g\n",
		"a link to a directory");
	world_close(&w);
	world_open(&w);
	world_file(&w, "w/.git/config", 0600);
	world_mkdir(&w, "w/.git/hooks");
	world_parse(&w,
		    "sandbox: {roots: [{path: '@/w', at: /w}], protect: {except: [.git/hooks]}}\n"
		    "permissions: {agents: {me: allow}}\n");
	world_facts(&w);
	tap_str(t, world_guards_text(&w), "freeze ! /w/.git/config\n",
		"an exception for one of them");
	world_close(&w);
	world_open(&w);
	world_file(&w, "w/.git/config", 0600);
	world_file(&w, "w/.env", 0600);
	world_file(&w, "w/mine", 0600);
	world_mkdir(&w, "w/out");
	world_parse(&w, "sandbox: {roots: [{path: '@/w', at: /w}],"
			" protect: {hide: ['m*'], freeze: [out], except: [.git, .env]}}\n"
			"permissions: {agents: {me: allow}}\n");
	world_facts(&w);
	tap_str(t, world_guards_text(&w), "hide ! /w/mine\nfreeze d ! /w/out\n",
		"exceptions for all of it, and names of the profile's own");
	world_close(&w);
}

static void test_overlap(struct tap *t)
{
	struct world w;

	world_open(&w);
	world_file(&w, "w/.env/x", 0600);
	world_link(&w, ".env/x", "w/.npmrc");
	world_file(&w, "w/.idea/y", 0600);
	world_link(&w, ".idea/y", "w/.netrc");
	world_link(&w, ".idea/y", "w/.yarnrc.yml");
	tap_str(t, guards_of(&w, "{path: '@/w', at: /w}"),
		"hide d ! /w/.env\n"
		"freeze d ! /w/.idea\n"
		"hide ! /w/.idea/y\n"
		"hide l ! /w/.netrc < /w/.idea/y\n"
		"freeze l ! /w/.npmrc < /w/.env/x\n"
		"freeze l ! /w/.yarnrc.yml < /w/.idea/y\n",
		"nothing below what is hidden; hide below a freeze; hide beats freeze");
	world_close(&w);
	world_open(&w);
	world_file(&w, "w/.idea/z", 0600);
	world_file(&w, "w/.idea/.env", 0600);
	world_file(&w, "w/in/.env", 0600);
	world_file(&w, "other/.npmrc", 0600);
	tap_str(t,
		guards_of(&w, "{path: '@/w', at: /w}, {path: '@/w/.idea', at: /w/.idea},"
			      "{path: '@/other', at: /w/in}"),
		"hide ! /w/.idea/.env\nfreeze ! /w/in/.npmrc\n",
		"each nested root has its own top, and shadows what is below it");
	world_close(&w);
}

static void file_add(struct world *w, const char *rel, nlink_t nlink)
{
	struct profile *p = arena_new(&w->arena, struct profile);
	struct stat st;
	struct profile_file *f;

	*p = *w->profile;
	f = array_push(&w->arena, &p->files);
	if (stat(world_path(w, rel), &st) != 0)
		abort();
	*f = (struct profile_file){ .name = rel,
				    .real = world_path(w, rel),
				    .dev = st.st_dev,
				    .ino = st.st_ino,
				    .nlink = nlink,
				    .uid = getuid() };
	w->profile = p;
}

static void test_profile(struct tap *t)
{
	struct world w;

	world_open(&w);
	world_file(&w, "w/conf/p.yaml", 0600);
	world_file(&w, "elsewhere/q.yaml", 0600);
	world_roots(&w, "{path: '@/w', at: /w}, {path: '@/w', at: /again}");
	file_add(&w, "w/conf/p.yaml", 1);
	file_add(&w, "elsewhere/q.yaml", 1);
	world_facts(&w);
	tap_str(t, world_guards_text(&w), "hide ! /again/conf/p.yaml\nhide ! /w/conf/p.yaml\n",
		"a profile in a root is hidden under each of its names; one outside is not");
	world_close(&w);
	world_open(&w);
	world_file(&w, "w/p.yaml", 0600);
	world_roots(&w, "{path: '@/w', at: /w}");
	file_add(&w, "w/p.yaml", 2);
	world_facts(&w);
	tap_ok(t,
	       strstr(world_guards_text(&w), "error") != NULL &&
		       strstr(world_guards_text(&w), "2 names (hard links)") != NULL,
	       "one with two names cannot be hidden");
	world_close(&w);
	world_open(&w);
	world_file(&w, "p.yaml", 0600);
	world_roots(&w, "{path: '@/p.yaml', at: /p.yaml}");
	file_add(&w, "p.yaml", 1);
	world_facts(&w);
	tap_ok(t, strstr(world_guards_text(&w), "is a file of agentbox itself") != NULL,
	       "one that is a root is refused");
	world_close(&w);
	world_open(&w);
	world_file(&w, "w/p.yaml", 0600);
	world_parse(&w, "sandbox: {roots: [{path: '@/w', at: /w}]}\n"
			"permissions: {agents: {me: {rules: []}}}\n");
	file_add(&w, "w/p.yaml", 2);
	world_facts(&w);
	tap_str(t, world_guards_text(&w), "",
		"in a root that is not mounted there is nothing to hide");
	world_close(&w);
}

/* The profile of an ordinary caller, whose other name may lie in the root. */
static void test_profile_links(struct tap *t)
{
	static const struct {
		const char *what;
		nlink_t nlink;
		bool mine, same_device, is_refused;
	} rows[] = {
		{ "one name", 1, true, true, false },
		{ "two names, and a root on that file system", 2, true, true, true },
		{ "two names elsewhere", 2, true, false, false },
		{ "somebody else's", 2, false, true, false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct profile_file *f;
		const char *text;
		struct world w;

		world_open(&w);
		world_mkdir(&w, "w");
		world_file(&w, "else/p.yaml", 0600);
		world_roots(&w, "{path: '@/w', at: /w, mode: ro}");
		file_add(&w, "else/p.yaml", rows[i].nlink);
		world_facts(&w);
		f = &((struct profile *)(uintptr_t)w.profile)->files.v[0];
		f->uid += !rows[i].mine;
		f->dev += !rows[i].same_device;
		text = world_guards_text(&w);
		tap_ok(t, (strstr(text, "2 names (hard links)") != NULL) == rows[i].is_refused,
		       "%s", rows[i].what);
		tap_ok(t, rows[i].is_refused || text[0] == '\0', "%s", text);
		world_close(&w);
	}
}

static void fifos_add(struct world *w, unsigned from, unsigned to)
{
	for (unsigned i = from; i < to; i++) {
		if (mkfifo(world_path(w, arena_printf(&w->arena, "w/d/%u", i)), 0600) != 0)
			abort();
	}
}

static void test_limit(struct tap *t)
{
	struct resolved r;
	struct err err;
	struct world w;

	world_open(&w);
	world_mkdir(&w, "w/d");
	world_roots(&w, "{path: '@/w', at: /w}");
	world_facts(&w);
	fifos_add(&w, 0, 4096);
	tap_int(t, world_guards(&w, &r, &err), 0, "4096 planted FIFOs");
	tap_int(t, (long long)r.guards.n, 4096, "are 4096 masks");
	fifos_add(&w, 4096, 4097);
	tap_int(t, world_guards(&w, &r, &err), -1, "one more is too many");
	tap_ok(t, err.code == ERR_HOST && strstr(err.msg, "4097 entries") != NULL, "%s", err.msg);
	world_close(&w);
	world_open(&w);
	for (unsigned i = 0; i < 4097; i++)
		world_file(&w, arena_printf(&w.arena, "w/.env.%u", i), 0600);
	world_roots(&w, "{path: '@/w', at: /w}");
	world_facts(&w);
	tap_int(t, world_guards(&w, &r, &err), -1, "the same of protected names");
	world_close(&w);
}

/* Neighbours that sort between a directory and what is in it. */
static void test_order(struct tap *t)
{
	struct world w;

	world_open(&w);
	world_file(&w, "w/.env/x", 0600);
	world_mkdir(&w, "w/.env-a");
	world_mkdir(&w, "w/.env\001");
	world_link(&w, ".env/x", "w/.npmrc");
	world_parse(&w, "sandbox: {roots: [{path: '@/w', at: /w}], protect: {hide: ['.env*']}}\n"
			"permissions: {agents: {me: allow}}\n");
	world_facts(&w);
	tap_str(t, world_guards_text(&w),
		"hide d ! /w/.env\n"
		"hide d ! /w/.env\001\n"
		"hide d ! /w/.env-a\n"
		"freeze l ! /w/.npmrc < /w/.env/x\n",
		"what is in a hidden directory is dropped");
	world_close(&w);
}

/* A directory that the caller may not list; root may, so as somebody else. */
static void test_unlistable(struct tap *t)
{
	const char *text;
	struct world w;

	world_open(&w);
	world_mkdir(&w, "w/open");
	world_mkdir(&w, "w/shut/in");
	world_mkdir(&w, "usr/bin");
	if (mkfifo(world_path(&w, "w/shut/fifo"), 0600) != 0 ||
	    chmod(world_path(&w, "w/shut"), 0300) != 0 || chmod(w.dir, 0755) != 0)
		abort();
	world_roots(&w, "{path: '@/w', at: /w}");
	world_facts(&w);
	if (geteuid() == 0 && seteuid(4242) != 0)
		abort();
	tap_str(t, world_guards_text(&w), "hide d ! /w/shut\n",
		"is masked as a whole, one that is open is not");
	if (getuid() == 0 && seteuid(0) != 0)
		abort();
	(void)chmod(world_path(&w, "w/shut"), 0700);
	tap_str(t, world_guards_text(&w), "hide ! /w/shut/fifo\n", "listed, only what is in it");
	(void)chmod(world_path(&w, "w/shut"), 0300);
	world_roots(&w, "{path: '@/w', at: /w}, {path: '@/w/shut/in', at: /w/shut/in}");
	facts_close(&w.facts);
	w.facts = (struct facts){ .self = { .fd = -1 } };
	for (size_t i = 0; i < FACTS_DEVICES; i++)
		w.facts.devices[i].object.fd = -1;
	world_facts(&w);
	if (geteuid() == 0 && seteuid(4242) != 0)
		abort();
	text = world_guards_text(&w);
	if (getuid() == 0 && seteuid(0) != 0)
		abort();
	tap_ok(t, strstr(text, "cannot be masked with /w/shut/in in it") != NULL, "%s", text);
	(void)chmod(world_path(&w, "w/shut"), 0700);
	world_close(&w);
}

static void test_binary(struct tap *t)
{
	struct world w;

	world_open(&w);
	world_file(&w, "w/bin/agentbox", 0755);
	world_roots(&w, "{path: '@/w', at: /w}");
	world_facts(&w);
	close(w.facts.self.fd);
	if (facts_object_open(&w.arena, AT_FDCWD, world_path(&w, "w/bin/agentbox"), true,
			      &w.facts.self) != 0)
		abort();
	tap_str(t, world_guards_text(&w), "freeze ! /w/bin/agentbox\n",
		"the running binary is frozen where it could be written");
	world_close(&w);
}

static void test_ids(struct tap *t)
{
	struct resolved r;
	struct err err;
	struct stat st;
	struct world w;

	world_open(&w);
	world_file(&w, "w/real", 0600);
	world_link(&w, "real", "w/.env");
	world_roots(&w, "{path: '@/w', at: /w}");
	world_facts(&w);
	tap_int(t, world_guards(&w, &r, &err), 0, "a link and its target");
	tap_ok(t,
	       r.guards.n == 2 && lstat(world_path(&w, "w/.env"), &st) == 0 &&
		       r.guards.v[0].id.ino == st.st_ino && S_ISLNK(r.guards.v[0].id.type),
	       "the link's guard names the link");
	tap_ok(t,
	       r.guards.n == 2 && lstat(world_path(&w, "w/real"), &st) == 0 &&
		       r.guards.v[1].id.ino == st.st_ino && S_ISREG(r.guards.v[1].id.type),
	       "the target's the target");
	tap_str(t, r.guards.v[0].root_at, "/w", "and the root they are in");
	world_close(&w);
}

static void test_depth(struct tap *t)
{
	static const char *const want[] = {
		"hide ! /w/.env\n",
		"hide ! /w/.env\nhide ! /w/a/.env\n",
		"hide ! /w/.env\nhide ! /w/a/.env\nfreeze d ! /w/a/b/.idea\n",
	};
	struct world w;

	world_open(&w);
	world_file(&w, "w/.env", 0600);
	world_file(&w, "w/a/.env", 0600);
	world_file(&w, "w/a/b/.idea/x", 0600);
	world_file(&w, "w/a/b/c/.env", 0600);
	world_file(&w, "out/.env", 0600);
	world_link(&w, "../out", "w/link");
	for (unsigned depth = 0; depth < ARRAY_SIZE(want); depth++) {
		world_parse(&w, arena_printf(&w.arena,
					     "sandbox: {roots: [{path: '@/w', at: /w}], protect: "
					     "{depth: %u}}\n"
					     "permissions: {agents: {me: allow}}\n",
					     depth));
		world_facts(&w);
		tap_str(t, world_guards_text(&w), want[depth],
			arena_printf(&w.arena, "depth %u, and no link is followed", depth));
	}
	world_close(&w);
}

/* One line for each that came: a or r, kind, path. */
static const char *appeared_text(struct world *w, const struct resolved *before)
{
	const struct resolve_input in = {
		.profile = w->profile,
		.agent = w->agent,
		.facts = &w->facts,
		.view = &w->view,
		.access = w->access,
	};
	appeared_list found = { 0 };
	struct err err = { 0 };
	STRBUF_AUTO sb = { 0 };

	if (resolve_appeared(&w->arena, &in, before, &found, &err) != 0)
		return arena_printf(&w->arena, "error %s", err.msg);
	for (size_t i = 0; i < found.n; i++)
		strbuf_printf(&sb, "%s %s %s\n", found.v[i].replaced ? "replaced" : "new",
			      found.v[i].kind == GUARD_HIDE ? "hide" : "freeze", found.v[i].at);
	return arena_strdup(&w->arena, strbuf_str(&sb));
}

static void test_appeared(struct tap *t)
{
	struct world w;
	struct resolved before;
	struct err err;

	world_open(&w);
	world_file(&w, "w/.env", 0600);
	world_file(&w, "w/.npmrc", 0600);
	world_file(&w, "w/.git/HEAD", 0600);
	world_file(&w, "w/new", 0600);
	world_roots(&w, "{path: '@/w', at: /w}");
	world_facts(&w);
	tap_int(t, world_guards(&w, &before, &err), 0, "a start");
	tap_str(t, appeared_text(&w, &before), "", "nothing came");
	world_file(&w, "w/plain", 0600);
	(void)mkfifo(world_path(&w, "w/fifo"), 0600);
	tap_str(t, appeared_text(&w, &before), "", "nothing that matters");
	world_file(&w, "w/.env.local", 0600);
	world_file(&w, "w/.git/hooks/pre-commit", 0700);
	world_file(&w, "w/sub/.env", 0600);
	(void)rename(world_path(&w, "w/new"), world_path(&w, "w/.env"));
	tap_str(t, appeared_text(&w, &before),
		"replaced hide /w/.env\nnew hide /w/.env.local\nnew freeze /w/.git/hooks\n",
		"a protected name, one in .git, and another file in the place of one");
	(void)unlink(world_path(&w, "w/.npmrc"));
	world_file(&w, "w/.npmrc/x", 0600);
	tap_ok(t, strstr(appeared_text(&w, &before), "replaced freeze /w/.npmrc\n") != NULL,
	       "a directory in the place of a file");
	world_close(&w);
}

int main(void)
{
	struct tap t = { 0 };

	test_kinds(&t);
	test_links(&t);
	test_link_to_root(&t);
	test_git(&t);
	test_overlap(&t);
	test_profile(&t);
	test_profile_links(&t);
	test_limit(&t);
	test_order(&t);
	test_unlistable(&t);
	test_binary(&t);
	test_ids(&t);
	test_depth(&t);
	test_appeared(&t);
	return tap_done(&t);
}
