/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "relay/sniff.h"

#include "base/macro.h"
#include "tap.h"

struct hello {
	uint8_t p[SNIFF_MAX * 2];
	size_t n;
};

static void put(struct hello *h, const void *p, size_t n)
{
	memcpy(h->p + h->n, p, n);
	h->n += n;
}

static void put_u16(struct hello *h, size_t v)
{
	h->p[h->n++] = (uint8_t)(v >> 8);
	h->p[h->n++] = (uint8_t)v;
}

static void put_name(struct hello *h, const char *name)
{
	size_t n = strlen(name);

	put_u16(h, 0);
	put_u16(h, n + 5);
	put_u16(h, n + 3);
	h->p[h->n++] = 0;
	put_u16(h, n);
	put(h, name, n);
}

/* The handshake message with these server names and @padding bytes more. */
static void make_message(struct hello *h, const char *const *names, size_t n_names, size_t padding)
{
	uint8_t random[32] = { 0 };
	size_t extensions;

	h->n = 0;
	put(h, "\x01\x00\x00\x00\x03\x03", 6);
	put(h, random, sizeof(random));
	put(h, "\x00\x00\x02\x13\x01\x01\x00", 7);
	extensions = h->n;
	put_u16(h, 0);
	put(h, "\x00\x2b\x00\x03\x02\x03\x04", 7);
	for (size_t i = 0; i < n_names; i++)
		put_name(h, names[i]);
	put_u16(h, 21);
	put_u16(h, padding);
	memset(h->p + h->n, 0, padding);
	h->n += padding;
	h->p[extensions] = (uint8_t)((h->n - extensions - 2) >> 8);
	h->p[extensions + 1] = (uint8_t)(h->n - extensions - 2);
	h->p[2] = (uint8_t)((h->n - 4) >> 8);
	h->p[3] = (uint8_t)(h->n - 4);
}

/* Cut into records of @size bytes. */
static void make_records(const struct hello *msg, size_t size, struct hello *ret)
{
	ret->n = 0;
	for (size_t at = 0; at < msg->n; at += size) {
		size_t n = msg->n - at < size ? msg->n - at : size;

		put(ret, "\x16\x03\x01", 3);
		put_u16(ret, n);
		put(ret, msg->p + at, n);
	}
}

static void test_hello(struct tap *t)
{
	static const char *const one[] = { "WWW.Example.ORG" };
	static const char *const two[] = { "www.example.org", "www.example.org" };
	static const char *const bad[] = { "www_example/org" };
	static const char *const number[] = { "192.0.2.1" };
	static const size_t sizes[] = { 1, 37, 16384 };
	struct hello msg, h;
	struct host_target got;
	size_t early = 0;

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		make_message(&msg, one, 1, i == 2 ? 12000 : 200);
		make_records(&msg, sizes[i], &h);
		tap_int(t, sniff_hello(h.p, h.n, &got), SNIFF_NAME, "records");
		tap_str(t, got.name, "www.example.org", "the name");
		early = 0;
		for (size_t n = 0; n < h.n; n++)
			early += sniff_hello(h.p, n, &got) != SNIFF_MORE;
		tap_int(t, (long long)early, 0, "a beginning is not enough");
	}
	make_message(&msg, one, 1, 8);
	make_records(&msg, 16384, &h);
	put(&h, "\x17garbage", 8);
	tap_int(t, sniff_hello(h.p, h.n, &got), SNIFF_NAME, "what follows does not matter");
	make_message(&msg, one, 0, 8);
	make_records(&msg, 16384, &h);
	tap_int(t, sniff_hello(h.p, h.n, &got), SNIFF_NONE, "no server name");
	make_message(&msg, two, 2, 8);
	make_records(&msg, 16384, &h);
	tap_int(t, sniff_hello(h.p, h.n, &got), SNIFF_WRONG, "two server names");
	tap_str(t, got.name, "", "and none is told");
	make_message(&msg, bad, 1, 8);
	make_records(&msg, 16384, &h);
	tap_int(t, sniff_hello(h.p, h.n, &got), SNIFF_WRONG, "no name of a host");
	make_message(&msg, number, 1, 8);
	make_records(&msg, 16384, &h);
	tap_int(t, sniff_hello(h.p, h.n, &got), SNIFF_WRONG, "an address");
	make_message(&msg, one, 1, 8);
	make_records(&msg, 16384, &h);
	h.p[5] = 2;
	tap_int(t, sniff_hello(h.p, h.n, &got), SNIFF_WRONG, "not a ClientHello");
	memset(h.p, 0x16, sizeof(h.p));
	tap_int(t, sniff_hello(h.p, 6, &got), SNIFF_WRONG, "not this version");
	tap_int(t, sniff_hello((const uint8_t *)"SSH-2.0-x\r\n", 11, &got), SNIFF_WRONG, "ssh");
	tap_int(t, sniff_hello((const uint8_t *)"G", 1, &got), SNIFF_WRONG, "one wrong byte");
	make_message(&msg, one, 1, 8000);
	make_records(&msg, 1, &h);
	tap_int(t, sniff_hello(h.p, SNIFF_MAX, &got), SNIFF_WRONG, "without end");
}

