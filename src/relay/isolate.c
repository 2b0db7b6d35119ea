/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* isolate - what the two processes give up before they read a byte of anybody's.
 *
 * The relay reads what hostile code sends. It needs sockets that are there, new ones of the two
 * internet families, one pipe that is there, and nothing else: no file, no process, no Unix socket.
 * Of what it holds splice(2) and read(2) reach that pipe and the sockets alone. The resolver reads
 * answers of name servers through the C library, which opens files and loads modules: it may
 * read the system's, and write and execute nothing. The dialer is in the sandbox's own network and
 * user namespace, and reads what the relay sends it: new sockets, and what goes with them. */
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "base/macro.h"
#include "relay/internal.h"
#include "sys/caps.h"
#include "sys/fs.h"
#include "sys/landlock.h"
#include "sys/mountapi.h"
#include "sys/process.h"
#include "sys/seccomp.h"

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCH AUDIT_ARCH_AARCH64
#endif

#define RELAY_DATA_MAX    ((uint64_t)256 * 1024 * 1024)
#define RESOLVER_DATA_MAX ((uint64_t)256 * 1024 * 1024)

/* The most frequent first: they are compared one by one. */
static const uint32_t relay_calls[] = {
	SYS_splice,      SYS_recvfrom,  SYS_sendto,
#ifdef SYS_epoll_wait
	SYS_epoll_wait,
#endif
	SYS_epoll_pwait, SYS_epoll_ctl, SYS_accept4, SYS_getsockname,     SYS_setsockopt,
	SYS_getsockopt,  SYS_shutdown,  SYS_close,   SYS_connect,         SYS_recvmsg,
	SYS_getpeername, SYS_sendmsg,   SYS_read,    SYS_clock_gettime,   SYS_brk,
	SYS_munmap,      SYS_mremap,    SYS_madvise, SYS_restart_syscall, SYS_rt_sigreturn,
	SYS_exit_group,
};

static const uint32_t dialer_calls[] = {
	SYS_recvfrom,        SYS_sendmsg,      SYS_connect,    SYS_close,
	SYS_restart_syscall, SYS_rt_sigreturn, SYS_exit_group,
};

/* What the C library's resolver and the modules of name services have a use for. Anything else is
 * a call that this kernel does not have. */
