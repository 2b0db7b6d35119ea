/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* serve - the loop of the relay, the sockets that it is given, and what it reports. */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>

#include "base/fd.h"
#include "plan/plan.h"
#include "relay/internal.h"
#include "relay/publish.h"
#include "sys/net.h"

#define EVENTS_MAX      256
#define TICK_MS         50
#define TICK_SLOW_MS    1000
#define CLOSING_MS      500
#define REPORTS_AT_ONCE 256
#define REPORTS_MS      20 /* for one more */
#define SKIPPED_MS      10000
#define REST_MS         200

int relay_watch(struct relay *r, int fd, uint32_t events, uint64_t data)
{
	struct epoll_event ev = { .events = events, .data.u64 = data };

	return epoll_ctl(r->epoll, EPOLL_CTL_ADD, fd, &ev);
}

static uint64_t clock_ms(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

/* --- reports --- */

static bool report_send(struct relay *r, const struct relay_report *rep)
{
	return send(r->report, rep, sizeof(*rep), MSG_DONTWAIT | MSG_NOSIGNAL) ==
	       (ssize_t)sizeof(*rep);
}

static void report_skipped(struct relay *r)
{
	struct relay_report rep = { .kind = RELAY_REPORT_SKIPPED, .count = r->skipped };

	if (r->skipped > 0 && report_send(r, &rep))
		r->skipped = 0;
	r->skipped_ms = r->now_ms;
}

/* What was refused, of which a program can make any number, leaves the others their records. */
static struct relay_bucket *bucket_of(struct relay *r, const struct relay_report *rep)
{
	return &r->buckets[rep->kind == RELAY_REPORT_CONN && rep->up + rep->down > 0];
}

void relay_report(struct relay *r, const struct relay_report *rep)
{
	struct relay_bucket *b = bucket_of(r, rep);
	uint64_t more = (r->now_ms - b->ms) / REPORTS_MS;

	if (more > 0) {
		more += b->tokens;
		b->tokens = more > REPORTS_AT_ONCE ? REPORTS_AT_ONCE : (uint32_t)more;
		b->ms = r->now_ms;
	}
	if (b->tokens == 0) {
		r->skipped++;
		return;
	}
	if (report_send(r, rep))
		b->tokens--;
	else
		r->skipped++;
}

/* --- what the sandbox hands over --- */

struct handed {
	int fds[SYS_FDS_MAX];
	uint32_t n;
};

/* Return: 1 with a packet, 0 for none yet, -1 at the end or for anything that is no packet. */
static int handoff_recv(int fd, struct plan_net_packet *packet, struct handed *h)
{
	union {
		struct cmsghdr head;
		unsigned char space[CMSG_SPACE(SYS_FDS_MAX * sizeof(int))];
	} control;
	struct iovec iov = { .iov_base = packet, .iov_len = sizeof(*packet) };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = &control,
			      .msg_controllen = sizeof(control) };
	ssize_t n = recvmsg(fd, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

	h->n = 0;
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -1;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&msg); c != NULL; c = CMSG_NXTHDR(&msg, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		h->n = (uint32_t)((c->cmsg_len - CMSG_LEN(0)) / sizeof(int));
		memcpy(h->fds, CMSG_DATA(c), h->n * sizeof(int));
	}
	return n == (ssize_t)sizeof(*packet) && (msg.msg_flags & (MSG_CTRUNC | MSG_TRUNC)) == 0
		       ? 1
		       : -1;
}

