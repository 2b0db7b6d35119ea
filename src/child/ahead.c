/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "child/ahead.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>

#include "sys/fs.h"
#include "sys/net.h"
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
	(void)a;
	return sys_unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS);
}

static int make_network(struct child_ahead *a)
{
	(void)a;
	return sys_unshare_net();
}

static int raise_loopback(struct child_ahead *a)
{
	(void)a;
	return sys_loopback_up();
}

/* That there is a descriptor of it says that it is ours, and not the host's still. */
static int take_network(struct child_ahead *a)
{
	int r = sys_own_net();

	if (r < 0)
		return r;
	if (a->network == CHILD_AHEAD_NETWORK_LAST)
		a->net = r;
	else
		(void)sys_close(r);
	return 0;
}

static int await(struct child_ahead *a, uint32_t old, uint32_t want)
{
	int r;

	/* EAGAIN: it was there already. One call at least, so that a run makes always the same. */
	do {
		r = sys_futex_wait(&a->state, old);
		if (r < 0 && r != -EAGAIN && r != -EINTR)
			return r;
	} while (__atomic_load_n(&a->state, __ATOMIC_ACQUIRE) == old);
	return __atomic_load_n(&a->state, __ATOMIC_ACQUIRE) == want ? 0 : -EPROTO;
}

static int await_go(struct child_ahead *a)
{
	return await(a, CHILD_AHEAD_MAKING, CHILD_AHEAD_GO);
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

static int hand_child_over(struct child_ahead *a)
{
	int r;

	__atomic_store_n(&a->state, CHILD_AHEAD_CLONED, __ATOMIC_RELEASE);
	r = sys_futex_wake(&a->state);
	return r < 0 ? r : await(a, CHILD_AHEAD_CLONED, CHILD_AHEAD_MAKE_NET);
}

#define ALWAYS 0
#define FIRST  CHILD_AHEAD_NETWORK_FIRST
#define LAST   CHILD_AHEAD_NETWORK_LAST

static const struct {
	enum child_ahead_step step;
	unsigned when; /* with which network */
	int (*fn)(struct child_ahead *a);
} steps[] = {
	{ CHILD_AHEAD_NAMESPACES, ALWAYS, make_namespaces },
	/* After the credentials, whose change may clear it. */
	{ CHILD_AHEAD_PARENT, ALWAYS, end_with_supervisor },
	{ CHILD_AHEAD_NETNS, FIRST, make_network },
	{ CHILD_AHEAD_LOOPBACK, FIRST, raise_loopback },
	{ CHILD_AHEAD_OWN_NET, FIRST, take_network },
	{ CHILD_AHEAD_WAIT, ALWAYS, await_go },
	{ CHILD_AHEAD_CPUS, ALWAYS, allow_cpus },
	{ CHILD_AHEAD_CLONE, ALWAYS, clone_child },
	/* The supervisor may have to write the child's ids, which is waited for in there, and may
	 * find no other processor free: it comes before what takes long. */
	{ CHILD_AHEAD_WAIT, LAST, hand_child_over },
	{ CHILD_AHEAD_NETNS, LAST, make_network },
	{ CHILD_AHEAD_LOOPBACK, LAST, raise_loopback },
	{ CHILD_AHEAD_OWN_NET, LAST, take_network },
};

_Noreturn void child_ahead_main(void *arg)
{
	struct child_ahead *a = arg;

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		int r = 0;

		if (steps[i].when == ALWAYS || steps[i].when == a->network)
			r = steps[i].fn(a);
		if (r < 0) {
			a->failed = steps[i].step;
			a->errnum = -r;
			sys_exit_group(1);
		}
	}
	sys_exit_group(0);
}
