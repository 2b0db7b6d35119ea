/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* hostpat - host patterns of rules, the hosts of requests, and their canonical text.
 *
 *   HOST[:PORTS]   HOST   a name, *.SUFFIX (any depth, not SUFFIX itself), an IPv4 address or
 *                         network (A.B.C.D/N), an IPv6 one in brackets ([X] or [X/N]), or *
 *                  PORTS  * for any, or numbers and ranges: 443 or 80,443 or 8000-8080
 *
 * Without PORTS a pattern is about 80 and 443. Both types are flat data of fixed size, without
 * pointers: they may be copied into another process. Nothing here resolves a name. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macro.h"

#define HOSTPAT_NAME_MAX   253 /* of a name, RFC 1035 2.3.4, without the dot at its end */
#define HOSTPAT_NAME_SIZE  (HOSTPAT_NAME_MAX + 1)
#define HOSTPAT_RANGES_MAX 16
/* Text of any pattern or host that is accepted is shorter than this. */
#define HOSTPAT_TEXT_SIZE 512

/* An IP address. IPv4 in the first four bytes; one that is mapped into IPv6 (::ffff:a.b.c.d) is
 * never held as IPv6. */
struct host_addr {
	uint8_t bytes[16];
	uint8_t family; /* 4 or 6; 0: none */
};

enum hostpat_kind {
	HOSTPAT_NONE = 0, /* matches nothing */
	HOSTPAT_NAME,     /* this name */
	HOSTPAT_SUFFIX,   /* names below this one */
	HOSTPAT_ADDR,     /* addresses in addr/bits */
	HOSTPAT_ANY,      /* every name and address */
};

struct hostpat_range {
	uint16_t lo, hi; /* both included; lo 0: any port at all */
};

struct hostpat {
	enum hostpat_kind kind;
	char name[HOSTPAT_NAME_SIZE]; /* NAME and SUFFIX: canonical, without the "*." */
	struct host_addr addr;        /* ADDR: the bits after @bits are zero */
	uint8_t bits;
	bool has_ports; /* they were written: not the 80 and 443 that stand for none */
	struct hostpat_range ranges[HOSTPAT_RANGES_MAX];
	uint8_t n_ranges;
};

/* Where a connection goes: to a name or, when @name is empty, to an address. */
struct host_target {
	char name[HOSTPAT_NAME_SIZE]; /* canonical */
	struct host_addr addr;
	uint16_t port; /* never 0 */
};

/* hostpat_name() - the canonical form of a name: lower case, no dot at the end, labels of 1 to 63
 * of a-z 0-9 - _ (a name in another script is written in its A-labels, xn--...). Text whose last
 * label is a number is no name but an attempt at an address.
 * Return: NULL with @ret filled, or what is wrong, static. */
MUST_CHECK const char *hostpat_name(const char *text, size_t len, char ret[HOSTPAT_NAME_SIZE]);

/* hostpat_addr() - an address in its usual text, IPv6 without brackets. */
MUST_CHECK bool hostpat_addr(const char *text, size_t len, struct host_addr *ret);

/* hostpat_parse() - Return: NULL with *ret filled, or what is wrong with @text, static. */
MUST_CHECK const char *hostpat_parse(const char *text, struct hostpat *ret);

/* hostpat_target() - a host of a request, "name:port" or "[v6]:port"; without a port it is 443.
 * Return: NULL with *ret filled, or what is wrong, static. */
MUST_CHECK const char *hostpat_target(const char *text, struct host_target *ret);

/* hostpat_target_same() - the same name or address, and port. */
bool hostpat_target_same(const struct host_target *a, const struct host_target *b);

/* hostpat_target_text() - "name:port", "a.b.c.d:port" or "[v6]:port"; NUL-terminated. Returns
 * @ret. */
const char *hostpat_target_text(const struct host_target *t, char ret[HOSTPAT_TEXT_SIZE]);

/* hostpat_match_host() - the same without looking at ports. */
bool hostpat_match_host(const struct hostpat *p, const struct host_target *t);
bool hostpat_match_port(const struct hostpat *p, uint16_t port);
/* hostpat_match() - host and port. A pattern of names never matches an address, and the other way
 * round: only ANY matches both. */
bool hostpat_match(const struct hostpat *p, const struct host_target *t);

/* hostpat_too_wide() - why an allow of a sandbox may not be this: `*` without ports or with any, or
 * a suffix that is a whole top-level domain. NULL when it may; static. */
const char *hostpat_too_wide(const struct hostpat *p);

/* host_addr_in() - @addr lies in @net/@bits. */
bool host_addr_in(const struct host_addr *addr, const struct host_addr *net, unsigned bits);
/* host_addr_normal() - take an IPv4 address out of its mapping into IPv6. */
void host_addr_normal(struct host_addr *a);
