/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* blame - the message for what stands in the way of a sandbox: what was tried, the errno, and the
 * cause and remedy of cause.h if there is one. */
#pragma once

#include "base/err.h"
#include "child/report.h"
#include "plan/plan.h"
#include "run/cause.h"

/* blame_at() - @what was refused with @errnum; the cause, if one is known. Returns -1. */
int blame_at(struct err *err, enum cause_place place, int errnum, const char *what);
/* blame_clone() - clone3 failed with @errnum. Returns -1 with *err set. */
int blame_clone(struct err *err, int errnum);
/* blame_ids() - writing /proc/PID/@file failed. */
int blame_ids(struct err *err, const char *file, int errnum);
/* blame_step() - the child's CHILD_REPORT_FAILED, whose fields are checked here. */
int blame_step(struct err *err, const struct plan *plan, const struct child_report *r);
/* blame_place() - which rows of the causes are about a step of the child. */
enum cause_place blame_place(unsigned step);
/* blame_exec() - the child's CHILD_REPORT_NOEXEC. */
int blame_exec(struct err *err, const struct plan *plan, int errnum);
