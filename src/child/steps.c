/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* steps - the order in which a cloned process becomes a sandbox.
 *
 * One table, one loop. A step that fails is reported and ends the process; there is no way on
 * past it, and the command is started by the last row alone. */
#include "child/ctx.h"

#include <errno.h>
#include <stddef.h>

#include "sys/process.h"
#include "sys/sock.h"

#define CHILD_EXIT_FAILED 125

int child_send_report(const struct child_ctx *ctx, const struct child_report *report)
{
	ssize_t n = sys_send(ctx->control, report, sizeof(*report));

	if (n < 0)
		return (int)n;
	return n == (ssize_t)sizeof(*report) ? 0 : -EPROTO;
}

_Noreturn void child_end(const struct child_ctx *ctx, const struct child_report *report, int status)
{
	/* Nobody is left to tell when this fails. */
	(void)child_send_report(ctx, report);
	/* An order that crossed the report would be unread when the socket is closed, and the
	 * supervisor's next reading would be ECONNRESET instead of the report (unix(7)). */
	sys_recv_end(ctx->control);
	sys_exit_group(status);
}

/* Room for more than a record, so that a longer packet is not cut down to a valid one. */
struct order_room {
	struct child_order first, more;
};

static int check_order(ssize_t n, const struct order_room *room, struct child_order *ret)
{
	if (n < 0)
		return (int)n;
	if (n == 0)
		return -ECANCELED;
	if (n != (ssize_t)sizeof(room->first))
		return -EPROTO;
	*ret = room->first;
	return 0;
}

int child_recv_order(const struct child_ctx *ctx, struct child_order *ret)
{
	struct order_room room = { 0 };

	return check_order(sys_recv(ctx->control, &room, sizeof(room)), &room, ret);
}

static int check_token(int r, const struct child_order *order, uint32_t kind)
{
	if (r < 0)
		return r;
	return order->kind == kind && order->arg == 0 ? 0 : -EPROTO;
}

static int wait_token(const struct child_ctx *ctx, uint32_t kind)
{
	struct child_order order = { 0 };
	int r = child_recv_order(ctx, &order);

	return check_token(r, &order, kind);
}

int child_recv_passed(const struct child_ctx *ctx, enum child_order_kind kind)
{
	struct order_room room = { 0 };
	struct child_order order = { 0 };
	int passed;
	ssize_t n = sys_recv_fd(ctx->control, &room, sizeof(room), &passed);
	int r = check_token(check_order(n, &room, &order), &order, kind);

	if (r < 0)
		return r;
	return passed < 0 ? -EPROTO : passed;
}

static int settle_ids(struct child_ctx *ctx)
{
	if (ctx->plan->ids.uid_map != NULL)
		return child_write_id_maps(ctx);
	return wait_token(ctx, CHILD_ORDER_IDS_WRITTEN);
}

/* The order to start is usually there before the sandbox is: then there is nobody to tell, and a
 * packet would only wake the supervisor. */
static int wait_start(struct child_ctx *ctx)
{
	const struct child_report ready = { .kind = CHILD_REPORT_READY };
	int r = sys_recv_waiting(ctx->control);

	if (r == 0)
		r = child_send_report(ctx, &ready);
	if (r < 0)
		return r;
	return wait_token(ctx, CHILD_ORDER_START);
}

