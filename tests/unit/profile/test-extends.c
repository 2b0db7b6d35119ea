/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Profiles that extend others: what comes of them, and where an error is said to be. */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/io.h"
#include "base/path.h"
#include "common.h"
#include "profile/builtin.h"
#include "profile/extends.h"

#define FILES 4

struct file {
	const char *name;
	const char *text;
};

struct row {
	const char *what;
	struct file files[FILES]; /* the profile first */
	const char *in;           /* the file that the error is in; NULL: it loads */
	unsigned line, col;
	const char *want;
};

struct place {
	struct tap *t;
	char dir[64];
	struct profile_source src;
};

static void put(struct arena *a, const struct place *pl, const char *name, const char *text,
		mode_t mode)
{
	const char *path = path_join(a, pl->dir, name);
	FD_AUTO fd = -1;

	(void)unlink(path);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0 || io_write_full(fd, text, strlen(text)) != 0 || fchmod(fd, mode) != 0)
		abort();
}

static int load(struct arena *a, const struct place *pl, const char *name, const struct profile **p,
		struct err *err)
{
	struct profile_source src = pl->src;

	src.path = path_join(a, pl->dir, name);
	*p = NULL;
	return profile_load(a, &src, p, err);
}

#define ME "permissions: {agents: {me: allow}}\n"

