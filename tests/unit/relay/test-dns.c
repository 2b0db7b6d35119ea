/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "relay/dns.h"

#include "base/macro.h"
#include "tap.h"

/* Header: id 0x1234, RD, one question; then what a row says. */
#define HEAD(flags_hi, qd, an, ar) "\x12\x34" flags_hi "\x00\x00" qd "\x00" an "\x00\x00\x00" ar
#define ASK                        HEAD("\x01", "\x01", "\x00", "\x00")
#define ASK_EDNS                   HEAD("\x01", "\x01", "\x00", "\x01")
#define NAME                                                                                       \
	"\x03www\x07"                                                                              \
	"eXample\x03org\x00"
#define A_IN   "\x00\x01\x00\x01"
#define OPT    "\x00\x00\x29\x04\xd0\x00\x00\x00\x00\x00\x00"
#define OPT_V1 "\x00\x00\x29\x04\xd0\x00\x01\x00\x00\x00\x00"

#define ROW(m, p, n, r)                                                                            \
	{                                                                                          \
		(m), sizeof(m) - 1, (p), (n), (r)                                                  \
	}

static const struct {
	const char *msg;
	size_t len;
	enum dns_parsed parsed;
	const char *name;
	unsigned rcode;
} rows[] = {
	ROW(ASK NAME A_IN, DNS_QUESTION, "www.example.org", 0),
	ROW(ASK_EDNS NAME A_IN OPT, DNS_QUESTION, "www.example.org", 0),
	ROW(ASK_EDNS NAME A_IN OPT_V1, DNS_WRONG, NULL, 16),
	ROW(HEAD("\x01", "\x01", "\x00", "\x02") NAME A_IN OPT OPT, DNS_WRONG, NULL, 1),
	ROW(ASK_EDNS NAME A_IN, DNS_WRONG, NULL, 1),
	ROW(ASK NAME "\x00\x01\x00\x03", DNS_WRONG, NULL, 5),
	ROW(HEAD("\x81", "\x01", "\x00", "\x00") NAME A_IN, DNS_DROP, NULL, 0),
	ROW(HEAD("\x21", "\x01", "\x00", "\x00") NAME A_IN, DNS_WRONG, NULL, 4),
	ROW(HEAD("\x01", "\x02", "\x00", "\x00") NAME A_IN NAME A_IN, DNS_WRONG, NULL, 1),
	ROW(HEAD("\x01", "\x00", "\x00", "\x00"), DNS_WRONG, NULL, 1),
	ROW(HEAD("\x01", "\x01", "\x01", "\x00") NAME A_IN, DNS_WRONG, NULL, 1),
	ROW(ASK "\xc0\x0c" A_IN, DNS_WRONG, NULL, 1),
	ROW(ASK "\x03www\xc0\x0c" A_IN, DNS_WRONG, NULL, 1),
	ROW(ASK "\x40"
		"aaaa\x00" A_IN,
	    DNS_WRONG, NULL, 1),
	ROW(ASK "\x03ww", DNS_WRONG, NULL, 1),
	ROW(ASK NAME "\x00\x01", DNS_WRONG, NULL, 1),
	ROW("\x12\x34\x01\x00\x00", DNS_DROP, NULL, 0),
	ROW("", DNS_DROP, NULL, 0),
	/* Names that are no host's: asked for, but of nobody. */
	ROW(ASK "\x00" A_IN, DNS_QUESTION, "", 0),
	ROW(ASK "\x07"
		"evi.org\x00" A_IN,
	    DNS_QUESTION, "", 0),
	ROW(ASK "\x05"
		"evi\x00l\x03org\x00" A_IN,
	    DNS_QUESTION, "", 0),
	ROW(ASK "\x03"
		"a b\x03org\x00" A_IN,
	    DNS_QUESTION, "", 0),
	ROW(ASK "\x03"
		"a*b\x03org\x00" A_IN,
	    DNS_QUESTION, "", 0),
	ROW(ASK "\x01"
		"1\x01"
		"2\x01"
		"3\x01"
		"4\x00" A_IN,
	    DNS_QUESTION, "", 0),
};

static void test_parse(struct tap *t)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct dns_question q;
		enum dns_parsed p = dns_parse((const uint8_t *)rows[i].msg, rows[i].len, &q);

		if (!tap_int(t, p, rows[i].parsed, "what a message is"))
			printf("# row %zu\n", i);
		if (p == DNS_QUESTION)
			tap_str(t, q.name, rows[i].name, "the name");
		if (p == DNS_WRONG)
			tap_int(t, q.rcode, rows[i].rcode, "the error");
	}
}

static void test_pointer(struct tap *t)
{
	static const char msg[] = ASK "\x01"
				      "7\x01"
				      "6\x02"
				      "19\x03"
				      "198\x07in-addr\x04"
				      "arpa\x00"
				      "\x00\x0c\x00\x01";
	struct dns_question q;

	tap_int(t, dns_parse((const uint8_t *)msg, sizeof(msg) - 1, &q), DNS_QUESTION, "PTR");
	tap_ok(t, q.pointer.family == 4 && memcmp(q.pointer.bytes, "\xc6\x13\x06\x07", 4) == 0,
	       "of 198.19.6.7");
}

static unsigned u16(const uint8_t *p)
{
	return (unsigned)p[0] << 8 | p[1];
}

static void test_reply(struct tap *t)
{
	static const char msg[] = ASK_EDNS NAME A_IN OPT;
	static const struct host_addr addr = { { 198, 19, 1, 2 }, 4 };
	static const struct {
		enum dns_answer answer;
		unsigned rcode, an, ns;
	} replies[] = {
		{ DNS_ABSENT, 3, 0, 1 },  { DNS_EMPTY, 0, 0, 1 }, { DNS_ADDRESS, 0, 1, 0 },
		{ DNS_POINTER, 0, 1, 0 }, { DNS_BUSY, 2, 0, 0 },
	};
	char longest[HOSTPAT_NAME_SIZE];
	struct dns_question q;

	memset(longest, 'a', sizeof(longest));
	for (size_t i = 50; i < sizeof(longest); i += 51)
		longest[i] = '.';
	longest[253] = '\0';
	(void)!dns_parse((const uint8_t *)msg, sizeof(msg) - 1, &q);
	for (size_t i = 0; i < ARRAY_SIZE(replies); i++) {
		uint8_t out[DNS_REPLY_MAX];
		size_t n = dns_reply(&q, replies[i].answer, &addr, longest, out);

		tap_ok(t, n <= sizeof(out) && n > 12 && memcmp(out, "\x12\x34\x81", 3) == 0,
		       "reply %zu: %zu bytes", i, n);
		tap_int(t, out[3], 0x80 | replies[i].rcode, "RA and the code");
		tap_int(t, u16(out + 4), 1, "the question");
		tap_ok(t, memcmp(out + 12, msg + 12, sizeof(NAME A_IN) - 1) == 0,
		       "as it was asked, in its own case");
		tap_int(t, u16(out + 6), replies[i].an, "answers");
		tap_int(t, u16(out + 8), replies[i].ns, "authority");
		tap_int(t, u16(out + 10), 1, "EDNS for who spoke it");
		if (replies[i].answer == DNS_ADDRESS)
			tap_ok(t, memmem(out, n, "\x00\x04\xc6\x13\x01\x02", 6) != NULL,
			       "the address");
		else
			tap_ok(t, memmem(out, n, "\xc6\x13\x01\x02", 4) == NULL, "no address");
	}
}

int main(void)
{
	struct tap t = { 0 };

	test_parse(&t);
	test_pointer(&t);
	test_reply(&t);
	return tap_done(&t);
}
