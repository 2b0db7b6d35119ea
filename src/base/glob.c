/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/glob.h"

#include <limits.h>
#include <stdint.h>
#include <string.h>

#include "base/path.h"

#define ESCAPABLE "*?[]{}(),!^-+@\\"

/* One character at @s, of at least one byte; *len is what it takes. */
static uint32_t character(const char *s, size_t max, size_t *len)
{
	static const struct {
		unsigned char mask, lead;
		uint32_t least;
	} forms[] = { { 0xe0, 0xc0, 0x80 }, { 0xf0, 0xe0, 0x800 }, { 0xf8, 0xf0, 0x10000 } };
	unsigned char first = (unsigned char)s[0];

	*len = 1;
	if (first < 0x80)
		return first;
	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		uint32_t c = first & (unsigned char)~forms[i].mask;
		size_t n = 1;

		if ((first & forms[i].mask) != forms[i].lead)
			continue;
		for (; n < i + 2 && n < max && ((unsigned char)s[n] & 0xc0) == 0x80; n++)
			c = c << 6 | ((unsigned char)s[n] & 0x3f);
		if (n < i + 2 || c < forms[i].least || c > 0x10ffff)
			break;
		*len = n;
		return c;
	}
	return 0x110000 + first; /* above every character: matched by what matches any */
}

/* A character of a pattern, with its backslash. */
static uint32_t pattern_character(const char **p, const char *end)
{
	size_t n;
	uint32_t c;

	if (**p == '\\' && *p + 1 < end)
		(*p)++;
	c = character(*p, (size_t)(end - *p), &n);
	*p += n;
	return c;
}

/* *p is after '['; moved past ']'. The set was checked. */
static bool set_holds(const char **p, const char *end, uint32_t c)
{
	bool negate = **p == '!' || **p == '^';
	bool hit = false;

	*p += negate;
	while (*p < end && **p != ']') {
		uint32_t lo = pattern_character(p, end);
		uint32_t hi = lo;

		if (*p + 1 < end && (*p)[0] == '-' && (*p)[1] != ']') {
			(*p)++;
			hi = pattern_character(p, end);
		}
		hit = hit || (c >= lo && c <= hi);
	}
	*p += *p < end;
	return hit != negate;
}

/* One token of a pattern that is no star against one character; both move on when they agree. */
static bool token_matches(const char **pattern, const char *pattern_end, const char **name,
			  const char *name_end)
{
	const char *p = *pattern;
	size_t n;
	uint32_t c;
	bool ok;

	if (p == pattern_end || *name == name_end)
		return false;
	c = character(*name, (size_t)(name_end - *name), &n);
	if (*p == '?') {
		p++;
		ok = true;
	} else if (*p == '[') {
		p++;
		ok = set_holds(&p, pattern_end, c);
	} else {
		ok = pattern_character(&p, pattern_end) == c;
	}
	if (ok) {
		*pattern = p;
		*name += n;
	}
	return ok;
}

static bool wild_matches(const struct glob_segment *s, const char *name, const char *name_end)
{
	const char *p = s->text;
	const char *end = s->text + s->len;
	const char *star = NULL; /* after the last '*' */
	const char *back = NULL; /* where it began, and then how far it has come */
	size_t n;

	while (p < end || name < name_end) {
		if (p < end && *p == '*') {
			star = ++p;
			back = name;
			continue;
		}
		if (token_matches(&p, end, &name, name_end))
			continue;
		if (star == NULL || back == name_end)
			return false;
		(void)character(back, (size_t)(name_end - back), &n);
		back += n;
		name = back;
		p = star;
	}
	return true;
}

static bool segment_matches(const struct glob_segment *s, const char *name, size_t len)
{
	if (s->kind == GLOB_LITERAL)
		return s->len == len && memcmp(s->text, name, len) == 0;
	return wild_matches(s, name, name + len);
}

static const char *next_component(const char *p)
{
	p += strcspn(p, "/");
	return p + (*p == '/');
}

/* @p: components without a slash before them. */
static bool segments_match(const struct glob *g, const char *p)
{
	size_t k = 0;
	size_t star = SIZE_MAX; /* after the last "**" */
	const char *back = NULL;

	while (*p != '\0') {
		if (k < g->n && g->segments[k].kind == GLOB_DEEP) {
			star = ++k;
			back = p;
			if (star == g->n)
				return true;
			continue;
		}
		if (k < g->n && segment_matches(&g->segments[k], p, strcspn(p, "/"))) {
			k++;
			p = next_component(p);
			continue;
		}
		if (star == SIZE_MAX)
			return false;
		back = next_component(back);
		p = back;
		k = star;
	}
	return k == g->n || (k + 1 == g->n && g->segments[k].kind == GLOB_DEEP);
}

bool glob_match(const struct glob *g, const char *path)
{
	return g->prefix != NULL && path_covers(g->prefix, path) &&
	       segments_match(g, path_rest(g->prefix, path));
}

