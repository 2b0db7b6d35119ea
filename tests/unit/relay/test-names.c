/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdio.h>

#include "base/heap.h"
#include "relay/internal.h"
#include "tap.h"

int main(void)
{
	struct names *n = heap_alloc(1, sizeof(*n));
	struct host_addr first, again, addr;
	struct name *name;
	struct tap t = { 0 };
	size_t wrong = 0;
	bool pool;

	tap_ok(&t, names_add(n, "a.test", &first) && first.bytes[0] == 198 && first.bytes[1] == 19,
	       "an address of the pool");
	tap_ok(&t, names_add(n, "a.test", &again) && memcmp(&first, &again, sizeof(first)) == 0,
	       "the same for the same name");
	name = names_find(n, &first, &pool);
	tap_ok(&t, pool && name != NULL && strcmp(name->text, "a.test") == 0, "and back");
	(void)!hostpat_addr("198.19.200.1", 12, &addr);
	tap_ok(&t, names_find(n, &addr, &pool) == NULL && pool, "one that was not given");
	(void)!hostpat_addr("192.0.2.1", 9, &addr);
	tap_ok(&t, names_find(n, &addr, &pool) == NULL && !pool, "one that is not of the pool");
	for (unsigned i = 1; i < NAMES_MAX; i++) {
		char text[32];

		(void)snprintf(text, sizeof(text), "n%u.test", i);
		wrong += !names_add(n, text, &addr);
		name = names_find(n, &addr, &pool);
		wrong += name == NULL || strcmp(name->text, text) != 0;
	}
	tap_int(&t, (long long)wrong, 0, "as many as there is room for");
	tap_ok(&t, !names_add(n, "more.test", &addr), "and no more");
	tap_ok(&t, names_add(n, "a.test", &again) && memcmp(&first, &again, sizeof(first)) == 0,
	       "those that are there stay");
	names_free(n);
	heap_free(n);
	return tap_done(&t);
}
