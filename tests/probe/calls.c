/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Raw system calls, past the C library's own checks and fallbacks. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "probe.h"

#define NR_OPENAT2   437
#define NR_FCHMODAT2 452

static const struct {
	const char *name;
	long nr;
} named[] = {
	{ "add_key", SYS_add_key },
	{ "bpf", SYS_bpf },
	{ "chroot", SYS_chroot },
	{ "clone3", 435 },
	{ "execveat", SYS_execveat },
	{ "fsmount", 432 },
	{ "fsopen", 430 },
	{ "getpid", SYS_getpid },
	{ "io_uring_setup", 425 },
	{ "ioctl", SYS_ioctl },
	{ "kcmp", SYS_kcmp },
	{ "kexec_load", SYS_kexec_load },
	{ "keyctl", SYS_keyctl },
	{ "memfd_create", SYS_memfd_create },
	{ "mount", SYS_mount },
	{ "mount_setattr", 442 },
	{ "move_mount", 429 },
	{ "name_to_handle_at", SYS_name_to_handle_at },
	{ "open_by_handle_at", SYS_open_by_handle_at },
	{ "open_tree", 428 },
	{ "perf_event_open", SYS_perf_event_open },
	{ "pidfd_open", 434 },
	{ "pivot_root", SYS_pivot_root },
	{ "process_vm_readv", SYS_process_vm_readv },
	{ "request_key", SYS_request_key },
	{ "setns", SYS_setns },
	{ "settimeofday", SYS_settimeofday },
	{ "socketpair", SYS_socketpair },
	{ "swapon", SYS_swapon },
	{ "syslog", SYS_syslog },
	{ "umount2", SYS_umount2 },
	{ "unshare", SYS_unshare },
	{ "userfaultfd", SYS_userfaultfd },
};

static unsigned long long number(const char *s)
{
	char *end;
	unsigned long long v;

	errno = 0;
	v = strtoull(s, &end, 0);
	if (errno != 0 || *s == '\0' || *end != '\0') {
		fprintf(stderr, "probe: not a number: %s\n", s);
		exit(2);
	}
	return v;
}

static long call_number(const char *s)
{
	for (size_t i = 0; i < ARRAY_SIZE(named); i++)
		if (strcmp(named[i].name, s) == 0)
			return named[i].nr;
	return (long)number(s);
}

static int act_call(char **args)
{
	long nr = call_number(args[0]);
	unsigned long long a[6] = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(a) && args[i + 1] != NULL; i++)
		a[i] = number(args[i + 1]);
	return probe_result(syscall(nr, a[0], a[1], a[2], a[3], a[4], a[5]));
}

#ifdef __x86_64__
static sigjmp_buf no_gate;

static void on_fault(int sig)
{
	siglongjmp(no_gate, sig);
}

/* A call of the 32-bit ABI from a 64-bit program. A kernel without it raises SIGSEGV. */
static int act_i386(char **args)
{
	long ret = (long)number(args[0]);

	signal(SIGSEGV, on_fault);
	if (sigsetjmp(no_gate, 1) != 0)
		return -ENOEXEC;
	__asm__ volatile("int $0x80"
			 : "+a"(ret)
			 : "b"(0L), "c"(0L), "d"(0L)
			 : "r8", "r9", "r10", "r11", "memory");
	return ret < 0 ? (int)ret : PROBE_OK;
}
#else
static int act_i386(char **args)
{
	(void)args;
	return -ENOEXEC;
}
#endif

static int act_family(char **args)
{
	return probe_result(socket((int)number(args[0]), (int)number(args[1]) | SOCK_CLOEXEC,
				   (int)number(args[2])));
}

static int make_chmod(const char *p, mode_t m)
{
	return chmod(p, m);
}

