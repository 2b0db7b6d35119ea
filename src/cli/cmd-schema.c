/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>
#include <unistd.h>

#include "base/exitcode.h"
#include "cli/cli.h"
#include "profile/schema-json.h"

static int command_schema(struct arena *a, int argc, char **argv, struct err *err)
{
	JSON_AUTO *o = NULL;
	struct cli_parsed p;
	int r;

	if (cli_parse(a, &cmd_schema, argc, argv, &p, err) != 0)
		return EXITCODE_FAILED;
	if (p.help) {
		cli_print_help(&cmd_schema);
		return 0;
	}
	if (p.words.n > 0 || p.rest != NULL) {
		(void)err_set(err, ERR_USAGE, 0, "schema takes no argument");
		return EXITCODE_FAILED;
	}
	o = schema_json();
	r = cli_print_json(STDOUT_FILENO, o);
	if (r != 0) {
		(void)err_set(err, ERR_HOST, -r, "cannot write to standard output");
		return EXITCODE_FAILED;
	}
	return 0;
}

const struct cli_command cmd_schema = {
	.name = "schema",
	.synopsis = "",
	.summary = "the keys of a profile as JSON Schema, for editors",
	.examples = "  agentbox schema >agentbox.schema.json\n",
	.run = command_schema,
};
