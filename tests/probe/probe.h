/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* probe - attempts one act and says how it went.
 *
 * The first word printed is `ok` or the name of an errno; a test asks for one of the two, and
 * takes anything else as its own failure. Static, so that it runs in any tree. */
#pragma once

#include <stddef.h>

#include "base/macro.h"

/* An act returns 0 and has printed its `ok` line itself, or -errno, or PROBE_OK for a plain ok. */
#define PROBE_OK 1

struct probe_act {
	const char *name;
	int min_args;
	int (*run)(char **args);
	const char *usage;
};

extern const struct probe_act probe_fs_acts[];
extern const struct probe_act probe_net_acts[];
extern const struct probe_act probe_proc_acts[];
extern const struct probe_act probe_look_acts[];
extern const struct probe_act probe_call_acts[];

/* probe_number() - a decimal number, or the exit status 2. */
long probe_number(const char *s);
/* probe_result() - 0 and up becomes PROBE_OK, -1 becomes -errno. */
int probe_result(long r);
