/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the base is made of: read from a root file system that is made here, and from the host. */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "policy/facts-base.h"
#include "tap.h"
#include "world.h"

static int gather(struct world *w, const char *sandbox, struct err *err)
{
	struct facts_input in = { .state_dir = world_path(w, "state/agentbox") };

	world_parse(w,
		    arena_printf(&w->arena, "sandbox: {%s}\npermissions: {agents: {me: allow}}\n",
				 sandbox));
	in.profile = w->profile;
	facts_close(&w->facts);
	w->facts = (struct facts){
		.caller = { .uid = getuid(), .gid = getgid(), .home = world_path(w, "home/me") }
	};
	*err = (struct err){ 0 };
	return facts_gather(&w->arena, &in, &w->facts, err) != 0 ||
			       facts_furnish(&w->arena, &in, &w->facts, err) != 0
		       ? -1
		       : facts_judge_roots(&w->arena, &in, &w->facts, err);
}

/* "d /usr, l /bin -> usr/bin, f /x, m /var", "+" before what was added. */
static const char *entries(struct world *w)
{
	static const char kinds[] = { [FACTS_BASE_ABSENT] = '?',
				      [FACTS_BASE_DIR] = 'd',
				      [FACTS_BASE_LINK] = 'l',
				      [FACTS_BASE_FILE] = 'f',
				      [FACTS_BASE_MADE] = 'm' };
	STRBUF_AUTO sb = { 0 };

	for (size_t i = 0; i < w->facts.base.n; i++) {
		const struct facts_base *b = &w->facts.base.v[i];

		strbuf_printf(&sb, "%s%s%c %s", i == 0 ? "" : ", ", b->added ? "+" : "",
			      kinds[b->kind], b->at);
		if (b->link != NULL)
			strbuf_printf(&sb, " -> %s", b->link);
	}
	return arena_strdup(&w->arena, strbuf_str(&sb));
}

static const char *masked(struct world *w)
{
	STRBUF_AUTO sb = { 0 };

	for (size_t i = 0; i < w->facts.etc_masked.n; i++) {
		const struct facts_secret *s = &w->facts.etc_masked.v[i];

		strbuf_printf(&sb, "%s%s%s", i == 0 ? "" : " ", s->name,
			      s->is_link  ? "@"
			      : s->is_dir ? "/"
					  : "");
	}
	return arena_strdup(&w->arena, strbuf_str(&sb));
}

static void make_rootfs(struct world *w)
{
	static const char *const dirs[] = {
		"r/usr/bin", "r/proc/x",          "r/dev",     "r/sys",     "r/tmp/x",
		"r/run",     "r/home/x",          "r/var/tmp", "r/var/lib", "r/var/cache",
		"r/srv",     "r/etc/ssl/private", "w",
	};

	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++)
		world_mkdir(w, dirs[i]);
	world_link(w, "usr/bin", "r/bin");
	world_link(w, "/run", "r/var/run");
	world_file(w, "r/init", 0755);
	world_file(w, "r/etc/passwd", 0644);
	world_file(w, "r/etc/ssl/private/key", 0644);
	if (mkfifo(world_path(w, "r/fifo"), 0600) != 0)
		abort();
}

