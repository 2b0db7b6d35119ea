/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "filter/table.h"

/* What ordinary programs call and what shows or changes nothing beyond the caller's own rights.
 * Names that an architecture does not have are skipped there. */
/* clang-format off */
const char *const filter_allowed[] = {
	/* Files by descriptor. */
	"cachestat", "close", "close_range", "copy_file_range", "dup", "dup2", "dup3", "fadvise64",
	"fallocate", "fcntl", "fdatasync", "flock", "fsync", "ftruncate", "getdents", "getdents64",
	"lseek", "pipe", "pipe2", "pread64", "preadv", "preadv2", "pwrite64", "pwritev", "pwritev2",
	"read", "readahead", "readv", "sendfile", "splice", "sync", "sync_file_range", "syncfs",
	"tee", "truncate", "vmsplice", "write", "writev",
	/* Files by name. */
	"access", "chdir", "chown", "faccessat", "faccessat2", "fchdir", "fchown", "fchownat",
	"fstat", "fstatfs", "futimesat", "getcwd", "lchown", "link", "linkat", "lstat",
	"name_to_handle_at", "newfstatat", "readlink", "readlinkat", "rename", "renameat",
	"renameat2", "rmdir", "stat", "statfs", "statx", "symlink", "symlinkat", "umask", "unlink",
	"unlinkat", "utime", "utimensat", "utimes",
	/* Extended attributes. */
	"fgetxattr", "flistxattr", "fremovexattr", "fsetxattr", "getxattr", "getxattrat",
	"lgetxattr", "listxattr", "listxattrat", "llistxattr", "lremovexattr", "lsetxattr",
	"removexattr", "removexattrat", "setxattr", "setxattrat",
	/* Waiting for descriptors. */
	"epoll_create", "epoll_create1", "epoll_ctl", "epoll_pwait", "epoll_pwait2", "epoll_wait",
	"eventfd", "eventfd2", "inotify_add_watch", "inotify_init", "inotify_init1",
	"inotify_rm_watch", "io_cancel", "io_destroy", "io_getevents", "io_pgetevents", "io_setup",
	"io_submit", "poll", "ppoll", "pselect6", "select", "signalfd", "signalfd4",
	/* Sockets; which ones, says the check of socket(). */
	"accept", "accept4", "bind", "connect", "getpeername", "getsockname", "getsockopt",
	"listen", "recvfrom", "recvmmsg", "recvmsg", "sendmmsg", "sendmsg", "sendto", "setsockopt",
	"shutdown",
	/* Memory. */
	"brk", "get_mempolicy", "madvise", "map_shadow_stack", "mbind", "membarrier", "mincore",
	"mlock", "mlock2", "mlockall", "mmap", "mprotect", "mremap", "mseal", "msync", "munlock",
	"munlockall", "munmap", "pkey_alloc", "pkey_free", "pkey_mprotect", "process_madvise",
	"process_mrelease", "remap_file_pages", "set_mempolicy", "set_mempolicy_home_node",
	/* Processes and threads. */
	"arch_prctl", "execve", "execveat", "exit", "exit_group", "fork", "futex", "futex_requeue",
	"futex_wait", "futex_waitv", "futex_wake", "get_robust_list", "getcpu", "getpgid",
	"getpgrp", "getpid", "getppid", "getpriority", "getrlimit", "getrusage", "getsid",
	"gettid", "ioprio_get", "ioprio_set", "kill", "pidfd_open", "pidfd_send_signal", "prctl",
	"restart_syscall", "rseq", "sched_get_priority_max",
	"sched_get_priority_min", "sched_getaffinity", "sched_getattr", "sched_getparam",
	"sched_getscheduler", "sched_rr_get_interval", "sched_setaffinity", "sched_setattr",
	"sched_setparam", "sched_setscheduler", "sched_yield", "set_robust_list",
	"set_tid_address", "setpgid", "setpriority", "setsid", "tgkill", "times",
	"tkill", "vfork", "wait4", "waitid",
	/* The trampolines of uprobes: when the host traces a program inside, they are called for
	 * it, and a refusal would crash it (Linux 6.11). From anywhere else they are SIGILL. */
	"uprobe", "uretprobe",
	/* Signals. */
	"pause", "rt_sigaction", "rt_sigpending", "rt_sigprocmask", "rt_sigqueueinfo",
	"rt_sigreturn", "rt_sigsuspend", "rt_sigtimedwait", "rt_tgsigqueueinfo", "sigaltstack",
	/* Clocks and timers. The adjusting pair reads without a capability, and there is none. */
	"adjtimex", "alarm", "clock_adjtime", "clock_getres", "clock_gettime", "clock_nanosleep",
	"getitimer", "gettimeofday", "nanosleep", "setitimer", "time", "timer_create",
	"timer_delete", "timer_getoverrun", "timer_gettime", "timer_settime", "timerfd_create",
	"timerfd_gettime", "timerfd_settime",
	/* Identity: without capabilities these change between ids that are all the same. */
	"capget", "capset", "getegid", "geteuid", "getgid", "getgroups", "getresgid", "getresuid",
	"getuid", "setfsgid", "setfsuid", "setgid", "setgroups", "setregid", "setresgid",
	"setresuid", "setreuid", "setuid",
	/* System V and POSIX objects, all of the sandbox's own namespace. */
	"mq_getsetattr", "mq_notify", "mq_timedreceive", "mq_timedsend", "mq_unlink", "msgctl",
	"msgget", "msgrcv", "msgsnd", "semctl", "semget", "semop", "semtimedop", "shmat", "shmctl",
	"shmdt", "shmget",
	/* Programs that confine themselves further; answers of filters only grow stricter. */
	"landlock_add_rule", "landlock_create_ruleset", "landlock_restrict_self", "seccomp",
	/* The rest. */
	"getrandom", "sysinfo", "uname",
	NULL,
};

