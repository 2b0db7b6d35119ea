/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* glob - path patterns, compiled once and matched by component on canonical absolute paths.
 *
 * In a component '*' is any run of characters, '?' one character and [...] one of a set ([!...]
 * and [^...]: one that is not in it); a component "**" is any number of components, none among
 * them. {a,b} stands for several patterns. A backslash takes the meaning from one of
 * * ? [ ] { } ( ) , ! ^ - + @ and itself. A name that begins with a dot is a name like any other.
 * A character is one of UTF-8; a byte that is none counts as one.
 *
 * Matching allocates nothing and takes at most (length of the pattern) x (length of the path)
 * steps: it goes back to the last star alone, of the component and of the path. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/strbuf.h"

enum glob_kind {
	GLOB_LITERAL = 0,
	GLOB_WILD, /* holds '*', '?' or [...] */
	GLOB_DEEP, /* any number of components */
};

struct glob_segment {
	enum glob_kind kind;
	const char *text; /* LITERAL: without backslashes */
	size_t len;
};

/* Zeroed, it matches nothing. */
struct glob {
	const char *prefix;            /* the literal components that it begins with; canonical */
	struct glob_segment *segments; /* what follows; none: the prefix alone matches */
	size_t n;
};

typedef ARRAY_OF(const char *) glob_texts;

#define GLOB_ALTERNATIVES_MAX 256
#define GLOB_BRACES_MAX       16 /* groups in one pattern */
#define GLOB_EXPANDED_MAX     ((size_t)16 * 1024)

/* glob_expand() - the patterns without {...} that @text stands for, in order.
 * Return: NULL, or why it cannot be read (static). */
const char *glob_expand(struct arena *a, const char *text, glob_texts *ret);

/* glob_compile() - one pattern without {...}. The same return. */
const char *glob_compile(struct arena *a, const char *text, struct glob *ret);

/* glob_escape() - add @value so that it stands for itself. */
void glob_escape(struct strbuf *sb, const char *value);

bool glob_match(const struct glob *g, const char *path);

/* glob_covers() - it matches @path and everything that can lie below. */
bool glob_covers(const struct glob *g, const char *path);

/* glob_reaches() - it may match @path or something below it. May be wrong only in saying yes. */
bool glob_reaches(const struct glob *g, const char *path);

/* glob_overlaps() - it may match @path, something below it, or a directory above it. */
bool glob_overlaps(const struct glob *g, const char *path);

/* glob_is_everything() - "/", or stars alone from there on: a rule of all paths. */
bool glob_is_everything(const struct glob *g);

/* glob_is_literal(), glob_is_subtree() - PATH, and PATH followed by slash star star. */
bool glob_is_literal(const struct glob *g);
bool glob_is_subtree(const struct glob *g);
