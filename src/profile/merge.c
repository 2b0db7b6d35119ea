/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "profile/merge.h"

#include <stdlib.h>
#include <string.h>

/* Where the names are that two profiles may not both give. */
static const char *const unique_path[] = { "permissions", "agents" };

/* How much of unique_path leads to a map; NOWHERE: it lies elsewhere. */
#define NOWHERE (ARRAY_SIZE(unique_path) + 1)

static struct yaml_node *map_like(struct arena *a, const struct yaml_node *n)
{
	struct yaml_node *copy = arena_new(a, struct yaml_node);

	*copy = *n;
	copy->pairs = NULL;
	copy->n = 0;
	return copy;
}

/* @map without the pairs of these keys. */
static const struct yaml_node *without(struct arena *a, const struct yaml_node *map,
				       const char *const *keys, size_t n_keys)
{
	ARRAY_OF(struct yaml_pair) pairs = { 0 };
	struct yaml_node *copy = map_like(a, map);

	for (size_t i = 0; i < map->n; i++) {
		size_t k = 0;

		while (k < n_keys && strcmp(keys[k], map->pairs[i].key->text) != 0)
			k++;
		if (k == n_keys)
			*array_push(a, &pairs) = map->pairs[i];
	}
	copy->pairs = pairs.v;
	copy->n = pairs.n;
	return copy;
}

const struct yaml_node *merge_inherited(struct arena *a, const struct yaml_node *profile)
{
	static const char *const own[] = { "version", "tests" };

	return without(a, profile, own, ARRAY_SIZE(own));
}

static bool overrides(const struct yaml_node *agent)
{
	const struct yaml_node *v = yaml_get(agent, "override");

	return v != NULL && v->kind == YAML_SCALAR && v->plain && strcmp(v->text, "true") == 0;
}

/* The agent of both: only one can be meant. */
static int merge_agent(struct schema_ctx *c, const struct yaml_pair *own,
		       const struct yaml_pair *base, const struct yaml_node **ret)
{
	static const char *const key[] = { "override" };
	struct profile_pos pos = schema_pos(c, base->key);

	if (!overrides(own->value))
		return schema_fail(c, own->key,
				   "agent '%.64s' is declared at %s too: with 'override: true' in "
				   "its map it takes the place of that one",
				   own->key->text, schema_where(c, own->key->file, &pos));
	*ret = without(c->a, own->value, key, 1);
	return 0;
}

static size_t step(size_t at, const char *key)
{
	return at < ARRAY_SIZE(unique_path) && strcmp(unique_path[at], key) == 0 ? at + 1 : NOWHERE;
}

static const struct yaml_node *merge_lists(struct arena *a, const struct yaml_node *own,
					   const struct yaml_node *base)
{
	struct yaml_node *list = arena_new(a, struct yaml_node);
	const struct yaml_node **items = arena_array(a, own->n + base->n, sizeof(*items));

	for (size_t i = 0; i < own->n; i++)
		items[i] = own->items[i];
	for (size_t i = 0; i < base->n; i++)
		items[own->n + i] = base->items[i];
	*list = *own;
	list->items = items;
	list->n = own->n + base->n;
	return list;
}

struct indexed {
	const struct yaml_pair *pair;
	bool used;
};

static int indexed_order(const void *x, const void *y)
{
	const struct indexed *a = x;
	const struct indexed *b = y;

	return strcmp(a->pair->key->text, b->pair->key->text);
}

static int merge_nodes(struct schema_ctx *c, const struct yaml_node *own,
		       const struct yaml_node *base, size_t at, const struct yaml_node **ret);

/* @index: the pairs of @base by key, so that large maps do not cost the square of their size. */
static int merge_maps(struct schema_ctx *c, const struct yaml_node *own,
		      const struct yaml_node *base, size_t at, const struct yaml_node **ret)
{
	struct indexed *index = arena_array(c->a, base->n, sizeof(*index));
	struct yaml_pair *pairs = arena_array(c->a, own->n + base->n, sizeof(*pairs));
	struct yaml_node *map = map_like(c->a, own);
	size_t n = 0;

	for (size_t i = 0; i < base->n; i++)
		index[i].pair = &base->pairs[i];
	if (base->n > 1)
		qsort(index, base->n, sizeof(*index), indexed_order);
	for (size_t i = 0; i < own->n; i++) {
		const struct yaml_pair *p = &own->pairs[i];
		struct indexed want = { .pair = p };
		struct indexed *b = base->n == 0 ? NULL
						 : bsearch(&want, index, base->n, sizeof(*index),
							   indexed_order);
		const struct yaml_node *v = p->value;

		if (b != NULL) {
			b->used = true;
			if (at == ARRAY_SIZE(unique_path)
				    ? merge_agent(c, p, b->pair, &v) != 0
				    : merge_nodes(c, p->value, b->pair->value,
						  step(at, p->key->text), &v) != 0)
				return -1;
		}
		pairs[n++] = (struct yaml_pair){ .key = p->key, .value = v };
	}
	/* In the order in which they were written. */
	for (size_t i = 0; i < base->n; i++) {
		struct indexed want = { .pair = &base->pairs[i] };
		const struct indexed *b =
			bsearch(&want, index, base->n, sizeof(*index), indexed_order);

		if (b != NULL && !b->used)
			pairs[n++] = base->pairs[i];
	}
	map->pairs = pairs;
	map->n = n;
	*ret = map;
	return 0;
}

static int merge_nodes(struct schema_ctx *c, const struct yaml_node *own,
		       const struct yaml_node *base, size_t at, const struct yaml_node **ret)
{
	*ret = own;
	if (own->kind != base->kind)
		return 0;
	switch (own->kind) {
	case YAML_SCALAR:
		break;
	case YAML_LIST:
		*ret = merge_lists(c->a, own, base);
		break;
	case YAML_MAP:
		return merge_maps(c, own, base, at, ret);
	}
	return 0;
}

int merge_profiles(struct schema_ctx *c, const struct yaml_node *own, const struct yaml_node *base,
		   const struct yaml_node **ret)
{
	return merge_nodes(c, own, merge_inherited(c->a, base), 0, ret);
}
