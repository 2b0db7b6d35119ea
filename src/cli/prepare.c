/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/prepare.h"

#include <errno.h>
#include <grp.h>
#include <stdio.h>
#include <string.h>

#include "base/exitcode.h"
#include "cli/check.h"
#include "cli/proxy.h"
#include "run/probe.h"

void prepare_init(struct prepared *p, struct arena *a)
{
	*p = (struct prepared){ .plan_arena = { .kind = ARENA_PLAN }, .cgroup = RUN_CGROUP_NONE };
	cli_context_init(&p->context, a);
}

void prepare_close(struct prepared *p)
{
	run_namespaces_close(p->namespaces);
	run_trees_close(&p->trees);
	run_cgroup_close(&p->cgroup);
	if (p->began)
		record_close(&p->record);
	cli_context_close(&p->context);
}

static struct resolve_input resolve_input_of(const struct prepared *p,
					     const struct prepare_input *in, struct arena *a)
{
	const struct cli_context *c = &p->context;
	const struct plan_request env = {
		.profile = c->profile,
		.facts = &c->facts,
		.environ = in->environ,
		.env_pass = in->env_pass,
		.n_env_pass = in->n_env_pass,
	};

	return (struct resolve_input){
		.profile = c->profile,
		.agent = c->agent,
		.facts = &c->facts,
		.view = &c->view,
		.access = c->access,
		.argv = in->argv,
		.path_env = plan_env_search(a, &env),
		.workdir = in->workdir != NULL ? in->workdir : c->profile->sandbox.workdir,
	};
}

/* The policy speaks first; what lies outside the sandbox is only said to whom it allows. */
static void decide(struct prepared *p, const struct prepare_input *in, struct err *outside)
{
	struct request_command command = {
		.argv = in->argv,
		.file = p->resolved.file,
		.pattern_files = p->resolved.pattern_files,
		.n_pattern_files = p->resolved.n_pattern_files,
	};
	struct request rq = { .action = ACTION_RUN_COMMAND,
			      .kind = REQUEST_COMMAND,
			      .command = &command };

	if (in->self_at == NULL)
		policy_decide(p->context.profile, p->context.agent, &rq, &p->decision);
	else
		p->decision = (struct decision){ .verdict = PROFILE_ALLOW,
						 .layer = "sandbox",
						 .code = "operator",
						 .reason = "the operator's own command" };
	p->decided = true;
	if (p->decision.verdict == PROFILE_ALLOW && outside->set) {
		p->decision.verdict = PROFILE_DENY;
		p->decision.layer = "sandbox";
		p->decision.code = "sandbox_deny";
		p->decision.reason = p->resolved.unlisted ? "none of the sandbox's commands"
							  : "outside the sandbox";
	}
}

static bool decide_network(const struct cli_context *c)
{
	struct request rq = { .action = ACTION_NET_CONNECT, .kind = REQUEST_HOST };
	struct decision d;

	if (c->profile->sandbox.network != PROFILE_NETWORK_HOST)
		return false;
	policy_decide(c->profile, c->agent, &rq, &d);
	return d.verdict == PROFILE_ALLOW;
}

/* A network of names in which nothing may be named is none. */
static void decide_named(struct prepared *p, struct plan_request *rq)
{
	const struct cli_context *c = &p->context;

	connect_build(c->arena, c->profile, c->agent, &p->connect);
	if (!connect_network(c->profile, &p->connect))
		return;
	rq->n_ports =
		connect_ports(c->arena, &c->profile->sandbox.named, &rq->ports, &rq->any_port);
	if (rq->any_port)
		rq->n_ports = 0;
	rq->named_network = true;
}

