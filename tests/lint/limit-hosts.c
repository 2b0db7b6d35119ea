/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* limit-hosts - for man.py: a line for each limit and each kind of host, with what the program
 * chooses there by `enforce: any` and by `enforce: kernel`. */
#include <stdio.h>

#include "base/macro.h"
#include "plan/compile.h"

/* What run_cgroup_find() finds there: the user manager is asked for `enforce: kernel` alone. */
static const struct {
	const char *name;
	struct plan_limit_host any, kernel;
} hosts[] = {
	{ "cgroup", { .cgroup = true }, { .cgroup = true } },
	{ "scope", { .cgroup = false }, { .cgroup = true, .scope = true } },
	{ "neither", { .cgroup = false }, { .cgroup = false } },
};

static void print(enum plan_limit limit, enum plan_identity identity, const char *suffix)
{
	for (size_t i = 0; i < ARRAY_SIZE(hosts); i++) {
		struct plan_limit_host any = hosts[i].any, kernel = hosts[i].kernel;
		const char *why;

		any.identity = identity;
		kernel.identity = identity;
		(void)printf("%s%s %s %s %s\n", plan_limit_name(limit)->name, suffix, hosts[i].name,
			     plan_mechanism_name(plan_limit_choose(limit, &any, false, &why)),
			     plan_mechanism_name(plan_limit_choose(limit, &kernel, true, &why)));
	}
}

int main(void)
{
	for (unsigned i = 0; i < PLAN_LIMIT_MAX; i++) {
		print(i, PLAN_IDENTITY_CALLER, "");
		if (i == PLAN_LIMIT_PROCESSES)
			print(i, PLAN_IDENTITY_ROOT, "/uid0");
	}
	return 0;
}
