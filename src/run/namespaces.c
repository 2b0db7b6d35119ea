/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "run/namespaces.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/heap.h"
#include "child/ahead.h"
#include "child/child.h"
#include "run/blame.h"
#include "sys/process.h"

struct run_namespaces {
	_Alignas(16) char stack[8192]; /* in use until the process is reaped */
	struct child_ahead ahead;
	int errnum; /* there is no process: clone3 said so */
	pid_t pid;  /* 0: none, or reaped */
};

/* A new process often gets the processor of the one that made it, and waits there until that one
 * sleeps: the two would do one after the other what they are two for. So it may run on every
 * processor but that one until it clones the child, which gets all of them back. Where that cannot
 * be said, it is left as it is: nothing but time depends on it. */
static void place_elsewhere(struct run_namespaces *n)
{
	struct child_ahead *a = &n->ahead;
	const unsigned bits = 8 * sizeof(a->cpus[0]);
	unsigned long others[CHILD_AHEAD_CPU_WORDS];
	int size = sys_cpus_get(0, a->cpus, sizeof(a->cpus));
	int cpu = sched_getcpu();
	bool any = false;

	if (size <= 0 || cpu < 0 || (unsigned)cpu / 8 >= (unsigned)size)
		return;
	memcpy(others, a->cpus, (size_t)size);
	others[(unsigned)cpu / bits] &= ~(1UL << ((unsigned)cpu % bits));
	for (size_t i = 0; i < (size_t)size / sizeof(others[0]); i++)
		any = any || others[i] != 0;
	if (any && sys_cpus_set(n->pid, others, (size_t)size) == 0)
		a->cpus_size = (size_t)size;
}

struct run_namespaces *run_namespaces_begin(bool host_network)
{
	struct run_namespaces *n = heap_alloc(1, sizeof(*n));
	struct clone_args args = {
		.flags = CLONE_VM | CLONE_FILES,
		.exit_signal = SIGCHLD,
		.stack = (uintptr_t)n->stack,
		.stack_size = sizeof(n->stack),
	};
	sigset_t all, old;
	long pid;

	n->ahead.host_network = host_network;
	n->ahead.supervisor = getpid();
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
		place_elsewhere(n);
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
	if (reap(n->pid))
		n->pid = 0;
}

static int ahead_blame(const struct child_ahead *a, struct err *err)
{
	switch (a->failed) {
	case CHILD_AHEAD_NAMESPACES:
		return blame_at(err, CAUSE_CLONE, a->errnum,
				"cannot make the namespaces of the sandbox (unshare)");
	case CHILD_AHEAD_CLONE:
		return blame_clone(err, a->errnum);
	case CHILD_AHEAD_LOOPBACK:
		return blame_at(err, CAUSE_OTHER, a->errnum, child_step_name(CHILD_STEP_LOOPBACK));
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
	if (a->host_network != plan->host_network)
		return err_set(err, ERR_INTERNAL, 0, "the namespaces made are not the plan's");
	a->args = *args;
	a->fn = fn;
	a->arg = arg;
	__atomic_store_n(&a->go, CHILD_AHEAD_GO, __ATOMIC_RELEASE);
	if (sys_futex_wake(&a->go) < 0)
		(void)kill(n->pid, SIGKILL);
	/* Its end is the answer, whatever ended it; without it there is none. */
	ahead_reap(n);
	return n->pid == 0 && a->pid > 0 ? a->pid : ahead_blame(a, err);
}

void run_namespaces_close(struct run_namespaces *n)
{
	if (n == NULL)
		return;
	if (n->pid > 0) {
		(void)kill(n->pid, SIGKILL);
		ahead_reap(n);
		/* A child that was never handed out. */
		if (n->pid == 0 && n->ahead.pid > 0 && kill(n->ahead.pid, SIGKILL) == 0)
			(void)reap(n->ahead.pid);
	}
	/* Not from under a process that may be there. */
	if (n->pid == 0)
		heap_free(n);
}
