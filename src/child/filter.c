/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* filter - the system call filter of the sandbox. */
#include "child/ctx.h"

#include <errno.h>
#include <stddef.h>
#include <sys/resource.h>

#include "sys/seccomp.h"

int child_install_filter(struct child_ctx *ctx)
{
	const struct plan *plan = ctx->plan;
	int r;

	if (plan->filter == NULL || plan->n_filter == 0)
		return -EINVAL;
	for (uint32_t i = 0; i < plan->n_rlimits; i++) {
		if (plan->rlimits[i].resource != RLIMIT_CORE)
			continue;
		r = child_apply_rlimit(&plan->rlimits[i]);
		if (r < 0)
			return r;
	}
	r = sys_seccomp_filter(plan->filter, plan->n_filter);
	if (r < 0)
		return r;
	return sys_seccomp_answers();
}

int child_deny_calls(const struct child_ctx *ctx)
{
	const struct plan *plan = ctx->plan;

	if (plan->n_filter_deny == 0)
		return 0;
	return sys_seccomp_filter(plan->filter_deny, plan->n_filter_deny);
}
