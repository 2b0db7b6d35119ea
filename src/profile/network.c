/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>

#include "profile/block.h"

/* Of the listeners that the ports of all entries need, and of entries. */
#define HOSTS_MAX 4096

struct entry_text {
	const struct yaml_pair *host;
	enum profile_tls tls;
};

static const struct schema_word tls_words[] = { { "check", PROFILE_TLS_CHECK },
						{ "off", PROFILE_TLS_OFF },
						{ "raw", PROFILE_TLS_RAW },
						{ NULL, 0 } };

static const struct schema_row entry_rows[] = {
	{ .key = "host",
	  .parse = schema_parse_pair,
	  .offset = offsetof(struct entry_text, host),
	  .type = "host, with ports or without",
	  .required = "an entry of 'allow' needs a 'host', as in github.com:443",
	  .help = "NAME, *.SUFFIX, an IPv4 address or network; then :PORTS, else 80 and 443" },
	{ .key = "tls",
	  .parse = schema_parse_word,
	  .offset = offsetof(struct entry_text, tls),
	  .words = tls_words,
	  .type = "word",
	  .help = "check (default): TLS on 443 and HTTP on 80 must name the host; off: HTTP on 80 "
		  "alone; raw: neither" },
};
static const struct schema_map entry_map = SCHEMA_MAP("an entry of allow", entry_rows);

static int parse_pattern(struct schema_ctx *c, const char *key, const struct yaml_node *n,
			 struct profile_net_host *h)
{
	const char *wrong;

	if (schema_scalar(c, key, n, &h->text) != 0)
		return -1;
	h->pos = schema_pos(c, n);
	wrong = hostpat_parse(h->text, &h->pattern);
	if (wrong != NULL)
		return schema_fail(c, n, "'%s': '%.200s': %s", key, h->text, wrong);
	return 0;
}

/* What a program that dials it would not reach, or not on its way through the relay. */
static const struct {
	struct host_addr net;
	uint8_t bits;
	const char *why;
} never[] = {
	{ { .bytes = { 127 }, .family = 4 },
	  8,
	  "inside, this is the sandbox's own loopback: host_ports reaches a port of the host's" },
	{ { .bytes = { 198, 18 }, .family = 4 },
	  15,
	  "the sandbox's own network has these addresses: a name that leads there needs "
	  "private_ranges" },
	{ { .bytes = { 0 }, .family = 4 }, 8, "no host has such an address" },
	{ { .bytes = { 224 }, .family = 4 }, 3, "no host has such an address" },
};

static const char *entry_wrong(const struct hostpat *p)
{
	if (p->kind != HOSTPAT_ADDR)
		return NULL;
	if (p->bits == 0)
		return "every address there is: *:443 says so for one port, without those that are "
		       "not public";
	if (p->addr.family == 6)
		return "an IPv6 address cannot be dialled from inside: allow it by a name";
	for (size_t i = 0; i < ARRAY_SIZE(never); i++) {
		if (host_addr_in(&p->addr, &never[i].net, never[i].bits) ||
		    host_addr_in(&never[i].net, &p->addr, p->bits))
			return never[i].why;
	}
	return NULL;
}

static int allow_add(struct schema_ctx *c, const char *key, const struct yaml_node *n, void *out)
{
	struct profile_named *named = out;
	struct profile_net_host h = { 0 };
	struct entry_text t = { 0 };
	const struct yaml_node *host = n;
	const char *wrong;

	if (n->kind == YAML_MAP) {
		if (schema_walk(c, &entry_map, n, &t) != 0)
			return -1;
		host = t.host->value;
	}
	if (parse_pattern(c, key, host, &h) != 0)
		return -1;
	h.tls = t.tls;
	wrong = hostpat_too_wide(&h.pattern);
	if (wrong == NULL)
		wrong = entry_wrong(&h.pattern);
	if (wrong != NULL)
		return schema_fail(c, host, "'%s': '%.200s': %s", key, h.text, wrong);
	if (named->allow.n == HOSTS_MAX)
		return schema_fail(c, host, "'%s' has more than %d entries", key, HOSTS_MAX);
	*array_push(c->a, &named->allow) = h;
	return 0;
}

static int deny_add(struct schema_ctx *c, const char *key, const struct yaml_node *n, void *out)
{
	struct profile_named *named = out;
	struct profile_net_host h = { 0 };

	if (parse_pattern(c, key, n, &h) != 0)
		return -1;
	/* A deny without ports is about the host, not about two ports of it. */
	if (!h.pattern.has_ports) {
		h.pattern.n_ranges = 1;
		h.pattern.ranges[0] = (struct hostpat_range){ 0, UINT16_MAX };
	}
	if (named->deny.n == HOSTS_MAX)
		return schema_fail(c, n, "'%s' has more than %d entries", key, HOSTS_MAX);
	*array_push(c->a, &named->deny) = h;
	return 0;
}

