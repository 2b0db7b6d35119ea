/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* monitor - the limits that no part of the kernel holds here, looked at again and again.
 *
 * Soft by its nature: between two looks more can be used than the limit says, and memory that is
 * neither mapped nor in the scratch (an unmapped memfd, a buffer of a pipe or socket) is not seen.
 * Where the plan watches nothing, nothing here costs a system call. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "plan/plan.h"

/* File systems of writable roots. */
#define MONITOR_DISKS 16

struct monitor_disk {
	int fd;          /* owned: O_PATH */
	uint32_t dev[2]; /* major, minor */
	uint64_t used;   /* bytes, at the start */
};

struct monitor {
	const struct plan *plan; /* borrowed; NULL: nothing is watched */
	int timer;               /* owned: readable when it is time to look; -1 */
	int proc;                /* owned: the sandbox's /proc, or -1 */
	int scratch;             /* owned: its scratch, or -1 */
	struct monitor_disk disks[MONITOR_DISKS];
	size_t n_disks;
	unsigned looks;
	bool counted;                         /* there was a look at the processes */
	uint64_t memory_peak, processes_peak; /* as far as was seen */
};

#define MONITOR_NONE                                                                               \
	{                                                                                          \
		.timer = -1, .proc = -1, .scratch = -1                                             \
	}

/* monitor_open() - before the clone: what the disks hold now. */
MUST_CHECK int monitor_open(struct monitor *m, const struct plan *plan, struct err *err);
/* monitor_start() - before the order to start: take what init sent over @sock, and begin to look.
 */
MUST_CHECK int monitor_start(struct monitor *m, int sock, struct err *err);
/* monitor_look() - on an event of ->timer.
 * Return: whether a limit is exceeded, with the two set. */
bool monitor_look(struct monitor *m, enum plan_limit *ret_which, uint64_t *ret_reached);
void monitor_close(struct monitor *m);
