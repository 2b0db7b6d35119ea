/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/arena.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Each chunk is twice the one before, up to the larger of these: many an arena holds one thing. */
#define CHUNK_MIN ((size_t)16 * 1024)
#define CHUNK_MAX ((size_t)64 * 1024)
#define ALIGN     ((size_t)16)

struct arena_chunk {
	struct arena_chunk *next; /* owned */
	size_t size;
	size_t used;
};

#define HEADER ((sizeof(struct arena_chunk) + ALIGN - 1) & ~(ALIGN - 1))

static struct arena_chunk *chunk_new(enum arena_kind kind, const struct arena_chunk *last,
				     size_t payload)
{
	size_t size = last == NULL ? CHUNK_MIN : CHUNK_MAX;
	struct arena_chunk *c;

	if (last != NULL && last->size < CHUNK_MAX / 2)
		size = 2 * last->size;
	if (payload > size - HEADER)
		size = (HEADER + payload + 4095) & ~(size_t)4095;
	/* Populated: most of a chunk is used, and a fault for each page costs more than the page.
	 */
	c = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1,
		 0);
	if (c == MAP_FAILED)
		abort();
	/* Rules and secrets must not cross clone: memory that cannot be kept back is not used. */
	if (kind == ARENA_HOST && madvise(c, size, MADV_DONTFORK) != 0)
		abort();
	c->size = size;
	c->used = HEADER;
	return c;
}

void *arena_alloc(struct arena *a, size_t size)
{
	struct arena_chunk *c = a->head;
	size_t want;
	void *p;

	if (size > SIZE_MAX / 2)
		abort();
	want = (size + ALIGN - 1) & ~(ALIGN - 1);
	if (c == NULL || c->size - c->used < want) {
		c = chunk_new(a->kind, c, want);
		c->next = a->head;
		a->head = c;
	}
	p = (char *)c + c->used;
	c->used += want;
	return p;
}

void *arena_array(struct arena *a, size_t n, size_t size)
{
	size_t total;

	if (__builtin_mul_overflow(n, size, &total))
		abort();
	return arena_alloc(a, total);
}

char *arena_strndup(struct arena *a, const char *s, size_t n)
{
	char *p = arena_alloc(a, n + 1);

	if (n > 0)
		memcpy(p, s, n);
	return p;
}

char *arena_strdup(struct arena *a, const char *s)
{
	return arena_strndup(a, s, strlen(s));
}

char *arena_printf(struct arena *a, const char *fmt, ...)
{
	va_list ap;
	char *p;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0)
		abort();
	p = arena_alloc(a, (size_t)n + 1);
	va_start(ap, fmt);
	(void)vsnprintf(p, (size_t)n + 1, fmt, ap);
	va_end(ap);
	return p;
}

void *arena_grow(struct arena *a, void *v, size_t n, size_t *cap, size_t size)
{
	void *p;

	if (n < *cap)
		return v;
	*cap = *cap == 0 ? 8 : *cap * 2;
	p = arena_array(a, *cap, size);
	if (n > 0)
		memcpy(p, v, n * size);
	return p;
}

void arena_free(struct arena *a)
{
	struct arena_chunk *c = a->head;

	while (c != NULL) {
		struct arena_chunk *next = c->next;

		(void)munmap(c, c->size);
		c = next;
	}
	a->head = NULL;
}
