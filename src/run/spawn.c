/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Theory of operation.
 *
 * The child is a copy of the supervisor's memory, made by clone3 without CLONE_VM (in
 * another process that shares it: namespaces.h), and its first
 * process stays as pid 1 of the sandbox while hostile code runs beside it. What is in its memory
 * is what a bug there could show. So before the clone everything that may hold rules, secrets,
 * the caller's environment or arguments is marked MADV_DONTFORK, and the child does not have it:
 *
 *   host arenas     marked when they are made (base/arena.c)
 *   the heap        from the end of the program's own data to the break
 *   the main stack  with argv, envp, auxv and every frame that ever was there
 *
 * and what is left is the program, its libraries, thread-local storage, the plan's arena, and one
 * mapping made here: guard page, stack, and at the top a struct spawn_top with the arguments of
 * child_main() and a copy of struct plan itself (what it points to is in the plan's arena).
 *
 *   mapping: | guard, PROT_NONE | stack, grows down ............ | struct spawn_top |
 *
 * malloc takes large blocks from mmap(2), which no range covers: the program sets M_MMAP_MAX to 0
 * at its start, so that all of them come from the break.
 *
 * After the clone the marks on heap and stack are taken off again: a later fork() of the
 * supervisor would otherwise have no stack to return on.
 *
 * The copy of the descriptor table holds the supervisor's end of the control socket too. The
 * child closes it before anything else; from then on the death of the supervisor, at whatever
 * moment, is end of file on the child's own end. */
#include "run/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "child/child.h"
#include "run/blame.h"
#include "sys/clone.h"
#include "sys/fs.h"
#include "sys/process.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define MEMORY_KEPT 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(memory_sanitizer)
#define MEMORY_KEPT 1
#endif
#endif
#ifndef MEMORY_KEPT
#define MEMORY_KEPT 0
#endif

#define STACK_SIZE ((size_t)64 * 1024)
/* The kernel keeps at least 128 MiB below the top of the stack free of other mappings
 * (mmap_base() in arch/x86/mm/mmap.c and mm/util.c, MIN_GAP). */
#define STACK_REACH ((uintptr_t)64 * 1024 * 1024)

/* First byte behind the program's data, ld(1). */
extern const char _end[];

struct spawn_top {
	struct child_args args;
	struct plan plan;
	int peer; /* the supervisor's end of the control socket */
};

/* Runs in the child, on a stack that a sanitizer's runtime does not know. */
__attribute__((no_sanitize("address", "undefined"))) static void spawn_entry(void *arg)
{
	struct spawn_top *top = arg;

	(void)sys_close(top->peer);
	child_main(&top->args);
}

static uintptr_t page_size(void)
{
	return (uintptr_t)getauxval(AT_PAGESZ);
}

static uintptr_t page_up(uintptr_t p)
{
	return (p + page_size() - 1) & ~(page_size() - 1);
}

/* ENOMEM says that a part of the range is not mapped, after all that is has been marked. */
static int advise(uintptr_t from, uintptr_t to, int advice)
{
	void *at;

	if (to <= from)
		return 0;
	memcpy(&at, &from, sizeof(at));
	if (madvise(at, to - from, advice) != 0 && errno != ENOMEM)
		return -1;
	return 0;
}

static int memory_mark(int advice, struct err *err)
{
	uintptr_t heap = page_up((uintptr_t)_end);
	uintptr_t brk_now = page_up((uintptr_t)sbrk(0));
	uintptr_t tls = (uintptr_t)__builtin_thread_pointer();
	uintptr_t name = (uintptr_t)getauxval(AT_EXECFN);
	uintptr_t top;

	if (MEMORY_KEPT)
		return 0;
	/* In a static program thread-local storage is taken from the break, and the child needs
	 * it; started through the loader, the break is not behind the program. */
	if (name == 0 || brk_now < heap || (tls >= heap && tls < brk_now))
		return err_set(err, ERR_INTERNAL, 0,
			       "memory cannot be kept out of the sandbox (a static program, or "
			       "started through the loader?)");
	/* The name of the program is the last string on the stack, above environment and
	 * arguments; a NULL pointer ends it (fs/exec.c, bprm_mm_init()). */
	top = page_up(name + strlen((const char *)name) + 1 + sizeof(void *));
	if (advise(heap, brk_now, advice) != 0 || advise(top - STACK_REACH, top, advice) != 0)
		return err_set(err, ERR_HOST, errno, "cannot keep memory out of the sandbox");
	return 0;
}

static int spawn_clone(const struct plan *plan, struct run_namespaces *namespaces, int cgroup,
		       char *stack, struct spawn_top *top, struct spawn *ret, struct err *err)
{
	int pidfd = -1;
	const struct clone_args args = {
		.flags = CLONE_PIDFD | CLONE_CLEAR_SIGHAND | (cgroup >= 0 ? CLONE_INTO_CGROUP : 0),
		.cgroup = cgroup >= 0 ? (uint64_t)cgroup : 0,
		.pidfd = (uint64_t)(uintptr_t)&pidfd,
		.stack = (uint64_t)(uintptr_t)stack,
		.stack_size = (uint64_t)((uintptr_t)top - (uintptr_t)stack),
	};
	struct err ignored;
	pid_t pid;

	if (memory_mark(MADV_DONTFORK, err) != 0) {
		(void)memory_mark(MADV_DOFORK, &ignored);
		return -1;
	}
	pid = run_namespaces_clone(namespaces, plan, &args, spawn_entry, top, err);
	(void)memory_mark(MADV_DOFORK, &ignored);
	if (pid < 0)
		return -1;
	ret->pid = pid;
	ret->pidfd = pidfd;
	return 0;
}

/* Where init sends the descriptors that the monitor looks through. */
static int watch_pair(const struct plan *plan, int *ret_ours, int *ret_theirs, struct err *err)
{
	int pair[2] = { -1, -1 };

	if (plan->watched && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
		return err_set(err, ERR_HOST, errno, "cannot make a socket");
	*ret_ours = pair[0];
	*ret_theirs = pair[1];
	return 0;
}

int spawn_child(const struct plan *plan, struct run_namespaces *namespaces, int cgroup,
		const int stdio[3], unsigned terminal, struct spawn *ret, struct err *err)
{
	size_t guard = page_size();
	size_t size = guard + STACK_SIZE + page_up(sizeof(struct spawn_top));
	FD_AUTO ours = -1;
	FD_AUTO theirs = -1;
	FD_AUTO watch = -1;
	FD_AUTO watched = -1;
	struct spawn_top *top;
	int pair[2];
	char *map;
	int r;

	*ret = (struct spawn){ .pid = -1, .pidfd = -1, .control = -1, .watch = -1 };
	if (watch_pair(plan, &watch, &watched, err) != 0)
		return -1;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
		return err_set(err, ERR_HOST, errno, "cannot make the control socket");
	ours = pair[0];
	theirs = pair[1];
	map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1,
		   0);
	if (map == MAP_FAILED)
		return err_set(err, ERR_HOST, errno, "cannot map the child's stack");
	top = (struct spawn_top *)(void *)(map + guard + STACK_SIZE);
	*top = (struct spawn_top){ .plan = *plan, .peer = ours };
	top->args = (struct child_args){ .plan = &top->plan,
					 .control = theirs,
					 .watch = watched,
					 .stdio = { stdio[0], stdio[1], stdio[2] },
					 .join_network = run_network_of(plan) == RUN_NETWORK_OWN,
					 .terminal = terminal };
	if (mprotect(map, guard, PROT_NONE) != 0)
		r = err_set(err, ERR_HOST, errno, "cannot prepare the child's stack");
	else
		r = spawn_clone(plan, namespaces, cgroup, map + guard, top, ret, err);
	(void)munmap(map, size);
	if (r == 0) {
		ret->control = fd_take(&ours);
		ret->watch = fd_take(&watch);
	}
	return r;
}

void spawn_kill(const struct spawn *s)
{
	if (s->pidfd >= 0)
		(void)sys_pidfd_send_signal(s->pidfd, SIGKILL);
}

int spawn_reap(const struct spawn *s, int wait_ms, struct rusage *ret_usage)
{
	struct pollfd pfd = { .fd = s->pidfd, .events = POLLIN };
	siginfo_t si = { 0 };

	/* A signal ends this wait early; those that matter are blocked while it runs. */
	(void)poll(&pfd, 1, wait_ms);
	/* By pidfd: other children of this process, which it may have had before it became
	 * agentbox, are left alone. The system call has a fifth argument that libc hides. */
	if (syscall(SYS_waitid, P_PIDFD, s->pidfd, &si, WEXITED | WNOHANG, ret_usage) != 0)
		return SIGKILL; /* ECHILD: it is gone, and its status with it */
	if (si.si_pid == 0)
		return -1;
	return si.si_code == CLD_EXITED ? (si.si_status & 0xff) << 8 : si.si_status & 0x7f;
}

void spawn_close(struct spawn *s)
{
	fd_close(&s->pidfd);
	fd_close(&s->control);
	fd_close(&s->watch);
}
