/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* ahead - the process that makes the namespaces of a sandbox, ahead of its first process.
 *
 * It shares the supervisor's memory and descriptors (CLONE_VM, CLONE_FILES) and nothing else, and
 * is begun as soon as the request is allowed. When the plan is there it clones the child into the
 * namespaces, as a child of the supervisor (CLONE_PARENT). It is never in the sandbox: the pid and
 * the cgroup namespace are made by that clone.
 *
 * A namespace of the network costs the kernel more time than all the others and half of what the
 * child does. So it is made last, while the child is building, and the child joins it (netns.c).
 * Not where the child makes links and listeners in it, which is the first that it does.
 *
 *   supervisor                          ahead                         child
 *   begin ----------------------------> MAKING: all but the network
 *   plan                                |
 *   GO -------------------------------> clone ----------------------> builds
 *   the child's ids <------------------ CLONED                        |
 *   MAKE_NET -------------------------> the network                   |
 *   waits for the end <---------------- end                           |
 *   the namespace, with an order -----------------------------------> joins
 *
 * Straight system calls as in child.h. errno, malloc and stdio are the supervisor's, which runs
 * beside it. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "child/report.h"
#include "sys/clone.h"

/* When the namespace of the network is made. */
enum child_ahead_network {
	CHILD_AHEAD_NETWORK_NONE = 1, /* never: the host's */
	CHILD_AHEAD_NETWORK_FIRST,    /* before the child is cloned */
	CHILD_AHEAD_NETWORK_LAST,     /* after; the child has to join it */
};

/* What the process stops at when it cannot go on. */
enum child_ahead_step {
	CHILD_AHEAD_NONE = 0,
	CHILD_AHEAD_NAMESPACES, /* unshare(2) */
	CHILD_AHEAD_PARENT,     /* it would not end with the supervisor */
	CHILD_AHEAD_NETNS,      /* unshare(2) of the network */
	CHILD_AHEAD_LOOPBACK,
	CHILD_AHEAD_OWN_NET, /* what was made is not its own */
	CHILD_AHEAD_WAIT,
	CHILD_AHEAD_CPUS,
	CHILD_AHEAD_CLONE, /* clone3(2) of the child */
};

/* One word, by which the two wait for each other (futex(2)). Each value is written by one of them,
 * when the one before it is there. */
enum child_ahead_state {
	CHILD_AHEAD_ENDED = 0, /* by the kernel (CLONE_CHILD_CLEARTID), whatever ended it */
	CHILD_AHEAD_MAKING,    /* the first */
	CHILD_AHEAD_GO,        /* supervisor: cpus, args, fn and arg are set, clone */
	CHILD_AHEAD_CLONED,    /* ahead, with NETWORK_LAST */
	CHILD_AHEAD_MAKE_NET,  /* supervisor, with NETWORK_LAST */
};

/* For 8192 processors, what Linux is built for at most (CONFIG_NR_CPUS). */
#define CHILD_AHEAD_CPU_WORDS (8192 / (8 * sizeof(unsigned long)))

/* Shared by both: written by the supervisor before the process exists, then before the release of
 * GO; the answer is read only once the process has ended, but for pid. */
struct child_ahead {
	enum child_ahead_network network;
	int supervisor;                            /* pid */
	uint32_t state;                            /* enum child_ahead_state */
	size_t cpus_size;                          /* bytes; 0: may run where the supervisor may */
	unsigned long cpus[CHILD_AHEAD_CPU_WORDS]; /* where the child may */
	struct clone_args args; /* with CLONE_PARENT, and so without an exit signal: SIGCHLD */
	void (*fn)(void *);
	void *arg;
	/* The answer. */
	enum child_ahead_step failed;
	int errnum;
	int net; /* with NETWORK_LAST: the namespace, a descriptor of the supervisor's; else -1 */
	int pid; /* of the child, in the supervisor's pid namespace; 0: none. Set by the kernel
		  * before the child can run */
};

/* What it adds to ->args.flags. A cgroup namespace too is made by that clone: from inside one no
 * child can be put into a cgroup that lies outside of it (cgroup_namespaces(7)), as that of the run
 * does. */
#define CHILD_AHEAD_CHILD_FLAGS                                                                    \
	(CLONE_NEWPID | CLONE_NEWCGROUP | CLONE_PARENT | CLONE_PARENT_SETTID)

/* child_ahead_main() - entry point on a stack of its own, with every signal blocked; @arg is a
 * struct child_ahead. Never returns. */
_Noreturn void child_ahead_main(void *arg);
