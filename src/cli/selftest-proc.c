/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Attacks on processes, privileges, descriptors and sockets. */
#include "cli/selftest.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "filter/filter.h"

static int act_kill_init(const struct selftest_ctx *c, const char *arg)
{
	static const int signals[] = { SIGKILL, SIGTERM, SIGSTOP };
	const struct timespec moment = { .tv_nsec = 20 * 1000 * 1000 };

	(void)c;
	(void)arg;
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++) {
		if (kill(1, signals[i]) != 0)
			return errno;
	}
	/* Were init gone, so were we. */
	(void)nanosleep(&moment, NULL);
	return SELFTEST_IGNORED;
}

static long waiting_child(void)
{
	long pid = selftest_fork();

	if (pid == 0) {
		(void)pause();
		_exit(0);
	}
	return pid;
}

static int end_child(long pid, int r)
{
	(void)kill((pid_t)pid, SIGKILL);
	(void)waitpid((pid_t)pid, NULL, 0);
	return r;
}

static int act_kill_child(const struct selftest_ctx *c, const char *arg)
{
	long pid = waiting_child();

	(void)c;
	(void)arg;
	return pid < 0 ? errno : end_child(pid, selftest_errno(kill((pid_t)pid, SIGTERM)));
}

/* Return: a wait status, or -1. */
static int crash_status(void)
{
	long pid = selftest_fork();
	int status;

	if (pid == 0) {
		(void)signal(SIGSEGV, SIG_DFL);
		(void)kill(getpid(), SIGSEGV);
		_exit(0);
	}
	return pid < 0 || waitpid((pid_t)pid, &status, 0) != (pid_t)pid ? -1 : status;
}

/* With as much room for it as can be had; and with none, which is no matter to a handler of
 * crashes. */
static int act_core_dump(const struct selftest_ctx *c, const char *arg)
{
	struct rlimit l = { RLIM_INFINITY, RLIM_INFINITY };
	int status;

	(void)c;
	(void)arg;
	if (setrlimit(RLIMIT_CORE, &l) != 0 && getrlimit(RLIMIT_CORE, &l) == 0) {
		l.rlim_cur = l.rlim_max;
		(void)setrlimit(RLIMIT_CORE, &l);
	}
	status = crash_status();
	if (status >= 0 && !WCOREDUMP(status)) {
		l = (struct rlimit){ 0, 0 };
		(void)setrlimit(RLIMIT_CORE, &l);
		status = crash_status();
	}
	if (status < 0)
		return SELFTEST_NONE;
	return WCOREDUMP(status) ? 0 : EFBIG;
}

static int act_crash(const struct selftest_ctx *c, const char *arg)
{
	int status = crash_status();

	(void)c;
	(void)arg;
	return status >= 0 && WIFSIGNALED(status) ? 0 : SELFTEST_NONE;
}

static int act_kill_host(const struct selftest_ctx *c, const char *arg)
{
	(void)arg;
	return selftest_errno(kill(c->pid, 0));
}

static int act_ptrace_init(const struct selftest_ctx *c, const char *arg)
{
	(void)c;
	(void)arg;
	return selftest_errno(ptrace(PTRACE_SEIZE, 1, NULL, NULL));
}

static int act_ptrace_child(const struct selftest_ctx *c, const char *arg)
{
	long pid = waiting_child();

	(void)c;
	(void)arg;
	if (pid < 0)
		return errno;
	return end_child(pid, selftest_errno(ptrace(PTRACE_SEIZE, (pid_t)pid, NULL, NULL)));
}

static int vm_read(pid_t pid)
{
	char byte;
	char source = 0;
	struct iovec to = { &byte, 1 }, from = { &source, 1 };

	return selftest_errno(process_vm_readv(pid, &to, 1, &from, 1, 0));
}

static int act_vm_init(const struct selftest_ctx *c, const char *arg)
{
	(void)c;
	(void)arg;
	return vm_read(1);
}

static int act_vm_self(const struct selftest_ctx *c, const char *arg)
{
	(void)c;
	(void)arg;
	return vm_read(getpid());
}

static int act_inherited(const struct selftest_ctx *c, const char *arg)
{
	(void)c;
	(void)arg;
	for (int fd = 3; fd < 4096; fd++) {
		if (fcntl(fd, F_GETFD) >= 0)
			return 0;
	}
	return EBADF;
}

static int act_stdio(const struct selftest_ctx *c, const char *arg)
{
	(void)c;
	(void)arg;
	return selftest_errno(fcntl(1, F_GETFD));
}

/* The text after "KEY:\t" in /proc/self/status. */
static bool status_line(const char *key, char *ret, size_t size)
{
	char text[8192];
	FD_AUTO fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	const char *p;

	if (n < 0)
		return false;
	text[n] = '\0';
	p = strstr(text, key);
	if (p == NULL)
		return false;
	p += strlen(key);
	p += strspn(p, ":\t ");
	(void)snprintf(ret, size, "%.*s", (int)strcspn(p, "\n"), p);
	return true;
}

