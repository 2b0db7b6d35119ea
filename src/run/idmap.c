/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "run/idmap.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/io.h"
#include "run/blame.h"
#include "sys/process.h"

/* fdinfo of a pidfd counts as the /proc does in which it is read (pidfd_open(2)). */
static pid_t pid_by_fdinfo(pid_t pid)
{
	FD_AUTO pidfd = sys_pidfd_open(pid, 0);
	FD_AUTO info = -1;
	char path[64], buf[512];
	const char *line;
	long number;
	ssize_t n;

	(void)snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", pidfd);
	info = pidfd < 0 ? -1 : open(path, O_RDONLY | O_CLOEXEC);
	n = info < 0 ? -1 : io_read_full(info, buf, sizeof(buf) - 1);
	if (n < 0)
		return -ESRCH;
	buf[n] = '\0';
	line = strstr(buf, "\nPid:\t");
	number = line == NULL ? 0 : strtol(line + 6, NULL, 10);
	return number > 0 ? (pid_t)number : -ESRCH;
}

pid_t idmap_pid(pid_t pid)
{
	char self[16];
	ssize_t n = readlink("/proc/self", self, sizeof(self) - 1);

	if (n <= 0)
		return -ESRCH;
	self[n] = '\0';
	return strtol(self, NULL, 10) == getpid() ? pid : pid_by_fdinfo(pid);
}

static int map_put(pid_t pid, const char *file, const char *text, struct err *err)
{
	char path[64];
	size_t len = strlen(text);
	ssize_t n;

	/* The pid cannot be another's: nobody reaps our child but us. */
	(void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);

	FD_AUTO fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return blame_ids(err, file, errno);
	/* The kernel takes a map in one write or not at all, user_namespaces(7). */
	n = write(fd, text, len);
	if (n < 0)
		return blame_ids(err, file, errno);
	if ((size_t)n != len)
		return blame_ids(err, file, EIO);
	return 0;
}

int idmap_write(pid_t pid, const struct plan_ids *ids, struct err *err)
{
	char uid_line[64];
	char gid_line[64];

	(void)snprintf(uid_line, sizeof(uid_line), "%u %u 1\n", ids->inside_uid, ids->outside_uid);
	(void)snprintf(gid_line, sizeof(gid_line), "%u %u 1\n", ids->inside_gid, ids->outside_gid);
	pid = idmap_pid(pid);
	if (pid < 0)
		return err_set(err, ERR_HOST, -pid, "cannot find the sandbox's init in /proc");
	/* Before gid_map: an ordinary caller may write that one only once setgroups is denied. */
	if (!ids->drop_groups && map_put(pid, "setgroups", "deny", err) != 0)
		return -1;
	if (map_put(pid, "uid_map", uid_line, err) != 0)
		return -1;
	return map_put(pid, "gid_map", gid_line, err);
}
