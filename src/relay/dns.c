/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "relay/dns.h"

#include <string.h>

#define HEADER_SIZE    12
#define NAME_MAX_WIRE  255
#define LABEL_MAX_WIRE 63

#define FLAG_QR     0x8000
#define FLAG_OPCODE 0x7800
#define FLAG_RD     0x0100
#define FLAG_RA     0x0080

#define CLASS_IN 1
#define TYPE_SOA 6
#define TYPE_OPT 41

#define RCODE_FORMERR  1
#define RCODE_SERVFAIL 2
#define RCODE_NXDOMAIN 3
#define RCODE_NOTIMP   4
#define RCODE_REFUSED  5
#define RCODE_BADVERS  16

#define TTL_SECONDS 60
#define UDP_SIZE    1232
#define EDE_CODE    15 /* the option */
#define EDE_BLOCKED 15 /* its value, RFC 8914 4.16 */

struct reader {
	const uint8_t *p;
	size_t len;
	size_t at;
};

static bool take_u16(struct reader *r, uint16_t *ret)
{
	if (r->len - r->at < 2)
		return false;
	*ret = (uint16_t)(r->p[r->at] << 8 | r->p[r->at + 1]);
	r->at += 2;
	return true;
}

static bool skip(struct reader *r, size_t n)
{
	if (r->len - r->at < n)
		return false;
	r->at += n;
	return true;
}

/* The labels of a name, joined with dots. @ret_text is cut off at a byte that no host name has: a
 * dot or a NUL in a label would make another name of it. */
static bool take_name(struct reader *r, char text[NAME_MAX_WIRE + 1], bool *ret_plain)
{
	size_t start = r->at;
	size_t n = 0;

	*ret_plain = true;
	for (;;) {
		uint8_t label;

		if (r->at >= r->len)
			return false;
		label = r->p[r->at++];
		/* A pointer has nothing before it to point to. */
		if (label > LABEL_MAX_WIRE || r->len - r->at < label ||
		    r->at + label - start > NAME_MAX_WIRE)
			return false;
		if (label == 0)
			break;
		if (n > 0)
			text[n++] = '.';
		for (size_t i = 0; i < label; i++) {
			uint8_t c = r->p[r->at + i];

			*ret_plain = *ret_plain && c != '.' && c != '\0';
			text[n++] = (char)c;
		}
		r->at += label;
	}
	text[n] = '\0';
	return true;
}

/* d.c.b.a.in-addr.arpa */
static void read_pointer(struct dns_question *q)
{
	static const char zone[] = ".in-addr.arpa";
	struct host_addr back = { 0 };
	size_t len = strlen(q->name);
	size_t digits;

	if (q->type != DNS_TYPE_PTR || len < sizeof(zone) ||
	    strcmp(q->name + len - (sizeof(zone) - 1), zone) != 0)
		return;
	digits = len - (sizeof(zone) - 1);
	if (!hostpat_addr(q->name, digits, &back) || back.family != 4)
		return;
	q->pointer.family = 4;
	for (size_t i = 0; i < 4; i++)
		q->pointer.bytes[i] = back.bytes[3 - i];
}

static bool read_question(struct reader *r, struct dns_question *q, uint16_t *ret_class)
{
	char text[NAME_MAX_WIRE + 1];
	size_t start = r->at;
	bool plain;

	if (!take_name(r, text, &plain) || !take_u16(r, &q->type) || !take_u16(r, ret_class))
		return false;
	q->section = r->p + start;
	q->section_len = r->at - start;
	q->is_root = text[0] == '\0' && plain;
	if (!plain || hostpat_name(text, strlen(text), q->name) != NULL)
		q->name[0] = '\0';
	read_pointer(q);
	return true;
}

/* Additional records: the first OPT counts. */
static bool read_additional(struct reader *r, unsigned n, struct dns_question *q)
{
	for (unsigned i = 0; i < n; i++) {
		char text[NAME_MAX_WIRE + 1];
		uint16_t type, size, high, low, len;
		bool plain;

		if (!take_name(r, text, &plain) || !take_u16(r, &type) || !take_u16(r, &size) ||
		    !take_u16(r, &high) || !take_u16(r, &low) || !take_u16(r, &len) ||
		    !skip(r, len))
			return false;
		if (type != TYPE_OPT)
			continue;
		if (q->has_opt)
			return false;
		q->has_opt = true;
		if ((high & 0xff) != 0)
			q->rcode = RCODE_BADVERS;
	}
	return true;
}

static enum dns_parsed wrong(struct dns_question *q, uint16_t rcode)
{
	q->rcode = rcode;
	return DNS_WRONG;
}

enum dns_parsed dns_parse(const uint8_t *msg, size_t len, struct dns_question *ret)
{
	struct reader r = { .p = msg, .len = len };
	struct dns_question q = { 0 };
	uint16_t count[4];
	uint16_t class;

