/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* yaml - libyaml's events made into a bounded tree with positions.
 *
 * Read strictly: anchors, aliases, tags, merge keys, a second document, duplicate
 * keys, keys that are not scalars, control characters and invalid UTF-8 are errors.
 * Bounds are checked while parsing, never after. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"

#define YAML_BYTES_MAX ((size_t)1024 * 1024)
#define YAML_DEPTH_MAX 32
#define YAML_NODES_MAX 100000

enum yaml_kind { YAML_SCALAR = 0, YAML_LIST, YAML_MAP };

struct yaml_node;

struct yaml_pair {
	const struct yaml_node *key; /* always a scalar */
	const struct yaml_node *value;
};

struct yaml_node {
	enum yaml_kind kind;
	unsigned line, col; /* 1-based; col in bytes */
	const char *file;   /* borrowed: the name that was given to yaml_parse() */
	bool plain;         /* scalar without quotes: may be a number or a truth value */
	const char *text;   /* scalar: NUL-terminated, holds no NUL */
	size_t n;           /* list: items; map: pairs */
	const struct yaml_node **items;
	const struct yaml_pair *pairs;
};

/* yaml_parse() - parse one document. @file is borrowed and only named in errors
 * (ERR_PROFILE with file, line, col). Everything returned lives in @a. */
MUST_CHECK int yaml_parse(struct arena *a, const char *file, const char *text, size_t len,
			  const struct yaml_node **ret, struct err *err);

/* yaml_text_ok() - could a scalar be this text? */
bool yaml_text_ok(const char *s, size_t len);

/* yaml_get() - the value of @key in a map, or NULL. */
const struct yaml_node *yaml_get(const struct yaml_node *map, const char *key);
