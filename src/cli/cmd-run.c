/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/exitcode.h"
#include "cli/network.h"
#include "cli/report.h"
#include "cli/result.h"
#include "cli/violations.h"
#include "run/tty.h"

enum {
	OPT_INTERACTIVE = CLI_OWN,
	OPT_TTY,
	OPT_NO_TTY,
	OPT_COMMAND,
	OPT_ENV,
	OPT_JSON,
	OPT_STATUS_FD,
	OPT_DRY_RUN,
	OPT_DIE,
};

static const struct cli_option options[] = {
	{ .id = CLI_PROFILE },
	{ .id = CLI_PROFILE_FD },
	{ .id = CLI_AGENT },
	{ .id = CLI_ON_BEHALF_OF },
	{ .id = CLI_CONTEXT },
	{ .id = CLI_WORKSPACE },
	{ .id = CLI_PARAM },
	{ OPT_INTERACTIVE, 'i', "interactive", CLI_ARG_NONE, NULL,
	  "pass standard input on (default: none, unless stdin and stdout are terminals)" },
	{ OPT_TTY, 't', "tty", CLI_ARG_NONE, NULL,
	  "a terminal inside (default: when stdin and stdout are one)" },
	{ OPT_NO_TTY, 0, "no-tty", CLI_ARG_NONE, NULL, "pipes inside, also on a terminal" },
	{ OPT_COMMAND, 'c', "command", CLI_ARG_VALUE, "STRING", "run 'sh -c STRING' inside" },
	{ .id = CLI_WORKDIR },
	{ OPT_ENV, 0, "env", CLI_ARG_REPEATED, "NAME", "pass on a variable of the caller" },
	{ .id = CLI_TIMEOUT },
	{ OPT_JSON, 0, "json", CLI_ARG_OPTIONAL, "split",
	  "print one JSON object instead of the output" },
	{ OPT_STATUS_FD, 0, "status-fd", CLI_ARG_VALUE, "N",
	  "write the JSON object, without output, to descriptor N" },
	{ .id = CLI_AUDIT_FD },
	{ .id = CLI_STATE },
	{ .id = CLI_EXPECT },
	{ OPT_DIE, 0, "die-with-parent", CLI_ARG_NONE, NULL,
	  "end the run when the calling process ends" },
	{ OPT_DRY_RUN, 0, "dry-run", CLI_ARG_NONE, NULL, "print the plan as JSON, run nothing" },
	{ .id = CLI_QUIET },
};

struct run_args {
	struct cli_parsed parsed;
	char **argv;
	bool json, split, dry_run, quiet;
	bool plan_shown; /* the plan was the one object */
	int status_fd;   /* -1: none */
	int audit_fd;    /* 0: none */
	uint64_t timeout_ms;
	const char **env_pass;
	size_t n_env_pass;
	enum run_stdin stdin_mode;
	bool terminal;
	struct network network;
};

/* Known before parsing, so that a wrong command line is answered in JSON too. */
static bool wants_json(int argc, char **argv, bool *split)
{
	bool json = false;

	*split = false;
	for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++) {
		json = json || strcmp(argv[i], "--json") == 0 ||
		       strncmp(argv[i], "--json=", 7) == 0;
		*split = *split || strcmp(argv[i], "--json=split") == 0;
	}
	return json;
}

static int parse_status_fd(const char *text, int *ret, struct err *err)
{
	char *end;
	long v;
	int flags;

	*ret = -1;
	if (text == NULL)
		return 0;
	errno = 0;
	v = strtol(text, &end, 10);
	if (errno != 0 || end == text || *end != '\0' || v < 1 || v > INT_MAX ||
	    fcntl((int)v, F_GETFD) < 0)
		return err_set(err, ERR_USAGE, 0, "--status-fd '%s' is no open descriptor", text);
	flags = fcntl((int)v, F_GETFL);
	if (flags < 0 || (flags & O_PATH) != 0 || (flags & O_ACCMODE) == O_RDONLY)
		return err_set(err, ERR_USAGE, 0, "--status-fd '%s' cannot be written to", text);
	*ret = (int)v;
	return 0;
}

