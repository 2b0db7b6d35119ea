/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "audit-test.h"

static uint64_t must_add(const char *dir, const char *id)
{
	struct err err = { 0 };
	uint64_t seq = log_add(dir, id, &err);

	if (seq == 0)
		printf("# %s\n", err.msg);
	return seq;
}

/* A fragment of every length of the third line. */
static void test_every_offset(struct tap *t)
{
	ENV_AUTO e = { 0 };
	STRBUF_AUTO sb = { 0 };
	size_t len, start, wrong = 0;

	env_make(&e);
	for (int i = 0; i < 3; i++)
		(void)must_add(e.dir, "first");
	file_read(e.log, &sb);
	start = (size_t)(line_at(&sb, 2, &len) - sb.buf);
	for (size_t cut = start + 1; cut < sb.len; cut++) {
		struct audit_head head = { 0 };
		struct err err = { 0 };
		struct audit_verify v;
		bool ok;

		file_write(e.log, sb.buf, cut);
		v = log_verify(e.log, NULL);
		ok = !v.ok && v.bad_line == 3 && v.records == 2;
		ok = ok && audit_head_read(e.log, &head, &err) == 0 && head.seq == 2;
		ok = ok && must_add(e.dir, "next") == 4;
		v = log_verify(e.log, NULL);
		ok = ok && v.ok && v.records == 4 && v.recovered == 1;
		ok = ok && must_add(e.dir, "after") == 5 && log_verify(e.log, NULL).ok;
		wrong += !ok;
		if (!ok)
			printf("# cut at %zu of %zu: line %llu: %s %s\n", cut - start, len,
			       (unsigned long long)v.bad_line, v.reason, err.msg);
	}
	tap_int(t, (long long)wrong, 0, "a fragment of every length is closed and verified");
	tap_ok(t, len > 300, "lengths 1 to %zu", len);
	file_write(e.log, sb.buf, start);
	tap_int(t, (long long)must_add(e.dir, "next"), 3, "cut between lines: nothing is torn");
	tap_verified(t, e.log, 3, 0, "and nothing recovered");
}

/* The write that closes a fragment is itself cut at every byte. @keep: bytes of the second line
 * that are the fragment; all of them: it is a record but for its newline. */
static void test_cut_again(struct tap *t, bool whole)
{
	ENV_AUTO e = { 0 };
	STRBUF_AUTO sb = { 0 };
	size_t len, frag_end, wrong = 0;

	env_make(&e);
	(void)must_add(e.dir, "one");
	(void)must_add(e.dir, "two");
	file_read(e.log, &sb);
	frag_end = (size_t)(line_at(&sb, 1, &len) - sb.buf) + (whole ? len : 150);
	file_write(e.log, sb.buf, frag_end);
	(void)must_add(e.dir, "three");
	tap_verified(t, e.log, 3, 1, "the fragment is closed");
	file_read(e.log, &sb);
	for (size_t cut = frag_end + 1; cut < sb.len; cut++) {
		struct audit_verify v;
		bool ok;

		file_write(e.log, sb.buf, cut);
		ok = must_add(e.dir, "four") > 0;
		v = log_verify(e.log, NULL);
		ok = ok && v.ok && (v.recovered > 0 || whole);
		ok = ok && must_add(e.dir, "five") > 0 && log_verify(e.log, NULL).ok;
		wrong += !ok;
		if (!ok)
			printf("# cut at %zu of %zu: line %llu: %s\n", cut - frag_end,
			       sb.len - frag_end, (unsigned long long)v.bad_line, v.reason);
	}
	tap_int(t, (long long)wrong, 0,
		whole ? "closing a record without a newline can be cut anywhere"
		      : "closing a fragment can be cut anywhere");
	tap_ok(t, sb.len - frag_end > 500, "of %zu bytes", sb.len - frag_end);
}

/* The reader accepts a line that is no record only with the record that names it. */
static void test_only_what_is_named(struct tap *t)
{
	ENV_AUTO e = { 0 };
	STRBUF_AUTO sb = { 0 };
	STRBUF_AUTO out = { 0 };
	size_t len, start, rec_len, missed = 0;
	const char *rec;

	env_make(&e);
	(void)must_add(e.dir, "one");
	(void)must_add(e.dir, "two");
	file_read(e.log, &sb);
	start = (size_t)(line_at(&sb, 1, &len) - sb.buf);
	file_write(e.log, sb.buf, start + 200);
	(void)must_add(e.dir, "three");
	file_read(e.log, &sb);
	tap_verified(t, e.log, 3, 1, "closed");
	rec = line_at(&sb, 2, &rec_len);
	tap_ok(t,
	       strstr(rec, "\"event\":\"recovered\",\"layer\":null") != NULL &&
		       strstr(rec, "\"bytes\":200,\"sha256\":\"") != NULL,
	       "the record that closes: %.*s", (int)rec_len, rec);
	for (size_t i = start; i < (size_t)(rec - sb.buf) + rec_len; i++) {
		sb.buf[i] ^= 1;
		file_write(e.log, sb.buf, sb.len);
		sb.buf[i] ^= 1;
		missed += log_verify(e.log, NULL).ok;
	}
	tap_int(t, (long long)missed, 0, "each changed byte of fragment and record is found");

	strbuf_add(&out, sb.buf, start);
	strbuf_add(&out, sb.buf + start, 200);
	strbuf_puts(&out, "\n");
	file_write(e.log, out.buf, out.len);
	tap_ok(t, !log_verify(e.log, NULL).ok, "a fragment without the record is refused");
	out.len = start;
	strbuf_puts(&out, rec);
	file_write(e.log, out.buf, out.len);
	tap_ok(t, !log_verify(e.log, NULL).ok, "the record without its fragment is refused");
	out.len = start;
	strbuf_add(&out, sb.buf + start, 201);
	strbuf_add(&out, sb.buf + start, sb.len - start);
	file_write(e.log, out.buf, out.len);
	tap_ok(t, !log_verify(e.log, NULL).ok, "one record does not close two fragments");
}

