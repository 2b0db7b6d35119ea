/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* conn - connections of programs, from accept(2) on, until dial.c and pump.c have them. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "base/heap.h"
#include "relay/http.h"
#include "relay/internal.h"
#include "relay/proxy.h"
#include "relay/publish.h"

#define SNIFF_MS  10000
#define REFUSE_MS 2000
#define PORT_HTTP 80
#define PORT_TLS  443

/* TLS alerts, RFC 8446 6. */
#define ALERT_ACCESS_DENIED  49
#define ALERT_INTERNAL_ERROR 80

void conn_again(struct relay *r, uint32_t i)
{
	if (r->conns[i].queued)
		return;
	r->conns[i].queued = true;
	r->again[r->n_again++] = i;
}

static void report_conn(struct relay *r, const struct conn *c, enum relay_why why)
{
	struct relay_report rep = { .kind = RELAY_REPORT_CONN, .why = why };

	rep.count = c->status;
	rep.method = c->published ? RELAY_METHOD_ACCEPT : RELAY_METHOD_CONNECT;
	rep.target = c->target;
	rep.peer = c->peer;
	rep.up = c->half[SIDE_CLIENT].bytes;
	rep.down = c->half[SIDE_SERVER].bytes;
	rep.ms = r->now_ms - c->start_ms;
	relay_report(r, &rep);
}

static void close_side(struct conn *c, enum conn_side side, bool reset)
{
	const struct linger rst = { .l_onoff = 1 };

	if (c->fd[side] >= 0 && reset)
		(void)setsockopt(c->fd[side], SOL_SOCKET, SO_LINGER, &rst, sizeof(rst));
	fd_close(&c->fd[side]);
}

/* Without a report: there was one already. */
static void conn_close(struct relay *r, uint32_t i, bool reset)
{
	struct conn *c = &r->conns[i];

	dial_stop(r, c);
	close_side(c, SIDE_CLIENT, reset);
	close_side(c, SIDE_SERVER, reset);
	half_free(r, &c->half[SIDE_CLIENT]);
	half_free(r, &c->half[SIDE_SERVER]);
	http_free(c);
	c->state = CONN_DEAD;
	r->dead[r->n_dead++] = i;
}

void conn_end(struct relay *r, uint32_t i, enum relay_why why, bool reset)
{
	report_conn(r, &r->conns[i], why);
	conn_close(r, i, reset);
}

/* --- refusals --- */

static bool is_tls(const struct conn *c)
{
	return c->target.port == PORT_TLS && c->answer.tls == PROFILE_TLS_CHECK;
}

static bool is_http(const struct conn *c)
{
	return c->target.port == PORT_HTTP && c->answer.tls != PROFILE_TLS_RAW;
}

/* The other side failed, rather than that we did not allow it. */
static bool is_failure(enum relay_why why)
{
	return why == RELAY_WHY_UNRESOLVED || why == RELAY_WHY_RESOLVER ||
	       why == RELAY_WHY_UNREACHED || why == RELAY_WHY_FULL || why == RELAY_WHY_NO_PROXY;
}

