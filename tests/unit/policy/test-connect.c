/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "policy/connect.h"

#include "base/macro.h"
#include "tap.h"
#include "world.h"

static const char text[] =
	"sandbox:\n"
	"  network:\n"
	"    allow:\n"
	"      - example.org\n"
	"      - \"*.example.net:443\"\n"
	"      - {host: \"ssh.example.org:22,443\", tls: off}\n"
	"      - 192.0.2.0/24:8000-8002\n"
	"      - sub.example.com:443\n"
	"    deny: [bad.example.net, \"example.org:80\", 192.0.2.9]\n"
	"permissions:\n"
	"  agents:\n"
	"    all: allow\n"
	"    none: {rules: []}\n"
	"    some:\n"
	"      rules:\n"
	"        - {operations: [connect], hosts: [\"a.example.net:443\"], mode: deny}\n"
	"        - {operations: [connect], hosts: [\"*.example.net:443\"], mode: allow}\n"
	"        - {operations: [connect], hosts: [\"evil.test\"], mode: allow}\n"
	"    asks:\n"
	"      rules: [{operations: [connect], hosts: [\"*\"], mode: interrupt}]\n";

static const struct {
	const char *agent, *host;
	enum profile_verdict verdict;
	unsigned layer;
} rows[] = {
	{ "all", "example.org:443", PROFILE_ALLOW, 0 },
	{ "all", "EXAMPLE.org.:443", PROFILE_ALLOW, 0 },
	{ "all", "example.org:80", PROFILE_DENY, 0 },
	{ "all", "example.org:22", PROFILE_DENY, 0 },
	{ "all", "www.example.org:443", PROFILE_DENY, 0 },
	{ "all", "a.b.example.net:443", PROFILE_ALLOW, 0 },
	{ "all", "example.net:443", PROFILE_DENY, 0 },
	{ "all", "bad.example.net:443", PROFILE_DENY, 0 },
	{ "all", "ssh.example.org:22", PROFILE_ALLOW, 0 },
	{ "all", "192.0.2.8:8001", PROFILE_ALLOW, 0 },
	{ "all", "192.0.2.8:8003", PROFILE_DENY, 0 },
	{ "all", "192.0.2.9:8001", PROFILE_DENY, 0 },
	{ "some", "b.example.net:443", PROFILE_ALLOW, 0 },
	{ "some", "a.example.net:443", PROFILE_DENY, 1 },
	{ "some", "example.org:443", PROFILE_DENY, 1 },
	{ "some", "evil.test:443", PROFILE_DENY, 0 },
	{ "none", "example.org:443", PROFILE_DENY, 1 },
	{ "none", "evil.test:443", PROFILE_DENY, 0 },
	{ "asks", "example.org:443", PROFILE_INTERRUPT, 1 },
	{ "asks", "evil.test:443", PROFILE_DENY, 0 },
};

static void test_decide(struct tap *t, const struct world *w)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct arena a = { 0 };
		struct connect_rules rules;
		struct connect_answer got;
		struct host_target host;

		connect_build(&a, w->profile,
			      agent_alone(&a, profile_agent_find(w->profile, rows[i].agent)),
			      &rules);
		tap_ok(t, hostpat_target(rows[i].host, &host) == NULL, "%s", rows[i].host);
		connect_decide(&rules, &host, &got);
		tap_ok(t, got.verdict == rows[i].verdict && got.layer == rows[i].layer,
		       "%s %s: %d by layer %u", rows[i].agent, rows[i].host, got.verdict,
		       got.layer);
		arena_free(&a);
	}
}

