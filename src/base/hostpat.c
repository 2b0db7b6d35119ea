/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/hostpat.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#define LABEL_MAX 63
#define DIGITS    "0123456789"

static const uint8_t mapped_prefix[12] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff };

void host_addr_normal(struct host_addr *a)
{
	if (a->family != 6 || memcmp(a->bytes, mapped_prefix, sizeof(mapped_prefix)) != 0)
		return;
	memmove(a->bytes, a->bytes + sizeof(mapped_prefix), 4);
	memset(a->bytes + 4, 0, sizeof(a->bytes) - 4);
	a->family = 4;
}

static unsigned family_bits(const struct host_addr *a)
{
	return a->family == 4 ? 32 : 128;
}

bool host_addr_in(const struct host_addr *addr, const struct host_addr *net, unsigned bits)
{
	unsigned whole = bits / 8;
	unsigned rest = bits % 8;

	if (addr->family == 0 || addr->family != net->family || bits > family_bits(net) ||
	    memcmp(addr->bytes, net->bytes, whole) != 0)
		return false;
	return rest == 0 || (addr->bytes[whole] ^ net->bytes[whole]) >> (8 - rest) == 0;
}

/* --- names --- */

static bool label_byte(unsigned char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
}

/* What inet_aton(3) takes for a number: such an end makes a whole address of the text for some
 * programs and a name for others. */
static bool label_is_number(const char *label)
{
	size_t digits = strspn(label, DIGITS);

	if (label[digits] == '\0')
		return true;
	return label[0] == '0' && label[1] == 'x' &&
	       label[2 + strspn(label + 2, DIGITS "abcdef")] == '\0';
}

const char *hostpat_name(const char *text, size_t len, char ret[HOSTPAT_NAME_SIZE])
{
	size_t label = 0; /* where the current one starts */

	if (len > 0 && text[len - 1] == '.')
		len--;
	if (len == 0)
		return "it is empty";
	if (len > HOSTPAT_NAME_MAX)
		return "a name has at most 253 bytes";
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text[i];

		if (c >= 'A' && c <= 'Z')
			c = (unsigned char)(c - 'A' + 'a');
		if (c == '.' && i == label)
			return "a label is empty";
		if (c >= 0x80)
			return "write a name of another script in its A-labels (xn--...)";
		if (c != '.' && !label_byte(c))
			return "a name has letters, digits, '-' and '_' between its dots";
		if (c != '.' && i - label >= LABEL_MAX)
			return "a label has at most 63 bytes";
		if (c == '.')
			label = i + 1;
		ret[i] = (char)c;
	}
	ret[len] = '\0';
	if (label == len)
		return "a label is empty";
	if (label_is_number(ret + label))
		return "a name does not end in a number, and an address is written as A.B.C.D";
	return NULL;
}

/* --- addresses --- */

bool hostpat_addr(const char *text, size_t len, struct host_addr *ret)
{
	char buf[INET6_ADDRSTRLEN + 1];

	*ret = (struct host_addr){ 0 };
	if (len == 0 || len >= sizeof(buf) || memchr(text, '\0', len) != NULL)
		return false;
	memcpy(buf, text, len);
	buf[len] = '\0';
	/* Four decimal numbers alone: inet_pton(3) knows none of the other spellings. */
	if (inet_pton(AF_INET, buf, ret->bytes) == 1) {
		ret->family = 4;
		return true;
	}
	if (inet_pton(AF_INET6, buf, ret->bytes) != 1)
		return false;
	ret->family = 6;
	host_addr_normal(ret);
	return true;
}

static bool read_number(const char *text, size_t len, unsigned max, unsigned *ret)
{
	unsigned v = 0;

	if (len == 0 || len > 5 || strspn(text, DIGITS) < len || (len > 1 && text[0] == '0'))
		return false;
	for (size_t i = 0; i < len; i++)
		v = v * 10 + (unsigned)(text[i] - '0');
	*ret = v;
	return v <= max;
}

