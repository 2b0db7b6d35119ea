/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* inject - runs a command and makes exactly one system call of it fail.
 *
 * inject --trace -- CMD...
 *	every system call of every process, to the log
 * inject --in WINDOW --list -- CMD...
 *	the numbered calls of one window
 * inject --in WINDOW --nth K --errno E -- CMD...
 *	the K-th call of the window fails with E
 * inject --in WINDOW --nth K --lie -- CMD...
 *	the K-th call, a write, says that it wrote everything, and wrote nothing
 *
 * Windows: `supervisor` is the launched process from its execve to the first wait after the order
 * to start; `ahead` is the process that shares its memory and descriptors, from the first call to
 * its end; `child` is the first process made with CLONE_NEWPID, and what it makes,
 * from the first call to the execve of the command. What comes later is no set-up, and neither of
 * the two waits for the other there: the calls would not be the same each time. With a network by
 * name there are three more: `resolver` is what the supervisor spawns, from the vfork on; `relay`
 *is what that clones into a pid namespace; `dialer` is what it forks. Each until it says that it is
 * ready. --log FILE instead of stderr; --timeout SECONDS.
 *
 * The call is skipped (its number becomes -1 at entry) and its result set at exit, so it had no
 * effect at all. Exit status: the command's, as a shell gives it; 96 usage or tracing failed, 97
 * it hung, 98 processes were left after it. */
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/ptrace.h>

#include "base/macro.h"
#include "child/report.h"
#include "relay/wire.h"

#define EXIT_TRACER  96
#define EXIT_HANG    97
#define EXIT_LEFT    98
#define TRACEES_MAX  4096
#define LEFT_SECONDS 30

static const char *const syscall_names[] = {
#include "syscall-names.inc"
};

static const struct {
	const char *name;
	int value;
} errnos[] = {
	{ "EPERM", EPERM },   { "ENOSYS", ENOSYS }, { "ENOMEM", ENOMEM },
	{ "EINTR", EINTR },   { "EAGAIN", EAGAIN }, { "EIO", EIO },
	{ "EMFILE", EMFILE }, { "ENOENT", ENOENT }, { "EINVAL", EINVAL },
	{ "ENOSPC", ENOSPC }, { "EEXIST", EEXIST }, { "EOPNOTSUPP", EOPNOTSUPP },
	{ "EBUSY", EBUSY },   { "ENODEV", ENODEV }, { "ENOLCK", ENOLCK },
	{ "EACCES", EACCES }, { "EPIPE", EPIPE },   { "ECONNREFUSED", ECONNREFUSED },
};

enum role {
	ROLE_UNKNOWN = 0, /* seen before the event of its parent; held */
	ROLE_SUPERVISOR,
	ROLE_AHEAD,
	ROLE_CHILD,
	ROLE_RESOLVER,
	ROLE_RELAY,
	ROLE_DIALER,
	ROLE_OTHER,
};

static const struct {
	const char *name;
	enum role role;
} windows[] = {
	{ "supervisor", ROLE_SUPERVISOR }, { "ahead", ROLE_AHEAD }, { "child", ROLE_CHILD },
	{ "resolver", ROLE_RESOLVER },     { "relay", ROLE_RELAY }, { "dialer", ROLE_DIALER },
};

struct tracee {
	pid_t pid;
	enum role role;
	bool held;
	enum role next; /* of its next new process */
	bool in_main;   /* past the dynamic loader, or in a child that is not executed yet */
	bool skipped;   /* at the exit of this call its result is set */
	long result;
};

struct tracer {
	struct tracee tracees[TRACEES_MAX];
	size_t n;
	FILE *log;
	enum role window;
	bool trace, list;
	bool opened; /* the launched process has been executed */
	bool child_seen;
	bool child_unannounced; /* its maker was killed before it could tell of it */
	bool ordered;           /* the supervisor has sent the order to start */
	bool closed;            /* the window is over */
	unsigned long nth, count;
	int err;
	bool lie;
	unsigned timeout;
	pid_t main_pid;
	int main_status;
	bool main_done;
};

