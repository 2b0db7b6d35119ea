/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>

#include "child/ctx.h"
#include "sys/fs.h"
#include "sys/rights.h"

/* The supervisor is outside of the pid namespace, and its own /proc may be hidden from it or
 * shared with thousands of others: it looks through ours. Neither descriptor can be written
 * through, and both are closed here before the command is there. */
int child_send_watched(struct child_ctx *ctx)
{
	int fds[2];
	int r;

	if (!ctx->plan->watched)
		return 0;
	if (ctx->watch < 0)
		return -22; /* EINVAL */
	fds[0] = sys_openat2(ctx->root_fd, "proc", O_PATH | O_DIRECTORY, 0, SYS_RESOLVE_PLAIN);
	if (fds[0] < 0)
		return fds[0];
	fds[1] = sys_openat2(ctx->root_fd, "tmp", O_PATH | O_DIRECTORY, 0, SYS_RESOLVE_PLAIN);
	if (fds[1] < 0)
		return fds[1];
	r = sys_send_rights(ctx->watch, fds, 2);
	(void)sys_close(fds[0]);
	(void)sys_close(fds[1]);
	return r;
}
