/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <stdio.h>

#include "base/exitcode.h"
#include "cli/cli.h"
#include "profile/builtin.h"

static int command_profiles(struct arena *a, int argc, char **argv, struct err *err)
{
	const struct builtin *b;
	struct cli_parsed p;

	if (cli_parse(a, &cmd_profiles, argc, argv, &p, err) != 0)
		return EXITCODE_FAILED;
	if (p.help) {
		cli_print_help(&cmd_profiles);
		return 0;
	}
	if (p.words.n > 0 || p.rest != NULL) {
		(void)err_set(err, ERR_USAGE, 0,
			      "profiles takes no argument; 'agentbox lint --dump NAME' shows one");
		return EXITCODE_FAILED;
	}
	for (size_t i = 0; (b = builtin_at(i)) != NULL; i++)
		(void)puts(builtin_word(b));
	if (fflush(stdout) != 0) {
		(void)err_set(err, ERR_HOST, errno, "cannot write to standard output");
		return EXITCODE_FAILED;
	}
	return 0;
}

const struct cli_command cmd_profiles = {
	.name = "profiles",
	.synopsis = "",
	.summary = "the shipped profiles, one name a line",
	.examples = "  agentbox profiles\n"
		    "  agentbox run -p default -w . -- make test\n",
	.run = command_profiles,
};