static int make_trees(struct prepared *p, const struct plan_ids *ids, struct err *err)
{
	const struct prepare_shown *shown = &p->shown;
	size_t n = shown->facts->roots.n;
	int *sources = arena_array(p->context.arena, n, sizeof(int));

	p->trees.fds = arena_array(p->context.arena, n, sizeof(int));
	for (size_t i = 0; i < n; i++) {
		const struct facts_root *r = &shown->facts->roots.v[i];

		sources[i] = r->present && shown->access[i].read ? r->object.fd : -1;
	}
	return run_trees_make(sources, n, p->idmapped, ids->outside_uid, ids->outside_gid,
			      &p->trees, err);
}

const char *prepare_identity_reason(struct arena *a, const struct prepared *p)
{
	const struct run_trees *t = &p->trees;

	if (!t->unsupported)
		return "the user namespace of this root has no further ids";
	if (t->errnum == EINVAL && t->which < t->n)
		return arena_printf(a,
				    "'%s' lies on a file system without id mapping (overlayfs is "
				    "one): name a root that an ordinary user owns first",
				    p->shown.facts->roots.v[t->which].object.path);
	return "this root may not map ids or mount (capabilities taken away, or a filter around "
	       "it)";
}

static int check_required(const struct prepared *p, struct err *err)
{
	const struct profile_sandbox *s = &p->context.profile->sandbox;
	const struct profile_pos *pos = &s->require_pos;

	if ((s->require & PROFILE_REQUIRE_UNPRIVILEGED_IDENTITY) == 0)
		return 0;
	return err_set_at(err, ERR_HOST, pos->file, pos->line, pos->col,
			  "'require' asks for unprivileged_identity, and there is none for root "
			  "here: %s",
			  prepare_identity_reason(p->context.arena, p));
}

/* The outer /proc only where the profile names it and the kernel refuses a new one for the very
 * reason that the one there is masked. */
static int settle_proc(struct prepared *p, struct plan_request *rq, struct err *err)
{
	struct cli_context *c = &p->context;

	if ((c->profile->sandbox.degrade & PROFILE_DEGRADE_NO_PROC) == 0 || probe_proc() != -EPERM)
		return 0;
	rq->outer_proc = true;
	if (facts_outer_proc(c->arena, &c->facts, err) != 0)
		return -1;
	p->shown.facts->proc = c->facts.proc;
	return 0;
}

/* As a run of the agent would have it; where that writes to no root, what this one does says. */
static void choose_ids(struct prepared *p, bool fallback, struct plan_ids *ids)
{
	const struct cli_context *c = &p->context;
	bool any = false;

	for (size_t i = 0; i < c->facts.roots.n; i++)
		any = any || (c->facts.roots.v[i].present && c->access[i].write);
	if (any)
		plan_ids_choose(&c->facts, c->access, fallback, ids, &p->idmapped);
	else
		plan_ids_choose(p->shown.facts, p->shown.access, fallback, ids, &p->idmapped);
}

/* An unprivileged identity for a root caller where this host has one; where it has not, kernel
 * uid 0 without capabilities, and everything secret in /etc masked. */
static int settle_identity(struct prepared *p, struct plan_ids *ids, struct err *err)
{
	struct cli_context *c = &p->context;

	choose_ids(p, false, ids);
	if (ids->identity == PLAN_IDENTITY_ROOT_MAPPED) {
		if (make_trees(p, ids, err) != 0)
			return -1;
		if (p->trees.unsupported)
			choose_ids(p, true, ids);
	}
	plan_ids_user(&c->profile->sandbox, ids);
	if (ids->identity != PLAN_IDENTITY_ROOT)
		return 0;
	if (check_required(p, err) != 0)
		return -1;
	/* The groups of root go where that is permitted; setgroups(2) is denied in the sandbox. */
	(void)setgroups(0, NULL);
	return p->shown.facts == &c->facts ? facts_etc_secrets(c->arena, &c->facts, err) : 0;
}

/* What only a cgroup can hold, or holds better: without any of it none is looked for. */
static bool wants_cgroup(const struct profile_limits *l, const struct plan_ids *ids,
			 struct run_cgroup_limits *ret)
{
	bool root = ids->identity == PLAN_IDENTITY_ROOT;