static const struct step {
	enum child_step step;
	int (*fn)(struct child_ctx *ctx);
} steps[] = {
	/* Before the first mount is cloned: what the host mounts from here on must not appear,
	 * least of all read-write below a tree made read-only. */
	{ CHILD_STEP_PROPAGATION, child_make_private },
	/* Needs no id mapping, so it overlaps with the supervisor writing the maps; as the
	 * caller's own kernel id, because a mapped one may not reach the caller's directories. */
	{ CHILD_STEP_SOURCES, child_clone_sources },
	/* These ask for no id either: time in which the supervisor writes the maps. */
	{ CHILD_STEP_SESSION, child_start_session },
	{ CHILD_STEP_HOSTNAME, child_set_hostname },
	/* While the host's own proc is there, and with the capabilities of who made the namespaces:
	 * it moves on to a second one, and leaves this one to its sockets. */
	{ CHILD_STEP_NETWORK, child_build_network },
	{ CHILD_STEP_WAIT_IDS, settle_ids },
	/* Before anything is created: what we make belongs to the final identity. */
	{ CHILD_STEP_IDENTITY, child_take_identity },
	/* After the credentials, whose change clears it. A supervisor that died before this is
	 * seen as end of file at WAIT_START. */
	{ CHILD_STEP_DEATH_SIGNAL, child_set_death_signal },
	{ CHILD_STEP_KEYRING, child_join_keyring },
	{ CHILD_STEP_ROOT, child_attach_root },
	/* While the host's own proc is still in this namespace: without a fully visible one the
	 * kernel refuses to mount another. */
	{ CHILD_STEP_PROC, child_make_proc },
	/* From here on no path of a step leads to the host; destinations cannot be raced. */
	{ CHILD_STEP_PIVOT, child_pivot_root },
	{ CHILD_STEP_BUILD, child_build_tree },
	/* The kernel waits here until every processor has been out of it (synchronize_rcu() in
	 * namespace_unlock()). The one that makes the network is not for a long time: after the
	 * tree is built it most likely has been. */
	{ CHILD_STEP_DETACH, child_detach_old_root },
	/* After the last thing was created in the root. */
	{ CHILD_STEP_SEAL, child_seal_root },
	/* After the tree is whole, and before its last descriptor of the root is closed. */
	{ CHILD_STEP_WATCHED, child_send_watched },
	{ CHILD_STEP_WORKDIR, child_enter_workdir },
	/* As late as there are capabilities for it: until here somebody else was making it. */
	{ CHILD_STEP_NETNS, child_join_network },
	{ CHILD_STEP_LOOPBACK, child_raise_loopback },
	/* Where the devpts can still be reached by the root, and while the order to start, which
	 * waits for the master, is a few steps away. */
	{ CHILD_STEP_TERMINAL, child_open_terminal },
	/* The last step that opens something of the tree, and the last one for which the right to
	 * mount is needed: its own check uses it. What follows asks for no file. */
	{ CHILD_STEP_LANDLOCK, child_restrict_self },
	/* Closes every descriptor of the steps above. */
	{ CHILD_STEP_DESCRIPTORS, child_set_descriptors },
	/* After the last mount and sysctl. */
	{ CHILD_STEP_PRIVILEGES, child_drop_privileges },
	/* After no_new_privs, without which an ordinary caller may not, and after every call that
	 * it refuses. Init is bound too, by the time that anything is told to start. */
	{ CHILD_STEP_FILTER, child_install_filter },
	{ CHILD_STEP_WAIT_START, wait_start },
	{ CHILD_STEP_SPAWN, child_spawn_command },
};

_Static_assert(sizeof(steps) / sizeof(steps[0]) == CHILD_STEP_MAX - 1, "a step is missing");

_Noreturn void child_main(void *arg)
{
	const struct child_args *args = arg;
	struct child_ctx ctx = {
		.plan = args->plan,
		.control = args->control,
		.watch = args->watch,
		.stdio = { args->stdio[0], args->stdio[1], args->stdio[2] },
		.join_network = args->join_network,
		.terminal = args->terminal,
		.tty = -1,
		.root_fd = -1,
		.proc_fd = -1,
	};

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		int r;

		ctx.op = 0;
		r = steps[i].fn(&ctx);
		if (r < 0) {
			const struct child_report failed = {
				.kind = CHILD_REPORT_FAILED,
				.step = steps[i].step,
				.op = ctx.op,
				.errnum = -r,
			};

			child_end(&ctx, &failed, CHILD_EXIT_FAILED);
		}
	}
	sys_exit_group(CHILD_EXIT_FAILED);
}
