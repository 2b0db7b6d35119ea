/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "codec/yaml.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "base/macro.h"

struct builder {
	struct arena *a;
	const char *file;
	const char *text;
	size_t len;
	const uint32_t *lines; /* byte offset of the start of each line */
	size_t n_lines;
	bool ascii;
	size_t nodes;
	/* The last mark that was turned into an offset: marks count characters and mostly go
	 * forward, so that one long line costs one walk and not one for each node. */
	yaml_mark_t seen;
	size_t seen_off;
	yaml_parser_t parser; /* owned once ready */
	yaml_event_t event;   /* owned once ready; the one to look at */
	bool ready;
	struct err *err;
};

static void builder_release(struct builder *b)
{
	if (!b->ready)
		return;
	yaml_event_delete(&b->event);
	yaml_parser_delete(&b->parser);
}

/* The -1 stands here, where the compiler and the analyser see it. */
#define fail_at(b, line, col, ...)                                                                 \
	((void)err_set_at((b)->err, ERR_PROFILE, (b)->file, (line), (col), __VA_ARGS__), -1)

/* Length of the well-formed character at @s (RFC 3629), or 0. */
static size_t utf8_next(const unsigned char *s, size_t len, uint32_t *cp)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t n = s[0] < 0x80 ? 1 : s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;

	if (n == 0 || n > len || s[0] > 0xf4)
		return 0;
	if (n == 1) {
		*cp = s[0];
		return 1;
	}
	*cp = s[0] & (0x7fU >> n);
	for (size_t i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		*cp = *cp << 6 | (s[i] & 0x3f);
	}
	if (*cp < least[n] || *cp > 0x10ffff || (*cp >= 0xd800 && *cp <= 0xdfff))
		return 0;
	return n;
}

/* Characters that make a profile look different from what it says: controls, other line
 * breaks than LF and CRLF, bidirectional overrides, a byte order mark. */
static bool forbidden(uint32_t cp, const unsigned char *next, size_t left)
{
	if (cp == '\t' || cp == '\n')
		return false;
	if (cp == '\r')
		return left == 0 || *next != '\n';
	if (cp < 0x20 || (cp >= 0x7f && cp <= 0x9f))
		return true;
	if (cp == 0x2028 || cp == 0x2029 || (cp >= 0x202a && cp <= 0x202e))
		return true;
	return (cp >= 0x2066 && cp <= 0x2069) || cp == 0xfeff || (cp & 0xfffe) == 0xfffe;
}

struct bad_char {
	size_t off;
	uint32_t cp;
	bool invalid; /* not UTF-8 */
};

/* text_scan() - find the first character that may not stand in a profile.
 * Return: true when there is none. */
static bool text_scan(const char *text, size_t len, bool *ascii, struct bad_char *bad)
{
	const unsigned char *s = (const unsigned char *)text;

	*ascii = true;
	for (size_t i = 0; i < len;) {
		uint32_t cp;
		size_t n;

		if (s[i] >= 0x20 && s[i] < 0x7f) {
			i++;
			continue;
		}
		n = utf8_next(s + i, len - i, &cp);
		if (n == 0 || forbidden(cp, s + i + n, len - i - n)) {
			*bad = (struct bad_char){ .off = i, .cp = n == 0 ? s[i] : cp };
			bad->invalid = n == 0;
			return false;
		}
		*ascii = *ascii && n == 1;
		i += n;
	}
	return true;
}

static void lines_index(struct builder *b)
{
	uint32_t *lines;
	size_t n = 1;

	for (size_t i = 0; i < b->len; i++)
		n += b->text[i] == '\n';
	lines = arena_array(b->a, n, sizeof(*lines));
	n = 1;
	for (size_t i = 0; i < b->len; i++) {
		if (b->text[i] == '\n')
			lines[n++] = (uint32_t)(i + 1);
	}
	b->lines = lines;
	b->n_lines = n;
}

/* The line (0-based) that holds byte @off. */
static size_t line_of(const struct builder *b, size_t off)
{
	size_t lo = 0;
	size_t hi = b->n_lines;

	while (hi - lo > 1) {
		size_t mid = lo + (hi - lo) / 2;

		if (b->lines[mid] <= off)
			lo = mid;
		else
			hi = mid;
	}
	return lo;
}

