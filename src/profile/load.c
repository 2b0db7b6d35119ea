/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/io.h"
#include "base/path.h"
#include "profile/profile.h"
#include "profile/trust.h"

static const char *kind_name(mode_t mode)
{
	return S_ISDIR(mode)    ? "a directory"
	       : S_ISFIFO(mode) ? "a FIFO"
	       : S_ISCHR(mode)  ? "a device"
	       : S_ISBLK(mode)  ? "a device"
	       : S_ISSOCK(mode) ? "a socket"
				: "no file";
}

static int open_path(const struct profile_source *src, struct stat *st, struct err *err)
{
	/* Without blocking, and without a terminal: what the name leads to is not known yet. */
	FD_AUTO fd = open(src->path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0 && errno == ELOOP)
		return err_set(err, ERR_PROFILE, 0,
			       "profile %s is a symlink: name the file that it points to",
			       src->path);
	if (fd < 0 && errno == ENXIO)
		return err_set(err, ERR_PROFILE, 0,
			       "profile %s is a socket or a device: it must be a regular file",
			       src->path);
	if (fd < 0)
		return err_set(err, ERR_PROFILE, errno, "profile %s cannot be opened", src->path);
	if (fstat(fd, st) != 0)
		return err_set(err, ERR_PROFILE, errno, "profile %s", src->path);
	if (!S_ISREG(st->st_mode))
		return err_set(err, ERR_PROFILE, 0,
			       "profile %s is %s: it must be a regular file (or give a pipe with "
			       "--profile-fd)",
			       src->path, kind_name(st->st_mode));
	if (trust_check_file(src, src->path, fd, st, err) != 0)
		return -1;
	return fd_take(&fd);
}

static int check_fd(const struct profile_source *src, const char *name, struct stat *st,
		    struct err *err)
{
	if (fstat(src->fd, st) != 0)
		return err_set(err, ERR_PROFILE, errno, "profile %s", name);
	if (!S_ISREG(st->st_mode) && !S_ISFIFO(st->st_mode))
		return err_set(err, ERR_PROFILE, 0, "profile %s is %s: it must be a file or a pipe",
			       name, kind_name(st->st_mode));
	return 0;
}

/* The canonical path of an open file, or NULL when it has none. */
static const char *real_path(struct arena *a, int fd, const struct stat *st)
{
	char link[64];
	char buf[PATH_MAX];
	struct stat now;
	ssize_t n;

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, buf, sizeof(buf));
	if (n <= 0 || (size_t)n >= sizeof(buf))
		return NULL;
	buf[n] = '\0';
	/* A removed file reads "... (deleted)"; a pipe or a memfd has no path at all. */
	if (!path_is_canonical(buf) || lstat(buf, &now) != 0 || now.st_dev != st->st_dev ||
	    now.st_ino != st->st_ino)
		return NULL;
	return arena_strdup(a, buf);
}

static int read_text(struct arena *a, int fd, struct profile_text *t, struct profile_file *file,
		     struct err *err)
{
	char *buf;
	int r = io_read_file(fd, PROFILE_BYTES_MAX, a, &buf, &t->len);

	if (r == -EFBIG)
		return err_set(err, ERR_PROFILE, 0, "profile %s is larger than %zu bytes", t->name,
			       PROFILE_BYTES_MAX);
	if (r != 0)
		return err_set(err, ERR_PROFILE, -r, "profile %s cannot be read", t->name);
	sha256_hex(buf, t->len, file->sha256);
	t->text = buf;
	return 0;
}

/* What was opened, by whichever way. */
struct opened {
	int fd;
	const char *name;
	const char *dir; /* base of relative host paths */
	struct profile_file file;
};

static int open_source(struct arena *a, const struct profile_source *src, struct opened *o,
		       struct err *err)
{
	struct stat st = { 0 };

	if (src->path == NULL) {
		o->name = arena_printf(a, "fd:%d", src->fd);
		if (check_fd(src, o->name, &st, err) != 0)
			return -1;
		o->file.real = real_path(a, src->fd, &st);
		o->dir = src->cwd;
	} else {
		o->name = src->path;
		o->fd = open_path(src, &st, err);
		if (o->fd < 0)
			return -1;
		o->file.real = real_path(a, o->fd, &st);
		if (o->file.real == NULL)
			return err_set(err, ERR_PROFILE, 0,
				       "profile %s: its place cannot be told (was it moved or "
				       "removed, is /proc mounted?)",
				       src->path);
		if (trust_check_above(src, o->file.real, &st, err) != 0)
			return -1;
		o->dir = path_dirname(a, o->file.real);
	}
	o->file.name = o->name;
	o->file.dev = st.st_dev;
	o->file.ino = st.st_ino;
	o->file.nlink = st.st_nlink;
	o->file.uid = st.st_uid;
	return 0;
}

static int load_opened(struct arena *a, const struct profile_source *src, struct opened *o,
		       const struct profile **ret, struct err *err)
{
	struct profile_text text = { .name = o->name, .dir = o->dir };
	const struct profile *parsed;
	struct profile *p;

	if (read_text(a, src->path == NULL ? src->fd : o->fd, &text, &o->file, err) != 0 ||
	    profile_parse(a, src, &text, &parsed, err) != 0)
		return -1;
	p = arena_new(a, struct profile);
	*p = *parsed;
	*array_push(a, &p->files) = o->file;
	*ret = p;
	return 0;
}

int profile_load(struct arena *a, const struct profile_source *src, const struct profile **ret,
		 struct err *err)
{
	struct opened o = { .fd = -1 };
	int r = open_source(a, src, &o, err);

	if (r == 0)
		r = load_opened(a, src, &o, ret, err);
	fd_close(&o.fd);
	return r;
}