static int range_add(struct schema_ctx *c, const char *key, const struct yaml_node *n, void *out)
{
	struct profile_named *named = out;
	struct profile_range *r = array_push(c->a, &named->private_ranges);
	struct hostpat p = { 0 };
	const char *text;

	if (schema_scalar(c, key, n, &r->text) != 0)
		return -1;
	/* IPv6 in brackets is how patterns are written; a range has no port to tell it from. */
	text = strchr(r->text, ':') != NULL ? arena_printf(c->a, "[%s]", r->text) : r->text;
	if (hostpat_parse(text, &p) != NULL || p.kind != HOSTPAT_ADDR || p.has_ports)
		return schema_fail(c, n,
				   "'%s': '%.200s' must be a network, as 10.0.0.0/8 or fd00::/8, "
				   "without bits after its length",
				   key, r->text);
	r->net = p.addr;
	r->bits = p.bits;
	return 0;
}

/* The number of a port, all of @text up to @n. */
static bool port_read(const char *text, size_t n, uint16_t *ret)
{
	unsigned v = 0;

	if (n == 0 || n > 5 || strspn(text, "0123456789") < n || text[0] == '0')
		return false;
	for (size_t i = 0; i < n; i++)
		v = v * 10 + (unsigned)(text[i] - '0');
	*ret = (uint16_t)v;
	return v <= UINT16_MAX;
}

/* PORT, PORT:INSIDE or ADDRESS:PORT:INSIDE. */
static bool publish_read(const char *text, struct profile_publish *p)
{
	bool bracket = text[0] == '[';
	const char *colon = strrchr(text, ':');
	const char *port = text;
	const char *end;

	p->addr = (struct host_addr){ .bytes = { 127, 0, 0, 1 }, .family = 4 };
	if (colon == NULL)
		colon = text - 1;
	if (!port_read(colon + 1, strlen(colon + 1), &p->inside))
		return false;
	p->port = p->inside;
	if (colon < text)
		return true;
	end = bracket ? strchr(text, ']') : memchr(text, ':', (size_t)(colon - text));
	if (bracket && (end == NULL || *++end != ':'))
		return false;
	if (end != NULL && end < colon) {
		port = end + 1;
		if (!hostpat_addr(text + bracket, (size_t)(end - text) - 2 * (size_t)bracket,
				  &p->addr) ||
		    (p->addr.family == 6) != bracket)
			return false;
	}
	return port_read(port, (size_t)(colon - port), &p->port);
}

static int publish_add(struct schema_ctx *c, const char *key, const struct yaml_node *n, void *out)
{
	struct profile_named *named = out;
	struct profile_publish p = { 0 };

	if (schema_scalar(c, key, n, &p.text) != 0)
		return -1;
	p.pos = schema_pos(c, n);
	if (!publish_read(p.text, &p))
		return schema_fail(c, n,
				   "'%s': '%.200s' must be PORT, PORT:INSIDE or "
				   "ADDRESS:PORT:INSIDE, as 8080 or 127.0.0.1:9000:3000",
				   key, p.text);
	for (size_t i = 0; i < named->publish.n; i++) {
		const struct profile_publish *other = &named->publish.v[i];

		if (other->port == p.port && memcmp(&other->addr, &p.addr, sizeof(p.addr)) == 0)
			return schema_fail(c, n,
					   "'%s': '%.200s': port %u is published already (%s)", key,
					   p.text, p.port, schema_where(c, n->file, &other->pos));
	}
	if (named->publish.n == PROFILE_PUBLISH_MAX)
		return schema_fail(c, n, "'%s' has more than %d entries", key, PROFILE_PUBLISH_MAX);
	*array_push(c->a, &named->publish) = p;
	return 0;
}

static int host_port_add(struct schema_ctx *c, const char *key, const struct yaml_node *n,
			 void *out)
{
	struct profile_named *named = out;
	struct profile_host_port h = { .pos = schema_pos(c, n) };
	const char *text;

	if (schema_scalar(c, key, n, &text) != 0)
		return -1;
	if (!port_read(text, strlen(text), &h.port))
		return schema_fail(c, n, "'%s': '%.200s' must be a port, from 1 to 65535", key,
				   text);
	for (size_t i = 0; i < named->host_ports.n; i++) {
		if (named->host_ports.v[i].port == h.port)
			return schema_fail(c, n, "'%s': port %u stands there twice (%s)", key,
					   h.port,
					   schema_where(c, n->file, &named->host_ports.v[i].pos));
	}
	if (named->host_ports.n == PROFILE_HOST_PORTS_MAX)
		return schema_fail(c, n, "'%s' has more than %d entries", key,
				   PROFILE_HOST_PORTS_MAX);
	*array_push(c->a, &named->host_ports) = h;
	return 0;
}

