/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* strbuf - a growable byte buffer on the heap, always NUL-terminated. OOM aborts. */
#pragma once

#include <stddef.h>

#include "base/macro.h"

struct strbuf {
	char *buf; /* owned, NULL until the first byte */
	size_t len;
	size_t cap;
};

void strbuf_add(struct strbuf *sb, const void *data, size_t len);
void strbuf_puts(struct strbuf *sb, const char *s);
void strbuf_putc(struct strbuf *sb, char c);
void strbuf_printf(struct strbuf *sb, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* strbuf_str() - the bytes as a string; "" when empty; borrowed. */
const char *strbuf_str(const struct strbuf *sb);
void strbuf_free(struct strbuf *sb);

#define STRBUF_AUTO CLEANUP(strbuf_free) struct strbuf
