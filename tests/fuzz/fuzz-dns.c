/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Any bytes as a message to the resolver: what is asked for is a canonical name or none, each
 * answer fits and is none to itself, and no crash. And the responder that is asked gives an address
 * to nothing but names that the rules allow, and asks nobody. */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "relay-hand.h"
#include "relay/dns.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void answer(const struct dns_question *q, enum dns_answer kind)
{
	static const struct host_addr addr = { { 198, 19, 0, 1 }, 4 };
	struct dns_question again;
	uint8_t out[DNS_REPLY_MAX];
	size_t n = dns_reply(q, kind, &addr, "a.example.org", out);

	/* An answer must not be taken for a question. */
	if (n < 12 || n > sizeof(out) || dns_parse(out, n, &again) != DNS_DROP)
		abort();
}

static void respond(const uint8_t *data, size_t size)
{
	struct hand *h = hand();
	uint8_t reply[DNS_REPLY_MAX + 1];
	ssize_t n;

	if (size > 4096 || send(h->client, data, size, 0) != (ssize_t)size)
		return;
	responder_udp(&h->relay);
	n = recv(h->client, reply, sizeof(reply), MSG_DONTWAIT);
	if (n > DNS_REPLY_MAX)
		abort();
	if (recv(h->resolver, reply, sizeof(reply), MSG_DONTWAIT) >= 0)
		abort();
	hand_names(h);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct dns_question q;
	char name[HOSTPAT_NAME_SIZE];

	respond(data, size);
	switch (dns_parse(data, size, &q)) {
	case DNS_DROP:
		return 0;
	case DNS_WRONG:
		if (q.rcode == 0)
			abort();
		answer(&q, DNS_ERROR);
		return 0;
	case DNS_QUESTION:
		break;
	}
	if (q.name[0] != '\0' &&
	    (hostpat_name(q.name, strlen(q.name), name) != NULL || strcmp(q.name, name) != 0))
		abort();
	answer(&q, DNS_ABSENT);
	answer(&q, DNS_EMPTY);
	answer(&q, DNS_ADDRESS);
	answer(&q, DNS_POINTER);
	answer(&q, DNS_BUSY);
	return 0;
}