static int make_fchmod(const char *p, mode_t m)
{
	int fd = open(p, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -1 : fchmod(fd, m);
}

static int make_fchmodat(const char *p, mode_t m)
{
	return (int)syscall(SYS_fchmodat, AT_FDCWD, p, m);
}

static int make_fchmodat2(const char *p, mode_t m)
{
	return (int)syscall(NR_FCHMODAT2, AT_FDCWD, p, m, 0);
}

static int make_openat(const char *p, mode_t m)
{
	return (int)syscall(SYS_openat, AT_FDCWD, p, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, m);
}

static int make_tmpfile(const char *p, mode_t m)
{
	(void)p;
	return (int)syscall(SYS_openat, AT_FDCWD, ".", O_WRONLY | O_TMPFILE | O_CLOEXEC, m);
}

static int make_openat2(const char *p, mode_t m)
{
	struct {
		uint64_t flags, mode, resolve;
	} how = { O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, m, 0 };

	return (int)syscall(NR_OPENAT2, AT_FDCWD, p, &how, sizeof(how));
}

static int make_mkdirat(const char *p, mode_t m)
{
	return (int)syscall(SYS_mkdirat, AT_FDCWD, p, m);
}

static int make_mknodat(const char *p, mode_t m)
{
	return (int)syscall(SYS_mknodat, AT_FDCWD, p, S_IFREG | m, 0);
}

#ifdef __x86_64__
static int make_open(const char *p, mode_t m)
{
	return (int)syscall(SYS_open, p, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, m);
}

static int make_creat(const char *p, mode_t m)
{
	return (int)syscall(SYS_creat, p, m);
}

static int make_mkdir(const char *p, mode_t m)
{
	return (int)syscall(SYS_mkdir, p, m);
}

static int make_mknod(const char *p, mode_t m)
{
	return (int)syscall(SYS_mknod, p, S_IFREG | m, 0);
}
#endif

static const struct {
	const char *name;
	int (*make)(const char *path, mode_t mode);
	bool exists; /* PATH is there before */
} makers[] = {
	{ "chmod", make_chmod, true },       { "fchmod", make_fchmod, true },
	{ "fchmodat", make_fchmodat, true }, { "fchmodat2", make_fchmodat2, true },
	{ "openat", make_openat, false },    { "tmpfile", make_tmpfile, false },
	{ "openat2", make_openat2, false },  { "mkdirat", make_mkdirat, false },
	{ "mknodat", make_mknodat, false },
#ifdef __x86_64__
	{ "open", make_open, false },        { "creat", make_creat, false },
	{ "mkdir", make_mkdir, false },      { "mknod", make_mknod, false },
#endif
};

/* With MODE in octal, by the call HOW, in the working directory; what was made is removed. */
static int act_mode(char **args)
{
	mode_t mode = (mode_t)strtoul(args[1], NULL, 8);
	char path[] = "probe-mode.XXXXXX";
	int fd = mkostemp(path, O_CLOEXEC), r = -EINVAL;

	if (fd < 0)
		return -errno;
	close(fd);
	for (size_t i = 0; i < ARRAY_SIZE(makers); i++) {
		if (strcmp(makers[i].name, args[0]) != 0)
			continue;
		if (!makers[i].exists)
			unlink(path);
		r = probe_result(makers[i].make(path, mode));
	}
	if (unlink(path) != 0)
		rmdir(path);
	return r;
}

/* clone() in its old form, with FLAGS beside SIGCHLD. */
static int act_clone(char **args)
{
	long pid = syscall(SYS_clone, number(args[0]) | SIGCHLD, 0, 0, 0, 0);

	if (pid == 0)
		_exit(0);
	if (pid > 0)
		waitpid((pid_t)pid, NULL, 0);
	return probe_result(pid);
}

static int act_personality(char **args)
{
	return probe_result(syscall(SYS_personality, number(args[0])));
}

static int act_ptrace_child(char **args)
{
	pid_t pid = fork();
	int status = 0, r;

	(void)args;
	if (pid == 0) {
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0)
			_exit(errno);
		raise(SIGSTOP);
		_exit(0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return -errno;
	if (WIFEXITED(status))
		return WEXITSTATUS(status) == 0 ? -ECHILD : -WEXITSTATUS(status);
	r = probe_result(ptrace(PTRACE_CONT, pid, NULL, NULL));
	waitpid(pid, NULL, 0);
	return r;
}

#define SWEEP_PIDS  (1 << 22)
#define SWEEP_AHEAD 256

struct sweep {
	pid_t self, twin, top; /* top: the highest number that anything answered by */
	bool twin_through;
	unsigned through, refused;      /* processes, each once */
	unsigned char seen[SWEEP_PIDS]; /* by number: counted already */
};

static void sweep_one(struct sweep *s, pid_t pid)
{
	bool through = ptrace(PTRACE_SEIZE, pid, NULL, NULL) == 0;

	if (pid == s->self || (!through && errno == ESRCH))
		return;
	if (pid > s->top)
		s->top = pid;
	if (pid == s->twin) {
		s->twin_through = s->twin_through || through;
		return;
	}
	s->through += through;
	s->refused += !through && !s->seen[pid];
	s->seen[pid] = 1;
}

/* What is traced stops at each signal, and ends for its parent only when its tracer has seen it. */
static void sweep_let_go(void)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG | __WALL)) > 0)
		if (WIFSTOPPED(status))
			ptrace(PTRACE_CONT, pid, NULL, status >> 16 == 0 ? WSTOPSIG(status) : 0);
}

