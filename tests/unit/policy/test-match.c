/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/path.h"
#include "policy/match.h"

#include <time.h>

#include "tap.h"

struct name_row {
	const char *pattern, *name;
	bool want;
};

static const struct name_row name_rows[] = {
	{ "", "", true },
	{ "", "a", false },
	{ "a", "", false },
	{ "a", "a", true },
	{ "a", "b", false },
	{ "a", "A", false },
	{ "a", "ab", false },
	{ "ab", "a", false },
	{ "*", "", true },
	{ "*", "abc", true },
	{ "*", ".env", true },
	{ "**", "abc", true },
	{ "a*", "a", true },
	{ "a*", "abc", true },
	{ "a*", "ba", false },
	{ "*a", "a", true },
	{ "*a", "bca", true },
	{ "*a", "ab", false },
	{ "a*b", "ab", true },
	{ "a*b", "aXXb", true },
	{ "a*b", "abX", false },
	{ "a*b*c", "abc", true },
	{ "a*b*c", "aXbXbXc", true },
	{ "a*b*c", "acb", false },
	{ "*ab*", "xxabxx", true },
	{ "*ab*", "xxaxbx", false },
	{ "*aab", "aaab", true },
	{ "?", "a", true },
	{ "?", "", false },
	{ "?", "ab", false },
	{ "?", ".", true },
	{ "a?c", "abc", true },
	{ "a?c", "ac", false },
	{ "*?", "", false },
	{ "*?", "a", true },
	{ "?*?", "a", false },
	{ "?*?", "ab", true },
	{ ".env", ".env", true },
	{ ".env", "xenv", false },
	{ ".env.*", ".env.local", true },
	{ ".env.*", ".env", false },
	{ ".env.*", ".env.", true },
	{ "[ab]", "a", true },
	{ "[ab]", "b", true },
	{ "[ab]", "c", false },
	{ "[ab]", "", false },
	{ "[a-c]", "b", true },
	{ "[a-c]", "d", false },
	{ "[a-c]", "-", false },
	{ "[c-a]", "b", false },
	{ "[!ab]", "c", true },
	{ "[!ab]", "a", false },
	{ "[^ab]", "c", true },
	{ "[^ab]", "a", false },
	{ "[!ab]", "", false },
	{ "[]a]", "]", true },
	{ "[]a]", "a", true },
	{ "[]a]", "b", false },
	{ "[!]a]", "]", false },
	{ "[!]a]", "b", true },
	{ "[a-]", "-", true },
	{ "[a-]", "b", false },
	{ "[-a]", "-", true },
	{ "[ab", "a", false },
	{ "[ab", "[ab", false },
	{ "[", "[", false },
	{ "[!", "x", false },
	{ "*[ab", "xa", false },
	{ "[!ab", "c", false },
	{ "x[ab]y", "xay", true },
	{ "x[ab]y", "xcy", false },
	{ "*[0-9]", "a7", true },
	{ "*[0-9]", "7a", false },
	{ "[a-c][x-z]", "by", true },
	{ "*[ab]*", "xxbxx", true },
	{ "\\*", "*", false },
	{ "\\*", "\\x", true },
	{ "{a,b}", "a", false },
	{ "a]b", "a]b", true },
	{ "a*a*a*b", "aaaab", true },
	{ "a*a*a*b", "aab", false },
};

static void test_names(struct tap *t)
{
	for (size_t i = 0; i < ARRAY_SIZE(name_rows); i++) {
		const struct name_row *r = &name_rows[i];

		tap_ok(t, match_name(r->pattern, r->name, strlen(r->name)) == r->want,
		       "'%s' on '%s': %s", r->pattern, r->name, r->want ? "yes" : "no");
	}
	tap_ok(t, match_name("ab", "abc", 2), "the length ends the name, not a NUL");
	tap_ok(t, !match_name("abc", "abc", 2), "and nothing behind it is read");
	tap_ok(t, match_name("*", "\xff\x01", 2), "bytes are bytes");
}

