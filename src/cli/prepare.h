/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* prepare - from a request to a decision and a plan: the arrows of the pipeline, in order. */
#pragma once

#include "cli/context.h"
#include "cli/record.h"
#include "plan/compile.h"
#include "policy/connect.h"
#include "relay/wire.h"
#include "run/cgroup.h"
#include "run/namespaces.h"
#include "run/trees.h"

struct prepare_input {
	struct cli_source source;
	char *const *argv;
	char *const *environ;
	const char *workdir;
	const char *const *env_pass;
	size_t n_env_pass;
	uint64_t timeout_ms;
	bool capture;
	const struct plan_work *work; /* in place of argv, which is for people then; or NULL */
	bool dry_run;                 /* makes no request: nothing is written to the audit log */
	bool judge_later;             /* the caller attaches prepare_attachment() to the run */
	/* The operator's own command, with the running binary shown there, or NULL. No agent asks,
	 * so its rules are not consulted; the mounts are those that its rights give. Of the
	 * sandbox's commands it is one. */
	const char *self_at;
};

/* What of the host the plan shows. */
struct prepare_shown {
	struct facts *facts; /* NULL: everything in the context, as far as the agent's rights go */
	const struct tree_access *access;
};

struct prepared {
	struct arena plan_arena;
	struct cli_context context;
	struct record record;
	bool began;   /* record has a request id */
	bool decided; /* decision is set */
	bool bare;    /* the facts are not furnished yet: prepare_plan() does it */
	struct decision decision;
	struct resolved resolved;
	struct prepare_shown shown;
	struct run_trees trees;
	struct connect_rules connect;      /* of a network of names */
	struct relay_proxy proxy;          /* the same */
	struct run_cgroup cgroup;          /* with ->fd, made for the plan's limits */
	struct run_namespaces *namespaces; /* begun while the plan is compiled, or NULL */
	bool idmapped;
	struct plan *plan; /* NULL: nothing may run */
};

void prepare_init(struct prepared *p, struct arena *a);
/* prepare_request() - Return: 0 with p->plan ready and the decision allowed (p->record writes it
 * before the start); else the exit status: 120, 121 and 122 with p->decision set and written, 125
 * (and 121) with *err set. */
MUST_CHECK int prepare_request(struct arena *a, const struct prepare_input *in, struct prepared *p,
			       struct err *err);
/* prepare_plan() - p->plan, of p->context and what of it is shown. The last part of
 * prepare_request(), for who has decided, judged and recorded. */
MUST_CHECK int prepare_plan(struct arena *a, const struct prepare_input *in, struct prepared *p,
			    struct err *err);
/* prepare_attachment() - judges the roots while the child builds: first of a run's attachments, so
 * that what it refuses is not written down as started. @ret points into @p. */
void prepare_attachment(struct prepared *p, struct run_attachment *ret);
/* prepare_probe() - a plan that builds the sandbox of p->context, which has its profile and agent,
 * and then has no command to start. No request: nothing is decided and nothing is recorded. */
MUST_CHECK int prepare_probe(struct arena *a, const struct prepare_input *in, struct prepared *p,
			     struct err *err);
/* prepare_identity_reason() - why PLAN_IDENTITY_ROOT, for people. */
const char *prepare_identity_reason(struct arena *a, const struct prepared *p);
void prepare_close(struct prepared *p);
