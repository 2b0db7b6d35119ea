/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "audit/read.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "audit/log.h"
#include "base/fd.h"

#define CHUNK     ((size_t)256 * 1024)
#define RETRY_MAX 8

struct audit_reader {
	struct arena *arena;
	const char *path; /* of the directory, or of the one file */
	const char *name; /* of the file that is read, in the directory; NULL: none */
	int dir_fd;       /* -1: one file alone */
	int watch_fd;     /* -1: not to be waited for */
	int fd;           /* -1: none is open */
	bool final;       /* what is read never grows */
	bool any;         /* a file was opened */
	dev_t dev;        /* of the file opened last */
	ino_t ino;
	uint64_t line_no;
	uint64_t at; /* where the file is read next */
	size_t have, used;
	char buf[CHUNK];
};

static const char *file_path(const struct audit_reader *r)
{
	return r->dir_fd < 0 ? r->path
			     : arena_printf(r->arena, "%s/%s", r->path,
					    r->name == NULL ? AUDIT_FILE : r->name);
}

static int read_fail(const struct audit_reader *r, int errnum, const char *what, struct err *err)
{
	return err_set(err, ERR_AUDIT, errnum, "cannot %s the audit log '%s'", what, file_path(r));
}

static int take_file(struct audit_reader *r, int fd, struct err *err)
{
	struct stat st;

	r->fd = fd;
	if (fstat(fd, &st) != 0)
		return read_fail(r, errno, "look at", err);
	if (!S_ISREG(st.st_mode))
		return err_set(err, ERR_AUDIT, 0, "audit log '%s' is not a regular file",
			       file_path(r));
	r->dev = st.st_dev;
	r->ino = st.st_ino;
	r->any = true;
	r->at = 0;
	r->have = 0;
	r->used = 0;
	r->line_no = 0;
	return 1;
}