bool yaml_text_ok(const char *s, size_t len)
{
	struct bad_char bad;
	bool ascii;

	return text_scan(s, len, &ascii, &bad);
}

static int text_check(struct builder *b)
{
	struct bad_char bad;
	unsigned line, col;

	if (!text_scan(b->text, b->len, &b->ascii, &bad)) {
		line = (unsigned)line_of(b, bad.off);
		col = (unsigned)(bad.off - b->lines[line]) + 1;
		if (bad.invalid)
			return fail_at(b, line + 1, col, "invalid UTF-8 (byte 0x%02x)",
				       (unsigned)bad.cp);
		if (bad.cp == 0xfeff)
			return fail_at(b, line + 1, col,
				       "byte order mark: save the file as UTF-8 without one");
		return fail_at(b, line + 1, col, "control character U+%04X", (unsigned)bad.cp);
	}
	for (size_t i = 0; i < b->n_lines; i++) {
		size_t at = b->lines[i];

		while (at < b->len && b->text[at] == ' ')
			at++;
		if (at < b->len && b->text[at] == '\t')
			return fail_at(b, (unsigned)i + 1, (unsigned)(at - b->lines[i]) + 1,
				       "tab in the indentation: use spaces");
	}
	return 0;
}

/* libyaml's columns count characters; ours count bytes. */
static size_t mark_offset(struct builder *b, const yaml_mark_t *m)
{
	size_t line = m->line < b->n_lines ? m->line : b->n_lines - 1;
	size_t off = b->lines[line];
	size_t left = m->column;

	if (b->ascii)
		return off + left < b->len ? off + left : b->len;
	if (b->seen.line == line && b->seen.column <= left && b->seen_off >= off) {
		left -= b->seen.column;
		off = b->seen_off;
	}
	for (; left > 0 && off < b->len; left--) {
		off++;
		while (off < b->len && ((unsigned char)b->text[off] & 0xc0) == 0x80)
			off++;
	}
	b->seen = *m;
	b->seen_off = off;
	return off;
}

static unsigned mark_line(const yaml_mark_t *m)
{
	return (unsigned)m->line + 1;
}

static unsigned mark_col(struct builder *b, const yaml_mark_t *m)
{
	size_t line = m->line < b->n_lines ? m->line : b->n_lines - 1;

	return (unsigned)(mark_offset(b, m) - b->lines[line]) + 1;
}

#define fail_event(b, ...)                                                                         \
	fail_at((b), mark_line(&(b)->event.start_mark), mark_col((b), &(b)->event.start_mark),     \
		__VA_ARGS__)

/* The former event goes before the next comes: one place deletes on the way, and
 * builder_release() deletes the last. */
static int event_next(struct builder *b)
{
	const yaml_parser_t *p = &b->parser;
	const yaml_mark_t *m = &p->problem_mark;

	yaml_event_delete(&b->event);
	if (yaml_parser_parse(&b->parser, &b->event))
		return 0;
	if (p->error == YAML_MEMORY_ERROR)
		abort();
	if (p->context == NULL)
		return fail_at(b, mark_line(m), mark_col(b, m), "not valid YAML: %s",
			       p->problem != NULL ? p->problem : "unknown problem");
	return fail_at(b, mark_line(m), mark_col(b, m), "not valid YAML: %s from line %u: %s",
		       p->context, mark_line(&p->context_mark),
		       p->problem != NULL ? p->problem : "unknown problem");
}

static int refuse_marks(struct builder *b, const yaml_char_t *anchor, const yaml_char_t *tag)
{
	if (anchor != NULL)
		return fail_event(b,
				  "anchor '&%s': anchors and aliases are not read; write the "
				  "value out",
				  (const char *)anchor);
	if (tag != NULL)
		return fail_event(b, "tag '%s': tags are not read", (const char *)tag);
	return 0;
}

static struct yaml_node *node_new(struct builder *b, enum yaml_kind kind)
{
	struct yaml_node *n = arena_new(b->a, struct yaml_node);

	n->kind = kind;
	n->line = mark_line(&b->event.start_mark);
	n->col = mark_col(b, &b->event.start_mark);
	n->file = b->file;
	return n;
}

