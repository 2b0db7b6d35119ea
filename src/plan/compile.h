/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* compile - from facts and decisions to a plan. Pure: nothing is opened, nothing is asked of the
 * kernel. Everything that may cross clone is copied into the plan's arena. */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "codec/json.h"
#include "plan/plan.h"
#include "policy/resolve.h"

/* One fixed unprivileged id of the host for a root caller whose roots are root's own. It lies
 * above the range that distributions give to users and services, and below 65534 (nobody), which
 * others share. */
#define PLAN_FIXED_ID 65525U

#define PLAN_CAPTURE_BYTES ((uint64_t)1024 * 1024)      /* when the profile sets no limit */
#define PLAN_CAPTURE_MAX   ((uint64_t)64 * 1024 * 1024) /* it is kept in memory, encoded, printed */

struct plan_request {
	const struct profile *profile;
	const struct facts *facts;
	const struct tree_access *access; /* one for each of facts.roots */
	const struct resolved *resolved;
	struct plan_ids ids;
	const int
		*root_trees; /* one for each of facts.roots: a tree made by the supervisor, or -1 */
	bool idmapped;
	bool host_network; /* sandbox and agent both grant it */
	/* Network by name: sandbox and agent both grant some of it. */
	bool named_network;
	const uint16_t *ports; /* that are listened on */
	size_t n_ports;
	bool any_port;   /* in place of them */
	bool outer_proc; /* facts.proc is bound, read-only, in place of a proc of its own */
	const struct plan_work *work; /* in place of a command, or NULL */
	char *const *argv;
	char *const *environ;
	const char *const *env_pass; /* --env NAME */
	size_t n_env_pass;
	uint64_t timeout_ms;    /* --timeout, 0: none; may only lower */
	bool cgroup;            /* a cgroup for the run with what `limits` needs is there */
	bool scope;             /* with it: in a scope of the user manager */
	const char *cgroup_why; /* else: why not; borrowed, or NULL when none is needed */
	bool capture; /* the output is kept: limited even when the profile sets no limit */
};

/* plan_ids_choose() - which kernel ids the command gets. @ret_idmap: the roots must be mounted
 * through an id mapping by the supervisor (root caller whose roots are root's). When that turns
 * out to be impossible, call again with @fallback. */
void plan_ids_choose(const struct facts *f, const struct tree_access *access, bool fallback,
		     struct plan_ids *ret, bool *ret_idmap);
/* plan_ids_user() - what the profile's `user` makes of it: ids inside only.
 *
 * For the manual: one uid and one gid are mapped, whichever they are. chown(2) to any other is
 * EINVAL (not the EPERM that some tools expect of an ordinary user). `tar x` as a user that is
 * not 0 leaves owners alone and works with every archive; as `user: root` GNU tar wants to
 * restore them and fails for those that are neither 0 nor its own, unless it is told
 * --no-same-owner; so do package managers. Files of everybody else show as 65534 (nobody).
 * Supplementary groups of an ordinary caller show as 65534 too; what they open they still open,
 * but nothing can be given to them (chgrp: EINVAL). */
void plan_ids_user(const struct profile_sandbox *s, struct plan_ids *ids);
/* plan_user_name() - of the command, in passwd and in its environment: "root" for uid 0. */
const char *plan_user_name(const struct plan_ids *ids);
const char *plan_identity_name(enum plan_identity id);

/* plan_env_path() - the sandbox's PATH: the caller's entries that lie in the base, else the
 * system's. */
const char *plan_env_path(struct arena *a, const struct facts *f, char *const *environ);
/* plan_env_search() - the PATH in which commands are looked for: what the command will have as
 * PATH, else plan_env_path(). Of @rq: profile, facts, environ, env_pass. */
const char *plan_env_search(struct arena *a, const struct plan_request *rq);
/* plan_env_build() - the environment of the command, NULL-terminated, in @a. */
char *const *plan_env_build(struct arena *a, const struct plan_request *rq);
/* plan_env_check() - whether it has all that the profile requires; else ERR_REQUEST at the first.
 */
MUST_CHECK int plan_env_check(const struct plan_request *rq, char *const *envp, struct err *err);
/* plan_env_is_secret() - a name that no pattern may pass on. */
bool plan_env_is_secret(const char *name);

/* plan_compile() - *ret lives in @a (ARENA_PLAN); @scratch is for what does not cross. */
MUST_CHECK int plan_compile(struct arena *a, struct arena *scratch, const struct plan_request *rq,
			    struct plan **ret, struct err *err);

/* What of this host decides how a limit is enforced. */
struct plan_limit_host {
	enum plan_identity identity;
	bool outer_proc;
	bool cgroup;            /* one for the run is there */
	bool scope;             /* and it is one of the user manager */
	const char *cgroup_why; /* with cgroup false: why not; borrowed */
};
/* plan_limit_choose() - the first mechanism that this host has for a limit.
 * @kernel: not one that only watches.
 * Return: NONE when there is none, with *ret_why set. */
enum plan_mechanism plan_limit_choose(enum plan_limit limit, const struct plan_limit_host *host,
				      bool kernel, const char **ret_why);
/* plan_limit_ways() - all mechanisms of a limit, the best first, ended by NONE. */
const enum plan_mechanism *plan_limit_ways(enum plan_limit limit);

struct plan_limit_name {
	const char *name, *unit;
};
/* plan_limit_name(), plan_mechanism_name() - for people and results. Static. */
const struct plan_limit_name *plan_limit_name(enum plan_limit limit);
const char *plan_mechanism_name(enum plan_mechanism m);

/* plan_filter_preset() - "default" or "strict". Static. */
const char *plan_filter_preset(const struct plan *p);

/* plan_network_name() - "none", "named" or "host". Static. */
const char *plan_network_name(const struct plan *p);

/* plan_json() - the whole plan but descriptor numbers; new reference. */
json_t *plan_json(const struct plan *p);
