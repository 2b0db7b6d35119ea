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

static void felt(struct supervisor *s, enum plan_limit which)
{
	s->o->felt |= 1U << which;
}

static void peaks(struct supervisor *s, const struct run_cgroup_usage *u)
{
	struct outcome *o = s->o;

	o->memory_peak_known = u->memory_known || s->monitor.counted;
	o->memory_peak = u->memory_known ? u->memory_peak : s->monitor.memory_peak;
	o->processes_peak_known = u->processes_known || s->monitor.counted;
	/* Init is one of those that the kernel counts. */
	o->processes_peak = u->processes_known ? u->processes_peak - (u->processes_peak > 0)
					       : s->monitor.processes_peak;
	o->throttled_ms = u->throttled_ms;
}

void limit_of_kernel(struct supervisor *s, bool init_killed)
{
	const struct plan_limit_row *memory = &s->plan->limits[PLAN_LIMIT_MEMORY];
	struct run_cgroup_usage u;

	run_cgroup_usage(s->cgroup, &u);
	peaks(s, &u);
	/* The kernel ends the whole cgroup, init with it (memory.oom.group). */
	if (u.oom_kills > 0 && (memory->mechanism == PLAN_MECHANISM_CGROUP ||
				memory->mechanism == PLAN_MECHANISM_SCOPE)) {
		if (init_killed)
			limit_reached(s, PLAN_LIMIT_MEMORY,
				      u.memory_known ? u.memory_peak : memory->bound);
		else
			felt(s, PLAN_LIMIT_MEMORY);
	}
	if (u.forks_refused > 0)
		felt(s, PLAN_LIMIT_PROCESSES);
	if (u.throttled_ms > 0)
		felt(s, PLAN_LIMIT_CPUS);
}
