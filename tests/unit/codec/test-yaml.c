/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "codec/yaml.h"

#include "base/strbuf.h"
#include "tap.h"

static int parse(struct arena *a, const char *text, size_t len, const struct yaml_node **ret,
		 struct err *err)
{
	*ret = NULL;
	return yaml_parse(a, "f.yaml", text, len, ret, err);
}

static void bad(struct tap *t, const char *text, size_t len, unsigned line, unsigned col,
		const char *want)
{
	struct arena a = { 0 };
	struct err err = { 0 };
	const struct yaml_node *n;
	int r = parse(&a, text, len, &n, &err);
	bool ok = r == -1 && err.code == ERR_PROFILE && err.line == line && err.col == col &&
		  strstr(err.msg, want) != NULL && err.file != NULL &&
		  strcmp(err.file, "f.yaml") == 0;

	tap_ok(t, ok, "refused at %u:%u: %s", line, col, want);
	if (!ok)
		printf("# got %d %u:%u '%s'\n", r, err.line, err.col, err.msg);
	arena_free(&a);
}

/* How much of a text names it in the output: a part of its first line, in ASCII. */
static inline int label_len(const char *text)
{
	size_t n = strcspn(text, "\r\n#\xc3\xe2\xf4");

	return n < 60 ? (int)n : 60;
}

static const struct yaml_node *good(struct tap *t, struct arena *a, const char *text, size_t len)
{
	struct err err = { 0 };
	const struct yaml_node *n;
	int r = parse(a, text, len, &n, &err);

	if (!tap_ok(t, r == 0 && n != NULL, "accepted: %.*s", label_len(text), text))
		printf("# got %u:%u '%s'\n", err.line, err.col, err.msg);
	return n;
}

struct row {
	const char *text;
	unsigned line, col;
	const char *want; /* NULL: accepted */
	size_t len;       /* 0: strlen */
};

