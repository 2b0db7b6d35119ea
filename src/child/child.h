/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* child - what runs between clone and exec, and then stays as pid 1 of the sandbox.
 *
 * Straight system calls on a finished plan: no allocation, no stdio, no libc call that is not
 * in tools/child-symbols.allow (a test holds the library to that list). Heap, main stack and
 * host arenas of the supervisor are not mapped here. */
#pragma once

#include <stdbool.h>

#include "child/report.h"
#include "plan/plan.h"

struct child_args {
	const struct plan *plan;
	int control; /* this end of the control socket */
	int watch;   /* with plan.watched: where the supervisor waits for /proc and /tmp, else -1 */
	int stdio[3]; /* what becomes descriptors 0, 1 and 2: pipes or the null device, else EBADF
		       */
	bool join_network; /* that of the sandbox comes with CHILD_ORDER_NETWORK */
	unsigned terminal; /* bit n: descriptor n is a pty made inside instead; 0: there is none */
};

/* child_main() - entry point on the new stack; @arg is a struct child_args in memory that
 * crosses clone. Never returns.
 *
 * The supervisor has blocked every signal, and the copy of its own end of the control socket is
 * closed already: while it is open here, the death of the supervisor is no end of file.
 *
 * Thread-local storage must cross too, although nothing here uses it: the kernel writes to the
 * thread's rseq area in it, rseq(2), and kills the process when it is not mapped. In a static
 * program it lies in the heap. */
_Noreturn void child_main(void *arg);

/* child_step_name() - the word for a step in messages. For the supervisor. */
const char *child_step_name(enum child_step step);
