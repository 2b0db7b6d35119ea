/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "policy/gitconfig.h"

#include <string.h>

#include "base/strbuf.h"
#include "tap.h"

/* What git reads of each text was seen with `git config -f FILE --list`. */
static const struct {
	const char *text, *want, *name;
} rows[] = {
	{ "", "", "nothing" },
	{ "[core]\n\thooksPath = .githooks\n", "H .githooks\n", "hooks" },
	{ "[core]\nhookspath=a\n[CORE]\nHOOKSPATH=b", "H a\nH b\n", "any case, no last newline" },
	{ "[core] hooksPath = a", "H a\n", "on the line of the section" },
	{ "\xef\xbb\xbf[core]\r\nhooksPath = a\r\n", "H a\n", "a byte order mark, lines of DOS" },
	{ "[core \"x\"]\nhooksPath = a\n[core.x]\nhooksPath = b\n", "", "not of a subsection" },
	{ "[corex]\nhooksPath = a\n[cor]\nhooksPath = a\n", "", "nor of another section" },
	{ "[core]\nhooksPathx = a\nhooksPat = a\n", "", "nor by another name" },
	{ "[core]\nhooksPath\n", "", "without a value" },
	{ "[core]\nhooksPath =\nhooksPath = \"\"\n", "", "an empty value" },
	{ "[core]\nhooksPath = a b  \t\n", "H a b\n", "blanks within, not around" },
	{ "[core]\nhooksPath = \" a \"\n", "H  a \n", "but in quotes" },
	{ "[core]\nhooksPath = a ; c\nhooksPath = \"b#\" # c\n", "H a\nH b#\n", "comments" },
	{ "# [core]\n; x\n[core]\n# hooksPath = no\nhooksPath = a\n", "H a\n", "lines of comment" },
	{ "[core]\nhooksPath = a\\\nb\n", "H ab\n", "a continued line" },
	{ "[core]\nhooksPath = a\\\r\nb\n", "H ab\n", "and one of DOS" },
	{ "[core]\nhooksPath = \"a\\\\b\\\"c\\td\"\n", "H a\\b\"c\td\n", "escapes" },
	{ "[core]\nhooksPath = a\\qb\nhooksPath = c\n", "", "an escape that git does not know" },
	{ "[core]\nhooksPath = \"a\nhooksPath = c\n", "", "a quote that is not closed" },
	{ "[core]\nhooksPath = a\n[core\nhooksPath = b\n", "H a\n", "ends where git refuses" },
	{ "[core]\n1x = 2\nhooksPath = b\n", "", "a name that is none" },
	{ "[core]\nhooksPath : b\nhooksPath = c\n", "", "no equals sign" },
	{ "[include]\npath = x\n", "I x\n", "an include" },
	{ "[include \"x\"]\npath = x\n", "", "which has no subsection" },
	{ "[includeIf \"gitdir:~/a]\\\"b/\"]\n path = ~/y\n", "I ~/y\n", "a condition" },
	{ "[includeIf \"gitdir:a\" ]\npath = y\n", "", "a blank that git refuses" },
	{ "[core]\nworktree = ../../../sub\n", "W ../../../sub\n", "a work tree" },
};

static void test_rows(struct tap *t)
{
	static const char letters[] = {
		[GITCONFIG_HOOKS] = 'H', [GITCONFIG_INCLUDE] = 'I', [GITCONFIG_WORKTREE] = 'W'
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct arena a = { 0 };
		gitconfig_entries got = { 0 };
		STRBUF_AUTO sb = { 0 };

		(void)gitconfig_parse(&a, rows[i].text, strlen(rows[i].text), &got);
		for (size_t k = 0; k < got.n; k++)
			strbuf_printf(&sb, "%c %s\n", letters[got.v[k].key], got.v[k].value);
		tap_str(t, strbuf_str(&sb), rows[i].want, rows[i].name);
		arena_free(&a);
	}
}

static void test_bounds(struct tap *t)
{
	struct arena a = { 0 };
	gitconfig_entries got = { 0 };
	STRBUF_AUTO sb = { 0 };

	strbuf_puts(&sb, "[include]\n");
	for (unsigned i = 0; i < GITCONFIG_ENTRIES_MAX; i++)
		strbuf_puts(&sb, "path = x\n");
	tap_ok(t, gitconfig_parse(&a, sb.buf, sb.len, &got) && got.n == GITCONFIG_ENTRIES_MAX,
	       "as many entries as there may be");
	strbuf_puts(&sb, "path = x\n");
	got.n = 0;
	tap_ok(t, !gitconfig_parse(&a, sb.buf, sb.len, &got), "one more is told");
	arena_free(&a);
}

static void test_pointer(struct tap *t)
{
	struct arena a = { 0 };

	tap_str(t, gitconfig_pointer(&a, "gitdir: /a b\r\n\n", 15, "gitdir: "), "/a b",
		"a pointer");
	tap_str(t, gitconfig_pointer(&a, "../..\n", 6, ""), "../..",
		"one without a word before it");
	tap_ok(t, gitconfig_pointer(&a, "gitdir: \n", 9, "gitdir: ") == NULL, "an empty one");
	tap_ok(t, gitconfig_pointer(&a, "gitdir:/x\n", 10, "gitdir: ") == NULL, "none");
	tap_ok(t, gitconfig_pointer(&a, "gitdir: a\0b", 11, "gitdir: ") == NULL, "with a NUL");
	tap_ok(t, gitconfig_pointer(&a, "git", 3, "gitdir: ") == NULL, "a short one");
	arena_free(&a);
}

int main(void)
{
	struct tap t = { 0 };

	test_rows(&t);
	test_bounds(&t);
	test_pointer(&t);
	return tap_done(&t);
}
