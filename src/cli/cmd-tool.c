/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/exitcode.h"
#include "base/suggest.h"
#include "cli/report.h"
#include "cli/result.h"
#include "cli/tool.h"

enum { OPT_OFFSET = CLI_OWN, OPT_LIMIT, OPT_NULL };

static const struct cli_option options[] = {
	{ .id = CLI_PROFILE },
	{ .id = CLI_PROFILE_FD },
	{ .id = CLI_AGENT },
	{ .id = CLI_ON_BEHALF_OF },
	{ .id = CLI_CONTEXT },
	{ .id = CLI_WORKSPACE },
	{ .id = CLI_PARAM },
	{ .id = CLI_WORKDIR, .help = "where a relative PATH begins, as seen inside" },
	{ .id = CLI_TIMEOUT },
	{ .id = CLI_STATE },
	{ .id = CLI_AUDIT_FD },
	{ .id = CLI_EXPECT },
	{ .id = CLI_JSON },
	{ OPT_OFFSET, 0, "offset", CLI_ARG_VALUE, "N", "read: leave out the first N lines" },
	{ OPT_LIMIT, 0, "limit", CLI_ARG_VALUE, "N", "read: at most N lines" },
	{ OPT_NULL, '0', "null", CLI_ARG_NONE, NULL, "ls: a NUL after each name, and no escapes" },
	{ .id = CLI_QUIET },
};

static const struct tool_verb verbs[] = {
	{ "read", PLAN_WORK_READ, ACTION_READ_FILE },
	{ "write", PLAN_WORK_WRITE, ACTION_WRITE_FILE },
	{ "ls", PLAN_WORK_LIST, ACTION_LS },
};

struct tool_args {
	struct cli_parsed parsed;
	struct tool_input in;
	bool json, quiet, null;
};

static const char *word_at(size_t i)
{
	return i < ARRAY_SIZE(verbs) ? verbs[i].name : NULL;
}

static const struct tool_verb *find_verb(const char *name, struct err *err)
{
	const char *best = NULL;
	size_t distance = 0;

	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++) {
		if (strcmp(verbs[i].name, name) == 0)
			return &verbs[i];
		suggest_best(name, verbs[i].name, &best, &distance);
	}
	(void)err_set(err, ERR_USAGE, 0, "unknown tool '%s' (%s%s%s)", name,
		      best != NULL ? "did you mean '" : "read, write and ls are there",
		      best != NULL ? best : "", best != NULL ? "'?" : "");
	return NULL;
}

static int parse_lines(const struct cli_parsed *p, int id, const char *name, uint64_t *ret,
		       struct err *err)
{
	const char *text = cli_value(p, id);
	char *end;

	if (text == NULL)
		return 0;
	errno = 0;
	*ret = strtoull(text, &end, 10);
	if (errno != 0 || *text < '0' || *text > '9' || *end != '\0')
		return err_set(err, ERR_USAGE, 0, "--%s '%s': write a number of lines", name, text);
	return 0;
}

static int check_fits(const struct tool_verb *verb, const struct cli_parsed *p, struct err *err)
{
	static const struct {
		int id;
		const char *name;
		enum plan_work_kind kind;
	} own[] = {
		{ OPT_OFFSET, "--offset", PLAN_WORK_READ },
		{ OPT_LIMIT, "--limit", PLAN_WORK_READ },
		{ OPT_NULL, "--null", PLAN_WORK_LIST },
	};

	for (size_t i = 0; i < ARRAY_SIZE(own); i++) {
		if (cli_has(p, own[i].id) && verb->kind != own[i].kind)
			return err_set(err, ERR_USAGE, 0, "%s is not for 'tool %s'", own[i].name,
				       verb->name);
	}
	if (cli_has(p, OPT_NULL) && cli_has(p, CLI_JSON))
		return err_set(err, ERR_USAGE, 0, "give --null or --json, not both");
	return 0;
}

static int parse_args(struct arena *a, int argc, char **argv, struct tool_args *args,
		      struct tool *t, struct err *err)
{
	struct cli_parsed *p = &args->parsed;
	const char *words[2];
	size_t n = 0;
	size_t rest = 0;

	if (cli_parse(a, &cmd_tool, argc, argv, p, err) != 0)
		return -1;
	if (p->help)
		return 0;
	args->json = cli_has(p, CLI_JSON);
	while (p->rest != NULL && p->rest[rest] != NULL)
		rest++;
	for (; n < 2 && n < p->words.n + rest; n++)
		words[n] = n < p->words.n ? p->words.v[n] : p->rest[n - p->words.n];
	if (n != 2 || p->words.n + rest > 2)
		return err_set(err, ERR_USAGE, 0,
			       "tool needs read, write or ls, and one path, as in: agentbox tool "
			       "-p FILE read /workspace/notes.txt");
	t->verb = find_verb(words[0], err);
	if (t->verb == NULL || check_fits(t->verb, p, err) != 0)
		return -1;
	t->work.lines = UINT64_MAX;
	if (parse_lines(p, OPT_OFFSET, "offset", &t->work.skip, err) != 0 ||
	    parse_lines(p, OPT_LIMIT, "limit", &t->work.lines, err) != 0)
		return -1;
	args->quiet = cli_has(p, CLI_QUIET);
	args->null = cli_has(p, OPT_NULL);
	args->in = (struct tool_input){
		.source = cli_source_of(p),
		.path = words[1],
		.workdir = cli_value(p, CLI_WORKDIR),
		.environ = environ,
		.capture = args->json || t->verb->kind == PLAN_WORK_LIST,
	};
	if (cli_audit_fd(p, &t->prep.context.audit_fd, err) != 0)
		return -1;
	return cli_timeout(p, &args->in.timeout_ms, err);
}

