/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>

#include "base/suggest.h"
#include "cli/cli.h"

static const struct cli_command *const commands[] = {
	&cmd_run,  &cmd_tool, &cmd_check,    &cmd_audit, &cmd_doctor, &cmd_selftest, &cmd_explain,
	&cmd_lint, &cmd_test, &cmd_profiles, &cmd_init,  &cmd_schema, &cmd_help,
};

static const struct cli_option shared[CLI_OWN] = {
	[CLI_PROFILE] = { CLI_PROFILE, 'p', "profile", CLI_ARG_VALUE, "PROFILE", "the profile" },
	[CLI_PROFILE_FD] = { CLI_PROFILE_FD, 0, "profile-fd", CLI_ARG_VALUE, "N",
			     "read the profile from descriptor N" },
	[CLI_AGENT] = { CLI_AGENT, 'a', "agent", CLI_ARG_VALUE, "ID",
			"who asks (implied when the profile declares one)" },
	[CLI_ON_BEHALF_OF] = { CLI_ON_BEHALF_OF, 0, "on-behalf-of", CLI_ARG_REPEATED, "ID",
			       "for whom the agent asks, the first principal first: only what all "
			       "of them may" },
	[CLI_CONTEXT] = { CLI_CONTEXT, 0, "context", CLI_ARG_REPEATED, "KEY=VALUE",
			  "a label of the request, which rules may ask for" },
	[CLI_WORKSPACE] = { CLI_WORKSPACE, 'w', "workspace", CLI_ARG_VALUE, "DIR",
			    "same as --param workspace=DIR" },
	[CLI_PARAM] = { CLI_PARAM, 0, "param", CLI_ARG_REPEATED, "NAME=VALUE",
			"a value for ${NAME} in the profile" },
	[CLI_STATE] = { CLI_STATE, 0, "state", CLI_ARG_VALUE, "DIR",
			"where the audit log lives (never a root)" },
	[CLI_WORKDIR] = { CLI_WORKDIR, 0, "workdir", CLI_ARG_VALUE, "DIR",
			  "where to start, as seen inside" },
	[CLI_TIMEOUT] = { CLI_TIMEOUT, 0, "timeout", CLI_ARG_VALUE, "TIME",
			  "end the run after TIME (500ms, 30s, 5m)" },
	[CLI_EXPECT] = { CLI_EXPECT, 0, "expect-sha256", CLI_ARG_VALUE, "HASH",
			 "refuse any other profile file" },
	[CLI_QUIET] = { CLI_QUIET, 'q', "quiet", CLI_ARG_NONE, NULL,
			"no remarks on standard error" },
	[CLI_AUDIT_FD] = { CLI_AUDIT_FD, 0, "audit-fd", CLI_ARG_VALUE, "N",
			   "write the audit records to descriptor N too" },
	[CLI_JSON] = { CLI_JSON, 0, "json", CLI_ARG_NONE, NULL, "print one JSON object" },
};

const struct cli_command *cli_command_at(size_t i)
{
	return i < ARRAY_SIZE(commands) ? commands[i] : NULL;
}

const struct cli_command *cli_command_find(const char *name, struct err *err)
{
	const char *best = NULL;
	size_t distance = 0;

	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		if (strcmp(name, commands[i]->name) == 0)
			return commands[i];
		suggest_best(name, commands[i]->name, &best, &distance);
	}
	if (best != NULL)
		(void)err_set(err, ERR_USAGE, 0, "unknown command '%s' (did you mean '%s'?)", name,
			      best);
	else
		(void)err_set(err, ERR_USAGE, 0,
			      "unknown command '%s' (agentbox --help lists them)", name);
	return NULL;
}

struct cli_option cli_option_at(const struct cli_command *cmd, size_t i)
{
	const struct cli_option *row = &cmd->options[i];
	struct cli_option ret = *row;

	if (row->name == NULL) {
		ret = shared[row->id];
		if (row->help != NULL)
			ret.help = row->help;
	}
	return ret;
}
