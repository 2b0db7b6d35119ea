/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* process - identity, signals, waits, limits. All return a value, 0, or -errno. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#define SYS_SIGNAL_MAX 64

struct sys_rlimit {
	uint64_t soft, hard;
};

_Noreturn void sys_exit_group(int status);

/* sys_set_ids() - real, effective, saved and file system ids, the group first. */
int sys_set_ids(uint32_t uid, uint32_t gid);
/* sys_have_ids() - 0 when every one of the real, effective and saved ids is the one given,
 * -EPERM when not. */
int sys_have_ids(uint32_t uid, uint32_t gid);
/* sys_clear_groups() - no supplementary group, and none is left. */
int sys_clear_groups(void);

int sys_setsid(void);
int sys_setpgid(int pid, int pgid);
int sys_sethostname(const char *name);
int sys_join_session_keyring(void);
int sys_prctl(int op, unsigned long arg);
/* sys_pdeathsig() - the signal that the death of the parent sends to us, 0 for none. */
int sys_pdeathsig(void);

/* Sets of signals are 64 bits, signal n is bit n - 1, as the kernel has them. */
int sys_sigmask_set(uint64_t blocked);
int sys_signal_default(int sig);
int sys_signalfd(uint64_t set);
int sys_kill(int pid, int sig);
int sys_getpid(void);
int sys_getppid(void);
/* sys_unshare() - new namespaces (CLONE_NEW*) for the calling process. */
int sys_unshare(unsigned long flags);
/* sys_cpus_get() - the processors that process @pid (0: the calling one) may run on, as bits of
 * @set, which has @size bytes. Return: bytes written, -EINVAL when the kernel needs more of them
 * (sched_getaffinity(2)). sys_cpus_set() - the same back. */
int sys_cpus_get(int pid, unsigned long *set, size_t size);
int sys_cpus_set(int pid, const unsigned long *set, size_t size);
/* sys_futex_wait() - until *@word is no longer @value, futex(2) FUTEX_WAIT: 0, -EAGAIN when it was
 * not, -EINTR; it may also wake for nothing. sys_futex_wake() - everyone who waits there. Neither
 * is of the private kind, which the kernel's own wake at the end of a process
 * (CLONE_CHILD_CLEARTID) is not. */
int sys_futex_wait(const uint32_t *word, uint32_t value);
int sys_futex_wake(const uint32_t *word);
/* sys_wait_any() - reap one ended child of any kind without waiting: pid, 0 when none has ended,
 * -ECHILD when there is none.
 * @stopped: tell of one that was stopped as well. */
int sys_wait_any(int *status, bool stopped);
int sys_rusage_children(struct rusage *ret);
int sys_rlimit_get(int resource, struct sys_rlimit *ret);
int sys_rlimit_set(int resource, const struct sys_rlimit *lim);
int sys_execve(const char *exe, char *const *argv, char *const *envp);
/* sys_wait_readable() - until one of the descriptors that are bits of @fds, each below 64, can be
 * read or has ended. By pselect6(2): poll(2) asks for as much RLIMIT_NOFILE as it has descriptors,
 * and that of init can be taken away from inside.
 * Return: 0 with those that can in *@fds. */
int sys_wait_readable(uint64_t *fds);

int sys_pidfd_open(int pid, unsigned flags);
int sys_pidfd_send_signal(int pidfd, int sig);
