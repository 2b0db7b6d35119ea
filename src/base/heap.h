/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* heap - zeroed memory that outlives no run, for what an arena does not fit. OOM aborts. */
#pragma once

#include <stddef.h>

/* heap_alloc() - @n objects of @size bytes; owned by the caller: heap_free(). */
void *heap_alloc(size_t n, size_t size);
/* heap_free() - NULL is fine. */
void heap_free(void *p);
