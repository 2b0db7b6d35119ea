/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* match - the pure matchers of policy. Any doubt is "no match" for an allow and a match for
 * everything that is stricter. */
#pragma once

#include <stdbool.h>

#include "policy/decide.h"

/* match_name() - one path component against a glob of '*', '?' and [...]; dotfiles match. */
bool match_name(const char *pattern, const char *name, size_t len);
/* match_wildcards() - a whole text against '*' (any run, slashes too) and '?' alone. */
bool match_wildcards(const char *pattern, const char *text);
/* match_tree() - the pattern covers everything that a mount of @path grants; @whole: @path itself
 * is enough. */
bool match_tree(const struct profile_path *pattern, const char *path, bool whole);
/* match_command() - @lenient: match when either name or file agree (deny, interrupt); an allow
 * needs both. @maybe_name: the names may be the same, else they certainly are not. */
bool match_command(const struct profile_command *pattern, const struct command_file *pattern_file,
		   const struct request_command *rq, bool maybe_name, bool lenient);