static void say_tls(int fd, bool failure)
{
	const uint8_t alert[] = {
		21, 3, 3, 0, 2, 2, failure ? ALERT_INTERNAL_ERROR : ALERT_ACCESS_DENIED
	};

	(void)!send(fd, alert, sizeof(alert), MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void say_http(int fd, bool failure)
{
	static const char denied[] = "HTTP/1.1 403 Forbidden\r\n"
				     "X-Agentbox-Reason: denied\r\n"
				     "Content-Type: text/plain\r\nContent-Length: 37\r\n"
				     "Connection: close\r\n\r\n"
				     "agentbox: denied by the network rules";
	static const char failed[] = "HTTP/1.1 502 Bad Gateway\r\n"
				     "X-Agentbox-Reason: unreachable\r\n"
				     "Content-Type: text/plain\r\nContent-Length: 37\r\n"
				     "Connection: close\r\n\r\n"
				     "agentbox: the host cannot be reached\n";
	const char *text = failure ? failed : denied;

	(void)!send(fd, text, strlen(text), MSG_DONTWAIT | MSG_NOSIGNAL);
}

void conn_refuse(struct relay *r, uint32_t i, enum relay_why why)
{
	struct conn *c = &r->conns[i];

	report_conn(r, c, why);
	dial_stop(r, c);
	half_free(r, &c->half[SIDE_CLIENT]);
	half_free(r, &c->half[SIDE_SERVER]);
	/* The proxy's, when it refused. */
	close_side(c, SIDE_SERVER, true);
	if (!is_tls(c) && !is_http(c)) {
		conn_close(r, i, true);
		return;
	}
	if (is_tls(c))
		say_tls(c->fd[SIDE_CLIENT], is_failure(why));
	else
		say_http(c->fd[SIDE_CLIENT], is_failure(why));
	/* Closed with bytes unread, the client would see a reset instead of the answer. */
	(void)shutdown(c->fd[SIDE_CLIENT], SHUT_WR);
	c->state = CONN_REFUSE;
	c->deadline_ms = r->now_ms + REFUSE_MS;
	c->rd[SIDE_CLIENT] = true;
	conn_again(r, i);
}

static void drain(struct relay *r, uint32_t i)
{
	struct conn *c = &r->conns[i];
	ssize_t n = 1;

	for (int k = 0; k < 8 && n > 0; k++)
		n = recv(c->fd[SIDE_CLIENT], r->chunk, RELAY_CHUNK, MSG_DONTWAIT);
	if (n > 0)
		conn_again(r, i);
	else if (n == 0 || errno != EAGAIN)
		conn_close(r, i, false);
}

/* --- what the client says first --- */

/* The name that was asked for, and the name that the client then says. */
static void judge_sniffed(struct relay *r, uint32_t i, enum sniff got,
			  const struct host_target *said)
{
	struct conn *c = &r->conns[i];

	if (got == SNIFF_MORE)
		return;
	if (got != SNIFF_NAME || strcmp(said->name, c->target.name) != 0) {
		conn_refuse(r, i, RELAY_WHY_OTHER_NAME);
		return;
	}
	dial_start(r, i);
}

static void sniff(struct relay *r, uint32_t i)
{
	struct conn *c = &r->conns[i];
	struct half *h = &c->half[SIDE_CLIENT];
	struct host_target said = { 0 };
	ssize_t n;

	n = recv(c->fd[SIDE_CLIENT], h->buf + h->len, SNIFF_MAX - h->len, MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		conn_end(r, i, RELAY_WHY_SILENT, n < 0);
		return;
	}
	h->len += (size_t)n;
	judge_sniffed(r, i,
		      is_tls(c) ? sniff_hello(h->buf, h->len, &said)
				: sniff_head(h->buf, h->len, &said),
		      &said);
	/* Edge-triggered: there may be more. */
	if (c->state == CONN_SNIFF)
		conn_again(r, i);
}

/* --- accept --- */

static void target_of(const struct relay *r, int fd, struct conn *c, enum relay_why *ret)
{
	struct sockaddr_in at = { 0 };
	socklen_t len = sizeof(at);
	bool pool = true;

	*ret = RELAY_WHY_NO_NAME;
	if (getsockname(fd, (struct sockaddr *)&at, &len) != 0 || at.sin_family != AF_INET)
		return;
	c->target.addr.family = 4;
	memcpy(c->target.addr.bytes, &at.sin_addr, 4);
	c->target.port = ntohs(at.sin_port);
	c->name = names_find(&r->names, &c->target.addr, &pool);
	if (c->name != NULL) {
		memcpy(c->target.name, c->name->text, sizeof(c->target.name));
		c->target.addr = (struct host_addr){ 0 };
	}
	if (c->name != NULL || !pool)
		*ret = RELAY_WHY_ALLOWED;
}

enum relay_why conn_why(const struct connect_answer *a)
{
	switch (a->verdict) {
	case PROFILE_ALLOW:
		return RELAY_WHY_ALLOWED;
	case PROFILE_INTERRUPT:
		return RELAY_WHY_APPROVAL;
	case PROFILE_DENY:
		break;
	}
	return a->layer == 0 ? RELAY_WHY_NOT_LISTED : RELAY_WHY_AGENT;
}

static void conn_begin(struct relay *r, uint32_t i)
{
	struct conn *c = &r->conns[i];
	enum relay_why why;

	target_of(r, c->fd[SIDE_CLIENT], c, &why);
	if (why == RELAY_WHY_ALLOWED) {
		connect_decide(&r->rules, &c->target, &c->answer);
		why = conn_why(&c->answer);
	}
	if (why != RELAY_WHY_ALLOWED) {
		conn_refuse(r, i, why);
		return;
	}
	if (c->name == NULL || !(is_tls(c) || is_http(c))) {
		dial_start(r, i);
		return;
	}
	c->state = CONN_SNIFF;
	c->deadline_ms = r->now_ms + SNIFF_MS;
	c->half[SIDE_CLIENT].buf = heap_alloc(SNIFF_MAX, 1);
	r->n_blocked++;
	conn_again(r, i);
}

void conn_arm(struct relay *r, bool on)
{
	if (r->accepting == on)
		return;
	r->accepting = on;
	for (uint32_t i = 0; i < r->n_listeners; i++) {
		struct epoll_event ev = { .events = on ? EPOLLIN : 0,
					  .data.u64 = RELAY_TAG(TAG_LISTENER, i) };

		(void)epoll_ctl(r->epoll, EPOLL_CTL_MOD, r->listeners[i], &ev);
	}
	publish_arm(r, on);
}

void conn_relay(struct relay *r, uint32_t i)
{
	struct conn *c = &r->conns[i];

	if (!c->published && c->name != NULL && is_http(c) && !http_begin(c)) {
		conn_end(r, i, RELAY_WHY_OTHER_NAME, true);
		return;
	}
	c->state = CONN_RELAY;
	c->deadline_ms = 0;
	for (int side = 0; side < 2; side++) {
		c->rd[side] = true;
		c->wr[side] = true;
	}
	conn_again(r, i);
}

void conn_accept(struct relay *r, int listener, uint16_t inside)
{
	const enum conn_side side = inside == 0 ? SIDE_CLIENT : SIDE_SERVER;
	const int on = 1;

	while (r->first_free < r->max_conns) {
		uint32_t i = r->first_free;
		struct conn *c = &r->conns[i];
		int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd < 0) {
			/* What came is gone again, or else it stays: where it is for want of
			 * something of ours, the listener would be ready for ever. */
			if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS ||
			    errno == ENOMEM)
				relay_rest(r);
			return;
		}
		r->first_free = c->next_free == 0 ? i + 1 : c->next_free - 1;
		if (r->n_used <= i)
			r->n_used = i + 1;
		r->n_conns++;
		*c = (struct conn){ .fd = { -1, -1 }, .start_ms = r->now_ms };
		c->fd[side] = fd;
		for (size_t k = 0; k < CONN_ATTEMPTS_MAX; k++)
			c->attempt[k] = -1;
		(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
		(void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
		if (relay_watch(r, fd, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET,
				RELAY_TAG(TAG_CLIENT + side, i)) != 0)
			conn_close(r, i, true);
		else if (inside == 0)
			conn_begin(r, i);
		else
			publish_begin(r, i, inside);
	}
	/* What waits in the backlog is looked at when one of these ends. */
	conn_arm(r, false);
}

void conn_reap(struct relay *r)
{
	uint32_t kept = 0;

	for (uint32_t k = 0; k < r->n_dead; k++) {
		uint32_t i = r->dead[k];

		/* Its place is in the list of those that go on. */
		if (r->conns[i].queued) {
			r->dead[kept++] = i;
			continue;
		}
		r->conns[i].state = CONN_FREE;
		r->conns[i].next_free = r->first_free + 1;
		r->first_free = i;
		r->n_conns--;
	}
	if (r->n_dead > kept && !r->closing && r->rest_ms == 0)
		conn_arm(r, true);
	r->n_dead = kept;
}

bool conn_finish(struct relay *r, bool late)
{
	bool left = false;

	conn_arm(r, false);
	for (uint32_t i = 0; i < r->n_used; i++) {
		struct conn *c = &r->conns[i];

		switch (c->state) {
		case CONN_FREE:
		case CONN_DEAD:
			break;
		case CONN_RELAY:
			/* The kernel has closed it for the program that is gone: what it sent, and
			 * how it ended, is on its way. */
			if (c->half[SIDE_CLIENT].shut)
				conn_end(r, i, RELAY_WHY_ALLOWED, false);
			else if (late)
				conn_end(r, i, RELAY_WHY_BROKEN, false);
			else
				left = true;
			break;
		case CONN_REFUSE:
			conn_close(r, i, false);
			break;
		case CONN_SNIFF:
		case CONN_RESOLVE:
		case CONN_CONNECT:
		case CONN_PUBLISH:
		case CONN_PROXY:
			conn_end(r, i, RELAY_WHY_BROKEN, true);
			break;
		}
	}
	return left;
}

/* --- events --- */

void conn_turn(struct relay *r, uint32_t i)
{
	switch (r->conns[i].state) {
	case CONN_SNIFF:
		sniff(r, i);
		break;
	case CONN_RELAY:
		pump_turn(r, i);
		break;
	case CONN_REFUSE:
		drain(r, i);
		break;
	case CONN_PROXY:
		proxy_turn(r, i);
		break;
	case CONN_FREE:
	case CONN_RESOLVE:
	case CONN_CONNECT:
	case CONN_PUBLISH:
	case CONN_DEAD:
		break;
	}
}

void conn_event(struct relay *r, uint32_t i, enum conn_side side, uint32_t events)
{
	struct conn *c = &r->conns[i];

	if ((events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0)
		c->rd[side] = true;
	if ((events & (EPOLLOUT | EPOLLHUP | EPOLLERR)) != 0)
		c->wr[side] = true;
	/* A client that has given up; one that only has no more to say waits for an answer. */
	if ((c->state == CONN_RESOLVE || c->state == CONN_CONNECT ||
	     (c->state == CONN_PROXY && side == SIDE_CLIENT)) &&
	    (events & (EPOLLHUP | EPOLLERR)) != 0) {
		conn_end(r, i, RELAY_WHY_BROKEN, true);
		return;
	}
	if (c->state == CONN_PUBLISH)
		publish_event(r, i, side, events);
	else
		conn_turn(r, i);
}

void conn_tick(struct relay *r, uint32_t i)
{
	struct conn *c = &r->conns[i];

	switch (c->state) {
	case CONN_FREE:
	case CONN_DEAD:
		break;
	case CONN_RESOLVE:
	case CONN_CONNECT:
		dial_tick(r, i);
		break;
	case CONN_PUBLISH:
		if (r->now_ms >= c->deadline_ms)
			conn_end(r, i, RELAY_WHY_UNREACHED, true);
		break;
	case CONN_PROXY:
		if (r->now_ms >= c->deadline_ms)
			conn_refuse(r, i, RELAY_WHY_NO_PROXY);
		break;
	case CONN_SNIFF:
		if (r->now_ms >= c->deadline_ms)
			conn_refuse(r, i, RELAY_WHY_SILENT);
		break;
	case CONN_REFUSE:
		if (r->now_ms >= c->deadline_ms)
			conn_close(r, i, true);
		break;
	case CONN_RELAY:
		if (c->deadline_ms != 0 && r->now_ms >= c->deadline_ms)
			conn_end(r, i, RELAY_WHY_BROKEN, true);
		break;
	}
}
