/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/exitcode.h"
#include "cli/context.h"
#include "cli/import.h"
#include "policy/lint.h"
#include "profile/show.h"

enum { OPT_DUMP = CLI_OWN, OPT_HASHES, OPT_FROM };

static const struct cli_option options[] = {
	{ .id = CLI_WORKSPACE },
	{ .id = CLI_PARAM },
	{ OPT_DUMP, 0, "dump", CLI_ARG_NONE, NULL,
	  "print the profile as one file, with what it pulls in" },
	{ OPT_HASHES, 0, "hashes", CLI_ARG_NONE, NULL,
	  "print the hashes of files and blocks, one JSON object a profile" },
	{ OPT_FROM, 0, "from-deepagents", CLI_ARG_VALUE, "FILE",
	  "print the profile that says what rules of Deep Agents in JSON say" },
	{ .id = CLI_JSON, .help = "print errors and warnings as one JSON object" },
};

struct lint_run {
	struct arena *arena;
	const struct cli_parsed *parsed;
	json_t *list; /* owned; NULL: lines on stderr */
	bool failed;
};

static json_t *place_json(const char *file, unsigned line, unsigned col, const char *message)
{
	json_t *o = json_object();

	json_put(o, "file", json_text(file));
	json_put(o, "line", line > 0 ? json_integer(line) : json_null());
	json_put(o, "col", col > 0 ? json_integer(col) : json_null());
	json_put(o, "message", json_text(message));
	return o;
}

static json_t *warnings_json(const lint_findings *found)
{
	json_t *list = json_array();

	for (size_t i = 0; i < found->n; i++) {
		const struct lint_finding *f = &found->v[i];
		json_t *o = place_json(f->pos.file, f->pos.line, f->pos.col, f->text);

		json_put(o, "check", json_text(f->name));
		(void)json_array_append_new(list, o);
	}
	return list;
}

static void report(struct lint_run *run, const char *name, const struct err *err,
		   const lint_findings *found)
{
	json_t *o;

	run->failed = run->failed || err->set;
	if (run->list == NULL) {
		if (err->set)
			cli_say_err(err);
		for (size_t i = 0; i < found->n; i++)
			cli_say("%s:%u:%u: warning: %s", found->v[i].pos.file, found->v[i].pos.line,
				found->v[i].pos.col, found->v[i].text);
		return;
	}
	o = json_object();
	json_put(o, "profile", json_text(name));
	json_put(o, "error",
		 err->set ? place_json(err->file, err->line, err->col, err->msg) : json_null());
	json_put(o, "warnings", warnings_json(found));
	(void)json_array_append_new(run->list, o);
}

static json_t *hashes_json(const struct profile *p)
{
	json_t *o = json_object();
	json_t *files = json_array();
	struct profile_hashes h;

	profile_hash_blocks(p, &h);
	for (size_t i = 0; i < p->files.n; i++) {
		json_t *file;

		if (p->files.v[i].values)
			continue;
		file = json_object();
		json_put(file, "file", json_text(p->files.v[i].name));
		json_put(file, "sha256", json_text(p->files.v[i].sha256));
		(void)json_array_append_new(files, file);
	}
	json_put(o, "profile", json_text(p->files.v[0].name));
	json_put(o, "sha256", json_text(p->sha256));
	json_put(o, "sandbox_sha256", json_text(h.sandbox_sha256));
	json_put(o, "permissions_sha256", json_text(h.permissions_sha256));
	json_put(o, "files", files);
	return o;
}

static int print_profile(struct lint_run *run, const struct profile *p, struct err *err)
{
	STRBUF_AUTO sb = { 0 };

	if (cli_has(run->parsed, OPT_HASHES)) {
		JSON_AUTO *o = hashes_json(p);

		(void)cli_print_json(STDOUT_FILENO, o);
	} else if (cli_has(run->parsed, OPT_DUMP)) {
		if (profile_show(run->arena, p, &sb, err) != 0)
			return -1;
		(void)fputs(strbuf_str(&sb), stdout);
	}
	return 0;
}

/* What only a run of that agent would find out. */
static int check_agents(struct arena *a, const struct profile *p, struct err *err)
{
	for (size_t i = 0; i < p->permissions.agents.n; i++) {
		const struct profile_agent *agent = &p->permissions.agents.v[i];

		if (policy_enforceable(p, agent_alone(a, agent), err) != 0 ||
		    policy_enforceable(p, agent_widest(a, agent), err) != 0)
			return -1;
	}
	return 0;
}

