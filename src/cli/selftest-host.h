/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* selftest-host - what the host prepares to be attacked: a private directory below the state
 * directory, and sockets to be found. Nothing else of the host is touched. */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "cli/selftest.h"

struct selftest_host {
	struct arena *arena; /* borrowed */
	int state_fd;        /* owned: the state directory */
	const char *name;    /* of the private directory in it; NULL until made */
	const char *room;    /* becomes a writable root */
	const char *state;   /* stands in for the state directory: no root may lie in that */
	const char *profile; /* ours, in the room, where it must be hidden */
	int lock_fd;         /* owned: SELFTEST_LOCK of the room */
	int listeners[4];    /* owned */
	int leak_fd;         /* owned: open across exec, on purpose */
	int fifo_fd;         /* owned: the other end of the FIFO in the room */
	int stdin_fd;        /* owned: a file of the host, standard input of the attacker */
	struct selftest_ctx ctx;
};

/* selftest_host_make() - below @state_dir, which is made as the audit log would make it. What a
 * selftest of this user left there when it was killed is removed. On failure, too:
 * selftest_host_close(). */
MUST_CHECK int selftest_host_make(struct arena *a, const char *state_dir, struct selftest_host *ret,
				  struct err *err);
/* selftest_host_left() - does a process of the sandbox live on? */
bool selftest_host_left(const struct selftest_host *h);
/* selftest_host_close() - remove what was made. Return: 0 or -errno of the first that stays. */
int selftest_host_close(struct selftest_host *h);
