/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>

#include "base/path.h"
#include "profile/block.h"

struct base_text {
	const struct yaml_pair *path;
	const struct yaml_pair *from;
	const struct yaml_pair *add;
};

static const struct schema_word words[] = { { "host", PROFILE_BASE_HOST },
					    { "minimal", PROFILE_BASE_MINIMAL },
					    { NULL, 0 } };

static const struct schema_row rows[] = {
	{ .key = "path",
	  .parse = schema_parse_pair,
	  .offset = offsetof(struct base_text, path),
	  .type = "host path",
	  .help = "a root file system to see in place of the host's" },
	{ .key = "from",
	  .parse = schema_parse_pair,
	  .offset = offsetof(struct base_text, from),
	  .words = words,
	  .type = "word",
	  .help = "host or minimal: what 'add' is added to" },
	{ .key = "add",
	  .parse = schema_parse_pair,
	  .offset = offsetof(struct base_text, add),
	  .shape = SCHEMA_SHAPE_LIST,
	  .type = "list of host paths",
	  .help = "more read-only trees, such as toolchains in $HOME, seen at the same path" },
};

const struct schema_map block_base_map = SCHEMA_MAP("sandbox.base", rows);

/* Places that agentbox builds itself. Those of the base are missing here: what the base holds
 * already needs no adding, which is seen when it is looked at. */
static const char *const taken_trees[] = {
	"/proc", "/dev", "/sys", "/run", "/var/run", "/var/lock"
};
/* Scratch: a tree may lie below one of these, but not be one or hide one. */
static const char *const taken_points[] = { "/tmp", "/var/tmp", "/home/agent" };

static int host_path(struct schema_ctx *c, const char *key, const struct yaml_node *n,
		     const char **ret)
{
	const char *text;

	if (block_path_text(c, key, n, &text) != 0)
		return -1;
	return block_host_path(c, key, n, text, ret);
}

static int add_tree(struct schema_ctx *c, const char *key, const struct yaml_node *item, void *out)
{
	struct profile_sandbox *s = out;
	struct profile_tree t = { .pos = schema_pos(c, item) };

	if (host_path(c, key, item, &t.path) != 0)
		return -1;
	for (size_t i = 0; i < ARRAY_SIZE(taken_trees); i++) {
		if (path_covers(taken_trees[i], t.path))
			return schema_fail(c, item,
					   "'%s': '%.200s': %s inside is the sandbox's own", key,
					   t.path, taken_trees[i]);
	}
	for (size_t i = 0; i < ARRAY_SIZE(taken_points); i++) {
		if (path_covers(t.path, taken_points[i]))
			return schema_fail(c, item, "'%s': '%.200s' would hide %s", key, t.path,
					   taken_points[i]);
	}
	for (size_t i = 0; i < s->base_add.n; i++) {
		const char *other = s->base_add.v[i].path;

		if (path_covers(other, t.path) || path_covers(t.path, other))
			return schema_fail(c, item,
					   "'%s': '%.200s' and '%.200s' (%s) lie in each "
					   "other: keep the outer one",
					   key, t.path, other,
					   schema_where(c, item->file, &s->base_add.v[i].pos));
	}
	*array_push(c->a, &s->base_add) = t;
	return 0;
}

static int parse_map(struct schema_ctx *c, const struct yaml_pair *p, struct profile_sandbox *s)
{
	struct base_text t = { 0 };

	if (schema_walk(c, &block_base_map, p->value, &t) != 0)
		return -1;
	if (t.path != NULL && (t.from != NULL || t.add != NULL))
		return schema_fail(c, (t.from != NULL ? t.from : t.add)->key,
				   "'base' is either a 'path', or 'from' with 'add'");
	if (t.path != NULL) {
		s->base = PROFILE_BASE_PATH;
		return host_path(c, "path", t.path->value, &s->base_path);
	}
	if (t.from == NULL)
		return schema_fail(c, p->value,
				   "'base' as a map needs 'path', or 'from: host' with 'add'");
	if (schema_parse_word(c, &rows[1], t.from, &s->base) != 0)
		return -1;
	return t.add == NULL ? 0 : schema_each(c, t.add, add_tree, s);
}

int block_parse_base(struct schema_ctx *c, const struct schema_row *row, const struct yaml_pair *p,
		     void *field)
{
	struct profile_sandbox *s = field;
	struct schema_row word = *row;

	s->base_pos = schema_pos(c, p->value);
	if (p->value->kind == YAML_MAP)
		return parse_map(c, p, s);
	word.words = words;
	return schema_parse_word(c, &word, p, &s->base);
}

int block_base_check(struct schema_ctx *c, const struct profile_sandbox *s)
{
	for (size_t i = 0; i < s->base_add.n; i++) {
		const struct profile_tree *t = &s->base_add.v[i];

		for (size_t k = 0; k < s->roots.n; k++) {
			const struct profile_root *r = &s->roots.v[k];

			if (!path_covers(r->at, t->path) && !path_covers(t->path, r->at))
				continue;
			return err_set_at(
				c->err, ERR_PROFILE, t->pos.file, t->pos.line, t->pos.col,
				"'add': '%.200s' and the root at '%.200s' (%s) lie in each "
				"other: move the root with 'at', or drop one",
				t->path, r->at, schema_where(c, t->pos.file, &r->pos));
		}
	}
	return 0;
}
