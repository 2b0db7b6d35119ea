/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* check - one decision for one resource, as a run would take it: policy, then the sandbox's own
 * bounds. Nothing runs and nothing is recorded. */
#pragma once

#include "cli/context.h"

struct check {
	struct cli_context context;
	bool gathered; /* the facts: once for however many decisions */
	const char *action_word;
	const char *const *words; /* the resource: a path, or a command and its arguments */
	size_t n_words;
	struct decision decision;
};

/* What a path of a request stands for, and what was decided on it. */
struct check_place {
	struct decision decision;
	enum view_result result;
	struct view_target target; /* view_target_close() */
	bool inside;               /* it is there, or it is known that it is not */
};

/* check_path() - policy on the canonical path, then the sandbox's own bounds, in the view of all
 * roots (cli_context_facts()). On failure nothing is to be closed. */
MUST_CHECK int check_path(struct arena *a, struct cli_context *c, enum action action,
			  const char *path, struct check_place *ret, struct err *err);
/* check_guards() - what a run would cover; kept in @c, for who asks now. */
MUST_CHECK int check_guards(struct cli_context *c, struct err *err);
/* check_guarded() - is @path covered, by the sandbox or by a denial? @below: or something in it,
 * which goes with it. */
bool check_guarded(const struct cli_context *c, const char *path, bool write, bool below);

/* check_decide() - by context.agent, or the denial in context.identity. */
MUST_CHECK int check_decide(struct arena *a, struct check *c, struct err *err);
/* check_rc() - 0, 120, 121 or 122. */
int check_rc(const struct decision *d);
const char *check_verdict(enum profile_verdict v);
/* check_principal() - who asks, as given; or NULL. */
const char *check_principal(const struct check *c);
/* check_json() - new reference. */
json_t *check_json(const struct check *c);

/* check_batch() - a decision for each line of a file ("-": standard input) of columns with a tab
 * between: principal, action, resource, what is expected, labels. Returns the exit status. */
int check_batch(struct arena *a, const struct cli_parsed *p, const char *file, struct check *c,
		struct err *err);
