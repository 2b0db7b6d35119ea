/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* clone - new processes on a stack of their own, without libc.
 *
 * The child starts in fn(arg) and must never return from it; one that does ends the process
 * with status 125. No at-fork handler runs and no libc state is refreshed. */
#pragma once

#include <linux/sched.h>

#ifndef CLONE_CLEAR_SIGHAND
#define CLONE_CLEAR_SIGHAND 0x100000000ULL
#endif
#ifndef CLONE_INTO_CGROUP
#define CLONE_INTO_CGROUP 0x200000000ULL
#endif
#ifndef CLONE_NEWCGROUP
#define CLONE_NEWCGROUP 0x02000000
#endif

/* sys_clone_fn() - clone3(2), Linux 5.3 (CLONE_CLEAR_SIGHAND: 5.5).
 * @args: stack (lowest byte, 16-aligned) and stack_size must be set.
 * Return: the child's pid in the caller's namespace, or -errno. */
long sys_clone_fn(struct clone_args *args, void (*fn)(void *), void *arg);

/* sys_vfork_fn() - clone(2) with CLONE_VM | CLONE_VFORK and SIGCHLD: returns when the child has
 * executed or ended. The memory is shared, @stack_top (16-aligned, one past the end) is not the
 * caller's stack. The old call, because a filter that answers ENOSYS to clone3 (its flags are
 * behind a pointer) also binds init, which starts the command this way. */
long sys_vfork_fn(void *stack_top, void (*fn)(void *), void *arg);

/* sys_fork() - clone(2) like fork(2): 0 in the child, whose memory is a copy. For processes of a
 * single thread. */
long sys_fork(void);
