/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* explain - the view that one agent gets, for its operator: what is where, by which rule, and what
 * backs it. Pure: over facts that were gathered. Holds rules and host paths, so never for an agent.
 */
#pragma once

#include "policy/resolve.h"

struct explain_row {
	const char *path;   /* virtual, canonical */
	const char *access; /* "rw", "ro", "hidden", "frozen", "none", "link" */
	const char *source; /* what says so: "FILE:LINE", or a word such as "base" */
	const char *host;   /* host path, text of a link, or NULL */
	const char *mechanism;
	const char *limit; /* what it does not do; NULL: nothing to say */
};

/* A rule that binds this request, and what backs it. Of several agents (a chain, parents) each has
 * a list of its own, and all must allow. */
struct explain_rule {
	const char *agent; /* whose list it is in */
	struct profile_pos pos;
	enum profile_verdict mode;
	const char *what; /* operations and patterns */
	const char *mechanism;
	const char *limit; /* or NULL */
};

struct explain {
	ARRAY_OF(struct explain_row) rows; /* outer ones first, each before what lies in it */
	ARRAY_OF(struct explain_rule) rules;
};

/* explain_build() - @resolved: with the guards of the same view. */
void explain_build(struct arena *a, const struct resolve_input *in, const struct resolved *resolved,
		   struct explain *ret);
