/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/result.h"

#include <string.h>

#include "base/escape.h"
#include "base/exitcode.h"
#include "filter/filter.h"
#include "plan/compile.h"

static const char *const outcome_names[] = {
	[OUTCOME_FAILED] = "failed", [OUTCOME_EXITED] = "exited", [OUTCOME_SIGNALED] = "signaled",
	[OUTCOME_LIMIT] = "limit",   [OUTCOME_NOEXEC] = "exited",
};

static json_t *limits_json(const struct plan *p)
{
	json_t *o = json_object();

	for (unsigned i = 0; i < PLAN_LIMIT_MAX; i++)
		json_put(o, plan_limit_name(i)->name,
			 json_text(plan_mechanism_name(p->limits[i].mechanism)));
	return o;
}

json_t *result_mechanisms(const struct plan *p)
{
	static const char *const namespaces[] = { "user", "mount", "pid", "ipc", "uts", "cgroup" };
	json_t *o = json_object();
	json_t *ns = json_array();
	json_t *groups = json_array();

	for (size_t i = 0; i < FILTER_GROUPS; i++) {
		if ((p->filter_options & filter_groups[i].option) != 0)
			(void)json_array_append_new(groups, json_text(filter_groups[i].name));
	}
	for (size_t i = 0; i < ARRAY_SIZE(namespaces); i++)
		(void)json_array_append_new(ns, json_text(namespaces[i]));
	if (!p->host_network)
		(void)json_array_append_new(ns, json_text("net"));
	json_put(o, "identity", json_text(plan_identity_name(p->ids.identity)));
	json_put(o, "namespaces", ns);
	json_put(o, "commands", json_text(p->only_commands ? "landlock" : "none"));
	json_put(o, "nested_sandboxes", json_boolean(p->nested));
	json_put(o, "network", json_text(plan_network_name(p)));
	json_put(o, "proc", json_text(p->outer_proc ? "outer" : "own"));
	/* What keeps programs from making user namespaces of their own. The sysctl for it cannot
	 * be reached through an outer /proc. */
	json_put(o, "nested_userns",
		 json_text(p->nested || (p->filter_options & FILTER_USERNS) != 0 ? "allowed"
			   : p->outer_proc                                       ? "seccomp"
					   : "seccomp+sysctl"));
	json_put(o, "timeout", json_text(p->timeout_ms == 0 ? "none" : "supervisor"));
	json_put(o, "output", json_text(p->output_limited ? "supervisor" : "none"));
	json_put(o, "limits", limits_json(p));
	json_put(o, "seccomp", json_text(plan_filter_preset(p)));
	json_put(o, "seccomp_allow", groups);
	json_put(o, "seccomp_deny", json_integer(p->n_denied));
	json_put(o, "landlock",
		 p->landlock.fs == 0 ? json_text("none") : json_integer(p->landlock.abi));
	return o;
}

static json_t *number(uint64_t v)
{
	return json_integer((json_int_t)v);
}

/* What ended the run, in figures. */
static json_t *limit_json(const struct plan *p, const struct outcome *out)
{
	const struct plan_limit_row *row;
	json_t *o;

	if (out->limit == NULL || p == NULL)
		return json_null();
	row = &p->limits[out->limit_which];
	o = json_object();
	json_put(o, "mechanism", json_text(plan_mechanism_name(row->mechanism)));
	json_put(o, "unit", json_text(plan_limit_name(out->limit_which)->unit));
	json_put(o, "bound", number(row->bound));
	json_put(o, "reached", number(out->limit_reached));
	json_put(o, "at_ms", number(out->limit_at_ms));
	return o;
}

static json_t *felt_json(const struct outcome *out)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < PLAN_LIMIT_MAX; i++) {
		if ((out->felt & 1U << i) != 0)
			(void)json_array_append_new(list, json_text(plan_limit_name(i)->name));
	}
	return list;
}

static json_t *usage_json(const struct outcome *out)
{
	json_t *o = json_object();
	bool known = out->scratch_known;

	json_put(o, "wall_ms", number(out->wall_ms));
	json_put(o, "cpu_ms", number(out->cpu_user_ms + out->cpu_sys_ms));
	json_put(o, "cpu_user_ms", number(out->cpu_user_ms));
	json_put(o, "cpu_sys_ms", number(out->cpu_sys_ms));
	json_put(o, "max_rss_bytes", number(out->max_rss_bytes));
	json_put(o, "memory_peak_bytes",
		 out->memory_peak_known ? number(out->memory_peak) : json_null());
	json_put(o, "processes_peak",
		 out->processes_peak_known ? number(out->processes_peak) : json_null());
	json_put(o, "throttled_ms", number(out->throttled_ms));
	json_put(o, "scratch_bytes", known ? number(out->scratch_bytes) : json_null());
	json_put(o, "scratch_files", known ? number(out->scratch_files) : json_null());
	return o;
}

static json_t *work_json(const struct outcome_work *w)
{
	json_t *o = json_object();

	json_put(o, "bytes", number(w->bytes));
	json_put(o, "size", number(w->size));
	return o;
}

void result_outcome(json_t *o, const struct plan *p, const struct outcome *out)
{
	bool code = out->has_exit && out->signal == 0;

	if (out->status == OUTCOME_NOEXEC)
		code = true;
	json_put(o, "status", json_text(outcome_names[out->status]));
	json_put(o, "started", json_boolean(out->started));
	json_put(o, "exit_code", code ? json_integer(out->exit_code) : json_null());
	json_put(o, "signal", out->signal != 0 ? json_integer(out->signal) : json_null());
	json_put(o, "timed_out", json_boolean(out->timed_out));
	json_put(o, "truncated",
		 json_boolean(out->truncated || (out->work.cut && out->work.errnum == 0)));
	json_put(o, "limit", json_text(out->limit));
	json_put(o, "limit_detail", limit_json(p, out));
	json_put(o, "limits_felt", felt_json(out));
	json_put(o, "output_bytes", number(out->output_bytes));
	json_put(o, "omitted_bytes", number(out->omitted_bytes));
	json_put(o, "usage", usage_json(out));
	if (out->work.known)
		json_put(o, "work", work_json(&out->work));
}

