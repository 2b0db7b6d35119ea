/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "run/trees.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/heap.h"
#include "base/io.h"
#include "run/blame.h"
#include "run/idmap.h"
#include "sys/clone.h"
#include "sys/fs.h"
#include "sys/mountapi.h"
#include "sys/process.h"

/* The process exists only so that its user namespace can be named. It shares the memory, so it
 * does nothing but wait, in system calls, for the end of the pipe. It is told to end as soon as
 * the namespace is held by a descriptor, and waited for when the trees are closed: the kernel
 * takes its time over the end of a process, and the run need not stand still for it. Until then
 * this, its stack included, must stay where it is. */
struct run_trees_holder {
	_Alignas(16) char stack[8192];
	int keep; /* its own copy of the writing end, closed first */
	int wait;
	pid_t pid; /* 0: none */
};

static void holder_main(void *arg)
{
	const struct run_trees_holder *h = arg;
	char c;

	(void)sys_close(h->keep);
	(void)sys_read(h->wait, &c, 1);
	sys_exit_group(0);
}

static int write_file(pid_t pid, const char *name, const char *text)
{
	char path[64];
	FD_AUTO fd = -1;

	(void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	return io_write_full(fd, text, strlen(text));
}

/* 0 is the given id, the given id is nobody, every other id is itself. */
static void map_text(char *buf, size_t size, uint32_t id)
{
	(void)snprintf(buf, size, "0 %u 1\n1 1 %u\n%u %u %u\n", id, id - 1, id + 1, id + 1,
		       4294967294U - id);
}

static int holder_map(pid_t pid, uint32_t uid, uint32_t gid)
{
	char text[128];
	char path[64];
	int fd;
	int r;

	pid = idmap_pid(pid);
	if (pid < 0)
		return pid;
	map_text(text, sizeof(text), uid);
	r = write_file(pid, "uid_map", text);
	if (r < 0)
		return r;
	map_text(text, sizeof(text), gid);
	r = write_file(pid, "gid_map", text);
	if (r < 0)
		return r;
	(void)snprintf(path, sizeof(path), "/proc/%d/ns/user", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* A descriptor of a user namespace with the mapping, or -errno. */
static int userns_make(struct run_trees_holder *h, uint32_t uid, uint32_t gid)
{
	int pipefd[2];
	struct clone_args args = {
		.flags = CLONE_NEWUSER | CLONE_VM,
		.exit_signal = SIGCHLD,
		.stack = (uintptr_t)h->stack,
		.stack_size = sizeof(h->stack),
	};
	long pid;
	int r;

	if (pipe2(pipefd, O_CLOEXEC) != 0)
		return -errno;
	h->keep = pipefd[1];
	h->wait = pipefd[0];
	pid = sys_clone_fn(&args, holder_main, h);
	r = pid < 0 ? (int)pid : holder_map((pid_t)pid, uid, gid);
	/* End of file and the signal each end it, should the other fail. */
	(void)close(pipefd[0]);
	(void)close(pipefd[1]);
	if (pid > 0) {
		h->pid = (pid_t)pid;
		(void)kill(h->pid, SIGKILL);
	}
	return r;
}

static int tree_make(int source, int userns, unsigned recursive)
{
	struct sys_mount_attr attr = {
		.attr_set = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV,
		.propagation = MS_PRIVATE,
	};
	FD_AUTO tree = sys_open_tree(source, "", OPEN_TREE_CLONE | AT_EMPTY_PATH | recursive);
	int r;

	if (tree < 0)
		return fd_take(&tree);
	if (userns >= 0) {
		attr.attr_set |= MOUNT_ATTR_IDMAP;
		attr.userns_fd = (uint64_t)userns;
	}
	r = sys_mount_setattr(tree, "", AT_EMPTY_PATH | recursive, &attr);
	return r < 0 ? r : fd_take(&tree);
}

/* The second best identity is for hosts and file systems that cannot map ids. A root that can, but
 * holds a mount that cannot, must not lead there: anybody who mounts could ask for it. */
static bool only_below_fails(int source, int userns)
{
	FD_AUTO tree = tree_make(source, userns, 0);

	return tree >= 0;
}

static bool is_unsupported(int r)
{
	return r == -EINVAL || r == -EPERM;
}

int run_trees_make(const int *sources, size_t n, bool idmap, uint32_t uid, uint32_t gid,
		   struct run_trees *ret, struct err *err)
{
	FD_AUTO userns = -1;
	int r = 0;

	*ret = (struct run_trees){ .fds = ret->fds, .n = n, .which = n };
	for (size_t i = 0; i < n; i++)
		ret->fds[i] = -1;
	if (idmap) {
		ret->holder = heap_alloc(1, sizeof(*ret->holder));
		userns = userns_make(ret->holder, uid, gid);
		r = userns < 0 ? userns : 0;
	}
	for (size_t i = 0; i < n && r >= 0; i++) {
		if (sources[i] < 0)
			continue;
		ret->which = i;
		ret->fds[i] = tree_make(sources[i], userns, AT_RECURSIVE);
		r = ret->fds[i];
		if (r < 0 && idmap && only_below_fails(sources[i], userns)) {
			run_trees_close(ret);
			return err_set(err, ERR_HOST, -r,
				       "a mount below a root cannot be shown to an unprivileged "
				       "identity: unmount it, or name a narrower root");
		}
	}
	if (r >= 0)
		return 0;
	run_trees_close(ret);
	if (is_unsupported(r)) {
		ret->unsupported = true;
		ret->errnum = -r;
		return 0;
	}
	return blame_at(err, idmap && userns < 0 ? CAUSE_CLONE : CAUSE_MOUNT, -r,
			"preparing the roots for an unprivileged identity");
}

void run_trees_close(struct run_trees *t)
{
	for (size_t i = 0; i < t->n; i++)
		fd_close(&t->fds[i]);
	if (t->holder == NULL)
		return;
	/* ECHILD: whoever started us ignores SIGCHLD, and it is gone. */
	while (t->holder->pid > 0 && waitpid(t->holder->pid, NULL, 0) < 0 && errno == EINTR)
		;
	heap_free(t->holder);
	t->holder = NULL;
}