static int act_caps(const struct selftest_ctx *c, const char *arg)
{
	static const char *const sets[] = { "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb" };
	char text[64];

	(void)c;
	(void)arg;
	for (size_t i = 0; i < ARRAY_SIZE(sets); i++) {
		if (!status_line(sets[i], text, sizeof(text)) || strspn(text, "0") != strlen(text))
			return 0;
	}
	return EPERM;
}

static int act_status(const struct selftest_ctx *c, const char *arg)
{
	char text[64];

	(void)c;
	return status_line(arg, text, sizeof(text)) ? 0 : ENOENT;
}

static int act_no_filter(const struct selftest_ctx *c, const char *arg)
{
	char text[64];

	(void)c;
	(void)arg;
	return status_line("Seccomp", text, sizeof(text)) && strcmp(text, "2") == 0 ? EPERM : 0;
}

static int act_new_privs(const struct selftest_ctx *c, const char *arg)
{
	(void)c;
	(void)arg;
	return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ? EPERM : 0;
}

static int act_lower_privs(const struct selftest_ctx *c, const char *arg)
{
	(void)c;
	(void)arg;
	return selftest_errno(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
}

static int capset_to(unsigned bits)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { { bits, bits, 0 }, { 0 } };

	return selftest_errno(syscall(SYS_capset, &head, data));
}

static int act_capset(const struct selftest_ctx *c, const char *arg)
{
	(void)c;
	(void)arg;
	return capset_to(1U << CAP_SYS_ADMIN);
}

static int act_capset_none(const struct selftest_ctx *c, const char *arg)
{
	(void)c;
	(void)arg;
	return capset_to(0);
}

static int act_setuid(const struct selftest_ctx *c, const char *arg)
{
	uid_t id = getuid() == 0 ? 1 : 0;

	(void)c;
	(void)arg;
	return selftest_errno(setresuid(id, id, id));
}

static int act_setuid_same(const struct selftest_ctx *c, const char *arg)
{
	uid_t id = getuid();

	(void)c;
	(void)arg;
	return selftest_errno(setresuid(id, id, id));
}

static int act_tty(const struct selftest_ctx *c, const char *arg)
{
	FD_AUTO fd = open(arg, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);

	(void)c;
	return fd < 0 ? errno : 0;
}

static struct sockaddr_un unix_address(const char *name, socklen_t *ret_len)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	size_t len = strlen(name);

	if (len >= sizeof(un.sun_path))
		len = sizeof(un.sun_path) - 1;
	memcpy(un.sun_path, name, len);
	if (name[0] == '@')
		un.sun_path[0] = '\0';
	*ret_len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len + (name[0] != '@'));
	return un;
}

static int connect_to(int family, const struct sockaddr *sa, socklen_t len)
{
	FD_AUTO fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	return fd < 0 ? errno : selftest_errno(connect(fd, sa, len));
}

/* To a listener of this very process. */
static int meet(int family, const struct sockaddr *sa, socklen_t len)
{
	struct sockaddr_storage bound;
	socklen_t bound_len = sizeof(bound);
	FD_AUTO fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, sa, len) != 0 || listen(fd, 1) != 0 ||
	    getsockname(fd, (struct sockaddr *)&bound, &bound_len) != 0)
		return errno;
	return connect_to(family, (const struct sockaddr *)&bound, bound_len);
}

static struct sockaddr_in loopback(unsigned port)
{
	return (struct sockaddr_in){ .sin_family = AF_INET,
				     .sin_port = htons((uint16_t)port),
				     .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
}

static int act_connect_loopback(const struct selftest_ctx *c, const char *arg)
{
	const struct sockaddr_in in = loopback(c->port);

	(void)arg;
	return connect_to(AF_INET, (const struct sockaddr *)&in, sizeof(in));
}

static int act_meet_loopback(const struct selftest_ctx *c, const char *arg)
{
	const struct sockaddr_in in = loopback(0);

	(void)c;
	(void)arg;
	return meet(AF_INET, (const struct sockaddr *)&in, sizeof(in));
}

static int act_connect_abstract(const struct selftest_ctx *c, const char *arg)
{
	socklen_t len;
	const struct sockaddr_un un = unix_address(c->abstract, &len);

	(void)arg;
	return connect_to(AF_UNIX, (const struct sockaddr *)&un, len);
}

static int act_meet_unix(const struct selftest_ctx *c, const char *arg)
{
	socklen_t len;
	const struct sockaddr_un un = unix_address(arg, &len);
	int r;

	(void)c;
	r = meet(AF_UNIX, (const struct sockaddr *)&un, len);
	if (arg[0] == '/')
		(void)unlink(arg);
	return r;
}

/* By its directory: a path of the host may be too long for an address. */
static int act_connect_path(const struct selftest_ctx *c, const char *arg)
{
	socklen_t len;
	const struct sockaddr_un un = unix_address(arg, &len);

	if (c->room == NULL)
		return SELFTEST_NO_ROOM;
	if (chdir(c->room) != 0)
		return errno;
	return connect_to(AF_UNIX, (const struct sockaddr *)&un, len);
}

static const struct {
	const char *name;
	int family, type, protocol;
} kinds[] = {
	{ "packet", AF_PACKET, SOCK_RAW, 0 },
	{ "vsock", AF_VSOCK, SOCK_STREAM, 0 },
	{ "netlink-usersock", AF_NETLINK, SOCK_RAW, NETLINK_USERSOCK },
	{ "netlink-route", AF_NETLINK, SOCK_RAW, NETLINK_ROUTE },
	{ "raw", AF_INET, SOCK_RAW, IPPROTO_ICMP },
	{ "udp", AF_INET, SOCK_DGRAM, 0 },
};

static int act_socket(const struct selftest_ctx *c, const char *arg)
{
	(void)c;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		FD_AUTO fd = -1;

		if (strcmp(kinds[i].name, arg) != 0)
			continue;
		fd = socket(kinds[i].family, kinds[i].type | SOCK_CLOEXEC, kinds[i].protocol);
		return fd < 0 ? errno : 0;
	}
	return EINVAL;
}

