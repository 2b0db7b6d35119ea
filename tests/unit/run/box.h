/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* box - the least plan that runs a program of the host: /usr, its links, /proc, /dev/null, /tmp. */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "plan/plan.h"
#include "run/run.h"
#include "tap.h"

struct box {
	struct arena arena; /* ARENA_PLAN */
	struct plan plan;
	struct plan_op *ops; /* writable view of plan.ops */
	struct run_options opt;
};

/* box_init() - a plan for `sh -c @script`; capture on, output limit 1 MiB, stdin null. */
void box_init(struct box *b, const char *script);
/* box_program() - run @exe with no argument instead. */
void box_program(struct box *b, const char *exe);
void box_free(struct box *b);

/* box_run() - run_plan() with these attachments; *o is the caller's. */
int box_run(struct box *b, const struct run_attachment *const *attached, size_t n,
	    struct outcome *o);

/* box_usable() - can this host run one at all? If not, a skip with the reason is recorded. */
bool box_usable(struct tap *t);

/* How long an event is waited for before it counts as not coming: far more than any machine needs,
 * so that only a fault reaches it. */
#define BOX_WAIT_MS 30000

/* box_wait_gone() - no process with @needle in its arguments is left, waited for. */
bool box_wait_gone(const char *needle);
/* box_wait_there() - the opposite, for the control of a test. */
bool box_wait_there(const char *needle);
/* box_find() - a process with @needle in its arguments, or -1. */
int box_find(const char *needle);
/* box_now_ms() - for measuring. */
long long box_now_ms(void);
void box_sleep_ms(int ms);
