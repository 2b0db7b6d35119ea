/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdio.h>
#include <string.h>

#include "base/exitcode.h"
#include "cli/cli.h"

#define WIDTH       80
#define LEFT_COLUMN 31

/* Words from column @at on, further lines from @left. */
static void print_wrapped(const char *text, size_t at, size_t left)
{
	while (*text != '\0') {
		size_t len = strcspn(text, " ");

		if (at > left && at + 1 + len >= WIDTH) {
			(void)printf("\n%*s", (int)left, "");
			at = left;
		} else if (at > left) {
			(void)putchar(' ');
			at++;
		}
		(void)printf("%.*s", (int)len, text);
		at += len;
		text += len;
		text += strspn(text, " ");
	}
	(void)putchar('\n');
}

static void print_option(const struct cli_option *o)
{
	static const char *const before[] = {
		[CLI_ARG_NONE] = "",
		[CLI_ARG_VALUE] = " ",
		[CLI_ARG_OPTIONAL] = "[=",
		[CLI_ARG_REPEATED] = " ",
	};
	char left[64];
	int n;

	(void)snprintf(left, sizeof(left), "%c%c%s--%s%s%s%s", o->short_name != '\0' ? '-' : ' ',
		       o->short_name != '\0' ? o->short_name : ' ',
		       o->short_name != '\0' ? ", " : "  ", o->name, before[o->arg],
		       o->arg == CLI_ARG_NONE ? "" : o->value,
		       o->arg == CLI_ARG_OPTIONAL ? "]" : "");
	n = printf("  %-*s ", LEFT_COLUMN - 3, left);
	print_wrapped(o->help, n < 0 ? LEFT_COLUMN : (size_t)n, LEFT_COLUMN);
}

void cli_print_help(const struct cli_command *cmd)
{
	int n = printf("usage: agentbox %s ", cmd->name);

	print_wrapped(cmd->synopsis, n < 0 ? 0 : (size_t)n, n < 0 ? 0 : (size_t)n);
	(void)printf("\n%s\n", cmd->summary);
	if (cmd->n_options > 0)
		(void)printf("\noptions:\n");
	for (size_t i = 0; i < cmd->n_options; i++) {
		const struct cli_option o = cli_option_at(cmd, i);

		print_option(&o);
	}
	if (cmd->examples != NULL)
		(void)printf("\nexamples:\n%s", cmd->examples);
}

void cli_print_usage(FILE *f)
{
	const struct cli_command *cmd;

	(void)fprintf(f, "usage: agentbox COMMAND [OPTIONS]\n\ncommands:\n");
	for (size_t i = 0; (cmd = cli_command_at(i)) != NULL; i++)
		(void)fprintf(f, "  %-8s %s\n", cmd->name, cmd->summary);
	(void)fprintf(f,
		      "\n'agentbox help COMMAND' tells more, agentbox(1) all. 'agentbox --version' "
		      "prints the\nversion.\n");
}

static const char *word_at(size_t i)
{
	const struct cli_command *cmd = cli_command_at(i);

	return cmd == NULL ? NULL : cmd->name;
}

static int command_help(struct arena *a, int argc, char **argv, struct err *err)
{
	const struct cli_command *cmd = &cmd_help;
	struct cli_parsed p;

	if (cli_parse(a, cmd, argc, argv, &p, err) != 0)
		return EXITCODE_FAILED;
	if (p.words.n > 1 || p.rest != NULL) {
		(void)err_set(err, ERR_USAGE, 0,
			      "help takes one command, as in: agentbox help run");
		return EXITCODE_FAILED;
	}
	if (p.words.n == 1)
		cmd = cli_command_find(p.words.v[0], err);
	if (cmd == NULL)
		return EXITCODE_FAILED;
	if (p.words.n == 0 && !p.help)
		cli_print_usage(stdout);
	else
		cli_print_help(cmd);
	return 0;
}

const struct cli_command cmd_help = {
	.name = "help",
	.synopsis = "[COMMAND]",
	.summary = "how a command is used; without one, which there are",
	.examples = "  agentbox help run\n",
	.word_at = word_at,
	.run = command_help,
};