static void test_strange_fragments(struct tap *t)
{
	ENV_AUTO e = { 0 };
	static const char zeros[AUDIT_LINE_MAX];
	STRBUF_AUTO sb = { 0 };
	STRBUF_AUTO out = { 0 };
	struct err err = { 0 };

	env_make(&e);
	file_write(e.log, "x", 1);
	tap_int(t, (long long)must_add(e.dir, "a"), 2, "a log that is nothing but a fragment");
	tap_verified(t, e.log, 2, 1, "is begun anew");
	file_read(e.log, &sb);

	strbuf_add(&out, sb.buf, sb.len);
	strbuf_add(&out, zeros, sizeof(zeros) - 1);
	file_write(e.log, out.buf, out.len);
	tap_int(t, (long long)must_add(e.dir, "b"), 4, "zeros, the most that a line can hold");
	tap_verified(t, e.log, 4, 2, "are closed");

	out.len = sb.len;
	strbuf_add(&out, zeros, sizeof(zeros));
	file_write(e.log, out.buf, out.len);
	tap_ok(t, log_add(e.dir, "c", &err) == 0 && err.code == ERR_AUDIT,
	       "one more is nothing that a writer left: %s", err.msg);
}

static void test_limits(struct tap *t)
{
	ENV_AUTO e = { 0 };
	STRBUF_AUTO sb = { 0 };
	size_t len, plain = 0;
	static char fill[AUDIT_LINE_MAX + 1];

	env_make(&e);
	memset(fill, 'x', sizeof(fill) - 1);
	/* 1: measure; 2 and 3: the limit and one more; 4: far more, twice. */
	for (int i = 1; i <= 4; i++) {
		size_t room = i == 1 ? 0 : AUDIT_LINE_MAX - 1 - plain + (i == 3);
		JSON_AUTO *argv = json_stringn(fill, i == 4 ? sizeof(fill) - 1 : room);
		JSON_AUTO *extra = json_pack("{s:O,s:i}", "argv", argv, "exit_code", 3);
		struct audit_record rec = { .resource = i == 4 ? argv : NULL, .extra = extra };
		struct audit_head head = { 0 };
		struct err err = { 0 };
		const char *line;

		if (log_append(e.dir, &rec, 1, &head, &err) != 0)
			printf("# %s\n", err.msg);
		tap_int(t, (long long)head.seq, i, "written");
		file_read(e.log, &sb);
		line = line_at(&sb, (size_t)i - 1, &len);
		plain = i == 1 ? len : plain;
		if (i == 2)
			tap_int(t, (long long)len + 1, AUDIT_LINE_MAX, "a line of the full length");
		if (i == 3)
			tap_ok(t,
			       len < 1000 &&
				       strstr(line, "\"argv\":{\"truncated\":true,"
						    "\"sha256\":\"") != NULL &&
				       strstr(line, "\"exit_code\":3") != NULL,
			       "one more byte and argv is shortened: %s", line);
		if (i == 4)
			tap_ok(t,
			       len < 1000 && strstr(line, "\"resource\":{\"truncated\"") &&
				       strstr(line, "\"bytes\":65538}"),
			       "more than one value can be shortened: %s", line);
	}
	tap_verified(t, e.log, 4, 0, "the log is whole");
	/* The longest line, its newline cut off, after another such line. */
	line_at(&sb, 2, &len);
	sb.len = (size_t)(line_at(&sb, 2, &len) - sb.buf);
	file_write(e.log, sb.buf, sb.len - 1);
	tap_int(t, (long long)must_add(e.dir, "x"), 3, "the longest fragment is closed");
	tap_verified(t, e.log, 3, 1, "and verified");
}

static void test_cannot_fit(struct tap *t)
{
	ENV_AUTO e = { 0 };
	JSON_AUTO *extra = json_object();
	struct audit_record rec = { .extra = extra };
	struct audit_head head = { 0 };
	struct err err = { 0 };
	STRBUF_AUTO sb = { 0 };
	char key[16];

	env_make(&e);
	for (int i = 0; i < 8000; i++) {
		(void)snprintf(key, sizeof(key), "k%d", i);
		json_put(extra, key, json_integer(i));
	}
	tap_ok(t, log_append(e.dir, &rec, 1, &head, &err) == -1 && err.code == ERR_AUDIT,
	       "what cannot be made to fit is an error: %s", err.msg);
	file_read(e.log, &sb);
	tap_int(t, (long long)sb.len, 0, "and nothing is written");
}

int main(void)
{
	struct tap t = { 0 };

	test_every_offset(&t);
	test_cut_again(&t, false);
	test_cut_again(&t, true);
	test_only_what_is_named(&t);
	test_strange_fragments(&t);
	test_limits(&t);
	test_cannot_fit(&t);
	return tap_done(&t);
}
