/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* rules - what the files that make guards of an agent's rules share. */
#pragma once

#include "policy/guards.h"

/* One pattern of one rule, as far as it is about a part of a root or of the base. */
struct part {
	const struct profile_rule *rule;
	const struct profile_path *path;
};

struct rules {
	struct guards *g;
	size_t root;
	ARRAY_OF(struct part) globs; /* that need the walk */
	struct err *err;
};

/* rules_refuse() - ERR_PROFILE at the rule; returns -1. */
int rules_refuse(const struct part *p, const char *why, struct err *err);

/* rules_over_root() - what is wrong with hiding a directory that holds a root. */
const char *rules_over_root(const struct rules *r, const char *root_at);

/* rules_base() - masks of what it denies in the base, of devices and of lent sockets. A rule of all
 * paths hides nothing there. */
MUST_CHECK int rules_base(struct rules *r, const struct part *p);
