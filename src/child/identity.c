/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* identity - who the process is, and what it may no longer do. */
#include "child/ctx.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>

#include "sys/caps.h"
#include "sys/fs.h"
#include "sys/process.h"

static int write_map(const char *path, const char *text)
{
	size_t len = strlen(text);
	ssize_t n;
	int fd = sys_openat2(AT_FDCWD, path, O_WRONLY, 0, 0);

	if (fd < 0)
		return fd;
	/* The kernel takes a map in one write or not at all. */
	n = sys_write(fd, text, len);
	(void)sys_close(fd);
	if (n < 0)
		return (int)n;
	return n == (ssize_t)len ? 0 : -EIO;
}

/* Through the host's proc, which knows us by our pid outside. */
int child_write_id_maps(struct child_ctx *ctx)
{
	const struct plan_ids *ids = &ctx->plan->ids;
	int r;

	/* Before gid_map: an ordinary caller may write that one only once setgroups is denied. */
	r = write_map("/proc/self/setgroups", "deny");
	if (r < 0)
		return r;
	r = write_map("/proc/self/uid_map", ids->uid_map);
	if (r < 0)
		return r;
	return write_map("/proc/self/gid_map", ids->gid_map);
}

int child_take_identity(struct child_ctx *ctx)
{
	const struct plan_ids *ids = &ctx->plan->ids;
	int r;

	if (ids->drop_groups) {
		r = sys_clear_groups();
		if (r < 0)
			return r;
	}
	if (ids->switch_ids) {
		r = sys_set_ids(ids->inside_uid, ids->inside_gid);
		if (r < 0)
			return r;
	}
	/* The maps were written by the supervisor: see that they say what the plan says. */
	return sys_have_ids(ids->inside_uid, ids->inside_gid);
}

int child_set_death_signal(struct child_ctx *ctx)
{
	(void)ctx;
	return sys_prctl(PR_SET_PDEATHSIG, SIGKILL);
}

int child_start_session(struct child_ctx *ctx)
{
	int r;

	(void)ctx;
	/* No controlling terminal: nothing inside can push input into the caller's. The answer is
	 * our pid: not the first of a namespace of our own, and everything that ends the sandbox
	 * is off. */
	r = sys_setsid();
	if (r != 1)
		return r < 0 ? r : -EPERM;
	/* CLONE_CLEAR_SIGHAND leaves ignored signals ignored. The command inherits these, and
	 * with SIGCHLD ignored init would have nothing to wait for. */
	for (int sig = 1; sig <= SYS_SIGNAL_MAX; sig++) {
		if (sig == SIGKILL || sig == SIGSTOP)
			continue;
		r = sys_signal_default(sig);
		if (r < 0)
			return r;
	}
	r = sys_umask(CHILD_UMASK);
	if (r < 0)
		return r;
	/* Blocked by the supervisor already, so that nothing interrupts a step; the command gets
	 * an empty mask. */
	return sys_sigmask_set(~UINT64_C(0));
}

int child_join_keyring(struct child_ctx *ctx)
{
	int r = sys_join_session_keyring();

	(void)ctx;
	/* A kernel without keyrings has none to leak. */
	return r == -ENOSYS ? 0 : r;
}

int child_set_hostname(struct child_ctx *ctx)
{
	return sys_sethostname(ctx->plan->hostname);
}

/* Read the state back: a call that a filter or an emulation answered with an idle 0 must not
 * pass for a privilege given up. */
static int verify_privileges(const struct child_ctx *ctx)
{
	const struct plan_ids *ids = &ctx->plan->ids;
	int r;

	r = sys_caps_none();
	if (r < 0)
		return r;
	r = sys_prctl(PR_GET_NO_NEW_PRIVS, 0);
	if (r != 1)
		return r < 0 ? r : -EPERM;
	r = sys_prctl(PR_GET_DUMPABLE, 0);
	if (r != 0)
		return r < 0 ? r : -EPERM;
	r = sys_pdeathsig();
	if (r != SIGKILL)
		return r < 0 ? r : -EPERM;
	return sys_have_ids(ids->inside_uid, ids->inside_gid);
}

int child_drop_privileges(struct child_ctx *ctx)
{
	int r;

	/* The user was changed without uid 0 inside, so the capabilities of the namespace's
	 * creator are still there. */
	r = sys_caps_drop();
	if (r < 0)
		return r;
	r = sys_prctl(PR_SET_NO_NEW_PRIVS, 1);
	if (r < 0)
		return r;
	/* Init has the command's uid: closed to ptrace and to /proc/1 before the command exists. */
	r = sys_prctl(PR_SET_DUMPABLE, 0);
	if (r < 0)
		return r;
	return verify_privileges(ctx);
}
