/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/process.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "sys/raw.h"

#define NR_PIDFD_SEND_SIGNAL 424
#define NR_PIDFD_OPEN        434

#define KEYCTL_JOIN_SESSION 1

_Noreturn void sys_exit_group(int status)
{
	for (;;)
		(void)sys_call1(SYS_exit_group, status);
}

int sys_set_ids(uint32_t uid, uint32_t gid)
{
	/* The group first: after setresuid the right to change it may be gone. */
	long r = sys_call3(SYS_setresgid, (long)gid, (long)gid, (long)gid);

	if (r < 0)
		return (int)r;
	return (int)sys_call3(SYS_setresuid, (long)uid, (long)uid, (long)uid);
}

int sys_have_ids(uint32_t uid, uint32_t gid)
{
	uint32_t u[3] = { 0 }, g[3] = { 0 };
	long r;

	r = sys_call3(SYS_getresuid, sys_arg(&u[0]), sys_arg(&u[1]), sys_arg(&u[2]));
	if (r < 0)
		return (int)r;
	r = sys_call3(SYS_getresgid, sys_arg(&g[0]), sys_arg(&g[1]), sys_arg(&g[2]));
	if (r < 0)
		return (int)r;
	for (int i = 0; i < 3; i++) {
		if (u[i] != uid || g[i] != gid)
			return -EPERM;
	}
	return 0;
}

int sys_clear_groups(void)
{
	long r = sys_call2(SYS_setgroups, 0, 0);

	if (r < 0)
		return (int)r;
	r = sys_call2(SYS_getgroups, 0, 0);
	if (r < 0)
		return (int)r;
	return r == 0 ? 0 : -EPERM;
}

int sys_setsid(void)
{
	return (int)sys_call0(SYS_setsid);
}

int sys_setpgid(int pid, int pgid)
{
	return (int)sys_call2(SYS_setpgid, pid, pgid);
}

int sys_sethostname(const char *name)
{
	return (int)sys_call2(SYS_sethostname, sys_arg(name), (long)strlen(name));
}

int sys_join_session_keyring(void)
{
	long r = sys_call2(SYS_keyctl, KEYCTL_JOIN_SESSION, 0);

	/* The answer is the serial number of the new keyring. */
	if (r <= 0)
		return r < 0 ? (int)r : -EPERM;
	return 0;
}

int sys_prctl(int op, unsigned long arg)
{
	/* Operations that know fewer arguments demand zeros in the rest. */
	return (int)sys_call5(SYS_prctl, op, (long)arg, 0, 0, 0);
}

int sys_pdeathsig(void)
{
	int sig = 0;
	int r = sys_prctl(PR_GET_PDEATHSIG, (unsigned long)(uintptr_t)&sig);

	return r < 0 ? r : sig;
}

int sys_sigmask_set(uint64_t blocked)
{
	return (int)sys_call4(SYS_rt_sigprocmask, 2 /* SIG_SETMASK */, sys_arg(&blocked), 0,
			      (long)sizeof(blocked));
}

int sys_signal_default(int sig)
{
	/* The kernel's struct sigaction is at most this long on either architecture, and all
	 * zero is SIG_DFL without flags or mask. */
	const uint64_t act[4] = { 0 };

	return (int)sys_call4(SYS_rt_sigaction, sig, sys_arg(act), 0, (long)sizeof(uint64_t));
}

int sys_signalfd(uint64_t set)
{
	return (int)sys_call4(SYS_signalfd4, -1, sys_arg(&set), (long)sizeof(set),
			      O_CLOEXEC | O_NONBLOCK);
}

int sys_kill(int pid, int sig)
{
	return (int)sys_call2(SYS_kill, pid, sig);
}

int sys_getpid(void)
{
	return (int)sys_call0(SYS_getpid);
}

int sys_getppid(void)
{
	return (int)sys_call0(SYS_getppid);
}

int sys_cpus_get(int pid, unsigned long *set, size_t size)
{
	return (int)sys_call3(SYS_sched_getaffinity, pid, (long)size, sys_arg(set));
}

int sys_cpus_set(int pid, const unsigned long *set, size_t size)
{
	return (int)sys_call3(SYS_sched_setaffinity, pid, (long)size, sys_arg(set));
}

int sys_unshare(unsigned long flags)
{
	return (int)sys_call1(SYS_unshare, (long)flags);
}

int sys_futex_wait(const uint32_t *word, uint32_t value)
{
	return (int)sys_call4(SYS_futex, sys_arg(word), FUTEX_WAIT, value, 0);
}

int sys_futex_wake(const uint32_t *word)
{
	return (int)sys_call3(SYS_futex, sys_arg(word), FUTEX_WAKE, INT_MAX);
}

int sys_wait_any(int *status, bool stopped)
{
	const int options = WNOHANG | __WALL | (stopped ? WUNTRACED : 0);
	long r;

	do {
		r = sys_call4(SYS_wait4, -1, sys_arg(status), options, 0);
	} while (r == -EINTR);
	return (int)r;
}

int sys_rusage_children(struct rusage *ret)
{
	return (int)sys_call2(SYS_getrusage, RUSAGE_CHILDREN, sys_arg(ret));
}

int sys_rlimit_get(int resource, struct sys_rlimit *ret)
{
	return (int)sys_call4(SYS_prlimit64, 0, resource, 0, sys_arg(ret));
}

int sys_rlimit_set(int resource, const struct sys_rlimit *lim)
{
	return (int)sys_call4(SYS_prlimit64, 0, resource, sys_arg(lim), 0);
}

int sys_execve(const char *exe, char *const *argv, char *const *envp)
{
	return (int)sys_call3(SYS_execve, sys_arg(exe), sys_arg(argv), sys_arg(envp));
}

int sys_wait_readable(uint64_t *fds)
{
	const uint64_t asked = *fds;
	long r;

	do {
		*fds = asked;
		r = sys_call6(SYS_pselect6, 64, sys_arg(fds), 0, 0, 0, 0);
	} while (r == -EINTR);
	return r < 0 ? (int)r : 0;
}

int sys_pidfd_open(int pid, unsigned flags)
{
	return (int)sys_call2(NR_PIDFD_OPEN, pid, (long)flags);
}

int sys_pidfd_send_signal(int pidfd, int sig)
{
	return (int)sys_call4(NR_PIDFD_SEND_SIGNAL, pidfd, sig, 0, 0);
}