static const uint32_t resolver_calls[] = {
	/* files, as far as Landlock or the mounts let it */
	SYS_read,
	SYS_readv,
	SYS_pread64,
	SYS_preadv,
	SYS_write,
	SYS_writev,
	SYS_lseek,
	SYS_close,
	SYS_openat,
	SYS_openat2,
#ifdef SYS_open
	SYS_open,
#endif
	SYS_newfstatat,
	SYS_fstat,
#ifdef SYS_stat
	SYS_stat,
#endif
#ifdef SYS_lstat
	SYS_lstat,
#endif
	SYS_statx,
#ifdef SYS_access
	SYS_access,
#endif
	SYS_faccessat,
	SYS_faccessat2,
	SYS_readlinkat,
#ifdef SYS_readlink
	SYS_readlink,
#endif
	SYS_getdents64,
#ifdef SYS_getdents
	SYS_getdents,
#endif
	SYS_fcntl,
	SYS_ioctl,
	SYS_dup,
	SYS_dup3,
#ifdef SYS_dup2
	SYS_dup2,
#endif
	SYS_getcwd,
	SYS_fstatfs,
	SYS_statfs,
	SYS_fadvise64,
	SYS_flock,
	SYS_umask,
	/* sockets; socket() itself is below */
	SYS_connect,
	SYS_bind,
	SYS_getsockname,
	SYS_getpeername,
	SYS_setsockopt,
	SYS_getsockopt,
	SYS_sendto,
	SYS_recvfrom,
	SYS_sendmsg,
	SYS_recvmsg,
	SYS_sendmmsg,
	SYS_recvmmsg,
	SYS_shutdown,
	SYS_socketpair,
	/* waiting */
	SYS_ppoll,
#ifdef SYS_poll
	SYS_poll,
#endif
	SYS_pselect6,
#ifdef SYS_select
	SYS_select,
#endif
	SYS_epoll_create1,
#ifdef SYS_epoll_create
	SYS_epoll_create,
#endif
	SYS_epoll_ctl,
	SYS_epoll_pwait,
	SYS_epoll_pwait2,
#ifdef SYS_epoll_wait
	SYS_epoll_wait,
#endif
	SYS_pipe2,
#ifdef SYS_pipe
	SYS_pipe,
#endif
	SYS_eventfd2,
	SYS_timerfd_create,
	SYS_timerfd_settime,
	SYS_timerfd_gettime,
	SYS_signalfd4,
	SYS_inotify_init1,
	SYS_inotify_add_watch,
	SYS_inotify_rm_watch,
	SYS_futex,
	SYS_sched_yield,
	SYS_nanosleep,
	SYS_clock_nanosleep,
	SYS_restart_syscall,
#ifdef SYS_alarm
	SYS_alarm,
#endif
	SYS_setitimer,
	SYS_wait4,
	SYS_waitid,
	/* memory */
	SYS_mmap,
	SYS_munmap,
	SYS_mremap,
	SYS_mprotect,
	SYS_madvise,
	SYS_brk,
	SYS_membarrier,
	SYS_mincore,
	/* time, and who we are */
	SYS_clock_gettime,
	SYS_clock_getres,
	SYS_gettimeofday,
#ifdef SYS_time
	SYS_time,
#endif
	SYS_getrandom,
	SYS_uname,
	SYS_sysinfo,
	SYS_getpid,
	SYS_gettid,
	SYS_getppid,
	SYS_getpgid,
	SYS_getsid,
	SYS_getuid,
	SYS_geteuid,
	SYS_getgid,
	SYS_getegid,
	SYS_getgroups,
	SYS_getresuid,
	SYS_getresgid,
	SYS_capget,
	SYS_getrusage,
	SYS_getrlimit,
	SYS_times,
	SYS_getcpu,
	SYS_sched_getaffinity,
	/* threads, signals of our own, the end */
	SYS_set_tid_address,
	SYS_set_robust_list,
	SYS_get_robust_list,
	SYS_rseq,
#ifdef SYS_arch_prctl
	SYS_arch_prctl,
#endif
	SYS_rt_sigaction,
	SYS_rt_sigprocmask,
	SYS_rt_sigreturn,
	SYS_rt_sigtimedwait,
	SYS_rt_sigpending,
	SYS_rt_sigsuspend,
	SYS_sigaltstack,
	SYS_exit,
	SYS_exit_group,
};

#define FILTER_MAX 384

struct program {
	struct sock_filter code[FILTER_MAX];
	uint16_t n;
};

static void put(struct program *p, uint16_t code, uint8_t jt, uint8_t jf, uint32_t k)
{
	p->code[p->n++] = (struct sock_filter){ .code = code, .jt = jt, .jf = jf, .k = k };
}

static void put_load(struct program *p, size_t offset)
{
	put(p, BPF_LD | BPF_W | BPF_ABS, 0, 0, (uint32_t)offset);
}

static void put_return(struct program *p, uint32_t answer)
{
	put(p, BPF_RET | BPF_K, 0, 0, answer);
}

static void put_begin(struct program *p)
{
	put_load(p, offsetof(struct seccomp_data, arch));
	put(p, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, ARCH);
	put_return(p, SECCOMP_RET_ERRNO | ENOSYS);
	put_load(p, offsetof(struct seccomp_data, nr));
#if defined(__x86_64__)
	/* The numbers of the x32 ABI. */
	put(p, BPF_JMP | BPF_JGE | BPF_K, 0, 1, 0x40000000U);
	put_return(p, SECCOMP_RET_ERRNO | ENOSYS);
#endif
}

static void put_calls(struct program *p, const uint32_t *calls, size_t n, uint32_t answer)
{
	for (size_t i = 0; i < n; i++) {
		put(p, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, calls[i]);
		put_return(p, answer);
	}
}

