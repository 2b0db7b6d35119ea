/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "policy/connect.h"

#include <string.h>

/* The strictest first, which is the order of the enum. */
static void take_layer(struct connect_answer *a, unsigned layer, enum profile_verdict verdict)
{
	if (verdict >= a->verdict)
		return;
	a->verdict = verdict;
	a->layer = layer;
}

void connect_decide(const struct connect_rules *r, const struct host_target *t,
		    struct connect_answer *ret)
{
	size_t i = 0;

	*ret = (struct connect_answer){ .verdict = PROFILE_DENY };
	if (r->layers == 0 || t->port == 0)
		return;
	ret->verdict = PROFILE_ALLOW;
	for (unsigned layer = 0; layer < r->layers; layer++) {
		enum profile_verdict verdict = PROFILE_DENY;

		while (i < r->n && r->rules[i].layer < layer)
			i++;
		for (; i < r->n && r->rules[i].layer == layer; i++) {
			const struct connect_rule *rule = &r->rules[i];

			if (!hostpat_match(&rule->host, t))
				continue;
			verdict = rule->verdict;
			if (layer == 0) {
				ret->tls = rule->tls;
				ret->literal = rule->host.kind == HOSTPAT_ADDR;
			}
			break;
		}
		take_layer(ret, layer, verdict);
	}
}

void connect_decide_name(const struct connect_rules *r, const char *name, const uint16_t *ports,
			 size_t n_ports, struct connect_answer *ret)
{
	struct host_target t = { 0 };
	bool named = false;

	*ret = (struct connect_answer){ .verdict = PROFILE_DENY };
	(void)memccpy(t.name, name, '\0', sizeof(t.name) - 1);
	/* Most names that are asked for are in no list at all. */
	for (size_t i = 0; i < r->n && r->rules[i].layer == 0 && !named; i++)
		named = r->rules[i].verdict == PROFILE_ALLOW &&
			hostpat_match_host(&r->rules[i].host, &t);
	for (size_t i = 0; named && i < n_ports && ret->verdict != PROFILE_ALLOW; i++) {
		struct connect_answer answer;

		t.port = ports[i];
		connect_decide(r, &t, &answer);
		if (answer.verdict > ret->verdict ||
		    (answer.verdict == ret->verdict && answer.layer > ret->layer))
			*ret = answer;
	}
}

static size_t add_edge(uint16_t *ports, size_t n, unsigned port)
{
	if (port < 1 || port > UINT16_MAX)
		return n;
	for (size_t i = 0; i < n; i++) {
		if (ports[i] == port)
			return n;
	}
	ports[n] = (uint16_t)port;
	return n + 1;
}

size_t connect_edges(const struct connect_rules *r, uint16_t *ret)
{
	size_t n = add_edge(ret, 0, 1);

	for (size_t i = 0; i < r->n; i++) {
		const struct hostpat *p = &r->rules[i].host;

		for (size_t k = 0; k < p->n_ranges; k++) {
			n = add_edge(ret, n, p->ranges[k].lo);
			n = add_edge(ret, n, p->ranges[k].hi + 1U);
		}
	}
	return n;
}

typedef ARRAY_OF(struct connect_rule) connect_list;

static void add_hosts(struct arena *a, connect_list *list, const struct profile_net_host *hosts,
		      size_t n, enum profile_verdict verdict)
{
	for (size_t i = 0; i < n; i++) {
		struct connect_rule *rule = array_push(a, list);

		rule->host = hosts[i].pattern;
		rule->verdict = (uint8_t)verdict;
		rule->tls = (uint8_t)hosts[i].tls;
	}
}

static const struct hostpat everything = { .kind = HOSTPAT_ANY,
					   .n_ranges = 1,
					   .ranges = { { 0, UINT16_MAX } } };

static void add_rule(struct arena *a, connect_list *list, unsigned layer,
		     const struct hostpat *host, enum profile_verdict verdict)
{
	*array_push(a, list) = (struct connect_rule){ .host = *host,
						      .layer = (uint8_t)layer,
						      .verdict = (uint8_t)verdict };
}

struct hostpat connect_host_port(uint16_t port)
{
	return (struct hostpat){ .kind = HOSTPAT_ADDR,
				 .addr = { .bytes = { 127, 0, 0, 1 }, .family = 4 },
				 .bits = 32,
				 .n_ranges = 1,
				 .ranges = { { port, port } } };
}

