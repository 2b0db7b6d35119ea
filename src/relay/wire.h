/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* wire - what the processes of the relay hand to each other. All of fixed size, one a packet; they
 * are one program, so that the layout is the compiler's.
 *
 *   supervisor  --config (a sealed file)-->  relay  <--names, addresses-->  resolver
 *   supervisor  <------reports------------  relay  <--ports, sockets----->  dialer
 *   sandbox     ------listeners---------->  relay
 *   supervisor  ------published ones----->  relay */
#pragma once

#include <stdint.h>

#include "base/hostpat.h"
#include "policy/connect.h"
#include "relay/addr.h"

/* By this name in argv[0] the program knows that it is not the one that the user called. */
#define RELAY_ARGV0 "agentbox-relay"

/* The descriptors that it starts with. */
enum relay_fd {
	RELAY_FD_REPORT = 3,
	RELAY_FD_HANDOFF,
	RELAY_FD_CONFIG,
	RELAY_FD_END,
};

#define RELAY_MAGIC 0x52454c41U

/* Of a proxy: "Basic " and so on, as a header has it. */
#define RELAY_AUTH_SIZE 512

struct relay_proxy {
	struct host_target host; /* port 0: there is none */
	char auth[RELAY_AUTH_SIZE];
};

struct relay_config {
	uint32_t magic;
	uint32_t size;    /* of all, with what follows */
	uint32_t drop_id; /* become this user and group first; 0: stay who we are */
	uint32_t drop_optional;
	uint32_t max_conns; /* at a time */
	uint32_t n_rules, layers;
	uint32_t n_ranges;
	uint32_t n_ports;
	uint32_t any_port;     /* one listener, in place of those for n_ports */
	uint32_t n_host_ports; /* listeners beyond those for n_ports, or fewer */
	uint32_t n_published;
	struct relay_proxy proxy;
	/* Then: struct connect_rule[n_rules], struct addr_range[n_ranges], uint16_t[n_ports], and
	 * uint16_t[n_published], the ports inside. */
};

/* relay_listeners() - how many there are at the most. */
static inline uint32_t relay_listeners(const struct relay_config *c)
{
	return c->n_ports + (c->any_port != 0) + c->n_host_ports;
}

enum relay_kind {
	RELAY_REPORT_NONE = 0,
	RELAY_REPORT_READY,   /* all listeners are here */
	RELAY_REPORT_NAME,    /* a name was asked for */
	RELAY_REPORT_CONN,    /* a connection ended, or never began */
	RELAY_REPORT_SKIPPED, /* count: reports that were not sent, too many at once */
	RELAY_REPORT_MAX,
};

/* Why a name or a connection came to what it came to. */
enum relay_why {
	RELAY_WHY_NONE = 0,
	RELAY_WHY_ALLOWED,
	RELAY_WHY_NOT_LISTED, /* by the sandbox */
	RELAY_WHY_AGENT,      /* by the agent's rules */
	RELAY_WHY_APPROVAL,   /* a person would have to approve it */
	RELAY_WHY_NOT_PUBLIC, /* the name leads to no public address */
	RELAY_WHY_OWN,        /* ... but to this host */
	RELAY_WHY_NO_NAME,    /* not what a name can be, or an address that stands for none */
	RELAY_WHY_OTHER_NAME, /* the client named another host in TLS or HTTP */
	RELAY_WHY_UNRESOLVED, /* the host's resolver knows no such name */
	RELAY_WHY_RESOLVER,   /* ... or did not answer */
	RELAY_WHY_UNREACHED,  /* the other side could not be reached */
	RELAY_WHY_SILENT,     /* the client did not say whom it wants within its time */
	RELAY_WHY_FULL,       /* too many names or connections */
	RELAY_WHY_BROKEN,     /* cut off in the middle */
	RELAY_WHY_PROXY,      /* the upstream proxy said no; count: its status */
	RELAY_WHY_NO_PROXY,   /* ... could not be reached, or is none */
	RELAY_WHY_MAX,
};

enum relay_method {
	RELAY_METHOD_CONNECT = 0, /* by a program inside */
	RELAY_METHOD_ACCEPT,      /* from outside, to a published port */
	RELAY_METHOD_MAX,
};

struct relay_report {
	uint32_t kind;
	uint32_t why;
	uint32_t method;           /* CONN */
	uint32_t topology;         /* READY: enum plan_net_topology */
	uint32_t count;            /* NAME: the type of the record, RFC 1035 3.2.2 */
	struct host_target target; /* as the sandbox sees it; port 0 for NAME */
	struct host_addr peer;     /* CONN: what was dialled, or refused to be; ACCEPT: by whom */
	uint64_t up, down;         /* bytes from and to the sandbox */
	uint64_t ms;
};

#define RELAY_ADDRS_MAX 16

/* The relay has one question open for each connection that waits. The id is the name's address in
 * the pool; the resolver's first record has 0, and says that it has given up what it has no use
 * for.
 */
struct relay_question {
	uint32_t id;
	char name[HOSTPAT_NAME_SIZE];
};

struct relay_addresses {
	uint32_t id;
	uint32_t n;
	uint32_t absent; /* there is no such name; with n 0 and this 0 the resolver failed */
	struct host_addr addrs[RELAY_ADDRS_MAX];
};

/* To the dialer, after a first one that comes with the sandbox's network namespace; it answers with
 * the same and, where result is 0, a socket that connects. Its first answer has none: it is ready.
 */
struct relay_dial {
	uint32_t slot;   /* of the connection */
	uint32_t serial; /* of it: a slot is used again */
	int32_t result;  /* 0 or -errno */
	uint16_t port;   /* on the sandbox's lo */
	uint8_t family;  /* 4 or 6 */
};
