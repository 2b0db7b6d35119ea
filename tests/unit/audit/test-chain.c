/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "audit-test.h"

static void make_log(const struct log_env *e, size_t n, struct strbuf *ret)
{
	struct err err = { 0 };
	char id[32];

	for (size_t i = 1; i <= n; i++) {
		(void)snprintf(id, sizeof(id), "req-%zu", i);
		if (log_add(e->dir, id, &err) != i) {
			printf("Bail out! %s\n", err.msg);
			exit(99);
		}
	}
	file_read(e->log, ret);
}

static void test_chain(struct tap *t)
{
	static const char *const keys[] = {
		"\"v\":1,",        "\"seq\":3,",           "\"prev\":\"",      "\"ts\":\"",
		"\"event\":\"",    "\"layer\":\"policy\"", "\"decision\":",    "\"code\":null",
		"\"request_id\":", "\"agent_id\":",        "\"delegation\":[", "\"action\":",
		"\"resource\":",   "\"reason\":",          "\"rule\":",        "\"session\":null"
	};
	ENV_AUTO e = { 0 };
	STRBUF_AUTO sb = { 0 };
	struct audit_head head = { 0 };
	struct err err = { 0 };
	char sum[SHA256_HEX_SIZE];
	const char *line, *at;
	size_t len;

	env_make(&e);
	make_log(&e, 3, &sb);
	tap_int(t, (long long)line_count(&sb), 3, "three lines");
	tap_verified(t, e.log, 3, 0, "a chain of three");
	line = line_at(&sb, 0, &len);
	tap_ok(t,
	       strncmp(line,
		       "{\"v\":1,\"seq\":1,\"prev\":"
		       "\"000000000000000000000000000000000000000000000000"
		       "0000000000000000\",\"ts\":\"",
		       95) == 0,
	       "how the first line begins: %.95s", line);
	line = line_at(&sb, 2, &len);
	sha256_hex(line, len, sum);
	tap_int(t, audit_head_read(e.log, &head, &err), 0, "head can be read");
	tap_int(t, (long long)head.seq, 3, "head: seq");
	tap_str(t, head.sha256, sum, "head: digest of the last line without its newline");
	at = line;
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		const char *next = strstr(at, keys[i]);

		tap_ok(t, next != NULL, "key in its place: %s", keys[i]);
		at = next == NULL ? at : next + 1;
	}
	tap_ok(t,
	       audit_head_read("/tmp/agentbox-no-such-log", &head, &err) == -1 &&
		       err.code == ERR_AUDIT && err.errnum == ENOENT,
	       "no log, no head: %s", err.msg);
}

static void test_many_at_once(struct tap *t)
{
	ENV_AUTO e = { 0 };
	STRBUF_AUTO sb = { 0 };
	JSON_AUTO *extra = json_pack("{s:i, s:s}", "exit_code", 7, "status", "exited");
	JSON_AUTO *twice = json_pack("{s:s}", "reason", "another");
	static const char *const chain[] = { "boss", "me" };
	struct audit_record recs[3] = {
		{ .event = AUDIT_DECISION, .layer = AUDIT_LAYER_POLICY },
		{ .event = AUDIT_START, .layer = AUDIT_LAYER_SANDBOX },
		{ .event = AUDIT_OUTCOME,
		  .layer = AUDIT_LAYER_SANDBOX,
		  .delegation = chain,
		  .n_delegation = 2,
		  .extra = extra },
	};
	struct audit_record bad = { .extra = twice };
	struct audit_head head = { 0 };
	struct audit_head none = { 0 };
	struct err err = { 0 };
	size_t len;

	env_make(&e);
	tap_int(t, log_append(e.dir, NULL, 0, &head, &err), 0, "nothing to append");
	tap_int(t, (long long)head.seq, 0, "the head of an empty log");
	tap_int(t, log_append(e.dir, recs, 3, &head, &err), 0, "three at once");
	tap_int(t, (long long)head.seq, 3, "head after them");
	tap_verified(t, e.log, 3, 0, "and they chain");
	file_read(e.log, &sb);
	tap_ok(t, strstr(line_at(&sb, 2, &len), "\"session\":null,\"exit_code\":7,\"status\":"),
	       "what the event adds follows the common keys");
	tap_ok(t, strstr(sb.buf, "\"delegation\":[\"boss\",\"me\"]"), "delegation in order");
	tap_ok(t, log_append(e.dir, &bad, 1, &none, &err) == -1 && err.code == ERR_INTERNAL,
	       "a key that hides a common one is refused: %s", err.msg);
	bad = (struct audit_record){ .event = AUDIT_EVENT_MAX };
	tap_ok(t, log_append(e.dir, &bad, 1, &none, &err) == -1, "an unknown event is refused");
	tap_verified(t, e.log, 3, 0, "and nothing was written");
}

