/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* internal - the state of the relay process, shared by its files and by nobody else.
 *
 * One process, one thread, one epoll(7) set. Listeners and the resolver's sockets are
 * level-triggered; the two sockets of a connection are edge-triggered, and what they said is kept
 * in flags until a call says EAGAIN. A connection whose turn was cut short is in the list `again`.
 * A connection that ended stays in its slot until the batch of events is over, because that may
 * still hold events of it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hostpat.h"
#include "policy/connect.h"
#include "relay/sniff.h"
#include "relay/wire.h"

/* --- names.c: addresses that stand for names --- */

#define NAMES_MAX 4096 /* in one run; an address is never given to a second name */

struct name {
	char text[HOSTPAT_NAME_SIZE];
	bool asking;       /* the resolver has the question */
	uint64_t asked_ms; /* since then; an answer may be lost */
	uint64_t until_ms; /* addrs is good until then; 0: never asked */
	uint32_t n_addrs;
	struct host_addr addrs[RELAY_ADDRS_MAX];
};

struct names {
	struct name *list[NAMES_MAX]; /* owned */
	uint32_t n;
	uint16_t index[NAMES_MAX * 4]; /* open addressing; 0: free, else place in list + 1 */
};

/* names_add() - the address of @name, made now if there is none. False: there is room for no more.
 */
bool names_add(struct names *n, const char *name, struct host_addr *ret);
/* names_find() - what the pool's @addr stands for; NULL: nothing. *ret_pool: it is of the pool. */
struct name *names_find(const struct names *n, const struct host_addr *addr, bool *ret_pool);
void names_free(struct names *n);

/* --- connections --- */

#define CONN_ATTEMPTS_MAX 4 /* at the other side, at a time */

/*   SNIFF ----> RESOLVE ----> CONNECT ----> RELAY ----> FREE
 *     |            |             |          ^            ^
 *     +------------+-------------+------> REFUSE --------+
 *                                           |            |
 *                           PUBLISH --------+------------+   (to RELAY, or the end)
 */
enum conn_state {
	CONN_FREE = 0, /* no connection; only its place in the list of free ones */
	CONN_SNIFF,    /* reads what the client sends first, writes nothing */
	CONN_RESOLVE,  /* waits for the addresses of a name */
	CONN_CONNECT,  /* dials; reads nothing */
	CONN_PUBLISH,  /* from outside; waits for its socket inside, and then for that one */
	CONN_PROXY,    /* of the upstream proxy; waits for its answer */
	CONN_RELAY,    /* both sockets are there; only pump.c touches them */
	CONN_REFUSE,   /* the client was told; reads and drops until it goes */
	CONN_DEAD,     /* closed; free after the batch */
};

enum conn_side { SIDE_CLIENT = 0, SIDE_SERVER = 1 };

/* One direction, from the side of its index to the other. */
struct half {
	uint8_t *buf; /* owned; only while the other side takes no more */
	size_t off, len;
	bool eof;  /* nothing more will be read */
	bool shut; /* and the other side was told */
	bool bulk; /* much came at the last read */
	uint64_t bytes;
};

struct conn {
	enum conn_state state;
	int fd[2];
	bool rd[2], wr[2]; /* may be read from, written to, until EAGAIN */
	struct half half[2];
	struct host_target target;
	struct http *http;  /* owned; NULL: bytes are bytes */
	struct name *name;  /* borrowed; NULL for an address */
	struct name *dials; /* borrowed; whose addresses are dialled: its own, or the proxy's */
	bool via;           /* the upstream proxy */
	uint16_t status;    /* of the proxy's answer */
	struct connect_answer answer;
	struct host_addr addrs[RELAY_ADDRS_MAX];
	uint32_t n_addrs, next_addr;
	struct host_addr peer;
	int attempt[CONN_ATTEMPTS_MAX];
	struct host_addr attempt_addr[CONN_ATTEMPTS_MAX];
	uint64_t start_ms;
	uint64_t deadline_ms; /* of the state; 0: none */
	uint64_t stagger_ms;  /* CONNECT: when to dial the next address too */
	uint32_t next_free;   /* its place + 1; 0: the place behind this one */
	bool queued;          /* in `again` */
	/* Came from outside to a published port. Its socket inside is still the client's side: what
	 * it sends is what goes out. */
	bool published;
	uint8_t family;  /* 4 or 6: of the loopback address that is dialled inside */
	uint32_t serial; /* of what the dialer was asked */
};

#define RELAY_EXTRA_MAX 64 /* attempts beyond the first ones, of all connections */

#define DNS_CONNS 32
#define DNS_BUF   (2 + 1024)

struct dns_conn {
	int fd; /* -1: free */
	uint64_t deadline_ms;
	size_t len;
	uint8_t buf[DNS_BUF];
};

#define RELAY_CHUNK       ((size_t)256 * 1024) /* of one read */
#define RELAY_CHUNK_SMALL ((size_t)16 * 1024)  /* while many connections are blocked */
#define RELAY_BLOCKED_MAX 64

/* Reports: so many at once, and so many a second. One for what was refused, one for connections
 * that carried bytes. */
#define RELAY_BUCKETS 2
struct relay_bucket {
	uint32_t tokens;
	uint64_t ms; /* when they were counted */
};