static int build_scalar(struct builder *b, struct yaml_node **ret)
{
	const char *value = (const char *)b->event.data.scalar.value;
	size_t len = b->event.data.scalar.length;
	struct bad_char bad;
	bool ascii;
	struct yaml_node *n;

	if (refuse_marks(b, b->event.data.scalar.anchor, b->event.data.scalar.tag) != 0)
		return -1;
	/* An escape in double quotes can spell what the text itself may not hold. */
	if (!text_scan(value, len, &ascii, &bad))
		return fail_event(b, "the text holds the control character U+%04X",
				  (unsigned)bad.cp);
	n = node_new(b, YAML_SCALAR);
	n->plain = b->event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
	n->text = arena_strndup(b->a, value, len);
	*ret = n;
	return 0;
}

static int build_node(struct builder *b, unsigned depth, const struct yaml_node **ret);

static int build_list(struct builder *b, unsigned depth, struct yaml_node **ret)
{
	ARRAY_OF(const struct yaml_node *) items = { 0 };
	struct yaml_node *n;

	if (refuse_marks(b, b->event.data.sequence_start.anchor,
			 b->event.data.sequence_start.tag) != 0)
		return -1;
	n = node_new(b, YAML_LIST);
	for (;;) {
		if (event_next(b) != 0)
			return -1;
		if (b->event.type == YAML_SEQUENCE_END_EVENT)
			break;
		if (build_node(b, depth + 1, array_push(b->a, &items)) != 0)
			return -1;
	}
	n->items = items.v;
	n->n = items.n;
	*ret = n;
	return 0;
}

/* "? key" on one line. libyaml reports the same events for it as for "key:". */
static bool key_is_explicit(struct builder *b)
{
	size_t at = mark_offset(b, &b->event.start_mark);

	while (at > 0 && (b->text[at - 1] == ' ' || b->text[at - 1] == '\t'))
		at--;
	if (at == 0 || b->text[at - 1] != '?')
		return false;
	return at == 1 || strchr(" \t\n{,[", b->text[at - 2]) != NULL;
}

static int key_check(struct builder *b)
{
	if (b->event.type != YAML_SCALAR_EVENT)
		return b->event.type == YAML_ALIAS_EVENT
			       ? fail_event(b, "alias as a key: anchors and aliases are not read")
			       : fail_event(b, "a key must be a plain word, not a list or a map");
	if (b->event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
	    strcmp((const char *)b->event.data.scalar.value, "<<") == 0)
		return fail_event(b, "merge key '<<' is not read; write the keys out");
	if (key_is_explicit(b))
		return fail_event(b, "'? key' is not read; write 'key: value'");
	return 0;
}

static int pair_order(const void *x, const void *y)
{
	const struct yaml_node *a = (*(const struct yaml_pair *const *)x)->key;
	const struct yaml_node *b = (*(const struct yaml_pair *const *)y)->key;
	int r = strcmp(a->text, b->text);

	if (r != 0)
		return r;
	if (a->line != b->line)
		return a->line < b->line ? -1 : 1;
	return a->col < b->col ? -1 : a->col > b->col;
}

/* Sorted, so that a map of a hundred thousand keys costs no quadratic time. */
static int map_check_duplicates(struct builder *b, const struct yaml_node *map)
{
	const struct yaml_pair **order;
	const struct yaml_node *again = NULL;
	const struct yaml_node *first = NULL;

	if (map->n < 2)
		return 0;
	order = arena_array(b->a, map->n, sizeof(*order));
	for (size_t i = 0; i < map->n; i++)
		order[i] = &map->pairs[i];
	qsort(order, map->n, sizeof(*order), pair_order);
	for (size_t i = 1; i < map->n; i++) {
		const struct yaml_node *k = order[i]->key;

		if (strcmp(order[i - 1]->key->text, k->text) != 0)
			continue;
		if (again != NULL &&
		    (k->line > again->line || (k->line == again->line && k->col > again->col)))
			continue;
		again = k;
		first = order[i - 1]->key;
	}
	if (again == NULL)
		return 0;
	return fail_at(b, again->line, again->col, "duplicate key '%s' (first at line %u)",
		       again->text, first->line);
}

