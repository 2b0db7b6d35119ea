/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "run/cgroup-file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/io.h"

#define TEXT_MAX 4096

int cgroup_file_read(int dir, const char *name, char *buf, size_t size)
{
	FD_AUTO fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = io_read_full(fd, buf, size - 1);
	if (n < 0)
		return (int)n;
	if ((size_t)n == size - 1)
		return -EFBIG;
	while (n > 0 && buf[n - 1] == '\n')
		n--;
	buf[n] = '\0';
	return 0;
}

int cgroup_file_write(int dir, const char *name, const char *text)
{
	FD_AUTO fd = openat(dir, name, O_WRONLY | O_CLOEXEC);

	return fd < 0 ? -errno : io_write_value(fd, text, strlen(text));
}

static const char *find_line(const char *text, const char *key)
{
	size_t len = strlen(key);

	while (text != NULL) {
		if (strncmp(text, key, len) == 0 && text[len] == ' ')
			return text + len + 1;
		text = strchr(text, '\n');
		text = text == NULL ? NULL : text + 1;
	}
	return NULL;
}

int cgroup_file_number(int dir, const char *name, const char *key, uint64_t *ret)
{
	char buf[TEXT_MAX] = "";
	const char *at = buf;
	uint64_t v = 0;
	int r = cgroup_file_read(dir, name, buf, sizeof(buf));

	if (r < 0)
		return r;
	if (key != NULL)
		at = find_line(buf, key);
	if (at == NULL || *at < '0' || *at > '9')
		return -ENODATA;
	for (; *at >= '0' && *at <= '9'; at++)
		v = v * 10 + (uint64_t)(*at - '0');
	*ret = v;
	return 0;
}

int cgroup_dir_open(struct cgroup_dir *d, int fd)
{
	/* Another opening: a duplicate would share the position with @fd. */
	FD_AUTO again = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (again < 0)
		return -errno;
	d->dir = fdopendir(again);
	if (d->dir == NULL)
		return -errno;
	(void)fd_take(&again);
	return 0;
}

const char *cgroup_dir_next(struct cgroup_dir *d)
{
	const struct dirent *e;

	while ((e = readdir(d->dir)) != NULL) {
		if (e->d_type == DT_DIR && e->d_name[0] != '.')
			return e->d_name;
	}
	return NULL;
}

void cgroup_dir_close(struct cgroup_dir *d)
{
	(void)closedir(d->dir);
	d->dir = NULL;
}
