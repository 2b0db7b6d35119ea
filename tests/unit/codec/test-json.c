/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "codec/json.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tap.h"

static void check_line(struct tap *t, json_t *v, const char *want, const char *what)
{
	STRBUF_AUTO sb = { 0 };
	JSON_AUTO *owned = v;

	json_line(owned, &sb);
	tap_str(t, strbuf_str(&sb), want, what);
}

static void test_bytes(struct tap *t)
{
	static const struct {
		const char *bytes;
		size_t len;
		const char *want;
		const char *what;
	} rows[] = {
		{ "", 0, "\"\"", "empty" },
		{ "a/b", 3, "\"a/b\"", "plain" },
		{ "a\nb\"c\\", 6, "\"a\\nb\\\"c\\\\\"", "newline, quote, backslash" },
		{ "\x1b[31m", 5, "\"\\u001B[31m\"", "escape character" },
		{ "\xc3\xa9", 2, "\"\xc3\xa9\"", "two bytes of UTF-8" },
		{ "\xf4\x8f\xbf\xbf", 4, "\"\xf4\x8f\xbf\xbf\"", "U+10FFFF" },
		{ "\xc3", 1, "{\"b64\":\"ww==\"}", "cut sequence" },
		{ "\xff\xfe", 2, "{\"b64\":\"//4=\"}", "not UTF-8" },
		{ "\xed\xa0\x80", 3, "{\"b64\":\"7aCA\"}", "surrogate" },
		{ "\xc0\xaf", 2, "{\"b64\":\"wK8=\"}", "overlong slash" },
		{ "\xf4\x90\x80\x80", 4, "{\"b64\":\"9JCAgA==\"}", "past U+10FFFF" },
		{ "a\0b", 3, "{\"b64\":\"YQBi\"}", "NUL in the middle" },
		{ "\0", 1, "{\"b64\":\"AA==\"}", "NUL alone" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		check_line(t, json_bytes(rows[i].bytes, rows[i].len), rows[i].want, rows[i].what);
	check_line(t, json_bytes(NULL, 0), "\"\"", "no bytes at no address");
	check_line(t, json_text(NULL), "null", "text of NULL is null");
	check_line(t, json_text("x"), "\"x\"", "text");
	check_line(t, json_text("\x80"), "{\"b64\":\"gA==\"}", "text that is not UTF-8");
}

static void test_b64(struct tap *t)
{
	/* RFC 4648 section 10, and all six-bit values at the ends. */
	static const char *const rows[][2] = {
		{ "", "" },
		{ "f", "Zg==" },
		{ "fo", "Zm8=" },
		{ "foo", "Zm9v" },
		{ "foob", "Zm9vYg==" },
		{ "fooba", "Zm9vYmE=" },
		{ "foobar", "Zm9vYmFy" },
		{ "\xff\xff\xff", "////" },
		{ "\xfb\xef\xbe", "++++" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		STRBUF_AUTO sb = { 0 };

		json_b64(rows[i][0], strlen(rows[i][0]), &sb);
		tap_str(t, strbuf_str(&sb), rows[i][1], "base64");
	}
}

static void test_order_and_canonical(struct tap *t)
{
	char one[SHA256_HEX_SIZE], two[SHA256_HEX_SIZE], want[SHA256_HEX_SIZE];
	static const char canonical[] = "{\"a\":[1,{\"x\":null,\"y\":true}],\"b\":\"s\"}";
	JSON_AUTO *v = json_pack("{s:s, s:[i,{s:b,s:n}]}", "b", "s", "a", 1, "y", 1, "x");
	JSON_AUTO *w = json_pack("{s:[i,{s:n,s:b}], s:s}", "a", 1, "x", "y", 1, "b", "s");
	JSON_AUTO *other = json_pack("{s:[i,{s:n,s:b}], s:s}", "a", 2, "x", "y", 1, "b", "s");
	STRBUF_AUTO sb = { 0 };

	json_line(v, &sb);
	tap_str(t, strbuf_str(&sb), "{\"b\":\"s\",\"a\":[1,{\"y\":true,\"x\":null}]}",
		"a line keeps the order of insertion");
	strbuf_puts(&sb, "|");
	json_line(json_true(), &sb);
	tap_ok(t, strcmp(strbuf_str(&sb) + sb.len - 5, "|true") == 0, "appended, any value");
	sha256_hex(canonical, strlen(canonical), want);
	json_canonical_sha256(v, one);
	json_canonical_sha256(w, two);
	tap_str(t, one, want, "canonical digest is of the sorted text");
	tap_str(t, two, want, "and does not depend on the order");
	json_canonical_sha256(other, two);
	tap_ok(t, strcmp(two, want) != 0, "another value, another digest");
}

static void test_now(struct tap *t)
{
	time_t before = time(NULL);
	JSON_AUTO *obj = json_object();
	const char *text;
	struct tm tm = { 0 };
	time_t got;
	const char *end;

	json_put_now(obj, "ts");
	text = json_string_value(json_object_get(obj, "ts"));
	tap_int(t, (long long)strlen(text), 27, "length of the time");
	end = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
	tap_ok(t, end != NULL && *end == '.' && text[26] == 'Z', "form: %s", text);
	got = timegm(&tm);
	/* time(2) reads a clock that is a tick behind. */
	tap_ok(t, got >= before && got <= time(NULL) + 1, "it is the present: %lld >= %lld",
	       (long long)got, (long long)before);
}

static int put_in_child(json_t *obj, const char *key, json_t *value)
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		struct rlimit none = { 0, 0 };

		(void)setrlimit(RLIMIT_CORE, &none);
		(void)signal(SIGABRT, SIG_DFL);
		json_put(obj, key, value);
		_exit(0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return -1;
	return WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
}

static void test_put(struct tap *t)
{
	JSON_AUTO *obj = json_object();
	json_t *value = json_string("v");

	json_put(obj, "k", value);
	tap_int(t, (long long)value->refcount, 1, "the reference is taken over");
	tap_int(t, put_in_child(obj, "k", json_null()), 0, "put of a value");
	tap_int(t, put_in_child(obj, "k", NULL), SIGABRT, "put of NULL aborts");
	tap_int(t, put_in_child(obj, "\xff", json_null()), SIGABRT, "put of a bad key aborts");
}

int main(void)
{
	struct tap t = { 0 };

	test_bytes(&t);
	test_b64(&t);
	test_order_and_canonical(&t);
	test_now(&t);
	test_put(&t);
	return tap_done(&t);
}
