/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* lint - what a profile says that is allowed and hardly meant. Only the profile is looked at, and
 * of the host what the caller tells. */
#pragma once

#include "policy/decide.h"

struct lint_finding {
	struct profile_pos pos;
	const char *name; /* of the check, for machines: "shadowed" */
	const char *text;
};

typedef ARRAY_OF(struct lint_finding) lint_findings;

/* What may be known of the host; all borrowed, and NULL where it is not known. */
struct lint_host {
	const char *path_env; /* the caller's PATH */
	const char *self;     /* canonical path of the running binary */
};

/* lint_profile() - findings, added to *ret; the order is that of the checks. */
void lint_profile(struct arena *a, const struct profile *p, const struct lint_host *host,
		  lint_findings *ret);

/* lint_rules_cover() - everything that @later speaks of, one of the @n rules before it has decided.
 * May be wrong only in saying no. @ret_takes: of as many, all false; those that decide become true.
 */
bool lint_rules_cover(const struct profile_rule *earlier, size_t n,
		      const struct profile_rule *later, bool *ret_takes);