static void lint_one(struct lint_run *run, const char *name, const struct lint_host *host)
{
	struct cli_source src = cli_source_of(run->parsed);
	struct cli_context c = { .arena = run->arena };
	lint_findings found = { 0 };
	struct err err = { 0 };

	src.profile = name;
	/* Hashes with values that nobody gave would be those of no run. */
	src.stand_in = !cli_has(run->parsed, OPT_HASHES);
	if (cli_context_profile(&c, &src, &err) == 0) {
		lint_profile(run->arena, c.profile, host, &found);
		if (check_agents(run->arena, c.profile, &err) == 0)
			(void)print_profile(run, c.profile, &err);
	}
	report(run, name, &err, &found);
}

static int check_options(const struct cli_parsed *p, struct err *err)
{
	if (p->words.n == 0 || p->rest != NULL)
		return err_set(err, ERR_USAGE, 0,
			       "lint needs profiles, as in: agentbox lint profile.yaml");
	if (cli_has(p, OPT_DUMP) + cli_has(p, OPT_HASHES) + cli_has(p, CLI_JSON) > 1)
		return err_set(err, ERR_USAGE, 0, "give one of --dump, --hashes and --json");
	if (cli_has(p, OPT_DUMP) && p->words.n > 1)
		return err_set(err, ERR_USAGE, 0, "--dump prints one profile, not %zu", p->words.n);
	return 0;
}

static const char *own_path(struct arena *a)
{
	char buf[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", buf, sizeof(buf));

	return n <= 0 || (size_t)n >= sizeof(buf) ? NULL : arena_strndup(a, buf, (size_t)n);
}

static int import_file(struct arena *a, const struct cli_parsed *p, struct err *err)
{
	if (p->words.n > 0 || p->rest != NULL || p->options.n > 1)
		(void)err_set(err, ERR_USAGE, 0,
			      "--from-deepagents FILE takes no profile and no other option");
	else if (import_deepagents(a, cli_value(p, OPT_FROM), err) == 0 && fflush(stdout) != 0)
		(void)err_set(err, ERR_HOST, errno, "cannot write to standard output");
	return err->set ? EXITCODE_FAILED : 0;
}

static int command_lint(struct arena *a, int argc, char **argv, struct err *err)
{
	const struct lint_host host = { .path_env = getenv("PATH"), .self = own_path(a) };
	struct cli_parsed p;
	struct lint_run run = { .arena = a, .parsed = &p };

	if (cli_parse(a, &cmd_lint, argc, argv, &p, err) != 0)
		return EXITCODE_FAILED;
	if (p.help) {
		cli_print_help(&cmd_lint);
		return 0;
	}
	if (cli_has(&p, OPT_FROM))
		return import_file(a, &p, err);
	if (check_options(&p, err) != 0)
		return EXITCODE_FAILED;
	if (cli_has(&p, CLI_JSON))
		run.list = json_array();
	for (size_t i = 0; i < p.words.n; i++)
		lint_one(&run, p.words.v[i], &host);
	if (run.list != NULL) {
		JSON_AUTO *o = json_object();

		json_put(o, "version", json_integer(1));
		json_put(o, "ok", json_boolean(!run.failed));
		json_put(o, "profiles", run.list);
		(void)cli_print_json(STDOUT_FILENO, o);
	}
	if (fflush(stdout) != 0) {
		(void)err_set(err, ERR_HOST, errno, "cannot write to standard output");
		return EXITCODE_FAILED;
	}
	return run.failed ? EXITCODE_FAILED : 0;
}

const struct cli_command cmd_lint = {
	.name = "lint",
	.synopsis = "[-w DIR] [--param NAME=VALUE]... [--dump | --hashes | --json] PROFILE... | "
		    "--from-deepagents FILE",
	.summary = "errors and warnings of a profile: 0 none or warnings alone, 125 errors",
	.options = options,
	.n_options = ARRAY_SIZE(options),
	.examples = "  agentbox lint profile.yaml\n"
		    "  agentbox lint --dump build          what all it is made of\n"
		    "  agentbox lint --hashes -w . default\n",
	.run = command_lint,
};
