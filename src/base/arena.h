/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* arena - memory that is taken piece by piece and given back all at once.
 *
 * Every value of the pipeline (profile, facts, decision, plan) lives in one
 * arena; there is nothing to free piecemeal and nothing to leak. Chunks are
 * whole pages from mmap(2), so that a whole arena can be kept out of the
 * child: ARENA_HOST chunks are MADV_DONTFORK (madvise(2), Linux 2.6.16),
 * ARENA_PLAN chunks are the only data that crosses clone.
 *
 * Out of memory aborts: a dead supervisor means a dead sandbox. */
#pragma once

#include <stddef.h>

#include "base/macro.h"

enum arena_kind {
	ARENA_HOST = 0, /* not copied into the child */
	ARENA_PLAN,     /* copied into the child */
};

struct arena_chunk;

struct arena {
	enum arena_kind kind;
	struct arena_chunk *head; /* owned */
};

/* arena_alloc() - @size zeroed bytes, aligned for any object; never NULL. */
void *arena_alloc(struct arena *a, size_t size);
/* arena_array() - @n zeroed objects of @size bytes; aborts on overflow. */
void *arena_array(struct arena *a, size_t n, size_t size);
char *arena_strdup(struct arena *a, const char *s);
char *arena_strndup(struct arena *a, const char *s, size_t n);
char *arena_printf(struct arena *a, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* arena_free() - give everything back; legal on {0} and twice. */
void arena_free(struct arena *a);

#define arena_new(a, type) ((type *)arena_alloc((a), sizeof(type)))

/* Growable array in an arena: declare with ARRAY_OF(type), add with array_push(),
 * which yields a pointer to a new zeroed element. Pointers into ->v die at the
 * next push. */
#define ARRAY_OF(type)                                                                             \
	struct {                                                                                   \
		type *v;                                                                           \
		size_t n;                                                                          \
		size_t cap;                                                                        \
	}
#define array_push(a, arr)                                                                         \
	((arr)->v = arena_grow((a), (arr)->v, (arr)->n, &(arr)->cap, sizeof(*(arr)->v)),           \
	 &(arr)->v[(arr)->n++])

/* arena_grow() - helper of array_push(): room for one more than @n elements. */
void *arena_grow(struct arena *a, void *v, size_t n, size_t *cap, size_t size);
