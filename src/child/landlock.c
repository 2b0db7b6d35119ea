/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* landlock - the second layer: what the mounts say once more, by another part of the kernel. */
#include "child/ctx.h"

#include <errno.h>
#include <fcntl.h>

#include "sys/fs.h"
#include "sys/landlock.h"
#include "sys/mountapi.h"

static int allow(const struct child_ctx *ctx, int ruleset, const struct plan_landlock_rule *rule)
{
	int fd, r;

	if (rule->at == NULL || rule->at[0] != '/')
		return -EINVAL;
	fd = sys_openat2(ctx->root_fd, rule->at[1] == '\0' ? "." : rule->at + 1, O_PATH, 0,
			 RESOLVE_BENEATH | SYS_RESOLVE_PLAIN);
	if (fd < 0)
		return fd;
	r = sys_landlock_allow(ruleset, fd, rule->access);
	(void)sys_close(fd);
	return r;
}

int child_restrict_self(struct child_ctx *ctx)
{
	const struct plan_landlock *ll = &ctx->plan->landlock;
	int ruleset, r = 0;

	/* The plan says so where the kernel has none, or where nested sandboxes must mount. */
	if (ll->fs == 0)
		return 0;
	ruleset = sys_landlock_ruleset(ll->fs, ll->scoped);
	if (ruleset < 0)
		return ruleset;
	for (uint32_t i = 0; i < ll->n_rules && r == 0; i++) {
		ctx->op = i;
		r = allow(ctx, ruleset, &ll->rules[i]);
	}
	if (r == 0)
		r = sys_landlock_restrict(ruleset);
	(void)sys_close(ruleset);
	if (r < 0)
		return r;
	/* Tried, not believed: no domain may change mounts, and that is asked before whether the
	 * change makes sense. The root over itself does not: without a domain the answer is
	 * EINVAL, and nothing has happened either way. The right to mount is still there. */
	r = sys_move_mount(ctx->root_fd, ctx->root_fd);
	return r == -EPERM ? 0 : r < 0 ? -EPERM : -EIO;
}
