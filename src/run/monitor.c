/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "run/monitor.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/fd.h"
#include "run/procfs.h"

/* Seen at 20 ms on two processors: one process adds up to 16 MB to what it may have, and forty on a
 * machine with much else to do 61 MB. */
#define LOOK_NS (20L * 1000 * 1000)
/* What is only reported is looked at in every so many looks. */
#define SELDOM 10

static bool watches(const struct monitor *m, enum plan_limit which)
{
	return m->plan->limits[which].mechanism == PLAN_MECHANISM_MONITOR ||
	       m->plan->limits[which].mechanism == PLAN_MECHANISM_RLIMIT_MONITOR;
}

static int used_of(int fd, uint64_t *ret)
{
	struct statfs fs;

	if (fstatfs(fd, &fs) != 0)
		return -errno;
	*ret = (uint64_t)(fs.f_blocks - fs.f_bfree) * (uint64_t)fs.f_bsize;
	return 0;
}

static uint64_t used_bytes(int fd)
{
	uint64_t used = 0;

	return fd < 0 || used_of(fd, &used) != 0 ? 0 : used;
}

/* One for each file system: what two roots share is counted once. */
static int disk_add(struct monitor *m, const struct plan_source *src, struct err *err)
{
	struct monitor_disk *d = &m->disks[m->n_disks];

	if ((src->attrs & PLAN_ATTR_RO) != 0)
		return 0;
	for (size_t i = 0; i < m->n_disks; i++) {
		if (m->disks[i].dev[0] == src->id.dev_major &&
		    m->disks[i].dev[1] == src->id.dev_minor)
			return 0;
	}
	if (m->n_disks == MONITOR_DISKS)
		return err_set(err, ERR_HOST, 0,
			       "'limits.disk' cannot watch more than %d file systems",
			       MONITOR_DISKS);
	d->fd = open(src->path, O_PATH | O_CLOEXEC | O_NOFOLLOW);
	if (d->fd < 0)
		return err_set(err, ERR_HOST, errno, "%s", src->path);
	m->n_disks++;
	d->dev[0] = src->id.dev_major;
	d->dev[1] = src->id.dev_minor;
	/* A growth from nothing would be the whole of it. */
	if (used_of(d->fd, &d->used) != 0)
		return err_set(err, ERR_HOST, errno, "%s", src->path);
	return 0;
}

int monitor_open(struct monitor *m, const struct plan *plan, struct err *err)
{
	*m = (struct monitor)MONITOR_NONE;
	if (!plan->watched)
		return 0;
	m->plan = plan;
	if (!watches(m, PLAN_LIMIT_DISK))
		return 0;
	for (uint32_t i = 0; i < plan->n_sources; i++) {
		if (disk_add(m, &plan->sources[i], err) != 0) {
			monitor_close(m);
			return -1;
		}
	}
	return 0;
}

/* The packet is there, or init has ended. It comes from inside: what is not a procfs and a tmpfs is
 * not looked into. */
