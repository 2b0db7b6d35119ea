/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/caps.h"

#include <errno.h>
#include <linux/capability.h>
#include <stddef.h>
#include <sys/prctl.h>

#include "sys/process.h"
#include "sys/raw.h"

/* Above the last capability of any kernel: the sets are 64 bits wide. */
#define CAP_LIMIT 64

int sys_caps_clear(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	const struct __user_cap_data_struct none[2] = { { 0 }, { 0 } };

	return (int)sys_call2(SYS_capset, sys_arg(&head), sys_arg(none));
}

int sys_caps_drop(void)
{
	int r;

	r = sys_prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL);
	if (r < 0)
		return r;
	for (unsigned long cap = 0; cap < CAP_LIMIT; cap++) {
		r = sys_prctl(PR_CAPBSET_DROP, cap);
		if (r == -EINVAL && cap > 0)
			break; /* past the last one of this kernel */
		if (r < 0)
			return r;
	}
	return sys_caps_clear();
}

int sys_caps_none(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct have[2] = { { 0 }, { 0 } };
	int r;

	r = (int)sys_call2(SYS_capget, sys_arg(&head), sys_arg(have));
	if (r < 0)
		return r;
	/* The ambient set is within permitted and inheritable. */
	for (int i = 0; i < 2; i++) {
		if ((have[i].effective | have[i].permitted | have[i].inheritable) != 0)
			return -EPERM;
	}
	for (unsigned long cap = 0; cap < CAP_LIMIT; cap++) {
		r = sys_prctl(PR_CAPBSET_READ, cap);
		if (r == -EINVAL && cap > 0)
			return 0;
		if (r != 0)
			return r < 0 ? r : -EPERM;
	}
	return 0;
}
