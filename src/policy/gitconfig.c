/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "policy/gitconfig.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

#define END (-1)

/* Subsections are written as "section.sub" or as [section "sub"]: of includeIf any will do. */
static const struct {
	const char *section;
	const char *name;
	bool any_subsection;
	enum gitconfig_key key;
} known[] = {
	{ "core", "hookspath", false, GITCONFIG_HOOKS },
	{ "core", "worktree", false, GITCONFIG_WORKTREE },
	{ "include", "path", false, GITCONFIG_INCLUDE },
	{ "includeif", "path", true, GITCONFIG_INCLUDE },
};

struct reader {
	struct arena *arena;
	const char *p, *end;
	char *word; /* of the length of the text */
	char section[32];
	bool has_subsection;
	gitconfig_entries *ret;
	bool full;
};

/* Line ends of both kinds are one; the end of the file ends its last line. */
static int next_char(struct reader *r)
{
	if (r->p == r->end)
		return END;
	if (*r->p == '\r' && r->end - r->p > 1 && r->p[1] == '\n')
		r->p++;
	return (unsigned char)*r->p++;
}

static int line_char(struct reader *r)
{
	int c = next_char(r);

	return c == END ? '\n' : c;
}

static bool is_space(int c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\v' || c == '\f';
}

static bool is_alpha(int c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_key_char(int c)
{
	return is_alpha(c) || (c >= '0' && c <= '9') || c == '-';
}

/* "sub"], with the blanks before it; the text of a subsection decides nothing here. */
static bool read_subsection(struct reader *r)
{
	int c;

	do {
		c = line_char(r);
		if (c == '\n')
			return false;
	} while (is_space(c));
	if (c != '"')
		return false;
	r->has_subsection = true;
	for (;;) {
		c = line_char(r);
		if (c == '\n')
			return false;
		if (c == '"')
			return next_char(r) == ']';
		if (c == '\\' && line_char(r) == '\n')
			return false;
	}
}

static bool read_section(struct reader *r)
{
	size_t n = 0;

	r->has_subsection = false;
	for (;;) {
		int c = next_char(r);

		if (c == ']')
			break;
		if (is_space(c)) {
			r->section[n] = '\0';
			return c != '\n' && read_subsection(r);
		}
		if (c == '.') {
			r->has_subsection = true;
			continue;
		}
		if (!is_key_char(c))
			return false;
		/* One that is longer than any known is none of them. */
		if (!r->has_subsection && n < sizeof(r->section) - 1)
			r->section[n++] = (char)c;
	}
	r->section[n] = '\0';
	return true;
}

/* Return: what a backslash and @c stand for, END for what git refuses, '\n' for nothing. */
static int unescape(int c)
{
	switch (c) {
	case '\n':
	case '\\':
	case '"':
		return c;
	case 't':
		return '\t';
	case 'b':
		return '\b';
	case 'n':
		return 'n';
	default:
		return END;
	}
}

/* A value to the end of its line, into r->word; false when git refuses it. */
static bool read_value(struct reader *r)
{
	bool quoted = false;
	bool comment = false;
	size_t n = 0;
	size_t kept = 0; /* without the blanks at the end */

	for (;;) {
		int c = line_char(r);
		bool literal = quoted;

		if (c == '\n') {
			r->word[kept] = '\0';
			return !quoted;
		}
		if (comment)
			continue;
		if (!quoted && is_space(c)) {
			if (n > 0)
				r->word[n++] = (char)c;
			continue;
		}
		if (!quoted && (c == ';' || c == '#')) {
			comment = true;
			continue;
		}
		if (c == '"') {
			quoted = !quoted;
			continue;
		}
		if (c == '\\') {
			int next = line_char(r);

			c = unescape(next);
			if (c == END)
				return false;
			if (c == '\n')
				continue;
			if (next == 'n')
				c = '\n';
			literal = true;
		}
		r->word[n++] = (char)c;
		if (literal || !is_space(c))
			kept = n;
	}
}

static void keep(struct reader *r, const char *name)
{
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (strcasecmp(known[i].section, r->section) != 0 ||
		    strcasecmp(known[i].name, name) != 0 ||
		    (r->has_subsection && !known[i].any_subsection) || r->word[0] == '\0')
			continue;
		if (r->ret->n == GITCONFIG_ENTRIES_MAX) {
			r->full = true;
			return;
		}
		*array_push(r->arena, r->ret) =
			(struct gitconfig_entry){ .key = known[i].key,
						  .value = arena_strdup(r->arena, r->word) };
	}
}

static bool read_entry(struct reader *r, int c)
{
	char name[32];
	size_t n = 0;

	if (!is_alpha(c))
		return false;
	for (; is_key_char(c); c = line_char(r)) {
		if (n < sizeof(name) - 1)
			name[n++] = (char)c;
	}
	name[n] = '\0';
	while (c == ' ' || c == '\t')
		c = line_char(r);
	r->word[0] = '\0';
	if (c != '\n' && (c != '=' || !read_value(r)))
		return false;
	keep(r, name);
	return true;
}

bool gitconfig_parse(struct arena *a, const char *text, size_t len, gitconfig_entries *ret)
{
	struct reader r = { .arena = a, .p = text, .end = text + len, .ret = ret };
	bool comment = false;
	bool ok = true;
	int c;

	r.word = arena_alloc(a, len + 1);
	if (len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
		r.p += 3;
	while (ok && !r.full && (c = next_char(&r)) != END) {
		if (c == '\n')
			comment = false;
		else if (c == '#' || c == ';')
			comment = true;
		else if (!comment && c == '[')
			ok = read_section(&r);
		else if (!comment && !is_space(c))
			ok = read_entry(&r, c);
	}
	return !r.full;
}

const char *gitconfig_pointer(struct arena *a, const char *text, size_t len, const char *prefix)
{
	size_t skip = strlen(prefix);

	while (len > 0 && (text[len - 1] == '\n' || text[len - 1] == '\r'))
		len--;
	if (len <= skip || memcmp(text, prefix, skip) != 0 || memchr(text, '\0', len) != NULL)
		return NULL;
	return arena_strndup(a, text + skip, len - skip);
}