struct relay {
	const struct relay_config *config;
	struct connect_rules rules;
	const struct addr_range *ranges;
	const uint16_t *ports; /* for which a name may be allowed */
	size_t n_ports;
	const uint16_t *inside; /* of the published ports */
	int epoll, report, handoff, resolver, route;
	int dialer; /* -1: nothing is published */
	bool resolver_ready, dialer_ready;
	uint32_t serial;
	int *published; /* owned; config->n_published slots */
	uint32_t n_published;
	int dns_udp, dns_tcp; /* -1 until handed over */
	int *listeners;       /* owned; relay_listeners() slots */
	uint32_t n_listeners;
	bool accepting, closing;
	bool handed;        /* everything is here */
	uint64_t rest_ms;   /* nothing can be accepted before that; 0: nothing is amiss */
	struct name *proxy; /* borrowed; of the upstream proxy, if that has one */
	uint32_t topology;
	uint64_t now_ms;
	uint64_t tick_ms; /* when to look at deadlines next */
	uint64_t closing_ms;

	struct conn *conns; /* owned; max_conns */
	uint32_t max_conns, n_conns;
	uint32_t first_free; /* max_conns: none */
	uint32_t n_used;     /* places that were ever taken; the others are not touched */
	uint32_t n_blocked;  /* halves with a buf */
	uint32_t n_extra;    /* attempts beyond the first of each connection */
	uint32_t *again;     /* owned; places of conns; room for each twice */
	uint32_t n_again;
	uint32_t *dead; /* owned; the same */
	uint32_t n_dead;

	struct dns_conn dns[DNS_CONNS];
	struct names names;
	uint8_t *chunk; /* owned; RELAY_CHUNK */
	int pipe[2];    /* of RELAY_CHUNK, empty between two reads; -1: all goes by the chunk */

	struct relay_bucket buckets[RELAY_BUCKETS];
	uint32_t skipped;
	uint64_t skipped_ms; /* when that was told last */
};

/* What an event is about; in the upper bits of epoll's number, the place below. */
enum relay_tag {
	TAG_HANDOFF = 1,
	TAG_REPORT,
	TAG_RESOLVER,
	TAG_LISTENER,
	TAG_DNS_UDP,
	TAG_DNS_TCP,
	TAG_DNS_CONN,
	TAG_DIALER,
	TAG_PUBLISHED,
	TAG_CLIENT,
	TAG_SERVER,  /* of a connection that relays */
	TAG_ATTEMPT, /* + the attempt */
};

#define RELAY_TAG(tag, i) ((uint64_t)(tag) << 32 | (i))

/* serve.c */
int relay_watch(struct relay *r, int fd, uint32_t events, uint64_t data);
/* relay_rest() - there is no descriptor or no memory to accept(2) with: listeners that go on to be
 * ready are looked at again in a moment. */
void relay_rest(struct relay *r);
/* relay_report() - drops it when there are too many; the count of those is reported later. */
void relay_report(struct relay *r, const struct relay_report *rep);
/* relay_ready() - say so once everything is there. */
void relay_ready(struct relay *r);
/* relay_serve() - until the supervisor is gone. */
void relay_serve(struct relay *r);

/* responder.c: names that programs ask for. */
void responder_udp(struct relay *r);
void responder_accept(struct relay *r);
void responder_conn(struct relay *r, uint32_t i);
void responder_tick(struct relay *r);

/* conn.c */
/* conn_why() - an answer of the rules, as it is reported. */
enum relay_why conn_why(const struct connect_answer *a);
/* conn_accept() - @inside: 0 for connections of programs, else the port inside to which what comes
 * from outside goes. */
void conn_accept(struct relay *r, int listener, uint16_t inside);
/* conn_relay() - both sockets are there. */
void conn_relay(struct relay *r, uint32_t i);
/* conn_arm() - look at the listeners, or do not. */
void conn_arm(struct relay *r, bool on);
void conn_event(struct relay *r, uint32_t i, enum conn_side side, uint32_t events);
void conn_tick(struct relay *r, uint32_t i);
/* conn_refuse() - tell the client in its own protocol why there is nothing for it. */
void conn_refuse(struct relay *r, uint32_t i, enum relay_why why);
/* conn_end() - report and close. @reset: so that either side sees that it was cut off. */
void conn_end(struct relay *r, uint32_t i, enum relay_why why, bool reset);
void conn_again(struct relay *r, uint32_t i);
void conn_turn(struct relay *r, uint32_t i);
/* conn_reap() - what ended in this batch of events is free from here on. */
void conn_reap(struct relay *r);
/* conn_finish() - the sandbox is gone: close all but what its programs have not ended yet; @late:
 * that too. False: nothing is left. */
bool conn_finish(struct relay *r, bool late);

/* dial.c */
void dial_start(struct relay *r, uint32_t i);
void dial_answer(struct relay *r);
void dial_event(struct relay *r, uint32_t i, unsigned attempt, uint32_t events);
void dial_tick(struct relay *r, uint32_t i);
void dial_stop(struct relay *r, struct conn *c);

/* pump.c */
void pump_turn(struct relay *r, uint32_t i);
void half_free(struct relay *r, struct half *h);

/* route.c: does @addr lead out of this host? */
enum route { ROUTE_NONE = 0, ROUTE_OUT, ROUTE_OWN };
enum route route_find(int netlink, const struct host_addr *addr);

/* isolate.c: all return 0 or -errno. */
int isolate_relay(uint32_t n_fds);
int isolate_dialer(void);
int isolate_resolver(void);

/* resolver.c: say that it is there (id 0), and answer questions on @fd until that ends. */
void resolver_serve(int fd);
