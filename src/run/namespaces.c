/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "run/namespaces.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/heap.h"
#include "child/ahead.h"
#include "child/child.h"
#include "run/blame.h"
#include "sys/process.h"

struct run_namespaces {
	_Alignas(16) char stack[8192]; /* in use until the process is reaped */
	struct child_ahead ahead;
	int errnum;  /* there is no process: clone3 said so */
	pid_t pid;   /* 0: none, or reaped */
	bool handed; /* the child is the caller's */
};

static const enum child_ahead_network when_made[] = {
	[RUN_NETWORK_HOST] = CHILD_AHEAD_NETWORK_NONE,
	[RUN_NETWORK_OWN] = CHILD_AHEAD_NETWORK_LAST,
	[RUN_NETWORK_NAMED] = CHILD_AHEAD_NETWORK_FIRST,
};

enum run_network run_network_of(const struct plan *plan)
{
	if (plan->host_network)
		return RUN_NETWORK_HOST;
	return plan->net.named ? RUN_NETWORK_NAMED : RUN_NETWORK_OWN;
}

/* A new process often gets the processor of the one that made it, and waits there until that one
 * sleeps: the two would do one after the other what they are two for. So while this one is busy it
 * may run on every processor but this, and when this one is about to wait for it, on this alone: it
 * is free, and the child gets another. Before the clone it gets all of them back. Where that cannot
 * be said, it is left as it is: nothing but time depends on it. */
struct cpu_bit {
	size_t word;
	unsigned long bit;
};

static bool cpu_here(const struct child_ahead *a, struct cpu_bit *ret)
{
	const unsigned bits = 8 * sizeof(a->cpus[0]);
	int cpu = sched_getcpu();

	if (cpu < 0 || (unsigned)cpu / 8 >= a->cpus_size)
		return false;
	*ret = (struct cpu_bit){ (unsigned)cpu / bits, 1UL << ((unsigned)cpu % bits) };
	return true;
}

static void place_here(const struct run_namespaces *n)
{
	unsigned long cpus[CHILD_AHEAD_CPU_WORDS] = { 0 };
	struct cpu_bit here;

	if (!cpu_here(&n->ahead, &here))
		return;
	cpus[here.word] = here.bit;
	(void)!sys_cpus_set(n->pid, cpus, n->ahead.cpus_size);
}

/* Return: whether it was placed, and so is to get its processors back. */
static bool place_elsewhere(const struct run_namespaces *n)
{
	const struct child_ahead *a = &n->ahead;
	unsigned long cpus[CHILD_AHEAD_CPU_WORDS];
	struct cpu_bit here;
	bool any = false;

	if (!cpu_here(a, &here))
		return false;
	memcpy(cpus, a->cpus, sizeof(cpus));
	cpus[here.word] &= ~here.bit;
	for (size_t i = 0; i < a->cpus_size / sizeof(cpus[0]); i++)
		any = any || cpus[i] != 0;
	return any && sys_cpus_set(n->pid, cpus, a->cpus_size) == 0;
}

static void place_away(struct run_namespaces *n)
{
	struct child_ahead *a = &n->ahead;
	int size = sys_cpus_get(0, a->cpus, sizeof(a->cpus));

	a->cpus_size = size > 0 ? (size_t)size : 0;
	if (!place_elsewhere(n))
		a->cpus_size = 0;
}

struct run_namespaces *run_namespaces_begin(enum run_network network)
{
	struct run_namespaces *n = heap_alloc(1, sizeof(*n));
	struct clone_args args = {
		.flags = CLONE_VM | CLONE_FILES | CLONE_CHILD_CLEARTID,
		.child_tid = (uintptr_t)&n->ahead.state,
		.exit_signal = SIGCHLD,
		.stack = (uintptr_t)n->stack,
		.stack_size = sizeof(n->stack),
	};
	sigset_t all, old;
	long pid;

	n->ahead.network = when_made[network];
	n->ahead.state = CHILD_AHEAD_MAKING;
	n->ahead.supervisor = getpid();
	n->ahead.net = -1;
	/* No handler of ours may run there, nor in the child, which gets the mask from it. */
	sigfillset(&all);
	if (sigprocmask(SIG_SETMASK, &all, &old) != 0) {
		n->errnum = errno;
		return n;
	}
	pid = sys_clone_fn(&args, child_ahead_main, &n->ahead);
	(void)sigprocmask(SIG_SETMASK, &old, NULL);
	if (pid > 0) {
		n->pid = (pid_t)pid;
		place_away(n);
	} else {
		n->errnum = (int)-pid;
	}
	return n;
}

/* ECHILD: whoever started us ignores SIGCHLD, and it is gone.
 * Return: whether it has ended. */