/* Known before parsing as well: -1 when none is named that is open. */
static int wants_status(int argc, char **argv)
{
	static const char name[] = "--status-fd";
	const size_t len = sizeof(name) - 1;

	for (int i = 0; i < argc && argv[i] != NULL && strcmp(argv[i], "--") != 0; i++) {
		struct err none = { 0 };
		const char *text = NULL;
		int fd;

		if (strncmp(argv[i], name, len) == 0 && argv[i][len] == '=')
			text = argv[i] + len + 1;
		else if (strcmp(argv[i], name) == 0 && i + 1 < argc)
			text = argv[i + 1];
		if (text != NULL && parse_status_fd(text, &fd, &none) == 0)
			return fd;
	}
	return -1;
}

static int parse_command(struct arena *a, struct run_args *args, struct err *err)
{
	const char *string = cli_value(&args->parsed, OPT_COMMAND);
	const struct cli_parsed *p = &args->parsed;

	if (p->words.n > 0)
		return err_set(err, ERR_USAGE, 0,
			       "unexpected '%s': write the command after --, as in: agentbox run "
			       "-p FILE -- COMMAND",
			       p->words.v[0]);
	if (string != NULL && p->rest != NULL)
		return err_set(err, ERR_USAGE, 0, "give -c STRING or -- COMMAND, not both");
	if (string != NULL) {
		args->argv = arena_array(a, 4, sizeof(char *));
		args->argv[0] = arena_strdup(a, "sh");
		args->argv[1] = arena_strdup(a, "-c");
		args->argv[2] = arena_strdup(a, string);
		return 0;
	}
	if (p->rest == NULL || p->rest[0] == NULL)
		return err_set(err, ERR_USAGE, 0, "no command: write it after --, or as -c STRING");
	args->argv = p->rest;
	return 0;
}

static int parse_json(struct run_args *args, struct err *err)
{
	const struct cli_given *g = cli_given(&args->parsed, OPT_JSON, NULL);

	if (g != NULL && g->value != NULL && strcmp(g->value, "split") != 0)
		return err_set(err, ERR_USAGE, 0, "--json=%s: the only form is --json=split",
			       g->value);
	return 0;
}

/* -t has no place beside a captured output, or without a terminal to be relayed. */
static int check_terminal(const struct run_args *args, struct err *err)
{
	if (!cli_has(&args->parsed, OPT_TTY))
		return 0;
	if (cli_has(&args->parsed, OPT_NO_TTY))
		return err_set(err, ERR_USAGE, 0, "give -t or --no-tty, not both");
	if (args->json)
		return err_set(err, ERR_USAGE, 0,
			       "-t and --json: the output is kept for the result, so there is no "
			       "terminal to give; leave one of them out");
	if (!tty_same(STDIN_FILENO, STDOUT_FILENO))
		return err_set(err, ERR_USAGE, 0,
			       "-t: standard input and standard output are not one terminal; "
			       "leave it out");
	return 0;
}

static int parse_args(struct arena *a, int argc, char **argv, struct run_args *args,
		      struct err *err)
{
	if (cli_parse(a, &cmd_run, argc, argv, &args->parsed, err) != 0)
		return -1;
	if (args->parsed.help)
		return 0;
	/* First, so that every later complaint reaches it. */
	if (parse_status_fd(cli_value(&args->parsed, OPT_STATUS_FD), &args->status_fd, err) != 0 ||
	    parse_json(args, err) != 0 || cli_audit_fd(&args->parsed, &args->audit_fd, err) != 0)
		return -1;
	/* What was only the value of another option does not count after all. */
	args->json = cli_has(&args->parsed, OPT_JSON);
	args->split = args->json && cli_value(&args->parsed, OPT_JSON) != NULL;
	args->dry_run = cli_has(&args->parsed, OPT_DRY_RUN);
	args->quiet = cli_has(&args->parsed, CLI_QUIET);
	if (args->status_fd == STDOUT_FILENO && (args->json || args->dry_run))
		return err_set(err, ERR_USAGE, 0,
			       "--status-fd 1 and --%s would both print an object on standard "
			       "output: give another descriptor",
			       args->json ? "json" : "dry-run");
	args->env_pass = arena_array(a, args->parsed.options.n, sizeof(*args->env_pass));
	for (size_t i = 0; i < args->parsed.options.n; i++) {
		const struct cli_given *g = &args->parsed.options.v[i];

		if (g->id != OPT_ENV)
			continue;
		if (strpbrk(g->value, "=*") != NULL || g->value[0] == '\0')
			return err_set(
				err, ERR_USAGE, 0,
				"--env takes a name, never a value: command lines are public "
				"(use env.set in the profile, or export the variable)");
		args->env_pass[args->n_env_pass++] = g->value;
	}
	if (cli_timeout(&args->parsed, &args->timeout_ms, err) != 0)
		return -1;
	if (check_terminal(args, err) != 0)
		return -1;
	return parse_command(a, args, err);
}

