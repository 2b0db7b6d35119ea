/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "policy/match.h"

#include <string.h>

#include "base/path.h"

/* One [...] set at *p (just after '['); moves *p past it. A set that is not closed matches
 * nothing. */
static bool match_set(const char **p, unsigned char c)
{
	const char *s = *p;
	bool negate = *s == '!' || *s == '^';
	bool hit = false;
	bool first = true;

	s += negate;
	for (; *s != '\0' && (first || *s != ']'); first = false) {
		unsigned char lo = (unsigned char)*s++;
		unsigned char hi = lo;

		if (s[0] == '-' && s[1] != '\0' && s[1] != ']') {
			hi = (unsigned char)s[1];
			s += 2;
		}
		hit = hit || (c >= lo && c <= hi);
	}
	if (*s != ']') {
		*p = s;
		return false;
	}
	*p = s + 1;
	return hit != negate;
}

bool match_name(const char *pattern, const char *name, size_t len)
{
	const char *p = pattern;
	const char *star = NULL; /* after the last '*' */
	size_t i = 0;
	size_t star_i = 0;

	/* Greedy with one point to come back to: linear in len for each '*'. */
	while (i < len || *p != '\0') {
		const char *q = p;

		if (*p == '*') {
			star = ++p;
			star_i = i;
			continue;
		}
		if (i < len && *p == '[') {
			q = p + 1;
			if (match_set(&q, (unsigned char)name[i])) {
				p = q;
				i++;
				continue;
			}
		} else if (i < len && (*p == '?' || (*p != '\0' && *p == name[i]))) {
			p++;
			i++;
			continue;
		}
		if (star == NULL || star_i >= len)
			return false;
		p = star;
		i = ++star_i;
	}
	return true;
}

bool match_wildcards(const char *pattern, const char *text)
{
	const char *star = NULL; /* after the last '*' */
	const char *back = NULL;

	while (*text != '\0' || *pattern != '\0') {
		if (*pattern == '*') {
			star = ++pattern;
			back = text;
			continue;
		}
		if (*text != '\0' && (*pattern == '?' || *pattern == *text)) {
			pattern++;
			text++;
			continue;
		}
		if (star == NULL || *back == '\0')
			return false;
		pattern = star;
		text = ++back;
	}
	return true;
}

bool match_tree(const struct profile_path *pattern, const char *path, bool whole)
{
	/* The path of a directory is the directory alone, not what is in it. */
	return glob_covers(&pattern->glob, path) || (whole && glob_match(&pattern->glob, path));
}

static bool match_words(const struct profile_command *pattern, char *const *argv)
{
	size_t i = 1;

	for (; i < pattern->n; i++) {
		if (i + 1 == pattern->n && strcmp(pattern->words[i], "*") == 0)
			return true;
		if (argv[i] == NULL || strcmp(pattern->words[i], argv[i]) != 0)
			return false;
	}
	return argv[i] == NULL;
}

bool match_command(const struct profile_command *pattern, const struct command_file *pattern_file,
		   const struct request_command *rq, bool maybe_name, bool lenient)
{
	const char *word = pattern->words[0];
	bool same_name;
	bool same_file;

	if (pattern->n == 1 && strcmp(word, "*") == 0)
		return true;
	if (!maybe_name && !lenient)
		return false;
	same_name = maybe_name && strcmp(path_basename(word), path_basename(rq->argv[0])) == 0;
	same_file = pattern_file != NULL && pattern_file->found && rq->file.found &&
		    file_id_same(&pattern_file->id, &rq->file.id);
	/* A name alone may be another program, a file alone may be another tool of a multi-call
	 * binary: an allow wants both, what is stricter is content with one. */
	if (lenient ? !(same_name || same_file) : !(same_name && same_file))
		return false;
	return match_words(pattern, rq->argv);
}