static int parse_allow(struct schema_ctx *c, const struct schema_row *row,
		       const struct yaml_pair *p, void *field)
{
	(void)row;
	return schema_each(c, p, allow_add, field);
}

static int parse_deny(struct schema_ctx *c, const struct schema_row *row, const struct yaml_pair *p,
		      void *field)
{
	(void)row;
	return schema_each(c, p, deny_add, field);
}

static int parse_ranges(struct schema_ctx *c, const struct schema_row *row,
			const struct yaml_pair *p, void *field)
{
	(void)row;
	return schema_each(c, p, range_add, field);
}

static int parse_publish(struct schema_ctx *c, const struct schema_row *row,
			 const struct yaml_pair *p, void *field)
{
	(void)row;
	return schema_each(c, p, publish_add, field);
}

static int parse_host_ports(struct schema_ctx *c, const struct schema_row *row,
			    const struct yaml_pair *p, void *field)
{
	(void)row;
	return schema_each(c, p, host_port_add, field);
}

struct proxy_text {
	const struct yaml_pair *url;
	const char *credentials;
};

static const struct schema_row proxy_rows[] = {
	{ .key = "url",
	  .parse = schema_parse_pair,
	  .offset = offsetof(struct proxy_text, url),
	  .type = "text",
	  .required = "'upstream_proxy' needs a 'url', as in http://proxy.example.org:3128",
	  .help = "http://HOST:PORT" },
	{ .key = "credentials",
	  .parse = schema_parse_text,
	  .offset = offsetof(struct proxy_text, credentials),
	  .type = "text",
	  .help = "name of the caller's variable that holds USER:PASSWORD for it" },
};
static const struct schema_map proxy_map = SCHEMA_MAP("upstream_proxy", proxy_rows);

/* Return: NULL, or what is wrong with it. */
static const char *proxy_read(struct arena *a, const char *url, struct host_target *ret)
{
	static const char scheme[] = "http://";
	const char *host = url + sizeof(scheme) - 1;
	const char *colon, *wrong;
	size_t n;

	if (strncmp(url, scheme, sizeof(scheme) - 1) != 0)
		return "it is written as http://HOST:PORT: the connection to the proxy itself is "
		       "plain, what goes through it is not";
	n = strlen(host);
	if (n > 0 && host[n - 1] == '/')
		n--;
	host = arena_printf(a, "%.*s", (int)n, host);
	if (strchr(host, '@') != NULL)
		return "a profile is no place for a password: name a variable of the caller's with "
		       "'credentials'";
	colon = strrchr(host, ':');
	if (colon == NULL || strchr(colon, ']') != NULL)
		return "it needs a port, as in http://proxy.example.org:3128";
	wrong = hostpat_target(host, ret);
	return wrong;
}

static int parse_proxy(struct schema_ctx *c, const struct schema_row *row,
		       const struct yaml_pair *p, void *field)
{
	struct profile_proxy *proxy = &((struct profile_named *)field)->proxy;
	const struct yaml_node *n = p->value;
	struct proxy_text t = { 0 };
	const char *wrong;

	if (n->kind == YAML_MAP) {
		if (schema_walk(c, row->sub, n, &t) != 0)
			return -1;
		n = t.url->value;
	}
	if (schema_scalar(c, row->key, n, &proxy->url) != 0)
		return -1;
	proxy->pos = schema_pos(c, n);
	proxy->credentials = t.credentials;
	wrong = proxy_read(c->a, proxy->url, &proxy->host);
	if (wrong != NULL)
		return schema_fail(c, n, "'%s': %s", row->key, wrong);
	return 0;
}

