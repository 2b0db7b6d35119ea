/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/escape.h"

#include "tap.h"

struct row {
	const char *what;
	const char *in;
	size_t len;
	const char *want;
	bool valid;
};

#define ROW(what, in, want, valid)                                                                 \
	{                                                                                          \
		what, in, sizeof(in) - 1, want, valid                                              \
	}

static const struct row rows[] = {
	ROW("nothing", "", "", true),
	ROW("plain text", "a b~!", "a b~!", true),
	ROW("NUL in the middle", "a\0b", "a\\x00b", true),
	ROW("tab, line feed, carriage return", "\t\n\r", "\\x09\\x0a\\x0d", true),
	ROW("escape of a terminal", "\x1b[31m", "\\x1b[31m", true),
	ROW("the last of C0", "\x1f ", "\\x1f ", true),
	ROW("DEL and its neighbour", "~\x7f", "~\\x7f", true),
	ROW("backslash", "a\\x41", "a\\x5cx41", true),
	ROW("the first of C1", "\xc2\x80", "\\xc2\\x80", true),
	ROW("the last of C1", "\xc2\x9f", "\\xc2\\x9f", true),
	ROW("after C1", "\xc2\xa0", "\xc2\xa0", true),
	ROW("CSI as one C1 character",
	    "\xc2\x9b"
	    "31m",
	    "\\xc2\\x9b31m", true),
	ROW("soft hyphen", "\xc2\xad", "\\xc2\\xad", true),
	ROW("Arabic letter mark", "\xd8\x9c", "\\xd8\\x9c", true),
	ROW("Mongolian vowel separator", "\xe1\xa0\x8e", "\\xe1\\xa0\\x8e", true),
	ROW("before the zero-width ones", "\xe2\x80\x8a", "\xe2\x80\x8a", true),
	ROW("zero-width space", "\xe2\x80\x8b", "\\xe2\\x80\\x8b", true),
	ROW("zero-width joiner", "\xe2\x80\x8d", "\\xe2\\x80\\x8d", true),
	ROW("right-to-left mark", "\xe2\x80\x8f", "\\xe2\\x80\\x8f", true),
	ROW("a dash between the ranges", "\xe2\x80\x90", "\xe2\x80\x90", true),
	ROW("an ellipsis between the ranges", "\xe2\x80\xa6", "\xe2\x80\xa6", true),
	ROW("line separator", "\xe2\x80\xa8", "\\xe2\\x80\\xa8", true),
	ROW("paragraph separator", "\xe2\x80\xa9", "\\xe2\\x80\\xa9", true),
	ROW("right-to-left override",
	    "a\xe2\x80\xae"
	    "b",
	    "a\\xe2\\x80\\xaeb", true),
	ROW("after the overrides", "\xe2\x80\xaf", "\xe2\x80\xaf", true),
	ROW("word joiner", "\xe2\x81\xa0", "\\xe2\\x81\\xa0", true),
	ROW("first strong isolate", "\xe2\x81\xa8", "\\xe2\\x81\\xa8", true),
	ROW("byte order mark", "\xef\xbb\xbf", "\\xef\\xbb\\xbf", true),
	ROW("interlinear annotation", "\xef\xbf\xb9", "\\xef\\xbf\\xb9", true),
	ROW("replacement character", "\xef\xbf\xbd", "\xef\xbf\xbd", true),
	ROW("tag character", "\xf3\xa0\x81\x81", "\\xf3\\xa0\\x81\\x81", true),
	ROW("two bytes", "\xc3\xa9", "\xc3\xa9", true),
	ROW("three bytes", "\xe2\x82\xac", "\xe2\x82\xac", true),
	ROW("four bytes", "\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80", true),
	ROW("the last code point", "\xf4\x8f\xbf\xbf", "\xf4\x8f\xbf\xbf", true),
	ROW("past the last code point", "\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80", false),
	ROW("five bytes", "\xf8\x88\x80\x80\x80", "\\xf8\\x88\\x80\\x80\\x80", false),
	ROW("0xff", "\xff", "\\xff", false),
	ROW("a continuation alone", "\x80", "\\x80", false),
	ROW("overlong slash of two", "\xc0\xaf", "\\xc0\\xaf", false),
	ROW("overlong of two, the last", "\xc1\xbf", "\\xc1\\xbf", false),
	ROW("overlong of three", "\xe0\x9f\xbf", "\\xe0\\x9f\\xbf", false),
	ROW("the first of three", "\xe0\xa0\x80", "\xe0\xa0\x80", true),
	ROW("overlong of four", "\xf0\x8f\xbf\xbf", "\\xf0\\x8f\\xbf\\xbf", false),
	ROW("the first of four", "\xf0\x90\x80\x80", "\xf0\x90\x80\x80", true),
	ROW("before the surrogates", "\xed\x9f\xbf", "\xed\x9f\xbf", true),
	ROW("the first surrogate", "\xed\xa0\x80", "\\xed\\xa0\\x80", false),
	ROW("the last surrogate", "\xed\xbf\xbf", "\\xed\\xbf\\xbf", false),
	ROW("after the surrogates", "\xee\x80\x80", "\xee\x80\x80", true),
	ROW("cut after one of two", "a\xc3", "a\\xc3", false),
	ROW("cut after two of three", "\xe2\x82", "\\xe2\\x82", false),
	ROW("cut after three of four", "\xf0\x9f\x98", "\\xf0\\x9f\\x98", false),
	ROW("a lead before plain text",
	    "\xc3"
	    "ab",
	    "\\xc3ab", false),
	ROW("a lead before another lead", "\xc3\xc3\xa9", "\\xc3\xc3\xa9", false),
};

