/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Globs without a profile around them: cost, trees, and what the text of a value may not bring in.
 * The vectors of tests/table/globs.tsv are read by test-globs.c of the profile's floor. */
#include "base/glob.h"

#include <limits.h>
#include <time.h>

#include "tap.h"

static const char *compile(struct arena *a, const char *text, struct glob *g)
{
	const char *why = glob_compile(a, text, g);

	if (why != NULL)
		printf("Bail out! %s: %s\n", text, why);
	return why;
}

static void test_trees(struct tap *t)
{
	static const struct {
		const char *pattern, *path;
		bool covers, reaches;
	} rows[] = {
		{ "/w/**", "/w", true, true },
		{ "/w/**", "/w/a", true, true },
		{ "/w/**", "/", false, true },
		{ "/w/**", "/x", false, false },
		{ "/w/**", "/w2", false, false },
		{ "/w", "/w", false, true },
		{ "/w", "/w/a", false, false },
		{ "/w", "/", false, true },
		{ "/**", "/", true, true },
		{ "/**", "/any", true, true },
		{ "/w/*", "/w", false, true },
		{ "/w/*", "/w/a", false, true },
		{ "/w/*", "/w/a/b", false, false },
		{ "/w/*/**", "/w", false, true },
		{ "/w/*/**", "/w/a", true, true },
		{ "/w/**/*", "/w", false, true },
		{ "/w/**/*", "/w/a", true, true },
		{ "/w/*.log", "/w/notes", false, false },
		{ "/w/*.log", "/w/x.log", false, true },
		{ "/w/*.log", "/w/x.log/y", false, false },
		{ "/w/**/.env", "/w/a/b", false, true },
		{ "/w/**/.env", "/v", false, false },
		{ "/w/*/x/y", "/w/a", false, true },
		{ "/w/*/x/y", "/w/a/z", false, false },
		{ "/w/*/x/y", "/w/a/x", false, true },
		{ "/*/x", "/w", false, true },
		{ "/*/**/x/**", "/w/x", true, true },
		{ "/*/**/x/**", "/w", false, true },
	};
	struct arena a = { 0 };
	struct glob none = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct glob g;

		if (compile(&a, rows[i].pattern, &g) != NULL)
			continue;
		tap_ok(t, glob_covers(&g, rows[i].path) == rows[i].covers, "%s covers %s: %d",
		       rows[i].pattern, rows[i].path, rows[i].covers);
		tap_ok(t, glob_reaches(&g, rows[i].path) == rows[i].reaches, "%s reaches %s: %d",
		       rows[i].pattern, rows[i].path, rows[i].reaches);
	}
	tap_ok(t,
	       !glob_match(&none, "/") && !glob_covers(&none, "/") && !glob_reaches(&none, "/") &&
		       !glob_is_literal(&none) && !glob_is_subtree(&none),
	       "a zeroed pattern matches nothing");
	arena_free(&a);
}

static const char *repeat(struct arena *a, const char *head, const char *part, size_t n,
			  const char *tail)
{
	STRBUF_AUTO sb = { 0 };

	strbuf_puts(&sb, head);
	for (size_t i = 0; i < n; i++)
		strbuf_puts(&sb, part);
	strbuf_puts(&sb, tail);
	return arena_strdup(a, strbuf_str(&sb));
}

/* A matcher that remembers more than one star would need years for these. */
static void test_cost(struct tap *t)
{
	struct arena a = { 0 };
	const struct {
		const char *pattern, *path;
	} rows[] = {
		{ repeat(&a, "/", "*a", 120, "b"), repeat(&a, "/", "a", 4000, "") },
		{ repeat(&a, "/", "*[ab]", 120, "c"), repeat(&a, "/", "a", 4000, "") },
		{ repeat(&a, "/", "?*", 120, "b"), repeat(&a, "/", "a", 4000, "") },
		{ repeat(&a, "", "/**/a", 120, "/b"), repeat(&a, "", "/a", 2000, "") },
		{ repeat(&a, "", "/**/*a*", 120, "/b"), repeat(&a, "", "/aa", 1300, "") },
		{ repeat(&a, "/**/", "*a", 500, "b"), repeat(&a, "", "/aaaaaaaaaaaaaaa", 250, "") },
		{ repeat(&a, "/**/*/**", "/*/**/x*", 100, ""), repeat(&a, "", "/y", 2000, "") },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct glob g;
		clock_t start;
		double s;
		bool hit;

		if (compile(&a, rows[i].pattern, &g) != NULL)
			continue;
		start = clock();
		hit = glob_match(&g, rows[i].path);
		s = (double)(clock() - start) / CLOCKS_PER_SEC;
		tap_ok(t, !hit && s < 2, "%.12s... on %zu bytes: no, in %.4f s", rows[i].pattern,
		       strlen(rows[i].path), s);
	}
	arena_free(&a);
}

