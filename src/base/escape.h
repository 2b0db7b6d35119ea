/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* escape - the one escaper for everything printed that an agent could have shaped.
 *
 * Control characters (C0, DEL, C1), bidirectional and zero-width formatting
 * characters, line and paragraph separators and invalid UTF-8 become \xNN,
 * byte by byte; a backslash becomes \x5c, so that the text is unambiguous. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/strbuf.h"

void escape_add(struct strbuf *sb, const char *s, size_t len);
/* escape_utf8_valid() - well-formed UTF-8 (RFC 3629: no surrogates, no overlong forms). */
bool escape_utf8_valid(const char *s, size_t len);
