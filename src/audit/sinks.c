/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "audit/log.h"

#define ROOM_WAIT_MS 10000

int audit_sinks_check(const struct audit_options *opt, struct err *err)
{
	for (size_t i = 0; i < opt->n_fds; i++) {
		int fd = opt->fds[i];
		int flags = fcntl(fd, F_GETFL), own = fcntl(fd, F_GETFD);

		/* Whatever this program opened closes on exec; the caller's came through one. */
		if (flags < 0 || own < 0 || (own & FD_CLOEXEC) != 0)
			return err_set(err, ERR_AUDIT, 0,
				       "records are to go to descriptor %d, and the caller has "
				       "opened no such one",
				       fd);
		if ((flags & O_PATH) != 0 || (flags & O_ACCMODE) == O_RDONLY)
			return err_set(err, ERR_AUDIT, 0,
				       "records are to go to descriptor %d, which cannot be "
				       "written to",
				       fd);
	}
	return 0;
}

static int64_t now_ms(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* No more at a time than a pipe that has room takes without waiting: the flags of the descriptor
 * are the caller's. A line that is not longer stays in one piece. */
static int write_piece(int fd, const char *p, size_t len, int64_t until)
{
	while (len > 0) {
		struct pollfd room = { .fd = fd, .events = POLLOUT };
		int64_t left = until - now_ms();
		int r = poll(&room, 1, left > 0 ? (int)left : 0);
		ssize_t n;

		if (r == 0)
			return -ETIMEDOUT;
		if (r < 0 && errno != EINTR)
			return -errno;
		if (r < 0)
			continue;
		n = write(fd, p, len);
		if (n < 0 && errno != EINTR && errno != EAGAIN)
			return -errno;
		if (n > 0) {
			p += n;
			len -= (size_t)n;
		}
	}
	return 0;
}

static int write_lines(int fd, const struct strbuf *lines)
{
	int64_t until = now_ms() + ROOM_WAIT_MS;
	const char *p = lines->buf;
	size_t left = lines->len;
	int r = 0;

	while (r == 0 && left > 0) {
		const char *nl = memchr(p, '\n', left < PIPE_BUF ? left : PIPE_BUF);
		size_t n = nl != NULL ? (size_t)(nl - p) + 1 : left < PIPE_BUF ? left : PIPE_BUF;

		r = write_piece(fd, p, n, until);
		p += n;
		left -= n;
	}
	return r;
}

int audit_sinks_write(const struct audit_options *opt, const struct strbuf *lines, struct err *err)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN }, old;
	int ret = 0;

	if (opt->n_fds == 0)
		return 0;
	/* A reader that is gone is an error like any other. */
	(void)sigaction(SIGPIPE, &ignore, &old);
	/* One that fails is told; the others have it all the same. */
	for (size_t i = 0; i < opt->n_fds; i++) {
		int r = write_lines(opt->fds[i], lines);

		if (ret != 0)
			continue;
		if (r == -ETIMEDOUT)
			ret = err_set(err, ERR_AUDIT, 0,
				      "descriptor %d has taken no record for %d s: nobody reads it",
				      opt->fds[i], ROOM_WAIT_MS / 1000);
		else if (r != 0)
			ret = err_set(err, ERR_AUDIT, -r, "cannot write a record to descriptor %d",
				      opt->fds[i]);
	}
	(void)sigaction(SIGPIPE, &old, NULL);
	return ret;
}
