/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "run/procfs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"

#define NAME_SIZE 64
#define TEXT_SIZE 4096

int procfs_list_open(struct procfs_list *l, int fd)
{
	/* Another opening: a duplicate would share the position with @fd. */
	FD_AUTO again = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (again < 0)
		return -errno;
	l->dir = fdopendir(again);
	if (l->dir == NULL)
		return -errno;
	(void)fd_take(&again);
	return 0;
}

const char *procfs_list_next(struct procfs_list *l)
{
	const struct dirent *e;

	while ((e = readdir(l->dir)) != NULL) {
		if (e->d_name[0] >= '1' && e->d_name[0] <= '9')
			return e->d_name;
	}
	return NULL;
}

void procfs_list_close(struct procfs_list *l)
{
	(void)closedir(l->dir);
	l->dir = NULL;
}

/* One read(2) is one consistent answer of the kernel. */
static bool read_file(int proc, const char *pid, const char *file, char *buf, size_t size)
{
	char name[NAME_SIZE];
	FD_AUTO fd = -1;
	ssize_t n;

	(void)snprintf(name, sizeof(name), "%s/%s", pid, file);
	fd = openat(proc, name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = read(fd, buf, size - 1);
	if (n <= 0)
		return false;
	buf[n] = '\0';
	return true;
}

void procfs_add_resident(int proc, const char *pid, struct procfs_sum *sum)
{
	char buf[TEXT_SIZE];
	char *at = buf;

	/* "SIZE RESIDENT SHARED ...", in pages. */
	if (!read_file(proc, pid, "statm", buf, sizeof(buf)))
		return;
	(void)strtoull(at, &at, 10);
	sum->bytes += strtoull(at, NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE);
}

static uint64_t kilobytes(const char *text, const char *key)
{
	const char *at = strstr(text, key);

	return at == NULL ? 0 : strtoull(at + strlen(key), NULL, 10) * 1024;
}

void procfs_add_share(int proc, const char *pid, struct procfs_sum *sum)
{
	char buf[TEXT_SIZE];

	if (!read_file(proc, pid, "smaps_rollup", buf, sizeof(buf))) {
		procfs_add_resident(proc, pid, sum);
		return;
	}
	sum->bytes += kilobytes(buf, "\nPss:");
	sum->shmem += kilobytes(buf, "\nPss_Shmem:");
}

void procfs_add_tasks(int proc, const char *pid, struct procfs_sum *sum)
{
	char name[NAME_SIZE];
	struct stat st;

	/* The directory has a link for each task beside its own two. */
	(void)snprintf(name, sizeof(name), "%s/task", pid);
	if (fstatat(proc, name, &st, 0) == 0 && st.st_nlink > 2)
		sum->tasks += st.st_nlink - 2;
}