/* The low half: the kernel takes these as int. */
#define ARG_LOW(i)  (offsetof(struct seccomp_data, args[i]))
#define ARG_HIGH(i) (ARG_LOW(i) + 4)

#define SOCK_TYPE_MASK 0xf /* of type, the rest is flags */

/* socket(): TCP alone. */
static void put_socket(struct program *p)
{
	put(p, BPF_JMP | BPF_JEQ | BPF_K, 0, 10, SYS_socket);
	put_load(p, ARG_LOW(0));
	put(p, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, AF_INET);
	put(p, BPF_JMP | BPF_JEQ | BPF_K, 0, 6, AF_INET6);
	put_load(p, ARG_LOW(1));
	put(p, BPF_ALU | BPF_AND | BPF_K, 0, 0, SOCK_TYPE_MASK);
	put(p, BPF_JMP | BPF_JEQ | BPF_K, 0, 3, SOCK_STREAM);
	put_load(p, ARG_LOW(2));
	put(p, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0);
	put_return(p, SECCOMP_RET_ALLOW);
	put_return(p, SECCOMP_RET_ERRNO | EAFNOSUPPORT);
}

static int filter_dialer(void)
{
	struct program p = { .n = 0 };

	put_begin(&p);
	put_calls(&p, dialer_calls, ARRAY_SIZE(dialer_calls), SECCOMP_RET_ALLOW);
	put_socket(&p);
	put_return(&p, SECCOMP_RET_ERRNO | EPERM);
	return sys_seccomp_filter(p.code, p.n);
}

static int filter_relay(void)
{
	struct program p = { .n = 0 };

	put_begin(&p);
	put_calls(&p, relay_calls, ARRAY_SIZE(relay_calls), SECCOMP_RET_ALLOW);
	put_socket(&p);
	/* mmap(): of memory that is not executed. */
	put(&p, BPF_JMP | BPF_JEQ | BPF_K, 0, 3, SYS_mmap);
	put_load(&p, ARG_LOW(2));
	put(&p, BPF_JMP | BPF_JSET | BPF_K, 1, 0, PROT_EXEC);
	put_return(&p, SECCOMP_RET_ALLOW);
	put_return(&p, SECCOMP_RET_ERRNO | EPERM);
	return sys_seccomp_filter(p.code, p.n);
}

/* Anything that is told by the low half of argument @i being one of @values; the call returns. */
static void put_one_of(struct program *p, uint32_t call, unsigned i, const uint32_t *values,
		       uint8_t n, uint32_t otherwise)
{
	put(p, BPF_JMP | BPF_JEQ | BPF_K, 0, (uint8_t)(n + 3), call);
	put_load(p, ARG_LOW(i));
	for (uint8_t k = 0; k < n; k++)
		put(p, BPF_JMP | BPF_JEQ | BPF_K, (uint8_t)(n - k), 0, values[k]);
	put_return(p, otherwise);
	put_return(p, SECCOMP_RET_ALLOW);
}

#define CLONE_NEW_ANY                                                                              \
	(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER |             \
	 CLONE_NEWPID | CLONE_NEWNET | CLONE_PARENT)

