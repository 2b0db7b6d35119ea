/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* responder - the resolver that programs see. It answers from the rules alone: nothing that a
 * program asks for goes anywhere from here. */
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "relay/dns.h"
#include "relay/internal.h"

#define UDP_TURN    512 /* questions, before anything else gets its turn */
#define UDP_MAX     4096
#define DNS_IDLE_MS 10000

static void report_name(struct relay *r, const struct dns_question *q, enum relay_why why)
{
	struct relay_report rep = { .kind = RELAY_REPORT_NAME, .why = why, .count = q->type };

	memcpy(rep.target.name, q->name, sizeof(rep.target.name));
	relay_report(r, &rep);
}

/* A name that may be connected to, on some port. */
static enum dns_answer answer_name(struct relay *r, const struct dns_question *q,
				   struct host_addr *addr)
{
	struct connect_answer may;

	if (q->name[0] == '\0') {
		report_name(r, q, RELAY_WHY_NO_NAME);
		return DNS_ABSENT;
	}
	connect_decide_name(&r->rules, q->name, r->ports, r->n_ports, &may);
	if (may.verdict != PROFILE_ALLOW) {
		report_name(r, q, conn_why(&may));
		return DNS_ABSENT;
	}
	if (q->type != DNS_TYPE_A && q->type != DNS_TYPE_ANY)
		return DNS_EMPTY;
	if (!names_add(&r->names, q->name, addr)) {
		report_name(r, q, RELAY_WHY_FULL);
		return DNS_BUSY;
	}
	report_name(r, q, RELAY_WHY_ALLOWED);
	return DNS_ADDRESS;
}

/* Return: the length of the answer, 0 for none. */
static size_t answer(struct relay *r, const uint8_t *msg, size_t len, uint8_t out[DNS_REPLY_MAX])
{
	struct dns_question q;
	struct host_addr addr = { 0 };
	const struct name *name;
	bool pool;

	switch (dns_parse(msg, len, &q)) {
	case DNS_DROP:
		return 0;
	case DNS_WRONG:
		return dns_reply(&q, DNS_ERROR, NULL, NULL, out);
	case DNS_QUESTION:
		break;
	}
	if (q.is_root)
		return dns_reply(&q, DNS_EMPTY, NULL, NULL, out);
	name = q.pointer.family != 0 ? names_find(&r->names, &q.pointer, &pool) : NULL;
	if (name != NULL)
		return dns_reply(&q, DNS_POINTER, NULL, name->text, out);
	return dns_reply(&q, answer_name(r, &q, &addr), &addr, NULL, out);
}

void responder_udp(struct relay *r)
{
	uint8_t msg[UDP_MAX];
	uint8_t out[DNS_REPLY_MAX];

	for (int i = 0; i < UDP_TURN; i++) {
		struct sockaddr_in from;
		socklen_t from_len = sizeof(from);
		ssize_t n = recvfrom(r->dns_udp, msg, sizeof(msg), MSG_DONTWAIT,
				     (struct sockaddr *)&from, &from_len);
		size_t len;

		if (n < 0)
			return;
		len = answer(r, msg, (size_t)n, out);
		/* Who does not take the answer asks again. */
		if (len > 0)
			(void)sendto(r->dns_udp, out, len, MSG_DONTWAIT | MSG_NOSIGNAL,
				     (struct sockaddr *)&from, from_len);
	}
}

void responder_accept(struct relay *r)
{
	int fd = accept4(r->dns_tcp, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	uint32_t oldest = 0;

	if (fd < 0) {
		if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
			relay_rest(r);
		return;
	}
	for (uint32_t i = 1; i < DNS_CONNS; i++) {
		if (r->dns[oldest].fd >= 0 &&
		    (r->dns[i].fd < 0 || r->dns[i].deadline_ms < r->dns[oldest].deadline_ms))
			oldest = i;
	}
	/* All taken: who was silent for the longest time goes. */
	fd_close(&r->dns[oldest].fd);
	r->dns[oldest].fd = fd;
	r->dns[oldest].len = 0;
	r->dns[oldest].deadline_ms = r->now_ms + DNS_IDLE_MS;
	if (relay_watch(r, fd, EPOLLIN, RELAY_TAG(TAG_DNS_CONN, oldest)) != 0)
		fd_close(&r->dns[oldest].fd);
}

/* The questions that are there. Return: false when the connection must end. */
static bool answer_stream(struct relay *r, struct dns_conn *c)
{
	uint8_t out[2 + DNS_REPLY_MAX];

	while (c->len >= 2) {
		size_t want = (size_t)c->buf[0] << 8 | c->buf[1];
		size_t len;

		if (want > DNS_BUF - 2)
			return false;
		if (c->len - 2 < want)
			return true;
		len = answer(r, c->buf + 2, want, out + 2);
		if (len == 0)
			return false;
		out[0] = (uint8_t)(len >> 8);
		out[1] = (uint8_t)len;
		/* A client that does not read its answers gets no further ones. */
		if (send(c->fd, out, len + 2, MSG_DONTWAIT | MSG_NOSIGNAL) != (ssize_t)(len + 2))
			return false;
		c->len -= want + 2;
		memmove(c->buf, c->buf + want + 2, c->len);
	}
	return true;
}

void responder_conn(struct relay *r, uint32_t i)
{
	struct dns_conn *c = &r->dns[i];
	ssize_t n;

	if (c->fd < 0)
		return;
	n = recv(c->fd, c->buf + c->len, sizeof(c->buf) - c->len, MSG_DONTWAIT);
	if (n < 0 && errno == EAGAIN)
		return;
	if (n > 0) {
		c->len += (size_t)n;
		c->deadline_ms = r->now_ms + DNS_IDLE_MS;
	}
	if (n <= 0 || !answer_stream(r, c))
		fd_close(&c->fd);
}

void responder_tick(struct relay *r)
{
	for (uint32_t i = 0; i < DNS_CONNS; i++) {
		if (r->dns[i].fd >= 0 && r->now_ms >= r->dns[i].deadline_ms)
			fd_close(&r->dns[i].fd);
	}
}