static const struct schema_row rows[] = {
	{ .key = "allow",
	  .parse = parse_allow,
	  .shape = SCHEMA_SHAPE_LIST,
	  .sub = &entry_map,
	  .type = "list of hosts or maps",
	  .help = "hosts that programs may connect to, and no others" },
	{ .key = "deny",
	  .parse = parse_deny,
	  .shape = SCHEMA_SHAPE_LIST,
	  .type = "list of hosts",
	  .help = "hosts that they may not, whatever 'allow' says" },
	{ .key = "private_ranges",
	  .parse = parse_ranges,
	  .shape = SCHEMA_SHAPE_LIST,
	  .type = "list of networks",
	  .help = "addresses that are not public, but to which a name may lead all the same" },
	{ .key = "publish",
	  .parse = parse_publish,
	  .shape = SCHEMA_SHAPE_LIST,
	  .type = "list of ports",
	  .help = "PORT, PORT:INSIDE or ADDRESS:PORT:INSIDE: ports of the host, of 127.0.0.1 where "
		  "no address stands, that lead to programs inside" },
	{ .key = "host_ports",
	  .parse = parse_host_ports,
	  .shape = SCHEMA_SHAPE_LIST,
	  .type = "list of ports",
	  .help = "ports of the host's own 127.0.0.1 that programs reach at the same port of "
		  "theirs" },
	{ .key = "upstream_proxy",
	  .parse = parse_proxy,
	  .sub = &proxy_map,
	  .type = "text, or a map",
	  .help = "http://HOST:PORT of the proxy of the host's network that connections go "
		  "through" },
};

const struct schema_map block_network_map = SCHEMA_MAP("sandbox.network", rows);

static const struct schema_word words[] = { { "none", PROFILE_NETWORK_NONE },
					    { "host", PROFILE_NETWORK_HOST },
					    { NULL, 0 } };

/* One socket listens for each port. */
static int ports_check(struct schema_ctx *c, const struct yaml_node *n,
		       const struct profile_named *named)
{
	uint8_t *seen = arena_alloc(c->a, UINT16_MAX + 1);
	size_t count = 0;

	for (size_t i = 0; i < named->allow.n; i++) {
		const struct profile_net_host *h = &named->allow.v[i];

		for (size_t k = 0; k < h->pattern.n_ranges; k++) {
			const struct hostpat_range *r = &h->pattern.ranges[k];

			/* Any: they are all one socket's. */
			if (r->lo == 0)
				continue;
			if (r->lo <= 53 && r->hi >= 53)
				return schema_fail(
					c, n,
					"'allow': '%.200s' (line %u): port 53 is that of "
					"the sandbox's own resolver",
					h->text, h->pos.line);
			for (unsigned port = r->lo; port <= r->hi; port++) {
				count += seen[port] == 0;
				seen[port] = 1;
			}
		}
	}
	if (count > PROFILE_PORTS_MAX)
		return schema_fail(c, n, "'allow' names %zu different ports; the most is %d", count,
				   PROFILE_PORTS_MAX);
	return 0;
}

/* One port of the sandbox's lo leads out or in, not both. */
static int lo_check(struct schema_ctx *c, const struct yaml_node *n,
		    const struct profile_named *named)
{
	for (size_t i = 0; i < named->publish.n; i++) {
		const struct profile_publish *p = &named->publish.v[i];

		for (size_t k = 0; k < named->host_ports.n; k++) {
			if (named->host_ports.v[k].port == p->inside)
				return schema_fail(
					c, n,
					"port %u is in 'host_ports' (%s) and in 'publish' (%s): "
					"inside it can be one of them",
					p->inside,
					schema_where(c, n->file, &named->host_ports.v[k].pos),
					schema_where(c, n->file, &p->pos));
		}
	}
	return 0;
}

/* Who can speak to the proxy reaches whatever it reaches. */
static int proxy_check(struct schema_ctx *c, const struct yaml_node *n,
		       const struct profile_named *named)
{
	const struct profile_proxy *proxy = &named->proxy;

	for (size_t i = 0; proxy->url != NULL && i < named->allow.n; i++) {
		const struct profile_net_host *h = &named->allow.v[i];

		if (hostpat_match(&h->pattern, &proxy->host))
			return schema_fail(c, n,
					   "'allow': '%.200s' (%s) is the upstream proxy itself: "
					   "programs that speak to it reach every host that it "
					   "does",
					   h->text, schema_where(c, n->file, &h->pos));
	}
	return 0;
}

int block_parse_network(struct schema_ctx *c, const struct schema_row *row,
			const struct yaml_pair *p, void *field)
{
	struct profile_sandbox *s = field;
	struct schema_row word = *row;

	s->network_pos = schema_pos(c, p->value);
	if (p->value->kind != YAML_MAP) {
		word.words = words;
		return schema_parse_word(c, &word, p, &s->network);
	}
	if (schema_walk(c, row->sub, p->value, &s->named) != 0)
		return -1;
	s->network = PROFILE_NETWORK_NAMED;
	if (lo_check(c, p->value, &s->named) != 0 || proxy_check(c, p->value, &s->named) != 0)
		return -1;
	return ports_check(c, p->value, &s->named);
}