static bool reap(pid_t pid)
{
	pid_t r;

	do {
		r = waitpid(pid, NULL, 0);
	} while (r < 0 && errno == EINTR);
	return r == pid || errno == ECHILD;
}

static void ahead_reap(struct run_namespaces *n)
{
	if (n->pid > 0 && reap(n->pid))
		n->pid = 0;
}

static uint32_t ahead_state(const struct run_namespaces *n)
{
	return __atomic_load_n(&n->ahead.state, __ATOMIC_ACQUIRE);
}

/* Not over another state than @old: the end is written there once. One that cannot be woken is
 * ended, and the end is what is waited for. */
static void ahead_tell(struct run_namespaces *n, uint32_t old, uint32_t state)
{
	if (__atomic_compare_exchange_n(&n->ahead.state, &old, state, false, __ATOMIC_RELEASE,
					__ATOMIC_RELAXED) &&
	    sys_futex_wake(&n->ahead.state) < 0)
		(void)kill(n->pid, SIGKILL);
}

/* The kernel writes the last state, so that no end is waited for in vain. */
static void ahead_wait(struct run_namespaces *n, uint32_t state)
{
	int r;

	do {
		r = sys_futex_wait(&n->ahead.state, state);
		if (r < 0 && r != -EAGAIN && r != -EINTR) {
			(void)kill(n->pid, SIGKILL);
			ahead_reap(n);
			return;
		}
	} while (ahead_state(n) == state);
}

static int ahead_blame(const struct child_ahead *a, struct err *err)
{
	switch (a->failed) {
	case CHILD_AHEAD_NAMESPACES:
		return blame_at(err, CAUSE_CLONE, a->errnum,
				"cannot make the namespaces of the sandbox (unshare)");
	case CHILD_AHEAD_NETNS:
		return blame_at(err, CAUSE_CLONE, a->errnum,
				"cannot make the network namespace of the sandbox (unshare)");
	case CHILD_AHEAD_CLONE:
		return blame_clone(err, a->errnum);
	case CHILD_AHEAD_LOOPBACK:
		return blame_at(err, CAUSE_OTHER, a->errnum, child_step_name(CHILD_STEP_LOOPBACK));
	case CHILD_AHEAD_OWN_NET:
		return blame_at(err, CAUSE_OTHER, a->errnum, child_step_name(CHILD_STEP_NETNS));
	case CHILD_AHEAD_PARENT:
	case CHILD_AHEAD_WAIT:
	case CHILD_AHEAD_CPUS:
	case CHILD_AHEAD_NONE:
		break;
	}
	return err_set(err, ERR_HOST, a->errnum,
		       "the process that makes the namespaces ended before they were used (killed "
		       "from outside, or out of memory)");
}

pid_t run_namespaces_clone(struct run_namespaces *n, const struct plan *plan,
			   const struct clone_args *args, void (*fn)(void *), void *arg,
			   struct err *err)
{
	struct child_ahead *a = &n->ahead;

	if (n->pid == 0)
		return blame_clone(err, n->errnum);
	if (a->network != when_made[run_network_of(plan)])
		return err_set(err, ERR_INTERNAL, 0, "the namespaces made are not the plan's");
	a->args = *args;
	a->fn = fn;
	a->arg = arg;
	if (a->cpus_size > 0)
		place_here(n);
	ahead_tell(n, CHILD_AHEAD_MAKING, CHILD_AHEAD_GO);
	ahead_wait(n, CHILD_AHEAD_GO);
	if (ahead_state(n) != CHILD_AHEAD_CLONED)
		ahead_reap(n);
	n->handed = a->pid > 0;
	return n->handed ? a->pid : ahead_blame(a, err);
}

int run_namespaces_finish(struct run_namespaces *n, int *ret_net, struct err *err)
{
	const struct child_ahead *a = &n->ahead;

	ahead_tell(n, CHILD_AHEAD_CLONED, CHILD_AHEAD_MAKE_NET);
	/* Its end is the answer, whatever ended it; without it there is none. */
	ahead_reap(n);
	*ret_net = a->net;
	if (n->pid != 0 || (a->network == CHILD_AHEAD_NETWORK_LAST && a->net < 0))
		return ahead_blame(a, err);
	return 0;
}

void run_namespaces_close(struct run_namespaces *n)
{
	if (n == NULL)
		return;
	if (n->pid > 0)
		(void)kill(n->pid, SIGKILL);
	ahead_reap(n);
	if (!n->handed && n->pid == 0 && n->ahead.pid > 0 && kill(n->ahead.pid, SIGKILL) == 0)
		(void)reap(n->ahead.pid);
	fd_close(&n->ahead.net);
	/* Not from under a process that may be there. */
	if (n->pid == 0)
		heap_free(n);
}
