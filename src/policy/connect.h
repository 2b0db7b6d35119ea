/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* connect - what an agent may connect to, as flat data that a process without the profile can
 * judge by.
 *
 * The sandbox's own list is one layer, the rules of each principal are one more; a connection must
 * be allowed by all of them. In a layer the first rule that matches says it, and none is no. Pure:
 * nothing is looked up, and names are compared as they were asked for. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/hostpat.h"
#include "policy/agent.h"
#include "profile/profile.h"

#define CONNECT_LAYERS_MAX 32

struct connect_rule {
	struct hostpat host;
	uint8_t layer;   /* 0: the sandbox; ascending */
	uint8_t verdict; /* enum profile_verdict */
	uint8_t tls;     /* enum profile_tls, of an allow of the sandbox */
};

struct connect_rules {
	const struct connect_rule *rules;
	size_t n;
	unsigned layers; /* 0: nothing is allowed */
};

struct connect_answer {
	enum profile_verdict verdict; /* the strictest of the layers */
	unsigned layer;               /* that said it, if it is not an allow */
	enum profile_tls tls;         /* of an allow */
	bool literal; /* the sandbox names this very address, or a network that holds it */
};

void connect_decide(const struct connect_rules *r, const struct host_target *t,
		    struct connect_answer *ret);

/* connect_decide_name() - the best answer that any port of @name has; of two denials that of the
 * later layer, for the sandbox has the name then. @ports: those that exist. */
void connect_decide_name(const struct connect_rules *r, const char *name, const uint16_t *ports,
			 size_t n_ports, struct connect_answer *ret);

/* connect_edges() - ports of which one has the best answer that any port has, for every name: an
 * answer changes only where a rule's range begins or has ended. @ret: CONNECT_EDGES_MAX(r->n) of
 * them. Return: how many there are. */
#define CONNECT_EDGES_MAX(n_rules) (1 + (n_rules)*HOSTPAT_RANGES_MAX * 2)
size_t connect_edges(const struct connect_rules *r, uint16_t *ret);

/* connect_host_port() - what names a port of network.host_ports: 127.0.0.1 and that port. */
struct hostpat connect_host_port(uint16_t port);

/* connect_build() - the rules of a sandbox with a network of names, for one agent as it asks. More
 * principals than there are layers: nothing is allowed. */
void connect_build(struct arena *a, const struct profile *p, const struct policy_agent *agent,
		   struct connect_rules *ret);

/* connect_any() - every principal may connect to something, and the sandbox lists something. */
bool connect_any(const struct connect_rules *r);

/* connect_network() - there is a network of names at all: for one of these reasons, or because the
 * sandbox publishes a port, which asks no agent. */
bool connect_network(const struct profile *p, const struct connect_rules *r);

/* connect_outside() - what the sandbox says against a host that the agent's rules allow, in words
 * for the caller; NULL: nothing. What the relay of a run would say; where a name leads is not
 * looked up. */
const char *connect_outside(struct arena *a, const struct profile *p,
			    const struct policy_agent *agent, const struct host_target *t);

/* connect_ports() - the ports that the sandbox's list names, ascending, each once; in @a.
 * *ret_any: any port is among them, which no list can hold. Return: how many. */
size_t connect_ports(struct arena *a, const struct profile_named *n, const uint16_t **ret,
		     bool *ret_any);
