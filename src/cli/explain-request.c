/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/explain-request.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "audit/read.h"
#include "base/escape.h"
#include "base/exitcode.h"
#include "cli/audit-verbs.h"

#define ID_MIN      8  /* characters that name a request */
#define REFUSED_MAX 20 /* different things that a run was refused, told one by one */

struct refusal {
	json_t *rec; /* owned */
	unsigned long long count;
};

/* All records owned, NULL for none. */
struct story {
	const char *id; /* in full */
	json_t *decision, *start, *outcome, *lost;
	struct refusal refused[REFUSED_MAX];
	size_t n_refused;
	unsigned long long more;
};

/* What a code says went wrong, and what would have to change. In the order of a request's way. */
static const struct hint {
	const char *key;
	const char *means;
	const char *change;
} hints[] = {
	{ "identity", "nobody of this name may ask, or it was not said who does",
	  "give one of the profile's agents with -a, and declared ones with --on-behalf-of" },
	{ "invalid_path", "the path is not written as one: '..', '.', '//' and the like",
	  "ask for the absolute path as seen inside" },
	{ "invalid_host", "the host is not written as HOST:PORT", "ask for it so" },
	{ "protected", "the path is one of the known traps, which no rule lifts",
	  "sandbox.protect.except of the profile, if this one is meant" },
	{ "acl_deny", "a rule denies it, or none allows it",
	  "the rule named here; without one, add a rule that allows this action on this resource "
	  "to "
	  "the agent (agentbox check tells what would be decided)" },
	{ "interrupt", "a person must approve it first", "the rule's mode, if nobody has to" },
	{ "sandbox_deny", "policy allows it, and the sandbox has not got it",
	  "sandbox.roots, base, commands or network of the profile; see agentbox explain -p" },
	{ "not_listed", "the host is not among those of the sandbox", "sandbox.network.allow" },
	{ "not_public", "the name leads to an address that is not public",
	  "sandbox.network.private_ranges" },
	{ "own_address", "the name leads to an address of this host",
	  "sandbox.network.host_ports, or nothing: this is the host's own" },
	{ "other_name", "TLS or HTTP name another host than was asked for",
	  "the client, or tls of that host in sandbox.network.allow" },
	{ "silent", "the client did not say in TLS or HTTP which host it wants",
	  "the client, or tls of that host in sandbox.network.allow" },
};

static const struct hint *find_hint(const char *code)
{
	for (size_t i = 0; code != NULL && i < ARRAY_SIZE(hints); i++) {
		if (strcmp(hints[i].key, code) == 0)
			return &hints[i];
	}
	return NULL;
}

static const char *get(const json_t *rec, const char *key)
{
	return json_string_value(json_object_get(rec, key));
}

static bool is(const json_t *rec, const char *key, const char *want)
{
	const char *got = get(rec, key);

	return got != NULL && strcmp(got, want) == 0;
}

/* --- reading --- */

static void keep(json_t **slot, json_t *rec)
{
	json_decref(*slot);
	*slot = json_incref(rec);
}

/* A denied name or connection; those that say the same are counted. */
static void keep_refusal(struct story *s, json_t *rec)
{
	STRBUF_AUTO text = { 0 };

	if (!is(rec, "decision", "deny"))
		return;
	audit_text_resource(rec, false, &text);
	for (size_t i = 0; i < s->n_refused; i++) {
		const json_t *have = s->refused[i].rec;
		STRBUF_AUTO other = { 0 };

		audit_text_resource(have, false, &other);
		if (strcmp(strbuf_str(&text), strbuf_str(&other)) != 0 ||
		    get(rec, "code") == NULL || !is(have, "code", get(rec, "code")))
			continue;
		s->refused[i].count++;
		return;
	}
	if (s->n_refused == REFUSED_MAX) {
		s->more++;
		return;
	}
	s->refused[s->n_refused++] = (struct refusal){ .rec = json_incref(rec), .count = 1 };
}

static void take_record(struct story *s, json_t *rec)
{
	if (is(rec, "event", audit_event_name(AUDIT_DECISION)))
		keep(&s->decision, rec);
	else if (is(rec, "event", audit_event_name(AUDIT_START)))
		keep(&s->start, rec);
	else if (is(rec, "event", audit_event_name(AUDIT_OUTCOME)))
		keep(&s->outcome, rec);
	else if (is(rec, "event", audit_event_name(AUDIT_LOST)))
		keep(&s->lost, rec);
	else
		keep_refusal(s, rec);
}

static int take_line(struct arena *a, struct story *s, const char *id, const char *line, size_t len,
		     struct err *err)
{
	JSON_AUTO *rec = NULL;
	const char *of;

