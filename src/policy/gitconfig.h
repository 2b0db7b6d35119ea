/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* gitconfig - what a configuration file of git says about other files. Pure: git is not run. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"

enum gitconfig_key {
	GITCONFIG_HOOKS = 0, /* core.hooksPath: where programs lie that git starts */
	GITCONFIG_INCLUDE,   /* include.path, and includeIf.*.path whatever its condition */
	GITCONFIG_WORKTREE,  /* core.worktree: of a submodule's git directory, its work tree */
};

struct gitconfig_entry {
	enum gitconfig_key key;
	const char *value; /* unquoted; '~' and relative paths as they stand; never empty */
};

typedef ARRAY_OF(struct gitconfig_entry) gitconfig_entries;

/* gitconfig_parse() - the entries of such keys, in order, by git's own grammar (git-config(1),
 * SYNTAX). At the first line that git would refuse it ends: git then reads nothing of it either.
 * At most GITCONFIG_ENTRIES_MAX. @text needs no NUL at its end. Returns false when there were more
 * entries. */
#define GITCONFIG_ENTRIES_MAX 256
#define GITCONFIG_BYTES_MAX   ((size_t)1 << 20)
bool gitconfig_parse(struct arena *a, const char *text, size_t len, gitconfig_entries *ret);

/* gitconfig_pointer() - the path in a file that holds one line, after @prefix ("" or "gitdir: ");
 * NULL when it is none. */
const char *gitconfig_pointer(struct arena *a, const char *text, size_t len, const char *prefix);