#define GET "GET / HTTP/1.1\r\n"

static const struct {
	const char *head;
	enum sniff want;
	const char *name;
} heads[] = {
	{ GET "Host: Example.org\r\n\r\n", SNIFF_NAME, "example.org" },
	{ GET "Accept: */*\r\nhOST:example.org:80 \r\nX: y\r\n\r\nbody", SNIFF_NAME,
	  "example.org" },
	{ "POST /x?y=http://evil.test/ HTTP/1.0\r\nHost: example.org.\r\n\r\n", SNIFF_NAME,
	  "example.org" },
	{ "GET http://example.org/x HTTP/1.1\r\nHost: example.org\r\n\r\n", SNIFF_NAME,
	  "example.org" },
	{ "OPTIONS * HTTP/1.1\r\nHost: example.org\r\n\r\n", SNIFF_NAME, "example.org" },
	{ "G", SNIFF_MORE, "" },
	{ GET, SNIFF_MORE, "" },
	{ GET "Host: example.org\r\n", SNIFF_MORE, "" },
	{ "GET http://evil.test/x HTTP/1.1\r\nHost: example.org\r\n\r\n", SNIFF_WRONG, "" },
	{ "GET http://evil.test@example.org/ HTTP/1.1\r\nHost: example.org\r\n\r\n", SNIFF_WRONG,
	  "" },
	{ "GET ftp://example.org/ HTTP/1.1\r\nHost: example.org\r\n\r\n", SNIFF_WRONG, "" },
	{ "CONNECT example.org:443 HTTP/1.1\r\nHost: example.org\r\n\r\n", SNIFF_WRONG, "" },
	{ GET "\r\n", SNIFF_WRONG, "" },
	{ GET "Host: a.test\r\nHost: a.test\r\n\r\n", SNIFF_WRONG, "" },
	{ GET "Host : a.test\r\n\r\n", SNIFF_WRONG, "" },
	{ GET "Host: a.test\r\n b.test\r\n\r\n", SNIFF_WRONG, "" },
	{ GET "Host: a.test\nHost: b.test\r\n\r\n", SNIFF_WRONG, "" },
	{ GET "Host: a.test, b.test\r\n\r\n", SNIFF_WRONG, "" },
	{ GET "Host: *.test\r\n\r\n", SNIFF_WRONG, "" },
	{ GET "Host:\r\n\r\n", SNIFF_WRONG, "" },
	{ "GET /\r\nHost: a.test\r\n\r\n", SNIFF_WRONG, "" },
	{ "GET / x HTTP/1.1\r\nHost: a.test\r\n\r\n", SNIFF_WRONG, "" },
	{ "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", SNIFF_WRONG, "" },
	{ "SSH-2.0-x\r\n", SNIFF_WRONG, "" },
	{ "\x16\x03\x01", SNIFF_WRONG, "" },
};

static void test_head(struct tap *t)
{
	struct host_target got;
	char big[SNIFF_MAX + 1];

	for (size_t i = 0; i < ARRAY_SIZE(heads); i++) {
		enum sniff r =
			sniff_head((const uint8_t *)heads[i].head, strlen(heads[i].head), &got);

		if (!tap_int(t, r, heads[i].want, "a head"))
			printf("# row %zu\n", i);
		tap_str(t, got.name, heads[i].name, "its host");
	}
	tap_int(t, sniff_head((const uint8_t *)GET "Host: a\0.test\r\n\r\n", 34, &got), SNIFF_WRONG,
		"a NUL");
	tap_int(t, sniff_head((const uint8_t *)GET "Host: 192.0.2.1:80\r\n\r\n", 38, &got),
		SNIFF_NAME, "an address");
	tap_ok(t, got.addr.family == 4 && got.name[0] == '\0', "is one");
	memset(big, 'a', sizeof(big));
	memcpy(big, "GET /", 5);
	tap_int(t, sniff_head((const uint8_t *)big, SNIFF_MAX - 1, &got), SNIFF_MORE, "not yet");
	tap_int(t, sniff_head((const uint8_t *)big, SNIFF_MAX, &got), SNIFF_WRONG, "without end");
}

int main(void)
{
	struct tap t = { 0 };

	test_hello(&t);
	test_head(&t);
	return tap_done(&t);
}
