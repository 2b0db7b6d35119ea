/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "profile/schema.h"

#include <stdio.h>
#include <string.h>

#include "base/macro.h"
#include "base/suggest.h"

static const struct schema_word size_units[] = {
	{ "K", 1U << 10 }, { "M", 1U << 20 }, { "G", 1U << 30 }, { NULL, 0 }
};
static const struct schema_word duration_units[] = {
	{ "ms", 1 }, { "s", 1000 }, { "m", 60 * 1000 }, { "h", 3600 * 1000 }, { NULL, 0 }
};
static const struct schema_word no_units[] = { { "", 1 }, { NULL, 0 } };
static const struct schema_word seconds[] = { { "", 1000 }, { NULL, 0 } };

struct profile_pos schema_pos(const struct schema_ctx *c, const struct yaml_node *n)
{
	(void)c;
	return (struct profile_pos){ .file = n->file, .line = n->line, .col = n->col };
}

const char *schema_dir(const struct schema_ctx *c, const struct yaml_node *n)
{
	for (size_t i = 0; i < c->files.n; i++) {
		if (c->files.v[i].name == n->file)
			return c->files.v[i].dir;
	}
	return "/";
}

const char *schema_where(struct schema_ctx *c, const char *file, const struct profile_pos *other)
{
	if (other->file == file)
		return arena_printf(c->a, "line %u", other->line);
	return arena_printf(c->a, "%.200s:%u", other->file, other->line);
}

static bool is_null(const struct yaml_node *n)
{
	static const char *const nulls[] = { "", "~", "null", "Null", "NULL" };

	for (size_t i = 0; n->kind == YAML_SCALAR && n->plain && i < ARRAY_SIZE(nulls); i++) {
		if (strcmp(n->text, nulls[i]) == 0)
			return true;
	}
	return false;
}

const char *schema_got(struct schema_ctx *c, const struct yaml_node *n)
{
	if (n->kind == YAML_LIST)
		return "a list";
	if (n->kind == YAML_MAP)
		return "a map";
	if (is_null(n))
		return "nothing";
	return arena_printf(c->a, "'%.80s'", n->text);
}

int schema_scalar_raw(struct schema_ctx *c, const char *key, const struct yaml_node *n,
		      const char **ret)
{
	if (n->kind != YAML_SCALAR)
		return schema_fail(c, n, "'%s' must be one value, not %s", key, schema_got(c, n));
	if (is_null(n))
		return schema_fail(c, n, "'%s' has no value (an empty text is written '')", key);
	*ret = n->text;
	return 0;
}

int schema_scalar(struct schema_ctx *c, const char *key, const struct yaml_node *n,
		  const char **ret)
{
	if (schema_scalar_raw(c, key, n, ret) != 0)
		return -1;
	if (strstr(n->text, "${") != NULL)
		return schema_fail(
			c, n,
			"'%s' does not take ${...}: only path, at, file, workdir, values of "
			"env.set and paths of rules do",
			key);
	return 0;
}

int schema_text_charge(struct schema_ctx *c, const char *key, const struct yaml_node *n, size_t len)
{
	c->text += len;
	if (c->text > SCHEMA_TEXT_MAX)
		return schema_fail(c, n,
				   "'%s': more than 8M of text in all files of one profile, with "
				   "${...} replaced",
				   key);
	return 0;
}

int schema_each(struct schema_ctx *c, const struct yaml_pair *p, schema_item_fn *fn, void *out)
{
	const struct yaml_node *list = p->value;

	if (list->kind != YAML_LIST)
		return schema_fail(c, list, "'%s' must be a list, not %s", p->key->text,
				   schema_got(c, list));
	/* What is checked of an item is often checked against all others. */
	if (list->n > SCHEMA_ITEMS_MAX)
		return schema_fail(c, list->items[SCHEMA_ITEMS_MAX],
				   "'%s' has more than %zu entries", p->key->text,
				   SCHEMA_ITEMS_MAX);
	for (size_t i = 0; i < list->n; i++) {
		if (fn(c, p->key->text, list->items[i], out) != 0)
			return -1;
	}
	return 0;
}

static const struct yaml_pair *pair_find(const struct yaml_node *map, const char *key, size_t len)
{
	for (size_t i = 0; map->kind == YAML_MAP && i < map->n; i++) {
		const char *k = map->pairs[i].key->text;

		if (strncmp(k, key, len) == 0 && k[len] == '\0')
			return &map->pairs[i];
	}
	return NULL;
}

