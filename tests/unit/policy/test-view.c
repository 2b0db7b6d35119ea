/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/path.h"
#include "base/strbuf.h"
#include "tap.h"
#include "world.h"

static const char *const result_names[] = { "absent", "outside", "found", "loop", "forbidden" };

struct row {
	const char *what;
	const char *path;
	enum view_result want;
	const char *reached; /* '@' is the world's directory; NULL: not looked at */
};

/* Roots: @/w at /w, @/w/in at /w/in (another directory of the host), @/data/d at /w/deep/d,
 * @/f at /file. */
static const struct row rows[] = {
	{ "the root of all", "/", VIEW_FOUND, "/" },
	{ "a directory of our own", "/tmp", VIEW_FOUND, "/tmp" },
	{ "a name in it", "/tmp/x", VIEW_ABSENT, "/tmp/x" },
	{ "below what is absent", "/tmp/x/y", VIEW_OUTSIDE, NULL },
	{ "a root", "/w", VIEW_FOUND, "/w" },
	{ "a file in it", "/w/a", VIEW_FOUND, "/w/a" },
	{ "an absent name", "/w/none", VIEW_ABSENT, "/w/none" },
	{ "below an absent name", "/w/none/x", VIEW_OUTSIDE, NULL },
	{ "a file as a directory", "/w/a/x", VIEW_OUTSIDE, NULL },
	{ "the host's path of the root", "@/w/a", VIEW_OUTSIDE, NULL },
	{ "what is no root", "@/secret", VIEW_OUTSIDE, NULL },
	{ "a root that is a file", "/file", VIEW_FOUND, "/file" },
	{ "below a root that is a file", "/file/x", VIEW_OUTSIDE, NULL },
	/* links */
	{ "a link beside its target", "/w/to-a", VIEW_FOUND, "/w/a" },
	{ "a link to a directory, then on", "/w/to-sub/b", VIEW_FOUND, "/w/sub/b" },
	{ "an absent name behind a link", "/w/to-sub/new", VIEW_ABSENT, "/w/sub/new" },
	{ "an absolute link is read inside", "/w/abs", VIEW_FOUND, "/w/sub/b" },
	{ "an absolute link of the host", "/w/host", VIEW_OUTSIDE, NULL },
	{ "a link out of the root", "/w/out", VIEW_OUTSIDE, NULL },
	{ "and through it", "/w/out/x", VIEW_OUTSIDE, NULL },
	{ "`..` at the top of the view", "/w/up", VIEW_FOUND, "/w/a" },
	{ "`..` within a link", "/w/sub/dots", VIEW_FOUND, "/w/a" },
	{ "`..` to the parent of a root", "/w/par", VIEW_FOUND, "/" },
	{ "`..` through a link goes to the target's parent", "/w/to-deep/back", VIEW_FOUND,
	  "/w/sub/b" },
	{ "a dangling link", "/w/dangling", VIEW_OUTSIDE, NULL },
	{ "a link to itself", "/w/self", VIEW_LOOP, NULL },
	{ "two links to each other", "/w/ping", VIEW_LOOP, NULL },
	{ "40 links in a row", "/w/chain/1", VIEW_FOUND, "/w/chain/41" },
	{ "41", "/w/chain/0", VIEW_LOOP, NULL },
	{ "a link into the base", "/w/tool", VIEW_FOUND, "/usr/bin/tool" },
	/* a link of the view itself */
	{ "through the link of the base", "/bin/tool", VIEW_FOUND, "/usr/bin/tool" },
	{ "the link itself", "/bin", VIEW_FOUND, "/usr/bin" },
	{ "a part of the base that is absent", "/lib32/x", VIEW_OUTSIDE, NULL },
	{ "a link of our own", "/var/run", VIEW_FOUND, "/run" },
	{ "and the other, through the first", "/var/lock", VIEW_FOUND, "/run/lock" },
	{ "a name behind it", "/var/run/some.sock", VIEW_ABSENT, "/run/some.sock" },
	/* nested roots */
	{ "an inner root shadows what is there", "/w/in/inner", VIEW_FOUND, "/w/in/inner" },
	{ "and hides it", "/w/in/outer", VIEW_ABSENT, "/w/in/outer" },
	{ "from a link of the outer root too", "/w/to-in/inner", VIEW_FOUND, "/w/in/inner" },
	{ "a link in the inner root to the outer", "/w/in/a", VIEW_FOUND, "/w/a" },
	{ "a root below a directory that the outer has", "/w/deep/d/x", VIEW_FOUND, "/w/deep/d/x" },
	{ "beside it the outer root goes on", "/w/deep/y", VIEW_FOUND, "/w/deep/y" },
	/* text */
	{ "empty components and dots are skipped", "//w/./a", VIEW_FOUND, "/w/a" },
	{ "`..` in the path is walked", "/w/sub/../a", VIEW_FOUND, "/w/a" },
	{ "`..` at the top stays there", "/../../w/a", VIEW_FOUND, "/w/a" },
};

