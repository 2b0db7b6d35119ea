/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "box.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "sys/clone.h"
#include "sys/fs.h"

#define STACK_SIZE (64 * 1024)
#define USER_ID    4242
#define HOST_ID    4243

/* The least that the child takes for a filter of ours. */
static const struct sock_filter box_filter[] = {
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_bpf, 5, 0),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 3),
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 2, 0, 1),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EAFNOSUPPORT),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
};

static void die(const char *what)
{
	printf("Bail out! %s: %s\n", what, strerror(errno));
	exit(1);
}

void box_put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		die(path);
	close(fd);
}

/* For files of /proc: no creation. */
static bool put_proc(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool ok = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	if (fd >= 0)
		close(fd);
	return ok;
}

bool box_exists(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0;
}

/* NULL, or why this process cannot be an ordinary user. */
static const char *become_user(void)
{
	if (geteuid() == 0 &&
	    (setgroups(0, NULL) != 0 || setresgid(USER_ID, USER_ID, USER_ID) != 0 ||
	     setresuid(USER_ID, USER_ID, USER_ID) != 0))
		return "cannot become an ordinary user";
	/* Or /proc/self and that of the children is root's. */
	prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
	return NULL;
}

static bool enter_userns(void)
{
	char uid[64], gid[64];

	/* Read before: inside, both are shown as unmapped. */
	snprintf(uid, sizeof(uid), "0 %u 1", (unsigned)geteuid());
	snprintf(gid, sizeof(gid), "0 %u 1", (unsigned)getegid());
	return unshare(CLONE_NEWUSER) == 0 && put_proc("/proc/self/setgroups", "deny") &&
	       put_proc("/proc/self/uid_map", uid) && put_proc("/proc/self/gid_map", gid);
}

int box_main(int argc, char **argv, const box_test *tests, size_t n)
{
	static const char *const names[] = { "root", "user", "userns" };
	enum box_caller caller = BOX_CALLER_ROOT;
	const char *elsewhere = NULL;
	struct tap t = { 0 };

	while (argc == 2 && caller <= BOX_CALLER_USERNS && strcmp(argv[1], names[caller]) != 0)
		caller++;
	if (argc != 2 || caller > BOX_CALLER_USERNS)
		die("usage: root|user|userns");
	if (caller != BOX_CALLER_ROOT)
		elsewhere = become_user();
	else if (geteuid() != 0 || setgroups(0, NULL) != 0)
		elsewhere = "not root";
	if (elsewhere != NULL) {
		printf("1..0 # SKIP %s\n", elsewhere);
		return 0;
	}
	if (caller == BOX_CALLER_USERNS && !enter_userns()) {
		tap_skip(&t, "child", "no user namespaces");
		return tap_done(&t);
	}
	for (size_t i = 0; i < n; i++)
		tests[i](&t, caller);
	return tap_done(&t);
}

const char *box_path(const struct box *b, const char *name)
{
	static char buf[4][160];
	static unsigned turn;
	char *p = buf[turn++ % 4];

	snprintf(p, sizeof(buf[0]), "%s/%s", b->dir, name);
	return p;
}

static char *keep(struct box *b, const char *text)
{
	size_t size = strlen(text) + 1;
	char *p = b->text + b->text_len;

	errno = ENOSPC;
	if (size > sizeof(b->text) - b->text_len)
		die("text");
	b->text_len += size;
	return memcpy(p, text, size);
}

uint32_t box_source(struct box *b, const char *path, unsigned attrs)
{
	uint32_t i = b->plan.n_sources++;
	struct plan_source *s = &b->sources[i];

	*s = (struct plan_source){ .path = keep(b, path), .attrs = attrs, .tree_fd = -1 };
	if (sys_file_id(AT_FDCWD, path, 0, &s->id) != 0)
		die(path);
	return i;
}

struct plan_op *box_op(struct box *b, enum plan_op_kind kind, const char *at)
{
	struct plan_op *op = &b->ops[b->plan.n_ops++];

	*op = (struct plan_op){ .kind = kind, .at = keep(b, at), .mode = 0755 };
	return op;
}

