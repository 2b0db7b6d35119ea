/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* hand - a relay without its process. */
#pragma once

#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/heap.h"
#include "relay/internal.h"

/* The end of a pair that the test has; the other one is the relay's. */
static inline int hand_pair(int type, int *ret_relay)
{
	int pair[2];

	if (socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, pair) != 0)
		abort();
	*ret_relay = pair[0];
	return pair[1];
}

/* @c is the caller's and holds for as long as the relay does. */
static inline struct relay *hand_relay(const struct relay_config *c, uint32_t conns)
{
	struct relay *r = heap_alloc(1, sizeof(*r));

	r->config = c;
	r->report = -1;
	r->handoff = -1;
	r->resolver = -1;
	r->resolver_ready = true; /* there is none to wait for */
	r->route = -1;
	r->dialer = -1;
	r->dns_udp = -1;
	r->dns_tcp = -1;
	r->listeners = heap_alloc(c->n_ports + 1, sizeof(int));
	r->max_conns = conns;
	r->conns = heap_alloc(conns, sizeof(*r->conns));
	r->again = heap_alloc((size_t)conns * 2, sizeof(*r->again));
	r->dead = heap_alloc(conns, sizeof(*r->dead));
	r->chunk = heap_alloc(RELAY_CHUNK, 1);
	r->n_used = conns;
	for (uint32_t i = 0; i < conns; i++) {
		r->conns[i].fd[0] = -1;
		r->conns[i].fd[1] = -1;
		for (size_t k = 0; k < CONN_ATTEMPTS_MAX; k++)
			r->conns[i].attempt[k] = -1;
	}
	for (uint32_t i = 0; i < DNS_CONNS; i++)
		r->dns[i].fd = -1;
	r->epoll = epoll_create1(EPOLL_CLOEXEC);
	r->now_ms = 1000;
	return r;
}

static inline void hand_free(struct relay *r)
{
	names_free(&r->names);
	heap_free(r->listeners);
	heap_free(r->conns);
	heap_free(r->again);
	heap_free(r->dead);
	heap_free(r->chunk);
	heap_free(r);
}