/* ADDR or ADDR/N. */
static const char *parse_network(const char *text, size_t len, struct hostpat *p)
{
	const char *slash = memchr(text, '/', len);
	size_t n = slash == NULL ? len : (size_t)(slash - text);
	struct host_addr net = { 0 };
	unsigned bits;

	if (!hostpat_addr(text, n, &p->addr))
		return "it is no IP address";
	bits = family_bits(&p->addr);
	if (slash != NULL && (!read_number(slash + 1, len - n - 1, bits, &bits)))
		return "the length of a network is at most 32 for IPv4 and 128 for IPv6";
	for (unsigned i = 0; i < bits; i++)
		net.bytes[i / 8] |= p->addr.bytes[i / 8] & (0x80 >> i % 8);
	if (memcmp(net.bytes, p->addr.bytes, sizeof(net.bytes)) != 0)
		return "the address of a network has no bits after its length";
	p->kind = HOSTPAT_ADDR;
	p->bits = (uint8_t)bits;
	return NULL;
}

/* --- patterns --- */

static const char *parse_ports(const char *text, struct hostpat *p)
{
	static const char *const wrong =
		"ports are numbers from 1 to 65535 and ranges: 443 or 80,443 or 8000-8080, or *";

	p->has_ports = true;
	if (strcmp(text, "*") == 0) {
		p->ranges[p->n_ranges++] = (struct hostpat_range){ 0, UINT16_MAX };
		return NULL;
	}
	for (;;) {
		size_t n = strcspn(text, ",");
		const char *dash = memchr(text, '-', n);
		size_t first = dash == NULL ? n : (size_t)(dash - text);
		unsigned lo, hi;

		if (!read_number(text, first, UINT16_MAX, &lo))
			return wrong;
		hi = lo;
		if (dash != NULL && !read_number(dash + 1, n - first - 1, UINT16_MAX, &hi))
			return wrong;
		if (lo == 0 || lo > hi)
			return wrong;
		if (p->n_ranges == HOSTPAT_RANGES_MAX)
			return "a pattern has at most 16 ports and ranges";
		p->ranges[p->n_ranges++] = (struct hostpat_range){ (uint16_t)lo, (uint16_t)hi };
		if (text[n] == '\0')
			return NULL;
		text += n + 1;
	}
}

static void default_ports(struct hostpat *p)
{
	p->ranges[0] = (struct hostpat_range){ 80, 80 };
	p->ranges[1] = (struct hostpat_range){ 443, 443 };
	p->n_ranges = 2;
}

static bool looks_like_network(const char *text, size_t len)
{
	return memchr(text, '/', len) != NULL ||
	       (strspn(text, DIGITS ".") >= len && memchr(text, '.', len) != NULL);
}

static const char *parse_host(const char *text, size_t len, struct hostpat *p)
{
	const char *wrong;

	if (len == 1 && text[0] == '*') {
		p->kind = HOSTPAT_ANY;
		return NULL;
	}
	if (looks_like_network(text, len)) {
		wrong = parse_network(text, len, p);
		if (wrong == NULL && p->addr.family == 6)
			wrong = "an IPv6 address is written in brackets";
		return wrong;
	}
	p->kind = HOSTPAT_NAME;
	if (len >= 2 && text[0] == '*' && text[1] == '.') {
		p->kind = HOSTPAT_SUFFIX;
		text += 2;
		len -= 2;
	}
	if (memchr(text, '*', len) != NULL)
		return "'*' stands for whole labels, at the beginning alone: *.example.org";
	return hostpat_name(text, len, p->name);
}

/* Where the host of "HOST:PORTS" ends. An address in brackets is given without them. */
static const char *split_host(const char *text, const char **ret_host, size_t *ret_len,
			      const char **ret_rest)
{
	const char *end;

	*ret_host = text;
	if (text[0] != '[') {
		*ret_len = strcspn(text, ":");
		*ret_rest = text + *ret_len;
		if (**ret_rest == ':' && strchr(*ret_rest + 1, ':') != NULL)
			return "an IPv6 address is written in brackets";
		return NULL;
	}
	end = strchr(text, ']');
	if (end == NULL)
		return "it has '[' without ']'";
	*ret_host = text + 1;
	*ret_len = (size_t)(end - text) - 1;
	*ret_rest = end + 1;
	return NULL;
}