static const struct row rows[] = {
	{ "a: b\n", 0, 0, NULL, 0 },
	{ "a: b", 0, 0, NULL, 0 },
	{ "---\na: b\n...\n", 0, 0, NULL, 0 },
	{ "a: b\r\nc: d\r\n", 0, 0, NULL, 0 },
	{ "a: b\r\nc: *d\r\n", 2, 4, "alias '*d'", 0 },
	{ "a:\tb\n", 0, 0, NULL, 0 },
	{ "a: |\n  text\n", 0, 0, NULL, 0 },
	{ "", 1, 1, "empty", 0 },
	{ "\n\n# x\n", 1, 1, "empty", 0 },
	{ "---\n", 2, 1, "empty", 0 },
	{ "--- ''\n", 0, 0, NULL, 0 },
	{ "\ta: b\n", 1, 1, "tab in the indentation", 0 },
	{ "a:\n  b: c\n \td: e\n", 3, 2, "tab in the indentation", 0 },
	{ "a: &x b\n", 1, 4, "anchor '&x'", 0 },
	{ "a: &x [b]\n", 1, 4, "anchor '&x'", 0 },
	{ "a: &x {b: c}\n", 1, 4, "anchor '&x'", 0 },
	{ "&x a: b\n", 1, 1, "anchor '&x'", 0 },
	{ "a: *x\n", 1, 4, "alias '*x'", 0 },
	{ "*x : a\n", 1, 1, "alias as a key", 0 },
	{ "a: \"*x &y !z\"\n", 0, 0, NULL, 0 },
	{ "a: !!int 1\n", 1, 4, "tag 'tag:yaml.org,2002:int'", 0 },
	{ "a: ! b\n", 1, 4, "tag '!'", 0 },
	{ "a: !x [b]\n", 1, 4, "tag '!x'", 0 },
	{ "a: !x {b: c}\n", 1, 4, "tag '!x'", 0 },
	{ "!x a: b\n", 1, 1, "tag '!x'", 0 },
	{ "<<: {a: b}\n", 1, 1, "merge key", 0 },
	{ "a: {<<: {a: b}}\n", 1, 5, "merge key", 0 },
	{ "'<<': b\n", 0, 0, NULL, 0 },
	{ "a: <<\n", 0, 0, NULL, 0 },
	{ "a: b\n---\nc: d\n", 2, 1, "second document", 0 },
	{ "a: b\n...\nc: d\n", 3, 1, "", 0 },
	{ "a: b\n---\n", 2, 1, "second document", 0 },
	{ "%YAML 1.1\n---\na: b\n", 1, 1, "directives", 0 },
	{ "%TAG ! tag:x,2000:\n---\na: b\n", 1, 1, "directives", 0 },
	{ "a: b\na: c\n", 2, 1, "duplicate key 'a' (first at line 1)", 0 },
	{ "a: b\n'a': c\n", 2, 1, "duplicate key 'a'", 0 },
	{ "a: b\n\"\\x61\": c\n", 2, 1, "duplicate key 'a'", 0 },
	{ "z: 1\nb: 1\na: 1\nb: 2\na: 2\n", 4, 1, "duplicate key 'b' (first at line 2)", 0 },
	{ "x: {a: 1}\ny: {a: 1}\n", 0, 0, NULL, 0 },
	{ "a: 1\nA: 1\n", 0, 0, NULL, 0 },
	{ "? [a]\n: b\n", 1, 3, "a key must be a plain word", 0 },
	{ "{a: b}: c\n", 1, 1, "a key must be a plain word", 0 },
	{ "? a\n: b\n", 1, 3, "'? key' is not read", 0 },
	{ "x: {? a : b}\n", 1, 7, "'? key' is not read", 0 },
	{ "a: really?\nb: c\n", 0, 0, NULL, 0 },
	{ "a: b # really ?\nb: c\n", 0, 0, NULL, 0 },
	{ "'?': c\n", 0, 0, NULL, 0 },
	{ "\xef\xbb\xbf"
	  "a: b\n",
	  1, 1, "byte order mark", 0 },
	{ "a: b\nc: \xef\xbb\xbf\n", 2, 4, "byte order mark", 0 },
	{ "\xff\xfe"
	  "a\0:\0",
	  1, 1, "invalid UTF-8", 6 },
	{ "a: b\0\n", 1, 5, "control character U+0000", 6 },
	{ "a: \"\\0\"\n", 1, 4, "control character U+0000", 0 },
	{ "a: \"\\e[0m\"\n", 1, 4, "control character U+001B", 0 },
	{ "a: \"\\u202e\"\n", 1, 4, "control character U+202E", 0 },
	{ "a: \"\\t\\n\\u00e9\"\n", 0, 0, NULL, 0 },
	{ "a: \x1b\n", 1, 4, "control character U+001B", 0 },
	{ "a: \x7f\n", 1, 4, "control character U+007F", 0 },
	{ "a: \xc2\x85\n", 1, 4, "control character U+0085", 0 },
	{ "a: \xc2\xa0\n", 0, 0, NULL, 0 },
	{ "a: \xe2\x80\xa8\n", 1, 4, "control character U+2028", 0 },
	{ "# \xe2\x80\xae\n", 1, 3, "control character U+202E", 0 },
	{ "# \xe2\x81\xa6\n", 1, 3, "control character U+2066", 0 },
	{ "a: b\rc: d\n", 1, 5, "control character U+000D", 0 },
	{ "a: \xc3\n", 1, 4, "invalid UTF-8 (byte 0xc3)", 0 },
	{ "a: \x80\n", 1, 4, "invalid UTF-8 (byte 0x80)", 0 },
	{ "a: \xc0\xaf\n", 1, 4, "invalid UTF-8", 0 },
	{ "a: \xe0\x80\xaf\n", 1, 4, "invalid UTF-8", 0 },
	{ "a: \xed\xa0\x80\n", 1, 4, "invalid UTF-8", 0 },
	{ "a: \xf4\x90\x80\x80\n", 1, 4, "invalid UTF-8", 0 },
	{ "a: \xf4\x8f\xbf\xbd\n", 0, 0, NULL, 0 },
	{ "a: \xc3", 1, 4, "invalid UTF-8", 0 },
	/* columns are bytes */
	{ "a: [\xc3\xa9, \xe2\x82\xac, *x]\n", 1, 14, "alias '*x'", 0 },
	{ "\xc3\xa9: b\n\xc3\xa9: c\n", 2, 1, "duplicate key", 0 },
	{ "{\xc3\xa9: b, c: d, c: e}\n", 1, 15, "duplicate key 'c'", 0 },
	{ "a: [b\n", 2, 1, "not valid YAML", 0 },
	{ "a: 'b\n", 2, 1, "not valid YAML", 0 },
	{ "a: b: c\n", 1, 5, "not valid YAML", 0 },
	{ "a:\n    b: c\n  d: e\n", 3, 3, "not valid YAML", 0 },
	{ "a: @b\n", 1, 4, "not valid YAML", 0 },
	{ "a: \"\\q\"\n", 1, 5, "not valid YAML", 0 },
};

