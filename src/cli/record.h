/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* record - the audit's attachment to a run: decision and start before it, its outcome after it.
 *
 * The decision to allow is written together with the start, while the child builds the sandbox and
 * waits for the order to start, which is not given unless both are in the log. A request that is
 * denied or that fails before has its decision written when that is known. */
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
	enum action action;
	json_t *resource; /* owned */
	const struct plan *plan;
	struct audit_head head; /* after the last record that was written */
	bool has_head;
	const struct decision *held;  /* to be written before anything else; borrowed; or NULL */
	struct profile_hashes hashes; /* of c->profile, once has_hashes */
	bool has_hashes;
	bool decided;       /* allowed: an outcome must follow */
	bool lost;          /* the outcome could not be written */
	const char *unsent; /* the log has it, and why another sink has not; or NULL */
	json_t *violations; /* owned: an array, or NULL */
	bool lists;         /* what was listed: for the outcome's record, not for the caller */
	uint64_t listed, hidden;
};

/* record_begin() - a fresh request id, for a command. */
MUST_CHECK int record_begin(struct record *r, const struct cli_context *c, char *const *argv,
			    struct err *err);
/* record_begin_path() - the same for another action, on a path. */
MUST_CHECK int record_begin_path(struct record *r, const struct cli_context *c, enum action action,
				 const char *path, struct err *err);
/* record_decision() - open the log and write the decision. */
MUST_CHECK int record_decision(struct record *r, const struct decision *d, struct err *err);
/* record_allowed() - the decision to allow, which must live as long as @r: it is written before
 * the start, and nothing runs when that fails. */
void record_allowed(struct record *r, const struct decision *d);
/* record_hashes() - of the profile's blocks. */
const struct profile_hashes *record_hashes(struct record *r);
/* record_failure() - the outcome of a request that was allowed, but did not get as far as a run. */
void record_failure(struct record *r, const struct err *why);
/* record_net() - a name or a connection, while the command runs. */
MUST_CHECK int record_net(struct record *r, const struct audit_record *what, struct err *err);
/* record_attachment() - start and outcome records as hooks of run/. @ret points into @r. */
void record_attachment(struct record *r, struct run_attachment *ret);
/* record_say() - the line about an outcome that is not everywhere, if it is not. */
void record_say(const struct record *r);
void record_close(struct record *r);
