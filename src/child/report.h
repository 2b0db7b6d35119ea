/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* report - the records that cross the control socket (SOCK_SEQPACKET) between supervisor and
 * child. Fixed size, one per packet; anything else is an error on either side.
 *
 * A child that was killed with an order unread makes the supervisor's next recv(2) say
 * ECONNRESET, once: read on, a report may be queued behind it. A step before WAIT_IDS may fail
 * before the maps are written, and writing them is then refused: the report says why. */
#pragma once

#include <stdint.h>

/* Supervisor to child. The tokens are exact: end of file, a short packet or any other value
 * ends the child before anything runs. */
enum child_order_kind {
	CHILD_ORDER_NONE = 0,
	CHILD_ORDER_IDS_WRITTEN = 0x49445331, /* the id maps are in place */
	CHILD_ORDER_NETWORK = 0x4e455453,     /* with a descriptor: the namespace to join */
	CHILD_ORDER_START = 0x53545254,  /* everything is checked and written: run the command */
	CHILD_ORDER_SIGNAL = 0x5349474e, /* send @arg to the command's process group */
	CHILD_ORDER_RESUME = 0x434f4e54, /* continue everything, after CHILD_REPORT_STOPPED */
};

struct child_order {
	uint32_t kind;
	uint32_t arg;
};

/* Child to supervisor. */
enum child_report_kind {
	CHILD_REPORT_NONE = 0,
	CHILD_REPORT_FAILED,   /* a step failed: step, op, errnum; nothing ran */
	CHILD_REPORT_READY,    /* every step is done, CHILD_ORDER_START is not there yet */
	CHILD_REPORT_EXEC,     /* execve succeeded, or the plan's work began: the command runs */
	CHILD_REPORT_NOEXEC,   /* execve failed: errnum; nothing ran */
	CHILD_REPORT_TERMINAL, /* the pty is made; its master comes with this packet */
	CHILD_REPORT_STOPPED,  /* with a pty: the command was stopped (^Z), and all else inside with
				* it, until CHILD_ORDER_RESUME */
	CHILD_REPORT_WORK,     /* the plan's work: how it ended, before its process does; once */
	CHILD_REPORT_EXITED,   /* the command ended: status and usage */
};

struct child_report {
	uint32_t kind;
	uint32_t step;  /* enum child_step */
	uint32_t op;    /* index, where the step has one: BUILD plan.ops, SOURCES plan.sources,
			 * LANDLOCK plan.landlock.rules, DESCRIPTORS stdio, SPAWN plan.rlimits; of
			 * WORK an enum child_work_phase */
	int32_t errnum; /* positive errno */
	int32_t status; /* wait status of the command (wait(2)) */
	uint32_t scratch_known;                /* 1: the next two are set */
	uint64_t utime_us, stime_us;           /* of everything that was waited for inside */
	uint64_t max_rss_bytes;                /* of the largest process */
	uint64_t scratch_bytes, scratch_files; /* in use when the command ended */
	uint64_t work_bytes;                   /* WORK: copied, of the file */
	uint64_t work_size;                    /* WORK, READ: of the file when it was opened */
	uint32_t work_cut;                     /* WORK: 1: there was more than plan.work.bytes */
	uint32_t alone;                        /* EXITED: 1: nothing but init is left inside */
};

/* What of the work failed, with errnum. */
enum child_work_phase {
	CHILD_WORK_SETUP = 0, /* its process: nothing was opened */
	CHILD_WORK_OPEN,      /* the file or directory */
	CHILD_WORK_INPUT,     /* reading standard input, or the file */
	CHILD_WORK_OUTPUT,    /* writing to standard output, or what is written before it counts */
	CHILD_WORK_PUT,       /* putting it in its place */
	CHILD_WORK_MAX,
};

/* The ordered steps of the child; the names are in child_step_name(). */
enum child_step {
	CHILD_STEP_NONE = 0,
	CHILD_STEP_PROPAGATION,
	CHILD_STEP_SOURCES,
	CHILD_STEP_SESSION,
	CHILD_STEP_HOSTNAME,
	CHILD_STEP_NETWORK,
	CHILD_STEP_WAIT_IDS,
	CHILD_STEP_IDENTITY,
	CHILD_STEP_DEATH_SIGNAL,
	CHILD_STEP_KEYRING,
	CHILD_STEP_ROOT,
	CHILD_STEP_PROC,
	CHILD_STEP_PIVOT,
	CHILD_STEP_BUILD,
	CHILD_STEP_DETACH,
	CHILD_STEP_SEAL,
	CHILD_STEP_WATCHED,
	CHILD_STEP_WORKDIR,
	CHILD_STEP_NETNS,
	CHILD_STEP_LOOPBACK,
	CHILD_STEP_TERMINAL,
	CHILD_STEP_LANDLOCK,
	CHILD_STEP_DESCRIPTORS,
	CHILD_STEP_PRIVILEGES,
	CHILD_STEP_FILTER,
	CHILD_STEP_WAIT_START,
	CHILD_STEP_SPAWN,
	CHILD_STEP_MAX,
};
