/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* path - questions about path text. Nothing here touches the file system and
 * nothing normalises: text that is not canonical is refused, not repaired. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"

/* path_is_canonical() - absolute, no empty component, no "." or "..", no slash at the end
 * (but "/" itself), shorter than PATH_MAX. */
bool path_is_canonical(const char *p);

/* path_covers() - @p is @dir itself or below it, by component: "/a" covers "/a/b", not "/ab".
 * Both canonical. */
bool path_covers(const char *dir, const char *p);

/* path_rest() - what follows @dir in @p, without the slash between; "" when equal.
 * Only after path_covers(). Borrowed from @p. */
const char *path_rest(const char *dir, const char *p);

/* path_depth() - number of components; 0 for "/". */
size_t path_depth(const char *p);

/* path_join() - dir + "/" + name; @name is relative and not empty. */
char *path_join(struct arena *a, const char *dir, const char *name);

/* path_dirname() - the parent; "/" for "/" and "/x". Canonical input. */
char *path_dirname(struct arena *a, const char *p);

/* path_basename() - last component; borrowed; "" for "/". */
const char *path_basename(const char *p);
