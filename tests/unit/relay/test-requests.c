/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What of a connection's requests goes on, however it is cut into pieces. */
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "relay/sniff.h"
#include "tap.h"

#define H    " HTTP/1.1\r\nHost: a.test\r\n"
#define POST "POST /" H
#define GET  "GET /" H "\r\n"
#define X                                                                                          \
	"GET /"                                                                                    \
	" HTTP/1.1\r\nHost: b.test\r\n\r\n"
#define CODED "Transfer-Encoding: chunked\r\n"

static const struct {
	const char *name, *goes_on, *rest;
	bool ends; /* what comes then ends the connection */
} rows[] = {
	{ "one", GET, "", false },
	{ "two", GET GET, "", false },
	{ "another host", GET, X, true },
	{ "half a head", GET, "GET / HTTP/1.1\r\nHost: b.test\r\n", false },
	{ "a body", POST "Content-Length: 3\r\n\r\nabc" GET, "", false },
	{ "not all of it", POST "Content-Length: 300\r\n\r\n" X, "", false },
	{ "none", POST "Content-Length: 0\r\n\r\n", X, true },
	{ "chunks", POST CODED "\r\n3\r\nabc\r\n1\r\nd\r\n0\r\n\r\n" GET, "", false },
	{ "a chunk of letters", POST CODED "\r\n0aF\r\n", "", false },
	{ "a host in a chunk", POST CODED "\r\n20\r\n" X "\r\n0\r\n\r\n", X, true },
	{ "a size with a sign", POST CODED "\r\n", "+3\r\nabc\r\n", true },
	{ "a size of nothing", POST CODED "\r\n", "\r\n", true },
	{ "a size too long", POST CODED "\r\n", "00000000000000001\r\n", true },
	{ "an extension", POST CODED "\r\n", "3;a=b\r\nabc\r\n", true },
	{ "a line end alone", POST CODED "\r\n", "3\nabc\r\n", true },
	{ "more than the chunk", POST CODED "\r\n3\r\nabc", "d\r\n", true },
	{ "a trailer", POST CODED "\r\n0\r\n", "A: b\r\n\r\n", true },
	{ "both", "", POST "Content-Length: 3\r\n" CODED "\r\nabc", true },
	{ "twice", "", POST CODED CODED "\r\n", true },
	{ "two lengths", "", POST "Content-Length: 3\r\ncontent-length: 3\r\n\r\nabc", true },
	{ "a list of lengths", "", POST "Content-Length: 3, 3\r\n\r\nabc", true },
	{ "a length below zero", "", POST "Content-Length: -1\r\n\r\n", true },
	{ "a length in hex", "", POST "Content-Length: 0x3\r\n\r\n", true },
	{ "no length", "", POST "Content-Length:\r\n\r\n", true },
	{ "a length too long", "", POST "Content-Length: 1000000000000000000\r\n\r\n", true },
	{ "the longest one", POST "Content-Length: 999999999999999999\r\n\r\n", "", false },
	{ "two codings", "", POST "Transfer-Encoding: gzip, chunked\r\n\r\n", true },
	{ "another coding", "", POST "Transfer-Encoding: identity\r\n\r\n", true },
	{ "a coding that is nearly one", "", POST "Transfer-Encoding: \vchunked\r\n\r\n", true },
	{ "in old", "", "POST / HTTP/1.0\r\nHost: a.test\r\n" CODED "\r\n", true },
	{ "a fold", "", POST "A: b\r\n Content-Length: 3\r\n\r\n", true },
	{ "a blank before the colon", "", POST "Content-Length : 3\r\n\r\n", true },
	{ "line ends alone", "", "GET / HTTP/1.1\nHost: b.test\n\n\r\n\r\n", true },
	{ "a line end before", GET, "\r\n" GET, true },
	{ "an upgrade", "GET /" H "Upgrade: websocket\r\n\r\n", X, false },
	{ "another upgrade", "GET /" H "Upgrade: h2c\r\n\r\n" GET, "", false },
	{ "an upgrade that is late", GET "GET /" H "Upgrade: websocket\r\n\r\n", X, true },
	{ "an upgrade with a body", POST "Upgrade: websocket\r\nContent-Length: 1\r\n\r\nx", X,
	  true },
};

/* In pieces of @step bytes. Return: the bytes that went on; *ret_ended: and then no more. */
static size_t feed(const char *text, size_t len, size_t step, bool *ret_ended)
{
	struct requests q = { 0 };
	size_t gone = 0, got;

	*ret_ended = false;
	for (size_t n = step < len ? step : len;; n = n + step < len ? n + step : len) {
		if (!requests_take(&q, "a.test", (const uint8_t *)text + gone, n - gone, &got)) {
			*ret_ended = true;
			return gone;
		}
		if (got > n - gone)
			abort();
		gone += got;
		if (n == len)
			return gone;
	}
}

static void test_rows(struct tap *t)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char text[1024];
		size_t len = strlen(rows[i].goes_on);
		bool ended;

		(void)snprintf(text, sizeof(text), "%s%s", rows[i].goes_on, rows[i].rest);
		for (size_t step = 1; step <= strlen(text); step++) {
			size_t gone = feed(text, strlen(text), step, &ended);

			/* In one piece with what ends it, a request may stay behind too. */
			if (ended == rows[i].ends && (ended ? gone <= len : gone == len) &&
			    (step > 1 || gone == len))
				continue;
			tap_ok(t, false, "%s by %zu: %zu of %zu went on, %s", rows[i].name, step,
			       gone, len, ended ? "the end" : "no end");
			break;
		}
		tap_ok(t, true, "%s", rows[i].name);
	}
}

static void test_long(struct tap *t)
{
	static const char line[] = "GET / HTTP/1.1\r\nX: ";
	static char big[SNIFF_MAX + 64];
	struct requests q = { 0 };
	size_t got = 0, n = strlen(GET);
	bool ok = true;

	memset(big, 'a', sizeof(big));
	memcpy(big, line, sizeof(line) - 1);
	for (size_t k = 1; ok && k < SNIFF_MAX; k += 13)
		ok = requests_take(&q, "a.test", (const uint8_t *)big, k, &got) && got == 0;
	tap_ok(t, ok, "a head that is not whole goes nowhere");
	tap_ok(t, !requests_take(&q, "a.test", (const uint8_t *)big, sizeof(big), &got),
	       "and is not waited for without end");
	q = (struct requests){ 0 };
	tap_ok(t, requests_take(&q, "a.test", (const uint8_t *)GET, n, &got) && got == n,
	       "a head that is (control)");
}

int main(void)
{
	struct tap t = { 0 };

	test_rows(&t);
	test_long(&t);
	return tap_done(&t);
}
