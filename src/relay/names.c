/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>

#include "base/heap.h"
#include "plan/plan.h"
#include "relay/internal.h"

/* The first addresses of the pool look like those of networks and are left out. */
#define FIRST (PLAN_NET_POOL + 256)

static uint32_t hash(const char *s)
{
	uint32_t h = 2166136261U; /* FNV-1a */

	for (; *s != '\0'; s++)
		h = (h ^ (uint8_t)*s) * 16777619U;
	return h;
}

static void place_addr(uint32_t place, struct host_addr *ret)
{
	uint32_t v = FIRST + place;

	*ret = (struct host_addr){ .family = 4 };
	for (size_t i = 0; i < 4; i++)
		ret->bytes[i] = (uint8_t)(v >> (24 - 8 * i));
}

bool names_add(struct names *n, const char *name, struct host_addr *ret)
{
	const uint32_t slots = sizeof(n->index) / sizeof(n->index[0]);
	uint32_t at = hash(name) % slots;
	struct name *added;

	for (; n->index[at] != 0; at = (at + 1) % slots) {
		uint32_t place = n->index[at] - 1U;

		if (strcmp(n->list[place]->text, name) == 0) {
			place_addr(place, ret);
			return true;
		}
	}
	if (n->n == NAMES_MAX)
		return false;
	added = heap_alloc(1, sizeof(*added));
	(void)memccpy(added->text, name, '\0', sizeof(added->text) - 1);
	n->list[n->n] = added;
	place_addr(n->n, ret);
	n->n++;
	n->index[at] = (uint16_t)n->n;
	return true;
}

struct name *names_find(const struct names *n, const struct host_addr *addr, bool *ret_pool)
{
	uint32_t v = 0;

	*ret_pool = false;
	if (addr->family != 4)
		return NULL;
	for (size_t i = 0; i < 4; i++)
		v = v << 8 | addr->bytes[i];
	*ret_pool = v >> (32 - PLAN_NET_POOL_BITS) == PLAN_NET_POOL >> (32 - PLAN_NET_POOL_BITS);
	if (v < FIRST || v - FIRST >= n->n)
		return NULL;
	return n->list[v - FIRST];
}

void names_free(struct names *n)
{
	for (uint32_t i = 0; i < n->n; i++)
		heap_free(n->list[i]);
	memset(n, 0, sizeof(*n));
}
