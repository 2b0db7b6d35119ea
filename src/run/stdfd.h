/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* stdfd - what the command gets as descriptors 0, 1 and 2.
 *
 * Of the caller's own descriptors only /dev/null and pipes go in: whatever else is open can be
 * opened again inside through /proc/self/fd, for writing too. Regular files, sockets and
 * terminals are pumped through a pipe of ours; directories, block devices and other devices are
 * refused. Pipes with a name (mkfifo(1)) are pumped like files, because an open one gives a hold
 * on its inode. */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "plan/plan.h"
#include "run/pump.h"
#include "run/run.h"

struct stdfd_set {
	int child[3]; /* owned: for the child, each >= 3 */
	struct pump pumps[3];
	size_t n_pumps;
	struct pump_budget budget;
	struct pump_guard guard;
};

/* stdfd_open() - look at the caller's descriptors and make what the run needs.
 * @sink: the two buffers that capture fills.
 * The set holds pointers into itself: it must not move. On failure nothing is left open. */
MUST_CHECK int stdfd_open(struct stdfd_set *set, const struct plan *plan,
			  const struct run_options *opt, struct strbuf sink[2], struct err *err);
/* stdfd_close_child() - after the clone: our copies of what the child has. */
void stdfd_close_child(struct stdfd_set *set);
void stdfd_free(struct stdfd_set *set);
