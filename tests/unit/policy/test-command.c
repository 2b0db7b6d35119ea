/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <unistd.h>

#include "tap.h"
#include "world.h"

/* Roots: @/w at /w and @/v at /v. PATH is given by each row. */
static void make_world(struct world *w)
{
	world_open(w);
	world_file(w, "usr/bin/tool", 0755);
	world_file(w, "usr/bin/box", 0755);
	world_link(w, "box", "usr/bin/ls");
	world_file(w, "usr/bin/data", 0644);
	world_file(w, "w/bin/tool", 0755);
	world_file(w, "w/bin/data", 0755);
	world_file(w, "w/here", 0755);
	world_file(w, "w/plain", 0644);
	world_mkdir(w, "w/adir");
	world_file(w, "w/sub/s", 0755);
	world_file(w, "v/other", 0755);
	world_file(w, "elsewhere/prog", 0755);
	world_link(w, "../elsewhere/prog", "w/escape");
	world_parse(w, "sandbox: {roots: [{path: '@/w', at: /w}, {path: '@/v', at: /v}]}\n"
		       "permissions: {agents: {me: {rules: [\n"
		       "  {operations: [read, write], paths: [/w/**, /v/**], mode: allow},\n"
		       "  {operations: [execute], commands: [none, rm *], mode: deny},\n"
		       "  {operations: [execute], commands: [tool, ./here, /v/other, '*'],"
		       " mode: allow}]}}}\n");
	world_facts(w);
}

struct row {
	const char *what;
	const char *argv0;
	const char *path_env;
	const char *exe;       /* NULL: none */
	const char *canonical; /* NULL: no file */
};

static const struct row rows[] = {
	{ "a bare name on PATH", "tool", "/usr/bin", "/usr/bin/tool", "/usr/bin/tool" },
	{ "the first directory wins", "tool", "/w/bin:/usr/bin", "/w/bin/tool", "/w/bin/tool" },
	{ "in the order of PATH", "tool", "/usr/bin:/w/bin", "/usr/bin/tool", "/usr/bin/tool" },
	{ "an absent directory is passed over", "tool", "/none:/usr/bin", "/usr/bin/tool",
	  "/usr/bin/tool" },
	{ "through a link of the base", "tool", "/bin", "/bin/tool", "/usr/bin/tool" },
	{ "a link keeps its name", "ls", "/usr/bin", "/usr/bin/ls", "/usr/bin/box" },
	{ "not executable first, executable later", "data", "/usr/bin:/w/bin", "/w/bin/data",
	  "/w/bin/data" },
	{ "only not executable", "data", "/usr/bin", "/usr/bin/data", NULL },
	{ "a directory is no program", "adir", "/w", NULL, NULL },
	{ "an empty entry is the working directory", "here", ":/usr/bin", "/w/here", "/w/here" },
	{ "at the end too", "here", "/usr/bin:", "/w/here", "/w/here" },
	{ "without one it is not looked at", "here", "/usr/bin", NULL, NULL },
	{ "an empty PATH is one empty entry", "here", "", "/w/here", "/w/here" },
	{ "an unknown name", "nope", "/usr/bin:/w/bin", NULL, NULL },
	{ "the empty name", "", "/usr/bin", NULL, NULL },
	{ "an absolute path", "/w/here", "/usr/bin", "/w/here", "/w/here" },
	{ "a relative path", "./here", "/usr/bin", "./here", "/w/here" },
	{ "a deeper one", "sub/s", "/usr/bin", "sub/s", "/w/sub/s" },
	{ "up and down", "../v/other", "/usr/bin", "../v/other", "/v/other" },
	{ "one that is absent", "./none", "/usr/bin", "./none", NULL },
	{ "one that is not executable", "./plain", "/usr/bin", "./plain", NULL },
	{ "a link out of the sandbox", "./escape", "/usr/bin", "./escape", NULL },
};

static int resolve(struct world *w, const char *argv0, const char *path_env, const char *workdir,
		   struct resolved *ret, struct err *err)
{
	char **argv = arena_array(&w->arena, 2, sizeof(*argv));
	const struct resolve_input in = {
		.profile = w->profile,
		.agent = w->agent,
		.facts = &w->facts,
		.view = &w->view,
		.access = w->access,
		.argv = argv,
		.path_env = path_env,
		.workdir = workdir,
	};

	argv[0] = arena_strdup(&w->arena, argv0);
	*ret = (struct resolved){ 0 };
	*err = (struct err){ 0 };
	return resolve_command(&w->arena, &in, ret, err);
}

static void test_lookup(struct tap *t)
{
	struct resolved r;
	struct err err;
	struct world w;

	make_world(&w);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		int got = resolve(&w, rows[i].argv0, rows[i].path_env, NULL, &r, &err);

		tap_int(t, got, 0, rows[i].what);
		tap_str(t, r.exe, rows[i].exe, "the path for execve");
		tap_str(t, r.exe_canonical, rows[i].canonical, "and where it leads");
		tap_int(t, r.file.found, rows[i].canonical != NULL, "a program is found or not");
	}
	world_close(&w);
}

