/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "policy/facts-answers.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "policy/facts-mounts.h"
#include "sys/clone.h"
#include "sys/fs.h"
#include "sys/process.h"

/* How long the kernel may take to end a process that was killed. */
#define ENDED_MS 1000

/* A process that shares our memory, and has copies of our descriptors which it closes: whoever
 * waits for the end of our output need not wait for it. A server that has taken the question and
 * keeps silent holds it even against SIGKILL (FUSE); it ends when that server does. */
struct asking {
	_Alignas(16) char stack[16384]; /* never given back: it may outlive us */
	_Alignas(8) char names[1024];
	const char *path;
	int fd;
};

/* Sanitizers do not know this stack. */
__attribute__((no_sanitize("address", "undefined"))) static void ask_open(void *arg)
{
	const struct asking *q = arg;

	(void)sys_close_range(0, ~0U);
	(void)sys_openat2(AT_FDCWD, q->path, O_PATH, 0,
			  RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);
	sys_exit_group(0);
}

/* What we will ask ourselves; the first call also brings the owner up to date. */
__attribute__((no_sanitize("address", "undefined"))) static void ask_mount(void *arg)
{
	struct asking *q = arg;
	struct sys_file_stat st;
	uint64_t bytes, files;
	int dir;

	if (q->fd > 0)
		(void)sys_close_range(0, (unsigned)q->fd - 1);
	(void)sys_close_range((unsigned)q->fd + 1, ~0U);
	(void)sys_file_stat(q->fd, "", AT_EMPTY_PATH, &st);
	if (sys_fchdir(q->fd) == 0) {
		(void)sys_usage(".", &bytes, &files);
		dir = sys_openat(AT_FDCWD, ".", O_RDONLY | O_DIRECTORY, 0);
		if (dir >= 0)
			(void)sys_getdents64(dir, q->names, sizeof(q->names));
	}
	sys_exit_group(0);
}

/* Return: 1 when it ended by itself within the time, 0 or -errno. */
static int ask(struct asking *q, void (*fn)(void *))
{
	int pidfd = -1;
	struct clone_args args = {
		.flags = CLONE_VM | CLONE_PIDFD,
		.pidfd = (uintptr_t)&pidfd,
		.exit_signal = SIGCHLD,
		.stack = (uintptr_t)q->stack,
		.stack_size = sizeof(q->stack),
	};
	sigset_t all, old;
	struct pollfd p = { .events = POLLIN };
	long pid;
	int r;

	/* No handler of ours may run there. */
	sigfillset(&all);
	if (sigprocmask(SIG_SETMASK, &all, &old) != 0)
		return -errno;
	pid = sys_clone_fn(&args, fn, q);
	(void)sigprocmask(SIG_SETMASK, &old, NULL);
	/* A filter around us that refuses clone3(2) as such lets nothing be run either. Who only
	 * wants to know what would be decided may have to wait for a server, and has the answer. */
	if (pid == -ENOSYS || pid == -EPERM)
		return 1;
	if (pid < 0)
		return (int)pid;
	p.fd = pidfd;
	do {
		r = poll(&p, 1, FACTS_ANSWER_MS);
	} while (r < 0 && errno == EINTR);
	if (r <= 0) {
		(void)sys_pidfd_send_signal(pidfd, SIGKILL);
		(void)poll(&p, 1, ENDED_MS);
	}
	(void)waitpid((pid_t)pid, NULL, WNOHANG);
	(void)close(pidfd);
	return r > 0;
}

int facts_answers_open(struct arena *a, const char *path)
{
	struct asking *q = arena_new(a, struct asking);

	q->path = path;
	return ask(q, ask_open);
}

bool facts_is_served(const char *type)
{
	static const char *const types[] = { "nfs",  "nfs4",   "cifs", "smb3",     "smbfs",
					     "9p",   "ceph",   "afs",  "coda",     "orangefs",
					     "gfs2", "lustre", "gpfs", "virtiofs", "autofs" };

	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		if (strcmp(type, types[i]) == 0)
			return true;
	}
	/* fuse, fuseblk, fuse.sshfs, fuseblk.ntfs */
	return strncmp(type, "fuse", 4) == 0 && strcmp(type, "fusectl") != 0;
}

static const char *path_of(struct arena *a, int fd)
{
	char link[64], path[PATH_MAX + 1];
	ssize_t n;

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path));
	return n > 0 ? arena_strndup(a, path, (size_t)n) : "?";
}

int facts_answers(struct facts_answers *s, int fd, uint64_t mnt_id)
{
	struct facts_answer found = { .mnt_id = mnt_id, .answers = true };
	struct asking *q;
	int r;

	for (size_t i = 0; i < s->mounts.n; i++) {
		if (s->mounts.v[i].mnt_id == mnt_id)
			return s->mounts.v[i].answers;
	}
	r = facts_mounts_served(s, mnt_id);
	if (r < 0)
		return r;
	if (r > 0) {
		q = arena_new(s->arena, struct asking);
		q->fd = fd;
		r = ask(q, ask_mount);
		if (r < 0)
			return r;
		/* That may have taken seconds. */
		s->table = NULL;
		found.answers = r > 0;
		found.path = path_of(s->arena, fd);
	}
	*array_push(s->arena, &s->mounts) = found;
	return found.answers;
}

int facts_answers_dir(struct facts_answers *s, int dirfd, const char *rel, uint64_t resolve)
{
	int fd = sys_openat2(dirfd, rel, O_RDONLY | O_DIRECTORY, 0, resolve | RESOLVE_NO_XDEV);
	FD_AUTO held = -1;
	struct file_id id;
	int r;

	if (fd != -EXDEV)
		return fd;
	held = sys_openat2(dirfd, rel, O_PATH | O_NOFOLLOW, 0, resolve);
	if (held < 0)
		return held;
	r = sys_file_id(held, "", AT_EMPTY_PATH, &id);
	if (r < 0)
		return r;
	r = s == NULL ? -EXDEV : facts_answers(s, held, id.mnt_id);
	if (r <= 0)
		return r < 0 ? r : -EACCES;
	return sys_openat2(dirfd, rel, O_RDONLY | O_DIRECTORY, 0, resolve);
}

int facts_answers_look(struct facts_answers *s, int dirfd, const char *dir, const char *name)
{
	const uint64_t resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
	char rel[PATH_MAX];
	FD_AUTO fd = -1;
	FD_AUTO list = -1;

	if (snprintf(rel, sizeof(rel), "%s/%s", dir, name) >= (int)sizeof(rel))
		return -ENAMETOOLONG;
	fd = sys_openat2(dirfd, rel, O_PATH | O_NOFOLLOW, 0, resolve | RESOLVE_NO_XDEV);
	if (fd == -EXDEV) {
		list = facts_answers_dir(s, dirfd, dir, resolve);
		if (list == -EACCES)
			return -ETIMEDOUT;
		fd = sys_openat2(dirfd, rel, O_PATH | O_NOFOLLOW, 0, resolve);
	}
	if (fd == -ENOENT || fd == -ENOTDIR || fd == -EACCES || fd == -ELOOP)
		return 0;
	return fd < 0 ? fd : 1;
}
