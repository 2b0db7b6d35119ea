/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/hostpat.h"

#include <string.h>

#include "tap.h"

static const struct {
	const char *text;
	const char *name; /* NULL: refused */
} names[] = {
	{ "example.org", "example.org" },
	{ "ExAmPle.ORG.", "example.org" },
	{ "a_b-c.example", "a_b-c.example" },
	{ "localhost", "localhost" },
	{ "xn--bcher-kva.example", "xn--bcher-kva.example" },
	{ "1.2.3.4.in-addr.arpa", "1.2.3.4.in-addr.arpa" },
	{ "", NULL },
	{ ".", NULL },
	{ "example..org", NULL },
	{ ".example.org", NULL },
	{ "example.org..", NULL },
	{ "b\xc3\xbc"
	  "cher.example",
	  NULL },
	{ "exa mple.org", NULL },
	{ "user@example.org", NULL },
	{ "example.org/x", NULL },
	{ "example.org%00", NULL },
	{ "2130706433", NULL },
	{ "127.0.1", NULL },
	{ "0x7f.0x1", NULL },
	{ "example.0x", NULL },
	{ "1.2.3.4.", NULL },
};

static void test_names(struct tap *t)
{
	char name[HOSTPAT_NAME_SIZE];
	char big[300];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *wrong = hostpat_name(names[i].text, strlen(names[i].text), name);

		if (names[i].name == NULL)
			tap_ok(t, wrong != NULL, "name %zu is refused", i);
		else
			tap_ok(t, wrong == NULL && strcmp(name, names[i].name) == 0,
			       "name %zu is '%s'", i, names[i].name);
	}
	tap_ok(t, hostpat_name("exa\0mple.org", 12, name) != NULL, "a NUL is refused");
	memset(big, 'a', sizeof(big));
	tap_ok(t, hostpat_name(big, 63, name) == NULL, "63 bytes are a label");
	tap_ok(t, hostpat_name(big, 64, name) != NULL, "64 bytes are not");
	for (size_t i = 49; i < sizeof(big); i += 50)
		big[i] = '.';
	tap_ok(t, hostpat_name(big, 253, name) == NULL && strlen(name) == 253,
	       "253 bytes are a name");
	tap_ok(t, hostpat_name(big, 254, name) != NULL, "254 bytes are not");
}

static const struct {
	const char *pattern;
	const char *host; /* NULL: the pattern is refused */
	bool match;
} rows[] = {
	{ "example.org", "example.org:443", true },
	{ "example.org", "Example.ORG.:80", true },
	{ "example.org", "example.org", true },
	{ "example.org", "example.org:22", false },
	{ "example.org", "www.example.org:443", false },
	{ "EXAMPLE.org.:443", "example.org:443", true },
	{ "example.org:443", "example.org:80", false },
	{ "example.org:*", "example.org:1", true },
	{ "example.org:80,443,8000-8002", "example.org:8001", true },
	{ "example.org:80,443,8000-8002", "example.org:8003", false },
	{ "*.example.org", "a.b.example.org:443", true },
	{ "*.example.org", "example.org:443", false },
	{ "*.example.org", "badexample.org:443", false },
	{ "*.example.org", "example.org.evil.test:443", false },
	{ "192.0.2.7", "192.0.2.7:443", true },
	{ "192.0.2.7", "[::ffff:192.0.2.7]:443", true },
	{ "192.0.2.0/24:22", "192.0.2.255:22", true },
	{ "192.0.2.0/25:22", "192.0.2.128:22", false },
	{ "0.0.0.0/0:22", "203.0.113.9:22", true },
	{ "0.0.0.0/0:22", "[2001:db8::1]:22", false },
	{ "0.0.0.0/0:22", "example.org:22", false },
	{ "[2001:db8::/33]:443", "[2001:db8:7fff::1]:443", true },
	{ "[2001:db8::/33]:443", "[2001:db8:8000::1]:443", false },
	{ "[2001:db8::1]", "[2001:db8::1]:80", true },
	{ "*:443", "example.org:443", true },
	{ "*:443", "192.0.2.1:443", true },
	{ "*:443", "example.org:444", false },
	{ "", NULL, false },
	{ ":443", NULL, false },
	{ "example.org:", NULL, false },
	{ "example.org:0", NULL, false },
	{ "example.org:65536", NULL, false },
	{ "example.org:0443", NULL, false },
	{ "example.org:9-8", NULL, false },
	{ "example.org:80,", NULL, false },
	{ "example.org:1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17", NULL, false },
	{ "example.org:443/tcp", NULL, false },
	{ "https://example.org", NULL, false },
	{ "ex*mple.org", NULL, false },
	{ "*example.org", NULL, false },
	{ "*.*.example.org", NULL, false },
	{ "**.example.org", NULL, false },
	{ "*.", NULL, false },
	{ "192.0.2.1/24", NULL, false },
	{ "192.0.2.0/33", NULL, false },
	{ "192.0.2", NULL, false },
	{ "192.0.2.01", NULL, false },
	{ "2001:db8::1", NULL, false },
	{ "2001:db8::/32", NULL, false },
	{ "[2001:db8::1", NULL, false },
	{ "[example.org]:443", NULL, false },
	{ "[2001:db8::1]x", NULL, false },
	{ "[fe80::1%eth0]", NULL, false },
};

