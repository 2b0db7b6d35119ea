/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/record.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "cli/result.h"

static const char *const verdict_names[] = {
	[PROFILE_DENY] = "deny",
	[PROFILE_INTERRUPT] = "interrupt",
	[PROFILE_ALLOW] = "allow",
};

static int begin(struct record *r, const struct cli_context *c, enum action action, struct err *err)
{
	unsigned char id[16];

	*r = (struct record){ .context = c,
			      .agent_id = c->agent == NULL ? c->asked.id : c->agent->id,
			      .action = action };
	if (getrandom(id, sizeof(id), 0) != (ssize_t)sizeof(id))
		return err_set(err, ERR_HOST, errno, "getrandom");
	r->request_id[0] = 'r';
	for (size_t i = 0; i < sizeof(id); i++)
		(void)snprintf(r->request_id + 1 + 2 * i, 3, "%02x", id[i]);
	return 0;
}

int record_begin(struct record *r, const struct cli_context *c, char *const *argv, struct err *err)
{
	json_t *list;

	if (begin(r, c, ACTION_RUN_COMMAND, err) != 0)
		return -1;
	list = json_array();
	for (size_t i = 0; argv[i] != NULL; i++)
		(void)json_array_append_new(list, json_text(argv[i]));
	r->resource = json_object();
	json_put(r->resource, "argv", list);
	return 0;
}

int record_begin_path(struct record *r, const struct cli_context *c, enum action action,
		      const char *path, struct err *err)
{
	if (begin(r, c, action, err) != 0)
		return -1;
	r->resource = json_text(path);
	return 0;
}

const struct profile_hashes *record_hashes(struct record *r)
{
	if (!r->has_hashes)
		profile_hash_blocks(r->context->profile, &r->hashes);
	r->has_hashes = true;
	return &r->hashes;
}

static json_t *profile_json(struct record *r)
{
	const struct profile_hashes *h = record_hashes(r);
	json_t *o = json_object();

	json_put(o, "sha256", json_text(r->context->profile->sha256));
	json_put(o, "sandbox_sha256", json_text(h->sandbox_sha256));
	json_put(o, "permissions_sha256", json_text(h->permissions_sha256));
	return o;
}

/* The labels are part of what was decided on. */
static json_t *decision_extra(struct record *r)
{
	const struct agent_asked *asked = &r->context->asked;
	json_t *o = profile_json(r);
	json_t *labels = json_object();

	for (size_t i = 0; i < asked->n_context; i++)
		json_put(labels, asked->context[i].key, json_text(asked->context[i].value));
	json_put(o, "context", labels);
	return o;
}

#define RULE_TEXT_MAX 512

static void decision_record(const struct decision *d, json_t *extra, char rule[RULE_TEXT_MAX],
			    struct audit_record *ret)
{
	*ret = (struct audit_record){
		.event = AUDIT_DECISION,
		.layer = strcmp(d->layer, "identity") == 0  ? AUDIT_LAYER_IDENTITY
			 : strcmp(d->layer, "sandbox") == 0 ? AUDIT_LAYER_SANDBOX
							    : AUDIT_LAYER_POLICY,
		.decision = verdict_names[d->verdict],
		.code = d->code,
		.reason = d->reason,
		.extra = extra,
	};
	if (d->has_rule) {
		(void)snprintf(rule, RULE_TEXT_MAX, "%s:%u", d->rule.file, d->rule.line);
		ret->rule = rule;
	}
}

static int open_log(struct record *r, struct err *err)
{
	const struct cli_context *c = r->context;
	const struct profile_audit *audit = &c->profile->audit;
	int *fds = arena_array(c->arena, audit->fds.n + 1, sizeof(*fds));
	struct audit_options opt = { .rotate = audit->rotate,
				     .no_file = audit->no_file,
				     .fds = fds };

	for (size_t i = 0; i < audit->fds.n; i++)
		fds[opt.n_fds++] = audit->fds.v[i];
	if (c->audit_fd != 0)
		fds[opt.n_fds++] = c->audit_fd;
	return audit_open(c->state_dir, c->facts.caller.uid, &opt, &r->audit, err);
}

