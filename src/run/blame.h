/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* blame - what on this host stands in the way of a sandbox. Names a setting only after reading
 * it; a cause that is not known is an errno and no guess. */
#pragma once

#include "base/err.h"
#include "child/report.h"
#include "plan/plan.h"

/* blame_clone() - clone3 failed with @errnum. Returns -1 with *err set. */
int blame_clone(struct err *err, int errnum);
/* blame_ids() - writing /proc/PID/@file failed. */
int blame_ids(struct err *err, const char *file, int errnum);
/* blame_step() - the child's CHILD_REPORT_FAILED, whose fields are checked here. */
int blame_step(struct err *err, const struct plan *plan, const struct child_report *r);
/* blame_exec() - the child's CHILD_REPORT_NOEXEC. */
int blame_exec(struct err *err, const struct plan *plan, int errnum);
