/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* net - the part of a plan that is a network by name; see plan.h. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* A piece of the IPv4 network that programs may dial by address, in host byte order. */
struct plan_net_route {
	uint32_t net;
	uint8_t bits;
};

/* The network as programs see it: a resolver at PLAN_NET_GATEWAY that answers names with addresses
 * of the pool, and listeners for the ports of the rules, all of which are handed to a relay
 * outside. With a gateway namespace the sandbox's own holds nothing of that. */
#define PLAN_NET_GATEWAY   0xc6120001U /* 198.18.0.1 */
#define PLAN_NET_SELF      0xc6120002U /* 198.18.0.2 */
#define PLAN_NET_LINK_BITS 30
#define PLAN_NET_POOL      0xc6130000U /* 198.19.0.0/16 */
#define PLAN_NET_POOL_BITS 16
#define PLAN_NET_LO_BITS   15 /* on lo alone: gateway and pool */
#define PLAN_NET_PORTS_MAX 1024
#define PLAN_NET_ANY_PORT  1 /* of that listener; nobody else binds where it is */
struct plan_net {
	bool named;  /* there is such a network; else all below is empty */
	int handoff; /* the socket to the relay, made by the supervisor; not part of the hash */
	const uint16_t *ports;
	uint32_t n_ports;
	bool any_port; /* in place of those: one listener takes what any port is dialled for */
	const uint16_t *host_ports; /* of the sandbox's own 127.0.0.1 */
	uint32_t n_host_ports;
	const struct plan_net_route *routes;
	uint32_t n_routes;
};

/* The first packet over the handoff socket comes with the resolver's sockets, UDP and TCP, and the
 * sandbox's own network namespace; those that follow with listeners, until there are n_ports of
 * them, or the one for any port; an empty one is the last. Before all of them the supervisor may
 * have sent one with listeners of its own. */
enum plan_net_kind {
	PLAN_NET_NONE = 0,
	PLAN_NET_RESOLVER,
	PLAN_NET_LISTENERS,
	PLAN_NET_PUBLISHED,
	PLAN_NET_END,
};
enum plan_net_topology {
	PLAN_NET_GATEWAY_NS = 0,
	PLAN_NET_LOOPBACK, /* the kernel has no veth */
};
struct plan_net_packet {
	uint32_t kind;
	uint32_t topology;
};