	if (memmem(line, len, id, strlen(id)) == NULL)
		return 0;
	rec = json_loadb(line, len, JSON_REJECT_DUPLICATES, NULL);
	of = get(rec, "request_id");
	if (of == NULL || strncmp(of, id, strlen(id)) != 0)
		return 0;
	if (s->id != NULL && strcmp(s->id, of) != 0)
		return err_set(err, ERR_REQUEST, 0,
			       "the ids of several requests begin with '%s': write more of it", id);
	if (s->id == NULL)
		s->id = arena_strdup(a, of);
	take_record(s, rec);
	return 0;
}

static int read_story(struct arena *a, const char *dir, const char *id, struct story *s,
		      struct err *err)
{
	struct audit_reader *r = NULL;
	const char *line = NULL;
	size_t len = 0;
	int res;

	if (audit_read_dir(a, dir, false, &r, err) != 0)
		return -1;
	while ((res = audit_read_next(r, &line, &len, err)) == 1) {
		if (take_line(a, s, id, line, len, err) != 0) {
			res = -1;
			break;
		}
	}
	audit_read_close(r);
	if (res == 0 && s->id == NULL)
		return err_set(
			err, ERR_REQUEST, 0,
			"the audit log in '%s' knows no request '%s' (agentbox audit show lists "
			"them)",
			dir, id);
	return res;
}

static void story_free(struct story *s)
{
	json_decref(s->decision);
	json_decref(s->start);
	json_decref(s->outcome);
	json_decref(s->lost);
	for (size_t i = 0; i < s->n_refused; i++)
		json_decref(s->refused[i].rec);
}

/* --- judging --- */

struct verdict {
	const char *layer; /* that stopped it, or "none" */
	const char *means;
	const char *change; /* or NULL: nothing has to */
};

static struct verdict judge_outcome(const struct story *s)
{
	const json_t *o = s->outcome;
	const char *limit = get(o, "limit");

	if (o == NULL && s->lost != NULL)
		return (struct verdict){ "none", "it ran, and its outcome could not be written",
					 "make room for the audit log" };
	if (o == NULL)
		return (struct verdict){ "none",
					 "it is running, or agentbox was killed before its end",
					 NULL };
	if (limit != NULL)
		return (struct verdict){ "sandbox", "a limit ended the run",
					 "sandbox.limits, where the limit named here is set" };
	if (is(o, "status", "failed") && !json_is_true(json_object_get(o, "started")))
		return (struct verdict){ "host", "policy allowed it, and this host could not do it",
					 "what the reason names; agentbox doctor -p tells more" };
	if (s->n_refused > 0)
		return (struct verdict){ "net", "it ran, and was refused names or connections",
					 "what is said of each below" };
	if (json_array_size(json_object_get(o, "violations")) > 0)
		return (struct verdict){ "none", "it ran, and protected names appeared meanwhile",
					 NULL };
	return (struct verdict){
		"none",
		"it ran to its end: what failed inside met a path that the view has "
		"not, or has read-only, or was the command's own",
		"see agentbox explain -p for what the agent gets"
	};
}

static struct verdict judge(const struct story *s)
{
	const json_t *d = s->decision;
	const struct hint *hint = find_hint(get(d, "code"));

	if (d == NULL)
		return (struct verdict){
			"none",
			"the log has no decision on it: it was not asked of policy, "
			"or that file of the log is not here",
			"agentbox audit verify"
		};
	if (is(d, "decision", "allow"))
		return judge_outcome(s);
	return (struct verdict){ get(d, "layer"), hint != NULL ? hint->means : "it was not allowed",
				 hint != NULL ? hint->change : "the rule named here" };
}

/* --- telling --- */

static void line(const char *key, const char *fmt, ...) PRINTF_LIKE(2, 3);

static void line(const char *key, const char *fmt, ...)
{
	STRBUF_AUTO safe = { 0 };
	char text[4096];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	escape_add(&safe, text, strlen(text));
	(void)printf("%s: %s\n", key, strbuf_str(&safe));
}

static const char *agent_text(struct arena *a, const json_t *rec)
{
	const json_t *chain = json_object_get(rec, "delegation");
	const char *id = get(rec, "agent_id");
	STRBUF_AUTO sb = { 0 };
	const json_t *one;
	size_t i;

	json_array_foreach(chain, i, one)
	{
		if (i + 1 < json_array_size(chain) && json_is_string(one))
			strbuf_printf(&sb, "%s%s", i == 0 ? ", on behalf of " : " by way of ",
				      json_string_value(one));
	}
	return arena_printf(a, "%s%s", id == NULL ? "(not given)" : id, strbuf_str(&sb));
}