bool glob_covers(const struct glob *g, const char *path)
{
	return g->n > 0 && g->segments[g->n - 1].kind == GLOB_DEEP && glob_match(g, path);
}

bool glob_reaches(const struct glob *g, const char *path)
{
	const char *p;

	if (g->prefix == NULL)
		return false;
	if (path_covers(path, g->prefix))
		return true;
	if (!path_covers(g->prefix, path))
		return false;
	p = path_rest(g->prefix, path);
	for (size_t k = 0; k < g->n; k++) {
		if (g->segments[k].kind == GLOB_DEEP || *p == '\0')
			return true;
		if (!segment_matches(&g->segments[k], p, strcspn(p, "/")))
			return false;
		p = next_component(p);
	}
	return *p == '\0';
}

bool glob_overlaps(const struct glob *g, const char *path)
{
	char above[PATH_MAX];
	size_t len = strlen(path);

	if (glob_reaches(g, path))
		return true;
	if (len >= sizeof(above))
		return true;
	memcpy(above, path, len + 1);
	while (len > 1) {
		while (len > 1 && above[--len] != '/')
			;
		above[len == 0 ? 1 : len] = '\0';
		if (len <= 1)
			above[1] = '\0';
		if (glob_match(g, above))
			return true;
	}
	return false;
}

bool glob_is_literal(const struct glob *g)
{
	return g->prefix != NULL && g->n == 0;
}

bool glob_is_everything(const struct glob *g)
{
	if (g->prefix == NULL || g->prefix[1] != '\0')
		return false;
	for (size_t i = 0; i < g->n; i++) {
		const struct glob_segment *s = &g->segments[i];

		if (s->kind == GLOB_LITERAL ||
		    (s->kind == GLOB_WILD && strspn(s->text, "*") != s->len))
			return false;
	}
	return true;
}

bool glob_is_subtree(const struct glob *g)
{
	return g->n == 1 && g->segments[0].kind == GLOB_DEEP;
}

/* --- reading a pattern */

static const char *const why_backslash = "a backslash stands only before one of "
					 "*?[]{}(),!^-+@ or another one";

static bool escape_ok(const char *p)
{
	return p[0] == '\\' && p[1] != '\0' && strchr(ESCAPABLE, p[1]) != NULL;
}

/* One character of a set at *p. */
static const char *set_character(const char **p, const char *end, uint32_t *c)
{
	if (**p == '\\' && (*p + 1 == end || !escape_ok(*p)))
		return why_backslash;
	if (**p == '[' || **p == '{' || **p == '}')
		return "inside [...] put a backslash before [, { and } for these "
		       "characters themselves";
	*c = pattern_character(p, end);
	return NULL;
}

/* *p is at '['; moved past ']'. */
static const char *set_check(const char **p, const char *end)
{
	const char *why = NULL;
	const char *first;

	(*p)++;
	*p += *p < end && (**p == '!' || **p == '^');
	first = *p;
	while (why == NULL && *p < end && **p != ']') {
		uint32_t lo = 0;
		uint32_t hi;

		why = set_character(p, end, &lo);
		hi = lo;
		if (why == NULL && *p + 1 < end && (*p)[0] == '-' && (*p)[1] != ']') {
			(*p)++;
			why = set_character(p, end, &hi);
		}
		if (why == NULL && hi < lo)
			why = "a range in [...] ends before it begins";
	}
	if (why != NULL)
		return why;
	if (*p == end)
		return "'[' without ']' in the same component (a backslash before it for the "
		       "character itself)";
	if (*p == first)
		return "a set [] that holds nothing (a backslash before ] for the "
		       "character itself)";
	(*p)++;
	return NULL;
}

static const char *segment_check(const char *p, const char *end, bool *wild)
{
	while (p < end) {
		const char *why = NULL;

		if (p + 1 < end && p[1] == '(' && strchr("!@+*?", *p) != NULL)
			return "!(...), @(...), +(...), *(...) and ?(...) are not read (a "
			       "backslash before ( for the character itself)";
		if (strchr("]{}", *p) != NULL)
			return "']', '{' or '}' without its other half (a backslash before it for "
			       "the character itself)";
		if (*p == '\\') {
			if (!escape_ok(p) || p + 1 == end)
				return why_backslash;
			p += 2;
			continue;
		}
		*wild = *wild || strchr("*?[", *p) != NULL;
		if (*p == '[')
			why = set_check(&p, end);
		else
			p++;
		if (why != NULL)
			return why;
	}
	return NULL;
}

static const char *unescape(struct arena *a, const char *s, size_t len, size_t *ret_len)
{
	char *out = arena_strndup(a, s, len);
	size_t n = 0;

	for (size_t i = 0; i < len; i++) {
		if (s[i] == '\\')
			i++;
		out[n++] = s[i];
	}
	out[n] = '\0';
	*ret_len = n;
	return out;
}

static bool is_any_name(const struct glob_segment *s)
{
	return s->kind == GLOB_WILD && s->len == 1 && s->text[0] == '*';
}

