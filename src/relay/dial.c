/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* dial - from a name to a socket on the other side.
 *
 * Every address is judged by itself, and what is judged is what is passed to connect(2): no second
 * look-up stands between. Addresses are tried in the order in which the host's resolver gave them,
 * the next one when the last has not answered for a moment (RFC 8305). */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "relay/internal.h"
#include "relay/proxy.h"

#define STAGGER_MS 250
#define CONNECT_MS 30000
#define RESOLVE_MS 30000
#define CACHE_MS   60000
/* An answer that has not come by then may never come. */
#define ASK_AGAIN_MS 10000

static bool attempts_left(const struct conn *c)
{
	for (size_t k = 0; k < CONN_ATTEMPTS_MAX; k++) {
		if (c->attempt[k] >= 0)
			return true;
	}
	return false;
}

/* Return: its descriptor, the caller's from here on; -1 where there is none. */
static int attempt_take(struct relay *r, struct conn *c, size_t k)
{
	int fd = fd_take(&c->attempt[k]);

	if (fd >= 0 && attempts_left(c))
		r->n_extra--;
	return fd;
}

static void attempt_close(struct relay *r, struct conn *c, size_t k)
{
	int fd = attempt_take(r, c, k);

	fd_close(&fd);
}

void dial_stop(struct relay *r, struct conn *c)
{
	for (size_t k = 0; k < CONN_ATTEMPTS_MAX; k++)
		attempt_close(r, c, k);
}

/* --- addresses --- */

static bool addr_listed(const struct relay *r, const struct host_addr *a)
{
	for (uint32_t i = 0; i < r->config->n_ranges; i++) {
		if (host_addr_in(a, &r->ranges[i].net, r->ranges[i].bits))
			return true;
	}
	return false;
}

/* A rule that denies an address or a network holds for what a name leads to as well, wherever in
 * its list it stands. */
static enum relay_why addr_denied(const struct relay *r, const struct conn *c,
				  const struct host_addr *a, const struct host_addr *plain)
{
	struct connect_answer answer = { 0 };

	for (size_t i = 0; i < r->rules.n; i++) {
		const struct connect_rule *rule = &r->rules.rules[i];
		const struct hostpat *p = &rule->host;

		if (rule->verdict == PROFILE_ALLOW || p->kind != HOSTPAT_ADDR ||
		    !hostpat_match_port(p, c->target.port) ||
		    (!host_addr_in(a, &p->addr, p->bits) &&
		     !host_addr_in(plain, &p->addr, p->bits)))
			continue;
		answer.verdict = rule->verdict;
		answer.layer = rule->layer;
		return conn_why(&answer);
	}
	return RELAY_WHY_NONE;
}

static enum relay_why addr_verdict(const struct relay *r, const struct conn *c,
				   const struct host_addr *a)
{
	struct host_addr plain = addr_plain(a);
	enum relay_why denied;

	/* Where the operator says that it is. */
	if (c->via)
		return RELAY_WHY_ALLOWED;
	denied = addr_denied(r, c, a, &plain);

	if (denied != RELAY_WHY_NONE)
		return denied;

	/* An address that the profile writes out is meant. */
	if (c->answer.literal || addr_listed(r, a) || addr_listed(r, &plain))
		return RELAY_WHY_ALLOWED;
	if (addr_refusal(a) != NULL)
		return RELAY_WHY_NOT_PUBLIC;
	switch (route_find(r->route, a)) {
	case ROUTE_OUT:
		return RELAY_WHY_ALLOWED;
	case ROUTE_OWN:
		return RELAY_WHY_OWN;
	case ROUTE_NONE:
		break;
	}
	return RELAY_WHY_UNREACHED;
}

/* --- sockets --- */

static int dial_one(const struct host_addr *a, uint16_t port)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(port) };
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6, .sin6_port = htons(port) };
	const int on = 1;
	int fd, r;

	fd = socket(a->family == 4 ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
		    0);
	if (fd < 0)
		return -errno;
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	(void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	memcpy(&in.sin_addr, a->bytes, 4);
	memcpy(&in6.sin6_addr, a->bytes, 16);
	if (a->family == 4)
		r = connect(fd, (const struct sockaddr *)&in, sizeof(in));
	else
		r = connect(fd, (const struct sockaddr *)&in6, sizeof(in6));
	if (r == 0 || errno == EINPROGRESS)
		return fd;
	r = -errno;
	fd_close(&fd);
	return r;
}

