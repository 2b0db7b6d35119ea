/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* ahead - the process that makes the namespaces of a sandbox, ahead of its first process.
 *
 * A network namespace costs the kernel as much time as all the planning of a run. So the
 * namespaces are asked for as soon as the request is allowed, by a process that shares the
 * supervisor's memory and descriptors (CLONE_VM, CLONE_FILES) and nothing else; when the plan is
 * there it clones the child into them, as a child of the supervisor (CLONE_PARENT), and ends. It is
 * never in the sandbox: the pid and the cgroup namespace are made by that clone.
 *
 * Straight system calls as in child.h. errno, malloc and stdio are the supervisor's, which runs
 * beside it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "child/report.h"
#include "sys/clone.h"

/* What the process stops at when it cannot go on. */
enum child_ahead_step {
	CHILD_AHEAD_NONE = 0,
	CHILD_AHEAD_NAMESPACES, /* unshare(2) */
	CHILD_AHEAD_PARENT,     /* it would not end with the supervisor */
	CHILD_AHEAD_LOOPBACK,
	CHILD_AHEAD_WAIT,
	CHILD_AHEAD_CPUS,
	CHILD_AHEAD_CLONE, /* clone3(2) of the child */
};

/* For 8192 processors, what Linux is built for at most (CONFIG_NR_CPUS). */
#define CHILD_AHEAD_CPU_WORDS (8192 / (8 * sizeof(unsigned long)))

/* Shared by both: written by the supervisor before the process exists, then before the release of
 * go; read by it only once the process has ended. */
struct child_ahead {
	bool host_network;
	int supervisor;   /* pid */
	uint32_t go;      /* CHILD_AHEAD_GO: the next five are set, clone. Woken by futex(2) */
	size_t cpus_size; /* bytes; 0: may run where the supervisor may */
	unsigned long cpus[CHILD_AHEAD_CPU_WORDS]; /* where the child may */
	struct clone_args args; /* with CLONE_PARENT, and so without an exit signal: SIGCHLD */
	void (*fn)(void *);
	void *arg;
	/* The answer. */
	enum child_ahead_step failed;
	int errnum;
	int pid; /* of the child, in the supervisor's pid namespace; 0: none */
};

#define CHILD_AHEAD_GO 1U
/* What it adds to ->args.flags. A cgroup namespace too is made by that clone: from inside one no
 * child can be put into a cgroup that lies outside of it (cgroup_namespaces(7)), as that of the run
 * does. */
#define CHILD_AHEAD_CHILD_FLAGS                                                                    \
	(CLONE_NEWPID | CLONE_NEWCGROUP | CLONE_PARENT | CLONE_PARENT_SETTID)

/* child_ahead_main() - entry point on a stack of its own, with every signal blocked; @arg is a
 * struct child_ahead. Never returns. */
_Noreturn void child_ahead_main(void *arg);
