/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "policy/connect.h"
#include "policy/lint-checks.h"

static bool may_connect(const struct lint *l, const struct profile_agent *declared)
{
	const struct policy_agent *agent = agent_widest(l->arena, declared);
	struct request rq = { .action = ACTION_NET_CONNECT, .kind = REQUEST_HOST };
	struct connect_rules rules;
	struct decision d;

	if (l->profile->sandbox.network == PROFILE_NETWORK_NAMED) {
		connect_build(l->arena, l->profile, agent, &rules);
		return connect_network(l->profile, &rules);
	}
	policy_decide(l->profile, agent, &rq, &d);
	return d.verdict == PROFILE_ALLOW;
}

static bool is_loopback(const struct host_addr *a)
{
	static const struct host_addr v4 = { .bytes = { 127 }, .family = 4 };
	static const struct host_addr v6 = { .bytes = { [15] = 1 }, .family = 6 };

	return host_addr_in(a, &v4, 8) || host_addr_in(a, &v6, 128);
}

static void check_published(struct lint *l)
{
	const struct profile_named *n = &l->profile->sandbox.named;

	for (size_t i = 0; i < n->publish.n; i++) {
		const struct profile_publish *p = &n->publish.v[i];

		if (!is_loopback(&p->addr))
			lint_found(l, p->pos, "publish",
				   "'%s' lets other machines reach what listens inside on port %u; "
				   "without an address this host alone does",
				   p->text, p->inside);
	}
}

static void check_unused(struct lint *l)
{
	const struct profile *p = l->profile;

	if (p->sandbox.network == PROFILE_NETWORK_NONE)
		return;
	for (size_t i = 0; i < p->permissions.agents.n; i++) {
		const struct profile_agent *agent = &p->permissions.agents.v[i];

		if (!may_connect(l, agent))
			lint_found(l, p->sandbox.network_pos, "connect",
				   "the sandbox has a network, but agent '%s' (%s) may connect to "
				   "nothing: it gets none",
				   agent->id, lint_where(l, &p->sandbox.network_pos, &agent->pos));
	}
}

static bool ports_overlap(const struct hostpat *a, const struct hostpat *b)
{
	for (size_t i = 0; i < a->n_ranges; i++) {
		for (size_t k = 0; k < b->n_ranges; k++) {
			const struct hostpat_range *x = &a->ranges[i], *y = &b->ranges[k];

			if (x->lo == 0 || y->lo == 0 || (x->lo <= y->hi && y->lo <= x->hi))
				return true;
		}
	}
	return false;
}

/* @name is @suffix, or a name below it. */
static bool is_below(const char *name, const char *suffix, bool itself)
{
	size_t n = strlen(name), m = strlen(suffix);

	if (n <= m)
		return itself && strcmp(name, suffix) == 0;
	return name[n - m - 1] == '.' && strcmp(name + n - m, suffix) == 0;
}

static bool hosts_overlap(const struct hostpat *a, const struct hostpat *b)
{
	if (a->kind > b->kind)
		return hosts_overlap(b, a);
	if (b->kind == HOSTPAT_ANY)
		return true;
	if (a->kind == HOSTPAT_ADDR || b->kind == HOSTPAT_ADDR)
		return a->kind == b->kind &&
		       host_addr_in(&a->addr, &b->addr, a->bits < b->bits ? a->bits : b->bits);
	if (a->kind == HOSTPAT_NAME)
		return b->kind == HOSTPAT_NAME ? strcmp(a->name, b->name) == 0
					       : is_below(a->name, b->name, false);
	return is_below(a->name, b->name, true) || is_below(b->name, a->name, true);
}

static bool is_reached(const struct profile_named *n, const struct hostpat *p)
{
	for (size_t i = 0; i < n->allow.n; i++) {
		const struct hostpat *have = &n->allow.v[i].pattern;

		if (hosts_overlap(have, p) && ports_overlap(have, p))
			return true;
	}
	for (size_t i = 0; i < n->host_ports.n; i++) {
		const struct hostpat lo = connect_host_port(n->host_ports.v[i].port);

		if (hosts_overlap(&lo, p) && ports_overlap(&lo, p))
			return true;
	}
	return false;
}

/* An allow of hosts that the sandbox does not reach. */
static void check_dead(struct lint *l, const struct profile_rule *rule)
{
	const struct profile_sandbox *s = &l->profile->sandbox;

	if (rule->mode != PROFILE_ALLOW || s->network == PROFILE_NETWORK_HOST)
		return;
	for (size_t i = 0; i < rule->hosts.n; i++) {
		if (s->network == PROFILE_NETWORK_NONE)
			lint_found(l, rule->pos, "dead",
				   "'%s' is never connected to: the sandbox has no network",
				   rule->hosts.v[i].text);
		else if (!is_reached(&s->named, &rule->hosts.v[i].pattern))
			lint_found(l, rule->pos, "dead",
				   "'%s' is never connected to: it is not among the hosts that the "
				   "sandbox allows (%s)",
				   rule->hosts.v[i].text,
				   lint_where(l, &rule->pos, &s->network_pos));
	}
}