static volatile sig_atomic_t alarmed; /* set by the handler alone */

static void on_alarm(int sig)
{
	(void)sig;
	alarmed = 1;
}

static const char *syscall_name(uint64_t nr)
{
	if (nr < ARRAY_SIZE(syscall_names) && syscall_names[nr] != NULL)
		return syscall_names[nr];
	return "unknown";
}

static struct tracee *tracee_find(struct tracer *t, pid_t pid)
{
	for (size_t i = 0; i < t->n; i++)
		if (t->tracees[i].pid == pid)
			return &t->tracees[i];
	if (t->n == TRACEES_MAX) {
		fprintf(stderr, "inject: too many processes\n");
		exit(EXIT_TRACER);
	}
	t->tracees[t->n] = (struct tracee){ .pid = pid };
	return &t->tracees[t->n++];
}

static void tracee_forget(struct tracer *t, pid_t pid)
{
	for (size_t i = 0; i < t->n; i++)
		if (t->tracees[i].pid == pid) {
			if (t->tracees[i].next == ROLE_CHILD && !t->child_seen)
				t->child_unannounced = true;
			t->tracees[i] = t->tracees[--t->n];
			return;
		}
}

/* A process may die between its stop and what we ask of it: ESRCH is no error here. */
static void resume(const struct tracer *t, pid_t pid, long sig)
{
	bool follow = t->trace || !t->closed;

	if (ptrace(follow ? PTRACE_SYSCALL : PTRACE_CONT, pid, NULL, sig) < 0 && errno != ESRCH)
		perror("inject: resume");
}

static bool peek(pid_t pid, uint64_t addr, void *buf, size_t len)
{
	struct iovec local = { .iov_base = buf, .iov_len = len };
	struct iovec remote = { .iov_base = (void *)(uintptr_t)addr, .iov_len = len };

	return process_vm_readv(pid, &local, 1, &remote, 1, 0) == (ssize_t)len;
}

/* A string argument for the log; where it has unprintable bytes, its address. */
static void log_string(FILE *log, pid_t pid, uint64_t addr)
{
	char buf[80];
	const size_t most = sizeof(buf) - 1;
	size_t len = most;

	if (addr % 4096 + len > 4096)
		len = 4096 - addr % 4096;
	memset(buf, 0, sizeof(buf));
	/* The next page may not be there, and is not needed then. */
	if (addr >= 4096 && peek(pid, addr, buf, len) && len < most &&
	    memchr(buf, '\0', len) == NULL && peek(pid, addr + len, buf + len, most - len))
		len = most;
	if (addr < 4096 || buf[0] == '\0') {
		fprintf(log, "%#llx", (unsigned long long)addr);
		return;
	}
	for (size_t i = 0; i < len && buf[i] != '\0'; i++)
		if (buf[i] < ' ' || buf[i] > '~') {
			fprintf(log, "%#llx", (unsigned long long)addr);
			return;
		}
	fprintf(log, "\"%s\"", buf);
}

static bool is_executed(const struct tracee *p)
{
	return p->role == ROLE_SUPERVISOR || p->role == ROLE_RESOLVER;
}

static void log_call(struct tracer *t, const struct tracee *p,
		     const struct __ptrace_syscall_info *info, unsigned long k, const char *end)
{
	fprintf(t->log, "%lu %s(", k, syscall_name(info->entry.nr));
	for (int i = 0; i < 4; i++) {
		fprintf(t->log, i == 0 ? "" : ", ");
		if (info->entry.args[i] < 65536)
			fprintf(t->log, "%llu", (unsigned long long)info->entry.args[i]);
		else
			log_string(t->log, p->pid, info->entry.args[i]);
	}
	fprintf(t->log, ")%s%s\n", is_executed(p) && !p->in_main ? " [loader]" : "", end);
	fflush(t->log);
}

