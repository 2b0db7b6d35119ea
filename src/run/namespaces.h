/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* namespaces - those of a sandbox, made beside the planning (child/ahead.h).
 *
 * Only for a request that is allowed. Whether they could be made is said when they are used: until
 * then a host that refuses them delays nothing and hides no better message. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "plan/plan.h"
#include "sys/clone.h"

struct run_namespaces; /* owned: run_namespaces_close() */

enum run_network {
	RUN_NETWORK_HOST, /* none is made */
	RUN_NETWORK_OWN,  /* made while the child builds, which joins it */
	RUN_NETWORK_NAMED /* there before the child: it makes links and listeners in it */
};

/* run_namespaces_begin() - start to make them. @network: as the plan will say. */
struct run_namespaces *run_namespaces_begin(enum run_network network);
enum run_network run_network_of(const struct plan *plan);

/* run_namespaces_clone() - once: the child in the namespaces and in a pid namespace of its own, as
 * a child of this process, with a copy of memory and descriptors as they are now.
 * @args: flags, stack, cgroup and pidfd; neither CLONE_NEW* nor an exit signal.
 * Return: its pid; -1 with *err set. */
MUST_CHECK pid_t run_namespaces_clone(struct run_namespaces *n, const struct plan *plan,
				      const struct clone_args *args, void (*fn)(void *), void *arg,
				      struct err *err);

/* run_namespaces_finish() - once, after the clone, when nothing keeps the child from going on: what
 * is not there yet is made, and waited for.
 * @ret_net: with RUN_NETWORK_OWN the namespace for the child, borrowed until the close; else -1.
 * Return: 0; -1 with *err set. */
MUST_CHECK int run_namespaces_finish(struct run_namespaces *n, int *ret_net, struct err *err);

/* run_namespaces_close() - NULL is fine. Where the process that makes them was killed from outside,
 * what it had open at that moment stays open here: its descriptors are ours. What was made and not
 * used is gone with it. */
void run_namespaces_close(struct run_namespaces *n);