static void test_path(struct tap *t)
{
	const struct facts_base *b;
	struct err err;
	struct world w;

	world_open(&w);
	make_rootfs(&w);
	tap_int(t, gather(&w, "base: {path: '@/r'}, roots: ['@/w']", &err), 0,
		"a root file system");
	tap_str(t, entries(&w),
		"m /, l /bin -> usr/bin, m /etc, d /etc/ssl, f /init, d /srv, d /usr, m /var, "
		"d /var/cache, d /var/lib",
		"its entries, without what the sandbox has of its own");
	tap_ok(t, w.facts.etc_made, "an /etc without our files is one of ours");
	tap_int(t, (long long)w.facts.etc.n, FACTS_ETC, "and gets all of them");
	b = facts_base_find(&w.facts, "/var/lib");
	tap_str(t, b->object.path, world_path(&w, "r/var/lib"), "the host's path of an entry");
	tap_ok(t, b->object.fd >= 0, "which is held");
	tap_str(t, masked(&w), "ssl/private/", "secrets of its own");
	tap_ok(t, facts_base_holder(&w.facts, "/usr/bin/x") == facts_base_find(&w.facts, "/usr"),
	       "what holds a path");
	tap_ok(t, facts_base_holder(&w.facts, "/bin/x")->kind == FACTS_BASE_LINK, "a link too");
	tap_ok(t, facts_base_holder(&w.facts, "/var/none") == NULL, "not a directory of ours");
	world_link(&w, "../run/resolv.conf", "r/etc/resolv.conf");
	world_file(&w, "r/etc/group", 0644);
	world_file(&w, "r/etc/hosts", 0644);
	world_file(&w, "r/etc/hostname", 0644);
	world_file(&w, "r/etc/nsswitch.conf", 0644);
	tap_int(t, gather(&w, "base: {path: '@/r'}", &err), 0, "with an /etc of its own");
	tap_ok(t, !w.facts.etc_made && facts_base_find(&w.facts, "/etc")->kind == FACTS_BASE_DIR,
	       "it is one tree");
	tap_int(t, (long long)w.facts.etc.n, FACTS_ETC, "our files have their places");
	tap_ok(t, w.facts.etc.v[5].is_link, "one of them a link");
	tap_int(t,
		gather(&w,
		       "base: {path: '@/r'}, roots: [{path: '@/w', at: /srv/w}, "
		       "{path: '@/w', at: /var/lib/a/b}, {path: '@/w', at: /init/x}]",
		       &err),
		-1, "a root behind a file");
	tap_ok(t, strstr(err.msg, "lies behind '/init'") != NULL && err.line == 1, "%s", err.msg);
	tap_int(t,
		gather(&w,
		       "base: {path: '@/r'}, roots: [{path: '@/w', at: /srv/w}, "
		       "{path: '@/w', at: /var/cache}]",
		       &err),
		0, "roots below its directories and in place of one");
	tap_str(t, entries(&w),
		"m /, l /bin -> usr/bin, d /etc, f /init, m /srv, d /usr, m /var, d /var/lib",
		"there it is made of its entries");
	world_close(&w);
}

static void test_store(struct tap *t)
{
	struct err err;
	struct world w;

	world_open(&w);
	world_mkdir(&w, "r/nix/store/s");
	world_mkdir(&w, "r/run/opengl-driver");
	world_link(&w, "/nix/store/s", "r/run/current-system");
	tap_int(t, gather(&w, "base: {path: '@/r'}", &err), 0, "a root file system with a store");
	tap_str(t, entries(&w), "m /, d /nix, l /run/current-system -> /nix/store/s, m /etc",
		"the link into it is kept, nothing else of /run");
	if (unlink(world_path(&w, "r/run/current-system")) != 0)
		abort();
	world_link(&w, "/nixos", "r/run/current-system");
	(void)gather(&w, "base: {path: '@/r'}", &err);
	tap_str(t, entries(&w), "m /, d /nix, m /etc", "a link to elsewhere is not");
	world_close(&w);
}

