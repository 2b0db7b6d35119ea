/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "run/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sys/clone.h"
#include "sys/fs.h"
#include "sys/mountapi.h"
#include "sys/net.h"
#include "sys/nft.h"
#include "sys/process.h"

#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#endif
#define LANDLOCK_VERSION_FLAG 1

/* Shared with the process that tries it: memory is, descriptors are not. */
struct probe {
	int (*act)(void);
	volatile int result;
};

static void probe_main(void *arg)
{
	struct probe *p = arg;

	p->result = p->act == NULL ? 0 : p->act();
	sys_exit_group(0);
}

static int probe_run(uint64_t flags, int (*act)(void))
{
	_Alignas(16) char stack[16384 - 4096];
	/* Killed before it had an answer. */
	struct probe p = { .act = act, .result = -ECANCELED };
	struct clone_args args = {
		.flags = flags | CLONE_VM,
		.exit_signal = SIGCHLD,
		.stack = (uint64_t)(uintptr_t)stack,
		.stack_size = sizeof(stack),
	};
	long pid = sys_clone_fn(&args, probe_main, &p);

	if (pid < 0)
		return (int)pid;
	/* Its stack is ours: it must be gone before this function returns. */
	while (waitpid((pid_t)pid, NULL, 0) < 0 && errno == EINTR)
		;
	return p.result;
}

static int mount_proc(void)
{
	int fs, r;

	fs = sys_fsopen("proc");
	if (fs < 0)
		return fs;
	r = sys_fsconfig_create(fs);
	if (r < 0)
		return r;
	r = sys_fsmount(fs, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
	return r < 0 ? r : 0;
}

int probe_namespaces(uint64_t flags)
{
	return probe_run(flags, NULL);
}

int probe_proc(void)
{
	return probe_run(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID, mount_proc);
}

static int try_any_port(void)
{
	int ns = sys_openat2(AT_FDCWD, "/proc/self/ns/net", O_RDONLY, 0, 0);
	int nl = sys_netlink();
	int r = ns < 0 ? ns : nl < 0 ? nl : sys_net_veth(nl, "gw0", "eth0", 0, ns);

	if (r == 0)
		r = sys_listen_any(1);
	return r < 0 ? r : sys_nft_tproxy(INADDR_LOOPBACK, 1);
}

int probe_any_port(void)
{
	return probe_run(CLONE_NEWUSER | CLONE_NEWNET, try_any_port);
}

int probe_landlock(void)
{
	long r = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_VERSION_FLAG);

	return r < 0 ? -errno : (int)r;
}