static int filter_resolver(void)
{
	static const uint32_t families[] = { AF_UNIX, AF_INET, AF_INET6, AF_NETLINK };
	static const uint32_t operations[] = { PR_SET_PDEATHSIG, PR_SET_NAME, PR_GET_NAME };
	struct program p = { .n = 0 };

	put_begin(&p);
	put_calls(&p, resolver_calls, ARRAY_SIZE(resolver_calls), SECCOMP_RET_ALLOW);
	put_one_of(&p, SYS_socket, 0, families, ARRAY_SIZE(families),
		   SECCOMP_RET_ERRNO | EAFNOSUPPORT);
	put_one_of(&p, SYS_prctl, 0, operations, ARRAY_SIZE(operations), SECCOMP_RET_ERRNO | EPERM);
	/* clone(): without namespaces. clone3() has its flags where no filter sees them. */
	put(&p, BPF_JMP | BPF_JEQ | BPF_K, 0, 4, SYS_clone);
	put_load(&p, ARG_LOW(0));
	put(&p, BPF_JMP | BPF_JSET | BPF_K, 1, 0, CLONE_NEW_ANY);
	put_return(&p, SECCOMP_RET_ALLOW);
	put_return(&p, SECCOMP_RET_ERRNO | EPERM);
	/* prlimit64(): to look, and at ourselves. */
	put(&p, BPF_JMP | BPF_JEQ | BPF_K, 0, 8, SYS_prlimit64);
	put_load(&p, ARG_LOW(0));
	put(&p, BPF_JMP | BPF_JEQ | BPF_K, 0, 5, 0);
	put_load(&p, ARG_LOW(2));
	put(&p, BPF_JMP | BPF_JEQ | BPF_K, 0, 3, 0);
	put_load(&p, ARG_HIGH(2));
	put(&p, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0);
	put_return(&p, SECCOMP_RET_ALLOW);
	put_return(&p, SECCOMP_RET_ERRNO | EPERM);
	put_return(&p, SECCOMP_RET_ERRNO | ENOSYS);
	return sys_seccomp_filter(p.code, p.n);
}

/* A root without anything in it. */
static int empty_root(void)
{
	const struct sys_mount_attr private = { .propagation = MS_PRIVATE };
	int fs, root, r;

	r = sys_mount_setattr(AT_FDCWD, "/", AT_RECURSIVE, &private);
	if (r < 0)
		return r;
	fs = sys_fsopen("tmpfs");
	if (fs < 0)
		return fs;
	r = sys_fsconfig_string(fs, "size", "4k");
	if (r == 0)
		r = sys_fsconfig_create(fs);
	root = r < 0 ? r
		     : sys_fsmount(fs, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV |
					       MOUNT_ATTR_NOEXEC);
	(void)sys_close(fs);
	if (root < 0)
		return root;
	r = sys_move_mount_at(root, AT_FDCWD, "/proc");
	if (r == 0)
		r = sys_fchdir(root);
	if (r == 0)
		r = sys_pivot_root(".", ".");
	if (r == 0)
		r = sys_umount2(".", MNT_DETACH);
	if (r == 0)
		r = sys_chdir("/");
	(void)sys_close(root);
	return r;
}

static int limit(int resource, uint64_t value)
{
	struct sys_rlimit now;
	int r = sys_rlimit_get(resource, &now);

	if (r < 0)
		return r;
	now.hard = value < now.hard ? value : now.hard;
	now.soft = now.hard;
	return sys_rlimit_set(resource, &now);
}

struct bound {
	int resource;
	uint64_t value;
};

static int limits(const struct bound *bounds, size_t n)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < n; i++)
		r = limit(bounds[i].resource, bounds[i].value);
	return r;
}

/* As the last of what makes a process of ours harmless. */
static int give_up(void)
{
	int r = sys_prctl(PR_SET_NO_NEW_PRIVS, 1);

	if (r == 0)
		r = sys_prctl(PR_SET_DUMPABLE, 0);
	if (r == 0)
		r = sys_prctl(PR_SET_PDEATHSIG, SIGKILL);
	return r;
}

int isolate_relay(uint32_t n_fds)
{
	const struct bound bounds[] = {
		{ RLIMIT_NOFILE, n_fds },        { RLIMIT_CORE, 1 },    { RLIMIT_FSIZE, 0 },
		{ RLIMIT_DATA, RELAY_DATA_MAX }, { RLIMIT_MEMLOCK, 0 },
	};
	int r = empty_root();

	if (r == 0)
		r = limits(bounds, ARRAY_SIZE(bounds));
	if (r == 0)
		r = sys_caps_drop();
	if (r == 0)
		r = sys_caps_none();
	if (r == 0)
		r = give_up();
	return r == 0 ? filter_relay() : r;
}