static void test_expand(struct tap *t)
{
	struct arena a = { 0 };
	glob_texts v = { 0 };
	const char *wide = repeat(&a, "/{a", ",a", GLOB_ALTERNATIVES_MAX - 1, "}");

	tap_str(t, glob_expand(&a, "/{a,b{c,d}}x/{e,}f", &v), NULL, "nested");
	tap_int(t, (long long)v.n, 6, "each of them");
	tap_str(t, v.v[0], "/ax/ef", "in order: the first");
	tap_str(t, v.v[3], "/bcx/f", "in order: the fourth");
	tap_str(t, v.v[5], "/bdx/f", "in order: the last");
	tap_str(t, glob_expand(&a, "/a\\{b,c\\}", &v), NULL, "escaped braces");
	tap_int(t, (long long)v.n, 1, "are none");
	tap_str(t, glob_expand(&a, wide, &v), NULL, "as many as can be");
	tap_int(t, (long long)v.n, GLOB_ALTERNATIVES_MAX, "are all there");
	tap_ok(t, glob_expand(&a, repeat(&a, "/{a", ",a", GLOB_ALTERNATIVES_MAX, "}"), &v) != NULL,
	       "one more is refused");
	tap_ok(t, glob_expand(&a, repeat(&a, "/{a,b}", "{c,d}", 15, ""), &v) != NULL,
	       "a product that is too large is refused");
	arena_free(&a);
}

/* A value stands for itself, whatever it holds. */
static void test_escape(struct tap *t)
{
	static const char *const values[] = { "/a*b",     "/{x,y}", "/[a-z]", "/a\\*",
					      "/?(x)/!b", "/**",    "/-^+@",  "/\xc3\xa9/\xff" };
	struct arena a = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		STRBUF_AUTO sb = { 0 };
		glob_texts v = { 0 };
		struct glob g;

		glob_escape(&sb, values[i]);
		tap_str(t, glob_expand(&a, strbuf_str(&sb), &v), NULL, values[i]);
		tap_int(t, (long long)v.n, 1, "stands for one pattern");
		tap_str(t, glob_compile(&a, v.v[0], &g), NULL, "which compiles");
		tap_ok(t, glob_is_literal(&g) && strcmp(g.prefix, values[i]) == 0, "to itself");
		tap_ok(t, glob_match(&g, values[i]), "and matches itself");
		tap_ok(t, !glob_match(&g, "/axb"), "and nothing else");
	}
	arena_free(&a);
}

static void test_bytes(struct tap *t)
{
	struct arena a = { 0 };
	struct glob g;

	(void)compile(&a, "/a/?", &g);
	tap_ok(t, glob_match(&g, "/a/\xff"), "'?' is one byte that is no UTF-8");
	tap_ok(t, !glob_match(&g, "/a/\xff\xff"), "not two");
	tap_ok(t, !glob_match(&g, "/a/\xc3x"), "a sequence that is cut is a byte");
	tap_ok(t, glob_match(&g, "/a/\xf0\x9f\x98\x80"), "a character of four bytes");
	(void)compile(&a, "/a/*x", &g);
	tap_ok(t, glob_match(&g, "/a/\xf0\x9fx"), "'*' takes bytes that are no UTF-8");
	(void)compile(&a, "/a/[!b]", &g);
	tap_ok(t, glob_match(&g, "/a/\xff"), "a negated set takes one");
	(void)compile(&a, "/a/[\x01-\xf4\x8f\xbf\xbf]", &g);
	tap_ok(t, !glob_match(&g, "/a/\xff"), "no range holds one");
	(void)compile(&a, "/a/[\xc3\xa9]", &g);
	tap_ok(t, !glob_match(&g, "/a/\xc3"), "a set is of characters, not of their bytes");
	arena_free(&a);
}

int main(void)
{
	struct tap t = { 0 };

	test_trees(&t);
	test_cost(&t);
	test_expand(&t);
	test_escape(&t);
	test_bytes(&t);
	return tap_done(&t);
}
