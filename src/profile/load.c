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
#include "profile/builtin.h"
#include "profile/extends.h"
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

/* @shown: what errors call it. */
static int open_path(const struct profile_source *src, const char *path, const char *shown,
		     struct stat *st, struct err *err)
{
	/* Without blocking, and without a terminal: what the name leads to is not known yet. */
	FD_AUTO fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	const char *near = NULL;
	int errnum = errno;

	if (fd < 0 && errnum == ELOOP)
		return err_set(err, ERR_PROFILE, 0,
			       "profile %s is a symlink: name the file that it points to", shown);
	if (fd < 0 && errnum == ENXIO)
		return err_set(err, ERR_PROFILE, 0,
			       "profile %s is a socket or a device: it must be a regular file",
			       shown);
	if (fd < 0 && errnum == ENOENT && strchr(shown, '/') == NULL)
		near = builtin_nearest(shown);
	if (near != NULL)
		return err_set(err, ERR_PROFILE, errnum,
			       "profile %s cannot be opened (did you mean the shipped '%s'?)",
			       shown, near);
	if (fd < 0)
		return err_set(err, ERR_PROFILE, errnum, "profile %s cannot be opened", shown);
	if (fstat(fd, st) != 0)
		return err_set(err, ERR_PROFILE, errno, "profile %s", shown);
	if (!S_ISREG(st->st_mode))
		return err_set(err, ERR_PROFILE, 0,
			       "profile %s is %s: it must be a regular file (or give a pipe with "
			       "--profile-fd)",
			       shown, kind_name(st->st_mode));
	if (trust_check_file(src, shown, fd, st, err) != 0)
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

static void file_of(const struct stat *st, struct profile_file *file)
{
	file->dev = st->st_dev;
	file->ino = st->st_ino;
	file->nlink = st->st_nlink;
	file->uid = st->st_uid;
}

/* extends_open_fn */
static int load_path(struct arena *a, const struct profile_source *src, const char *path,
		     const char *name, struct extends_file *ret, struct err *err)
{
	struct stat st = { 0 };
	FD_AUTO fd = open_path(src, path, name, &st, err);

	if (fd < 0)
		return -1;
	ret->file.real = real_path(a, fd, &st);
	if (ret->file.real == NULL)
		return err_set(err, ERR_PROFILE, 0,
			       "profile %s: its place cannot be told (was it moved or removed, is "
			       "/proc mounted?)",
			       name);
	if (trust_check_above(src, ret->file.real, &st, err) != 0)
		return -1;
	ret->file.way = path[0] == '/' ? path : path_join(a, src->cwd, path);
	ret->text.name = name;
	ret->text.dir = path_dirname(a, ret->file.real);
	ret->file.name = name;
	file_of(&st, &ret->file);
	return read_text(a, fd, &ret->text, &ret->file, err);
}

static int load_fd(struct arena *a, const struct profile_source *src, struct extends_file *ret,
		   struct err *err)
{
	const char *name = arena_printf(a, "fd:%d", src->fd);
	struct stat st = { 0 };

	if (check_fd(src, name, &st, err) != 0)
		return -1;
	ret->file.real = real_path(a, src->fd, &st);
	ret->text.name = name;
	ret->text.dir = src->cwd;
	ret->file.name = name;
	file_of(&st, &ret->file);
	return read_text(a, src->fd, &ret->text, &ret->file, err);
}

int profile_load(struct arena *a, const struct profile_source *src, const struct profile **ret,
		 struct err *err)
{
	const struct builtin *b = src->path == NULL ? NULL : builtin_find(src->path);
	struct extends_file o = { 0 };
	profile_files files = { 0 };

	if (b != NULL)
		extends_builtin(b, src->with_tests, &o);
	else if (src->path == NULL ? load_fd(a, src, &o, err) != 0
				   : load_path(a, src, src->path, src->path, &o, err) != 0)
		return -1;
	*array_push(a, &files) = o.file;
	return extends_parse(a, src, &o.text, load_path, &files, ret, err);
}
