/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* cgroup - a cgroup v2 for one run, below the one that the supervisor is in, so that no limit that
 * is there already is left.
 *
 * It is made before the plan, which says whether it is there, and removed after the run; what a
 * killed supervisor leaves is an empty directory, which the next run there removes. Nothing is
 * changed in a cgroup that was not delegated to the caller (cgroups(7), "Delegation"), and no
 * process of the caller but the supervisor is ever moved. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "plan/plan.h"

/* Zero: no such limit. */
struct run_cgroup_limits {
	uint64_t memory;     /* bytes, swap included */
	uint64_t processes;  /* tasks, init included */
	uint64_t cpus_milli; /* thousandths of a processor */
	bool scope;          /* the user manager may be asked for one (run/scope.h) */
};

struct run_cgroup {
	int fd;           /* owned: the run's directory, with its limits; -1: there is none */
	int in;           /* owned: the one in it, for clone3 */
	int own;          /* owned: the directory of the supervisor's, or -1 */
	bool moved;       /* the supervisor was moved to a leaf beside it */
	bool scope;       /* by the user manager: own is in its scope, or with -1 could be */
	char name[64];    /* in own */
	char reason[448]; /* with fd -1, for people */
};

#define RUN_CGROUP_NONE                                                                            \
	{                                                                                          \
		.fd = -1, .in = -1, .own = -1                                                      \
	}

/* Where to look; other places are for tests. */
struct run_cgroup_host {
	const char *mount;   /* "/sys/fs/cgroup" */
	const char *self;    /* "/proc/self/cgroup" */
	const char *systemd; /* "/run/systemd/system": it is the manager of all cgroups */
	const char *runtime; /* "/run/user", of the user managers */
	bool any_fs;         /* mount need not be a cgroup file system */
};
extern const struct run_cgroup_host run_cgroup_host;

/* run_cgroup_find() - whether one with @want could be made: ret->own is open, or ret->scope set, or
 * ret->reason says why not. Nothing is changed. @want NULL: any limit at all, and no scope. */
void run_cgroup_find(const struct run_cgroup_host *host, const struct run_cgroup_limits *want,
		     struct run_cgroup *ret);
/* run_cgroup_find_one() - the same for a run with that limit alone. One that no cgroup holds finds
 * none, with a reason. @scope: the user manager may be asked. */
void run_cgroup_find_one(const struct run_cgroup_host *host, enum plan_limit limit, bool scope,
			 struct run_cgroup *ret);
/* run_cgroup_make() - make it, set the limits, and read them back. With want->scope the supervisor
 * may be in another cgroup after it, and stays there.
 * Return: 0, also with ret->fd -1 and a reason; -1 when it failed half way. */
MUST_CHECK int run_cgroup_make(const struct run_cgroup_limits *want, struct run_cgroup *ret,
			       struct err *err);

/* What happened in it. */
struct run_cgroup_usage {
	bool memory_known, processes_known;
	uint64_t memory_peak;
	uint64_t processes_peak;
	uint64_t oom_kills;     /* processes that the memory limit ended */
	uint64_t forks_refused; /* by the limit of processes */
	uint64_t throttled_ms;  /* time in which the limit of processors made it wait */
};
void run_cgroup_usage(const struct run_cgroup *c, struct run_cgroup_usage *ret);
/* run_cgroup_kill() - everything in it, at once. */
void run_cgroup_kill(const struct run_cgroup *c);
/* run_cgroup_close() - remove it; its processes are dead. */
void run_cgroup_close(struct run_cgroup *c);