static const struct row rows[] = {
	{ "a block from each",
	  { { "p.yaml", "extends: [b.yaml]\nsandbox: {}\n" }, { "b.yaml", ME } },
	  NULL,
	  0,
	  0,
	  NULL },
	{ "an error keeps its file",
	  { { "p.yaml", "extends: [b.yaml]\n" ME }, { "b.yaml", "sandbox:\n  netwrok: none\n" } },
	  "b.yaml",
	  2,
	  3,
	  "unknown key 'netwrok' in sandbox (did you mean 'network'?)" },
	{ "one that is not YAML",
	  { { "p.yaml", "extends: [b.yaml]\n" ME }, { "b.yaml", "sandbox: [\n" } },
	  "b.yaml",
	  2,
	  1,
	  "not valid YAML" },
	{ "one that is a list",
	  { { "p.yaml", "extends: [b.yaml]\n" ME }, { "b.yaml", "[sandbox]\n" } },
	  "b.yaml",
	  1,
	  1,
	  "a profile must be a map, not a list" },
	{ "one of another version",
	  { { "p.yaml", "version: 1\nextends: [b.yaml]\n" ME },
	    { "b.yaml", "version: 2\nsandbox: {}\n" } },
	  "b.yaml",
	  1,
	  10,
	  "'version' can only be 1, not '2'" },
	{ "a missing one",
	  { { "p.yaml", "sandbox: {}\nextends:\n  - b.yaml\n" ME } },
	  "p.yaml",
	  3,
	  5,
	  "b.yaml cannot be opened: No such file" },
	{ "itself",
	  { { "p.yaml", "extends: [p.yaml]\nsandbox: {}\n" ME } },
	  "p.yaml",
	  1,
	  11,
	  "comes back to itself" },
	{ "itself by another",
	  { { "p.yaml", "extends: [./b.yaml]\nsandbox: {}\n" ME },
	    { "b.yaml", "extends: [c.yaml]\n" },
	    { "c.yaml", "{extends: [p.yaml]}\n" } },
	  "c.yaml",
	  1,
	  12,
	  "comes back to itself" },
	{ "no sandbox in any",
	  { { "p.yaml", "extends: [b.yaml]\n" }, { "b.yaml", ME } },
	  "p.yaml",
	  1,
	  1,
	  "no 'sandbox' block; the least profile is {extends: [builtin:default]}" },
	{ "no permissions in any",
	  { { "p.yaml", "extends: [b.yaml]\n" }, { "b.yaml", "sandbox: {}\n" } },
	  "p.yaml",
	  1,
	  1,
	  "no 'permissions' block; the least profile is {extends: [builtin:default]}" },
	{ "an agent of both",
	  { { "p.yaml", "extends: [b.yaml]\nsandbox: {}\npermissions: {agents: {me: allow}}\n" },
	    { "b.yaml", "\npermissions: {agents: {me: {rules: []}}}\n" } },
	  "p.yaml",
	  3,
	  24,
	  "agent 'me' is declared at " },
	{ "an agent of two parents",
	  { { "p.yaml", "extends: [a.yaml, b.yaml]\nsandbox: {}\n" },
	    { "a.yaml", ME },
	    { "b.yaml", ME } },
	  "b.yaml",
	  1,
	  24,
	  "with 'override: true' in its map" },
	{ "override: false is no override",
	  { { "p.yaml", "extends: [b.yaml]\nsandbox: {}\n"
			"permissions: {agents: {me: {override: false, rules: []}}}\n" },
	    { "b.yaml", ME } },
	  "p.yaml",
	  3,
	  24,
	  "is declared at " },
	{ "an override",
	  { { "p.yaml", "extends: [b.yaml]\nsandbox: {}\n"
			"permissions: {agents: {me: {override: true, rules: []}}}\n" },
	    { "b.yaml", ME } },
	  NULL,
	  0,
	  0,
	  NULL },
	{ "an override of nothing",
	  { { "p.yaml", "extends: [b.yaml]\nsandbox: {}\n"
			"permissions: {agents: {you: {override: true, rules: []}}}\n" },
	    { "b.yaml", ME } },
	  "p.yaml",
	  3,
	  30,
	  "nothing to override" },
	{ "one root from two files",
	  { { "p.yaml", "extends: [b.yaml]\nsandbox: {roots: [/srv/x]}\n" ME },
	    { "b.yaml", "sandbox: {roots: [/srv/x]}\n" } },
	  "b.yaml",
	  1,
	  19,
	  "p.yaml:2): one must move with 'at'" },
	{ "two spellings in two files",
	  { { "p.yaml", "extends: [b.yaml]\nsandbox: {roots: [/srv/x]}\n" ME },
	    { "b.yaml", "sandbox: {allowed_roots: [/srv/y]}\n" } },
	  "p.yaml",
	  2,
	  11,
	  "b.yaml:1) are two spellings of one key" },
	{ "an inherited parameter that is required",
	  { { "p.yaml", "extends: [b.yaml]\n" ME },
	    { "b.yaml", "params: {data: {required: true}}\nsandbox: {}\n" } },
	  "b.yaml",
	  1,
	  10,
	  "param 'data' is required" },
	{ "blocks in files",
	  { { "p.yaml", "sandbox_file: s.yaml\npermissions_file: perm.yaml\n" },
	    { "s.yaml", "roots: [.]\n" },
	    { "perm.yaml", "agents: {me: allow}\n" } },
	  NULL,
	  0,
	  0,
	  NULL },
	{ "an error in the file of a block",
	  { { "p.yaml", "sandbox_file: s.yaml\n" ME }, { "s.yaml", "\nrots: [.]\n" } },
	  "s.yaml",
	  2,
	  1,
	  "unknown key 'rots' in sandbox (did you mean 'roots'?)" },
	{ "a block twice",
	  { { "p.yaml", "sandbox: {}\nsandbox_file: s.yaml\n" ME }, { "s.yaml", "{}\n" } },
	  "p.yaml",
	  2,
	  1,
	  "'sandbox_file' and 'sandbox' (line 1) are two spellings of one key" },
	{ "a block that is missing",
	  { { "p.yaml", "sandbox_file: s.yaml\n" ME } },
	  "p.yaml",
	  1,
	  15,
	  "s.yaml cannot be opened: No such file" },
	{ "a block in a parent's file",
	  { { "p.yaml", "extends: [b.yaml]\n" ME },
	    { "b.yaml", "sandbox_file: s.yaml\n" },
	    { "s.yaml", "roots: [.]\n" } },
	  NULL,
	  0,
	  0,
	  NULL },
	{ "a list of files as a block",
	  { { "p.yaml", "sandbox_file: [s.yaml]\n" ME } },
	  "p.yaml",
	  1,
	  15,
	  "'sandbox_file' must be one value, not a list" },
	{ "extends where it does not belong",
	  { { "p.yaml", "sandbox: {extends: [b.yaml]}\n" ME } },
	  "p.yaml",
	  1,
	  11,
	  "unknown key 'extends' in sandbox" },
	{ "extends as one value",
	  { { "p.yaml", "extends: builtin:default\n" } },
	  "p.yaml",
	  1,
	  10,
	  "'extends' must be a list, not 'builtin:default'" },
	{ "a shipped one that is not",
	  { { "p.yaml", "extends: [builtin:defaultx]\n" } },
	  "p.yaml",
	  1,
	  11,
	  "no shipped profile 'defaultx' (did you mean 'builtin:default'?)" },
	{ "a shipped one without its prefix",
	  { { "p.yaml", "extends: [default]\n" } },
	  "p.yaml",
	  1,
	  11,
	  "write 'builtin:default' for the shipped profile, or './default'" },
	{ "a list that is null",
	  { { "p.yaml", "extends:\nsandbox: {}\n" ME } },
	  "p.yaml",
	  1,
	  9,
	  "'extends' must be a list, not nothing" },
	{ "nothing to extend",
	  { { "p.yaml", "extends: []\nsandbox: {}\n" ME } },
	  NULL,
	  0,
	  0,
	  NULL },
};

