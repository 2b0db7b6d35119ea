/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <sys/resource.h>

#include "plan/internal.h"

#define WAYS_MAX 5

static const struct plan_limit_name names[PLAN_LIMIT_MAX] = {
	[PLAN_LIMIT_TIMEOUT] = { "timeout", "ms" },
	[PLAN_LIMIT_CPU_TIME] = { "cpu_time", "ms" },
	[PLAN_LIMIT_CPUS] = { "cpus", "thousandths" },
	[PLAN_LIMIT_MEMORY] = { "memory", "bytes" },
	[PLAN_LIMIT_PROCESSES] = { "processes", "tasks" },
	[PLAN_LIMIT_OPEN_FILES] = { "open_files", "files" },
	[PLAN_LIMIT_FILE_SIZE] = { "file_size", "bytes" },
	[PLAN_LIMIT_OUTPUT] = { "output", "bytes" },
	[PLAN_LIMIT_DISK] = { "disk", "bytes" },
};

static const char *const mechanisms[PLAN_MECHANISM_MAX] = {
	[PLAN_MECHANISM_NONE] = "none",
	[PLAN_MECHANISM_SUPERVISOR] = "supervisor",
	[PLAN_MECHANISM_RLIMIT] = "rlimit",
	[PLAN_MECHANISM_CGROUP] = "cgroup",
	[PLAN_MECHANISM_SCOPE] = "scope",
	[PLAN_MECHANISM_MONITOR] = "monitor",
	[PLAN_MECHANISM_RLIMIT_MONITOR] = "rlimit+monitor",
};

/* The best first. */
static const enum plan_mechanism ways[PLAN_LIMIT_MAX][WAYS_MAX] = {
	[PLAN_LIMIT_TIMEOUT] = { PLAN_MECHANISM_SUPERVISOR },
	[PLAN_LIMIT_CPU_TIME] = { PLAN_MECHANISM_RLIMIT },
	[PLAN_LIMIT_CPUS] = { PLAN_MECHANISM_CGROUP, PLAN_MECHANISM_SCOPE },
	[PLAN_LIMIT_MEMORY] = { PLAN_MECHANISM_CGROUP, PLAN_MECHANISM_SCOPE,
				PLAN_MECHANISM_RLIMIT_MONITOR },
	[PLAN_LIMIT_PROCESSES] = { PLAN_MECHANISM_RLIMIT, PLAN_MECHANISM_CGROUP,
				   PLAN_MECHANISM_SCOPE, PLAN_MECHANISM_MONITOR },
	[PLAN_LIMIT_OPEN_FILES] = { PLAN_MECHANISM_RLIMIT },
	[PLAN_LIMIT_FILE_SIZE] = { PLAN_MECHANISM_RLIMIT },
	[PLAN_LIMIT_OUTPUT] = { PLAN_MECHANISM_SUPERVISOR },
	[PLAN_LIMIT_DISK] = { PLAN_MECHANISM_MONITOR },
};

const enum plan_mechanism *plan_limit_ways(enum plan_limit limit)
{
	return ways[limit];
}

static bool is_watched(enum plan_mechanism m)
{
	return m == PLAN_MECHANISM_MONITOR || m == PLAN_MECHANISM_RLIMIT_MONITOR;
}

/* Why this host does not have @m for @limit; NULL: it has. */
static const char *why_not(enum plan_limit limit, enum plan_mechanism m,
			   const struct plan_limit_host *h)
{
	if (m == PLAN_MECHANISM_RLIMIT && limit == PLAN_LIMIT_PROCESSES &&
	    h->identity == PLAN_IDENTITY_ROOT)
		return "the kernel exempts uid 0, and this host offers no other identity to a root "
		       "caller (call agentbox as an ordinary user)";
	if ((m == PLAN_MECHANISM_CGROUP && (!h->cgroup || h->scope)) ||
	    (m == PLAN_MECHANISM_SCOPE && !(h->cgroup && h->scope)))
		return h->cgroup_why == NULL ? "no cgroup was asked for" : h->cgroup_why;
	if (is_watched(m) && limit != PLAN_LIMIT_DISK && h->outer_proc)
		return "the supervisor cannot watch it without a /proc of the sandbox's own";
	return NULL;
}

