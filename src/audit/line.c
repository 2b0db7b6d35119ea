/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audit/log.h"

#define SEQ_MAX        ((uint64_t)1 << 62)
#define SHORT_FORM_MAX 128 /* bytes of {"truncated":true,"sha256":...,"bytes":...}, rounded up */

static const struct {
	const char *name;
	bool own; /* written by the writer itself: belongs to no layer */
} events[] = {
	[AUDIT_DECISION] = { "decision", false }, [AUDIT_START] = { "start", false },
	[AUDIT_OUTCOME] = { "outcome", false },   [AUDIT_RECOVERED] = { "recovered", true },
	[AUDIT_LOST] = { "lost", true },          [AUDIT_ROTATED] = { "rotated", true },
	[AUDIT_NAME] = { "name", false },         [AUDIT_CONNECTION] = { "connection", false },
};
_Static_assert(ARRAY_SIZE(events) == AUDIT_EVENT_MAX, "one row for each event");

static const char *const layer_names[] = {
	[AUDIT_LAYER_IDENTITY] = "identity", [AUDIT_LAYER_POLICY] = "policy",
	[AUDIT_LAYER_SANDBOX] = "sandbox",   [AUDIT_LAYER_APPROVAL] = "approval",
	[AUDIT_LAYER_NET] = "net",
};
_Static_assert(ARRAY_SIZE(layer_names) == AUDIT_LAYER_MAX, "one name for each layer");

const char *audit_event_name(unsigned i)
{
	return i < ARRAY_SIZE(events) ? events[i].name : NULL;
}

const char *audit_layer_name(unsigned i)
{
	return i < ARRAY_SIZE(layer_names) ? layer_names[i] : NULL;
}

/* What the chain and the kind of a record rest on is never shortened. */
static const char *const fixed_keys[] = { "v", "seq", "prev", "ts", "event", "layer" };

void audit_head_init(struct audit_head *head)
{
	head->seq = 0;
	memset(head->sha256, '0', sizeof(head->sha256) - 1);
	head->sha256[sizeof(head->sha256) - 1] = '\0';
}

static bool get_hex(const json_t *obj, const char *key, char ret[SHA256_HEX_SIZE])
{
	const char *s = json_string_value(json_object_get(obj, key));

	if (s == NULL || strlen(s) != SHA256_HEX_SIZE - 1 ||
	    strspn(s, "0123456789abcdef") != SHA256_HEX_SIZE - 1)
		return false;
	memcpy(ret, s, SHA256_HEX_SIZE);
	return true;
}

static bool get_uint(const json_t *obj, const char *key, uint64_t *ret)
{
	const json_t *v = json_object_get(obj, key);

	if (!json_is_integer(v) || json_integer_value(v) < 0)
		return false;
	*ret = (uint64_t)json_integer_value(v);
	return true;
}

void audit_line_parse(const char *text, size_t len, struct audit_line *ret)
{
	JSON_AUTO *obj = json_loadb(text, len, JSON_REJECT_DUPLICATES, NULL);
	const char *event = json_string_value(json_object_get(obj, "event"));
	uint64_t v;

	*ret = (struct audit_line){ .len = len };
	sha256_hex(text, len, ret->sha256);
	if (len >= AUDIT_LINE_MAX || event == NULL || !get_uint(obj, "v", &v) ||
	    v != AUDIT_VERSION || !get_uint(obj, "seq", &ret->seq) || ret->seq == 0 ||
	    ret->seq > SEQ_MAX || !get_hex(obj, "prev", ret->prev))
		return;
	if (strcmp(event, events[AUDIT_RECOVERED].name) == 0) {
		if (!get_uint(obj, "bytes", &ret->torn_bytes) ||
		    !get_hex(obj, "sha256", ret->torn_sha256))
			return;
		ret->recovered = true;
	}
	ret->rotated = strcmp(event, events[AUDIT_ROTATED].name) == 0;
	ret->valid = true;
}

bool audit_line_begins(const char *text, size_t len, uint64_t seq, const char *prev)
{
	char want[160];
	int n = snprintf(want, sizeof(want), "{\"v\":%d,\"seq\":%llu,\"prev\":\"%s\",",
			 AUDIT_VERSION, (unsigned long long)seq, prev);
	size_t m = (size_t)n < len ? (size_t)n : len;

	return len > 0 && memcmp(text, want, m) == 0;
}