static void test_row(struct place *pl, const struct row *row)
{
	struct arena a = { 0 };
	struct err err = { 0 };
	const struct profile *p;
	bool ok;
	int r;

	for (size_t i = 0; i < FILES && row->files[i].name != NULL; i++)
		put(&a, pl, row->files[i].name, row->files[i].text, 0644);
	r = load(&a, pl, row->files[0].name, &p, &err);
	ok = row->in == NULL ? r == 0 && p != NULL
			     : r == -1 && err.code == ERR_PROFILE && err.file != NULL &&
				       strcmp(path_basename(err.file), row->in) == 0 &&
				       err.line == row->line && err.col == row->col &&
				       strstr(err.msg, row->want) != NULL;
	if (!tap_ok(pl->t, ok, "%s: %s", row->what, row->in == NULL ? "loads" : row->in))
		printf("# got %d %s:%u:%u '%s'\n", r, err.file == NULL ? "-" : err.file, err.line,
		       err.col, err.msg);
	for (size_t i = 0; i < FILES && row->files[i].name != NULL; i++)
		(void)unlink(path_join(&a, pl->dir, row->files[i].name));
	arena_free(&a);
}

/* Maps by key, the file over its parents and the later over the earlier; own entries first. */
static void test_merge(struct place *pl)
{
	struct arena a = { 0 };
	struct err err = { 0 };
	const struct profile *p;
	const struct profile_sandbox *s;

	put(&a, pl, "a.yaml",
	    "params: {dir: {type: path, default: data}, x: {default: a}}\n"
	    "sandbox:\n"
	    "  roots: [{path: \"${dir}\", at: /a}]\n"
	    "  hostname: first\n"
	    "  workdir: /one\n"
	    "  env: {set: {ONE: \"1\", TWO: \"1\", X: \"${x}\"}, pass: [A]}\n"
	    "permissions: {agents: {a: allow}}\ntests: [anything]\n",
	    0644);
	put(&a, pl, "b.yaml",
	    "sandbox:\n"
	    "  roots: [{path: /srv/b, at: /b}]\n"
	    "  hostname: second\n"
	    "  env: {set: {TWO: \"2\"}, pass: [B]}\n"
	    "permissions: {agents: {b: allow}}\n",
	    0644);
	put(&a, pl, "p.yaml",
	    "extends: [a.yaml, b.yaml]\n"
	    "params: {x: {default: p}}\n"
	    "sandbox:\n"
	    "  roots: [{path: own, at: /p}]\n"
	    "  env: {pass: [P]}\n"
	    "permissions: {agents: {p: allow}}\n",
	    0644);
	if (tap_int(pl->t, load(&a, pl, "p.yaml", &p, &err), 0, "three files")) {
		s = &p->sandbox;
		tap_int(pl->t, (long long)p->files.n, 3, "three files are known");
		tap_str(pl->t, path_basename(p->files.v[0].name), "p.yaml", "itself first");
		tap_ok(pl->t, p->files.v[2].real != NULL && p->files.v[2].ino != 0,
		       "each with its place");
		tap_int(pl->t, (long long)s->roots.n, 3, "three roots");
		tap_str(pl->t, s->roots.v[0].at, "/p", "its own first");
		tap_str(pl->t, s->roots.v[1].at, "/b", "then of the later");
		tap_str(pl->t, s->roots.v[2].at, "/a", "then of the earlier");
		tap_str(pl->t, s->roots.v[2].path, path_join(&a, pl->dir, "data"),
			"relative to the file it stands in");
		tap_str(pl->t, s->hostname, "second", "the later over the earlier");
		tap_str(pl->t, s->workdir, "/one", "what only one says stays");
		tap_int(pl->t, (long long)s->env_set.n, 3, "names are merged");
		tap_str(pl->t, s->env_set.v[0].name, "TWO", "the later's first");
		tap_str(pl->t, s->env_set.v[0].value, "2", "with its value");
		tap_str(pl->t, s->env_set.v[2].value, "p", "a parameter's default of the file");
		tap_str(pl->t, s->env_pass.v[0].name, "P", "lists append");
		tap_str(pl->t, s->env_pass.v[2].name, "A", "the earliest last");
		tap_int(pl->t, (long long)p->permissions.agents.n, 3, "three agents");
	} else {
		printf("# %s:%u:%u %s\n", err.file, err.line, err.col, err.msg);
	}
	arena_free(&a);
}