enum plan_mechanism plan_limit_choose(enum plan_limit limit, const struct plan_limit_host *host,
				      bool kernel, const char **ret_why)
{
	*ret_why = "the kernel has nothing for it, it could only be watched";
	for (size_t i = 0; i < WAYS_MAX && ways[limit][i] != PLAN_MECHANISM_NONE; i++) {
		const char *why;

		if (kernel && is_watched(ways[limit][i]))
			break;
		why = why_not(limit, ways[limit][i], host);
		if (why == NULL)
			return ways[limit][i];
		*ret_why = why;
	}
	return PLAN_MECHANISM_NONE;
}

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

/* Choose, or refuse at the place in the profile. */
static int choose(struct plan_builder *b, const struct profile_limit *l, enum plan_limit limit,
		  struct err *err)
{
	const struct plan_request *rq = b->rq;
	const struct profile_sandbox *s = &rq->profile->sandbox;
	const struct plan_limit_host host = { .identity = rq->ids.identity,
					      .outer_proc = rq->outer_proc,
					      .cgroup = rq->cgroup,
					      .scope = rq->scope,
					      .cgroup_why = rq->cgroup_why };
	const struct profile_pos *pos = l->set ? &l->pos : &s->pos;
	bool kernel = s->limits.enforce == PROFILE_ENFORCE_KERNEL;
	enum plan_mechanism m;
	const char *why;

	m = plan_limit_choose(limit, &host, kernel, &why);
	if (m == PLAN_MECHANISM_NONE)
		return err_set_at(err, ERR_HOST, pos->file, pos->line, pos->col,
				  "'limits.%s' cannot be enforced%s here: %s", names[limit].name,
				  kernel ? " by the kernel" : "", why);
	hold(b->plan, limit, m, l->value);
	b->plan->watched = b->plan->watched || is_watched(m);
	return 0;
}

static int choose_if_set(struct plan_builder *b, const struct profile_limit *l,
			 enum plan_limit limit, struct err *err)
{
	return l->set ? choose(b, l, limit, err) : 0;
}

/* RLIMIT_NPROC counts the tasks of a user in the innermost user namespace, which is the sandbox's
 * own: it is exact, whatever the same user runs elsewhere. Init is one of them. Kernel uid 0 is
 * exempt (kernel/fork.c, INIT_USER); there the default alone is no reason to watch every run. */
static int limit_processes(struct plan_builder *b, struct err *err)
{
	const struct profile_limits *all = &b->rq->profile->sandbox.limits;
	const struct profile_limit *l = &all->processes;

	if (b->rq->ids.identity == PLAN_IDENTITY_ROOT && !l->set &&
	    all->enforce != PROFILE_ENFORCE_KERNEL)
		return 0;
	if (choose(b, l, PLAN_LIMIT_PROCESSES, err) != 0)
		return -1;
	if (b->plan->limits[PLAN_LIMIT_PROCESSES].mechanism == PLAN_MECHANISM_RLIMIT)
		by_rlimit(b, PLAN_LIMIT_PROCESSES, RLIMIT_NPROC, l->value, l->value + 1,
			  l->value + 1);
	return 0;
}

/* RLIMIT_DATA and never RLIMIT_AS: runtimes reserve far more addresses than they use. */
static int limit_memory(struct plan_builder *b, struct err *err)
{
	const struct profile_limit *l = &b->rq->profile->sandbox.limits.memory_bytes;
	struct plan *p = b->plan;

	if (choose_if_set(b, l, PLAN_LIMIT_MEMORY, err) != 0)
		return -1;
	if (p->limits[PLAN_LIMIT_MEMORY].mechanism == PLAN_MECHANISM_RLIMIT_MONITOR)
		b->rlimits[p->n_rlimits++] = (struct plan_rlimit){ .resource = RLIMIT_DATA,
								   .soft = l->value,
								   .hard = l->value };
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
	if (limit_processes(b, err) != 0 || limit_memory(b, err) != 0 ||
	    choose_if_set(b, &l->cpus_milli, PLAN_LIMIT_CPUS, err) != 0)
		return -1;
	return choose_if_set(b, &l->disk_bytes, PLAN_LIMIT_DISK, err);
}