	*ret = q;
	if (!take_u16(&r, &q.id) || !take_u16(&r, &q.flags))
		return DNS_DROP;
	for (size_t i = 0; i < 4; i++) {
		if (!take_u16(&r, &count[i]))
			return DNS_DROP;
	}
	if ((q.flags & FLAG_QR) != 0)
		return DNS_DROP;
	*ret = q;
	if ((q.flags & FLAG_OPCODE) != 0)
		return wrong(ret, RCODE_NOTIMP);
	if (count[0] != 1 || count[1] != 0 || count[2] != 0 || !read_question(&r, &q, &class) ||
	    !read_additional(&r, count[3], &q))
		return wrong(ret, RCODE_FORMERR);
	*ret = q;
	if (q.rcode != 0)
		return DNS_WRONG;
	return class == CLASS_IN ? DNS_QUESTION : wrong(ret, RCODE_REFUSED);
}

/* --- answers --- */

struct writer {
	uint8_t *p;
	size_t n;
};

static void put_u16(struct writer *w, unsigned v)
{
	w->p[w->n++] = (uint8_t)(v >> 8);
	w->p[w->n++] = (uint8_t)v;
}

static void put_u32(struct writer *w, uint32_t v)
{
	put_u16(w, v >> 16);
	put_u16(w, v & 0xffff);
}

static void put_bytes(struct writer *w, const void *p, size_t n)
{
	memcpy(w->p + w->n, p, n);
	w->n += n;
}

static void put_name(struct writer *w, const char *name)
{
	while (*name != '\0') {
		size_t n = strcspn(name, ".");

		w->p[w->n++] = (uint8_t)n;
		put_bytes(w, name, n);
		name += n;
		name += *name == '.';
	}
	w->p[w->n++] = 0;
}

static void put_record(struct writer *w, unsigned type)
{
	put_u16(w, 0xc000 | HEADER_SIZE); /* the name of the question */
	put_u16(w, type);
	put_u16(w, CLASS_IN);
	put_u32(w, TTL_SECONDS);
}

/* Of the root, so that an empty answer is known to be final and for how long. */
static void put_soa(struct writer *w)
{
	w->p[w->n++] = 0;
	put_u16(w, TYPE_SOA);
	put_u16(w, CLASS_IN);
	put_u32(w, TTL_SECONDS);
	put_u16(w, 22);
	w->p[w->n++] = 0;
	w->p[w->n++] = 0;
	for (size_t i = 0; i < 5; i++)
		put_u32(w, TTL_SECONDS);
}

static void put_opt(struct writer *w, unsigned rcode, bool blocked)
{
	static const char text[] = "blocked by policy";
	const size_t len = sizeof(text) - 1;

	w->p[w->n++] = 0;
	put_u16(w, TYPE_OPT);
	put_u16(w, UDP_SIZE);
	put_u32(w, (uint32_t)(rcode >> 4) << 24);
	put_u16(w, blocked ? (unsigned)(6 + len) : 0);
	if (!blocked)
		return;
	put_u16(w, EDE_CODE);
	put_u16(w, (unsigned)(2 + len));
	put_u16(w, EDE_BLOCKED);
	put_bytes(w, text, len);
}

static unsigned answer_rcode(const struct dns_question *q, enum dns_answer answer)
{
	switch (answer) {
	case DNS_ABSENT:
		return RCODE_NXDOMAIN;
	case DNS_BUSY:
		return RCODE_SERVFAIL;
	case DNS_ERROR:
		return q->rcode;
	case DNS_EMPTY:
	case DNS_ADDRESS:
	case DNS_POINTER:
		break;
	}
	return 0;
}

size_t dns_reply(const struct dns_question *q, enum dns_answer answer, const struct host_addr *addr,
		 const char *pointer, uint8_t out[DNS_REPLY_MAX])
{
	struct writer w = { .p = out };
	bool has_record = answer == DNS_ADDRESS || answer == DNS_POINTER;
	bool has_soa = answer == DNS_ABSENT || answer == DNS_EMPTY;
	unsigned rcode = answer_rcode(q, answer);
	size_t at;

	put_u16(&w, q->id);
	put_u16(&w, FLAG_QR | FLAG_RA | (q->flags & (FLAG_OPCODE | FLAG_RD)) | (rcode & 15));
	put_u16(&w, q->section != NULL);
	put_u16(&w, has_record);
	put_u16(&w, has_soa);
	put_u16(&w, q->has_opt);
	if (q->section != NULL)
		put_bytes(&w, q->section, q->section_len);
	if (answer == DNS_ADDRESS) {
		put_record(&w, DNS_TYPE_A);
		put_u16(&w, 4);
		put_bytes(&w, addr->bytes, 4);
	}
	if (answer == DNS_POINTER) {
		put_record(&w, DNS_TYPE_PTR);
		at = w.n;
		put_u16(&w, 0);
		put_name(&w, pointer);
		out[at] = (uint8_t)((w.n - at - 2) >> 8);
		out[at + 1] = (uint8_t)(w.n - at - 2);
	}
	if (has_soa)
		put_soa(&w);
	if (q->has_opt)
		put_opt(&w, rcode, answer == DNS_ABSENT);
	return w.n;
}
