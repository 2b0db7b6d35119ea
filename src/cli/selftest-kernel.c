/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Attacks on the kernel's interfaces: the call itself is what must be refused. */
#include "cli/selftest.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "filter/filter.h"

/* Numbers that are the same on every architecture, for older headers. */
#define NR_IO_URING_SETUP 425
#define NR_OPEN_TREE      428
#define NR_MOVE_MOUNT     429
#define NR_FSOPEN         430
#define NR_FSCONFIG       431
#define NR_FSMOUNT        432
#define NR_CLONE3         435
#define NR_MOUNT_SETATTR  442
#define NR_UNKNOWN        9999

/* With arguments that do nothing: the kernel would answer with another errno. */
static const struct {
	const char *name;
	long nr;
	long args[3];
} calls[] = {
	{ "getpid", SYS_getpid, { 0 } },
	{ "unshare-files", SYS_unshare, { CLONE_FILES } },
	{ "io_uring_setup", NR_IO_URING_SETUP, { 1, 0 } },
	{ "bpf", SYS_bpf, { -1, 0, 0 } },
	{ "perf_event_open", SYS_perf_event_open, { 0, 0, -1 } },
	{ "userfaultfd", SYS_userfaultfd, { -1 } },
	{ "open_tree", NR_OPEN_TREE, { -1, 0, 0 } },
	{ "move_mount", NR_MOVE_MOUNT, { -1, 0, -1 } },
	{ "fsopen", NR_FSOPEN, { 0, 0 } },
	{ "fsconfig", NR_FSCONFIG, { -1, 0, 0 } },
	{ "fsmount", NR_FSMOUNT, { -1, 0, 0 } },
	{ "mount_setattr", NR_MOUNT_SETATTR, { -1, 0, 0 } },
	{ "clone3", NR_CLONE3, { 0, 0 } },
	{ "unknown", NR_UNKNOWN, { 0 } },
	{ "setns", SYS_setns, { -1, 0 } },
	{ "chroot", SYS_chroot, { 0 } },
	{ "pivot_root", SYS_pivot_root, { 0, 0 } },
	{ "open_by_handle_at", SYS_open_by_handle_at, { -1, 0, 0 } },
	{ "keyctl", SYS_keyctl, { 0, -3, 0 } }, /* the id of the session keyring */
	{ "ioctl TIOCSTI", SYS_ioctl, { -1, 0x5412, 0 } },
	{ "ioctl TIOCLINUX", SYS_ioctl, { -1, 0x541c, 0 } },
	{ "ioctl TIOCSTI high", SYS_ioctl, { -1, 0x100005412, 0 } },
	{ "ioctl TIOCLINUX high", SYS_ioctl, { -1, 0x10000541c, 0 } },
	{ "ioctl TIOCSETD", SYS_ioctl, { -1, 0x5423, 0 } },
	{ "unshare-user", SYS_unshare, { CLONE_NEWUSER } },
#ifdef __x86_64__
	{ "x32 getpid", 0x40000000 + SYS_getpid, { 0 } },
#endif
};

static int act_call(const struct selftest_ctx *c, const char *arg)
{
	(void)c;
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
		const long *a = calls[i].args;

		if (strcmp(calls[i].name, arg) == 0)
			return selftest_errno(syscall(calls[i].nr, a[0], a[1], a[2], 0L, 0L, 0L));
	}
	return EINVAL;
}

#ifdef __x86_64__
/* getpid by the gate of 32-bit programs; without it in the kernel a signal. */
static int act_int80(const struct selftest_ctx *c, const char *arg)
{
	long r = 20;

	(void)c;
	(void)arg;
	__asm__ volatile("int $0x80" : "+a"(r) : : "r8", "r9", "r10", "r11", "memory");
	return r < 0 ? (int)-r : 0;
}
#endif

static int clone_with(unsigned long flags)
{
	long pid = syscall(SYS_clone, flags | SIGCHLD, 0, 0, 0, 0);

	if (pid == 0)
		_exit(0);
	if (pid < 0)
		return errno;
	(void)waitpid((pid_t)pid, NULL, 0);
	return 0;
}

static int act_clone_user(const struct selftest_ctx *c, const char *arg)
{
	(void)c;
	(void)arg;
	return clone_with(CLONE_NEWUSER);
}

static int act_clone_plain(const struct selftest_ctx *c, const char *arg)
{
	(void)c;
	(void)arg;
	return clone_with(0);
}

static int act_mount(const struct selftest_ctx *c, const char *arg)
{
	(void)c;
	return selftest_errno(mount("none", arg, "tmpfs", 0, NULL));
}

static int act_remount(const struct selftest_ctx *c, const char *arg)
{
	(void)c;
	return selftest_errno(mount(NULL, arg, NULL, MS_REMOUNT | MS_BIND, NULL));
}