void box_tree(struct box *b, const char *at, const char *path, unsigned attrs)
{
	struct stat st;

	if (stat(path, &st) != 0)
		die(path);
	box_op(b, S_ISDIR(st.st_mode) ? PLAN_OP_MKDIR : PLAN_OP_FILE, at);
	box_op(b, PLAN_OP_TREE, at)->source = box_source(b, path, attrs);
}

static void base_system(struct box *b)
{
	static const char *const links[] = { "bin", "sbin", "lib", "lib32", "lib64", "libx32" };
	static const char *const devs[] = { "null", "zero", "full", "urandom" };
	const unsigned ro = PLAN_ATTR_RO | PLAN_ATTR_NOSUID | PLAN_ATTR_NODEV;
	char host[80], text[80];
	struct plan_op *op;

	box_tree(b, "/usr", "/usr", ro);
	for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++) {
		struct stat st;
		ssize_t n;

		snprintf(host, sizeof(host), "/%s", links[i]);
		if (lstat(host, &st) != 0)
			continue;
		if (!S_ISLNK(st.st_mode)) {
			box_tree(b, host, host, ro);
			continue;
		}
		n = readlink(host, text, sizeof(text) - 1);
		text[n < 0 ? 0 : n] = '\0';
		box_op(b, PLAN_OP_SYMLINK, host)->data = keep(b, text);
	}
	box_op(b, PLAN_OP_MKDIR, "/etc");
	op = box_op(b, PLAN_OP_FILE, "/etc/passwd");
	op->data = "agent:x:1000:1000::/:/bin/sh\n";
	op->data_len = (uint32_t)strlen(op->data);
	op->mode = 0444;
	box_op(b, PLAN_OP_MKDIR, "/proc");
	box_op(b, PLAN_OP_PROC, "/proc");
	box_op(b, PLAN_OP_MKDIR, "/dev");
	for (size_t i = 0; i < sizeof(devs) / sizeof(devs[0]); i++) {
		snprintf(host, sizeof(host), "/dev/%s", devs[i]);
		box_tree(b, host, host, PLAN_ATTR_NOSUID | PLAN_ATTR_NOEXEC);
	}
	box_op(b, PLAN_OP_MKDIR, "/dev/pts");
	box_op(b, PLAN_OP_DEVPTS, "/dev/pts");
	box_op(b, PLAN_OP_SYMLINK, "/dev/ptmx")->data = "pts/ptmx";
	box_op(b, PLAN_OP_MKDIR, "/tmp");
	op = box_op(b, PLAN_OP_TMPFS, "/tmp");
	op->mode = 01777;
	op->bytes = 1 << 20;
	op->inodes = 64;
	op->attrs = PLAN_ATTR_NOSUID | PLAN_ATTR_NODEV | PLAN_ATTR_NOEXEC;
}

struct box *box_new(enum box_caller caller)
{
	struct box *b;