/* The next address that may be dialled; when there is none and nothing is under way, the end. */
static void dial_next(struct relay *r, uint32_t i)
{
	struct conn *c = &r->conns[i];
	bool extra = attempts_left(c);
	size_t k = 0;

	/* Each connection is sure of two descriptors; of more there are so many. */
	if (extra && r->n_extra >= RELAY_EXTRA_MAX) {
		c->stagger_ms = r->now_ms + STAGGER_MS;
		return;
	}
	while (k < CONN_ATTEMPTS_MAX && c->attempt[k] >= 0)
		k++;
	while (k < CONN_ATTEMPTS_MAX && c->next_addr < c->n_addrs) {
		const struct host_addr *a = &c->addrs[c->next_addr++];
		int fd = dial_one(a, c->via ? r->config->proxy.host.port : c->target.port);

		c->peer = *a;
		if (fd < 0)
			continue;
		if (relay_watch(r, fd, EPOLLOUT | EPOLLET,
				RELAY_TAG(TAG_ATTEMPT + (unsigned)k, i)) != 0) {
			fd_close(&fd);
			continue;
		}
		c->attempt[k] = fd;
		c->attempt_addr[k] = *a;
		r->n_extra += extra;
		c->stagger_ms = r->now_ms + STAGGER_MS;
		return;
	}
	if (!attempts_left(c))
		conn_refuse(r, i, c->via ? RELAY_WHY_NO_PROXY : RELAY_WHY_UNREACHED);
}

static void dial_addrs(struct relay *r, uint32_t i, const struct host_addr *addrs, uint32_t n)
{
	struct conn *c = &r->conns[i];
	enum relay_why why = RELAY_WHY_UNRESOLVED;

	c->n_addrs = 0;
	c->next_addr = 0;
	for (uint32_t k = 0; k < n && k < RELAY_ADDRS_MAX; k++) {
		enum relay_why verdict = addr_verdict(r, c, &addrs[k]);

		if (verdict == RELAY_WHY_ALLOWED) {
			c->addrs[c->n_addrs++] = addrs[k];
			continue;
		}
		if (why == RELAY_WHY_UNRESOLVED) {
			why = verdict;
			c->peer = addrs[k];
		}
	}
	if (c->n_addrs == 0) {
		conn_refuse(r, i, why);
		return;
	}
	c->state = CONN_CONNECT;
	c->deadline_ms = r->now_ms + CONNECT_MS;
	dial_next(r, i);
}

/* --- names --- */

static void ask(struct relay *r, struct name *name, const struct host_addr *at)
{
	struct relay_question q = { 0 };

	if (name->asking && r->now_ms - name->asked_ms < ASK_AGAIN_MS)
		return;
	memcpy(&q.id, at->bytes, 4);
	memcpy(q.name, name->text, sizeof(q.name));
	if (send(r->resolver, &q, sizeof(q), MSG_DONTWAIT | MSG_NOSIGNAL) != (ssize_t)sizeof(q))
		return;
	name->asking = true;
	name->asked_ms = r->now_ms;
}

void dial_start(struct relay *r, uint32_t i)
{
	struct conn *c = &r->conns[i];
	struct host_addr at;

	c->via = proxy_is_for(r, c);
	c->dials = c->via ? r->proxy : c->name;
	if (c->via && c->dials == NULL) {
		dial_addrs(r, i, &r->config->proxy.host.addr, 1);
		return;
	}
	if (c->dials == NULL) {
		/* A port of the host: where its program listens on ::1 alone, there. */
		const struct host_addr lo = { .bytes = { 127, 0, 0, 1 }, .family = 4 };
		const struct host_addr both[2] = { c->target.addr,
						   { .bytes = { [15] = 1 }, .family = 6 } };

		dial_addrs(r, i, both, host_addr_in(&c->target.addr, &lo, 32) ? 2 : 1);
		return;
	}
	if (c->dials->until_ms > r->now_ms) {
		dial_addrs(r, i, c->dials->addrs, c->dials->n_addrs);
		return;
	}
	c->state = CONN_RESOLVE;
	c->deadline_ms = r->now_ms + RESOLVE_MS;
	/* It is there already. */
	(void)names_add(&r->names, c->dials->text, &at);
	ask(r, c->dials, &at);
	if (!c->dials->asking)
		conn_refuse(r, i, RELAY_WHY_RESOLVER);
}

