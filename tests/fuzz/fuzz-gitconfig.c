/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Any bytes as a configuration of git: entries that have a value, not more than there may be, and
 * the same ones twice; a pointer that is a part of the text. Never a crash. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "policy/gitconfig.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	struct arena a = { 0 };
	gitconfig_entries once = { 0 };
	gitconfig_entries again = { 0 };
	bool all = gitconfig_parse(&a, text, size, &once);
	const char *pointer = gitconfig_pointer(&a, text, size, "gitdir: ");

	if (once.n > GITCONFIG_ENTRIES_MAX || (!all && once.n != GITCONFIG_ENTRIES_MAX))
		abort();
	if (gitconfig_parse(&a, text, size, &again) != all || again.n != once.n)
		abort();
	for (size_t i = 0; i < once.n; i++) {
		if (once.v[i].value[0] == '\0' || strlen(once.v[i].value) > size ||
		    strcmp(once.v[i].value, again.v[i].value) != 0)
			abort();
	}
	if (pointer != NULL &&
	    (pointer[0] == '\0' || memmem(data, size, pointer, strlen(pointer)) == NULL))
		abort();
	arena_free(&a);
	return 0;
}