/* Whether an instruction lies in the dynamic loader: what fails there fails before main. */
static bool in_loader(pid_t pid, uint64_t ip)
{
	char path[64], line[4352];
	unsigned long long a, b;
	bool yes = false;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	f = fopen(path, "re");
	if (f == NULL)
		return false;
	while (fgets(line, sizeof(line), f) != NULL)
		if (sscanf(line, "%llx-%llx", &a, &b) == 2 && ip >= a && ip < b)
			yes = strstr(line, "/ld-") != NULL;
	fclose(f);
	return yes;
}

static void note_clone(struct tracee *p, const struct __ptrace_syscall_info *info)
{
	uint64_t flags = 0;

	if (info->entry.nr == SYS_clone3)
		(void)peek(p->pid, info->entry.args[0], &flags, sizeof(flags));
	else if (info->entry.nr == SYS_clone)
		flags = info->entry.args[0];
	p->next = ROLE_OTHER;
	if (p->role == ROLE_RESOLVER)
		p->next = (flags & CLONE_NEWPID) != 0 ? ROLE_RELAY : ROLE_DIALER;
	else if ((flags & CLONE_NEWPID) != 0)
		p->next = ROLE_CHILD;
	else if (p->role == ROLE_SUPERVISOR && (flags & CLONE_FILES) != 0)
		p->next = ROLE_AHEAD;
	else if (p->role == ROLE_SUPERVISOR && (flags & CLONE_VFORK) != 0)
		p->next = ROLE_RESOLVER;
}

/* Whether a call of the window is its last one. The child's is not known by the event of its exec:
 * the kernel releases the vfork parent before that. */
static bool is_last(struct tracer *t, const struct tracee *p,
		    const struct __ptrace_syscall_info *info)
{
	struct child_order order = { 0 };

	switch (p->role) {
	case ROLE_CHILD:
		return info->entry.nr == SYS_execve;
	case ROLE_RESOLVER:
		return info->entry.nr == SYS_sendto;
	case ROLE_DIALER:
		return info->entry.nr == SYS_sendmsg;
	case ROLE_RELAY:
		/* Its first one says so. What is in it is not ours to see. */
		return info->entry.nr == SYS_sendto &&
		       info->entry.args[2] == sizeof(struct relay_report);
	case ROLE_AHEAD:
		return false; /* its end: on_entry() */
	case ROLE_SUPERVISOR:
	case ROLE_UNKNOWN:
	case ROLE_OTHER:
		break;
	}
	if (t->ordered)
		return info->entry.nr == SYS_poll;
	t->ordered = info->entry.nr == SYS_sendto && info->entry.args[2] == sizeof(order) &&
		     peek(p->pid, info->entry.args[1], &order, sizeof(order)) &&
		     order.kind == CHILD_ORDER_START;
	return false;
}

static void on_entry(struct tracer *t, struct tracee *p, const struct __ptrace_syscall_info *info)
{
	note_clone(p, info);
	if (is_executed(p) && t->opened && !p->in_main)
		p->in_main = !in_loader(p->pid, info->instruction_pointer);
	if (t->trace)
		log_call(t, p, info, (unsigned long)p->pid, "");
	if (p->role != t->window || !t->opened || t->closed || info->entry.nr == SYS_exit ||
	    info->entry.nr == SYS_rt_sigreturn)
		return;
	if (info->entry.nr == SYS_exit_group) {
		t->closed = p->role == ROLE_AHEAD;
		return;
	}
	t->count++;
	if (t->list)
		log_call(t, p, info, t->count, "");
	if (t->count != t->nth) {
		t->closed = is_last(t, p, info);
		return;
	}
	if (t->lie && info->entry.nr != SYS_write) {
		fprintf(stderr, "inject: call %lu is no write\n", t->count);
		exit(EXIT_TRACER);
	}
	log_call(t, p, info, t->count, " injected");
	if (ptrace(PTRACE_POKEUSER, p->pid, offsetof(struct user_regs_struct, orig_rax), -1L) < 0) {
		perror("inject: POKEUSER");
		exit(EXIT_TRACER);
	}
	p->skipped = true;
	p->result = t->lie ? (long)info->entry.args[2] : -t->err;
}

