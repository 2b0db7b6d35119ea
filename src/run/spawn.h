/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* spawn - the clone of the child, with nothing of the host in its memory but the plan. */
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include "base/err.h"
#include "plan/plan.h"
#include "run/namespaces.h"

struct spawn {
	pid_t pid;
	int pidfd;   /* owned */
	int control; /* owned: our end of the control socket */
	int watch;   /* owned: with plan.watched, where init sends what is to be watched, else -1 */
};

/* spawn_child() - clone; the child then waits for its id maps.
 * @namespaces: begun for this plan, not used yet; the caller's to close.
 * @cgroup: directory of the cgroup to clone it into, or -1.
 * @stdio: what the child gets as 0, 1 and 2, each >= 3; the caller closes its copies.
 * @terminal: bit n: the child makes a pty for descriptor n instead (child/child.h).
 * The plan's strings and arrays must be in an ARENA_PLAN or in the program itself. */
MUST_CHECK int spawn_child(const struct plan *plan, struct run_namespaces *namespaces, int cgroup,
			   const int stdio[3], unsigned terminal, struct spawn *ret,
			   struct err *err);
/* spawn_kill() - SIGKILL to init: the whole pid namespace goes with it. */
void spawn_kill(const struct spawn *s);
/* spawn_reap() - collect init.
 * @wait_ms: wait at most so long for its end.
 * @ret_usage: of init and of what it has waited for, or NULL.
 * Return: its wait status, or -1 when it has not ended (it cannot be killed now: state D). */
int spawn_reap(const struct spawn *s, int wait_ms, struct rusage *ret_usage);
void spawn_close(struct spawn *s);
