/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* pos - a place in a profile, for messages about what stands there. */
#pragma once

#include "base/arena.h"

struct profile_pos {
	const char *file; /* borrowed: the name the user gave */
	unsigned line, col;
};

struct profile_name {
	const char *name;
	struct profile_pos pos;
};

typedef ARRAY_OF(struct profile_name) profile_names;
