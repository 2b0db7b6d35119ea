/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* seccomp - system call filters. All return 0 or -errno. */
#pragma once

#include <stdint.h>

struct sock_filter; /* linux/filter.h */

/* sys_seccomp_filter() - bind the calling thread, and all it starts, to @code of @n instructions.
 * Needs no_new_privs. */
int sys_seccomp_filter(const struct sock_filter *code, uint16_t n);

/* sys_seccomp_answers() - that a filter holds, and is one of ours: two calls, each of which it
 * answers as no kernel does. -EPERM when not. */
int sys_seccomp_answers(void);