static void on_syscall(struct tracer *t, struct tracee *p)
{
	struct __ptrace_syscall_info info = { 0 };

	if (ptrace(PTRACE_GET_SYSCALL_INFO, p->pid, sizeof(info), &info) < 0)
		return;
	if (info.op == PTRACE_SYSCALL_INFO_ENTRY) {
		on_entry(t, p, &info);
	} else if (info.op == PTRACE_SYSCALL_INFO_EXIT && p->skipped) {
		if (ptrace(PTRACE_POKEUSER, p->pid, offsetof(struct user_regs_struct, rax),
			   p->result) < 0)
			perror("inject: POKEUSER");
		p->skipped = false;
	}
}

static void on_new_process(struct tracer *t, pid_t parent, enum role next, enum role role)
{
	unsigned long msg = 0;
	struct tracee *c;

	if (ptrace(PTRACE_GETEVENTMSG, parent, NULL, &msg) < 0)
		return;
	c = tracee_find(t, (pid_t)msg);
	if (role == ROLE_CHILD || (next == ROLE_CHILD && !t->child_seen)) {
		c->role = ROLE_CHILD;
		t->child_seen = true;
	} else {
		c->role = next == ROLE_CHILD ? ROLE_OTHER : next;
	}
	if (c->held) {
		c->held = false;
		resume(t, c->pid, 0);
	}
}

/* A maker that is killed between its clone and the stop that tells of it takes the event along: its
 * child would be held for ever. */
static void adopt_child(struct tracer *t, struct tracee *p)
{
	if (!t->child_unannounced || t->child_seen || p->role != ROLE_UNKNOWN || !p->held)
		return;
	p->role = ROLE_CHILD;
	p->held = false;
	t->child_seen = true;
	resume(t, p->pid, 0);
}

static void on_stop(struct tracer *t, pid_t pid, int status)
{
	struct tracee *p = tracee_find(t, pid);
	int sig = WSTOPSIG(status);
	int event = status >> 16;

	switch (event) {
	case PTRACE_EVENT_FORK:
	case PTRACE_EVENT_VFORK:
	case PTRACE_EVENT_CLONE:
		on_new_process(t, pid, p->next, p->role);
		resume(t, pid, 0);
		return;
	case PTRACE_EVENT_EXEC:
		t->opened = true;
		p->in_main = false;
		resume(t, pid, 0);
		return;
	case PTRACE_EVENT_STOP:
		if (p->role == ROLE_UNKNOWN) {
			p->held = true;
			adopt_child(t, p);
		} else if (sig == SIGTRAP) {
			resume(t, pid, 0);
		} else if (ptrace(PTRACE_LISTEN, pid, NULL, NULL) < 0) {
			resume(t, pid, 0);
		}
		return;
	default:
		break;
	}
	if (sig == (SIGTRAP | 0x80)) {
		on_syscall(t, p);
		resume(t, pid, 0);
	} else {
		resume(t, pid, event == 0 ? sig : 0);
	}
}

static int left_over(struct tracer *t)
{
	for (size_t i = 0; i < t->n; i++) {
		fprintf(t->log, "%s %d\n", t->main_done ? "left" : "hung", t->tracees[i].pid);
		(void)kill(t->tracees[i].pid, SIGKILL);
	}
	fflush(t->log);
	return t->main_done ? EXIT_LEFT : EXIT_HANG;
}

static int trace_loop(struct tracer *t)
{
	while (t->n > 0) {
		int status;
		pid_t pid = waitpid(-1, &status, __WALL);

		if (alarmed)
			return left_over(t);
		if (pid < 0 && errno == ECHILD)
			break;
		if (pid < 0)
			continue;
		if (WIFSTOPPED(status)) {
			on_stop(t, pid, status);
			continue;
		}
		tracee_forget(t, pid);
		for (size_t i = 0; i < t->n; i++)
			adopt_child(t, &t->tracees[i]);
		if (pid == t->main_pid) {
			t->main_status = status;
			t->main_done = true;
			alarm(LEFT_SECONDS);
		}
	}
	if (WIFSIGNALED(t->main_status))
		return 128 + WTERMSIG(t->main_status);
	return WEXITSTATUS(t->main_status);
}

