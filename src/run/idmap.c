/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "run/idmap.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "run/blame.h"

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
	/* Before gid_map: an ordinary caller may write that one only once setgroups is denied. */
	if (!ids->drop_groups && map_put(pid, "setgroups", "deny", err) != 0)
		return -1;
	if (map_put(pid, "uid_map", uid_line, err) != 0)
		return -1;
	return map_put(pid, "gid_map", gid_line, err);
}