static void deliver(struct relay *r, struct name *name, const struct relay_addresses *got)
{
	name->asking = false;
	for (uint32_t i = 0; i < r->n_used; i++) {
		struct conn *c = &r->conns[i];

		if (c->state != CONN_RESOLVE || c->dials != name)
			continue;
		if (got->n == 0 && c->via)
			conn_refuse(r, i, RELAY_WHY_NO_PROXY);
		else if (got->n == 0)
			conn_refuse(r, i, got->absent ? RELAY_WHY_UNRESOLVED : RELAY_WHY_RESOLVER);
		else
			dial_addrs(r, i, got->addrs, got->n);
	}
}

void dial_answer(struct relay *r)
{
	struct relay_addresses got;
	ssize_t n;

	while ((n = recv(r->resolver, &got, sizeof(got), MSG_DONTWAIT)) == (ssize_t)sizeof(got)) {
		struct host_addr at = { .family = 4 };
		struct name *name;
		bool pool;

		if (got.id == 0 && !r->resolver_ready) {
			r->resolver_ready = true;
			relay_ready(r);
			continue;
		}
		memcpy(at.bytes, &got.id, 4);
		name = names_find(&r->names, &at, &pool);
		if (name == NULL || !name->asking || got.n > RELAY_ADDRS_MAX)
			continue;
		if (got.n > 0) {
			memcpy(name->addrs, got.addrs, sizeof(got.addrs));
			name->n_addrs = got.n;
			name->until_ms = r->now_ms + CACHE_MS;
		}
		deliver(r, name, &got);
	}
	/* Without a resolver there is no network of names. */
	if (n >= 0 || errno != EAGAIN)
		r->closing = true;
}

/* --- the other side's word --- */

static void connected(struct relay *r, uint32_t i, size_t k)
{
	struct conn *c = &r->conns[i];
	struct epoll_event ev = { .events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET,
				  .data.u64 = RELAY_TAG(TAG_SERVER, i) };

	c->fd[SIDE_SERVER] = attempt_take(r, c, k);
	c->peer = c->attempt_addr[k];
	dial_stop(r, c);
	if (epoll_ctl(r->epoll, EPOLL_CTL_MOD, c->fd[SIDE_SERVER], &ev) != 0) {
		conn_end(r, i, RELAY_WHY_BROKEN, true);
		return;
	}
	if (c->via)
		proxy_begin(r, i);
	else
		conn_relay(r, i);
}

void dial_event(struct relay *r, uint32_t i, unsigned attempt, uint32_t events)
{
	struct conn *c = &r->conns[i];
	socklen_t len = sizeof(int);
	int err = 0;

	(void)events;
	if (c->state != CONN_CONNECT || attempt >= CONN_ATTEMPTS_MAX || c->attempt[attempt] < 0)
		return;
	if (getsockopt(c->attempt[attempt], SOL_SOCKET, SO_ERROR, &err, &len) != 0)
		err = errno;
	if (err == 0) {
		connected(r, i, attempt);
		return;
	}
	attempt_close(r, c, attempt);
	dial_next(r, i);
}

void dial_tick(struct relay *r, uint32_t i)
{
	struct conn *c = &r->conns[i];
	struct host_addr at;

	if (r->now_ms >= c->deadline_ms && c->via)
		conn_refuse(r, i, RELAY_WHY_NO_PROXY);
	else if (r->now_ms >= c->deadline_ms)
		conn_refuse(r, i,
			    c->state == CONN_RESOLVE ? RELAY_WHY_RESOLVER : RELAY_WHY_UNREACHED);
	else if (c->state == CONN_RESOLVE && names_add(&r->names, c->dials->text, &at))
		ask(r, c->dials, &at);
	else if (c->state == CONN_CONNECT && c->next_addr < c->n_addrs &&
		 r->now_ms >= c->stagger_ms)
		dial_next(r, i);
}