static void make_tree(struct world *w)
{
	world_file(w, "w/a", 0644);
	world_file(w, "w/sub/b", 0644);
	world_file(w, "w/in/outer", 0644);
	world_file(w, "w/deep/y", 0644);
	world_mkdir(w, "w/deep/d");
	world_mkdir(w, "w/sub/deeper");
	world_file(w, "inner/inner", 0644);
	world_file(w, "data/d/x", 0644);
	world_file(w, "f", 0644);
	world_file(w, "secret", 0644);
	world_file(w, "usr/bin/tool", 0755);
	world_link(w, "a", "w/to-a");
	world_link(w, "sub", "w/to-sub");
	world_link(w, "/w/sub/b", "w/abs");
	world_link(w, "@/w/a", "w/host");
	world_link(w, "../secret", "w/out");
	world_link(w, "../../../../../w/a", "w/up");
	world_link(w, "../a", "w/sub/dots");
	world_link(w, "..", "w/par");
	world_link(w, "sub/deeper", "w/to-deep");
	world_link(w, "../b", "w/sub/deeper/back");
	world_link(w, "nowhere", "w/dangling");
	world_link(w, "self", "w/self");
	world_link(w, "pong", "w/ping");
	world_link(w, "ping", "w/pong");
	world_link(w, "/usr/bin/tool", "w/tool");
	world_link(w, "in", "w/to-in");
	world_link(w, "../a", "inner/a");
	world_file(w, "w/chain/41", 0644);
	for (int i = 0; i < 41; i++)
		world_link(w, arena_printf(&w->arena, "%d", i + 1),
			   arena_printf(&w->arena, "w/chain/%d", i));
}

static void make_world(struct world *w)
{
	world_open(w);
	make_tree(w);
	world_roots(w, "{path: '@/w', at: /w}, {path: '@/inner', at: /w/in}, "
		       "{path: '@/data/d', at: /w/deep/d}, {path: '@/f', at: /file}");
	world_facts(w);
}

static void test_resolve(struct tap *t)
{
	struct world w;

	make_world(&w);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const char *path;
		enum view_result r = world_resolve(&w, rows[i].path, &path);
		bool ok = r == rows[i].want &&
			  (rows[i].reached == NULL || strcmp(rows[i].reached, path) == 0);

		tap_ok(t, ok, "%s: %s", rows[i].what, result_names[rows[i].want]);
		if (!ok)
			printf("# got %s at %s\n", result_names[r], path);
	}
	world_close(&w);
}

/* Who may not look somewhere is told so, not that it is absent. Root may look everywhere. */
static void test_forbidden(struct tap *t)
{
	struct world w;
	const char *path;

	make_world(&w);
	world_file(&w, "w/closed/x", 0644);
	if (chmod(world_path(&w, "w/closed"), 0) != 0)
		abort();
	if (geteuid() == 0) {
		tap_int(t, world_resolve(&w, "/w/closed/x", &path), VIEW_FOUND,
			"root looks into a closed directory");
	} else {
		tap_int(t, world_resolve(&w, "/w/closed/x", &path), VIEW_FORBIDDEN,
			"a closed directory is forbidden");
	}
	tap_int(t, world_resolve(&w, "/w/closed", &path), VIEW_FOUND,
		"the directory itself is found");
	if (chmod(world_path(&w, "w/closed"), 0700) != 0)
		abort();
	world_close(&w);
}

