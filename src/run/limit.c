/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "run/limit.h"

#include <signal.h>
#include <sys/wait.h>

#include "plan/compile.h"

void limit_reached(struct supervisor *s, enum plan_limit which, uint64_t reached)
{
	struct outcome *o = s->o;

	if (o->limit != NULL)
		return;
	o->limit = plan_limit_name(which)->name;
	o->limit_which = which;
	o->limit_reached = reached;
	o->limit_at_ms = supervisor_now_ms() - s->cloned_ms;
}

/* Each of these signals can be sent by anybody; the time used is what tells them apart. A file
 * size has no such witness, but nobody else sends that signal. */
void limit_of_exit(struct supervisor *s, const struct child_report *exited)
{
	const struct plan_limit_row *limits = s->plan->limits;
	const struct plan_limit_row *cpu = &limits[PLAN_LIMIT_CPU_TIME];
	const struct plan_limit_row *file = &limits[PLAN_LIMIT_FILE_SIZE];
	uint64_t used = (exited->utime_us + exited->stime_us) / 1000;
	int signal = WIFSIGNALED(exited->status) ? WTERMSIG(exited->status) : 0;

	/* For the limit the kernel counts whole ticks, of which a busy machine gives a process only
	 * parts; what is reported is counted in nanoseconds. */
	if (cpu->mechanism == PLAN_MECHANISM_RLIMIT && used >= cpu->bound / 2 &&
	    (signal == SIGXCPU || signal == SIGKILL))
		limit_reached(s, PLAN_LIMIT_CPU_TIME, used);
	if (file->mechanism == PLAN_MECHANISM_RLIMIT && signal == SIGXFSZ)
		limit_reached(s, PLAN_LIMIT_FILE_SIZE, file->bound);
}