static void test_names(struct tap *t, const struct world *w)
{
	static const struct {
		const char *agent, *name;
		enum profile_verdict verdict;
		unsigned layer;
	} names[] = {
		{ "all", "example.org", PROFILE_ALLOW, 0 },
		{ "all", "x.example.net", PROFILE_ALLOW, 0 },
		{ "all", "bad.example.net", PROFILE_DENY, 0 },
		{ "all", "example.net", PROFILE_DENY, 0 },
		{ "all", "evil.test", PROFILE_DENY, 0 },
		{ "all", "ssh.example.org", PROFILE_ALLOW, 0 },
		{ "all", "evil.example.org", PROFILE_DENY, 0 },
		{ "none", "example.org", PROFILE_DENY, 1 },
		{ "none", "evil.test", PROFILE_DENY, 0 },
		{ "some", "a.example.net", PROFILE_DENY, 1 },
		{ "some", "b.example.net", PROFILE_ALLOW, 0 },
		{ "some", "evil.test", PROFILE_DENY, 0 },
		{ "asks", "example.org", PROFILE_INTERRUPT, 1 },
		{ "asks", "bad.example.net", PROFILE_DENY, 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct arena a = { 0 };
		struct connect_rules rules;
		struct connect_answer got;
		const uint16_t *ports;
		bool any;
		size_t n;

		connect_build(&a, w->profile,
			      agent_alone(&a, profile_agent_find(w->profile, names[i].agent)),
			      &rules);
		n = connect_ports(&a, &w->profile->sandbox.named, &ports, &any);
		tap_ok(t, n == 6 && !any && ports[0] == 22 && ports[5] == 8002, "%zu ports", n);
		connect_decide_name(&rules, names[i].name, ports, n, &got);
		tap_ok(t, got.verdict == names[i].verdict && got.layer == names[i].layer,
		       "the name %s %s: %d by layer %u", names[i].agent, names[i].name, got.verdict,
		       got.layer);
		arena_free(&a);
	}
}

static const char any_text[] =
	"sandbox:\n"
	"  network:\n"
	"    allow: [\"all.test:*\", \"one.test:443\", \"most.test:*\"]\n"
	"    deny: [\"most.test:1-79\", \"most.test:81-65535\", \"all.test:1\"]\n"
	"permissions:\n"
	"  agents:\n"
	"    all: allow\n"
	"    none:\n"
	"      rules:\n"
	"        - {operations: [connect], hosts: [\"most.test:81-90\"], "
	"mode: allow}\n";

/* Among the edges is a port that is allowed, if there is any. */
static void test_any_port(struct tap *t, struct world *w)
{
	static const struct {
		const char *agent, *name;
		enum profile_verdict verdict;
	} names[] = {
		{ "all", "all.test", PROFILE_ALLOW },  { "all", "one.test", PROFILE_ALLOW },
		{ "all", "most.test", PROFILE_ALLOW }, { "all", "evil.test", PROFILE_DENY },
		{ "none", "all.test", PROFILE_DENY },  { "none", "most.test", PROFILE_DENY },
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct arena a = { 0 };
		struct connect_rules rules;
		struct connect_answer got;
		const uint16_t *ports;
		uint16_t *edges;
		bool any;
		size_t n;

		connect_build(&a, w->profile,
			      agent_alone(&a, profile_agent_find(w->profile, names[i].agent)),
			      &rules);
		(void)connect_ports(&a, &w->profile->sandbox.named, &ports, &any);
		edges = arena_array(&a, CONNECT_EDGES_MAX(rules.n), sizeof(*edges));
		n = connect_edges(&rules, edges);
		tap_ok(t, any && n > 0 && n <= CONNECT_EDGES_MAX(rules.n), "any port: %zu edges",
		       n);
		connect_decide_name(&rules, names[i].name, edges, n, &got);
		tap_ok(t, got.verdict == names[i].verdict, "any port: the name %s %s: %d",
		       names[i].agent, names[i].name, got.verdict);
		arena_free(&a);
	}
}

int main(void)
{
	struct connect_rules none = { 0 };
	struct connect_answer got;
	struct host_target host;
	struct tap t = { 0 };
	struct world w;

	world_open(&w);
	world_parse(&w, text);
	test_decide(&t, &w);
	test_names(&t, &w);
	world_parse(&w, any_text);
	test_any_port(&t, &w);
	world_close(&w);
	(void)!hostpat_target("example.org", &host);
	connect_decide(&none, &host, &got);
	tap_int(&t, got.verdict, PROFILE_DENY, "zero allows nothing");
	return tap_done(&t);
}
