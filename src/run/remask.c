/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Theory of operation: a timer, and after the first second of a run inotify, tell that a name may
 * have come into one of the directories that hold masked ones. (To end what inotify(7) watches
 * costs more than a whole short run.) If it leads to another object than the mask lies on, a
 * process of its own joins the user and the mount namespace of the sandbox, with the rights that
 * the supervisor has over them, and covers what is there. It is no part of the sandbox's pid
 * namespace, so nobody inside can see it or stop it, and what it mounts nobody inside can unmount:
 * no process there has a capability.
 *
 * A mask needs a file of its own, and a file of a tree that is not attached anywhere cannot be
 * cloned (before Linux 6.15). It is made in a copy of the mount namespace, which ends with the
 * process.
 *
 * The mount namespace of init can be opened until init gives up its privileges; later that of any
 * program in the sandbox is the same one. */
#include "run/remask.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/nsfs.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "run/idmap.h"
#include "sys/clone.h"
#include "sys/fs.h"
#include "sys/mountapi.h"

#define EVENTS     (IN_CREATE | IN_MOVED_TO | IN_ONLYDIR | IN_DONT_FOLLOW)
#define FIRST_MS   20
#define LAST_MS    640
#define HELPER_S   10
#define TRIES      8
#define CHILDREN   4096
#define STAGE      "/tmp"
#define ATTRS_MASK (MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC)
#define ATTRS_RO   (MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)

/* What the helper needs: its memory has no arena in it. */
struct job {
	char dir[PATH_MAX]; /* virtual */
	char name[NAME_MAX + 1];
	bool hide;
	uint32_t uid, gid;
	int ns;
};

/* --- in the helper: system calls alone */