static void test_rows(struct tap *t)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct host_target host;
		struct hostpat p;
		const char *wrong = hostpat_parse(rows[i].pattern, &p);

		if (rows[i].host == NULL) {
			tap_ok(t, wrong != NULL && p.kind == HOSTPAT_NONE, "'%s' is refused",
			       rows[i].pattern);
			continue;
		}
		tap_ok(t,
		       wrong == NULL && hostpat_target(rows[i].host, &host) == NULL &&
			       hostpat_match(&p, &host) == rows[i].match,
		       "'%s' %s '%s'", rows[i].pattern, rows[i].match ? "matches" : "is not",
		       rows[i].host);
	}
}

static void test_targets(struct tap *t)
{
	static const char *const good[][2] = {
		{ "Example.org.", "example.org:443" },
		{ "192.0.2.1:22", "192.0.2.1:22" },
		{ "[2001:DB8:0::1]:22", "[2001:db8::1]:22" },
		{ "[::ffff:192.0.2.1]", "192.0.2.1:443" },
	};
	static const char *const bad[] = {
		"",           "*",          "*.example.org", "example.org:",      "example.org:0",
		"a:70000",    "192.0.2",    "2001:db8::1",   "[::1]:x",           "[::1",
		"[a.test]:1", "a.test:+80", "a.test: 80",    "http://a.test:443",
	};
	char text[HOSTPAT_TEXT_SIZE];
	struct host_target host;

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		tap_ok(t,
		       hostpat_target(good[i][0], &host) == NULL &&
			       strcmp(hostpat_target_text(&host, text), good[i][1]) == 0,
		       "'%s' is %s", good[i][0], good[i][1]);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		tap_ok(t, hostpat_target(bad[i], &host) != NULL && host.port == 0,
		       "'%s' is no host", bad[i]);
}

static void test_same(struct tap *t)
{
	static const struct {
		const char *a, *b;
		bool same;
	} pairs[] = {
		{ "Example.org.", "example.org:443", true },
		{ "example.org", "example.org:80", false },
		{ "example.org", "example.com", false },
		{ "[::ffff:192.0.2.1]", "192.0.2.1", true },
		{ "192.0.2.1", "192.0.2.2", false },
		{ "192.0.2.1", "[2001:db8::1]", false },
	};
	struct host_target a, b;

	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
		tap_ok(t,
		       hostpat_target(pairs[i].a, &a) == NULL &&
			       hostpat_target(pairs[i].b, &b) == NULL &&
			       hostpat_target_same(&a, &b) == pairs[i].same,
		       "'%s' and '%s'", pairs[i].a, pairs[i].b);
}

static void test_width(struct tap *t)
{
	static const struct {
		const char *pattern;
		bool wide;
	} widths[] = { { "*", true },           { "*:443", false },
		       { "*:*", true },         { "example.org:*", false },
		       { "*.org", true },       { "*.example.org", false },
		       { "example.org", false } };
	struct hostpat none = { 0 };
	struct host_target host = { .name = "example.org", .port = 443 };

	for (size_t i = 0; i < sizeof(widths) / sizeof(widths[0]); i++) {
		struct hostpat p;

		tap_ok(t,
		       hostpat_parse(widths[i].pattern, &p) == NULL &&
			       (hostpat_too_wide(&p) != NULL) == widths[i].wide,
		       "'%s' is %stoo wide", widths[i].pattern, widths[i].wide ? "" : "not ");
	}
	tap_ok(t, !hostpat_match(&none, &host), "zero matches nothing");
}

int main(void)
{
	struct tap t = { 0 };

	test_names(&t);
	test_rows(&t);
	test_targets(&t);
	test_same(&t);
	test_width(&t);
	return tap_done(&t);
}
