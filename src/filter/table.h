/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* table - the policy on system calls as rows. For tools/gen-filter and the tests: nothing of it
 * is linked into the program. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "filter/filter.h"

/* What happens to a call: an answer, or a look at its arguments that ends in one. */
enum filter_verdict {
	FILTER_ENOSYS = 0,
	FILTER_EPERM,
	FILTER_EAFNOSUPPORT,
	FILTER_DONE, /* success, and nothing was done */
	FILTER_ALLOW,
	FILTER_ANSWERS, /* those above are answers */
	FILTER_CHECK_MODE1 = FILTER_ANSWERS,
	FILTER_CHECK_MODE2,
	FILTER_CHECK_OPEN1,
	FILTER_CHECK_OPEN2,
	FILTER_CHECK_CLONE,
	FILTER_CHECK_UNSHARE,
	FILTER_CHECK_PERSONALITY,
	FILTER_CHECK_PERSONALITY_STRICT,
	FILTER_CHECK_SOCKET,
	FILTER_CHECK_SOCKETPAIR,
	FILTER_CHECK_IOCTL,
	FILTER_CHECK_SETRLIMIT,
	FILTER_CHECK_PRLIMIT,
	FILTER_VERDICTS,
	FILTER_NEXT, /* of a step: on to the next one */
};

enum filter_op {
	FILTER_OP_END = 0,
	FILTER_OP_EQUAL, /* the low 32 bits of the argument are the value */
	FILTER_OP_ANY,   /* one of the value's bits is set in them */
};

/* The kernel reads each of the arguments that are looked at as an int, an unsigned int or a
 * mode: what stands in the upper half of the register is nothing to it, nor to us. A pointer is
 * whole, and looked at in two steps. */
#define FILTER_UPPER_HALF 8U /* in `arg`, beside its number */
struct filter_step {
	enum filter_op op;
	unsigned arg;
	uint32_t value;
	enum filter_verdict yes, no; /* an answer or FILTER_NEXT */
};

#define FILTER_STEPS_MAX 8

struct filter_check {
	const char *text; /* for people */
	struct filter_step steps[FILTER_STEPS_MAX];
};

/* One for each verdict that is not an answer: filter_checks[v - FILTER_ANSWERS]. */
extern const struct filter_check filter_checks[FILTER_VERDICTS - FILTER_ANSWERS];

/* A call whose verdict hangs on an option. */
struct filter_switch {
	const char *name;
	unsigned option; /* enum filter_option, or 0: always `closed` */
	enum filter_verdict closed, open;
};

/* A call that may be newer than the libseccomp of the machine that builds. Its number is the same
 * on every architecture, unless @arch names the only one. */
struct filter_newer {
	const char *name;
	uint16_t number;
	const char *arch;
};

/* Ended by NULL. What is in none of them is answered ENOSYS. */
extern const char *const filter_allowed[];
extern const char *const filter_refused[];
extern const struct filter_switch filter_switches[];
extern const struct filter_newer filter_newer[];
