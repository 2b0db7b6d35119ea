/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the two processes can do no more, beside the same before. */
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/macro.h"
#include "relay/internal.h"
#include "sys/clone.h"
#include "sys/process.h"
#include "tap.h"

static int err_of(long r)
{
	return r < 0 ? errno : 0;
}

static int done_with(int fd)
{
	if (fd < 0)
		return errno;
	(void)close(fd);
	return 0;
}

static int try_kill(void)
{
	return err_of(kill(getppid(), 0));
}

static int try_queue(void)
{
	siginfo_t info = { .si_code = SI_QUEUE };

	return err_of(syscall(SYS_rt_sigqueueinfo, getpid(), 0, &info));
}

static int try_pidfd(void)
{
	return done_with((int)syscall(SYS_pidfd_open, getppid(), 0));
}

static int try_limit_other(void)
{
	struct rlimit lim;

	return err_of(prlimit(getppid(), RLIMIT_NOFILE, NULL, &lim));
}

static int try_limit_set(void)
{
	const struct rlimit lim = { 256, 256 };

	return err_of(prlimit(0, RLIMIT_NOFILE, &lim, NULL));
}

static int try_limit_get(void)
{
	struct rlimit lim;

	return err_of(getrlimit(RLIMIT_NOFILE, &lim));
}

static int reap(long pid)
{
	if (pid < 0)
		return (int)-pid;
	(void)waitpid((pid_t)pid, NULL, 0);
	return 0;
}

static int try_fork(void)
{
	long pid = sys_fork();

	if (pid == 0)
		sys_exit_group(0);
	return reap(pid);
}

static int try_namespace(void)
{
	long pid = syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, NULL, NULL, NULL, NULL);

	if (pid == 0)
		sys_exit_group(0);
	return reap(pid < 0 ? -errno : pid);
}

static int try_unshare(void)
{
	return err_of(unshare(CLONE_FS));
}

static int try_exec(void)
{
	char *argv[] = { NULL };

	/* Where it is allowed, the name is what is wrong. */
	return err_of(execve("/nonexistent", argv, argv));
}

static int try_dumpable(void)
{
	return err_of(prctl(PR_SET_DUMPABLE, 1, 0, 0, 0));
}

static int try_open(void)
{
	return done_with(open("/etc/hosts", O_RDONLY | O_CLOEXEC));
}

static int try_open_proc(void)
{
	return done_with(open("/proc/self/status", O_RDONLY | O_CLOEXEC));
}

static int try_tcp(void)
{
	return done_with(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

static int try_tcp6(void)
{
	int e = done_with(socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));

	return e == EAFNOSUPPORT ? 0 : e; /* a kernel without it */
}

static int try_udp(void)
{
	return done_with(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
}

static int try_tcp_other(void)
{
	/* Not TCP: 1 is ICMP, which a stream cannot be. */
	return done_with(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 1));
}

static int try_unix(void)
{
	return done_with(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
}

static int try_netlink(void)
{
	return done_with(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, 0));
}

static int try_vsock(void)
{
	return done_with(socket(AF_VSOCK, SOCK_STREAM | SOCK_CLOEXEC, 0));
}

/* Where it is allowed, the descriptors are what is wrong. */
static int try_splice(void)
{
	return err_of(splice(-1, NULL, -1, NULL, 1, 0));
}

static int try_vmsplice(void)
{
	return err_of(vmsplice(-1, NULL, 0, 0));
}

static int try_pipe(void)
{
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) != 0)
		return errno;
	(void)close(fds[0]);
	return done_with(fds[1]);
}

static int try_lookup(void)
{
	struct addrinfo *list = NULL;
	int r = getaddrinfo("localhost", NULL, NULL, &list);

	if (r != 0)
		return 1000 + r;
	freeaddrinfo(list);
	return 0;
}

struct attempt {
	const char *name;
	int (*fn)(void);
	int before[3]; /* one of these; -1: whatever this machine says */
	int after;
};

static const struct attempt resolver_attempts[] = {
	{ "a signal to another process", try_kill, { 0 }, ENOSYS },
	{ "one with a value", try_queue, { 0 }, ENOSYS },
	{ "a descriptor of another process", try_pidfd, { 0 }, ENOSYS },
	{ "the limits of another process", try_limit_other, { 0 }, EPERM },
	{ "limits of its own, to set", try_limit_set, { -1 }, EPERM },
	{ "limits of its own, to look at", try_limit_get, { 0 }, 0 },
	{ "a process", try_fork, { 0 }, 0 },
	{ "a namespace by clone", try_namespace, { -1 }, EPERM },
	{ "unshare", try_unshare, { 0 }, ENOSYS },
	{ "a program", try_exec, { ENOENT }, ENOSYS },
	{ "to be looked into again", try_dumpable, { 0 }, EPERM },
	{ "a file of the system", try_open, { 0 }, 0 },
	{ "a file elsewhere", try_open_proc, { 0 }, EACCES },
	{ "TCP", try_tcp, { 0 }, 0 },
	{ "UDP", try_udp, { 0 }, 0 },
	{ "a Unix socket", try_unix, { 0 }, 0 },
	{ "vsock", try_vsock, { -1 }, EAFNOSUPPORT },
	{ "a look-up", try_lookup, { 0 }, 0 },
};

