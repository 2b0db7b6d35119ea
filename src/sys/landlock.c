/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/landlock.h"

#include "sys/raw.h"

/* The same on every architecture. */
#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_add_rule       445
#define SYS_landlock_restrict_self  446
#endif

#define CREATE_RULESET_VERSION 1
#define RULE_PATH_BENEATH      1

struct ruleset_attr {
	uint64_t fs;
	uint64_t net;
	uint64_t scoped;
};

struct path_beneath {
	uint64_t access;
	int32_t fd;
} __attribute__((packed));

int sys_landlock_abi(void)
{
	return (int)sys_call3(SYS_landlock_create_ruleset, 0, 0, CREATE_RULESET_VERSION);
}

int sys_landlock_ruleset(uint64_t fs, uint64_t scoped)
{
	/* An older kernel takes the longer record when what it does not know is zero. */
	const struct ruleset_attr attr = { .fs = fs, .scoped = scoped };

	return (int)sys_call3(SYS_landlock_create_ruleset, sys_arg(&attr), sizeof(attr), 0);
}

int sys_landlock_allow(int ruleset, int fd, uint64_t access)
{
	const struct path_beneath rule = { .access = access, .fd = fd };

	return (int)sys_call4(SYS_landlock_add_rule, ruleset, RULE_PATH_BENEATH, sys_arg(&rule), 0);
}

int sys_landlock_restrict(int ruleset)
{
	return (int)sys_call2(SYS_landlock_restrict_self, ruleset, 0);
}