static void test_target(struct tap *t)
{
	struct view_target target;
	struct stat st;
	struct stat want;
	struct world w;

	make_world(&w);
	(void)view_resolve(&w.arena, &w.view, "/w/to-a", &target);
	tap_ok(t,
	       target.node != NULL && target.node->kind == VIEW_ROOT && target.node->root == 0 &&
		       !target.is_own_dir,
	       "the root that holds it is known");
	tap_ok(t,
	       stat(world_path(&w, "w/a"), &want) == 0 && fstat(target.object.fd, &st) == 0 &&
		       st.st_ino == want.st_ino && target.object.id.ino == want.st_ino,
	       "and held by a descriptor");
	view_target_close(&target);
	tap_ok(t, target.object.fd == -1, "until it is closed");
	(void)view_resolve(&w.arena, &w.view, "/tmp", &target);
	tap_ok(t, target.is_own_dir && target.object.fd == -1 && target.node->writable,
	       "a directory of our own has no descriptor");
	view_target_close(&target);
	(void)view_resolve(&w.arena, &w.view, "/w/in/inner", &target);
	tap_ok(t, target.node->kind == VIEW_ROOT && target.node->root == 1,
	       "the inner root's file");
	view_target_close(&target);
	(void)view_resolve(&w.arena, &w.view, "/bin/tool", &target);
	tap_ok(t, target.node->kind == VIEW_BASE && !target.node->writable, "the base's file");
	view_target_close(&target);
	world_close(&w);
}

/* A root that the agent may not read is not in the view. */
static void test_unreadable(struct tap *t)
{
	struct world w;
	const char *path;

	world_open(&w);
	world_file(&w, "a/x", 0644);
	world_file(&w, "b/x", 0644);
	world_link(&w, "../b/x", "a/to-b");
	world_parse(&w, "sandbox: {roots: [{path: '@/a', at: /v/a}, {path: '@/b', at: /v/b}, "
			"{path: '@/c', at: /v/c, optional: true}]}\n"
			"permissions: {agents: {me: {rules: [{operations: [read], "
			"paths: [/v/a/**, /v/c/**], mode: allow}]}}}\n");
	world_facts(&w);
	tap_int(t, world_resolve(&w, "/v/a/x", &path), VIEW_FOUND, "a root that may be read");
	tap_int(t, world_resolve(&w, "/v/b/x", &path), VIEW_OUTSIDE, "one that may not");
	tap_int(t, world_resolve(&w, "/v/a/to-b", &path), VIEW_OUTSIDE, "nor through a link");
	tap_int(t, world_resolve(&w, "/v/c", &path), VIEW_ABSENT, "one that does not exist");
	tap_int(t, world_resolve(&w, "/v", &path), VIEW_FOUND, "the directory above the roots");
	world_close(&w);
}

static void test_from_host(struct tap *t)
{
	static const struct {
		const char *host, *want;
	} from[] = {
		{ "@/w", "/w" },
		{ "@/w/a", "/w/a" },
		{ "@/w/sub/b", "/w/sub/b" },
		{ "@/inner", "/w/in" },
		{ "@/inner/inner", "/w/in/inner" },
		{ "@/data/d/x", "/w/deep/d/x" },
		{ "@/data", NULL },
		{ "@/w2", NULL },
		{ "@/secret", NULL },
		{ "@/usr/bin/x", "/usr/bin/x" },
		{ "/usr/bin/x", NULL },
		{ "/", NULL },
		{ "/usrx", NULL },
	};
	struct world w;

	make_world(&w);
	for (size_t i = 0; i < ARRAY_SIZE(from); i++)
		tap_str(t, view_from_host(&w.arena, &w.view, world_text(&w, from[i].host), NULL),
			from[i].want, from[i].host);
	world_close(&w);
	/* The deepest match wins: a root below another on the host. */
	world_open(&w);
	world_mkdir(&w, "w/sub");
	world_roots(&w, "{path: '@/w', at: /out}, {path: '@/w/sub', at: /sub}");
	world_facts(&w);
	tap_str(t, view_from_host(&w.arena, &w.view, world_text(&w, "@/w/sub/x"), NULL), "/sub/x",
		"the deepest root that holds it");
	tap_str(t, view_from_host(&w.arena, &w.view, world_text(&w, "@/w/subx"), NULL), "/out/subx",
		"by component");
	world_close(&w);
}

static size_t open_descriptors(void)
{
	size_t n = 0;

	for (int fd = 0; fd < 1024; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static void test_descriptors(struct tap *t)
{
	size_t before = open_descriptors();
	size_t during;
	const char *path;
	struct world w;

	make_world(&w);
	during = open_descriptors();
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		(void)world_resolve(&w, rows[i].path, &path);
	tap_ok(t, open_descriptors() == during, "whatever comes out, no descriptor stays open");
	world_close(&w);
	tap_ok(t, open_descriptors() == before, "facts_close() closes all of the facts");
}

int main(void)
{
	struct tap t = { 0 };

	test_resolve(&t);
	test_forbidden(&t);
	test_target(&t);
	test_unreadable(&t);
	test_from_host(&t);
	test_descriptors(&t);
	return tap_done(&t);
}
