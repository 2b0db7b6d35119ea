/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Names that wait for the resolver, and how many addresses are dialled at once. */
#include <errno.h>
#include <netinet/in.h>
#include <unistd.h>

#include "hand.h"
#include "tap.h"

#define CONNS 80

static void conn_make(struct relay *r, uint32_t i, const char *name)
{
	struct conn *c = &r->conns[i];
	struct host_addr at;
	bool pool;

	if (!names_add(&r->names, name, &at))
		abort();
	c->name = names_find(&r->names, &at, &pool);
	c->state = CONN_SNIFF;
	c->fd[SIDE_CLIENT] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	c->fd[SIDE_SERVER] = -1;
	c->start_ms = r->now_ms;
	c->target.port = 7000;
}

static bool asked(int resolver, struct relay_question *ret)
{
	return recv(resolver, ret, sizeof(*ret), MSG_DONTWAIT) == (ssize_t)sizeof(*ret);
}

static void test_lost(struct tap *t, struct relay *r, int resolver)
{
	struct relay_question q;
	struct relay_addresses a = { 0 };

	conn_make(r, 0, "a.example.test");
	dial_start(r, 0);
	tap_ok(t, asked(resolver, &q) && strcmp(q.name, "a.example.test") == 0,
	       "a name is asked for");
	conn_make(r, 1, "a.example.test");
	dial_start(r, 1);
	tap_ok(t, !asked(resolver, &q), "and not again for a second connection");
	r->now_ms += 9999;
	dial_tick(r, 0);
	tap_ok(t, !asked(resolver, &q), "nor while the answer may come");
	r->now_ms += 1;
	dial_tick(r, 0);
	tap_ok(t, asked(resolver, &q) && strcmp(q.name, "a.example.test") == 0,
	       "an answer that does not come is asked for again");
	dial_tick(r, 1);
	tap_ok(t, !asked(resolver, &q), "once");

	/* The resolver says that it failed: nobody waits any longer, and the name is not dead. */
	a.id = q.id;
	(void)send(resolver, &a, sizeof(a), 0);
	dial_answer(r);
	tap_ok(t, r->conns[0].state == CONN_DEAD && r->conns[1].state == CONN_DEAD,
	       "an answer without an answer ends who waits");
	conn_make(r, 2, "a.example.test");
	dial_start(r, 2);
	tap_ok(t, asked(resolver, &q), "and the next one asks anew");
	(void)send(resolver, &a, sizeof(a), 0);
	(void)send(resolver, &a, sizeof(a), 0);
	dial_answer(r);
	tap_ok(t, !r->closing && r->conns[2].state == CONN_DEAD,
	       "an answer too many is of no matter");

	conn_make(r, 3, "b.example.test");
	dial_start(r, 3);
	r->now_ms += 30000;
	dial_tick(r, 3);
	tap_ok(t, r->conns[3].state == CONN_DEAD, "nobody waits for ever");
	(void)close(resolver);
	dial_answer(r);
	tap_ok(t, r->closing, "without a resolver it is the end");
}

/* Addresses that do not answer: the first is dialled for each, further ones for so many. */
static void test_extra(struct tap *t, struct relay *r)
{
	uint32_t open = 0;

	for (uint32_t i = 0; i < CONNS; i++) {
		struct conn *c = &r->conns[i];

		conn_make(r, i, "c.example.test");
		c->state = CONN_CONNECT;
		c->deadline_ms = r->now_ms + 30000;
		c->n_addrs = 4;
		/* Nobody listens there, but a socket that only begins to connect does not know. */
		for (size_t k = 0; k < 2; k++)
			c->attempt[k] =
				k == 0 ? socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0) : -1;
		for (uint32_t k = 0; k < 4; k++)
			c->addrs[k] = (struct host_addr){ { 127, 0, 0, 1 }, 4 };
	}
	r->n_extra = RELAY_EXTRA_MAX;
	for (uint32_t i = 0; i < CONNS; i++)
		dial_tick(r, i);
	for (uint32_t i = 0; i < CONNS; i++)
		open += r->conns[i].next_addr;
	tap_int(t, open, 0, "with as many as there may be, no further address is dialled");
	tap_ok(t, r->conns[0].stagger_ms > r->now_ms, "but later it is tried again");
	r->n_extra = 0;
	r->now_ms += 1000;
	for (uint32_t i = 0; i < CONNS; i++)
		dial_tick(r, i);
	tap_ok(t, r->n_extra > 0 && r->n_extra <= RELAY_EXTRA_MAX, "then so many are (%u)",
	       r->n_extra);
	for (uint32_t i = 0; i < CONNS; i++)
		dial_stop(r, &r->conns[i]);
	tap_int(t, r->n_extra, 0, "and none is left");
}

int main(void)
{
	const struct relay_config config = { 0 };
	struct tap t = { 0 };
	struct relay *r = hand_relay(&config, CONNS);
	int resolver = hand_pair(SOCK_SEQPACKET, &r->resolver);

	test_lost(&t, r, resolver);
	hand_free(r);
	r = hand_relay(&config, CONNS);
	test_extra(&t, r);
	hand_free(r);
	return tap_done(&t);
}
