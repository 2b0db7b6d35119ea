/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "profile/builtin.h"

#include <string.h>

#include "base/macro.h"
#include "base/suggest.h"

/* Made of profiles/ at build time, by tools/gen-builtin.c. */
static const struct builtin table[] = {
#include BUILTIN_DATA
};

const struct builtin *builtin_at(size_t i)
{
	return i < ARRAY_SIZE(table) ? &table[i] : NULL;
}

const char *builtin_word(const struct builtin *b)
{
	return b->name + strlen(BUILTIN_PREFIX);
}

const struct builtin *builtin_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		if (strcmp(builtin_word(&table[i]), name) == 0)
			return &table[i];
	}
	return NULL;
}

const char *builtin_nearest(const char *word)
{
	const char *best = NULL;
	size_t distance = 0;

	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		suggest_best(word, builtin_word(&table[i]), &best, &distance);
	return best;
}