static void test_override(struct place *pl)
{
	struct arena a = { 0 };
	struct err err = { 0 };
	const struct profile *p;

	put(&a, pl, "b.yaml", "sandbox: {}\n" ME, 0644);
	put(&a, pl, "p.yaml",
	    "extends: [b.yaml]\n"
	    "permissions: {agents: {me: {override: true, allowed_actions: []}}}\n",
	    0644);
	if (tap_int(pl->t, load(&a, pl, "p.yaml", &p, &err), 0, "an override loads")) {
		tap_int(pl->t, (long long)p->permissions.agents.n, 1, "one agent");
		tap_ok(pl->t, !p->permissions.agents.v[0].allow_all, "nothing of the other's");
		tap_int(pl->t, (long long)p->permissions.agents.v[0].rules.n, 0, "no rule");
	}
	arena_free(&a);
}

/* A chain of profiles, each in its own file. */
static void test_depth(struct place *pl, int n, bool good)
{
	struct arena a = { 0 };
	struct err err = { 0 };
	const struct profile *p;
	int r;

	for (int i = 1; i <= n; i++)
		put(&a, pl, arena_printf(&a, "d%d.yaml", i),
		    i == n ? "sandbox: {}\n" ME : arena_printf(&a, "extends: [d%d.yaml]\n", i + 1),
		    0644);
	r = load(&a, pl, "d1.yaml", &p, &err);
	tap_ok(pl->t, good ? r == 0 : r == -1 && strstr(err.msg, "more than 8 profiles") != NULL,
	       "a chain of %d", n);
	for (int i = 1; i <= n; i++)
		(void)unlink(path_join(&a, pl->dir, arena_printf(&a, "d%d.yaml", i)));
	arena_free(&a);
}

/* Chains that meet would multiply. */
static void test_many(struct place *pl)
{
	struct arena a = { 0 };
	struct err err = { 0 };
	const struct profile *p;

	for (int i = 1; i <= 7; i++)
		put(&a, pl, arena_printf(&a, "d%d.yaml", i),
		    i == 7 ? "sandbox: {}\n"
			   : arena_printf(&a, "extends: [d%d.yaml, d%d.yaml]\n", i + 1, i + 1),
		    0644);
	tap_ok(pl->t,
	       load(&a, pl, "d1.yaml", &p, &err) == -1 &&
		       strstr(err.msg, "more than 64 files") != NULL,
	       "not more than 64 files");
	for (int i = 1; i <= 7; i++)
		(void)unlink(path_join(&a, pl->dir, arena_printf(&a, "d%d.yaml", i)));
	arena_free(&a);
}

/* What a profile pulls in speaks for the caller as much as the profile does. */
static void test_trust(struct place *pl)
{
	struct arena a = { 0 };
	struct err err = { 0 };
	const struct profile *p;

	put(&a, pl, "p.yaml", "extends: [b.yaml]\nsandbox_file: s.yaml\n", 0644);
	put(&a, pl, "b.yaml", ME, 0666);
	put(&a, pl, "s.yaml", "{}\n", 0644);
	tap_ok(pl->t,
	       load(&a, pl, "p.yaml", &p, &err) == -1 && err.line == 1 && err.col == 11 &&
		       strstr(err.msg, "can be written by others") != NULL,
	       "a parent that others may write");
	put(&a, pl, "b.yaml", ME, 0644);
	put(&a, pl, "s.yaml", "{}\n", 0666);
	err = (struct err){ 0 };
	tap_ok(pl->t,
	       load(&a, pl, "p.yaml", &p, &err) == -1 && err.line == 2 && err.col == 15 &&
		       strstr(err.msg, "can be written by others") != NULL,
	       "a block that others may write");
	put(&a, pl, "s.yaml", "{}\n", 0644);
	err = (struct err){ 0 };
	tap_int(pl->t, load(&a, pl, "p.yaml", &p, &err), 0, "the same, closed");
	(void)rename(path_join(&a, pl->dir, "b.yaml"), path_join(&a, pl->dir, "real.yaml"));
	if (symlink("real.yaml", path_join(&a, pl->dir, "b.yaml")) != 0)
		abort();
	err = (struct err){ 0 };
	tap_ok(pl->t,
	       load(&a, pl, "p.yaml", &p, &err) == -1 && strstr(err.msg, "is a symlink") != NULL,
	       "a parent that is a link");
	(void)unlink(path_join(&a, pl->dir, "b.yaml"));
	if (mkfifo(path_join(&a, pl->dir, "b.yaml"), 0600) != 0)
		abort();
	err = (struct err){ 0 };
	tap_ok(pl->t,
	       load(&a, pl, "p.yaml", &p, &err) == -1 && strstr(err.msg, "is a FIFO") != NULL,
	       "a parent that is a FIFO");
	arena_free(&a);
}

