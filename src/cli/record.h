/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* record - the audit's attachment to a run: decision before, start and outcome around it. */
#pragma once

#include "audit/audit.h"
#include "cli/context.h"
#include "plan/plan.h"
#include "run/run.h"

#define REQUEST_ID_SIZE 34 /* "r", 32 hexadecimal digits, NUL */

struct record {
	const struct cli_context *context; /* borrowed */
	struct audit *audit;               /* owned; NULL until opened */
	char request_id[REQUEST_ID_SIZE];
	const char *agent_id;
	json_t *resource; /* owned */
	const struct plan *plan;
	struct audit_head head; /* after the last record that was written */
	bool has_head;
	bool decided;       /* the decision is in the log: an outcome must follow */
	bool lost;          /* the outcome could not be written */
	json_t *violations; /* owned: an array, or NULL */
};

/* record_begin() - a fresh request id. */
MUST_CHECK int record_begin(struct record *r, const struct cli_context *c, char *const *argv,
			    struct err *err);
/* record_decision() - open the log and write the decision. Nothing may run when this fails. */
MUST_CHECK int record_decision(struct record *r, const struct decision *d, struct err *err);
/* record_failure() - the outcome of a request that was allowed, but did not get as far as a run. */
void record_failure(struct record *r, const struct err *why);
/* record_attachment() - start and outcome records as hooks of run/. @ret points into @r. */
void record_attachment(struct record *r, struct run_attachment *ret);
void record_close(struct record *r);