/* Try to trace every process that there is or comes to be, init and those that are younger than
 * this one, until the file @args[0] is there; without one, once. A child of one's own, the twin, is
 * tried by the same words. */
static int act_ptrace_sweep(char **args)
{
	struct sweep *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return -ENOMEM;
	s->self = s->top = getpid();
	s->twin = fork();
	if (s->twin < 0)
		return -errno;
	if (s->twin == 0) {
		pause();
		_exit(0);
	}
	do {
		sweep_one(s, 1);
		for (pid_t pid = s->self + 1; pid < SWEEP_PIDS && pid <= s->top + SWEEP_AHEAD;
		     pid++)
			sweep_one(s, pid);
		sweep_let_go();
	} while (args[0] != NULL && access(args[0], F_OK) != 0);
	kill(s->twin, SIGKILL);
	printf("ok through=%u refused=%u twin=%s\n", s->through, s->refused,
	       s->twin_through ? "through" : "refused");
	free(s);
	return 0;
}

static int act_vm_read(char **args)
{
	static const char source = 'x';
	char target = 0;
	struct iovec to = { &target, 1 }, from = { (void *)(uintptr_t)&source, 1 };

	(void)args;
	if (process_vm_readv(getpid(), &to, 1, &from, 1, 0) < 0)
		return -errno;
	return target == 'x' ? PROBE_OK : -EIO;
}

/* A program without a name in the file system: in memory, started by its descriptor. */
static int act_exec_memfd(char **args)
{
	int fd = (int)syscall(SYS_memfd_create, "probe", 1U /* MFD_CLOEXEC */);
	int self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	char name[] = "probe", act[] = "exit", buf[4096];
	char *const argv[] = { name, act, args[0], NULL };
	char *const envp[] = { NULL };
	ssize_t n;

	if (fd < 0 || self < 0)
		return -errno;
	while ((n = read(self, buf, sizeof(buf))) > 0)
		if (write(fd, buf, (size_t)n) != n)
			return -EIO;
	syscall(SYS_execveat, fd, "", argv, envp, AT_EMPTY_PATH);
	return -errno;
}

const struct probe_act probe_call_acts[] = {
	{ "call", 1, act_call, "NAME|NUMBER [ARG...]" },
	{ "i386", 1, act_i386, "NUMBER" },
	{ "family", 3, act_family, "FAMILY TYPE PROTOCOL" },
	{ "mode", 2, act_mode, "HOW MODE" },
	{ "clone", 1, act_clone, "FLAGS" },
	{ "personality", 1, act_personality, "VALUE" },
	{ "ptrace-child", 0, act_ptrace_child, "" },
	{ "ptrace-sweep", 0, act_ptrace_sweep, "[STOP]" },
	{ "vm-read", 0, act_vm_read, "" },
	{ "exec-memfd", 1, act_exec_memfd, "STATUS" },
	{ NULL, 0, NULL, NULL },
};
