/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* stdfd - what the command gets as descriptors 0, 1 and 2.
 *
 * None of the caller's own descriptors goes in: whatever is open can be opened again inside
 * through /proc/self/fd, in the other direction too. Through the write end of a caller's pipe the
 * command would read what others wrote there, through the read end write what others read, and
 * O_NONBLOCK set inside would stay. Pipes, regular files, sockets and terminals are pumped
 * through a pipe of ours; for /dev/null there is a new opening of it; directories, block devices
 * and other devices are refused.
 *
 * With opt->terminal, descriptors 0, 1 and, if it is the same terminal, 2 are a pty that the child
 * makes.
 *
 * Two things differ from a pipe that is handed down: input is read ahead, so what the command
 * leaves unread is lost to who reads that pipe next; and a write of PIPE_BUF bytes or less is one
 * piece inside, but may be cut where it meets those of other writers of the caller's pipe. */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "plan/plan.h"
#include "run/pump.h"
#include "run/run.h"

struct stdfd_set {
	int child[3];      /* owned: for the child, each >= 3 */
	unsigned terminal; /* bit n: the child makes a pty for descriptor n */
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
/* stdfd_add_terminal() - the pty is there: pump between it and the caller's terminal.
 * @master: borrowed. @talk: borrowed, noted in both directions. */
MUST_CHECK int stdfd_add_terminal(struct stdfd_set *set, const struct run_options *opt, int master,
				  struct talk *talk, struct err *err);
/* stdfd_close_child() - after the clone: our copies of what the child has. */
void stdfd_close_child(struct stdfd_set *set);
void stdfd_free(struct stdfd_set *set);