/* Does the network lead anywhere at all? */
static bool is_open(const struct profile_sandbox *s)
{
	for (size_t i = 0; s->network == PROFILE_NETWORK_NAMED && i < s->named.allow.n; i++) {
		if (s->named.allow.v[i].pattern.kind == HOSTPAT_ANY)
			return true;
	}
	return s->network == PROFILE_NETWORK_HOST;
}

static void check_wide(struct lint *l)
{
	const struct profile_named *n = &l->profile->sandbox.named;

	for (size_t i = 0; i < n->allow.n; i++) {
		if (n->allow.v[i].pattern.kind == HOSTPAT_ANY)
			lint_found(
				l, n->allow.v[i].pos, "wide",
				"'%s' allows every host there is: what is read inside can be sent "
				"anywhere; name the hosts that are needed",
				n->allow.v[i].text);
	}
}

/* Networks in which there is more than was meant. */
static void check_networks(struct lint *l)
{
	static const struct host_addr metadata = { .bytes = { 169, 254, 169, 254 }, .family = 4 };
	static const struct host_addr v4 = { .bytes = { 127, 0, 0, 1 }, .family = 4 };
	static const struct host_addr v6 = { .bytes = { [15] = 1 }, .family = 6 };
	const struct profile_named *n = &l->profile->sandbox.named;

	for (size_t i = 0; i < n->allow.n; i++) {
		const struct hostpat *p = &n->allow.v[i].pattern;

		if (p->kind == HOSTPAT_ADDR && host_addr_in(&metadata, &p->addr, p->bits))
			lint_found(l, n->allow.v[i].pos, "hosts",
				   "'%s' holds 169.254.169.254, where clouds keep the credentials "
				   "of a machine, and an entry is meant as it is written",
				   n->allow.v[i].text);
		else if (p->kind == HOSTPAT_ADDR && p->bits < 8)
			lint_found(l, n->allow.v[i].pos, "hosts",
				   "'%s' is a large part of all addresses, private ones too",
				   n->allow.v[i].text);
	}
	for (size_t i = 0; i < n->private_ranges.n; i++) {
		const struct profile_range *r = &n->private_ranges.v[i];

		if (host_addr_in(&v4, &r->net, r->bits) || host_addr_in(&v6, &r->net, r->bits))
			lint_found(l, l->profile->sandbox.network_pos, "hosts",
				   "private_ranges: '%s' holds the host's own loopback: whoever "
				   "owns a listed name decides which of its ports are reached; "
				   "host_ports names them",
				   r->text);
	}
}

static bool may_read(const struct lint *l, const struct profile_agent *declared,
		     const struct profile_root *root)
{
	const struct policy_agent *agent = agent_widest(l->arena, declared);
	struct tree_access tree, file;

	policy_root_access(l->profile, agent, root, false, &tree);
	policy_root_access(l->profile, agent, root, true, &file);
	return tree.read || file.read;
}

static void check_sensitive(struct lint *l, const struct profile_root *root)
{
	const struct profile_permissions *p = &l->profile->permissions;

	for (size_t i = 0; i < p->agents.n; i++) {
		const struct profile_agent *agent = &p->agents.v[i];

		if (may_connect(l, agent) && may_read(l, agent, root))
			lint_found(
				l, root->pos, "sensitive",
				"root '%s' is labelled sensitive, and agent '%s' (%s) may read it "
				"and has a network (%s) that leads anywhere: what it reads can "
				"leave",
				root->at, agent->id, lint_where(l, &root->pos, &agent->pos),
				lint_where(l, &root->pos, &l->profile->sandbox.network_pos));
	}
}

void lint_network(struct lint *l)
{
	const struct profile *p = l->profile;

	check_unused(l);
	check_published(l);
	check_wide(l);
	check_networks(l);
	for (size_t i = 0; i < p->permissions.agents.n; i++) {
		const struct profile_agent *agent = &p->permissions.agents.v[i];

		for (size_t k = 0; k < agent->rules.n; k++)
			check_dead(l, &agent->rules.v[k]);
	}
	for (size_t i = 0; is_open(&p->sandbox) && i < p->sandbox.roots.n; i++) {
		if (p->sandbox.roots.v[i].sensitive)
			check_sensitive(l, &p->sandbox.roots.v[i]);
	}
}
