/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* doctor - what this host can enforce, tried part by part and then as a whole. */
#pragma once

#include "cli/prepare.h"
#include "run/cause.h"

enum doctor_state {
	DOCTOR_UNTRIED = 0, /* something before it failed, or it does not apply */
	DOCTOR_OK,
	DOCTOR_FAILED,
};

struct doctor_check {
	const char *name;
	enum doctor_state state;
	bool optional;      /* a run works without it, with less behind it */
	int errnum;         /* FAILED: positive errno, or 0 */
	const char *detail; /* what was found; NULL for none */
	const char *cause;  /* FAILED; NULL when none is known */
	const char *remedy; /* beside a cause */
};

struct doctor_group {
	const char *name;
	const char *opens; /* what a member may do outside; NULL: nothing special */
};

struct doctor_limit {
	enum plan_mechanism any, kernel; /* what limits.enforce gets here; NONE: refused */
	const char *why;                 /* kernel is NONE: why */
};

struct doctor {
	struct arena *arena;
	struct prepared prep; /* of the sandbox that was tried */
	struct cause_facts facts;
	ARRAY_OF(struct doctor_check) checks;
	size_t n_policy;                      /* the first of them are about the profile */
	ARRAY_OF(struct doctor_group) groups; /* that the command keeps */
	struct doctor_limit limits[PLAN_LIMIT_MAX];
	const char *cgroup; /* "none", "v1", "v2", "v2 delegated" */
	int landlock;       /* ABI or -errno */
	bool has_profile;
	bool sandbox_ready;
	bool policy_ready;
};

/* doctor_examine() - everything. @source->profile and profile_fd NULL: no profile. What it finds
 * is in *d; an error is one of doctor's own. *d: doctor_close(). */
MUST_CHECK int doctor_examine(struct arena *a, const struct cli_source *source,
			      char *const *environ, struct doctor *d, struct err *err);
void doctor_close(struct doctor *d);

/* doctor_resolver() - the row about a resolver of the host that makes up addresses. @p: the profile
 * that may provide for it, or NULL. */
void doctor_resolver(struct arena *a, const struct profile *p, struct doctor_check *ret);

/* doctor_uncovered() - what no part of agentbox covers, for people; ended by NULL. */
const char *const *doctor_uncovered(void);
