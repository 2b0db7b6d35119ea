/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/heap.h"

#include <stdlib.h>

void *heap_alloc(size_t n, size_t size)
{
	void *p = calloc(n, size);

	if (p == NULL)
		abort();
	return p;
}

void heap_free(void *p)
{
	free(p);
}