/* The pair at a dotted path below @map, or NULL. */
static const struct yaml_pair *pair_at(const struct yaml_node *map, const char *path)
{
	for (;;) {
		size_t n = strcspn(path, ".");
		const struct yaml_pair *p = pair_find(map, path, n);

		if (p == NULL || path[n] == '\0')
			return p;
		map = p->value;
		path += n + 1;
	}
}

static int check_known(struct schema_ctx *c, const struct schema_map *map,
		       const struct yaml_node *key)
{
	const char *best = NULL;
	size_t distance = 0;

	for (size_t i = 0; i < map->n; i++) {
		if (strcmp(map->rows[i].key, key->text) == 0)
			return 0;
	}
	for (size_t i = 0; i < map->n; i++)
		suggest_best(key->text, map->rows[i].key, &best, &distance);
	if (best != NULL)
		return schema_fail(c, key, "unknown key '%.80s' in %s (did you mean '%s'?)",
				   key->text, map->name, best);
	return schema_fail(c, key, "unknown key '%.80s' in %s", key->text, map->name);
}

static int check_twin(struct schema_ctx *c, const struct schema_row *row,
		      const struct yaml_node *node, const struct yaml_pair *p)
{
	const struct yaml_pair *other;
	struct profile_pos pos;

	if (row->twin == NULL)
		return 0;
	other = pair_at(node, row->twin);
	if (other == NULL)
		return 0;
	pos = schema_pos(c, other->key);
	return schema_fail(c, p->key, "'%s' and '%s' (%s) are two spellings of one key: keep one",
			   row->key, row->twin, schema_where(c, p->key->file, &pos));
}

int schema_walk(struct schema_ctx *c, const struct schema_map *map, const struct yaml_node *node,
		void *out)
{
	if (node->kind != YAML_MAP)
		return schema_fail(c, node, "%s must be a map, not %s", map->name,
				   schema_got(c, node));
	for (size_t i = 0; i < node->n; i++) {
		if (check_known(c, map, node->pairs[i].key) != 0)
			return -1;
	}
	for (size_t i = 0; i < map->n; i++) {
		const struct schema_row *row = &map->rows[i];
		const struct yaml_pair *p = pair_find(node, row->key, strlen(row->key));

		if (p == NULL && row->required != NULL)
			return schema_fail(c, node, "%s", row->required);
		if (p == NULL)
			continue;
		if (check_twin(c, row, node, p) != 0 ||
		    row->parse(c, row, p, (char *)out + row->offset) != 0)
			return -1;
	}
	return 0;
}

int schema_number(const char *s, const struct schema_word *units, uint64_t *ret)
{
	uint64_t v = 0;
	size_t n = strspn(s, "0123456789");

	if (n == 0 || (n > 1 && s[0] == '0'))
		return -1;
	while (units->word != NULL && strcmp(units->word, s + n) != 0)
		units++;
	if (units->word == NULL)
		return -1;
	for (size_t i = 0; i < n; i++) {
		if (__builtin_mul_overflow(v, 10, &v) ||
		    __builtin_add_overflow(v, (uint64_t)(s[i] - '0'), &v))
			return -2;
	}
	/* JSON integers are signed: what is printed and hashed must be what is meant. */
	if (__builtin_mul_overflow(v, (uint64_t)units->value, ret) || *ret > INT64_MAX)
		return -2;
	return 0;
}

int schema_duration(const char *s, uint64_t *ret_ms)
{
	return schema_number(s, duration_units, ret_ms);
}

/* @what: "a size with its unit, such as 256M". Zero is refused: no limit of a
 * profile means "none" by being zero. */
static int parse_number(struct schema_ctx *c, const struct yaml_pair *p,
			const struct schema_word *units, const char *what, uint64_t *ret)
{
	const char *s;
	int r;

	if (p->value->kind != YAML_SCALAR || is_null(p->value))
		return schema_fail(c, p->value, "'%s' must be %s, not %s", p->key->text, what,
				   schema_got(c, p->value));
	if (schema_scalar(c, p->key->text, p->value, &s) != 0)
		return -1;
	r = schema_number(s, units, ret);
	if (r == -2)
		return schema_fail(c, p->value, "'%s' is too large: '%.80s'", p->key->text, s);
	if (r != 0)
		return schema_fail(c, p->value, "'%s' must be %s, not '%.80s'", p->key->text, what,
				   s);
	if (*ret == 0)
		return schema_fail(c, p->value, "'%s' must not be zero: write %s", p->key->text,
				   what);
	return 0;
}

