/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* result - the one JSON object of `run --json` and --status-fd (DESIGN 8). */
#pragma once

#include "cli/network.h"
#include "cli/record.h"

/* What is known of a request at its end; what is not known is NULL or zero. */
struct result {
	int rc;
	const struct cli_context *context; /* NULL: the command line was wrong */
	struct record *record;
	const struct plan *plan;
	const struct decision *decision;
	struct outcome *outcome;
	const struct network *network; /* NULL: none was asked for */
	const struct err *err;
	const char *error_code; /* a narrower word for it, or NULL */
	bool split;             /* stdout and stderr apart */
};

/* result_json() - new reference; @with_output: not on --status-fd. The output moves into it: what
 * the outcome held is freed. */
json_t *result_json(const struct result *r, bool with_output);
/* result_outcome() - status, exit code, limits and usage of an outcome, put into @o.
 * @p: what was to run, or NULL. */
void result_outcome(json_t *o, const struct plan *p, const struct outcome *out);
/* result_mechanisms() - what holds the sandbox on this host; new reference. */
json_t *result_mechanisms(const struct plan *p);