/* Written apart from the code under test: by recursion, one character at a time. */
static bool naive(const char *p, const char *s)
{
	if (*p == '\0')
		return *s == '\0';
	if (*p == '*')
		return naive(p + 1, s) || (*s != '\0' && naive(p, s + 1));
	return *s != '\0' && (*p == '?' || *p == *s) && naive(p + 1, s + 1);
}

static void test_random(struct tap *t)
{
	unsigned seed = 20240701;
	size_t bad = 0;
	size_t yes = 0;

	for (int i = 0; i < 20000; i++) {
		char p[9] = "";
		char s[9] = "";
		int pl = rand_r(&seed) % 8;
		int sl = rand_r(&seed) % 8;

		for (int k = 0; k < pl; k++)
			p[k] = "ab*?"[rand_r(&seed) % 4];
		for (int k = 0; k < sl; k++)
			s[k] = "ab"[rand_r(&seed) % 2];
		if (match_name(p, s, (size_t)sl) != naive(p, s)) {
			bad++;
			printf("# '%s' on '%s'\n", p, s);
		}
		yes += naive(p, s);
	}
	tap_int(t, (long long)bad, 0, "20,000 random patterns agree with the naive matcher");
	tap_ok(t, yes > 1000 && yes < 19000, "and both answers came up (%zu yes)", yes);
}

static double seconds_of(const char *pattern, size_t len)
{
	char *name = malloc(len + 1);
	clock_t start;
	bool hit;

	if (name == NULL)
		abort();
	memset(name, 'a', len);
	name[len] = '\0';
	start = clock();
	hit = match_name(pattern, name, len);
	free(name);
	return hit ? -1 : (double)(clock() - start) / CLOCKS_PER_SEC;
}

/* One that remembers more than one star would need years for these. */
static void test_pathological(struct tap *t)
{
	static const char *const patterns[] = { "a*a*a*b", "a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b",
						"*a*a*a*a*a*a*a*a*a*[b-c]", "*?*?*?*?*?*?*?*?*?b" };

	for (size_t i = 0; i < ARRAY_SIZE(patterns); i++) {
		double s = seconds_of(patterns[i], 100000);

		tap_ok(t, s >= 0 && s < 2, "'%s' on 100,000 bytes: no, in %.4f s", patterns[i], s);
	}
}

static void test_paths(struct tap *t)
{
	static const struct {
		const char *prefix;
		bool subtree;
		const char *path;
		bool path_yes, tree_yes, file_yes;
	} rows[] = {
		{ "/w", true, "/w", true, true, true },
		{ "/w", true, "/w/a", true, true, true },
		{ "/w", true, "/w/.env", true, true, true },
		{ "/w", true, "/w2", false, false, false },
		{ "/w", true, "/", false, false, false },
		{ "/w", true, "/W", false, false, false },
		{ "/", true, "/", true, true, true },
		{ "/", true, "/any/thing", true, true, true },
		{ "/w", false, "/w", true, false, true },
		{ "/w", false, "/w/a", false, false, false },
		{ "/w", false, "/w2", false, false, false },
		{ "/w/a", true, "/w", false, false, false },
		{ "/w/a", false, "/w", false, false, false },
	};

	struct arena a = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct profile_path p = { .text = rows[i].prefix };

		if (rows[i].subtree)
			p.text = path_join(&a, p.text, "**");
		if (glob_compile(&a, p.text, &p.glob) != NULL)
			abort();
		tap_ok(t, glob_match(&p.glob, rows[i].path) == rows[i].path_yes,
		       "path '%s' on '%s'", p.text, rows[i].path);
		tap_ok(t, match_tree(&p, rows[i].path, false) == rows[i].tree_yes,
		       "tree '%s' on '%s'", p.text, rows[i].path);
		tap_ok(t, match_tree(&p, rows[i].path, true) == rows[i].file_yes,
		       "tree of a file '%s' on '%s'", p.text, rows[i].path);
	}
	arena_free(&a);
}

struct command_row {
	const char *words[4];
	const char *argv[5];
	bool same_file;
	bool allow, deny;
};

