/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* supervisor - the state of one run, shared by the files of this floor. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "child/report.h"
#include "run/cgroup.h"
#include "run/monitor.h"
#include "run/run.h"
#include "run/signals.h"
#include "run/spawn.h"
#include "run/stdfd.h"
#include "run/tty.h"

/* How long an end may take that nothing in the sandbox can delay: only a process in
 * uninterruptible sleep outlives this, and then waiting longer does not help. */
#define SUPERVISOR_KILL_MS 10000
/* How long the child may take to build the sandbox. */
#define SUPERVISOR_BUILD_MS 10000

struct supervisor {
	const struct plan *plan;                      /* borrowed */
	const struct run_options *opt;                /* borrowed */
	const struct run_attachment *const *attached; /* borrowed */
	size_t n_attached;
	size_t n_prepared;
	struct signals signals;
	struct stdfd_set io;
	struct tty tty;
	struct spawn child;
	const struct run_cgroup *cgroup;   /* borrowed, or NULL */
	struct run_namespaces *namespaces; /* borrowed, or NULL: not begun yet */
	struct monitor monitor;
	uint64_t cloned_ms; /* when */
	bool settled;       /* the attachments have been told */
	struct outcome *o;  /* borrowed */
};

/* supervisor_now_ms() - CLOCK_MONOTONIC, which stands still while the machine is suspended. */
uint64_t supervisor_now_ms(void);

/* supervisor_step_failed() - the child's CHILD_REPORT_FAILED, into the outcome and *err (whatever
 * was there). Returns -1. */
int supervisor_step_failed(struct supervisor *s, const struct child_report *r, struct err *err);

/* supervisor_work_done() - CHILD_REPORT_WORK, into the outcome. From a process beside init, so it
 * may be here before CHILD_REPORT_EXEC. Return: false for one that cannot be. */
bool supervisor_work_done(struct supervisor *s, const struct child_report *r);

/* supervisor_settled() - tell the attachments, once, if the command was started. */
void supervisor_settled(struct supervisor *s);

/* start_child() - clone, id maps, checks, attachments, and the order to start. On failure the
 * child is dead and nothing ran. */
MUST_CHECK int start_child(struct supervisor *s, struct err *err);

/* loop_run() - from the order to start until the sandbox is gone and its output delivered;
 * fills s->o. */
void loop_run(struct supervisor *s);