static int mask_make(bool is_dir)
{
	const struct sys_mount_attr attr = { .attr_set = ATTRS_MASK };
	FD_AUTO fs = sys_fsopen("tmpfs");
	FD_AUTO at = -1;
	FD_AUTO mnt = -1;
	int tree;
	int r = fs < 0 ? fs : sys_fsconfig_string(fs, "size", "4k");

	if (r == 0)
		r = sys_fsconfig_string(fs, "nr_inodes", "4");
	if (r == 0)
		r = sys_fsconfig_create(fs);
	if (r < 0)
		return r;
	mnt = sys_fsmount(fs, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
	at = sys_openat2(AT_FDCWD, STAGE, O_PATH | O_DIRECTORY, 0, SYS_RESOLVE_PLAIN);
	if (mnt < 0 || at < 0)
		return mnt < 0 ? mnt : at;
	r = is_dir ? sys_mkdirat(mnt, "mask", 0) : sys_mknodat(mnt, "mask", S_IFREG);
	if (r == 0)
		r = sys_move_mount(mnt, at);
	if (r < 0)
		return r;
	tree = sys_open_tree(mnt, "mask", OPEN_TREE_CLONE);
	if (tree >= 0)
		r = sys_mount_setattr(tree, "", AT_EMPTY_PATH, &attr);
	if (r < 0)
		(void)sys_close(tree);
	return r < 0 ? r : tree;
}

static int freeze_make(int dir, const char *name)
{
	const struct sys_mount_attr attr = { .attr_set = ATTRS_RO };
	int tree = sys_open_tree(dir, name, OPEN_TREE_CLONE | AT_SYMLINK_NOFOLLOW);
	int r = tree < 0 ? tree : sys_mount_setattr(tree, "", AT_EMPTY_PATH, &attr);

	if (r < 0 && tree >= 0)
		(void)sys_close(tree);
	return r < 0 ? r : tree;
}

static int cover(const struct job *job)
{
	FD_AUTO dir = -1;
	FD_AUTO tree = -1;
	struct stat st;

	dir = sys_openat2(AT_FDCWD, job->dir, O_PATH | O_DIRECTORY, 0, SYS_RESOLVE_PLAIN);
	if (dir < 0)
		return dir;
	if (fstatat(dir, job->name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return -errno;
	/* The directory stays one of the sandbox's own namespace. */
	if (job->hide || S_ISLNK(st.st_mode)) {
		if (unshare(CLONE_NEWNS) != 0)
			return -errno;
		tree = mask_make(S_ISDIR(st.st_mode));
		if (setns(job->ns, CLONE_NEWNS) != 0)
			return -errno;
	} else {
		tree = freeze_make(dir, job->name);
	}
	return tree < 0 ? tree : sys_move_mount_at(tree, dir, job->name);
}

/* What it makes belongs to the identity of the sandbox: another one may not be mapped there. */
static int enter(const struct job *job)
{
	int user = ioctl(job->ns, NS_GET_USERNS);

	if (user < 0 || setns(user, CLONE_NEWUSER) != 0 || setns(job->ns, CLONE_NEWNS) != 0 ||
	    setresgid(job->gid, job->gid, job->gid) != 0 ||
	    setresuid(job->uid, job->uid, job->uid) != 0)
		return -errno;
	return 0;
}

_Noreturn static void helper(const struct job *job)
{
	sigset_t none;
	int r;

	/* A file system that does not answer must not keep the supervisor. */
	(void)sigemptyset(&none);
	(void)signal(SIGALRM, SIG_DFL);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	(void)alarm(HELPER_S);
	(void)umask(0);
	r = enter(job);
	if (r == 0)
		r = cover(job);
	_exit(r < 0 ? (-r & 0xff) : 0);
}

/* --- in the supervisor */

static int open_ns(pid_t pid)
{
	char path[64];
	int fd;

	if (pid < 0)
		return pid;
	(void)snprintf(path, sizeof(path), "/proc/%d/ns/mnt", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* Of the first child of init that lets it be opened. */
static int open_ns_below(pid_t init)
{
	char text[CHILDREN + 1];
	char path[64];
	char *save = NULL;
	FD_AUTO fd = -1;
	ssize_t n;

	if (init < 0)
		return init;
	(void)snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)init, (int)init);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, CHILDREN);
	if (n < 0)
		return -errno;
	text[n] = '\0';
	for (char *p = strtok_r(text, " ", &save); p != NULL; p = strtok_r(NULL, " ", &save)) {
		int ns = open_ns((pid_t)strtol(p, NULL, 10));

		if (ns >= 0)
			return ns;
	}
	return -EACCES;
}

static int job_fill(const struct remask *r, const struct remask_mask *m, struct job *ret)
{
	const char *slash = strrchr(m->at, '/');
	size_t len = (size_t)(slash - m->at);

	if (len >= sizeof(ret->dir) || strlen(slash + 1) >= sizeof(ret->name))
		return -ENAMETOOLONG;
	memcpy(ret->dir, m->at, len);
	ret->dir[len] = '\0';
	(void)snprintf(ret->name, sizeof(ret->name), "%s", slash + 1);
	if (len == 0)
		(void)snprintf(ret->dir, sizeof(ret->dir), "/");
	ret->hide = m->hide;
	ret->uid = r->uid;
	ret->gid = r->gid;
	ret->ns = r->ns;
	return 0;
}

static int mask_again(struct remask *r, const struct remask_mask *m)
{
	struct job job;
	int e = job_fill(r, m, &job);
	int status;
	long pid;

	if (r->ns < 0)
		r->ns = open_ns_below(idmap_pid(r->init));
	if (e < 0 || r->ns < 0)
		return e < 0 ? e : r->ns;
	job.ns = r->ns;
	pid = sys_fork();
	if (pid == 0)
		helper(&job);
	if (pid < 0)
		return (int)pid;
	while (waitpid((pid_t)pid, &status, 0) < 0) {
		if (errno != EINTR)
			return -errno;
	}
	if (!WIFEXITED(status))
		return -EINTR;
	return -WEXITSTATUS(status);
}

/* Until what is there is what was covered: it may be replaced meanwhile. */
static void look(struct remask *r, struct remask_mask *m)
{
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%s/%s", m->dir, m->name) >= (int)sizeof(path))
		return;
	for (int i = 0; i < TRIES; i++) {
		struct file_id id;
		uint64_t dev;
		int e;

		/* When something comes there again, that is told too. It may be a mount that does
		 * not answer, which this does not ask. */
		if (sys_file_id(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, &id) != 0)
			return;
		dev = makedev(id.dev_major, id.dev_minor);
		if (dev == m->dev && id.ino == m->ino)
			return;
		e = mask_again(r, m);
		if (e == 0) {
			m->dev = dev;
			m->ino = id.ino;
			m->times++;
		} else {
			r->error = -e;
		}
	}
}

static void look_at(struct remask *r, const struct inotify_event *ev)
{
	for (size_t i = 0; i < r->n; i++) {
		struct remask_mask *m = &r->masks[i];

		if ((ev->mask & IN_Q_OVERFLOW) != 0 ||
		    (ev->wd == m->watch && ev->len > 0 && strcmp(ev->name, m->name) == 0))
			look(r, m);
	}
}

static void look_at_all(struct remask *r)
{
	for (size_t i = 0; i < r->n; i++)
		look(r, &r->masks[i]);
}

static void take_events(struct remask *r)
{
	_Alignas(struct inotify_event) char buf[8192];
	ssize_t n = read(r->fd, buf, sizeof(buf));

	for (ssize_t at = 0; at < n;) {
		const struct inotify_event *ev = (const void *)(buf + at);

		look_at(r, ev);
		at += (ssize_t)(sizeof(*ev) + ev->len);
	}
}

static int watch_all(struct remask *r)
{
	int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);

	for (size_t i = 0; fd >= 0 && i < r->n; i++) {
		struct remask_mask *m = &r->masks[i];

		if (i > 0 && strcmp(m->dir, r->masks[i - 1].dir) == 0)
			m->watch = r->masks[i - 1].watch;
		else
			m->watch = inotify_add_watch(fd, m->dir, EVENTS);
		if (m->watch < 0)
			fd_close(&fd);
	}
	return fd;
}

static int timer_arm(const struct remask *r)
{
	const struct itimerspec in = { .it_value = { .tv_sec = r->wait_ms / 1000,
						     .tv_nsec = r->wait_ms % 1000 * 1000000L } };

	return timerfd_settime(r->fd, 0, &in, NULL);
}

/* Where there are no watches to be had, the timer goes on. */
static void tick(struct remask *r)
{
	int fd = r->wait_ms < LAST_MS ? -1 : watch_all(r);

	if (fd >= 0) {
		fd_close(&r->fd);
		r->fd = fd;
		r->is_watched = true;
	} else {
		r->wait_ms = r->wait_ms < LAST_MS ? 2 * r->wait_ms : LAST_MS;
		(void)timer_arm(r);
	}
	look_at_all(r);
}

static int hook_event(void *ctx, uint32_t events, struct err *err)
{
	struct remask *r = ctx;

	(void)events;
	(void)err;
	if (r->is_watched)
		take_events(r);
	else
		tick(r);
	return 0;
}

static int hook_after_clone(void *ctx, const struct run_child *child, struct err *err)
{
	struct remask *r = ctx;

	(void)err;
	if (r->n == 0)
		return 0;
	r->init = child->pid;
	r->ns = open_ns(idmap_pid(child->pid));
	r->wait_ms = FIRST_MS;
	r->fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (r->fd >= 0 && timer_arm(r) != 0)
		fd_close(&r->fd);
	return 0;
}

static int hook_finish(void *ctx, const struct outcome *o, struct err *err)
{
	struct remask *r = ctx;

	(void)o;
	(void)err;
	fd_close(&r->fd);
	fd_close(&r->ns);
	return 0;
}

void remask_attachment(struct remask *r, struct run_attachment *ret)
{
	r->fd = -1;
	r->ns = -1;
	*ret = (struct run_attachment){
		.name = "masks",
		.ctx = r,
		.after_clone = hook_after_clone,
		.event = hook_event,
		.event_fd = &r->fd,
		.finish = hook_finish,
	};
}
