/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* internal - what the files of plan/ share while a plan is being made. */
#pragma once

#include "plan/compile.h"

struct plan_builder {
	struct arena *arena;   /* crosses clone */
	struct arena *scratch; /* does not */
	const struct plan_request *rq;
	ARRAY_OF(struct plan_op) ops;
	ARRAY_OF(struct plan_source) sources;
	struct plan *plan;           /* from plan_limits_build() on */
	struct plan_rlimit *rlimits; /* writable view of plan->rlimits, PLAN_RLIMITS_MAX */
	ARRAY_OF(const char *) made; /* directories of our own that exist by now */
};

/* plan_mounts_build() - sources and ops, in the order in which they are carried out. */
void plan_mounts_build(struct plan_builder *b);

/* plan_limits_build() - limits, their mechanisms and rlimits of @b->plan. */
MUST_CHECK int plan_limits_build(struct plan_builder *b, struct err *err);

/* plan_filter_build() - the filters of @p, from the profile's `syscalls`. */
MUST_CHECK int plan_filter_build(struct plan_builder *b, struct plan *p, struct err *err);

/* plan_landlock_build() - rules for what plan_mounts_build() makes. */
void plan_landlock_build(struct plan_builder *b, struct plan_landlock *ret);

/* plan_etc_text() - the content of one of our own files in /etc; in @a. */
const char *plan_etc_text(struct arena *a, const struct plan_request *rq, const char *name);