const char *hostpat_parse(const char *text, struct hostpat *ret)
{
	struct hostpat p = { 0 };
	const char *host, *rest;
	const char *wrong;
	size_t len;

	*ret = p;
	wrong = split_host(text, &host, &len, &rest);
	if (wrong == NULL)
		wrong = host != text ? parse_network(host, len, &p) : parse_host(host, len, &p);
	if (wrong == NULL && *rest != '\0' && *rest != ':')
		wrong = "only ':' and ports follow the host";
	if (wrong == NULL && *rest == ':')
		wrong = parse_ports(rest + 1, &p);
	if (wrong != NULL)
		return wrong;
	if (!p.has_ports)
		default_ports(&p);
	*ret = p;
	return NULL;
}

const char *hostpat_target(const char *text, struct host_target *ret)
{
	struct host_target t = { .port = 443 };
	const char *host, *rest;
	const char *wrong;
	unsigned port = 443;
	size_t len;

	*ret = (struct host_target){ 0 };
	wrong = split_host(text, &host, &len, &rest);
	if (wrong != NULL)
		return wrong;
	if (*rest != '\0' &&
	    (*rest != ':' || !read_number(rest + 1, strlen(rest + 1), UINT16_MAX, &port) ||
	     port == 0))
		return "a port is a number from 1 to 65535";
	if (!hostpat_addr(host, len, &t.addr)) {
		if (host != text)
			return "it is no IP address";
		wrong = hostpat_name(host, len, t.name);
		if (wrong != NULL)
			return wrong;
	}
	t.port = (uint16_t)port;
	*ret = t;
	return NULL;
}

bool hostpat_target_same(const struct host_target *a, const struct host_target *b)
{
	return a->port == b->port && strcmp(a->name, b->name) == 0 &&
	       a->addr.family == b->addr.family &&
	       memcmp(a->addr.bytes, b->addr.bytes, sizeof(a->addr.bytes)) == 0;
}

const char *hostpat_target_text(const struct host_target *t, char ret[HOSTPAT_TEXT_SIZE])
{
	char addr[INET6_ADDRSTRLEN] = "";

	if (t->name[0] != '\0') {
		(void)snprintf(ret, HOSTPAT_TEXT_SIZE, "%s:%u", t->name, t->port);
		return ret;
	}
	(void)inet_ntop(t->addr.family == 4 ? AF_INET : AF_INET6, t->addr.bytes, addr,
			sizeof(addr));
	(void)snprintf(ret, HOSTPAT_TEXT_SIZE, t->addr.family == 4 ? "%s:%u" : "[%s]:%u", addr,
		       t->port);
	return ret;
}

static bool name_below(const char *suffix, const char *name)
{
	size_t n = strlen(suffix);
	size_t len = strlen(name);

	return len > n + 1 && name[len - n - 1] == '.' && strcmp(name + len - n, suffix) == 0;
}

bool hostpat_match_host(const struct hostpat *p, const struct host_target *t)
{
	switch (p->kind) {
	case HOSTPAT_NONE:
		break;
	case HOSTPAT_NAME:
		return t->name[0] != '\0' && strcmp(p->name, t->name) == 0;
	case HOSTPAT_SUFFIX:
		return name_below(p->name, t->name);
	case HOSTPAT_ADDR:
		return t->name[0] == '\0' && host_addr_in(&t->addr, &p->addr, p->bits);
	case HOSTPAT_ANY:
		return true;
	}
	return false;
}

bool hostpat_match_port(const struct hostpat *p, uint16_t port)
{
	for (size_t i = 0; i < p->n_ranges; i++) {
		if (port >= p->ranges[i].lo && port <= p->ranges[i].hi)
			return true;
	}
	return false;
}

bool hostpat_match(const struct hostpat *p, const struct host_target *t)
{
	return hostpat_match_host(p, t) && hostpat_match_port(p, t->port);
}

const char *hostpat_too_wide(const struct hostpat *p)
{
	bool any = !p->has_ports;

	for (size_t i = 0; i < p->n_ranges; i++)
		any = any || p->ranges[i].lo == 0;
	if (p->kind == HOSTPAT_ANY && any)
		return "'*' alone is every host there is: name hosts, or ports as in *:443";
	if (p->kind == HOSTPAT_SUFFIX && strchr(p->name, '.') == NULL)
		return "a whole top-level domain is too wide: name a domain, as in *.example.org";
	return NULL;
}
