/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Any bytes as a program: a text that the file holds or none, at most three reads, never a crash.
 */
#include <stdlib.h>
#include <string.h>

#include "policy/interp.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct file {
	const uint8_t *data;
	size_t size;
	unsigned reads;
};

static ssize_t read_memory(void *ctx, uint64_t off, void *buf, size_t len)
{
	struct file *f = ctx;
	size_t n = off >= f->size ? 0 : f->size - (size_t)off;

	f->reads++;
	n = n < len ? n : len;
	/* Reading nothing must not look at what is not there. */
	if (n > 0)
		memcpy(buf, f->data + off, n);
	return (ssize_t)n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct file f = { .data = data, .size = size };
	char text[PATH_MAX];
	enum interp_kind kind = interp_find(read_memory, &f, text);

	if (f.reads > 3)
		abort();
	if (kind == INTERP_NONE)
		return 0;
	if (text[0] == '\0' || strnlen(text, sizeof(text)) == sizeof(text) ||
	    memmem(data, size, text, strlen(text)) == NULL)
		abort();
	return 0;
}