/* @what, or NULL, after the decision that is held. */
static int append(struct record *r, const struct audit_record *what, struct err *err)
{
	const struct agent_asked *asked = &r->context->asked;
	const char **chain = arena_array(r->context->arena, asked->n_on_behalf + 1, sizeof(*chain));
	char rule[RULE_TEXT_MAX] = "";
	struct audit_record rec[2] = { 0 };
	json_t *extra = NULL;
	size_t n = 0;
	int rc;

	uint64_t seq = r->head.seq;

	if (r->audit == NULL && open_log(r, err) != 0)
		return -1;
	if (r->held != NULL) {
		extra = decision_extra(r);
		decision_record(r->held, extra, rule, &rec[n++]);
	}
	if (what != NULL)
		rec[n++] = *what;
	for (size_t i = 0; i < asked->n_on_behalf; i++)
		chain[i] = asked->on_behalf[i];
	chain[asked->n_on_behalf] = r->agent_id;
	for (size_t i = 0; i < n; i++) {
		rec[i].request_id = r->request_id;
		rec[i].agent_id = r->agent_id;
		rec[i].delegation = chain;
		rec[i].n_delegation = asked->n_on_behalf + (r->agent_id == NULL ? 0 : 1);
		if (rec[i].action != NULL)
			continue;
		rec[i].action = action_name(r->action);
		rec[i].resource = r->resource;
	}
	rc = audit_append(r->audit, rec, n, &r->head, err);
	json_decref(extra);
	/* What the log has and another sink has not is not to be written again. */
	if (r->head.seq == seq)
		return -1;
	r->held = NULL;
	r->has_head = true;
	return rc;
}

int record_decision(struct record *r, const struct decision *d, struct err *err)
{
	r->held = d;
	return append(r, NULL, err);
}

void record_allowed(struct record *r, const struct decision *d)
{
	r->held = d;
	r->decided = true;
}

int record_net(struct record *r, const struct audit_record *what, struct err *err)
{
	struct audit_record rec = *what;

	rec.action = action_name(ACTION_NET_CONNECT);
	return append(r, &rec, err);
}

static int hook_after_clone(void *ctx, const struct run_child *child, struct err *err)
{
	struct record *r = ctx;
	JSON_AUTO *extra = json_object();
	struct audit_record rec = { .event = AUDIT_START,
				    .layer = AUDIT_LAYER_SANDBOX,
				    .extra = extra };

	json_put(extra, "pid", json_integer(child->pid));
	if (r->plan->work.kind == PLAN_WORK_NONE)
		json_put(extra, "exe", json_text(r->plan->exe));
	json_put(extra, "workdir", json_text(r->plan->workdir));
	json_put(extra, "mechanisms", result_mechanisms(r->plan));
	return append(r, &rec, err);
}

static int outcome_append(struct record *r, json_t *extra, const char *reason, struct err *err)
{
	struct audit_record rec = { .event = AUDIT_OUTCOME,
				    .layer = AUDIT_LAYER_SANDBOX,
				    .reason = reason,
				    .extra = extra };

	uint64_t seq = r->head.seq;

	if (append(r, &rec, err) == 0)
		return 0;
	/* Nothing of this request is in the log, and nothing ran. */
	if (r->held != NULL)
		return -1;
	if (r->head.seq != seq && !r->context->profile->audit.no_file) {
		r->unsent = arena_strdup(r->context->arena, err->msg);
		return -1;
	}
	r->lost = true;
	if (r->head.seq == seq)
		audit_mark_lost(r->audit, r->request_id);
	return -1;
}

static int hook_finish(void *ctx, const struct outcome *o, struct err *err)
{
	struct record *r = ctx;
	JSON_AUTO *extra = json_object();

	result_outcome(extra, r->plan, o);
	json_put(extra, "sandbox_sha256", json_text(record_hashes(r)->sandbox_sha256));
	json_put(extra, "permissions_sha256", json_text(record_hashes(r)->permissions_sha256));
	if (r->lists) {
		json_put(extra, "listed", json_integer((json_int_t)r->listed));
		json_put(extra, "hidden", json_integer((json_int_t)r->hidden));
	}
	if (json_array_size(r->violations) > 0)
		json_put(extra, "violations", json_incref(r->violations));
	if (outcome_append(r, extra, o->err.set ? o->err.msg : NULL, err) == 0)
		return 0;
	/* That the record is lost is told by whoever looks at it. */
	return r->lost || r->unsent != NULL ? 0 : -1;
}

void record_failure(struct record *r, const struct err *why)
{
	JSON_AUTO *extra = json_object();
	struct outcome o = { .status = OUTCOME_FAILED, .err = *why };
	struct err ignored = { 0 };

	if (!r->decided)
		return;
	result_outcome(extra, r->plan, &o);
	(void)outcome_append(r, extra, why->msg, &ignored);
}

void record_attachment(struct record *r, struct run_attachment *ret)
{
	*ret = (struct run_attachment){
		.name = "audit",
		.ctx = r,
		.after_clone = hook_after_clone,
		.finish = hook_finish,
	};
}

void record_say(const struct record *r)
{
	if (r->lost)
		cli_say("the outcome could not be written to the audit log");
	else if (r->unsent != NULL)
		cli_say("the outcome is in the audit log, and not in all that its records go to: "
			"%s",
			r->unsent);
}

void record_close(struct record *r)
{
	audit_close(r->audit);
	r->audit = NULL;
	json_decref(r->resource);
	r->resource = NULL;
	json_decref(r->violations);
	r->violations = NULL;
}