static const struct command_row command_rows[] = {
	/* name and file */
	{ { "git" }, { "git" }, true, true, true },
	{ { "git" }, { "git" }, false, false, true },
	{ { "git" }, { "/usr/bin/git" }, true, true, true },
	{ { "/usr/bin/git" }, { "git" }, true, true, true },
	{ { "git" }, { "other" }, true, false, true },
	{ { "git" }, { "other" }, false, false, false },
	{ { "git" }, { "./git" }, false, false, true },
	{ { "git" }, { "gitk" }, false, false, false },
	{ { "git" }, { "Git" }, false, false, false },
	/* exact arguments */
	{ { "git", "status" }, { "git", "status" }, true, true, true },
	{ { "git", "status" }, { "git" }, true, false, false },
	{ { "git", "status" }, { "git", "status", "-s" }, true, false, false },
	{ { "git", "status" }, { "git", "Status" }, true, false, false },
	{ { "git" }, { "git", "status" }, true, false, false },
	{ { "git", "status" }, { "git", "status", "" }, true, false, false },
	/* the last word for any further arguments */
	{ { "git", "*" }, { "git" }, true, true, true },
	{ { "git", "*" }, { "git", "a" }, true, true, true },
	{ { "git", "*" }, { "git", "a", "b" }, true, true, true },
	{ { "git", "*" }, { "git", "a" }, false, false, true },
	{ { "git", "*" }, { "hg", "a" }, false, false, false },
	{ { "git", "log", "*" }, { "git", "log" }, true, true, true },
	{ { "git", "log", "*" }, { "git", "log", "-1" }, true, true, true },
	{ { "git", "log", "*" }, { "git", "push" }, true, false, false },
	{ { "git", "log", "*" }, { "git" }, true, false, false },
	/* anything */
	{ { "*" }, { "git", "a" }, true, true, true },
	{ { "*" }, { "absent" }, false, true, true },
};

static void test_commands(struct tap *t)
{
	for (size_t i = 0; i < ARRAY_SIZE(command_rows); i++) {
		const struct command_row *r = &command_rows[i];
		const char *words[4];
		char *argv[5] = { NULL };
		struct profile_command p = { .words = words };
		struct command_file file = { .found = true, .id = { .ino = 1 } };
		struct request_command rq = { .argv = argv, .file = file };

		for (p.n = 0; p.n < 4 && r->words[p.n] != NULL; p.n++)
			words[p.n] = r->words[p.n];
		for (size_t k = 0; k < 4 && r->argv[k] != NULL; k++)
			argv[k] = strdup(r->argv[k]);
		file.id.ino = r->same_file ? 1 : 2;
		tap_ok(t, match_command(&p, &file, &rq, true, false) == r->allow,
		       "an allow of '%s%s%s' on '%s', row %zu", words[0], p.n > 1 ? " " : "",
		       p.n > 1 ? words[1] : "", argv[0], i);
		tap_ok(t, match_command(&p, &file, &rq, true, true) == r->deny, "and a deny");
		for (size_t k = 0; argv[k] != NULL; k++)
			free(argv[k]);
	}
}

/* A file that was not found is never the same as another that was not found. */
static void test_absent(struct tap *t)
{
	const char *words[] = { "x" };
	char name[] = "y";
	char *argv[] = { name, NULL };
	const struct profile_command p = { .words = words, .n = 1 };
	const struct command_file absent = { .found = false };
	const struct command_file there = { .found = true };
	struct request_command rq = { .argv = argv };

	tap_ok(t, !match_command(&p, &absent, &rq, true, true),
	       "two absent files are not the same");
	tap_ok(t, !match_command(&p, NULL, &rq, true, true), "no pattern file is no file");
	tap_ok(t, !match_command(&p, &there, &rq, true, true), "one there, the request's not");
	rq.file = there;
	tap_ok(t, !match_command(&p, &absent, &rq, true, true),
	       "the request's there, the rule's not");
	tap_ok(t, match_command(&p, &there, &rq, true, true), "both there and the same (control)");
	name[0] = 'x';
	tap_ok(t, !match_command(&p, &absent, &rq, true, false),
	       "an allow never rests on a name alone");
}

int main(void)
{
	struct tap t = { 0 };

	test_names(&t);
	test_random(&t);
	test_pathological(&t);
	test_paths(&t);
	test_commands(&t);
	test_absent(&t);
	return tap_done(&t);
}