/* Input that nobody will read, waiting: say so once, or the user wonders. */
static bool stdin_is_waiting(void)
{
	struct pollfd p = { .fd = STDIN_FILENO, .events = POLLIN };
	struct stat st;
	int n = 0;

	if (fstat(STDIN_FILENO, &st) != 0)
		return false;
	if (S_ISREG(st.st_mode))
		return lseek(STDIN_FILENO, 0, SEEK_CUR) < st.st_size;
	if (!S_ISFIFO(st.st_mode) && !S_ISSOCK(st.st_mode))
		return false;
	return poll(&p, 1, 0) == 1 && (p.revents & POLLIN) != 0 &&
	       ioctl(STDIN_FILENO, FIONREAD, &n) == 0 && n > 0;
}

/* Where both are a terminal, -i -t is meant; but a background job of a shell that did not ask for
 * it runs on without being stopped for either. */
static void choose_stdin(struct run_args *args)
{
	bool asked = cli_has(&args->parsed, OPT_TTY);
	bool meant = isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1 &&
		     tty_in_foreground(STDIN_FILENO);

	args->stdin_mode = RUN_STDIN_NULL;
	if (cli_has(&args->parsed, OPT_INTERACTIVE) || asked || meant)
		args->stdin_mode = RUN_STDIN_CALLER;
	args->terminal = asked || (meant && !args->json && !cli_has(&args->parsed, OPT_NO_TTY) &&
				   tty_same(STDIN_FILENO, STDOUT_FILENO));
}

/* After the run: what comes in while the command runs is missed as well. */
static void note_stdin(const struct run_args *args)
{
	if (args->stdin_mode == RUN_STDIN_NULL && !args->quiet && stdin_is_waiting())
		cli_say("input is waiting on stdin, but was not passed on (use -i)");
}

/* The kernel says that something is not there, not what. */
static void name_missing(struct arena *a, const struct prepared *prep, struct outcome *out)
{
	struct resolve_missing missing;

	if (out->status != OUTCOME_NOEXEC || out->err.errnum != ENOENT ||
	    !resolve_missing(a, &prep->context.view, prep->plan->workdir, prep->plan->exe,
			     &missing))
		return;
	out->err = (struct err){ 0 };
	(void)resolve_missing_err(&missing, &out->err);
}

static int run_prepared(struct arena *a, struct run_args *args, struct prepared *prep,
			struct outcome *out, struct err *err)
{
	struct violations violations = { .arena = a, .prepared = prep, .quiet = args->quiet };
	struct run_attachment relay_end, roots, audit, protect, masks, relay;
	const struct run_attachment *const attachments[] = { &relay_end, &roots, &audit,
							     &protect,   &masks, &relay };
	bool named;
	struct run_options opt = {
		.stdin_mode = args->stdin_mode,
		.terminal = args->terminal,
		.capture = args->json,
		.capture_split = args->split,
		.cgroup = &prep->cgroup,
		.namespaces = prep->namespaces,
		.die_with_caller = cli_has(&args->parsed, OPT_DIE),
		.caller_stdio = { STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO },
	};

