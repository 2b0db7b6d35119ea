/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* limit - which limit ended a run: the first one, with the figure that was reached. */
#pragma once

#include "child/report.h"
#include "run/supervisor.h"

/* limit_reached() - @which ends the run. The first one is kept.
 * @reached: in its unit. */
void limit_reached(struct supervisor *s, enum plan_limit which, uint64_t reached);
/* limit_of_kernel() - once everything is dead: what the monitor and the cgroup counted.
 * @init_killed: init died of a signal that was not ours. */
void limit_of_kernel(struct supervisor *s, bool init_killed);
/* limit_of_exit() - whether the command died of a limit that the kernel enforced. A command that
 * lived on, or had a child that died of it, ended by itself. */
void limit_of_exit(struct supervisor *s, const struct child_report *exited);