/* Which of the files put aside comes next; @files->n: the one that is written. */
static size_t next_index(const struct audit_reader *r, const audit_files *files)
{
	struct stat st;

	if (!r->any)
		return 0;
	for (size_t i = files->n; i > 0; i--) {
		if (fstatat(r->dir_fd, files->v[i - 1].name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    st.st_dev == r->dev && st.st_ino == r->ino)
			return i;
	}
	return files->n;
}

/* Return: 1 with a file open, 0 for none (yet), -1. */
static int open_next(struct audit_reader *r, struct err *err)
{
	static const int flags = O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;

	for (int i = 0; i < RETRY_MAX; i++) {
		audit_files before, after;
		size_t at;
		int fd, res = audit_files_aside(r->arena, r->dir_fd, &before);

		if (res != 0)
			return read_fail(r, -res, "list the files of", err);
		at = next_index(r, &before);
		r->final = at < before.n;
		r->name = r->final ? before.v[at].name : AUDIT_FILE;
		fd = openat(r->dir_fd, r->name, flags);
		if (fd < 0)
			return errno == ENOENT && !r->final ? 0 : read_fail(r, errno, "open", err);
		if (r->final)
			return take_file(r, fd, err);
		/* It may have been put aside since, and this be the one after it. */
		res = audit_files_aside(r->arena, r->dir_fd, &after);
		if (res == 0 && next_index(r, &after) == after.n)
			return take_file(r, fd, err);
		(void)close(fd);
		if (res != 0)
			return read_fail(r, -res, "list the files of", err);
	}
	return err_set(err, ERR_AUDIT, 0, "audit log '%s' keeps being replaced", file_path(r));
}

/* Is the file that is written still the one that is open? Nothing is added to one that is not. */
static bool is_current(const struct audit_reader *r)
{
	struct stat st;

	return fstatat(r->dir_fd, AUDIT_FILE, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       st.st_dev == r->dev && st.st_ino == r->ino;
}

static bool take_line(struct audit_reader *r, const char **ret, size_t *ret_len)
{
	const char *from = r->buf + r->used;
	const char *nl = memchr(from, '\n', r->have - r->used);

	/* A longer one is fill()'s to complain of. */
	if (nl == NULL || nl - from >= (ptrdiff_t)AUDIT_LINE_MAX)
		return false;
	*ret = from;
	*ret_len = (size_t)(nl - from);
	r->used += *ret_len + 1;
	r->line_no++;
	return true;
}

/* Return: bytes, 0 at the end, or -1. */
static ssize_t fill(struct audit_reader *r, struct err *err)
{
	ssize_t n;

	memmove(r->buf, r->buf + r->used, r->have - r->used);
	r->have -= r->used;
	r->used = 0;
	if (r->have >= AUDIT_LINE_MAX)
		return err_set(err, ERR_AUDIT, 0,
			       "audit log '%s': line %llu is longer than %zu bytes; run `agentbox "
			       "audit verify`",
			       file_path(r), (unsigned long long)r->line_no + 1, AUDIT_LINE_MAX);
	do {
		n = pread(r->fd, r->buf + r->have, CHUNK - r->have, (off_t)r->at);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return read_fail(r, errno, "read", err);
	r->at += (uint64_t)n;
	r->have += (size_t)n;
	return n;
}

int audit_read_next(struct audit_reader *r, const char **ret, size_t *ret_len, struct err *err)
{
	for (;;) {
		ssize_t n;

		if (r->fd < 0) {
			int res = r->dir_fd < 0 ? 0 : open_next(r, err);

			if (res != 1)
				return res;
		}
		if (take_line(r, ret, ret_len))
			return 1;
		n = fill(r, err);
		if (n != 0) {
			if (n < 0)
				return -1;
			continue;
		}
		/* The beginning of a line is read again: a writer may take it back. */
		r->at -= r->have;
		r->have = 0;
		if (r->final) {
			fd_close(&r->fd);
			continue;
		}
		if (is_current(r))
			return 0;
		/* What was added before it was put aside has still to be read. */
		r->final = true;
	}
}

int audit_read_wait(struct audit_reader *r, int out, struct err *err)
{
	struct pollfd p[] = { { .fd = r->watch_fd, .events = POLLIN }, { .fd = out } };
	char events[4096];

	if (poll(p, ARRAY_SIZE(p), -1) < 0 && errno != EINTR)
		return read_fail(r, errno, "wait for", err);
	if ((p[1].revents & (POLLERR | POLLHUP | POLLNVAL)) != 0)
		return 0;
	/* What changed is found by looking. */
	while (read(r->watch_fd, events, sizeof(events)) > 0)
		;
	return 1;
}

static struct audit_reader *reader_new(struct arena *a, const char *path)
{
	struct audit_reader *r = arena_new(a, struct audit_reader);

	r->arena = a;
	r->path = path;
	r->dir_fd = -1;
	r->watch_fd = -1;
	r->fd = -1;
	return r;
}

static int watch(struct audit_reader *r, struct err *err)
{
	r->watch_fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (r->watch_fd < 0 ||
	    inotify_add_watch(r->watch_fd, r->path,
			      IN_MODIFY | IN_CREATE | IN_MOVED_FROM | IN_MOVED_TO | IN_ONLYDIR) < 0)
		return read_fail(r, errno, "watch", err);
	return 0;
}

int audit_read_dir(struct arena *a, const char *dir, bool follow, struct audit_reader **ret,
		   struct err *err)
{
	struct audit_reader *r = reader_new(a, dir);
	int res = 0;

	r->dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (r->dir_fd < 0)
		res = read_fail(r, errno, "open", err);
	/* Before the first look, so that nothing falls between the two. */
	if (res == 0 && follow)
		res = watch(r, err);
	if (res == 0)
		res = open_next(r, err);
	if (res == 0 && !follow)
		res = read_fail(r, ENOENT, "open", err);
	if (res < 0) {
		audit_read_close(r);
		return -1;
	}
	*ret = r;
	return 0;
}

int audit_read_file(struct arena *a, const char *path, struct audit_reader **ret, struct err *err)
{
	struct audit_reader *r = reader_new(a, path);
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	r->final = true;
	if (fd < 0)
		return read_fail(r, errno, "open", err);
	if (take_file(r, fd, err) < 0) {
		audit_read_close(r);
		return -1;
	}
	*ret = r;
	return 0;
}

void audit_read_close(struct audit_reader *r)
{
	if (r == NULL)
		return;
	fd_close(&r->fd);
	fd_close(&r->watch_fd);
	fd_close(&r->dir_fd);
}
