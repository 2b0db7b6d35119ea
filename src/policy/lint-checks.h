/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* lint-checks - what the files of lint share, and no one else includes. */
#pragma once

#include <string.h>

#include "policy/lint.h"

struct lint {
	struct arena *arena;
	const struct profile *profile;
	const struct lint_host *host;
	lint_findings *ret;
};

/* lint_add() - once: roles stand in the list of each agent that has them. */
void lint_add(struct lint *l, const struct profile_pos *at, const char *check, const char *text);

#define lint_found(l, at, check, ...)                                                              \
	lint_add((l), &(at), (check), arena_printf((l)->arena, __VA_ARGS__))

/* lint_where() - "line 3", or "FILE:3" for what stands in another file than @from. */
const char *lint_where(struct lint *l, const struct profile_pos *from,
		       const struct profile_pos *to);

/* lint_network() - the sandbox's network, beside who may use it and what they read. */
void lint_network(struct lint *l);
