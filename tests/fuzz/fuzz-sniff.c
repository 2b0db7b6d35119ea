/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Any bytes as the beginning of a connection: a canonical name or none; what was enough stays the
 * same when more follows, and what is wrong stays wrong. */
#include <stdlib.h>
#include <string.h>

#include "relay/sniff.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef enum sniff sniff_fn(const uint8_t *p, size_t len, struct host_target *ret);

static void check(sniff_fn *fn, const uint8_t *data, size_t size)
{
	struct host_target whole, part;
	char name[HOSTPAT_NAME_SIZE];
	enum sniff all = fn(data, size, &whole);
	enum sniff half = fn(data, size / 2, &part);

	if (all != SNIFF_NAME && whole.name[0] != '\0')
		abort();
	if (whole.name[0] != '\0' && (hostpat_name(whole.name, strlen(whole.name), name) != NULL ||
				      strcmp(whole.name, name) != 0))
		abort();
	if (half == SNIFF_WRONG && all != SNIFF_WRONG)
		abort();
	if (size <= SNIFF_MAX && (half == SNIFF_NAME || half == SNIFF_NONE) &&
	    (all != half || strcmp(whole.name, part.name) != 0))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	check(sniff_hello, data, size);
	check(sniff_head, data, size);
	return 0;
}