/* The digest of all files changes with each of them; alone, it is that of the file. */
static void test_hash(struct place *pl)
{
	struct arena a = { 0 };
	struct err err = { 0 };
	const struct profile *x, *y, *z;
	struct profile_hashes hx, hy, hz;

	put(&a, pl, "p.yaml", "extends: [c.yaml]\n" ME, 0644);
	put(&a, pl, "c.yaml", "sandbox: {}\n", 0644);
	if (load(&a, pl, "p.yaml", &x, &err) != 0)
		abort();
	put(&a, pl, "c.yaml", "sandbox: {} # other bytes\n", 0644);
	if (load(&a, pl, "p.yaml", &y, &err) != 0)
		abort();
	put(&a, pl, "z.yaml", "sandbox: {}\n" ME, 0644);
	if (load(&a, pl, "z.yaml", &z, &err) != 0)
		abort();
	tap_ok(pl->t, strcmp(x->sha256, y->sha256) != 0, "other bytes of a parent, another digest");
	profile_hash_blocks(x, &hx);
	profile_hash_blocks(y, &hy);
	profile_hash_blocks(z, &hz);
	tap_str(pl->t, hx.sandbox_sha256, hy.sandbox_sha256, "the same sandbox");
	tap_str(pl->t, hx.sandbox_sha256, hz.sandbox_sha256, "as written in one file");
	tap_str(pl->t, hx.permissions_sha256, hz.permissions_sha256, "the same permissions");
	tap_str(pl->t, z->sha256, z->files.v[0].sha256, "of one file: its own");
	arena_free(&a);
}

static void test_builtin(struct place *pl)
{
	static const struct profile_param params[] = { { "workspace", "/work/space" } };
	struct profile_source src = pl->src;
	struct arena a = { 0 };
	const struct builtin *b;

	src.params = params;
	src.n_params = ARRAY_SIZE(params);
	for (size_t i = 0; (b = builtin_at(i)) != NULL; i++) {
		struct err err = { 0 };
		const struct profile *p = NULL;
		bool ok;

		if (i > 0)
			tap_ok(pl->t, strcmp(builtin_at(i - 1)->name, b->name) < 0, "%s: in order",
			       b->name);
		tap_ok(pl->t, builtin_find(builtin_word(b)) == b, "%s is found", b->name);
		src.path = builtin_word(b);
		ok = profile_load(&a, &src, &p, &err) == 0 ||
		     strstr(err.msg, "is required: give it with --param") != NULL;
		if (!tap_ok(pl->t, ok, "%s loads by its name", b->name))
			printf("# %s:%u:%u %s\n", err.file, err.line, err.col, err.msg);
		if (p != NULL)
			tap_ok(pl->t,
			       strcmp(p->files.v[0].name, b->name) == 0 &&
				       p->files.v[0].real == NULL,
			       "%s has no place", b->name);
	}
	tap_ok(pl->t, builtin_find("builtin:default") == NULL, "no prefix on the command line");
	arena_free(&a);
}

static void clean(const struct place *pl)
{
	static const char *const names[] = { "a.yaml", "b.yaml",    "c.yaml", "p.yaml",
					     "s.yaml", "real.yaml", "z.yaml" };
	struct arena a = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		(void)unlink(path_join(&a, pl->dir, names[i]));
	(void)rmdir(pl->dir);
	arena_free(&a);
}

int main(void)
{
	struct tap t = { 0 };
	struct place pl = { .t = &t, .dir = "/tmp/agentbox-extends.XXXXXX" };

	(void)umask(022);
	if (mkdtemp(pl.dir) == NULL)
		abort();
	pl.src = (struct profile_source){
		.fd = -1, .cwd = "/", .home = "/home/u", .uid = geteuid(), .gid = getegid()
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		test_row(&pl, &rows[i]);
	test_merge(&pl);
	test_override(&pl);
	test_depth(&pl, EXTENDS_DEPTH_MAX, true);
	test_depth(&pl, EXTENDS_DEPTH_MAX + 1, false);
	test_many(&pl);
	test_trust(&pl);
	test_hash(&pl);
	test_builtin(&pl);
	clean(&pl);
	return tap_done(&t);
}