static void note_cut(const struct tool *t, const struct outcome_work *w)
{
	if (t->verb->kind == PLAN_WORK_LIST)
		cli_say("%s: there is more than fits into %llu bytes of names; the list is cut",
			t->path, (unsigned long long)t->work.bytes);
	else
		cli_say("%s: cut after %llu bytes of a file of %llu: ask for a part of it with "
			"--offset and --limit",
			t->path, (unsigned long long)w->bytes, (unsigned long long)w->size);
}

static int run(struct tool_args *args, struct tool *t, struct tool_list *l, struct outcome *out,
	       struct err *err)
{
	struct prepared *p = &t->prep;
	struct run_attachment audit, list;
	const struct run_attachment *const attachments[] = { &audit, &list };
	const struct run_options opt = {
		.stdin_mode = t->verb->kind == PLAN_WORK_WRITE ? RUN_STDIN_CALLER : RUN_STDIN_NULL,
		.capture = args->in.capture,
		.cgroup = &p->cgroup,
		.namespaces = p->namespaces,
		.caller_stdio = { STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO },
	};
	bool is_list = t->verb->kind == PLAN_WORK_LIST;

	if (!args->quiet)
		report_weaker(p);
	p->record.plan = p->plan;
	record_attachment(&p->record, &audit);
	tool_list_attachment(l, &list);
	if (run_plan(p->plan, &opt, attachments, is_list ? 2 : 1, out, err) != 0) {
		record_failure(&p->record, err);
		return cli_rc(err);
	}
	if (out->err.set)
		*err = out->err;
	if (!args->quiet)
		report_limit(p->plan, out);
	record_say(&p->record);
	if (!args->quiet && out->work.cut && out->work.errnum == 0)
		note_cut(t, &out->work);
	if (out->status != OUTCOME_EXITED)
		return outcome_rc(out);
	if (out->exit_code != 0 && !err->set)
		return tool_failed(t, &out->work, err);
	if (err->set) /* what was read did not arrive */
		return EXITCODE_TOOL;
	if (l->broken) {
		(void)err_set(err, ERR_INTERNAL, 0, "the list of %s cannot be read", t->path);
		return EXITCODE_FAILED;
	}
	return 0;
}

static int print(const struct tool_args *args, struct tool *t, const struct tool_list *l,
		 struct outcome *out, int rc, struct err *err)
{
	bool is_list = t->verb != NULL && t->verb->kind == PLAN_WORK_LIST;
	struct prepared *p = &t->prep;
	struct result r = {
		.rc = rc,
		.context = &p->context,
		.record = p->began ? &p->record : NULL,
		.plan = p->plan,
		.decision = p->decided ? &p->decision : NULL,
		.outcome = p->plan != NULL ? out : NULL,
		.err = err,
		.error_code = t->code,
	};
	int e;

	if (args->json) {
		JSON_AUTO *o = result_json(&r, !is_list);

		if (is_list)
			json_put(o, "entries", rc == 0 ? tool_list_json(l) : json_null());
		return report_object(STDOUT_FILENO, o, "result", rc);
	}
	if (!is_list || rc != 0)
		return rc;
	e = tool_list_print(l, args->null);
	if (e == 0)
		return rc;
	(void)err_set(err, ERR_HOST, -e, "standard output");
	return EXITCODE_FAILED;
}

static int command_tool(struct arena *a, int argc, char **argv, struct err *err)
{
	struct tool_args args = { 0 };
	struct tool t;
	struct tool_list list = { .tool = &t };
	struct outcome out = { 0 };
	int rc = EXITCODE_FAILED;

	tool_init(&t, a);
	if (parse_args(a, argc, argv, &args, &t, err) == 0) {
		if (args.parsed.help) {
			cli_print_help(&cmd_tool);
			return 0;
		}
		rc = tool_prepare(a, &args.in, &t, err);
		if (rc == 0)
			rc = run(&args, &t, &list, &out, err);
	}
	/* A reader that is gone is an error like any other. */
	(void)signal(SIGPIPE, SIG_IGN);
	rc = print(&args, &t, &list, &out, rc, err);
	if (!err->set && t.prep.decided && t.prep.decision.verdict != PROFILE_ALLOW)
		report_verdict(&t.prep);
	if (t.prep.decided && t.prep.context.agent == NULL && !args.quiet)
		report_agents(&t.prep);
	outcome_free(&out);
	tool_close(&t);
	report_interrupt(&out, err);
	return rc;
}

const struct cli_command cmd_tool = {
	.name = "tool",
	.synopsis = "-p FILE [-a ID] read|write|ls PATH",
	.summary = "read, write or list as a file tool of the agent, if the profile allows it",
	.options = options,
	.n_options = ARRAY_SIZE(options),
	.examples = "  agentbox tool -p p.yaml -a alice read /workspace/notes.txt --limit 100\n"
		    "  agentbox tool -p p.yaml -a alice write /workspace/notes.txt <notes.txt\n"
		    "  agentbox tool -p p.yaml -a alice ls /workspace --json\n",
	.word_at = word_at,
	.run = command_tool,
};