#define PRIVATE SELFTEST_PRIVATE_NET

/* clang-format off */
const struct selftest_row selftest_proc_rows[] = {
	{ "kill-init", "kill init",
	  act_kill_init, NULL, act_kill_child, NULL, { SELFTEST_IGNORED, EPERM }, 0, 0, 0 },
	{ "kill-host", "signal a process of the host by its pid",
	  act_kill_host, NULL, NULL, NULL, { ESRCH }, SELFTEST_TWIN_HOST, 0, 0 },
	{ "core-dump", "crash with a core dump",
	  act_core_dump, NULL, act_crash, NULL, { EFBIG }, 0, 0, 0 },
	{ "ptrace-init", "trace init",
	  act_ptrace_init, NULL, act_ptrace_child, NULL, { EPERM, ESRCH }, 0, 0, FILTER_DEBUG },
	{ "read-init", "read the memory of init",
	  act_vm_init, NULL, act_vm_self, NULL, { EPERM, ESRCH }, 0, 0, FILTER_DEBUG },
	{ "inherited-fd", "find a descriptor of the launcher",
	  act_inherited, NULL, act_stdio, NULL, { EBADF }, 0, 0, 0 },
	{ "capabilities", "hold a capability in any set",
	  act_caps, NULL, act_status, "CapEff", { EPERM }, 0, 0, 0 },
	{ "gain-capability", "take CAP_SYS_ADMIN",
	  act_capset, NULL, act_capset_none, NULL, { EPERM }, 0, 0, 0 },
	{ "other-uid", "become another user",
	  act_setuid, NULL, act_setuid_same, NULL, { EPERM, EINVAL }, 0, 0, 0 },
	{ "new-privileges", "have execve grant privileges",
	  act_new_privs, NULL, act_lower_privs, NULL, { EPERM }, 0, 0, 0 },
	{ "no-filter", "run without a system call filter",
	  act_no_filter, NULL, act_status, "Seccomp", { EPERM }, 0, 0, 0 },
	{ "terminal", "open the caller's terminal",
	  act_tty, "/dev/tty", act_tty, "/dev/ptmx", { ENXIO, ENOENT, EACCES }, 0, 0, 0 },
	{ "host-loopback", "connect to a listener on the host's loopback interface",
	  act_connect_loopback, NULL, act_meet_loopback, NULL,
	  { ECONNREFUSED, ENETUNREACH, ENETDOWN }, PRIVATE, 0, 0 },
	{ "host-abstract", "connect to an abstract unix socket of the host",
	  act_connect_abstract, NULL, act_meet_unix, "@agentbox-selftest-inside",
	  { ECONNREFUSED, EPERM, EAFNOSUPPORT }, PRIVATE | SELFTEST_UNIX, 0, 0 },
	{ "host-socket", "connect to a host's unix socket that lies in a writable root",
	  act_connect_path, "host.sock", act_meet_unix, "/tmp/.agentbox-selftest-sock",
	  { ECONNREFUSED, EACCES, ENOENT, EAFNOSUPPORT }, SELFTEST_UNIX, 0, 0 },
	{ "deep-socket", "the same, deeper in the root",
	  act_connect_path, "directory/a/b/host.sock", act_meet_unix, "/tmp/.agentbox-selftest-sock",
	  { ECONNREFUSED, EACCES, ENOENT, EAFNOSUPPORT }, SELFTEST_KNOWN | SELFTEST_UNIX, 0, 0 },
	{ "packet-socket", "open a packet socket",
	  act_socket, "packet", act_socket, "udp", { EAFNOSUPPORT, EPERM }, 0, 0, 0 },
	{ "raw-socket", "open a raw internet socket",
	  act_socket, "raw", act_socket, "udp", { EPERM }, 0, 0, 0 },
	{ "vsock", "open a socket to the hypervisor",
	  act_socket, "vsock", act_socket, "udp", { EAFNOSUPPORT, EPERM }, 0, 0, 0 },
	{ "netlink", "open a netlink socket that is not for routes",
	  act_socket, "netlink-usersock", act_socket, "netlink-route", { EAFNOSUPPORT, EPERM },
	  0, 0, 0 },
};
/* clang-format on */
const size_t selftest_n_proc_rows = ARRAY_SIZE(selftest_proc_rows);
