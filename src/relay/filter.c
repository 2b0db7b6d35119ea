/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "relay/filter.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "base/macro.h"
#include "sys/seccomp.h"

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCH AUDIT_ARCH_AARCH64
#endif

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

#define TREE_LEAF 4
#define JUMP_END  UINT32_MAX /* of a leaf; where to is known when the tree is */

static void put_branch(struct program *p, const uint32_t *calls, size_t n)
{
	size_t half = n / 2;
	uint16_t at = p->n;

	if (n <= TREE_LEAF) {
		for (size_t i = 0; i < n; i++)
			put(p, BPF_JMP | BPF_JEQ | BPF_K, (uint8_t)(n - i), 0, calls[i]);
		put(p, BPF_JMP | BPF_JA, 0, 0, JUMP_END);
		put_return(p, SECCOMP_RET_ALLOW);
		return;
	}
	put(p, BPF_JMP | BPF_JGE | BPF_K, 0, 0, calls[half]);
	put_branch(p, calls, half);
	p->code[at].jt = (uint8_t)(p->n - at - 1);
	put_branch(p, calls + half, n - half);
}

static int by_number(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

#define TREE_MAX 160 /* a half of it is within reach of one jump */

/* As put_calls() for many: the kernel asks the program about every call that there is, when it is
 * loaded. */
static void put_tree(struct program *p, const uint32_t *calls, size_t n)
{
	uint32_t sorted[TREE_MAX];
	uint16_t from = p->n;

	memcpy(sorted, calls, n * sizeof(*calls));
	qsort(sorted, n, sizeof(*sorted), by_number);
	put_branch(p, sorted, n);
	for (uint16_t i = from; i < p->n; i++) {
		if (p->code[i].code == (BPF_JMP | BPF_JA) && p->code[i].k == JUMP_END)
			p->code[i].k = (uint32_t)p->n - i - 1;
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

int filter_dialer(void)
{
	struct program p = { .n = 0 };

	put_begin(&p);
	put_calls(&p, dialer_calls, ARRAY_SIZE(dialer_calls), SECCOMP_RET_ALLOW);
	put_socket(&p);
	put_return(&p, SECCOMP_RET_ERRNO | EPERM);
	return sys_seccomp_filter(p.code, p.n);
}

int filter_relay(void)
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

int filter_resolver(void)
{
	static const uint32_t families[] = { AF_UNIX, AF_INET, AF_INET6, AF_NETLINK };
	static const uint32_t operations[] = { PR_SET_PDEATHSIG, PR_SET_NAME, PR_GET_NAME };
	struct program p = { .n = 0 };

	put_begin(&p);
	_Static_assert(ARRAY_SIZE(resolver_calls) <= TREE_MAX, "beyond the reach of a jump");
	put_tree(&p, resolver_calls, ARRAY_SIZE(resolver_calls));
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
