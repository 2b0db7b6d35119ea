/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* import - the rules of other systems as a profile. */
#pragma once

#include "base/arena.h"
#include "base/err.h"

/* import_deepagents() - print the profile that says what the JSON in @file says: a list of
 * {operations, paths, mode}, that list as `permissions`, or {allowed_paths: [...]}, for one agent
 * or as `agents` for several. Nothing is printed unless it loads. */
MUST_CHECK int import_deepagents(struct arena *a, const char *file, struct err *err);
