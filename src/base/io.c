/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/io.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

ssize_t io_read_full(int fd, void *buf, size_t len)
{
	size_t got = 0;

	while (got < len) {
		ssize_t n = read(fd, (char *)buf + got, len - got);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		got += (size_t)n;
	}
	return (ssize_t)got;
}

int io_write_full(int fd, const void *buf, size_t len)
{
	size_t done = 0;

	while (done < len) {
		ssize_t n = write(fd, (const char *)buf + done, len - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN) {
			struct pollfd p = { .fd = fd, .events = POLLOUT };

			/* Whatever ends the wait, the next write tells what it was. */
			if (poll(&p, 1, -1) < 0 && errno != EINTR)
				return -errno;
			continue;
		}
		if (n < 0)
			return -errno;
		done += (size_t)n;
	}
	return 0;
}

int io_write_value(int fd, const void *buf, size_t len)
{
	ssize_t n;

	do {
		n = write(fd, buf, len);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	return (size_t)n == len ? 0 : -EIO;
}

int io_read_file(int fd, size_t max, struct arena *a, char **ret, size_t *ret_len)
{
	struct stat st;
	size_t cap = 4096;
	size_t len = 0;
	char *buf;

	if (fstat(fd, &st) != 0)
		return -errno;
	if (S_ISREG(st.st_mode)) {
		if ((unsigned long long)st.st_size > max)
			return -EFBIG;
		/* One more, to see the end in one read; files of the kernel say 0. */
		if (st.st_size > 0)
			cap = (size_t)st.st_size + 1;
	}
	buf = arena_alloc(a, cap + 1);
	for (;;) {
		ssize_t n = io_read_full(fd, buf + len, cap - len);
		char *bigger;

		if (n < 0)
			return (int)n;
		len += (size_t)n;
		if (len > max)
			return -EFBIG;
		if (len < cap)
			break;
		bigger = arena_alloc(a, cap * 2 + 1);
		memcpy(bigger, buf, len);
		buf = bigger;
		cap *= 2;
	}
	buf[len] = '\0';
	*ret = buf;
	*ret_len = len;
	return 0;
}