static const struct attempt relay_attempts[] = {
	{ "TCP", try_tcp, { 0 }, 0 },
	{ "TCP over IPv6", try_tcp6, { 0 }, 0 },
	{ "UDP", try_udp, { 0 }, EAFNOSUPPORT },
	{ "a stream of another protocol", try_tcp_other, { EPROTONOSUPPORT }, EAFNOSUPPORT },
	{ "a Unix socket", try_unix, { 0 }, EAFNOSUPPORT },
	{ "netlink", try_netlink, { 0 }, EAFNOSUPPORT },
	{ "bytes from socket to socket", try_splice, { EBADF }, EBADF },
	{ "pages of its own into a pipe", try_vmsplice, { EBADF }, EPERM },
	{ "a pipe", try_pipe, { 0 }, EPERM },
	{ "a file", try_open, { 0 }, EPERM },
	{ "a signal", try_kill, { 0 }, EPERM },
	{ "a process", try_fork, { 0 }, EPERM },
	{ "a program", try_exec, { ENOENT }, EPERM },
	{ "limits", try_limit_get, { 0 }, EPERM },
};

#define ATTEMPTS_MAX 32

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

struct got {
	int isolated; /* 0, or what it failed with */
	int before[ATTEMPTS_MAX], after[ATTEMPTS_MAX];
};

static int isolate_relay_here(void)
{
	return isolate_relay(256);
}

/* In a process of its own, which tells by send(2): all that the relay has left. */
static bool run_attempts(const struct attempt *list, size_t n, int namespaces, int (*isolate)(void),
			 struct got *ret)
{
	int pair[2], status;
	pid_t pid;
	bool ok;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
		abort();
	pid = fork();
	if (pid == 0) {
		struct got got = { 0 };

		if (namespaces != 0 && unshare(namespaces) != 0) {
			got.isolated = errno;
			(void)send(pair[1], &got, sizeof(got), 0);
			sys_exit_group(0);
		}
		for (size_t i = 0; i < n; i++)
			got.before[i] = list[i].fn();
		got.isolated = -isolate();
		for (size_t i = 0; got.isolated == 0 && i < n; i++)
			got.after[i] = list[i].fn();
		(void)send(pair[1], &got, sizeof(got), 0);
		sys_exit_group(0);
	}
	(void)close(pair[1]);
	ok = recv(pair[0], ret, sizeof(*ret), 0) == (ssize_t)sizeof(*ret);
	(void)close(pair[0]);
	return waitpid(pid, &status, 0) == pid && ok;
}

static void compare(struct tap *t, const char *who, const struct attempt *list, size_t n,
		    const struct got *got)
{
	for (size_t i = 0; i < n; i++) {
		if (list[i].before[0] >= 0)
			tap_ok(t, got->before[i] == list[i].before[0], "%s: %s, before (%s)", who,
			       list[i].name, strerror(got->before[i]));
		tap_ok(t, got->after[i] == list[i].after, "%s: %s (%s)", who, list[i].name,
		       got->after[i] == 0 ? "ok" : strerror(got->after[i]));
	}
}

int main(void)
{
	struct tap t = { 0 };
	struct got got = { 0 };

	tap_ok(&t,
	       run_attempts(resolver_attempts, ARRAY_SIZE(resolver_attempts), 0, isolate_resolver,
			    &got) &&
		       got.isolated == 0,
	       "the resolver is isolated (%s)", strerror(got.isolated));
	compare(&t, "resolver", resolver_attempts, ARRAY_SIZE(resolver_attempts), &got);

	/* A sanitizer's runtime asks for what the relay may not have, and goes round for ever when
	 * it cannot even abort. */
	if (SANITIZED)
		return tap_done(&t);
	if (!run_attempts(relay_attempts, ARRAY_SIZE(relay_attempts), CLONE_NEWUSER | CLONE_NEWNS,
			  isolate_relay_here, &got) ||
	    got.isolated != 0)
		tap_skip(&t, "the relay", "it cannot be isolated here");
	else
		compare(&t, "relay", relay_attempts, ARRAY_SIZE(relay_attempts), &got);
	return tap_done(&t);
}