#define WHAT_SIZE     "a positive size with its unit (K, M or G), such as 256M"
#define WHAT_DURATION "a positive duration with its unit (ms, s, m or h), such as 30s"
#define WHAT_COUNT    "a positive whole number without a unit"

int schema_parse_map(struct schema_ctx *c, const struct schema_row *row, const struct yaml_pair *p,
		     void *field)
{
	return schema_walk(c, row->sub, p->value, field);
}

int schema_parse_bool(struct schema_ctx *c, const struct schema_row *row, const struct yaml_pair *p,
		      void *field)
{
	const struct yaml_node *n = p->value;
	bool *ret = field;

	if (n->kind == YAML_SCALAR && n->plain && strcmp(n->text, "true") == 0)
		*ret = true;
	else if (n->kind == YAML_SCALAR && n->plain && strcmp(n->text, "false") == 0)
		*ret = false;
	else
		return schema_fail(c, n, "'%s' must be true or false (without quotes), not %s",
				   row->key, schema_got(c, n));
	return 0;
}

int schema_parse_word(struct schema_ctx *c, const struct schema_row *row, const struct yaml_pair *p,
		      void *field)
{
	char list[256] = "";
	const char *s;

	for (const struct schema_word *w = row->words; w->word != NULL; w++) {
		size_t n = strlen(list);

		(void)snprintf(list + n, sizeof(list) - n, "%s%s", n > 0 ? " or " : "", w->word);
	}
	if (p->value->kind != YAML_SCALAR || is_null(p->value))
		return schema_fail(c, p->value, "'%s' must be %s, not %s", row->key, list,
				   schema_got(c, p->value));
	if (schema_scalar(c, row->key, p->value, &s) != 0)
		return -1;
	for (const struct schema_word *w = row->words; w->word != NULL; w++) {
		if (strcmp(w->word, s) == 0) {
			memcpy(field, &w->value, sizeof(w->value));
			return 0;
		}
	}
	return schema_fail(c, p->value, "'%s' must be %s, not '%.80s'", row->key, list, s);
}

int schema_parse_text(struct schema_ctx *c, const struct schema_row *row, const struct yaml_pair *p,
		      void *field)
{
	return schema_scalar(c, row->key, p->value, (const char **)field);
}

int schema_parse_size(struct schema_ctx *c, const struct schema_row *row, const struct yaml_pair *p,
		      void *field)
{
	(void)row;
	return parse_number(c, p, size_units, WHAT_SIZE, field);
}

int schema_parse_count(struct schema_ctx *c, const struct schema_row *row,
		       const struct yaml_pair *p, void *field)
{
	(void)row;
	return parse_number(c, p, no_units, WHAT_COUNT, field);
}

int schema_parse_pair(struct schema_ctx *c, const struct schema_row *row, const struct yaml_pair *p,
		      void *field)
{
	(void)c;
	(void)row;
	*(const struct yaml_pair **)field = p;
	return 0;
}

static int parse_limit(struct schema_ctx *c, const struct yaml_pair *p,
		       const struct schema_word *units, const char *what,
		       struct profile_limit *limit)
{
	limit->set = true;
	limit->pos = schema_pos(c, p->value);
	return parse_number(c, p, units, what, &limit->value);
}

int schema_parse_limit_size(struct schema_ctx *c, const struct schema_row *row,
			    const struct yaml_pair *p, void *field)
{
	(void)row;
	return parse_limit(c, p, size_units, WHAT_SIZE, field);
}

int schema_parse_limit_bytes(struct schema_ctx *c, const struct schema_row *row,
			     const struct yaml_pair *p, void *field)
{
	(void)row;
	return parse_limit(c, p, no_units, WHAT_COUNT, field);
}

int schema_parse_limit_duration(struct schema_ctx *c, const struct schema_row *row,
				const struct yaml_pair *p, void *field)
{
	(void)row;
	return parse_limit(c, p, duration_units, WHAT_DURATION, field);
}

int schema_parse_limit_seconds(struct schema_ctx *c, const struct schema_row *row,
			       const struct yaml_pair *p, void *field)
{
	(void)row;
	return parse_limit(c, p, seconds, WHAT_COUNT, field);
}