	b = mmap(NULL, sizeof(*b), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (b == MAP_FAILED)
		die("mmap");
	b->caller = caller;
	b->control_at = -1;
	for (int i = 0; i < 3; i++)
		b->stdio[i] = -1;
	snprintf(b->dir, sizeof(b->dir), "/tmp/child-test.XXXXXX");
	if (mkdtemp(b->dir) == NULL)
		die("mkdtemp");
	snprintf(b->work, sizeof(b->work), "%s/work", b->dir);
	if (mkdir(b->work, 0755) != 0)
		die("mkdir");
	b->plan = (struct plan){
		.ids = { .inside_uid = 1000, .inside_gid = 1000 },
		.hostname = "agentbox",
		.sources = b->sources,
		.tree_fds = b->tree_fds,
		.ops = b->ops,
		.root_bytes = "1m",
		.root_inodes = "4096",
		.workdir = "/work",
		.exe = "/usr/bin/env",
		.argv = b->argv,
		.envp = b->env,
		.rlimits = b->rlimits,
		.filter = box_filter,
		.n_filter = sizeof(box_filter) / sizeof(box_filter[0]),
	};
	b->env[0] = keep(b, "PATH=/usr/bin:/bin");
	b->env[1] = keep(b, "HOME=/tmp");
	b->plan.ids.outside_uid = getuid();
	b->plan.ids.outside_gid = getgid();
	if (caller == BOX_CALLER_ROOT) {
		b->plan.ids.identity = PLAN_IDENTITY_ROOT_MAPPED;
		b->plan.ids.outside_uid = HOST_ID;
		b->plan.ids.outside_gid = HOST_ID;
		b->plan.ids.switch_ids = true;
		b->plan.ids.drop_groups = true;
		if (chmod(b->dir, 0755) != 0 || chown(b->work, HOST_ID, HOST_ID) != 0)
			die("chown");
	}
	base_system(b);
	box_tree(b, "/work", b->work, PLAN_ATTR_NOSUID | PLAN_ATTR_NODEV);
	return b;
}

void box_free(struct box *b)
{
	int status = -1;
	pid_t pid = fork();

	if (pid == 0) {
		execlp("rm", "rm", "-rf", "--", b->dir, (char *)NULL);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0)
		printf("# left behind: %s\n", b->dir);
	munmap(b, sizeof(*b));
}

void box_sh(struct box *b, const char *script)
{
	b->plan.exe = "/usr/bin/sh";
	b->argv[0] = keep(b, "sh");
	b->argv[1] = keep(b, "-c");
	b->argv[2] = keep(b, script);
	b->argv[3] = NULL;
}

bool box_fault(int nr, int arg_index, uint32_t arg, int errnum)
{
	const uint32_t off = (uint32_t)(offsetof(struct seccomp_data, args) +
					8 * (size_t)(arg_index == BOX_ANY ? 0 : arg_index));
	/* Always equal when the arguments do not matter. */
	struct sock_filter prog[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)nr, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, off),
		BPF_JUMP(BPF_JMP | (arg_index == BOX_ANY ? BPF_JGE : BPF_JEQ) | BPF_K,
			 arg_index == BOX_ANY ? 0 : arg, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (uint32_t)errnum),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog p = { sizeof(prog) / sizeof(prog[0]), prog };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p) == 0;
}

static bool write_maps(const struct box *b, pid_t pid)
{
	const struct plan_ids *ids = &b->plan.ids;
	char path[64], map[64];

	snprintf(path, sizeof(path), "/proc/%d/setgroups", (int)pid);
	if (!ids->drop_groups && !put_proc(path, "deny"))
		return false;
	snprintf(path, sizeof(path), "/proc/%d/uid_map", (int)pid);
	snprintf(map, sizeof(map), "%u %u 1", ids->inside_uid, ids->outside_uid);
	if (!put_proc(path, map))
		return false;
	snprintf(path, sizeof(path), "/proc/%d/gid_map", (int)pid);
	snprintf(map, sizeof(map), "%u %u 1", ids->inside_gid, ids->outside_gid);
	return put_proc(path, map);
}

static void send_token(struct box *b, enum child_order_kind kind, const struct box_packet *p)
{
	const struct child_order order = { .kind = kind };
	const void *data = p->replace ? p->data : &order;
	size_t len = p->replace ? p->len : sizeof(order);

	if (p->replace && p->len == 0)
		shutdown(b->control, SHUT_WR);
	else if (send(b->control, data, len, MSG_NOSIGNAL) < 0 && errno != EPIPE)
		die("send");
}

static uint64_t now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

/* Read reports to the end of file. */
static void follow(struct box *b, struct box_result *ret, uint64_t start)
{
	for (;;) {
		struct child_report r = { 0 };
		ssize_t n = recv(b->control, &r, sizeof(r), 0);

		/* Said once when the child was gone before it read a token; a report may be
		 * queued behind it. */
		if (n < 0 && errno == ECONNRESET)
			continue;
		if (n <= 0)
			return;
		switch ((enum child_report_kind)r.kind) {
		case CHILD_REPORT_READY:
			ret->ready = true;
			if (b->before_start != NULL)
				b->before_start(b);
			send_token(b, CHILD_ORDER_START, &b->start_token);
			break;
		case CHILD_REPORT_EXEC:
			ret->exec = true;
			ret->exec_us = now_us() - start;
			if (b->running != NULL)
				b->running(b);
			break;
		case CHILD_REPORT_FAILED:
			ret->failed = r;
			break;
		case CHILD_REPORT_NOEXEC:
			ret->noexec = r;
			break;
		case CHILD_REPORT_EXITED:
			ret->exited = r;
			break;
		case CHILD_REPORT_NONE:
		case CHILD_REPORT_TERMINAL:
		case CHILD_REPORT_WORK:
		case CHILD_REPORT_STOPPED:
			die("report");
		}
	}
}

