/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "audit/audit.h"
#include "audit/log.h"

#define RELOCK_MAX 8

/* Is the file that is open still the one at the name? */
static int log_is_current(const struct audit *au, bool *ret)
{
	struct stat st;

	if (fstatat(au->dir_fd, AUDIT_FILE, &st, AT_SYMLINK_NOFOLLOW) != 0) {
		*ret = false;
		return errno == ENOENT ? 0 : -errno;
	}
	*ret = st.st_dev == au->dev && st.st_ino == au->ino;
	return 0;
}

static int log_lock(struct audit *au, struct err *err)
{
	for (int i = 0; i < RELOCK_MAX; i++) {
		bool current = false;
		int r = audit_lock_fd(au->fd, LOCK_EX);

		if (r == -ETIMEDOUT)
			return err_set(err, ERR_AUDIT, 0,
				       "audit log '%s/" AUDIT_FILE "': another process has held "
				       "the lock for 10 s (see /proc/locks)",
				       au->dir);
		if (r != 0)
			return err_set(err, ERR_AUDIT, -r,
				       "cannot lock the audit log '%s/" AUDIT_FILE "'", au->dir);
		r = log_is_current(au, &current);
		if (r == 0 && current)
			return 0;
		(void)flock(au->fd, LOCK_UN);
		if (r != 0)
			return err_set(err, ERR_AUDIT, -r,
				       "cannot look at the audit log '%s/" AUDIT_FILE "'", au->dir);
		if (audit_log_open(au, err) != 0)
			return -1;
	}
	return err_set(err, ERR_AUDIT, 0, "audit log '%s/" AUDIT_FILE "' keeps being replaced",
		       au->dir);
}

static int recovered_add(const struct audit_tail *tail, struct strbuf *out, struct audit_head *head,
			 struct err *err)
{
	JSON_AUTO *extra = json_object();
	struct audit_record rec = {
		.event = AUDIT_RECOVERED,
		.reason = "a record was cut off in the middle of its line",
		.extra = extra,
	};

	json_put(extra, "bytes", json_integer((json_int_t)tail->torn_bytes));
	json_put(extra, "sha256", json_text(tail->torn_sha256));
	if (tail->newline)
		strbuf_putc(out, '\n');
	memcpy(head->sha256, tail->torn_sha256, sizeof(head->sha256));
	return audit_line_add(out, &rec, head, err);
}

/* All or nothing, as far as the file system lets us: who reads the log must not find the start
 * of something that was then refused. */
static int log_write(const struct audit *au, const struct strbuf *out, uint64_t size,
		     struct err *err)
{
	ssize_t n;
	int errnum;

	do {
		n = write(au->fd, out->buf, out->len);
	} while (n < 0 && errno == EINTR);
	if (n >= 0 && (size_t)n == out->len)
		return 0;
	errnum = n < 0 ? errno : ENOSPC;
	if (n > 0 && ftruncate(au->fd, (off_t)size) != 0)
		return err_set(err, ERR_AUDIT, errnum,
			       "audit log '%s/" AUDIT_FILE "': a record was written in part (the "
			       "next run closes it)",
			       au->dir);
	return err_set(err, ERR_AUDIT, errnum, "cannot write to the audit log '%s/" AUDIT_FILE "'",
		       au->dir);
}

static int find_tail(const struct audit *au, uint64_t size, struct audit_tail *ret, struct err *err)
{
	STRBUF_AUTO name = { 0 };

	if (size != 0 && size == au->wrote_size) {
		*ret = (struct audit_tail){ .head = au->wrote_head, .keep = size };
		return 0;
	}
	strbuf_printf(&name, "%s/" AUDIT_FILE, au->dir);
	return audit_tail_read(au->fd, size, name.buf, ret, err);
}

static int append_lines(struct audit *au, const struct audit_record *records, size_t n,
			const struct audit_lost *lost, struct audit_head *head, struct err *err)
{
	STRBUF_AUTO out = { 0 };
	struct audit_tail tail;
	struct stat st;

	if (fstat(au->fd, &st) != 0)
		return err_set(err, ERR_AUDIT, errno,
			       "cannot look at the audit log '%s/" AUDIT_FILE "'", au->dir);
	if (find_tail(au, (uint64_t)st.st_size, &tail, err) != 0)
		return -1;
	*head = tail.head;
	if (tail.torn && recovered_add(&tail, &out, head, err) != 0)
		return -1;
	if (lost != NULL && audit_lost_add(lost, &out, head, err) != 0)
		return -1;
	for (size_t i = 0; i < n; i++) {
		if (audit_line_add(&out, &records[i], head, err) != 0)
			return -1;
	}
	if (tail.keep < (uint64_t)st.st_size && ftruncate(au->fd, (off_t)tail.keep) != 0)
		return err_set(err, ERR_AUDIT, errno,
			       "cannot repair the audit log '%s/" AUDIT_FILE "'", au->dir);
	if (out.len > 0 && log_write(au, &out, tail.keep, err) != 0)
		return -1;
	au->wrote_size = tail.keep + out.len;
	au->wrote_head = *head;
	return 0;
}

int audit_append(struct audit *au, const struct audit_record *records, size_t n,
		 struct audit_head *ret, struct err *err)
{
	struct audit_lost lost;
	struct audit_head head;
	bool any = false;
	int r;

	if (log_lock(au, err) != 0)
		return -1;
	r = audit_lost_take(au, &lost, &any, err);
	if (r == 0)
		r = append_lines(au, records, n, any ? &lost : NULL, &head, err);
	if (any)
		audit_lost_drop(au, r == 0);
	(void)flock(au->fd, LOCK_UN);
	if (r == 0)
		*ret = head;
	return r;
}