/* Known, never to be had, and of an age or kind that programs expect to be refused: EPERM, which
 * is what the kernel itself tells a caller without the capability. */
const char *const filter_refused[] = {
	/* The machine. */
	"acct", "delete_module", "finit_module", "init_module", "ioperm", "iopl",
	"kexec_file_load", "kexec_load", "quotactl", "quotactl_fd", "reboot", "swapoff", "swapon",
	"syslog", "vhangup",
	/* Its clock. */
	"clock_settime", "settimeofday",
	/* A file by its handle: past every directory on the way to it. */
	"open_by_handle_at",
	/* Sees, since Linux 5.13, what others do with a file. */
	"fanotify_init", "fanotify_mark",
	/* Pages of other processes to other memory nodes. */
	"migrate_pages", "move_pages",
	NULL,
};
/* clang-format on */

/* fcntl.h differs by architecture, and the table is one for all: these bits do not. */
#define OPEN_CREATES 0x00400040U /* O_CREAT, __O_TMPFILE */
#define MODE_SETID   06000U

#define CLONE_NAMESPACES 0x7e020000U /* mnt cgroup uts ipc user pid net */
#define CLONE_TIME       0x00000080U /* in clone() a part of the signal */

#define PER_LINUX32      0x00000008U
#define PER_UNAME26      0x00020000U
#define PER_NO_RANDOMIZE 0x00040000U
#define PER_ASK          0xffffffffU

#define FAMILY_UNIX    1
#define FAMILY_INET    2
#define FAMILY_INET6   10
#define FAMILY_NETLINK 16
#define NETLINK_ROUTES 0

#define TTY_STI   0x5412U
#define TTY_LINUX 0x541cU
#define TTY_SETD  0x5423U

/* 4 on both. */
#define LIMIT_OF_CORES 4

#define NEXT  FILTER_NEXT
#define PASS  FILTER_ALLOW
#define PERM  FILTER_EPERM
#define DONE  FILTER_DONE
#define FAMI  FILTER_EAFNOSUPPORT
#define NOSYS FILTER_ENOSYS
#define EQUAL FILTER_OP_EQUAL
#define ANY   FILTER_OP_ANY

#define CHECK(name) [FILTER_CHECK_##name - FILTER_ANSWERS]