static int launch(struct tracer *t, char **argv)
{
	const long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK |
			     PTRACE_O_TRACEVFORK | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL;
	int gate[2];
	char c = 'x';

	if (pipe2(gate, O_CLOEXEC) < 0)
		return -1;
	t->main_pid = fork();
	if (t->main_pid < 0)
		return -1;
	if (t->main_pid == 0) {
		close(gate[1]);
		if (read(gate[0], &c, 1) != 1)
			_exit(EXIT_TRACER);
		execvp(argv[0], argv);
		_exit(EXIT_TRACER);
	}
	close(gate[0]);
	if (ptrace(PTRACE_SEIZE, t->main_pid, NULL, options) < 0 ||
	    ptrace(PTRACE_INTERRUPT, t->main_pid, NULL, NULL) < 0)
		return -1;
	tracee_find(t, t->main_pid)->role = ROLE_SUPERVISOR;
	if (write(gate[1], &c, 1) != 1)
		return -1;
	close(gate[1]);
	return 0;
}

static int errno_from_name(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(errnos); i++)
		if (strcmp(errnos[i].name, name) == 0)
			return errnos[i].value;
	return 0;
}

static enum role window_from_name(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(windows); i++)
		if (strcmp(windows[i].name, name) == 0)
			return windows[i].role;
	return ROLE_UNKNOWN;
}

/* Return: index of the command, or 0 when the arguments make no sense. */
static int options_parse(struct tracer *t, int argc, char **argv)
{
	int i;

	for (i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
		const char *next = i + 1 < argc ? argv[i + 1] : "";

		if (strcmp(argv[i], "--trace") == 0) {
			t->trace = true;
			continue;
		}
		if (strcmp(argv[i], "--list") == 0) {
			t->list = true;
			continue;
		}
		if (strcmp(argv[i], "--lie") == 0) {
			t->lie = true;
			continue;
		}
		if (strcmp(argv[i], "--in") == 0)
			t->window = window_from_name(next);
		else if (strcmp(argv[i], "--nth") == 0)
			t->nth = strtoul(next, NULL, 10);
		else if (strcmp(argv[i], "--errno") == 0)
			t->err = errno_from_name(next);
		else if (strcmp(argv[i], "--timeout") == 0)
			t->timeout = (unsigned)strtoul(next, NULL, 10);
		else if (strcmp(argv[i], "--log") == 0)
			t->log = fopen(next, "we");
		else
			return 0;
		i++;
	}
	if (i + 1 >= argc || t->log == NULL || (t->nth != 0) != (t->err != 0 || t->lie) ||
	    (t->lie && t->err != 0) || (!t->trace && t->window == ROLE_UNKNOWN))
		return 0;
	return i + 1;
}

int main(int argc, char **argv)
{
	struct sigaction sa = { .sa_handler = on_alarm };
	struct tracer *t = calloc(1, sizeof(*t));
	int cmd;

	if (t == NULL)
		return EXIT_TRACER;
	t->log = stderr;
	t->timeout = 60;
	cmd = options_parse(t, argc, argv);
	if (cmd == 0) {
		fputs("usage: inject --trace | --in WINDOW --list | --in WINDOW --nth K "
		      "{--errno E | --lie} [--log FILE] [--timeout S] -- CMD...\n",
		      stderr);
		return EXIT_TRACER;
	}
	sigaction(SIGALRM, &sa, NULL);
	alarm(t->timeout);
	if (launch(t, argv + cmd) < 0) {
		perror("inject: launch");
		return EXIT_TRACER;
	}
	return trace_loop(t);
}