/* Of "**" and "*" next to each other the order says nothing; with "**" last it can be seen at once
 * that a pattern covers what lies below. Two "**" are one. */
static void segment_add(struct arena *a, struct glob *g, size_t *cap, struct glob_segment s)
{
	bool after_deep = g->n > 0 && g->segments[g->n - 1].kind == GLOB_DEEP;

	if (after_deep && s.kind == GLOB_DEEP)
		return;
	g->segments = arena_grow(a, g->segments, g->n, cap, sizeof(s));
	g->segments[g->n++] = s;
	if (after_deep && is_any_name(&s)) {
		g->segments[g->n - 1] = g->segments[g->n - 2];
		g->segments[g->n - 2] = s;
	}
}

const char *glob_compile(struct arena *a, const char *text, struct glob *ret)
{
	STRBUF_AUTO prefix = { 0 };
	size_t cap = 0;

	*ret = (struct glob){ 0 };
	if (text[0] != '/')
		return "it must start with '/'";
	for (const char *p = text + 1; *p != '\0';) {
		size_t len = strcspn(p, "/");
		struct glob_segment s = { .text = p, .len = len };
		bool wild = false;
		const char *why = segment_check(p, p + len, &wild);

		if (why != NULL)
			return why;
		if (wild)
			s.kind = len == 2 && p[0] == '*' && p[1] == '*' ? GLOB_DEEP : GLOB_WILD;
		s.text = wild ? arena_strndup(a, p, len) : unescape(a, p, len, &s.len);
		p = next_component(p);
		if (ret->n == 0 && !wild)
			strbuf_printf(&prefix, "/%s", s.text);
		else
			segment_add(a, ret, &cap, s);
	}
	ret->prefix = prefix.len == 0 ? "/" : arena_strdup(a, strbuf_str(&prefix));
	return NULL;
}

void glob_escape(struct strbuf *sb, const char *value)
{
	for (; *value != '\0'; value++) {
		if (strchr(ESCAPABLE, *value) != NULL)
			strbuf_add(sb, "\\", 1);
		strbuf_add(sb, value, 1);
	}
}

/* --- {a,b} */

static const char *skip_plain(const char *p, const char *stop)
{
	while (*p != '\0' && strchr(stop, *p) == NULL)
		p += p[0] == '\\' && p[1] != '\0' ? 2 : 1;
	return p;
}

/* The part of a group that begins at @p: to the next ',' or '}' of the same group. */
static const char *part_end(const char *p)
{
	unsigned depth = 0;

	for (;; p++) {
		p = skip_plain(p, depth == 0 ? "{,}" : "{}");
		if (*p == '\0' || (depth == 0 && *p != '{'))
			return p;
		if (*p == '{')
			depth++;
		else
			depth--;
	}
}

struct expansion {
	struct arena *arena;
	glob_texts *texts;
	size_t bytes;
};

static const char *group_end(const char *open, const char **why)
{
	const char *p = part_end(open + 1);

	if (*p == '}')
		*why = "{...} without a comma: it would stand for one thing only (ranges such as "
		       "{1..3} are not read; a backslash before { for the character itself)";
	while (*p == ',')
		p = part_end(p + 1);
	if (*p == '\0')
		*why = "'{' without '}' (a backslash before it for the character itself)";
	return p;
}

/* Depth: one for each group, of which there are at most GLOB_BRACES_MAX. */
static const char *expand(struct expansion *e, const char *text)
{
	const char *open = skip_plain(text, "{}");
	const char *why = NULL;
	const char *end;

	if (*open == '\0') {
		e->bytes += strlen(text) + 1;
		if (e->texts->n == GLOB_ALTERNATIVES_MAX || e->bytes > GLOB_EXPANDED_MAX)
			return "{...} stands for too many patterns (at most 256, and 16 KiB in "
			       "all)";
		*array_push(e->arena, e->texts) = text;
		return NULL;
	}
	if (*open == '}')
		return "'}' without '{' (a backslash before it for the character itself)";
	end = group_end(open, &why);
	for (const char *p = open; why == NULL && p < end;) {
		const char *next = part_end(p + 1);

		why = expand(e, arena_printf(e->arena, "%.*s%.*s%s", (int)(open - text), text,
					     (int)(next - p - 1), p + 1, end + 1));
		p = next;
	}
	return why;
}

const char *glob_expand(struct arena *a, const char *text, glob_texts *ret)
{
	struct expansion e = { .arena = a, .texts = ret };
	size_t groups = 0;

	for (const char *p = skip_plain(text, "{"); *p != '\0'; p = skip_plain(p + 1, "{"))
		groups++;
	if (groups > GLOB_BRACES_MAX)
		return "more than 16 groups {...} in one pattern";
	if (groups > 0 && strlen(text) > GLOB_EXPANDED_MAX)
		return "too long for a pattern with {...}";
	*ret = (glob_texts){ 0 };
	return expand(&e, text);
}
