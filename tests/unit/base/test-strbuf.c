/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/strbuf.h"

#include "tap.h"

static void test_small(struct tap *t)
{
	STRBUF_AUTO sb = { 0 };

	tap_str(t, strbuf_str(&sb), "", "empty is the empty string");
	strbuf_add(&sb, NULL, 0);
	tap_str(t, strbuf_str(&sb), "", "nothing added from nowhere");
	strbuf_puts(&sb, "ab");
	strbuf_putc(&sb, 'c');
	strbuf_printf(&sb, "-%d-%s", 42, "x");
	strbuf_add(&sb, "\0z", 2);
	tap_int(t, (long long)sb.len, 10, "length counts NUL bytes");
	tap_ok(t, memcmp(sb.buf, "abc-42-x\0z", 11) == 0, "content, ended by NUL");
	strbuf_printf(&sb, "%s", "");
	tap_int(t, (long long)sb.len, 10, "an empty format adds nothing");
}

/* Each length around each doubling: one NUL more than the bytes must fit. */
static void test_growth(struct tap *t)
{
	size_t bad = 0;

	for (size_t n = 1; n < 3000; n++) {
		STRBUF_AUTO one = { 0 };
		STRBUF_AUTO text = { 0 };

		for (size_t i = 0; i < n; i++)
			strbuf_putc(&text, 'x');
		strbuf_printf(&one, "%s", text.buf);
		bad += one.len != n || one.cap < n + 1 || one.buf[n] != '\0';
		strbuf_add(&one, text.buf, n);
		bad += one.len != 2 * n || one.cap < 2 * n + 1 || one.buf[2 * n] != '\0';
	}
	tap_int(t, (long long)bad, 0, "every length up to 3000, byte by byte and at once");
}

static void test_big(struct tap *t)
{
	size_t n = (size_t)10 * 1024 * 1024;
	char *big = malloc(n);
	STRBUF_AUTO sb = { 0 };

	if (big == NULL)
		abort();
	memset(big, 'y', n);
	strbuf_putc(&sb, 'x');
	strbuf_add(&sb, big, n);
	free(big);
	tap_ok(t, sb.len == n + 1 && sb.buf[0] == 'x' && sb.buf[n] == 'y' && sb.buf[n + 1] == '\0',
	       "ten megabytes at once");
	strbuf_free(&sb);
	tap_ok(t, sb.buf == NULL && sb.len == 0 && sb.cap == 0, "freed is empty");
	strbuf_free(&sb);
	strbuf_puts(&sb, "again");
	tap_str(t, strbuf_str(&sb), "again", "and usable again");
}

int main(void)
{
	struct tap t = { 0 };

	test_small(&t);
	test_growth(&t);
	test_big(&t);
	return tap_done(&t);
}
