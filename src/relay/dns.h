/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* dns - the messages of the resolver that a sandbox sees: RFC 1035, 2308, 6891, 8914.
 *
 * Only questions are parsed, and answers are made of the question's own bytes. Nothing is asked
 * of anybody. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hostpat.h"

#define DNS_REPLY_MAX 768 /* of any answer made here */

enum dns_type {
	DNS_TYPE_A = 1,
	DNS_TYPE_PTR = 12,
	DNS_TYPE_ANY = 255,
};

enum dns_parsed {
	DNS_DROP = 0, /* no question at all: not worth an answer */
	DNS_WRONG,    /* answered with the error that the question earned, whatever the policy */
	DNS_QUESTION,
};

struct dns_question {
	uint16_t id;
	uint16_t flags;         /* of the question */
	uint16_t type;          /* any number */
	const uint8_t *section; /* the question, borrowed; NULL: not to be repeated */
	size_t section_len;
	uint16_t rcode;               /* WRONG: extended response code */
	bool has_opt;                 /* it spoke EDNS: so does the answer */
	bool is_root;                 /* the name is "." */
	char name[HOSTPAT_NAME_SIZE]; /* canonical; "" for one that is no name of a host */
	struct host_addr pointer;     /* PTR of an IPv4 address: that; else family 0 */
};

/* dns_parse() - one message of @len bytes. */
enum dns_parsed dns_parse(const uint8_t *msg, size_t len, struct dns_question *ret);

enum dns_answer {
	DNS_ABSENT = 0, /* NXDOMAIN: no such name, as far as the sandbox goes */
	DNS_EMPTY,      /* the name is there, but nothing of this type */
	DNS_ADDRESS,
	DNS_POINTER,
	DNS_BUSY,  /* SERVFAIL */
	DNS_ERROR, /* question.rcode */
};

/* dns_reply() - @addr: ADDRESS, IPv4. @pointer: POINTER, a canonical name.
 * Return: the length of what is in @out. */
size_t dns_reply(const struct dns_question *q, enum dns_answer answer, const struct host_addr *addr,
		 const char *pointer, uint8_t out[DNS_REPLY_MAX]);
