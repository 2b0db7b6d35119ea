/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/escape.h"

#include <stdint.h>

/* Length of the well-formed sequence at @s (1..4) with its code point, or 0. */
static size_t utf8_decode(const unsigned char *s, size_t len, uint32_t *ret)
{
	static const struct {
		unsigned char mask, lead;
		uint32_t min;
	} forms[] = { { 0x80, 0x00, 0 },
		      { 0xe0, 0xc0, 0x80 },
		      { 0xf0, 0xe0, 0x800 },
		      { 0xf8, 0xf0, 0x10000 } };

	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		uint32_t cp = s[0] & (unsigned char)~forms[i].mask;

		if ((s[0] & forms[i].mask) != forms[i].lead)
			continue;
		if (len < i + 1)
			return 0;
		for (size_t k = 1; k <= i; k++) {
			if ((s[k] & 0xc0) != 0x80)
				return 0;
			cp = cp << 6 | (s[k] & 0x3f);
		}
		if (cp < forms[i].min || cp > 0x10ffff || (cp >= 0xd800 && cp <= 0xdfff))
			return 0;
		*ret = cp;
		return i + 1;
	}
	return 0;
}

/* Ranges that change how other text is shown, or that are not text at all. */
static const struct {
	uint32_t lo, hi;
} unsafe[] = {
	{ 0x00, 0x1f },     { '\\', '\\' },     { 0x7f, 0x9f },     { 0xad, 0xad },
	{ 0x061c, 0x061c }, { 0x180e, 0x180e }, { 0x200b, 0x200f }, { 0x2028, 0x202e },
	{ 0x2060, 0x206f }, { 0xfeff, 0xfeff }, { 0xfff9, 0xfffb }, { 0xe0000, 0xe007f },
};

static bool is_unsafe(uint32_t cp)
{
	for (size_t i = 0; i < ARRAY_SIZE(unsafe); i++) {
		if (cp >= unsafe[i].lo && cp <= unsafe[i].hi)
			return true;
	}
	return false;
}

void escape_add(struct strbuf *sb, const char *s, size_t len)
{
	const unsigned char *p = (const unsigned char *)s;

	while (len > 0) {
		uint32_t cp = 0;
		size_t n = utf8_decode(p, len, &cp);

		if (n > 0 && !is_unsafe(cp)) {
			strbuf_add(sb, p, n);
		} else {
			n = n == 0 ? 1 : n;
			for (size_t i = 0; i < n; i++)
				strbuf_printf(sb, "\\x%02x", p[i]);
		}
		p += n;
		len -= n;
	}
}

bool escape_utf8_valid(const char *s, size_t len)
{
	const unsigned char *p = (const unsigned char *)s;

	while (len > 0) {
		uint32_t cp;
		size_t n = utf8_decode(p, len, &cp);

		if (n == 0)
			return false;
		p += n;
		len -= n;
	}
	return true;
}