static void add_host_ports(struct arena *a, connect_list *list, const struct profile_named *n)
{
	for (size_t i = 0; i < n->host_ports.n; i++) {
		const struct hostpat lo = connect_host_port(n->host_ports.v[i].port);

		add_rule(a, list, 0, &lo, PROFILE_ALLOW);
	}
}

static void add_agent(struct arena *a, connect_list *list, unsigned layer,
		      const struct agent_rules *agent)
{
	for (size_t i = 0; i < agent->rules.n; i++) {
		const struct profile_rule *r = &agent->rules.v[i];

		if ((r->actions & ACTION_BIT(ACTION_NET_CONNECT)) == 0)
			continue;
		if (r->any_host)
			add_rule(a, list, layer, &everything, r->mode);
		for (size_t k = 0; k < r->hosts.n; k++)
			add_rule(a, list, layer, &r->hosts.v[k].pattern, r->mode);
	}
}

void connect_build(struct arena *a, const struct profile *p, const struct policy_agent *agent,
		   struct connect_rules *ret)
{
	const struct profile_named *n = &p->sandbox.named;
	connect_list list = { 0 };

	*ret = (struct connect_rules){ 0 };
	if (p->sandbox.network != PROFILE_NETWORK_NAMED || agent->lists.n == 0 ||
	    agent->lists.n >= CONNECT_LAYERS_MAX)
		return;
	/* In this order, deny beats allow. */
	add_hosts(a, &list, n->deny.v, n->deny.n, PROFILE_DENY);
	add_host_ports(a, &list, n);
	add_hosts(a, &list, n->allow.v, n->allow.n, PROFILE_ALLOW);
	for (size_t i = 0; i < agent->lists.n; i++)
		add_agent(a, &list, (unsigned)i + 1, &agent->lists.v[i]);
	*ret = (struct connect_rules){ .rules = list.v,
				       .n = list.n,
				       .layers = (unsigned)agent->lists.n + 1 };
}

bool connect_any(const struct connect_rules *r)
{
	unsigned seen = 0;

	/* By layers, ascending. */
	for (size_t i = 0; i < r->n; i++) {
		if (r->rules[i].layer == seen && r->rules[i].verdict != PROFILE_DENY)
			seen++;
	}
	return r->layers > 0 && seen == r->layers;
}

bool connect_network(const struct profile *p, const struct connect_rules *r)
{
	return p->sandbox.network == PROFILE_NETWORK_NAMED &&
	       (p->sandbox.named.publish.n > 0 || connect_any(r));
}

const char *connect_outside(struct arena *a, const struct profile *p,
			    const struct policy_agent *agent, const struct host_target *t)
{
	struct connect_rules rules;
	struct connect_answer answer;

	switch (p->sandbox.network) {
	case PROFILE_NETWORK_HOST:
		return NULL;
	case PROFILE_NETWORK_NAMED:
		connect_build(a, p, agent, &rules);
		connect_decide(&rules, t, &answer);
		return answer.verdict != PROFILE_ALLOW && answer.layer == 0
			       ? "not among the sandbox's hosts"
			       : NULL;
	case PROFILE_NETWORK_NONE:
		break;
	}
	return "the sandbox has no network";
}

size_t connect_ports(struct arena *a, const struct profile_named *n, const uint16_t **ret,
		     bool *ret_any)
{
	uint8_t *seen = arena_alloc(a, UINT16_MAX + 1);
	ARRAY_OF(uint16_t) ports = { 0 };

	*ret_any = false;
	for (size_t i = 0; i < n->allow.n; i++) {
		const struct hostpat *p = &n->allow.v[i].pattern;

		for (size_t k = 0; k < p->n_ranges; k++) {
			if (p->ranges[k].lo == 0) {
				*ret_any = true;
				continue;
			}
			memset(seen + p->ranges[k].lo, 1,
			       (size_t)p->ranges[k].hi - p->ranges[k].lo + 1);
		}
	}
	for (unsigned port = 1; port <= UINT16_MAX; port++) {
		if (seen[port])
			*array_push(a, &ports) = (uint16_t)port;
	}
	*ret = ports.v;
	return ports.n;
}