static bool take_packet(struct relay *r, const struct plan_net_packet *packet,
			const struct handed *h)
{
	if (packet->kind == PLAN_NET_PUBLISHED) {
		if (h->n != r->config->n_published || r->n_published > 0)
			return false;
		while (r->n_published < h->n) {
			uint32_t k = r->n_published++;

			r->published[k] = h->fds[k];
			if (relay_watch(r, h->fds[k], 0, RELAY_TAG(TAG_PUBLISHED, k)) != 0)
				return false;
		}
		return true;
	}
	if (packet->kind == PLAN_NET_RESOLVER) {
		/* The third is the sandbox's namespace: held until we end, and never entered by us.
		 */
		if (h->n != 3 || r->dns_udp >= 0)
			return false;
		r->dns_udp = h->fds[0];
		r->dns_tcp = h->fds[1];
		r->topology = packet->topology;
		return (r->dialer < 0 || publish_enter(r, h->fds[2])) &&
		       relay_watch(r, r->dns_udp, EPOLLIN, RELAY_TAG(TAG_DNS_UDP, 0)) == 0 &&
		       relay_watch(r, r->dns_tcp, EPOLLIN, RELAY_TAG(TAG_DNS_TCP, 0)) == 0;
	}
	if (packet->kind == PLAN_NET_END) {
		r->handed = r->dns_udp >= 0 &&
			    r->n_listeners >= r->config->n_ports + r->config->any_port &&
			    r->n_published == r->config->n_published;
		return r->handed;
	}
	if (packet->kind != PLAN_NET_LISTENERS || h->n == 0 ||
	    h->n > relay_listeners(r->config) - r->n_listeners)
		return false;
	for (uint32_t i = 0; i < h->n; i++) {
		r->listeners[r->n_listeners] = h->fds[i];
		if (relay_watch(r, h->fds[i], EPOLLIN, RELAY_TAG(TAG_LISTENER, r->n_listeners)) !=
		    0)
			return false;
		r->n_listeners++;
	}
	return true;
}

void relay_ready(struct relay *r)
{
	const struct relay_report ready = { .kind = RELAY_REPORT_READY, .topology = r->topology };

	if (r->handoff >= 0 || !r->resolver_ready || (r->dialer >= 0 && !r->dialer_ready))
		return;
	r->accepting = true;
	publish_arm(r, true);
	if (!report_send(r, &ready))
		r->closing = true;
}

static void handoff_event(struct relay *r)
{
	struct plan_net_packet packet;
	struct handed h;
	int got;

	while ((got = handoff_recv(r->handoff, &packet, &h)) == 1) {
		if (!take_packet(r, &packet, &h)) {
			got = -1;
			break;
		}
		if (!r->handed)
			continue;
		/* By hand: the sandbox's init may still hold the same end of it. */
		(void)epoll_ctl(r->epoll, EPOLL_CTL_DEL, r->handoff, NULL);
		fd_close(&r->handoff);
		relay_ready(r);
		return;
	}
	if (got < 0)
		r->closing = true;
}

/* --- the loop --- */

static void dispatch(struct relay *r, uint64_t data, uint32_t events)
{
	uint32_t i = (uint32_t)data;

	switch ((unsigned)(data >> 32)) {
	case TAG_HANDOFF:
		handoff_event(r);
		break;
	case TAG_REPORT: /* nothing is ever sent here: the supervisor's end, or that of the run */
		r->closing = true;
		break;
	case TAG_RESOLVER:
		dial_answer(r);
		break;
	case TAG_LISTENER:
		conn_accept(r, r->listeners[i], 0);
		break;
	case TAG_DIALER:
		publish_answer(r);
		break;
	case TAG_PUBLISHED:
		conn_accept(r, r->published[i], r->inside[i]);
		break;
	case TAG_DNS_UDP:
		responder_udp(r);
		break;
	case TAG_DNS_TCP:
		responder_accept(r);
		break;
	case TAG_DNS_CONN:
		responder_conn(r, i);
		break;
	case TAG_CLIENT:
		conn_event(r, i, SIDE_CLIENT, events);
		break;
	case TAG_SERVER:
		conn_event(r, i, SIDE_SERVER, events);
		break;
	default:
		dial_event(r, i, (unsigned)(data >> 32) - TAG_ATTEMPT, events);
		break;
	}
}

