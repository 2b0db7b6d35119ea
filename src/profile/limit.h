/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* limit - the block `limits` of a sandbox, as data. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "profile/pos.h"

/* An optional number: the strictest reading of "not set" differs by key, so it is said. */
struct profile_limit {
	bool set;
	uint64_t value;
	struct profile_pos pos; /* with set */
};

enum profile_output_limit {
	PROFILE_OUTPUT_KILL = 0, /* reaching limits.output ends the run */
	PROFILE_OUTPUT_DRAIN,    /* when the key is absent: the rest is dropped and counted */
};

enum profile_enforce {
	PROFILE_ENFORCE_KERNEL = 0, /* what only a monitor could do is refused */
	PROFILE_ENFORCE_ANY,        /* when the key is absent: what the host has */
};

#define PROFILE_PROCESSES_MAX ((uint64_t)4194304) /* PID_MAX_LIMIT of linux/threads.h */

struct profile_limits {
	struct profile_limit timeout_ms;   /* unset: none */
	struct profile_limit grace_ms;     /* the value is always there */
	struct profile_limit cpu_time_ms;  /* whole seconds; unset: none */
	struct profile_limit cpus_milli;   /* thousandths of a processor; unset: none */
	struct profile_limit memory_bytes; /* unset: none */
	struct profile_limit disk_bytes;   /* unset: none */
	struct profile_limit processes;    /* the value is always there, as of the next one */
	struct profile_limit open_files;
	struct profile_limit file_bytes;   /* unset: none */
	struct profile_limit output_bytes; /* unset: unlimited when streaming, 1 MiB with --json */
	enum profile_output_limit on_output_limit;
	enum profile_enforce enforce;
};