/* Every byte but those of the last line is covered. */
static void test_edits(struct tap *t)
{
	ENV_AUTO e = { 0 };
	STRBUF_AUTO sb = { 0 };
	size_t len, last, missed = 0;

	env_make(&e);
	make_log(&e, 4, &sb);
	last = (size_t)(line_at(&sb, 3, &len) - sb.buf);
	for (size_t i = 0; i < last; i++) {
		sb.buf[i] ^= 1;
		file_write(e.log, sb.buf, sb.len);
		sb.buf[i] ^= 1;
		if (log_verify(e.log, NULL).ok) {
			missed++;
			printf("# byte %zu changed and not found\n", i);
		}
	}
	tap_int(t, (long long)missed, 0, "each changed byte before the last line is found");
	tap_ok(t, last > 900, "of %zu bytes", last);
	file_write(e.log, sb.buf, sb.len);
	tap_verified(t, e.log, 4, 0, "the same file as it was");
}

static void write_order(const struct log_env *e, const struct strbuf *sb, const char *order)
{
	STRBUF_AUTO out = { 0 };

	for (; *order != '\0'; order++) {
		size_t len;
		const char *line = line_at(sb, (size_t)(*order - '1'), &len);

		strbuf_add(&out, line, len);
		strbuf_putc(&out, '\n');
	}
	file_write(e->log, strbuf_str(&out), out.len);
}

static void test_lines_moved(struct tap *t)
{
	static const struct {
		const char *order;
		bool ok;
		uint64_t bad_line;
	} rows[] = {
		{ "12345", true, 0 }, { "1245", false, 3 },   { "13245", false, 2 },
		{ "2345", false, 1 }, { "122345", false, 3 }, { "12354", false, 4 },
		{ "1234", true, 0 },  { "", true, 0 },        { "12345123", false, 6 },
	};
	ENV_AUTO e = { 0 };
	STRBUF_AUTO sb = { 0 };
	struct audit_head head = { 0 };
	struct audit_head other;
	struct audit_verify v;
	struct err err = { 0 };

	env_make(&e);
	make_log(&e, 5, &sb);
	tap_int(t, audit_head_read(e.log, &head, &err), 0, "head kept");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		write_order(&e, &sb, rows[i].order);
		v = log_verify(e.log, NULL);
		tap_ok(t, v.ok == rows[i].ok && v.bad_line == rows[i].bad_line,
		       "lines '%s' without a head: %d, line %llu: %s", rows[i].order, v.ok,
		       (unsigned long long)v.bad_line, v.reason);
		v = log_verify(e.log, &head);
		tap_ok(t, v.ok == (i == 0) && (v.head_found || i > 0),
		       "lines '%s' with the head: %d, %s", rows[i].order, v.ok, v.reason);
	}
	write_order(&e, &sb, "12345");
	other = head;
	other.sha256[0] = other.sha256[0] == '0' ? '1' : '0';
	v = log_verify(e.log, &other);
	tap_ok(t, !v.ok && v.bad_line == 5, "a head of another record: %s", v.reason);
	if (log_add(e.dir, "later", &err) != 6)
		printf("# %s\n", err.msg);
	v = log_verify(e.log, &head);
	tap_ok(t, v.ok && v.head_found, "an older head is found in a longer log: %s", v.reason);
}

