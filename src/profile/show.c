/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "profile/show.h"

#include <string.h>

#include "base/escape.h"
#include "base/path.h"
#include "profile/block.h"

#define BLOCK_DEPTH_MAX 4 /* deeper maps are written on one line */

struct show {
	struct schema_ctx c;
	struct strbuf *sb;
	const char *unfit; /* a value that no text of a profile can hold, or NULL */
};

static const struct schema_row *row_find(const struct schema_map *map, const char *key)
{
	for (size_t i = 0; map != NULL && i < map->n; i++) {
		if (strcmp(map->rows[i].key, key) == 0)
			return &map->rows[i];
	}
	return NULL;
}

static bool is_host_path(const struct schema_row *row)
{
	return row != NULL && strstr(row->type, "host path") != NULL;
}

/* Words and numbers stay plain, so that true stays true; all else is quoted. */
static void put_text(struct show *s, const char *text, bool plain)
{
	static const char safe[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				   "_./@+-";

	/* A parameter, or the folder of a file: such bytes were never in a profile. */
	if (!yaml_text_ok(text, strlen(text)))
		s->unfit = text;
	if (plain && text[0] != '\0' && text[0] != '-' && text[strspn(text, safe)] == '\0') {
		strbuf_puts(s->sb, text);
		return;
	}
	strbuf_putc(s->sb, '"');
	for (const char *p = text; *p != '\0'; p++) {
		if (*p == '"' || *p == '\\')
			strbuf_printf(s->sb, "\\%c", *p);
		else if (*p == '\n' || *p == '\t' || *p == '\r')
			strbuf_printf(s->sb, "\\x%02x", (unsigned)*p);
		else
			strbuf_putc(s->sb, *p);
	}
	strbuf_putc(s->sb, '"');
}

/* A relative host path is relative to a file that the reader of this text may not have. What
 * ${...} stands for is left to the parameters. */
static int put_host_path(struct show *s, const char *key, const struct yaml_node *n)
{
	const char *text, *value, *shown;

	s->c.text = 0; /* it was within the bound when it was read */
	if (param_expand(&s->c, key, n, n->text, &value) != 0 ||
	    block_host_path(&s->c, key, n, value, &text) != 0)
		return -1;
	if (strstr(n->text, "${") != NULL && (value[0] == '/' || value[0] == '~')) {
		text = n->text;
	} else if (strstr(n->text, "${") != NULL) {
		shown = path_join(s->c.a, schema_dir(&s->c, n), n->text);
		if (param_expand(&s->c, key, n, shown, &value) != 0)
			return -1;
		/* A "./" that a parameter begins or ends is dropped only where a path begins. */
		if (path_is_canonical(value))
			text = shown;
	}
	if (text[strcspn(text, "\t\r\n")] != '\0')
		s->unfit = text; /* a parameter's: roots.c takes none that is written */
	put_text(s, text, true);
	return 0;
}

static int put_scalar(struct show *s, const struct schema_row *row, const struct yaml_node *n)
{
	if (is_host_path(row))
		return put_host_path(s, row->key, n);
	put_text(s, n->text, n->plain);
	return 0;
}

static int put_flow(struct show *s, const struct schema_row *row, const struct schema_map *map,
		    const struct yaml_node *n);

static int put_flow_map(struct show *s, const struct schema_row *row, const struct schema_map *map,
			const struct yaml_node *n)
{
	bool named = row != NULL && row->shape == SCHEMA_SHAPE_NAMED;

	strbuf_putc(s->sb, '{');
	for (size_t i = 0; i < n->n; i++) {
		const struct yaml_node *k = n->pairs[i].key;
		const struct schema_row *below = named ? NULL : row_find(map, k->text);

		strbuf_puts(s->sb, i > 0 ? ", " : "");
		put_text(s, k->text, true);
		strbuf_puts(s->sb, ": ");
		if (put_flow(s, below, below != NULL ? below->sub : map, n->pairs[i].value) != 0)
			return -1;
	}
	strbuf_putc(s->sb, '}');
	return 0;
}

/* @row: of the key that @n is the value of, or NULL; @map: the table of a map there. */
static int put_flow(struct show *s, const struct schema_row *row, const struct schema_map *map,
		    const struct yaml_node *n)
{
	switch (n->kind) {
	case YAML_SCALAR:
		return put_scalar(s, row, n);
	case YAML_MAP:
		return put_flow_map(s, row, map, n);
	case YAML_LIST:
		break;
	}
	strbuf_putc(s->sb, '[');
	for (size_t i = 0; i < n->n; i++) {
		strbuf_puts(s->sb, i > 0 ? ", " : "");
		if (put_flow(s, row, map, n->items[i]) != 0)
			return -1;
	}
	strbuf_putc(s->sb, ']');
	return 0;
}

/* Where it stands, unless that is the profile itself. */
static void end_line(struct show *s, const struct yaml_node *n)
{
	if (n->file != s->c.file) {
		strbuf_puts(s->sb, " # ");
		escape_add(s->sb, n->file, strlen(n->file));
		strbuf_printf(s->sb, ":%u", n->line);
	}
	strbuf_putc(s->sb, '\n');
}

static void put_indent(struct show *s, unsigned depth)
{
	for (unsigned i = 0; i < depth; i++)
		strbuf_puts(s->sb, "  ");
}

static bool has_maps(const struct yaml_node *list)
{
	for (size_t i = 0; list->kind == YAML_LIST && i < list->n; i++) {
		if (list->items[i]->kind == YAML_MAP)
			return true;
	}
	return false;
}

static int put_items(struct show *s, unsigned depth, const struct schema_row *row,
		     const struct yaml_node *list)
{
	strbuf_putc(s->sb, '\n');
	for (size_t i = 0; i < list->n; i++) {
		put_indent(s, depth);
		strbuf_puts(s->sb, "- ");
		if (put_flow(s, row, row != NULL ? row->sub : NULL, list->items[i]) != 0)
			return -1;
		end_line(s, list->items[i]);
	}
	return 0;
}

static int put_block(struct show *s, unsigned depth, bool named, const struct schema_map *map,
		     const struct yaml_node *n)
{
	for (size_t i = 0; i < n->n; i++) {
		const struct yaml_node *k = n->pairs[i].key;
		const struct yaml_node *v = n->pairs[i].value;
		const struct schema_row *row = named ? NULL : row_find(map, k->text);
		const struct schema_map *below = row != NULL ? row->sub : named ? map : NULL;
		bool below_named = row != NULL && row->shape == SCHEMA_SHAPE_NAMED;

		put_indent(s, depth);
		put_text(s, k->text, true);
		strbuf_putc(s->sb, ':');
		if (v->kind == YAML_MAP && v->n > 0 && depth < BLOCK_DEPTH_MAX) {
			strbuf_putc(s->sb, '\n');
			if (put_block(s, depth + 1, below_named, below, v) != 0)
				return -1;
		} else if (has_maps(v)) {
			if (put_items(s, depth + 1, row, v) != 0)
				return -1;
		} else {
			strbuf_putc(s->sb, ' ');
			if (put_flow(s, row, below, v) != 0)
				return -1;
			end_line(s, k);
		}
	}
	return 0;
}

/* The values that they have; who has none yet must still be given. */
static void put_params(struct show *s)
{
	bool first = true;

	for (size_t i = 0; i < s->c.params.values.n; i++) {
		const struct param_value *v = &s->c.params.values.v[i];

		if (!v->declared)
			continue;
		strbuf_puts(s->sb, first ? "params:\n" : "");
		first = false;
		strbuf_puts(s->sb, "  ");
		put_text(s, v->name, true);
		strbuf_printf(s->sb, ": {type: %s, ", v->is_path ? "path" : "word");
		if (v->value == NULL || v->stood_in) {
			strbuf_printf(s->sb, "required: %s}\n", v->required ? "true" : "false");
			continue;
		}
		strbuf_puts(s->sb, "default: ");
		put_text(s, v->value, false);
		strbuf_puts(s->sb, "}\n");
	}
}

int profile_show(struct arena *a, const struct profile *p, struct strbuf *sb, struct err *err)
{
	static const char *const before[] = { "version", "params" };
	struct show s = { .c = p->read->c, .sb = sb };
	const struct yaml_node *root = p->read->root;

	s.c.a = a;
	s.c.err = err;
	strbuf_puts(sb, "version: 1\n");
	put_params(&s);
	for (size_t i = 0; i < root->n; i++) {
		const struct yaml_node one = { .kind = YAML_MAP, .n = 1, .pairs = &root->pairs[i] };
		size_t k = 0;

		while (k < ARRAY_SIZE(before) && strcmp(before[k], root->pairs[i].key->text) != 0)
			k++;
		if (k == ARRAY_SIZE(before) && put_block(&s, 0, false, schema_root(), &one) != 0)
			return -1;
	}
	if (s.unfit != NULL)
		return err_set(err, ERR_REQUEST, 0,
			       "'%.200s' holds bytes that are not UTF-8, or control characters, "
			       "and cannot be written in a profile",
			       s.unfit);
	return 0;
}
