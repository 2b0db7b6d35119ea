/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <sys/resource.h>

#include "plan/internal.h"

static const struct plan_limit_name names[PLAN_LIMIT_MAX] = {
	[PLAN_LIMIT_TIMEOUT] = { "timeout", "ms" },
	[PLAN_LIMIT_CPU_TIME] = { "cpu_time", "ms" },
	[PLAN_LIMIT_PROCESSES] = { "processes", "tasks" },
	[PLAN_LIMIT_OPEN_FILES] = { "open_files", "files" },
	[PLAN_LIMIT_FILE_SIZE] = { "file_size", "bytes" },
	[PLAN_LIMIT_OUTPUT] = { "output", "bytes" },
};

static const char *const mechanisms[] = {
	[PLAN_MECHANISM_NONE] = "none",
	[PLAN_MECHANISM_SUPERVISOR] = "supervisor",
	[PLAN_MECHANISM_RLIMIT] = "rlimit",
};

const struct plan_limit_name *plan_limit_name(enum plan_limit limit)
{
	return &names[limit];
}

const char *plan_mechanism_name(enum plan_mechanism m)
{
	return mechanisms[m];
}

static void hold(struct plan *p, enum plan_limit limit, enum plan_mechanism m, uint64_t bound)
{
	p->limits[limit] = (struct plan_limit_row){ .mechanism = m, .bound = bound };
}

static void by_rlimit(struct plan_builder *b, enum plan_limit limit, int resource, uint64_t bound,
		      uint64_t soft, uint64_t hard)
{
	struct plan *p = b->plan;

	hold(p, limit, PLAN_MECHANISM_RLIMIT, bound);
	b->rlimits[p->n_rlimits++] =
		(struct plan_rlimit){ .resource = resource, .soft = soft, .hard = hard };
}

static uint64_t value_or(const struct profile_limit *l, uint64_t absent)
{
	return l->set ? l->value : absent;
}

static int refuse(const struct profile_limit *l, enum plan_limit limit, const char *why,
		  struct err *err)
{
	return err_set_at(err, ERR_HOST, l->pos.file, l->pos.line, l->pos.col,
			  "'limits.%s' cannot be enforced here: %s", names[limit].name, why);
}

/* RLIMIT_NPROC counts the tasks of a user in the innermost user namespace, which is the sandbox's
 * own: it is exact, whatever the same user runs elsewhere. Init is one of them. Kernel uid 0 is
 * exempt (kernel/fork.c, INIT_USER). */
static int limit_processes(struct plan_builder *b, struct err *err)
{
	const struct profile_limit *l = &b->rq->profile->sandbox.limits.processes;

	if (b->rq->ids.identity != PLAN_IDENTITY_ROOT)
		by_rlimit(b, PLAN_LIMIT_PROCESSES, RLIMIT_NPROC, l->value, l->value + 1,
			  l->value + 1);
	else if (l->set)
		return refuse(l, PLAN_LIMIT_PROCESSES,
			      "the kernel exempts uid 0, and this host offers no other identity "
			      "to a root caller: call agentbox as an ordinary user",
			      err);
	return 0;
}

static void limit_rlimits(struct plan_builder *b)
{
	const struct profile_limits *l = &b->rq->profile->sandbox.limits;
	uint64_t files = l->open_files.value;
	uint64_t seconds = l->cpu_time_ms.value / 1000;

	/* 1 and not 0: the kernel skips a core pipe handler only for the value 1 (core(5)). */
	b->rlimits[b->plan->n_rlimits++] =
		(struct plan_rlimit){ .resource = RLIMIT_CORE, .soft = 1, .hard = 1 };
	by_rlimit(b, PLAN_LIMIT_OPEN_FILES, RLIMIT_NOFILE, files, files, files);
	if (l->file_bytes.set)
		by_rlimit(b, PLAN_LIMIT_FILE_SIZE, RLIMIT_FSIZE, l->file_bytes.value,
			  l->file_bytes.value, l->file_bytes.value);
	/* SIGXCPU first, which says why; SIGKILL a second later for who catches it. */
	if (l->cpu_time_ms.set)
		by_rlimit(b, PLAN_LIMIT_CPU_TIME, RLIMIT_CPU, l->cpu_time_ms.value, seconds,
			  seconds + 1);
}

static void limit_output(struct plan_builder *b)
{
	const struct plan_request *rq = b->rq;
	const struct profile_limits *l = &rq->profile->sandbox.limits;
	struct plan *p = b->plan;

	p->output_limited = l->output_bytes.set || rq->capture;
	p->output_bytes = value_or(&l->output_bytes, PLAN_CAPTURE_BYTES);
	if (rq->capture && p->output_bytes > PLAN_CAPTURE_MAX)
		p->output_bytes = PLAN_CAPTURE_MAX;
	p->output_kill = l->on_output_limit == PROFILE_OUTPUT_KILL;
	if (p->output_limited)
		hold(p, PLAN_LIMIT_OUTPUT, PLAN_MECHANISM_SUPERVISOR, p->output_bytes);
}

int plan_limits_build(struct plan_builder *b, struct err *err)
{
	const struct plan_request *rq = b->rq;
	const struct profile_limits *l = &rq->profile->sandbox.limits;
	struct plan *p = b->plan;

	b->rlimits = arena_array(b->arena, PLAN_RLIMITS_MAX, sizeof(*b->rlimits));
	p->rlimits = b->rlimits;
	p->grace_ms = l->grace_ms.value;
	p->timeout_ms = value_or(&l->timeout_ms, 0);
	if (rq->timeout_ms > 0 && (p->timeout_ms == 0 || rq->timeout_ms < p->timeout_ms))
		p->timeout_ms = rq->timeout_ms;
	if (p->timeout_ms > 0)
		hold(p, PLAN_LIMIT_TIMEOUT, PLAN_MECHANISM_SUPERVISOR, p->timeout_ms);
	limit_output(b);
	limit_rlimits(b);
	return limit_processes(b, err);
}