static json_t *delegation_json(const struct audit_record *rec)
{
	json_t *arr = json_array();

	for (size_t i = 0; i < rec->n_delegation; i++) {
		if (json_array_append_new(arr, json_text(rec->delegation[i])) != 0)
			abort();
	}
	return arr;
}

static int record_json(const struct audit_record *rec, const struct audit_head *head, json_t **ret,
		       struct err *err)
{
	JSON_AUTO *obj = json_object();
	const char *key;
	json_t *value;

	if ((unsigned)rec->event >= AUDIT_EVENT_MAX || (unsigned)rec->layer >= AUDIT_LAYER_MAX)
		return err_set(err, ERR_INTERNAL, 0, "audit record of no known event or layer");
	json_put(obj, "v", json_integer(AUDIT_VERSION));
	json_put(obj, "seq", json_integer((json_int_t)head->seq + 1));
	json_put(obj, "prev", json_text(head->sha256));
	json_put_now(obj, "ts");
	json_put(obj, "event", json_text(events[rec->event].name));
	json_put(obj, "layer", json_text(events[rec->event].own ? NULL : layer_names[rec->layer]));
	json_put(obj, "decision", json_text(rec->decision));
	json_put(obj, "code", json_text(rec->code));
	json_put(obj, "request_id", json_text(rec->request_id));
	json_put(obj, "agent_id", json_text(rec->agent_id));
	json_put(obj, "delegation", delegation_json(rec));
	json_put(obj, "action", json_text(rec->action));
	json_put(obj, "resource", rec->resource == NULL ? json_null() : json_incref(rec->resource));
	json_put(obj, "reason", json_text(rec->reason));
	json_put(obj, "rule", json_text(rec->rule));
	json_put(obj, "session", json_null());
	json_object_foreach(rec->extra, key, value)
	{
		if (json_object_get(obj, key) != NULL)
			return err_set(err, ERR_INTERNAL, 0, "audit record has the key '%s' twice",
				       key);
		json_put(obj, key, json_incref(value));
	}
	*ret = json_incref(obj);
	return 0;
}

static bool key_is_fixed(const char *key)
{
	for (size_t i = 0; i < ARRAY_SIZE(fixed_keys); i++) {
		if (strcmp(key, fixed_keys[i]) == 0)
			return true;
	}
	return false;
}

/* Replace the longest value. False when nothing is left that would become shorter. */
static bool record_shorten(json_t *obj)
{
	const char *longest = NULL;
	size_t longest_len = SHORT_FORM_MAX;
	STRBUF_AUTO longest_text = { 0 };
	char sum[SHA256_HEX_SIZE];
	const char *key;
	json_t *value;
	json_t *form;

	json_object_foreach(obj, key, value)
	{
		STRBUF_AUTO text = { 0 };

		if (key_is_fixed(key))
			continue;
		json_line(value, &text);
		if (text.len <= longest_len)
			continue;
		longest = key;
		longest_len = text.len;
		strbuf_free(&longest_text);
		longest_text = text;
		text = (struct strbuf){ 0 };
	}
	if (longest == NULL)
		return false;
	sha256_hex(strbuf_str(&longest_text), longest_text.len, sum);
	form = json_object();
	json_put(form, "truncated", json_true());
	json_put(form, "sha256", json_text(sum));
	json_put(form, "bytes", json_integer((json_int_t)longest_len));
	/* The value of a key that is there is replaced in its place. */
	json_put(obj, longest, form);
	return true;
}

int audit_line_add(struct strbuf *out, const struct audit_record *rec, struct audit_head *head,
		   struct err *err)
{
	STRBUF_AUTO line = { 0 };
	json_t *made = NULL;
	int r = record_json(rec, head, &made, err);
	JSON_AUTO *obj = made;

	if (r != 0)
		return r;
	for (;;) {
		/* Whatever shows a log, and be it a terminal, prints what it shows. */
		json_line_ascii(obj, &line);
		if (line.len < AUDIT_LINE_MAX)
			break;
		if (!record_shorten(obj))
			return err_set(err, ERR_AUDIT, 0,
				       "audit record of %zu bytes cannot be made to fit in %zu",
				       line.len, AUDIT_LINE_MAX);
		strbuf_free(&line);
		line = (struct strbuf){ 0 };
	}
	strbuf_add(out, strbuf_str(&line), line.len);
	strbuf_putc(out, '\n');
	head->seq++;
	sha256_hex(strbuf_str(&line), line.len, head->sha256);
	return 0;
}