/* In the child, where a sanitizer's runtime has nothing to say: its copy of our end would keep it
 * from seeing ours closed. */
__attribute__((no_sanitize("address", "undefined"))) static void enter(void *arg)
{
	struct box *b = arg;

	(void)sys_close(b->control);
	child_main(&b->args);
}

static pid_t start(struct box *b, int control, int out, uint64_t *since)
{
	struct child_args *args = &b->args;
	struct clone_args ca = {
		.flags = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS |
			 CLONE_NEWCGROUP | CLONE_NEWNET | CLONE_CLEAR_SIGHAND,
		.exit_signal = SIGCHLD,
		.stack_size = STACK_SIZE,
	};
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	sigset_t all, old;
	void *stack;
	long pid;

	*args = (struct child_args){
		.plan = &b->plan, .control = control, .watch = -1, .join_network = b->join_network
	};
	if (b->plan.host_network || b->no_netns)
		ca.flags &= ~(uint64_t)CLONE_NEWNET;
	args->stdio[0] = b->stdio[0] >= 0 ? b->stdio[0] : null;
	args->stdio[1] = b->stdio[1] >= 0 ? b->stdio[1] : out;
	args->stdio[2] = b->stdio[2] >= 0 ? b->stdio[2] : out;
	stack = mmap(NULL, STACK_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (stack == MAP_FAILED)
		die("mmap");
	ca.stack = (uint64_t)(uintptr_t)stack;
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &old);
	*since = now_us();
	pid = sys_clone_fn(&ca, enter, b);
	sigprocmask(SIG_SETMASK, &old, NULL);
	munmap(stack, STACK_SIZE);
	close(null);
	errno = (int)-pid;
	if (pid < 0)
		die("clone");
	return (pid_t)pid;
}

void box_run(struct box *b)
{
	struct box_result *ret = &b->r;
	int sv[2], out[2];
	size_t len = 0;
	uint64_t since;
	bool mapped;

	memset(ret, 0, sizeof(*ret));
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sv) != 0 ||
	    pipe2(out, O_CLOEXEC) != 0)
		die("socketpair");
	if (b->control_at >= 0 && dup3(sv[1], b->control_at, O_CLOEXEC) < 0)
		die("dup3");
	b->control = sv[0];
	if (b->before_clone != NULL)
		b->before_clone(b);
	b->init = start(b, b->control_at >= 0 ? b->control_at : sv[1], out[1], &since);
	close(sv[1]);
	close(out[1]);
	if (b->control_at >= 0)
		close(b->control_at);
	if (b->after_clone != NULL)
		b->after_clone(b);
	/* A child that has failed already has no maps to write: its report says why. */
	mapped = write_maps(b, b->init);
	if (mapped)
		send_token(b, CHILD_ORDER_IDS_WRITTEN, &b->ids_token);
	else
		shutdown(b->control, SHUT_WR);
	if (b->after_ids != NULL)
		b->after_ids(b);
	follow(b, ret, since);
	if (!mapped && (ret->failed.kind == 0 || ret->failed.step > CHILD_STEP_WAIT_IDS))
		die("id maps");
	if (waitpid(b->init, &ret->init_status, 0) != b->init && errno != ECHILD)
		die("waitpid");
	for (;;) {
		ssize_t n = read(out[0], ret->out + len, sizeof(ret->out) - 1 - len);

		if (n <= 0)
			break;
		len += (size_t)n;
	}
	close(out[0]);
	close(sv[0]);
}