static void test_outside(struct tap *t)
{
	struct resolved r;
	struct err err;
	struct world w;

	make_world(&w);
	tap_int(t, resolve(&w, world_path(&w, "elsewhere/prog"), "/usr/bin", NULL, &r, &err), -1,
		"a program of the host that is not in the sandbox");
	tap_int(t, err.code, ERR_OUTSIDE, "is outside");
	tap_ok(t, strstr(err.msg, "outside the sandbox") != NULL, "and said to be so");
	tap_int(t, resolve(&w, "/none/prog", "/usr/bin", NULL, &r, &err), 0,
		"one that the host has not either is just not found");
	tap_int(t, resolve(&w, world_path(&w, "w/here"), "/usr/bin", NULL, &r, &err), -1,
		"the host's path of a root that is elsewhere inside");
	world_close(&w);
}

static void workdir_is(struct tap *t, struct world *w, const char *cwd, const char *workdir,
		       const char *want)
{
	struct resolved r;
	struct err err;
	int got;

	w->facts.caller.cwd = cwd == NULL ? NULL : world_text(w, cwd);
	got = resolve(w, "tool", "/usr/bin", workdir, &r, &err);
	if (want == NULL) {
		tap_ok(t, got == -1 && err.code == ERR_OUTSIDE, "workdir '%s' is outside", workdir);
		return;
	}
	tap_ok(t, got == 0 && strcmp(r.workdir, want) == 0, "from '%s', workdir '%s': '%s'",
	       cwd == NULL ? "(gone)" : cwd, workdir == NULL ? "(none)" : workdir, want);
	if (got != 0)
		printf("# %s\n", err.msg);
}

static void test_workdir(struct tap *t)
{
	struct world w;

	make_world(&w);
	workdir_is(t, &w, "@/v", NULL, "/v");
	workdir_is(t, &w, "@/w/sub", NULL, "/w/sub");
	workdir_is(t, &w, "@/elsewhere", NULL, "/w");
	workdir_is(t, &w, "/usr", NULL, "/w");
	workdir_is(t, &w, "/", NULL, "/w");
	workdir_is(t, &w, NULL, NULL, "/w");
	workdir_is(t, &w, "@/w", "/v", "/v");
	workdir_is(t, &w, "@/w", "/usr/bin", "/usr/bin");
	workdir_is(t, &w, "@/w", "/bin", "/usr/bin");
	workdir_is(t, &w, "@/w", "/tmp", "/tmp");
	workdir_is(t, &w, "@/w", "/w/none", NULL);
	workdir_is(t, &w, "@/w", "/w/here", NULL);
	workdir_is(t, &w, "@/w", "/elsewhere", NULL);
	world_close(&w);
	world_open(&w);
	world_parse(&w, "sandbox: {}\npermissions: {agents: {me: allow}}\n");
	world_facts(&w);
	workdir_is(t, &w, "@", NULL, "/");
	world_close(&w);
	/* A root that is a file is no place to start in. */
	world_open(&w);
	world_file(&w, "f", 0644);
	world_mkdir(&w, "d");
	world_roots(&w, "{path: '@/f', at: /f}, {path: '@/d', at: /d}");
	world_facts(&w);
	workdir_is(t, &w, "/", NULL, "/d");
	world_close(&w);
}

static void test_patterns(struct tap *t)
{
	static const bool found[] = { false, false, true, true, true, false };
	struct resolved r;
	struct err err;
	struct world w;

	make_world(&w);
	w.facts.caller.cwd = world_path(&w, "w");
	tap_int(t, resolve(&w, "tool", "/usr/bin", NULL, &r, &err), 0, "a request");
	tap_int(t, (long long)r.n_pattern_files, ARRAY_SIZE(found), "a file for each pattern");
	for (size_t i = 0; i < ARRAY_SIZE(found) && i < r.n_pattern_files; i++)
		tap_ok(t, r.pattern_files[i].found == found[i], "pattern %zu: %s", i,
		       found[i] ? "found" : "not found");
	tap_ok(t, file_id_same(&r.pattern_files[2].id, &r.file.id), "`tool` is the tool asked for");
	tap_int(t, resolve(&w, "/w/bin/tool", "/usr/bin", NULL, &r, &err), 0, "another tool");
	tap_ok(t, r.file.found && !file_id_same(&r.pattern_files[2].id, &r.file.id),
	       "is another file");
	world_close(&w);
}

int main(void)
{
	struct tap t = { 0 };

	test_lookup(&t);
	test_outside(&t);
	test_workdir(&t);
	test_patterns(&t);
	return tap_done(&t);
}
