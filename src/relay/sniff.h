/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* sniff - whom a client says it wants to talk to, in the first bytes that it sends: the server
 * name of a TLS ClientHello (RFC 8446 4.1.2, RFC 6066 3) and the Host of an HTTP/1 request
 * (RFC 9112). Any doubt is SNIFF_WRONG. Pure; both start from the beginning at each call. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hostpat.h"

/* What must be enough for the first flight of a client. */
#define SNIFF_MAX 32768

enum sniff {
	SNIFF_WRONG = 0, /* not this protocol, or not as it should be */
	SNIFF_MORE,      /* not all there yet */
	SNIFF_NAME,      /* ret->name, or ret->addr */
	SNIFF_NONE,      /* a whole ClientHello without a server name */
};

/* sniff_hello() - TLS. */
enum sniff sniff_hello(const uint8_t *p, size_t len, struct host_target *ret);
/* sniff_head() - HTTP/1: exactly one Host, which an absolute target must repeat. */
enum sniff sniff_head(const uint8_t *p, size_t len, struct host_target *ret);