static void test_rows(struct tap *t)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		STRBUF_AUTO sb = { 0 };

		escape_add(&sb, rows[i].in, rows[i].len);
		tap_str(t, strbuf_str(&sb), rows[i].want, rows[i].what);
		tap_int(t, escape_utf8_valid(rows[i].in, rows[i].len), rows[i].valid, rows[i].what);
	}
}

/* What lies behind the end would complete the sequence, and is not the text's. */
static void test_end(struct tap *t)
{
	static const char *const whole[] = { "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80" };

	for (size_t i = 0; i < ARRAY_SIZE(whole); i++) {
		size_t len = strlen(whole[i]);
		STRBUF_AUTO sb = { 0 };

		escape_add(&sb, whole[i], len - 1);
		tap_int(t, (long long)sb.len, 4 * ((long long)len - 1), "cut by its length");
		tap_ok(t, !escape_utf8_valid(whole[i], len - 1), "and not well-formed");
		tap_ok(t, escape_utf8_valid(whole[i], len), "whole it is (control)");
	}
}

/* Whatever goes in: printable, without control characters, and well-formed again. */
static void test_every_pair(struct tap *t)
{
	size_t bad = 0;

	for (unsigned i = 0; i < 0x10000; i++) {
		const char in[] = { (char)(i >> 8), (char)i };
		STRBUF_AUTO sb = { 0 };

		escape_add(&sb, in, sizeof(in));
		bad += !escape_utf8_valid(sb.buf, sb.len);
		for (size_t k = 0; k < sb.len; k++) {
			unsigned char c = (unsigned char)sb.buf[k];

			bad += c < 0x20 || c == 0x7f;
		}
	}
	tap_int(t, (long long)bad, 0, "every pair of bytes comes out well-formed and printable");
}

static void test_long(struct tap *t)
{
	STRBUF_AUTO in = { 0 };
	STRBUF_AUTO out = { 0 };

	for (int i = 0; i < 100000; i++)
		strbuf_putc(&in, (char)('!' + i % 59));
	escape_add(&out, in.buf, in.len);
	tap_int(t, (long long)out.len, (long long)in.len, "long plain text keeps its length");
	tap_ok(t, memcmp(out.buf, in.buf, in.len) == 0, "and every byte");
	strbuf_puts(&out, "!");
	escape_add(&out, "\n", 1);
	tap_str(t, out.buf + in.len, "!\\x0a", "the escaper appends");
}

int main(void)
{
	struct tap t = { 0 };

	test_rows(&t);
	test_end(&t);
	test_every_pair(&t);
	test_long(&t);
	return tap_done(&t);
}
