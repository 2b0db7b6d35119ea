/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A file that has grown to its bound is renamed by whoever holds its lock, and no more happens
 * then: every writer, that one too, finds that the name no longer leads to the file it holds, opens
 * or makes the next, and the first to lock it goes on from the newest file put aside. So there is
 * no moment at which a writer that is killed leaves something to be mended. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "audit/log.h"
#include "audit/read.h"
#include "base/fd.h"

static int aside_head(int dir_fd, const struct audit_file *f, const char *dir,
		      struct audit_head *ret, struct err *err)
{
	FD_AUTO fd =
		openat(dir_fd, f->name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	STRBUF_AUTO name = { 0 };
	struct audit_tail tail;
	struct stat st;

	strbuf_printf(&name, "%s/%s", dir, f->name);
	if (fd < 0 || fstat(fd, &st) != 0)
		return err_set(err, ERR_AUDIT, errno, "cannot open the audit log '%s'", name.buf);
	if (!S_ISREG(st.st_mode))
		return err_set(err, ERR_AUDIT, 0, "audit log '%s' is not a regular file", name.buf);
	if (audit_tail_read(fd, (uint64_t)st.st_size, NULL, name.buf, &tail, err) != 0)
		return -1;
	if (tail.torn || tail.head.seq != f->last)
		return err_set(err, ERR_AUDIT, 0,
			       "audit log '%s' does not end with record %llu; run `agentbox audit "
			       "verify`, then move the file away",
			       name.buf, (unsigned long long)f->last);
	*ret = tail.head;
	return 0;
}

int audit_rotate_base(int dir_fd, const char *dir, struct audit_head *ret,
		      char ret_name[NAME_MAX + 1], struct err *err)
{
	struct arena mem = { .kind = ARENA_HOST };
	audit_files files;
	int r = audit_files_aside(&mem, dir_fd, &files);

	audit_head_init(ret);
	ret_name[0] = '\0';
	if (r != 0) {
		r = err_set(err, ERR_AUDIT, -r, "cannot list the audit logs in '%s'", dir);
	} else if (files.n > 0) {
		memcpy(ret_name, files.v[files.n - 1].name, NAME_MAX + 1);
		r = aside_head(dir_fd, &files.v[files.n - 1], dir, ret, err);
	}
	arena_free(&mem);
	return r;
}

int audit_rotate(const struct audit *au, uint64_t last, struct err *err)
{
	char name[NAME_MAX + 1];
	struct stat st;

	audit_aside_name(last, name);
	/* Whoever may rename here holds the lock first, so nothing comes between. */
	if (fstatat(au->dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
		return err_set(err, ERR_AUDIT, 0,
			       "the audit log '%s/" AUDIT_FILE
			       "' cannot be put aside: there is a '%s' already; move it away",
			       au->dir, name);
	if (renameat(au->dir_fd, AUDIT_FILE, au->dir_fd, name) == 0)
		return 1;
	/* The file was given to the caller in a directory of root's, who puts it aside. */
	if (errno == EACCES || errno == EPERM)
		return 0;
	return err_set(err, ERR_AUDIT, errno,
		       "the audit log '%s/" AUDIT_FILE "' cannot be put aside", au->dir);
}
