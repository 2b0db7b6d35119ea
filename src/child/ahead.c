/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "child/ahead.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>

#include "sys/process.h"
#include "sys/sock.h"

static int end_with_supervisor(struct child_ahead *a)
{
	int r = sys_prctl(PR_SET_PDEATHSIG, SIGKILL);

	if (r < 0)
		return r;
	/* It may have ended before the kernel was asked. */
	return sys_getppid() == a->supervisor ? 0 : -ESRCH;
}

static int make_namespaces(struct child_ahead *a)
{
	return sys_unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS |
			   (a->host_network ? 0 : CLONE_NEWNET));
}

static int raise_loopback(struct child_ahead *a)
{
	return a->host_network ? 0 : sys_loopback_up();
}

static int wait_go(struct child_ahead *a)
{
	int r;

	/* EAGAIN: it was there already. One call at least, so that a run makes always the same. */
	do {
		r = sys_futex_wait(&a->go, 0);
		if (r < 0 && r != -EAGAIN && r != -EINTR)
			return r;
	} while (__atomic_load_n(&a->go, __ATOMIC_ACQUIRE) != CHILD_AHEAD_GO);
	return 0;
}

static int allow_cpus(struct child_ahead *a)
{
	return a->cpus_size == 0 ? 0 : sys_cpus_set(0, a->cpus, a->cpus_size);
}

static int clone_child(struct child_ahead *a)
{
	long pid;

	a->args.flags |= CHILD_AHEAD_CHILD_FLAGS;
	/* By the kernel, before the child can run: so it is known even if this process is killed.
	 */
	a->args.parent_tid = (uintptr_t)&a->pid;
	pid = sys_clone_fn(&a->args, a->fn, a->arg);
	return pid < 0 ? (int)pid : 0;
}

static const struct {
	enum child_ahead_step step;
	int (*fn)(struct child_ahead *a);
} steps[] = {
	{ CHILD_AHEAD_NAMESPACES, make_namespaces },
	/* After the credentials, whose change may clear it. */
	{ CHILD_AHEAD_PARENT, end_with_supervisor },
	{ CHILD_AHEAD_LOOPBACK, raise_loopback },
	{ CHILD_AHEAD_WAIT, wait_go },
	{ CHILD_AHEAD_CPUS, allow_cpus },
	{ CHILD_AHEAD_CLONE, clone_child },
};

_Noreturn void child_ahead_main(void *arg)
{
	struct child_ahead *a = arg;

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		int r = steps[i].fn(a);

		if (r < 0) {
			a->failed = steps[i].step;
			a->errnum = -r;
			sys_exit_group(1);
		}
	}
	sys_exit_group(0);
}