static void go_on(struct relay *r)
{
	uint32_t n = r->n_again;

	for (uint32_t k = 0; k < n; k++) {
		r->conns[r->again[k]].queued = false;
		conn_turn(r, r->again[k]);
	}
	r->n_again -= n;
	memmove(r->again, r->again + n, r->n_again * sizeof(*r->again));
}

void relay_rest(struct relay *r)
{
	struct epoll_event ev = { .data.u64 = RELAY_TAG(TAG_DNS_TCP, 0) };

	r->rest_ms = r->now_ms + REST_MS;
	if (r->tick_ms > r->rest_ms)
		r->tick_ms = r->rest_ms;
	conn_arm(r, false);
	(void)epoll_ctl(r->epoll, EPOLL_CTL_MOD, r->dns_tcp, &ev);
}

static void rested(struct relay *r)
{
	struct epoll_event ev = { .events = EPOLLIN, .data.u64 = RELAY_TAG(TAG_DNS_TCP, 0) };

	r->rest_ms = 0;
	conn_arm(r, !r->closing);
	(void)epoll_ctl(r->epoll, EPOLL_CTL_MOD, r->dns_tcp, &ev);
}

/* Deadlines, a little late and never early. */
static void tick(struct relay *r)
{
	bool soon = false;

	if (r->now_ms < r->tick_ms)
		return;
	for (uint32_t i = 0; r->n_conns > 0 && i < r->n_used; i++) {
		conn_tick(r, i);
		soon = soon || (r->conns[i].state != CONN_FREE && r->conns[i].state != CONN_RELAY);
	}
	responder_tick(r);
	if (r->now_ms >= r->skipped_ms + SKIPPED_MS)
		report_skipped(r);
	if (r->rest_ms != 0 && r->now_ms >= r->rest_ms)
		rested(r);
	soon = soon || r->rest_ms != 0;
	r->tick_ms = r->now_ms + (soon ? TICK_MS : TICK_SLOW_MS);
}

static int sleep_ms(const struct relay *r)
{
	if (r->n_again > 0)
		return 0;
	if (r->closing)
		return TICK_MS;
	if (r->n_conns == 0 && r->skipped == 0 && r->rest_ms == 0)
		return r->dns_tcp < 0 ? -1 : TICK_SLOW_MS;
	return r->tick_ms > r->now_ms ? (int)(r->tick_ms - r->now_ms) : 0;
}

static bool finish(struct relay *r)
{
	if (r->closing_ms == 0) {
		r->closing_ms = r->now_ms + CLOSING_MS;
		publish_close(r);
	}
	/* Each has its record, also one that is cut off. */
	if (r->now_ms >= r->closing_ms)
		for (size_t i = 0; i < RELAY_BUCKETS; i++)
			r->buckets[i].tokens = REPORTS_AT_ONCE;
	return !conn_finish(r, r->now_ms >= r->closing_ms);
}

void relay_serve(struct relay *r)
{
	struct epoll_event events[EVENTS_MAX];

	r->now_ms = clock_ms();
	for (size_t i = 0; i < RELAY_BUCKETS; i++)
		r->buckets[i] = (struct relay_bucket){ REPORTS_AT_ONCE, r->now_ms };
	for (;;) {
		uint32_t before = r->n_conns;
		int n = epoll_wait(r->epoll, events, EVENTS_MAX, sleep_ms(r));

		if (n < 0 && errno != EINTR)
			break;
		r->now_ms = clock_ms();
		for (int i = 0; i < n; i++)
			dispatch(r, events[i].data.u64, events[i].events);
		go_on(r);
		/* A new one may be due before the next look. */
		if (r->n_conns > before && r->tick_ms > r->now_ms + TICK_MS)
			r->tick_ms = r->now_ms + TICK_MS;
		tick(r);
		if (r->closing && finish(r))
			break;
		conn_reap(r);
	}
	report_skipped(r);
	/* Who waits for these need not wait for all that goes with this process. */
	fd_close(&r->resolver);
	fd_close(&r->report);
}
