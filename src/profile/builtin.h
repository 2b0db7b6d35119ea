/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* builtin - the shipped profiles, compiled in. */
#pragma once

#include <stddef.h>

#define BUILTIN_PREFIX "builtin:"

struct builtin {
	const char *name; /* with the prefix, as it stands in `extends` */
	const char *text;
	size_t len;
	size_t tests_at; /* the tests come last: before them it is a profile without any */
};

/* builtin_at() - by index, sorted by name; NULL past the last. */
const struct builtin *builtin_at(size_t i);
/* builtin_find() - by name without the prefix, exact; NULL when there is none. */
const struct builtin *builtin_find(const char *name);
/* builtin_word() - the name without the prefix. */
const char *builtin_word(const struct builtin *b);
/* builtin_nearest() - for "did you mean"; NULL when nothing is near. */
const char *builtin_nearest(const char *word);
