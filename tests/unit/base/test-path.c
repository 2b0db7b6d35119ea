/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/path.h"

#include <limits.h>

#include "tap.h"

static void test_canonical(struct tap *t)
{
	static const struct {
		const char *path;
		bool want;
	} rows[] = {
		{ "/", true },       { "/a", true },       { "/a/b", true },    { "/a/b.c", true },
		{ "/.a", true },     { "/..a", true },     { "/a..", true },    { "/...", true },
		{ "/a/.b/c", true }, { "/~", true },       { "/a b", true },    { "/a\n", true },
		{ "", false },       { "a", false },       { "a/b", false },    { "./a", false },
		{ "~/a", false },    { "//", false },      { "//a", false },    { "/a//b", false },
		{ "/a/", false },    { "/a/b/", false },   { "/.", false },     { "/..", false },
		{ "/./a", false },   { "/a/.", false },    { "/a/./b", false }, { "/a/..", false },
		{ "/../a", false },  { "/a/../b", false }, { "/a/b//", false }, { " /a", false },
	};
	char longest[PATH_MAX + 1];

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		tap_ok(t, path_is_canonical(rows[i].path) == rows[i].want, "canonical '%s': %s",
		       rows[i].path, rows[i].want ? "yes" : "no");
	}
	memset(longest, 'a', sizeof(longest));
	longest[0] = '/';
	longest[PATH_MAX - 1] = '\0';
	tap_ok(t, path_is_canonical(longest), "PATH_MAX - 1 bytes");
	longest[PATH_MAX - 1] = 'a';
	longest[PATH_MAX] = '\0';
	tap_ok(t, !path_is_canonical(longest), "not PATH_MAX bytes");
}

static void test_covers(struct tap *t)
{
	static const struct {
		const char *dir, *path, *rest; /* rest NULL: does not cover */
	} rows[] = {
		{ "/", "/", "" },
		{ "/", "/a", "a" },
		{ "/", "/a/b", "a/b" },
		{ "/a", "/a", "" },
		{ "/a", "/a/b", "b" },
		{ "/a", "/a/b/c", "b/c" },
		{ "/a/b", "/a/b/c", "c" },
		{ "/a", "/ab", NULL },
		{ "/a", "/ab/c", NULL },
		{ "/a", "/", NULL },
		{ "/a", "/A", NULL },
		{ "/a/b", "/a", NULL },
		{ "/a/b", "/a/bc", NULL },
		{ "/a/b", "/a/c/b", NULL },
		{ "/alice", "/alice2/x", NULL },
		{ "/a.b", "/axb", NULL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		bool covers = path_covers(rows[i].dir, rows[i].path);

		tap_ok(t, covers == (rows[i].rest != NULL), "'%s' covers '%s': %s", rows[i].dir,
		       rows[i].path, rows[i].rest != NULL ? "yes" : "no");
		if (covers && rows[i].rest != NULL)
			tap_str(t, path_rest(rows[i].dir, rows[i].path), rows[i].rest,
				"and what is left");
	}
}

static void test_parts(struct tap *t)
{
	static const struct {
		const char *path;
		size_t depth;
		const char *dirname, *basename;
	} rows[] = {
		{ "/", 0, "/", "" },        { "/a", 1, "/", "a" },
		{ "/ab/c", 2, "/ab", "c" }, { "/a/b/c", 3, "/a/b", "c" },
		{ "/a/.b", 2, "/a", ".b" },
	};
	struct arena a = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		tap_ok(t, path_depth(rows[i].path) == rows[i].depth, "depth of '%s'", rows[i].path);
		tap_str(t, path_dirname(&a, rows[i].path), rows[i].dirname, "dirname");
		tap_str(t, path_basename(rows[i].path), rows[i].basename, "basename");
	}
	tap_str(t, path_basename("word"), "word", "basename of a word without a slash");
	tap_str(t, path_join(&a, "/", "x"), "/x", "join with the root");
	tap_str(t, path_join(&a, "/a", "x"), "/a/x", "join with a directory");
	tap_str(t, path_join(&a, "/a/b", "x/y"), "/a/b/x/y", "join with two names");
	arena_free(&a);
}

int main(void)
{
	struct tap t = { 0 };

	test_canonical(&t);
	test_covers(&t);
	test_parts(&t);
	return tap_done(&t);
}