/* The host as it is: what must be true of any. */
static void test_host(struct tap *t)
{
	struct err err;
	struct world w;
	struct stat st;

	world_open(&w);
	world_mkdir(&w, "tool");
	tap_int(t, gather(&w, "base: host", &err), 0, "the host");
	tap_ok(t, facts_base_find(&w.facts, "/usr") != NULL, "has /usr");
	tap_ok(t, facts_base_find(&w.facts, "/var") == NULL, "and shows no /var");
	tap_int(t, w.facts.etc_made, false, "its /etc is one tree");
	tap_int(t, gather(&w, "base: {from: minimal, add: ['@/tool', /usr/share]}", &err), 0,
		"the least of it, and a tree");
	tap_ok(t,
	       w.facts.etc_made && facts_base_find(&w.facts, "/etc/passwd") == NULL &&
		       facts_base_find(&w.facts, "/opt") == NULL,
	       "without passwd and /opt");
	tap_ok(t,
	       (facts_base_find(&w.facts, "/etc/ld.so.cache") != NULL) ==
		       (lstat("/etc/ld.so.cache", &st) == 0),
	       "with ld.so.cache where there is one");
	tap_ok(t, facts_base_find(&w.facts, world_path(&w, "tool"))->added, "the tree was added");
	tap_ok(t, facts_base_find(&w.facts, "/usr/share") == NULL,
	       "what the base has needs no adding");
	world_close(&w);
}

static const struct {
	const char *what, *sandbox, *want;
} refused[] = {
	{ "the host's own root", "base: {path: /}", "is or contains /" },
	{ "/etc", "base: {path: /etc}", "is or contains /etc" },
	{ "absent", "base: {path: '@/none'}", "does not exist" },
	{ "a file", "base: {path: '@/r/init'}", "is no directory" },
	{ "what holds the home directory", "base: {path: '@/home'}", "your home directory" },
	{ "in a writable root", "base: {path: '@/w/in'}, roots: ['@/w']", "programs could write" },
	{ "a writable root itself", "base: {path: '@/w'}, roots: [{path: '@/w', at: /x}]",
	  "programs could write" },
	{ "what holds one", "base: {path: '@/r'}, roots: [{path: '@/r/srv', mode: rw}]",
	  "programs could write" },
	{ "through a link in one", "base: {path: '@/w/link'}, roots: ['@/w']",
	  "programs could write" },
	{ "through a link to one", "base: {path: '@/to-w/link'}, roots: ['@/w']",
	  "programs could write" },
	{ "an added file", "base: {from: host, add: ['@/r/init']}", "is no directory" },
	{ "an added home", "base: {from: host, add: ['@/home/me']}", "your home directory" },
	{ "an added state directory", "base: {from: host, add: ['@/state']}", "state directory" },
	{ "an added tree in a root of another name",
	  "base: {from: host, add: ['@/w/in']}, roots: [{path: '@/w', at: /x}]",
	  "programs could write" },
	{ "through a planted link",
	  "base: {from: host, add: ['@/w/link']}, roots: [{path: '@/w', at: /x}]",
	  "programs could write" },
	{ "that holds a root of another name",
	  "base: {from: host, add: ['@/r']}, roots: [{path: '@/r/srv', at: /x}]",
	  "programs could write" },
	/* The same, allowed. */
	{ "beside a root", "base: {path: '@/r'}, roots: ['@/w']", NULL },
	{ "in a read-only root", "base: {path: '@/w/in'}, roots: [{path: '@/w', mode: ro}]", NULL },
	{ "an added tree beside a root", "base: {from: host, add: ['@/r']}, roots: ['@/w']", NULL },
};

static void test_refused(struct tap *t)
{
	struct world w;

	world_open(&w);
	make_rootfs(&w);
	world_mkdir(&w, "w/in");
	world_mkdir(&w, "home/me");
	world_mkdir(&w, "state/agentbox");
	world_link(&w, "../r", "w/link");
	world_link(&w, "w", "to-w");
	for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
		struct err err;
		int r = gather(&w, refused[i].sandbox, &err);
		bool ok = refused[i].want == NULL
				  ? r == 0
				  : r == -1 && err.code == ERR_PROFILE && err.line == 1 &&
					    strstr(err.msg, refused[i].want) != NULL;

		tap_ok(t, ok, "%s: %s", refused[i].what,
		       refused[i].want == NULL ? "accepted" : refused[i].want);
		if (!ok)
			printf("# %d %u:%u %s\n", r, err.line, err.col, err.msg);
	}
	world_close(&w);
}

