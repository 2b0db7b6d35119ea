/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The mountpoint of a line of mountinfo. */
#include <string.h>

#include "policy/facts-mounts.h"
#include "tap.h"

static const struct {
	const char *line;
	const char *want;
} rows[] = {
	{ "36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw", "/mnt2" },
	{ "36 35 98:0 / / rw - ext3 /dev/root rw", "/" },
	{ "36 35 98:0 / /a\\040b rw - tmpfs x rw", "/a b" },
	{ "36 35 98:0 /x\\040y /a\\011b\\012c\\134d rw - tmpfs x rw", "/a\tb\nc\\d" },
	{ "36 35 98:0 / /a\\b rw - tmpfs x rw", "/a\\b" },
	{ "36 35 98:0 / /a\\04 rw - tmpfs x rw", "/a\\04" },
	{ "36 35 98:0 / /a\\400 rw - tmpfs x rw", "/a\\400" },
	{ "36 35 98:0 / /a", NULL },
	{ "36 35 98:0 /", NULL },
	{ "36 35 98:0 / a rw - tmpfs x rw", NULL },
	{ "", NULL },
};

int main(void)
{
	struct tap t = { 0 };
	struct arena a = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char *copy = strdup(rows[i].line);

		/* A copy of its own, so that a sanitizer sees a look past its end. */
		tap_str(&t, facts_mounts_point(&a, copy, strlen(copy)), rows[i].want, "a row");
		free(copy);
	}
	arena_free(&a);
	return tap_done(&t);
}