	if (!args->quiet)
		report_weaker(prep);
	prep->record.plan = prep->plan;
	prepare_attachment(prep, &roots);
	record_attachment(&prep->record, &audit);
	violations_attachment(&violations, &protect);
	violations_masks(&violations, &masks);
	named = network_attach(&args->network, prep, &prep->record, &relay, &relay_end);
	if (run_plan(prep->plan, &opt, named ? attachments : attachments + 1,
		     ARRAY_SIZE(attachments) - (named ? 0 : 2), out, err) != 0) {
		record_failure(&prep->record, err);
		return cli_rc(err);
	}
	name_missing(a, prep, out);
	if (out->err.set)
		*err = out->err;
	if (!args->quiet)
		report_limit(prep->plan, out);
	note_stdin(args);
	if (!args->quiet)
		network_say(&args->network);
	record_say(&prep->record);
	return outcome_rc(out);
}

static int run_request(struct arena *a, struct run_args *args, struct prepared *prep,
		       struct outcome *out, struct err *err)
{
	struct prepare_input in = {
		.source = cli_source_of(&args->parsed),
		.argv = args->argv,
		.environ = environ,
		.workdir = cli_value(&args->parsed, CLI_WORKDIR),
		.env_pass = args->env_pass,
		.n_env_pass = args->n_env_pass,
		.timeout_ms = args->timeout_ms,
		.capture = args->json,
		.dry_run = args->dry_run,
		.judge_later = !args->dry_run,
	};
	int rc;

	prep->context.audit_fd = args->audit_fd;
	rc = prepare_request(a, &in, prep, err);
	if (rc != 0)
		return rc;
	if (args->dry_run) {
		JSON_AUTO *plan = plan_json(prep->plan);

		args->plan_shown = true;
		return report_object(STDOUT_FILENO, plan, "plan", 0);
	}
	return run_prepared(a, args, prep, out, err);
}

static int report(const struct run_args *args, struct prepared *prep, struct outcome *out, int rc,
		  struct err *err)
{
	struct result r = {
		.rc = rc,
		.context = &prep->context,
		.record = prep->began ? &prep->record : NULL,
		.plan = prep->plan,
		.decision = prep->decided ? &prep->decision : NULL,
		.outcome = prep->plan != NULL && !args->dry_run ? out : NULL,
		.network = &args->network,
		.err = err,
		.split = args->split,
	};

	/* The command is gone; a reader that is gone as well is an error like any other. */
	(void)signal(SIGPIPE, SIG_IGN);
	if (args->json && !args->plan_shown) {
		JSON_AUTO *o = result_json(&r, true);

		r.rc = report_object(STDOUT_FILENO, o, "result", r.rc);
	}
	if (args->status_fd >= 0 && !(args->status_fd == STDOUT_FILENO && args->json)) {
		JSON_AUTO *o = result_json(&r, false);

		r.rc = report_object(args->status_fd, o, "result", r.rc);
	}
	if (!err->set && prep->decided && prep->decision.verdict != PROFILE_ALLOW)
		report_verdict(prep);
	if (prep->decided && prep->context.agent == NULL && !args->quiet)
		report_agents(prep);
	return r.rc;
}

static int command_run(struct arena *a, int argc, char **argv, struct err *err)
{
	struct run_args args = { .status_fd = -1 };
	struct prepared prep = { 0 };
	struct outcome out = { 0 };
	int rc = EXITCODE_FAILED;

	args.json = wants_json(argc, argv, &args.split);
	args.status_fd = wants_status(argc, argv);
	prepare_init(&prep, a);
	if (parse_args(a, argc, argv, &args, err) == 0) {
		if (args.parsed.help) {
			cli_print_help(&cmd_run);
			return 0;
		}
		choose_stdin(&args);
		rc = run_request(a, &args, &prep, &out, err);
	}
	rc = report(&args, &prep, &out, rc, err);
	outcome_free(&out);
	prepare_close(&prep);
	report_interrupt(&out, err);
	return rc;
}

const struct cli_command cmd_run = {
	.name = "run",
	.synopsis = "-p FILE [OPTIONS] -- COMMAND [ARG...]",
	.summary = "run a command in a sandbox, if the profile allows it",
	.options = options,
	.n_options = ARRAY_SIZE(options),
	.examples = "  agentbox run -p profiles/default.yaml -w . -- make test\n"
		    "  agentbox run -p p.yaml -a alice --timeout 30s --json -c 'ls | wc -l'\n",
	.run = command_run,
};