const struct filter_check filter_checks[FILTER_VERDICTS - FILTER_ANSWERS] = {
	CHECK(MODE1) = { "EPERM with a set-id bit in argument 1",
			 { { ANY, 1, MODE_SETID, PERM, PASS } } },
	CHECK(MODE2) = { "EPERM with a set-id bit in argument 2",
			 { { ANY, 2, MODE_SETID, PERM, PASS } } },
	CHECK(OPEN1) = { "EPERM when a file would be created with a set-id bit",
			 { { ANY, 1, OPEN_CREATES, NEXT, PASS },
			   { ANY, 2, MODE_SETID, PERM, PASS } } },
	CHECK(OPEN2) = { "EPERM when a file would be created with a set-id bit",
			 { { ANY, 2, OPEN_CREATES, NEXT, PASS },
			   { ANY, 3, MODE_SETID, PERM, PASS } } },
	CHECK(CLONE) = { "EPERM with a flag of a namespace",
			 { { ANY, 0, CLONE_NAMESPACES, PERM, PASS } } },
	CHECK(UNSHARE) = { "EPERM with a flag of a namespace",
			   { { ANY, 0, CLONE_NAMESPACES | CLONE_TIME, PERM, PASS } } },
	/* Not READ_IMPLIES_EXEC, not the layouts and emulations of other systems. */
	CHECK(PERSONALITY) = { "asking; Linux, also as 32-bit or 2.6 in uname, without "
			       "randomised addresses; else EPERM",
			       { { EQUAL, 0, 0, PASS, NEXT },
				 { EQUAL, 0, PER_ASK, PASS, NEXT },
				 { EQUAL, 0, PER_NO_RANDOMIZE, PASS, NEXT },
				 { EQUAL, 0, PER_LINUX32, PASS, NEXT },
				 { EQUAL, 0, PER_LINUX32 | PER_NO_RANDOMIZE, PASS, NEXT },
				 { EQUAL, 0, PER_UNAME26, PASS, NEXT },
				 { EQUAL, 0, PER_UNAME26 | PER_LINUX32, PASS, PERM } } },
	CHECK(PERSONALITY_STRICT) = { "asking, and plain Linux; else EPERM",
				      { { EQUAL, 0, 0, PASS, NEXT },
					{ EQUAL, 0, PER_ASK, PASS, PERM } } },
	CHECK(SOCKET) = { "unix, inet, inet6, netlink for routes; else EAFNOSUPPORT",
			  { { EQUAL, 0, FAMILY_UNIX, PASS, NEXT },
			    { EQUAL, 0, FAMILY_INET, PASS, NEXT },
			    { EQUAL, 0, FAMILY_INET6, PASS, NEXT },
			    { EQUAL, 0, FAMILY_NETLINK, NEXT, FAMI },
			    { EQUAL, 2, NETLINK_ROUTES, PASS, FAMI } } },
	CHECK(SOCKETPAIR) = { "unix; else EAFNOSUPPORT",
			      { { EQUAL, 0, FAMILY_UNIX, PASS, FAMI } } },
	/* The last loads a line discipline of any age into the kernel, and no program that has no
	 * modem needs one. */
	CHECK(IOCTL) = { "EPERM for TIOCSTI, TIOCLINUX and TIOCSETD",
			 { { EQUAL, 1, TTY_STI, PERM, NEXT },
			   { EQUAL, 1, TTY_LINUX, PERM, NEXT },
			   { EQUAL, 1, TTY_SETD, PERM, PASS } } },
	/* It is 1, which alone stops the host's handler of crashes where core_pattern(5) names one:
	 * with any other, 0 too, that would be started on the host for a crash inside. Programs
	 * that want no dump set 0 and end when they may not: there is none, so it is done. A socket
	 * that the pattern names (Linux 6.16) is connected to all the same. */
	CHECK(SETRLIMIT) = { "success without effect for RLIMIT_CORE",
			     { { EQUAL, 0, LIMIT_OF_CORES, DONE, PASS } } },
	CHECK(PRLIMIT) = { "success without effect for RLIMIT_CORE, unless it only asks",
			   { { EQUAL, 1, LIMIT_OF_CORES, NEXT, PASS },
			     { ANY, 2, 0xffffffffU, DONE, NEXT },
			     { ANY, 2 | FILTER_UPPER_HALF, 0xffffffffU, DONE, PASS } } },
};