static void put_output(json_t *o, const char *key, const char *encoding_key, struct strbuf *sb)
{
	STRBUF_AUTO b64 = { 0 };
	const char *s = strbuf_str(sb);
	size_t len = sb->len;
	json_t *text = NULL;

	/* JSON has no escape for NUL that every reader keeps, so it goes the other way too. */
	if (escape_utf8_valid(s, len) && memchr(s, '\0', len) == NULL) {
		text = json_stringn(s, len);
		json_put(o, encoding_key, json_text("utf-8"));
	} else {
		json_b64(s, len, &b64);
		/* Before the next copy: this can be tens of megabytes. */
		strbuf_free(sb);
		text = json_stringn(b64.buf, b64.len);
		json_put(o, encoding_key, json_text("base64"));
	}
	strbuf_free(sb);
	json_put(o, key, text);
}

static json_t *decision_json(const struct decision *d)
{
	static const char *const verdicts[] = { "deny", "interrupt", "allow" };
	json_t *o;

	if (d == NULL)
		return json_null();
	o = json_object();
	json_put(o, "decision", json_text(verdicts[d->verdict]));
	json_put(o, "layer", json_text(d->layer));
	json_put(o, "code", json_text(d->code));
	json_put(o, "reason", json_text(d->reason));
	return o;
}

static json_t *error_json(const struct err *err, const char *code)
{
	static const char *const layers[] = {
		[ERR_INTERNAL] = "internal", [ERR_USAGE] = "usage",  [ERR_PROFILE] = "profile",
		[ERR_REQUEST] = "request",   [ERR_HOST] = "sandbox", [ERR_AUDIT] = "audit",
		[ERR_OUTSIDE] = "sandbox",
	};
	json_t *o;
	STRBUF_AUTO sb = { 0 };

	if (err == NULL || !err->set)
		return json_null();
	if (err->file != NULL)
		strbuf_printf(&sb, "%s:%u:%u: ", err->file, err->line, err->col);
	strbuf_puts(&sb, err->msg);
	o = json_object();
	json_put(o, "code", json_text(code != NULL ? code : err_code_name(err->code)));
	json_put(o, "layer", json_text(layers[err->code]));
	json_put(o, "message", json_bytes(sb.buf, sb.len));
	return o;
}

static json_t *audit_json(const struct record *r)
{
	json_t *o;

	if (r == NULL || !(r->has_head || r->lost))
		return json_null();
	o = json_object();
	if (r->lost)
		json_put(o, "lost", json_true());
	if (r->unsent != NULL)
		json_put(o, "unsent", json_true());
	if (r->has_head) {
		json_put(o, "seq", json_integer((json_int_t)r->head.seq));
		json_put(o, "sha256", json_text(r->head.sha256));
	}
	return o;
}

static json_t *hashes_json(const struct cli_context *c, struct record *r)
{
	struct profile_hashes h;
	json_t *o;

	if (c == NULL || c->profile == NULL)
		return json_null();
	o = json_object();
	json_put(o, "sha256", json_text(c->profile->sha256));
	if (r == NULL)
		profile_hash_blocks(c->profile, &h);
	else
		h = *record_hashes(r);
	json_put(o, "sandbox_sha256", json_text(h.sandbox_sha256));
	json_put(o, "permissions_sha256", json_text(h.permissions_sha256));
	return o;
}

/* Statuses of requests that never became a run. */
static const char *early_status(int rc)
{
	if (rc == EXITCODE_DENIED || rc == EXITCODE_OUTSIDE)
		return "denied";
	return rc == EXITCODE_WAITING ? "blocked" : "failed";
}

json_t *result_json(const struct result *r, bool with_output)
{
	struct outcome none = { .status = OUTCOME_FAILED };
	struct outcome *out = r->outcome == NULL ? &none : r->outcome;
	json_t *o = json_object();

	json_put(o, "version", json_integer(1));
	json_put(o, "request_id", json_text(r->record == NULL ? NULL : r->record->request_id));
	json_put(o, "agent",
		 json_text(r->context == NULL || r->context->agent == NULL
				   ? NULL
				   : r->context->agent->id));
	result_outcome(o, r->plan, out);
	if (r->outcome == NULL)
		json_put(o, "status", json_text(early_status(r->rc)));
	json_put(o, "rc", json_integer(r->rc));
	if (with_output) {
		put_output(o, "output", "encoding", &out->output[0]);
		if (r->split)
			put_output(o, "stderr", "stderr_encoding", &out->output[1]);
	}
	json_put(o, "mechanisms", r->plan == NULL ? json_null() : result_mechanisms(r->plan));
	json_put(o, "violations",
		 r->record == NULL || r->record->violations == NULL
			 ? json_array()
			 : json_incref(r->record->violations));
	json_put(o, "denials", r->network == NULL ? json_array() : network_denials(r->network));
	json_put(o, "decision", decision_json(r->decision));
	json_put(o, "reason", json_text(r->decision == NULL ? NULL : r->decision->reason));
	json_put(o, "audit", audit_json(r->record));
	json_put(o, "profile", hashes_json(r->context, r->record));
	json_put(o, "error", error_json(r->err, r->error_code));
	json_put(o, "trust", json_text("untrusted"));
	return o;
}