static void tell_refused(const struct story *s)
{
	for (size_t i = 0; i < s->n_refused; i++) {
		const json_t *rec = s->refused[i].rec;
		const struct hint *hint = find_hint(get(rec, "code"));
		STRBUF_AUTO what = { 0 };

		audit_text_resource(rec, true, &what);
		line("refused", "%s, %llu times (%s: %s)%s%s", strbuf_str(&what),
		     s->refused[i].count, get(rec, "code") == NULL ? "?" : get(rec, "code"),
		     get(rec, "reason") == NULL ? "" : get(rec, "reason"),
		     hint == NULL ? "" : "; to change: ", hint == NULL ? "" : hint->change);
	}
	if (s->more > 0)
		line("refused", "%llu more", s->more);
}

static void tell_outcome(const struct story *s)
{
	const json_t *o = s->outcome;
	const json_t *code = json_object_get(o, "exit_code"), *sig = json_object_get(o, "signal");

	line("started", "%s", s->start != NULL ? get(s->start, "exe") : "no");
	if (o == NULL)
		return;
	line("outcome", "%s%s%s", get(o, "status"), get(o, "reason") == NULL ? "" : ": ",
	     get(o, "reason") == NULL ? "" : get(o, "reason"));
	if (json_is_integer(code))
		line("exit code", "%lld", (long long)json_integer_value(code));
	if (json_is_integer(sig))
		line("signal", "%lld", (long long)json_integer_value(sig));
	if (get(o, "limit") != NULL)
		line("limit", "%s", get(o, "limit"));
}

static void tell(struct arena *a, const struct story *s, const struct verdict *v)
{
	const json_t *first = s->decision != NULL ? s->decision : s->start;
	const json_t *d = s->decision;
	STRBUF_AUTO what = { 0 };

	line("request", "%s", s->id);
	if (first != NULL) {
		audit_text_resource(first, true, &what);
		line("time", "%s", get(first, "ts"));
		line("agent", "%s", agent_text(a, first));
		line("asked for", "%s %s", get(first, "action"), strbuf_str(&what));
	}
	line("reached policy", "%s", d != NULL ? "yes" : "no");
	if (d != NULL) {
		line("decision", "%s (%s: %s)", get(d, "decision"), get(d, "code"),
		     get(d, "reason"));
		line("rule", "%s", get(d, "rule") != NULL ? get(d, "rule") : "none");
	}
	tell_outcome(s);
	tell_refused(s);
	line("layer", "%s", v->layer);
	line("that is", "%s", v->means);
	if (v->change != NULL)
		line("to change", "%s", v->change);
}

static json_t *refused_json(const struct story *s)
{
	json_t *list = json_array();

	for (size_t i = 0; i < s->n_refused; i++) {
		const json_t *rec = s->refused[i].rec;
		const struct hint *hint = find_hint(get(rec, "code"));
		STRBUF_AUTO what = { 0 };
		json_t *o = json_object();

		audit_text_resource(rec, false, &what);
		json_put(o, "resource", json_text(strbuf_str(&what)));
		json_put(o, "code", json_text(get(rec, "code")));
		json_put(o, "reason", json_text(get(rec, "reason")));
		json_put(o, "count", json_integer((json_int_t)s->refused[i].count));
		json_put(o, "change", json_text(hint == NULL ? NULL : hint->change));
		(void)json_array_append_new(list, o);
	}
	return list;
}

static json_t *story_json(const struct story *s, const struct verdict *v)
{
	json_t *o = json_object();

	json_put(o, "version", json_integer(1));
	json_put(o, "request_id", json_text(s->id));
	json_put(o, "reached_policy", json_boolean(s->decision != NULL));
	json_put(o, "layer", json_text(v->layer));
	json_put(o, "means", json_text(v->means));
	json_put(o, "change", json_text(v->change));
	json_put(o, "decision", s->decision == NULL ? json_null() : json_incref(s->decision));
	json_put(o, "start", s->start == NULL ? json_null() : json_incref(s->start));
	json_put(o, "outcome", s->outcome == NULL ? json_null() : json_incref(s->outcome));
	json_put(o, "refused", refused_json(s));
	return o;
}

int explain_request(struct arena *a, const char *dir, const char *id, bool json, struct err *err)
{
	struct story s = { 0 };
	struct verdict v;
	int rc = EXITCODE_FAILED;

	if (strlen(id) < ID_MIN) {
		(void)err_set(err, ERR_USAGE, 0,
			      "'%s' is no id of a request: write at least the first %d characters",
			      id, ID_MIN);
		return rc;
	}
	if (read_story(a, dir, id, &s, err) == 0) {
		v = judge(&s);
		rc = 0;
		if (json) {
			JSON_AUTO *o = story_json(&s, &v);
			STRBUF_AUTO text = { 0 };

			json_line_ascii(o, &text);
			(void)puts(strbuf_str(&text));
		} else {
			tell(a, &s, &v);
		}
	}
	story_free(&s);
	return rc;
}