static int receive(int sock, int ret[2])
{
	_Alignas(struct cmsghdr) char room[CMSG_SPACE(2 * sizeof(int))] = { 0 };
	char byte;
	struct iovec iov = { .iov_base = &byte, .iov_len = 1 };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = room,
			      .msg_controllen = sizeof(room) };
	const struct cmsghdr *c;
	ssize_t n;

	do {
		n = recvmsg(sock, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	c = CMSG_FIRSTHDR(&msg);
	if (c == NULL || c->cmsg_type != SCM_RIGHTS || c->cmsg_len != CMSG_LEN(2 * sizeof(int)))
		return -EPROTO;
	memcpy(ret, CMSG_DATA(c), 2 * sizeof(int));
	return 0;
}

static bool is_on(int fd, long magic)
{
	struct statfs fs;

	return fstatfs(fd, &fs) == 0 && fs.f_type == magic;
}

int monitor_start(struct monitor *m, int sock, struct err *err)
{
	const struct itimerspec every = { .it_value = { .tv_nsec = LOOK_NS },
					  .it_interval = { .tv_nsec = LOOK_NS } };
	int fds[2] = { -1, -1 };
	int r = receive(sock, fds);

	FD_AUTO place = fds[0];
	m->scratch = fds[1];
	if (r == 0 && (!is_on(place, PROC_SUPER_MAGIC) || !is_on(m->scratch, TMPFS_MAGIC)))
		r = -EPROTO;
	if (r < 0)
		return err_set(err, ERR_HOST, -r, "cannot look into the sandbox to watch a limit");
	m->proc = openat(place, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	m->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (m->proc < 0 || m->timer < 0 || timerfd_settime(m->timer, 0, &every, NULL) != 0)
		return err_set(err, ERR_HOST, errno, "cannot watch a limit");
	return 0;
}

/* A process that is not there any more uses nothing. */
static void look_at_processes(struct monitor *m, struct procfs_sum *sum, bool exact)
{
	struct procfs_list list;
	const char *pid;

	*sum = (struct procfs_sum){ 0 };
	if (procfs_list_open(&list, m->proc) != 0)
		return;
	while ((pid = procfs_list_next(&list)) != NULL) {
		if (exact)
			procfs_add_share(m->proc, pid, sum);
		else
			procfs_add_resident(m->proc, pid, sum);
		procfs_add_tasks(m->proc, pid, sum);
	}
	procfs_list_close(&list);
	m->counted = true;
}

/* The sum of resident sizes counts what is shared once for each process. Only where that comes
 * above @bound is every process asked for its share, which costs ten times as much. */
static uint64_t used_memory(struct monitor *m, struct procfs_sum *sum, uint64_t bound)
{
	uint64_t scratch = used_bytes(m->scratch);
	uint64_t used = sum->bytes + scratch;

	if (used > bound) {
		look_at_processes(m, sum, true);
		/* What is mapped of the scratch is in both. */
		used = sum->bytes + (scratch > sum->shmem ? scratch - sum->shmem : 0);
	}
	if (used > m->memory_peak)
		m->memory_peak = used;
	return used;
}

static bool over_disk(struct monitor *m, uint64_t *ret)
{
	uint64_t grown = 0;

	for (size_t i = 0; i < m->n_disks; i++) {
		uint64_t now = used_bytes(m->disks[i].fd);

		if (now > m->disks[i].used)
			grown += now - m->disks[i].used;
	}
	*ret = grown;
	return grown > m->plan->limits[PLAN_LIMIT_DISK].bound;
}

static uint64_t count_tasks(struct monitor *m, const struct procfs_sum *sum)
{
	/* Init is ours. */
	uint64_t tasks = sum->tasks > 0 ? sum->tasks - 1 : 0;

	if (tasks > m->processes_peak)
		m->processes_peak = tasks;
	return tasks;
}

/* What is not limited is reported, and for that @seldom is often enough. */
static bool over_inside(struct monitor *m, bool seldom, enum plan_limit *ret_which,
			uint64_t *ret_reached)
{
	const struct plan_limit_row *limits = m->plan->limits;
	bool processes = watches(m, PLAN_LIMIT_PROCESSES);
	bool memory = watches(m, PLAN_LIMIT_MEMORY);
	struct procfs_sum sum;

	/* In the caller's /proc others would be counted. */
	if (m->plan->outer_proc || !(memory || processes || seldom))
		return false;
	look_at_processes(m, &sum, false);
	*ret_which = PLAN_LIMIT_PROCESSES;
	*ret_reached = count_tasks(m, &sum);
	if (processes && *ret_reached > limits[PLAN_LIMIT_PROCESSES].bound)
		return true;
	*ret_which = PLAN_LIMIT_MEMORY;
	if (memory) {
		*ret_reached = used_memory(m, &sum, limits[PLAN_LIMIT_MEMORY].bound);
		return *ret_reached > limits[PLAN_LIMIT_MEMORY].bound;
	}
	if (seldom)
		(void)used_memory(m, &sum, m->memory_peak);
	return false;
}

bool monitor_look(struct monitor *m, enum plan_limit *ret_which, uint64_t *ret_reached)
{
	uint64_t expired;

	/* However many expiries were missed, one look is enough. */
	if (read(m->timer, &expired, sizeof(expired)) != (ssize_t)sizeof(expired))
		return false;
	if (over_inside(m, m->looks++ % SELDOM == 0, ret_which, ret_reached))
		return true;
	*ret_which = PLAN_LIMIT_DISK;
	return m->n_disks > 0 && over_disk(m, ret_reached);
}

void monitor_close(struct monitor *m)
{
	for (size_t i = 0; i < m->n_disks; i++)
		fd_close(&m->disks[i].fd);
	m->n_disks = 0;
	fd_close(&m->timer);
	fd_close(&m->proc);
	fd_close(&m->scratch);
	m->plan = NULL;
}