static void test_rows(struct tap *t)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct row *r = &rows[i];
		size_t len = r->len != 0 ? r->len : strlen(r->text);
		struct arena a = { 0 };

		if (r->want != NULL)
			bad(t, r->text, len, r->line, r->col, r->want);
		else
			(void)good(t, &a, r->text, len);
		arena_free(&a);
	}
}

static void test_tree(struct tap *t)
{
	static const char text[] = "a: [x, 'y', \"z\"]\n"
				   "b: {}\n"
				   "\xc3\xa9: true\n"
				   "c:\n"
				   "  - d: e\n";
	struct arena a = { 0 };
	const struct yaml_node *root = good(t, &a, text, strlen(text));
	const struct yaml_node *n;

	if (root == NULL)
		goto out;
	tap_int(t, root->kind, YAML_MAP, "a map");
	tap_int(t, (long long)root->n, 4, "four pairs");
	tap_str(t, root->pairs[1].key->text, "b", "in the order of the file");
	n = yaml_get(root, "a");
	tap_int(t, n != NULL && n->kind == YAML_LIST && n->n == 3, true, "a list of three");
	tap_int(t, n->line, 1, "line");
	tap_int(t, n->col, 4, "column");
	tap_int(t, n->items[0]->plain, true, "plain");
	tap_int(t, n->items[1]->plain, false, "single quotes are not plain");
	tap_int(t, n->items[2]->plain, false, "double quotes are not plain");
	tap_int(t, n->items[2]->col, 13, "column in a list");
	tap_int(t, yaml_get(root, "b")->kind, YAML_MAP, "an empty map");
	tap_int(t, yaml_get(root, "\xc3\xa9")->col, 5, "a column counts bytes");
	n = yaml_get(yaml_get(root, "c")->items[0], "d");
	tap_str(t, n->text, "e", "nested");
	tap_int(t, n->line, 5, "nested: line");
	tap_int(t, n->col, 8, "nested: column");
	tap_ok(t, yaml_get(root, "no") == NULL, "no such key");
	tap_ok(t, yaml_get(n, "d") == NULL, "a scalar has no keys");
out:
	arena_free(&a);
}

static void nest(struct strbuf *sb, size_t depth)
{
	for (size_t i = 0; i < depth; i++)
		strbuf_putc(sb, '[');
	for (size_t i = 0; i < depth; i++)
		strbuf_putc(sb, ']');
}

static void test_bounds(struct tap *t)
{
	struct arena a = { 0 };

	for (size_t more = 0; more < 2; more++) {
		STRBUF_AUTO deep = { 0 };
		STRBUF_AUTO many = { 0 };
		STRBUF_AUTO large = { 0 };

		nest(&deep, YAML_DEPTH_MAX + more);
		/* The list itself is a value too. */
		strbuf_puts(&many, "[");
		for (size_t i = 0; i < YAML_NODES_MAX - 1 + more; i++)
			strbuf_puts(&many, i > 0 ? ",\na" : "a");
		strbuf_puts(&many, "]");
		strbuf_puts(&large, "a: b\n#");
		while (large.len < YAML_BYTES_MAX + more)
			strbuf_putc(&large, 'x');
		if (more == 0) {
			(void)good(t, &a, deep.buf, deep.len);
			(void)good(t, &a, many.buf, many.len);
			(void)good(t, &a, large.buf, large.len);
		} else {
			bad(t, deep.buf, deep.len, 1, YAML_DEPTH_MAX + 1, "nested more than 32");
			bad(t, many.buf, many.len, YAML_NODES_MAX, 1, "more than 100000 values");
			bad(t, large.buf, large.len, 0, 0, "larger than");
		}
	}
	arena_free(&a);
}

/* Half a million characters in one line, and keys in the worst order: neither may cost
 * quadratic time. The test's own time limit is the judge. */
static void test_cost(struct tap *t)
{
	STRBUF_AUTO sb = { 0 };
	struct arena a = { 0 };

	strbuf_puts(&sb, "{\xc3\xa9: b");
	for (int i = 49000; i > 0; i--)
		strbuf_printf(&sb, ", k%d: \xc3\xa9", i);
	strbuf_puts(&sb, "}");
	(void)good(t, &a, sb.buf, sb.len);
	arena_free(&a);
}

int main(void)
{
	struct tap t = { 0 };

	test_rows(&t);
	test_tree(&t);
	test_bounds(&t);
	test_cost(&t);
	return tap_done(&t);
}