int isolate_dialer(void)
{
	const struct bound bounds[] = {
		{ RLIMIT_CORE, 1 },
		{ RLIMIT_FSIZE, 0 },
		{ RLIMIT_NPROC, 0 },
		{ RLIMIT_MEMLOCK, 0 },
	};
	int r = limits(bounds, ARRAY_SIZE(bounds));

	/* As for the resolver. */
	if (r == 0)
		r = sys_caps_clear();
	if (r == 0)
		r = give_up();
	return r == 0 ? filter_dialer() : r;
}

#define LANDLOCK_ABI1_ALL                                                                          \
	(SYS_LANDLOCK_EXECUTE | SYS_LANDLOCK_WRITE_FILE | SYS_LANDLOCK_READ_FILE |                 \
	 SYS_LANDLOCK_READ_DIR | SYS_LANDLOCK_REMOVE_DIR | SYS_LANDLOCK_REMOVE_FILE |              \
	 SYS_LANDLOCK_MAKE_CHAR | SYS_LANDLOCK_MAKE_DIR | SYS_LANDLOCK_MAKE_REG |                  \
	 SYS_LANDLOCK_MAKE_SOCK | SYS_LANDLOCK_MAKE_FIFO | SYS_LANDLOCK_MAKE_BLOCK |               \
	 SYS_LANDLOCK_MAKE_SYM)

/* What a name service reads: its configuration, its modules, its sockets' directories. */
static const char *const readable[] = { "/etc", "/usr",     "/lib", "/lib64", "/lib32",
					"/run", "/var/run", "/nix", "/gnu" };

static int landlock_resolver(int abi)
{
	uint64_t fs = LANDLOCK_ABI1_ALL;
	int rules, r = 0;

	if (abi >= 2)
		fs |= SYS_LANDLOCK_REFER;
	if (abi >= 3)
		fs |= SYS_LANDLOCK_TRUNCATE;
	rules = sys_landlock_ruleset(fs, 0);
	if (rules < 0)
		return rules;
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(readable); i++) {
		int fd = sys_openat2(AT_FDCWD, readable[i], O_PATH | O_DIRECTORY, 0, 0);

		/* Not on this host, or not the caller's to read. */
		if (fd == -ENOENT || fd == -ENOTDIR || fd == -EACCES)
			continue;
		r = fd;
		if (fd >= 0)
			r = sys_landlock_allow(rules, fd,
					       SYS_LANDLOCK_READ_FILE | SYS_LANDLOCK_READ_DIR);
		(void)sys_close(fd);
	}
	if (r == 0)
		r = sys_landlock_restrict(rules);
	(void)sys_close(rules);
	return r;
}

/* Without Landlock: a view of everything in which nothing can be written. */
static int readonly_view(void)
{
	const struct sys_mount_attr attr = { .attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID,
					     .propagation = MS_PRIVATE };
	int r = sys_unshare_mounts();

	return r < 0 ? r : sys_mount_setattr(AT_FDCWD, "/", AT_RECURSIVE, &attr);
}

int isolate_resolver(void)
{
	const struct bound bounds[] = {
		{ RLIMIT_CORE, 1 },
		{ RLIMIT_FSIZE, 0 },
		{ RLIMIT_DATA, RESOLVER_DATA_MAX },
		{ RLIMIT_MEMLOCK, 0 },
	};
	int abi = sys_landlock_abi();
	int r = 0;

	if (abi == -ENOSYS || abi == -EOPNOTSUPP)
		r = readonly_view();
	else if (abi < 0)
		r = abi;
	if (r == 0)
		r = limits(bounds, ARRAY_SIZE(bounds));
	/* The bounding set is not an ordinary caller's to change, and with no_new_privs, which
	 * comes next, of no use. */
	if (r == 0)
		r = sys_caps_clear();
	if (r == 0)
		r = give_up();
	if (r == 0 && abi > 0)
		r = landlock_resolver(abi);
	return r == 0 ? filter_resolver() : r;
}
