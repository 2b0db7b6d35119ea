/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/strbuf.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void strbuf_reserve(struct strbuf *sb, size_t more)
{
	size_t cap = sb->cap == 0 ? 256 : sb->cap;
	char *p;

	if (more > SIZE_MAX / 4 - sb->len)
		abort();
	while (cap < sb->len + more + 1)
		cap *= 2;
	if (cap == sb->cap)
		return;
	p = realloc(sb->buf, cap);
	if (p == NULL)
		abort();
	sb->buf = p;
	sb->cap = cap;
}

void strbuf_add(struct strbuf *sb, const void *data, size_t len)
{
	strbuf_reserve(sb, len);
	if (len > 0)
		memcpy(sb->buf + sb->len, data, len);
	sb->len += len;
	sb->buf[sb->len] = '\0';
}

void strbuf_puts(struct strbuf *sb, const char *s)
{
	strbuf_add(sb, s, strlen(s));
}

void strbuf_putc(struct strbuf *sb, char c)
{
	strbuf_add(sb, &c, 1);
}

void strbuf_printf(struct strbuf *sb, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0)
		abort();
	strbuf_reserve(sb, (size_t)n);
	va_start(ap, fmt);
	(void)vsnprintf(sb->buf + sb->len, (size_t)n + 1, fmt, ap);
	va_end(ap);
	sb->len += (size_t)n;
}

const char *strbuf_str(const struct strbuf *sb)
{
	return sb->buf == NULL ? "" : sb->buf;
}

void strbuf_free(struct strbuf *sb)
{
	free(sb->buf);
	*sb = (struct strbuf){ 0 };
}