static int build_map(struct builder *b, unsigned depth, struct yaml_node **ret)
{
	ARRAY_OF(struct yaml_pair) pairs = { 0 };
	struct yaml_node *n;

	if (refuse_marks(b, b->event.data.mapping_start.anchor, b->event.data.mapping_start.tag) !=
	    0)
		return -1;
	n = node_new(b, YAML_MAP);
	for (;;) {
		struct yaml_pair *p;

		if (event_next(b) != 0)
			return -1;
		if (b->event.type == YAML_MAPPING_END_EVENT)
			break;
		if (key_check(b) != 0)
			return -1;
		p = array_push(b->a, &pairs);
		if (build_node(b, depth + 1, &p->key) != 0 || event_next(b) != 0 ||
		    build_node(b, depth + 1, &p->value) != 0)
			return -1;
	}
	n->pairs = pairs.v;
	n->n = pairs.n;
	*ret = n;
	return map_check_duplicates(b, n);
}

/* Build what the current event starts; @depth counts the containers around it. */
static int build_node(struct builder *b, unsigned depth, const struct yaml_node **ret)
{
	struct yaml_node *n = NULL;
	int r;

	if (++b->nodes > YAML_NODES_MAX)
		return fail_event(b, "more than %d values in one file", YAML_NODES_MAX);
	if (b->event.type == YAML_SCALAR_EVENT) {
		r = build_scalar(b, &n);
	} else if (b->event.type == YAML_ALIAS_EVENT) {
		r = fail_event(b,
			       "alias '*%s': anchors and aliases are not read; write the value out",
			       (const char *)b->event.data.alias.anchor);
	} else if (depth >= YAML_DEPTH_MAX) {
		r = fail_event(b, "nested more than %d deep", YAML_DEPTH_MAX);
	} else if (b->event.type == YAML_SEQUENCE_START_EVENT) {
		r = build_list(b, depth, &n);
	} else if (b->event.type == YAML_MAPPING_START_EVENT) {
		r = build_map(b, depth, &n);
	} else {
		(void)err_set(b->err, ERR_INTERNAL, 0, "libyaml: event %d where a value starts",
			      (int)b->event.type);
		r = -1;
	}
	*ret = n;
	return r;
}

static int build_document(struct builder *b, const struct yaml_node **ret)
{
	const struct yaml_node *root;

	if (event_next(b) != 0 || event_next(b) != 0) /* stream start, document start */
		return -1;
	if (b->event.type == YAML_STREAM_END_EVENT)
		return fail_at(b, 1, 1, "the file is empty");
	if (b->event.data.document_start.version_directive != NULL ||
	    b->event.data.document_start.tag_directives.start !=
		    b->event.data.document_start.tag_directives.end)
		return fail_event(b, "directives (%%YAML, %%TAG) are not read");
	if (event_next(b) != 0 || build_node(b, 0, &root) != 0)
		return -1;
	if (root->kind == YAML_SCALAR && root->plain && root->text[0] == '\0')
		return fail_at(b, root->line, root->col, "the document is empty");
	if (event_next(b) != 0 || event_next(b) != 0) /* document end, then stream end */
		return -1;
	if (b->event.type != YAML_STREAM_END_EVENT)
		return fail_event(b, "a second document: one file holds one profile");
	*ret = root;
	return 0;
}

int yaml_parse(struct arena *a, const char *file, const char *text, size_t len,
	       const struct yaml_node **ret, struct err *err)
{
	CLEANUP(builder_release)
	struct builder b = { .a = a, .file = file, .text = text, .len = len, .err = err };

	if (len > YAML_BYTES_MAX)
		return err_set_at(err, ERR_PROFILE, file, 0, 0, "larger than %zu bytes",
				  YAML_BYTES_MAX);
	lines_index(&b);
	if (text_check(&b) != 0)
		return -1;
	if (!yaml_parser_initialize(&b.parser))
		abort();
	b.ready = true;
	yaml_parser_set_encoding(&b.parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&b.parser, (const unsigned char *)text, len);
	return build_document(&b, ret);
}

const struct yaml_node *yaml_get(const struct yaml_node *map, const char *key)
{
	if (map->kind != YAML_MAP)
		return NULL;
	for (size_t i = 0; i < map->n; i++) {
		if (strcmp(map->pairs[i].key->text, key) == 0)
			return map->pairs[i].value;
	}
	return NULL;
}
