/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* schema - the keys of a profile as tables, and the one loop that walks a map against
 * its table. A new key is a new row; there is no other place where a key is known. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "codec/yaml.h"
#include "profile/param.h"
#include "profile/profile.h"

/* A file that the profile was put together from. */
struct schema_file {
	const char *name; /* what yaml_node.file of its nodes points to */
	const char *dir;  /* absolute: base of relative host paths in it */
};

typedef ARRAY_OF(struct schema_file) schema_files;

/* What every parser of a value may use. */
struct schema_ctx {
	struct arena *a;
	const char *file;   /* the profile itself, for errors without a node; borrowed */
	schema_files files; /* it and those that it pulled in */
	const struct profile_source *src;
	struct param_set params;
	bool stood_in;                /* see profile.h */
	const profile_names *context; /* keys that rules may ask for; NULL: none yet */
	size_t nodes;                 /* values in all files */
	size_t text;                  /* bytes of all files, and of what ${...} made of them */
	size_t rules;                 /* agents, rules and patterns in all agents */
	struct err *err;
};

/* What was read, kept for show.h. Its error belongs to who loaded it. */
struct schema_read {
	struct schema_ctx c;
	const struct yaml_node *root;
};

struct schema_map;
struct schema_row;

/* Parse the value of @p into @field. */
typedef int schema_parse_fn(struct schema_ctx *c, const struct schema_row *row,
			    const struct yaml_pair *p, void *field);

struct schema_word {
	const char *word;
	unsigned value;
};

enum schema_shape {
	SCHEMA_SHAPE_ONE = 0,
	SCHEMA_SHAPE_LIST,  /* items are described by ->sub, if set */
	SCHEMA_SHAPE_NAMED, /* a map of free names to what ->sub describes */
};

struct schema_row {
	const char *key;
	schema_parse_fn *parse;
	size_t offset;    /* of the field in what the map fills */
	const char *type; /* for people: "size", "list of paths" */
	const char *help; /* one line, for the manual */
	enum schema_shape shape;
	const struct schema_map *sub;    /* the table of the map below, or NULL */
	const struct schema_word *words; /* the possible words, ended by NULL, or NULL */
	const char *required;            /* what to say when the key is absent; NULL: optional */
	const char *twin;                /* another spelling, from this map on: "limits.output" */
};

struct schema_map {
	const char *name; /* for errors: "sandbox.env" */
	const struct schema_row *rows;
	size_t n;
};

#define SCHEMA_MAP(label, table)                                                                   \
	{                                                                                          \
		.name = (label), .rows = (table), .n = ARRAY_SIZE(table)                           \
	}

/* schema_root() - the top of all tables; every key is reachable through ->sub. */
const struct schema_map *schema_root(void);

/* schema_fail() - an error at a node. The -1 stands here, where the compiler and the
 * analyser see that nothing goes on after it. */
#define schema_fail(c, node, ...)                                                                  \
	((void)err_set_at((c)->err, ERR_PROFILE, (node)->file, (node)->line, (node)->col,          \
			  __VA_ARGS__),                                                            \
	 -1)

struct profile_pos schema_pos(const struct schema_ctx *c, const struct yaml_node *n);

/* schema_dir() - what relative host paths at @n are relative to. */
const char *schema_dir(const struct schema_ctx *c, const struct yaml_node *n);

/* schema_where() - "line 3", or "base.yaml:3" for what stands in another file than @file. In the
 * context's arena. */
const char *schema_where(struct schema_ctx *c, const char *file, const struct profile_pos *other);

/* schema_walk() - the loop: unknown keys are errors, rows are parsed in table order. */
MUST_CHECK int schema_walk(struct schema_ctx *c, const struct schema_map *map,
			   const struct yaml_node *node, void *out);

/* schema_got() - what a node is, for "expected X, got Y". In the context's arena. */
const char *schema_got(struct schema_ctx *c, const struct yaml_node *n);

/* schema_scalar() - the text of a scalar: not a list, not a map, not null, no ${...}.
 * @key names it in errors. */
MUST_CHECK int schema_scalar(struct schema_ctx *c, const char *key, const struct yaml_node *n,
			     const char **ret);

/* schema_scalar_raw() - the same, but ${...} is left for param_expand(). */
MUST_CHECK int schema_scalar_raw(struct schema_ctx *c, const char *key, const struct yaml_node *n,
				 const char **ret);

/* Items of any one list, also one that extends has put together. */
#define SCHEMA_ITEMS_MAX ((size_t)4096)
/* A short text that names a long parameter is as long as it becomes. */
#define SCHEMA_TEXT_MAX ((size_t)8 * 1024 * 1024)
/* schema_text_charge() - @len bytes more, of @n. */
MUST_CHECK int schema_text_charge(struct schema_ctx *c, const char *key, const struct yaml_node *n,
				  size_t len);

typedef int schema_item_fn(struct schema_ctx *c, const char *key, const struct yaml_node *item,
			   void *out);
/* schema_each() - call @fn for each item of a list; anything but a list is an error, and so is a
 * list that is longer than SCHEMA_ITEMS_MAX. */
MUST_CHECK int schema_each(struct schema_ctx *c, const struct yaml_pair *p, schema_item_fn *fn,
			   void *out);

/* schema_number() - decimal digits and a unit that must follow. @units: rows of unit and factor.
 * Return: 0, -1 when it is not such a number, -2 when it is above INT64_MAX. */
int schema_number(const char *s, const struct schema_word *units, uint64_t *ret);
/* schema_duration() - "30s" as milliseconds, for values that do not come from a profile. The
 * same returns. */
int schema_duration(const char *s, uint64_t *ret_ms);

/* Parsers for rows. The type of the field is in the comment. */
schema_parse_fn schema_parse_map;   /* what ->sub fills, at the row's offset */
schema_parse_fn schema_parse_bool;  /* bool; only true and false, without quotes */
schema_parse_fn schema_parse_word;  /* an enum; one of ->words */
schema_parse_fn schema_parse_text;  /* const char * */
schema_parse_fn schema_parse_size;  /* uint64_t, bytes, positive */
schema_parse_fn schema_parse_count; /* uint64_t, positive */
schema_parse_fn schema_parse_pair;  /* const struct yaml_pair *, to be looked at later */
/* struct profile_limit: */
schema_parse_fn schema_parse_limit_size;
schema_parse_fn schema_parse_limit_bytes;    /* an integer, the unit is in the key */
schema_parse_fn schema_parse_limit_duration; /* milliseconds */
schema_parse_fn schema_parse_limit_seconds;  /* an integer of seconds, kept as milliseconds */
