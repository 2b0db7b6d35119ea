/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* signals - what the supervisor does with signals while a run lasts.
 *
 * INT TERM HUP QUIT USR1 USR2 and CONT are read from a descriptor, unless the caller had one
 * ignored (nohup, a background job of a shell): a blocked signal is queued even when ignored, so
 * those are left out. With a terminal TSTP and WINCH are read too, and everything else that would
 * end the supervisor with the terminal raw. PIPE is ignored and CHLD has its default action,
 * whatever the caller left behind. All of it is put back by signals_close(). */
#pragma once

#include <signal.h>
#include <stdbool.h>

#include "base/err.h"
#include "base/macro.h"

struct signals {
	int fd; /* owned */
	sigset_t old_mask;
	struct sigaction old_pipe, old_chld;
};

MUST_CHECK int signals_open(struct signals *s, bool terminal, struct err *err);
/* signals_next() - the next signal that came, or 0. */
int signals_next(const struct signals *s);
/* signals_close() - undo. What is still pending then acts as it would have without us. */
void signals_close(struct signals *s);