static void test_not_records(struct tap *t)
{
	static const char *const rows[] = {
		"garbage\n",
		"\n",
		"{}\n",
		"{\"v\":1}\n",
		"{\"v\":2,\"seq\":3,\"prev\":"
		"\"0000000000000000000000000000000000000000000000000000000000000000\","
		"\"event\":\"decision\"}\n",
		"{\"v\":1,\"seq\":-3,\"prev\":"
		"\"0000000000000000000000000000000000000000000000000000000000000000\","
		"\"event\":\"decision\"}\n",
		"{\"v\":1,\"seq\":3,\"prev\":\"00\",\"event\":\"decision\"}\n",
		"[1]\n",
	};
	ENV_AUTO e = { 0 };
	STRBUF_AUTO sb = { 0 };
	size_t good;

	env_make(&e);
	make_log(&e, 2, &sb);
	good = sb.len;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		STRBUF_AUTO after = { 0 };
		struct audit_verify v;
		struct err err = { 0 };

		sb.len = good;
		strbuf_puts(&sb, rows[i]);
		file_write(e.log, sb.buf, sb.len);
		tap_ok(t,
		       log_add(e.dir, "x", &err) == 0 && err.code == ERR_AUDIT &&
			       strstr(err.msg, "agentbox audit verify") != NULL,
		       "last line is no record, so none follows: %s", err.msg);
		file_read(e.log, &after);
		tap_ok(t, after.len == sb.len && memcmp(after.buf, sb.buf, sb.len) == 0,
		       "the file is as it was");
		v = log_verify(e.log, NULL);
		tap_ok(t, !v.ok && v.bad_line == 3, "verify names line %llu: %s",
		       (unsigned long long)v.bad_line, v.reason);
	}
}

static void test_strings(struct tap *t)
{
	static const char *const evil[] = {
		"a\nb",       "\n{\"v\":1,\"seq\":9}\n",
		"\r\n",       "\"},{\"",
		"\\",         "\x1b]0;x\x07",
		"\xff\xfe\n", "\xe2\x80\x8b",
		"\xc3",       "\x7f\x01",
		"",
	};
	ENV_AUTO e = { 0 };
	STRBUF_AUTO sb = { 0 };
	struct err err = { 0 };
	size_t wrong = 0;

	env_make(&e);
	for (size_t i = 0; i < ARRAY_SIZE(evil); i++) {
		const char *s = evil[i];
		JSON_AUTO *text = json_text(s);
		JSON_AUTO *extra = json_pack("{s:[O,O]}", "argv", text, text);
		struct audit_record rec = { .decision = s,
					    .code = s,
					    .request_id = s,
					    .agent_id = s,
					    .delegation = &s,
					    .n_delegation = 1,
					    .action = s,
					    .resource = text,
					    .reason = s,
					    .rule = s,
					    .extra = extra };
		struct audit_head head = { 0 };

		tap_int(t, log_append(e.dir, &rec, 1, &head, &err), 0, "a record of evil strings");
	}
	file_read(e.log, &sb);
	tap_int(t, (long long)line_count(&sb), ARRAY_SIZE(evil), "one line for each");
	for (size_t i = 0; i < ARRAY_SIZE(evil); i++) {
		static const char *const fields[] = { "decision", "code",   "request_id",
						      "agent_id", "action", "resource",
						      "reason",   "rule" };
		size_t len;
		const char *line = line_at(&sb, i, &len);
		JSON_AUTO *got = json_loadb(line, len, JSON_REJECT_DUPLICATES, NULL);
		JSON_AUTO *want = json_text(evil[i]);

		for (size_t k = 0; k < ARRAY_SIZE(fields); k++)
			wrong += !json_equal(json_object_get(got, fields[k]), want);
		wrong += !json_equal(json_array_get(json_object_get(got, "delegation"), 0), want);
		wrong += !json_equal(json_array_get(json_object_get(got, "argv"), 1), want);
	}
	tap_int(t, (long long)wrong, 0, "every string reads back as it was");
	tap_verified(t, e.log, ARRAY_SIZE(evil), 0, "and the log is whole");
}

int main(void)
{
	struct tap t = { 0 };

	test_chain(&t);
	test_many_at_once(&t);
	test_edits(&t);
	test_lines_moved(&t);
	test_not_records(&t);
	test_strings(&t);
	return tap_done(&t);
}