static int act_umount(const struct selftest_ctx *c, const char *arg)
{
	(void)c;
	return selftest_errno(umount2(arg, MNT_DETACH));
}

#define OWNER SELFTEST_TWIN_OWNER
#define HOST  SELFTEST_TWIN_HOST

/* One that the filter does not know, beside the same call where the kernel answers it. */
#define CALL(id, what, name, refusal, flags, opened)                                               \
	{                                                                                          \
		id, what, act_call, name, NULL, NULL, { refusal }, flags, opened, 0                \
	}

/* clang-format off */
const struct selftest_row selftest_kernel_rows[] = {
	{ "mount", "mount a file system",
	  act_mount, "/tmp", NULL, NULL, { EPERM }, OWNER, FILTER_USERNS, 0 },
	{ "remount", "make /usr writable",
	  act_remount, "/usr", NULL, NULL, { EPERM }, OWNER, FILTER_USERNS, 0 },
	{ "umount", "unmount /proc",
	  act_umount, "/proc", NULL, NULL, { EPERM }, OWNER, FILTER_USERNS, 0 },
	CALL("open_tree", "clone a mount", "open_tree", ENOSYS, HOST, FILTER_USERNS),
	CALL("move_mount", "attach a mount (CVE-2021-41133)", "move_mount", ENOSYS, OWNER, FILTER_USERNS),
	CALL("fsopen", "make a file system", "fsopen", ENOSYS, OWNER, FILTER_USERNS),
	CALL("fsconfig", "set up a file system", "fsconfig", ENOSYS, OWNER, FILTER_USERNS),
	CALL("fsmount", "mount a file system made", "fsmount", ENOSYS, OWNER, FILTER_USERNS),
	CALL("mount_setattr", "change a mount", "mount_setattr", ENOSYS, OWNER, FILTER_USERNS),
	CALL("pivot_root", "change the root of all", "pivot_root", EPERM, OWNER, FILTER_USERNS),
	CALL("chroot", "change one's root", "chroot", EPERM, OWNER, FILTER_USERNS),
	CALL("setns", "join another namespace", "setns", EPERM, HOST, FILTER_USERNS),
	{ "unshare-user", "make a user namespace by unshare",
	  act_call, "unshare-user", act_call, "unshare-files", { EPERM, ENOSPC }, 0, FILTER_USERNS, 0 },
	{ "clone-user", "make a user namespace by clone",
	  act_clone_user, NULL, act_clone_plain, NULL, { EPERM, ENOSPC }, 0, FILTER_USERNS, 0 },
	CALL("clone3", "pass flags that no filter sees (CVE-2021-41133)", "clone3", ENOSYS, HOST, FILTER_USERNS),
	CALL("open_by_handle", "open a file by its number", "open_by_handle_at", EPERM, HOST, 0),
	CALL("keyring", "look at the session keyring", "keyctl", ENOSYS, HOST, FILTER_KEYRINGS),
	CALL("io_uring", "set up io_uring", "io_uring_setup", ENOSYS, HOST, FILTER_IO_URING),
	CALL("bpf", "call bpf", "bpf", ENOSYS, HOST, 0),
	CALL("perf", "call perf_event_open", "perf_event_open", ENOSYS, HOST, 0),
	CALL("userfaultfd", "call userfaultfd", "userfaultfd", ENOSYS, HOST, 0),
	{ "unknown-call", "call a number that no kernel has yet",
	  act_call, "unknown", act_call, "getpid", { ENOSYS }, 0, 0, 0 },
	CALL("tiocsti", "push input into a terminal (CVE-2017-5226)", "ioctl TIOCSTI", EPERM, HOST, 0),
	CALL("tiocsti-high", "the same with a high bit (CVE-2019-10063)", "ioctl TIOCSTI high", EPERM, HOST, 0),
	CALL("tioclinux", "paste into a console (CVE-2023-28100)", "ioctl TIOCLINUX", EPERM, HOST, 0),
	CALL("tioclinux-high", "the same with a high bit", "ioctl TIOCLINUX high", EPERM, HOST, 0),
	CALL("tiocsetd", "load a line discipline", "ioctl TIOCSETD", EPERM, HOST, 0),
#ifdef __x86_64__
	{ "x32", "call by the x32 ABI",
	  act_call, "x32 getpid", act_call, "getpid", { ENOSYS }, 0, 0, 0 },
	{ "i386", "call by the 32-bit gate",
	  act_int80, NULL, NULL, NULL, { ENOSYS }, HOST, 0, 0 },
#endif
};
/* clang-format on */
const size_t selftest_n_kernel_rows = ARRAY_SIZE(selftest_kernel_rows);
