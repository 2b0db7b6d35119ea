/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "relay-hand.h"

#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/heap.h"
#include "base/macro.h"

static const uint16_t ports[] = { 80, 443 };

static const struct connect_rule rules[] = {
	{ .host = { .kind = HOSTPAT_NAME, .name = "bad.example.org" }, .verdict = PROFILE_DENY },
	{ .host = { .kind = HOSTPAT_NAME, .name = "example.org" }, .verdict = PROFILE_ALLOW },
	{ .host = { .kind = HOSTPAT_SUFFIX, .name = "example.org" }, .verdict = PROFILE_ALLOW },
};

bool hand_allowed(const char *name)
{
	static const char suffix[] = ".example.org";
	size_t len = strlen(name);

	if (strcmp(name, "bad.example.org") == 0)
		return false;
	return strcmp(name, suffix + 1) == 0 ||
	       (len > sizeof(suffix) - 1 && strcmp(name + len - (sizeof(suffix) - 1), suffix) == 0);
}

static void pair(int type, int *ours, int *theirs)
{
	int p[2];

	if (socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, p) != 0)
		abort();
	*ours = p[0];
	*theirs = p[1];
}

static const struct relay_config config = { .n_ports = ARRAY_SIZE(ports) };

struct hand *hand(void)
{
	static struct hand *h;
	struct relay *r;

	if (h != NULL)
		return h;
	h = heap_alloc(1, sizeof(*h));
	r = &h->relay;
	r->config = &config;
	r->rules = (struct connect_rules){ rules, ARRAY_SIZE(rules), 1 };
	r->ports = ports;
	r->report = -1;
	r->route = -1;
	r->dialer = -1;
	r->now_ms = 1;
	r->max_conns = 1;
	r->conns = heap_alloc(1, sizeof(*r->conns));
	r->again = heap_alloc(2, sizeof(*r->again));
	r->dead = heap_alloc(1, sizeof(*r->dead));
	r->chunk = heap_alloc(RELAY_CHUNK, 1);
	r->epoll = epoll_create1(EPOLL_CLOEXEC);
	pair(SOCK_SEQPACKET, &r->resolver, &h->resolver);
	pair(SOCK_DGRAM, &r->dns_udp, &h->client);
	return h;
}

void hand_names(struct hand *h)
{
	for (uint32_t i = 0; i < h->relay.names.n; i++) {
		if (!hand_allowed(h->relay.names.list[i]->text))
			abort();
	}
	if (h->relay.names.n > 1)
		names_free(&h->relay.names);
}

static bool asked(const struct hand *h, const char *name)
{
	struct relay_question q;
	bool any = false;

	memset(&q, 0, sizeof(q));
	while (recv(h->resolver, &q, sizeof(q), MSG_DONTWAIT) == (ssize_t)sizeof(q)) {
		if (name == NULL || strcmp(q.name, name) != 0 || !hand_allowed(q.name))
			abort();
		any = true;
	}
	return any;
}

bool hand_connection(struct hand *h, const char *name, uint16_t port, const uint8_t *data,
		     size_t size)
{
	struct relay *r = &h->relay;
	struct conn *c = &r->conns[0];
	struct host_addr at;
	int client;
	bool ret;

	*c = (struct conn){ .state = CONN_SNIFF, .fd = { -1, -1 }, .start_ms = r->now_ms };
	for (size_t k = 0; k < CONN_ATTEMPTS_MAX; k++)
		c->attempt[k] = -1;
	pair(SOCK_STREAM, &c->fd[SIDE_CLIENT], &client);
	if (!names_add(&r->names, name, &at) || send(client, data, size, 0) != (ssize_t)size)
		abort();
	c->name = r->names.list[0];
	memcpy(c->target.name, c->name->text, sizeof(c->target.name));
	c->target.port = port;
	c->answer.verdict = PROFILE_ALLOW;
	c->answer.tls = PROFILE_TLS_CHECK;
	c->half[SIDE_CLIENT].buf = heap_alloc(SNIFF_MAX, 1);
	r->n_blocked++;
	r->n_conns = 1;
	for (int i = 0; i < 64 && c->state == CONN_SNIFF; i++) {
		c->queued = false;
		r->n_again = 0;
		conn_turn(r, 0);
	}
	ret = asked(h, name);
	(void)close(client);
	if (c->state != CONN_DEAD)
		conn_end(r, 0, RELAY_WHY_BROKEN, true);
	c->queued = false;
	r->n_again = 0;
	r->n_dead = 0;
	hand_names(h);
	names_free(&r->names);
	return ret;
}