	*ret = (struct run_cgroup_limits){ .memory = l->memory_bytes.value,
					   .cpus_milli = l->cpus_milli.value };
	/* Init is one of them. */
	ret->scope = l->enforce == PROFILE_ENFORCE_KERNEL;
	if (root && (l->processes.set || l->enforce == PROFILE_ENFORCE_KERNEL))
		ret->processes = l->processes.value + 1;
	return ret->memory > 0 || ret->cpus_milli > 0 || ret->processes > 0;
}

static int settle_cgroup(struct prepared *p, const struct prepare_input *in,
			 struct plan_request *rq, struct err *err)
{
	struct run_cgroup_limits want;

	if (!wants_cgroup(&rq->profile->sandbox.limits, &rq->ids, &want))
		return 0;
	if (in->dry_run)
		run_cgroup_find(&run_cgroup_host, &want, &p->cgroup);
	else if (run_cgroup_make(&want, &p->cgroup, err) != 0)
		return -1;
	rq->cgroup = p->cgroup.own >= 0 || p->cgroup.scope;
	rq->scope = p->cgroup.scope;
	rq->cgroup_why = p->cgroup.reason;
	return 0;
}

/* The cgroup of a run can often be made only while this process is alone in its own: then the
 * namespaces wait for it. Else they come before everything that takes time. */
static bool cgroup_comes_first(const struct profile_limits *l)
{
	const struct plan_ids ids = { .identity = PLAN_IDENTITY_ROOT };
	struct run_cgroup_limits want;

	return wants_cgroup(l, &ids, &want);
}

static void begin_namespaces(struct prepared *p, const struct prepare_input *in,
			     const struct plan_request *rq)
{
	if (in->dry_run)
		return;
	run_namespaces_close(p->namespaces);
	p->namespaces = run_namespaces_begin(rq->host_network    ? RUN_NETWORK_HOST
					     : rq->named_network ? RUN_NETWORK_NAMED
								 : RUN_NETWORK_OWN);
}

int prepare_plan(struct arena *a, const struct prepare_input *in, struct prepared *p,
		 struct err *err)
{
	struct cli_context *c = &p->context;
	struct resolve_input ri = resolve_input_of(p, in, a);
	struct plan_request rq = {
		.profile = c->profile,
		.resolved = &p->resolved,
		.host_network = in->work == NULL && decide_network(c),
		.work = in->work,
		.argv = in->argv,
		.environ = in->environ,
		.env_pass = in->env_pass,
		.n_env_pass = in->n_env_pass,
		.timeout_ms = in->timeout_ms,
		.capture = in->capture,
	};
	bool whole = p->shown.facts == NULL;
	bool late = cgroup_comes_first(&c->profile->sandbox.limits);

	if (in->work == NULL)
		decide_named(p, &rq);
	if (!late)
		begin_namespaces(p, in, &rq);
	if (p->bare && cli_context_furnish(c, err) != 0)
		return -1;
	if (whole)
		p->shown = (struct prepare_shown){ &c->facts, c->access };
	rq.facts = p->shown.facts;
	rq.access = p->shown.access;
	ri.no_rules = in->work != NULL;
	if (rq.named_network &&
	    proxy_settle(&c->profile->sandbox.named.proxy, in->environ, &p->proxy, err) != 0)
		return -1;
	if (settle_identity(p, &rq.ids, err) != 0 || settle_proc(p, &rq, err) != 0 ||
	    settle_cgroup(p, in, &rq, err) != 0)
		return -1;
	/* Its groups went after the process that makes them was cloned. */
	if (late || rq.ids.identity == PLAN_IDENTITY_ROOT)
		begin_namespaces(p, in, &rq);
	if (whole && resolve_guards(a, &ri, &p->resolved, err) != 0)
		return -1;
	rq.root_trees = p->trees.n > 0 ? p->trees.fds : NULL;
	rq.idmapped = p->idmapped;
	return plan_compile(&p->plan_arena, a, &rq, &p->plan, err);
}

