/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* pos - a place in a profile, for messages about what stands there. */
#pragma once

struct profile_pos {
	const char *file; /* borrowed: the name the user gave */
	unsigned line, col;
};
