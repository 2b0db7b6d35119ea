/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/exitcode.h"
#include "cli/check.h"

enum { OPT_BATCH = CLI_OWN };

static const struct cli_option options[] = {
	{ .id = CLI_PROFILE },
	{ .id = CLI_PROFILE_FD },
	{ .id = CLI_AGENT },
	{ .id = CLI_ON_BEHALF_OF },
	{ .id = CLI_CONTEXT },
	{ .id = CLI_WORKSPACE },
	{ .id = CLI_PARAM },
	{ .id = CLI_STATE },
	{ .id = CLI_JSON },
	{ OPT_BATCH, 0, "batch", CLI_ARG_VALUE, "FILE",
	  "a decision for each line: principal, action, resource, expected, labels" },
};

static int check_one(struct arena *a, const struct cli_parsed *p, struct check *c, struct err *err)
{
	if (check_decide(a, c, err) != 0)
		return cli_rc(err);
	if (c->context.agent == NULL)
		cli_say("%s", cli_agent_hint(&c->context, cli_value(p, CLI_AGENT)));
	if (cli_has(p, CLI_JSON)) {
		JSON_AUTO *o = check_json(c);

		(void)cli_print_json(STDOUT_FILENO, o);
	} else {
		(void)printf("%s: %s\n", check_verdict(c->decision.verdict), c->decision.reason);
	}
	return check_rc(&c->decision);
}

static int check_run(struct arena *a, const struct cli_parsed *p, struct check *c, struct err *err)
{
	struct cli_source src = cli_source_of(p);
	const char *batch = cli_value(p, OPT_BATCH);

	src.state_optional = true;
	if (cli_context_load(&c->context, &src, err) != 0)
		return cli_rc(err);
	return batch != NULL ? check_batch(a, p, batch, c, err) : check_one(a, p, c, err);
}

/* The resource of run_command is a command line: its words follow, after "--" or not. */
static void collect_words(struct arena *a, const struct cli_parsed *p, struct check *c)
{
	ARRAY_OF(const char *) words = { 0 };

	for (size_t i = 1; i < p->words.n; i++)
		*array_push(a, &words) = p->words.v[i];
	for (size_t i = 0; p->rest != NULL && p->rest[i] != NULL; i++)
		*array_push(a, &words) = p->rest[i];
	c->words = words.v;
	c->n_words = words.n;
}

static const char *word_at(size_t i)
{
	return i < ACTION_MAX ? action_name((enum action)i) : NULL;
}

static int check_usage(struct arena *a, const struct cli_parsed *p, struct check *c,
		       struct err *err)
{
	bool batch = cli_has(p, OPT_BATCH);

	if (batch && (p->words.n > 0 || p->rest != NULL))
		return err_set(err, ERR_USAGE, 0, "give --batch FILE or one action, not both");
	if (batch)
		return 0;
	if (p->words.n > 0)
		collect_words(a, p, c);
	if (p->words.n == 0 || c->n_words == 0)
		return err_set(
			err, ERR_USAGE, 0,
			"check needs an action and a resource, as in: agentbox check -p FILE "
			"read_file /workspace/notes.txt");
	c->action_word = p->words.v[0];
	if (c->n_words > 1 && strcmp(c->action_word, action_name(ACTION_RUN_COMMAND)) != 0)
		return err_set(err, ERR_USAGE, 0, "one resource for '%s', not %zu", c->action_word,
			       c->n_words);
	return 0;
}

static int command_check(struct arena *a, int argc, char **argv, struct err *err)
{
	struct cli_parsed p;
	struct check c = { 0 };
	int rc;

	cli_context_init(&c.context, a);
	if (cli_parse(a, &cmd_check, argc, argv, &p, err) != 0)
		return EXITCODE_FAILED;
	if (p.help) {
		cli_print_help(&cmd_check);
		return 0;
	}
	if (check_usage(a, &p, &c, err) != 0)
		return EXITCODE_FAILED;
	rc = check_run(a, &p, &c, err);
	cli_context_close(&c.context);
	return rc;
}

const struct cli_command cmd_check = {
	.name = "check",
	.synopsis = "-p FILE [-a ID] ACTION RESOURCE... | --batch FILE",
	.summary = "one decision, without a request: 0 allow, 120 deny, 121 outside, 122 interrupt",
	.options = options,
	.n_options = ARRAY_SIZE(options),
	.examples = "  agentbox check -p p.yaml -a bob read_file /data/reports/q3.md\n"
		    "  agentbox check -p p.yaml -a alice run_command git status\n",
	.word_at = word_at,
	.run = command_check,
};