static int record(struct prepared *p, const struct prepare_input *in, struct err *err)
{
	if (in->dry_run)
		return 0;
	if (p->decision.verdict != PROFILE_ALLOW)
		return record_decision(&p->record, &p->decision, err);
	record_allowed(&p->record, &p->decision);
	return 0;
}

static int hook_judge(void *ctx, const struct run_child *child, struct err *err)
{
	const struct prepared *p = ctx;

	(void)child;
	return cli_context_judge(&p->context, err);
}

/* What was only for the building. */
static void hook_settled(void *ctx)
{
	struct prepared *p = ctx;

	run_trees_close(&p->trees);
}

void prepare_attachment(struct prepared *p, struct run_attachment *ret)
{
	*ret = (struct run_attachment){
		.name = "roots", .ctx = p, .after_clone = hook_judge, .settled = hook_settled
	};
}

/* The profile as it is, with the operator's command among those that may start. */
static const struct profile *list_self(struct arena *a, const struct profile *p,
				       const char *self_at)
{
	struct profile *copy;

	if (p->sandbox.commands.n == 0)
		return p;
	copy = arena_new(a, struct profile);
	*copy = *p;
	*array_push(a, &copy->sandbox.commands) =
		(struct profile_program){ .text = self_at, .pos = p->sandbox.commands_pos };
	return copy;
}

int prepare_request(struct arena *a, const struct prepare_input *in, struct prepared *p,
		    struct err *err)
{
	struct cli_context *c = &p->context;
	struct resolve_input ri;
	struct err outside = { 0 }, refused = { 0 };

	if (cli_context_load(c, &in->source, err) != 0)
		return cli_rc(err);
	if (record_begin(&p->record, c, in->argv, err) != 0)
		return cli_rc(err);
	p->began = true;
	if (c->agent == NULL) {
		p->decision = c->identity;
		p->decided = true;
		return record(p, in, err) == 0 ? EXITCODE_DENIED : cli_rc(err);
	}
	if (policy_enforceable(c->profile, c->agent, err) != 0)
		return cli_rc(err);
	c->self_at = in->self_at;
	if (in->self_at != NULL)
		c->profile = list_self(a, c->profile, in->self_at);
	if (cli_context_gather(c, false, err) != 0)
		return cli_rc(err);
	p->bare = true;
	ri = resolve_input_of(p, in, a);
	if (resolve_command(a, &ri, &p->resolved, &outside) != 0 && outside.code != ERR_OUTSIDE) {
		*err = outside;
		return cli_rc(err);
	}
	decide(p, in, &outside);
	if ((!in->judge_later || p->decision.verdict != PROFILE_ALLOW) &&
	    cli_context_judge(c, err) != 0)
		return cli_rc(err);
	if (record(p, in, err) != 0)
		return cli_rc(err);
	if (p->decision.verdict != PROFILE_ALLOW) {
		if (outside.set && strcmp(p->decision.layer, "sandbox") == 0)
			*err = outside;
		return check_rc(&p->decision);
	}
	if (prepare_plan(a, in, p, err) != 0) {
		p->plan = NULL;
		/* What may not be granted is often what cannot be mounted either. */
		if (in->judge_later && cli_context_judge(c, &refused) != 0)
			*err = refused;
		record_failure(&p->record, err);
		return cli_rc(err);
	}
	return 0;
}

int prepare_probe(struct arena *a, const struct prepare_input *in, struct prepared *p,
		  struct err *err)
{
	struct prepare_input probe = *in;
	char **no_command = arena_array(a, 2, sizeof(char *));

	no_command[0] = arena_strdup(a, "doctor");
	probe.argv = no_command;
	/* It is built as for a run. */
	probe.dry_run = false;
	if (policy_enforceable(p->context.profile, p->context.agent, err) != 0 ||
	    cli_context_facts(&p->context, false, err) != 0)
		return -1;
	p->resolved.workdir = "/";
	return prepare_plan(a, &probe, p, err);
}
