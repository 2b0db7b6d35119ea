/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* suggest - "did you mean": the known word nearest to a misspelt one. */
#pragma once

#include <stddef.h>

/* suggest_distance() - edit distance (insert, delete, replace, swap neighbours), case folded;
 * words longer than 63 bytes are infinitely far. */
size_t suggest_distance(const char *a, const char *b);

/* suggest_best() - keep the better of *best and @candidate for @word; start with *best = NULL.
 * Words further than a third of their length are not offered. */
void suggest_best(const char *word, const char *candidate, const char **best,
		  size_t *best_distance);
