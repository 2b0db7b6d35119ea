/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* netns - into the network namespace of the sandbox, and its loopback interface. */
#include "child/ctx.h"

#include <errno.h>
#include <fcntl.h>

#include "sys/fs.h"
#include "sys/net.h"
#include "sys/sock.h"

/* That there is a descriptor of it says that it is the sandbox's: nobody has a capability in the
 * host's here. With @want it must be that one. */
static int check_own_net(int want)
{
	struct file_id a = { 0 }, b = { 0 };
	int r, own = sys_own_net();

	if (own < 0 || want < 0)
		return own < 0 ? own : sys_close(own);
	r = sys_file_id(own, "", AT_EMPTY_PATH, &a);
	if (r == 0)
		r = sys_file_id(want, "", AT_EMPTY_PATH, &b);
	(void)sys_close(own);
	if (r < 0)
		return r;
	return file_id_same(&a, &b) ? 0 : -ESTALE;
}

int child_join_network(struct child_ctx *ctx)
{
	int ns = -1, r = 0;

	if (ctx->plan->host_network)
		return 0;
	if (ctx->join_network) {
		ns = child_recv_passed(ctx, CHILD_ORDER_NETWORK);
		if (ns < 0)
			return ns;
		r = sys_setns_net(ns);
	}
	if (r == 0)
		r = check_own_net(ns);
	if (ns >= 0)
		(void)sys_close(ns);
	return r;
}

int child_raise_loopback(struct child_ctx *ctx)
{
	return ctx->plan->host_network ? 0 : sys_loopback_up();
}