static void test_masks(struct tap *t)
{
	struct err err;
	struct world w;

	world_open(&w);
	world_file(&w, "r/etc/ssl/private/key", 0644);
	world_file(&w, "r/etc/krb5.keytab", 0644);
	world_file(&w, "r/etc/krb5.conf", 0644);
	world_file(&w, "r/etc/docker/key.json", 0644);
	world_file(&w, "r/etc/mysql/debian.cnf", 0644);
	world_file(&w, "r/etc/keys/x", 0644);
	world_link(&w, "keys", "r/etc/letsencrypt");
	world_link(&w, "keys", "r/etc/apt");
	world_mkdir(&w, "r/etc/rancher");
	if (chmod(world_path(&w, "r/etc/mysql"), 0700) != 0)
		abort();
	(void)gather(&w, "base: {path: '@/r'}", &err);
	/* rancher/ is empty: it is masked where somebody but root could fill it. */
	tap_str(t, masked(&w),
		geteuid() == 0 ? "ssl/private/ krb5.keytab letsencrypt@ mysql/ docker/key.json"
			       : "ssl/private/ krb5.keytab letsencrypt@ mysql/ docker/key.json "
				 "rancher/",
		"what could be read is masked, by the outermost piece that is closed");
	(void)gather(&w, "base: host", &err);
	tap_ok(t, strstr(masked(&w), "docker") == NULL || access("/etc/docker", F_OK) == 0,
	       "what the host has not needs none");
	world_close(&w);
}

static void test_may_read(struct tap *t)
{
	static const struct {
		const char *what;
		bool kernel_root;
		uid_t uid;
		gid_t gid;
		mode_t mode;
		bool want;
	} rows[] = {
		{ "root's own file", false, 0, 0, 0600, false },
		{ "root's, readable", false, 0, 0, 0604, true },
		{ "root's, to be searched", false, 0, 0, 0711, true },
		{ "root's, of another group", false, 0, 7, 0640, false },
		{ "root's, of the caller's group", false, 0, 1001, 0640, true },
		{ "root's, of a group beside it", false, 0, 42, 0640, true },
		{ "the same without the group's bits", false, 0, 42, 0600, false },
		{ "the caller's", false, 1000, 0, 0400, true },
		{ "the caller's, closed", false, 1000, 0, 0, false },
		{ "somebody's", false, 2000, 2000, 0660, false },
		{ "root calls: root's own", true, 0, 0, 0600, false },
		{ "root calls: root's group", true, 0, 0, 0640, false },
		{ "root calls: root's with a closed group", true, 0, 7, 0710, false },
		{ "root calls: the owner of a root", true, 3000, 0, 0600, true },
		{ "root calls: its group", true, 0, 3001, 0640, true },
		{ "root calls: somebody's", true, 2000, 2000, 0660, false },
		{ "root calls: readable", true, 0, 0, 0644, true },
	};
	static const gid_t groups[] = { 41, 42 };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct facts_root roots[2] = {
			{ .present = true, .object = { .fd = -1 } },
			{ .present = true, .object = { .fd = -1, .uid = 3000, .gid = 3001 } },
		};
		struct facts f = { .caller = { .uid = rows[i].kernel_root ? 0 : 1000,
					       .gid = rows[i].kernel_root ? 0 : 1001,
					       .kernel_root = rows[i].kernel_root } };

		f.roots.v = roots;
		f.roots.n = ARRAY_SIZE(roots);
		tap_int(t,
			facts_etc_may_read(&f, groups, rows[i].kernel_root ? 0 : 2, rows[i].uid,
					   rows[i].gid, rows[i].mode),
			rows[i].want, rows[i].what);
	}
}

int main(void)
{
	struct tap t = { 0 };

	test_path(&t);
	test_store(&t);
	test_host(&t);
	test_refused(&t);
	test_masks(&t);
	test_may_read(&t);
	return tap_done(&t);
}
