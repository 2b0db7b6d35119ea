/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/suggest.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>

#define WORD_MAX_LEN 63

static size_t min3(size_t a, size_t b, size_t c)
{
	size_t m = a < b ? a : b;

	return m < c ? m : c;
}

size_t suggest_distance(const char *a, const char *b)
{
	size_t rows[3][WORD_MAX_LEN + 1];
	size_t la = strlen(a);
	size_t lb = strlen(b);

	if (la > WORD_MAX_LEN || lb > WORD_MAX_LEN)
		return SIZE_MAX;
	for (size_t j = 0; j <= lb; j++)
		rows[0][j] = j;
	for (size_t i = 1; i <= la; i++) {
		size_t *cur = rows[i % 3];
		const size_t *prev = rows[(i + 2) % 3];
		const size_t *before = rows[(i + 1) % 3];

		cur[0] = i;
		for (size_t j = 1; j <= lb; j++) {
			int ca = tolower((unsigned char)a[i - 1]);
			int cb = tolower((unsigned char)b[j - 1]);

			cur[j] = min3(prev[j] + 1, cur[j - 1] + 1, prev[j - 1] + (ca != cb));
			if (i > 1 && j > 1 && ca == tolower((unsigned char)b[j - 2]) &&
			    tolower((unsigned char)a[i - 2]) == cb && before[j - 2] + 1 < cur[j])
				cur[j] = before[j - 2] + 1;
		}
	}
	return rows[la % 3][lb];
}

void suggest_best(const char *word, const char *candidate, const char **best, size_t *best_distance)
{
	size_t d = suggest_distance(word, candidate);
	size_t len = strlen(word);

	if (d > (len < 3 ? 1 : (len + 2) / 3))
		return;
	if (*best == NULL || d < *best_distance) {
		*best = candidate;
		*best_distance = d;
	}
}