/* ENOSYS, not EPERM, for what is young: programs take it for an older kernel and fall back. */
const struct filter_switch filter_switches[] = {
	{ "ioctl", 0, FILTER_CHECK_IOCTL, NOSYS },
	{ "socket", 0, FILTER_CHECK_SOCKET, NOSYS },
	{ "socketpair", 0, FILTER_CHECK_SOCKETPAIR, NOSYS },
	{ "prlimit64", 0, FILTER_CHECK_PRLIMIT, NOSYS },
	{ "setrlimit", 0, FILTER_CHECK_SETRLIMIT, NOSYS },
	/* Always ENOSYS: bpf, perf_event_open and userfaultfd by being named nowhere. */

	{ "kcmp", FILTER_DEBUG, PERM, PASS },
	{ "personality", FILTER_DEBUG, FILTER_CHECK_PERSONALITY_STRICT, FILTER_CHECK_PERSONALITY },
	{ "pidfd_getfd", FILTER_DEBUG, PERM, PASS },
	{ "process_vm_readv", FILTER_DEBUG, PERM, PASS },
	{ "process_vm_writev", FILTER_DEBUG, PERM, PASS },
	{ "ptrace", FILTER_DEBUG, PERM, PASS },

	{ "memfd_create", FILTER_MEMFD, NOSYS, PASS },
	{ "memfd_secret", FILTER_MEMFD, NOSYS, PASS },

	{ "io_uring_enter", FILTER_IO_URING, NOSYS, PASS },
	{ "io_uring_register", FILTER_IO_URING, NOSYS, PASS },
	{ "io_uring_setup", FILTER_IO_URING, NOSYS, PASS },

	{ "add_key", FILTER_KEYRINGS, NOSYS, PASS },
	{ "keyctl", FILTER_KEYRINGS, NOSYS, PASS },
	{ "request_key", FILTER_KEYRINGS, NOSYS, PASS },

	{ "clone", FILTER_USERNS, FILTER_CHECK_CLONE, PASS },
	/* Its flags are behind a pointer; the C library falls back to clone(). */
	{ "clone3", FILTER_USERNS, NOSYS, PASS },
	{ "unshare", FILTER_USERNS, FILTER_CHECK_UNSHARE, PASS },
	{ "setns", FILTER_USERNS, PERM, PASS },
	{ "chroot", FILTER_USERNS, PERM, PASS },
	{ "mount", FILTER_USERNS, PERM, PASS },
	{ "pivot_root", FILTER_USERNS, PERM, PASS },
	{ "setdomainname", FILTER_USERNS, PERM, PASS },
	{ "sethostname", FILTER_USERNS, PERM, PASS },
	{ "umount2", FILTER_USERNS, PERM, PASS },
	{ "fsconfig", FILTER_USERNS, NOSYS, PASS },
	{ "fsmount", FILTER_USERNS, NOSYS, PASS },
	{ "fsopen", FILTER_USERNS, NOSYS, PASS },
	{ "fspick", FILTER_USERNS, NOSYS, PASS },
	{ "listmount", FILTER_USERNS, NOSYS, PASS },
	{ "mount_setattr", FILTER_USERNS, NOSYS, PASS },
	{ "move_mount", FILTER_USERNS, NOSYS, PASS },
	{ "open_tree", FILTER_USERNS, NOSYS, PASS },
	{ "open_tree_attr", FILTER_USERNS, NOSYS, PASS },
	{ "statmount", FILTER_USERNS, NOSYS, PASS },

	{ "chmod", FILTER_SETID_BITS, FILTER_CHECK_MODE1, PASS },
	{ "creat", FILTER_SETID_BITS, FILTER_CHECK_MODE1, PASS },
	{ "fchmod", FILTER_SETID_BITS, FILTER_CHECK_MODE1, PASS },
	{ "fchmodat", FILTER_SETID_BITS, FILTER_CHECK_MODE2, PASS },
	{ "fchmodat2", FILTER_SETID_BITS, FILTER_CHECK_MODE2, PASS },
	{ "mkdir", FILTER_SETID_BITS, FILTER_CHECK_MODE1, PASS },
	{ "mkdirat", FILTER_SETID_BITS, FILTER_CHECK_MODE2, PASS },
	{ "mknod", FILTER_SETID_BITS, FILTER_CHECK_MODE1, PASS },
	{ "mknodat", FILTER_SETID_BITS, FILTER_CHECK_MODE2, PASS },
	{ "mq_open", FILTER_SETID_BITS, FILTER_CHECK_OPEN1, PASS },
	{ "open", FILTER_SETID_BITS, FILTER_CHECK_OPEN1, PASS },
	{ "openat", FILTER_SETID_BITS, FILTER_CHECK_OPEN2, PASS },
	/* Its mode is behind a pointer. */
	{ "openat2", FILTER_SETID_BITS, NOSYS, PASS },
	{ NULL, 0, NOSYS, NOSYS },
};

/* arch/x86/entry/syscalls/syscall_64.tbl and scripts/syscall.tbl of Linux 6.18. */
const struct filter_newer filter_newer[] = {
	{ "uretprobe", 335, "x86_64" },
	{ "uprobe", 336, "x86_64" },
	{ "process_mrelease", 448, NULL },
	{ "futex_waitv", 449, NULL },
	{ "set_mempolicy_home_node", 450, NULL },
	{ "cachestat", 451, NULL },
	{ "fchmodat2", 452, NULL },
	{ "map_shadow_stack", 453, NULL },
	{ "futex_wake", 454, NULL },
	{ "futex_wait", 455, NULL },
	{ "futex_requeue", 456, NULL },
	{ "statmount", 457, NULL },
	{ "listmount", 458, NULL },
	{ "lsm_get_self_attr", 459, NULL },
	{ "lsm_set_self_attr", 460, NULL },
	{ "lsm_list_modules", 461, NULL },
	{ "mseal", 462, NULL },
	{ "setxattrat", 463, NULL },
	{ "getxattrat", 464, NULL },
	{ "listxattrat", 465, NULL },
	{ "removexattrat", 466, NULL },
	{ "open_tree_attr", 467, NULL },
	{ "file_getattr", 468, NULL },
	{ "file_setattr", 469, NULL },
	{ NULL, 0, NULL },
};
