/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* sniff-check - any bytes as the beginning of a connection: a canonical name or none; what was
 * enough stays the same when more follows, and what is wrong stays wrong. And whatever it says, the
 * resolver is asked for the name of the connection, when that is what it said, or for nothing. */
#pragma once

#include <stdlib.h>
#include <string.h>

#include "relay-hand.h"

typedef enum sniff sniff_fn(const uint8_t *p, size_t len, struct host_target *ret);

static inline void sniff_check(sniff_fn *fn, const char *name, uint16_t port, const uint8_t *data,
			       size_t size)
{
	struct host_target whole, part;
	char canonical[HOSTPAT_NAME_SIZE];
	enum sniff all = fn(data, size, &whole);
	enum sniff half = fn(data, size / 2, &part);

	if (all != SNIFF_NAME && whole.name[0] != '\0')
		abort();
	if (whole.name[0] != '\0' &&
	    (hostpat_name(whole.name, strlen(whole.name), canonical) != NULL ||
	     strcmp(whole.name, canonical) != 0))
		abort();
	if (half == SNIFF_WRONG && all != SNIFF_WRONG)
		abort();
	if (size <= SNIFF_MAX && (half == SNIFF_NAME || half == SNIFF_NONE) &&
	    (all != half || strcmp(whole.name, part.name) != 0))
		abort();
	if (size > SNIFF_MAX)
		return;
	if (hand_connection(hand(), name, port, data, size) !=
	    (all == SNIFF_NAME && strcmp(whole.name, name) == 0))
		abort();
}
