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

#define RELOCK_MAX 1000 /* with a bound of a few records, each wait may end at a file put aside */

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

/* @aside: the name of the file that this one goes on from, where nothing of it says so yet. */
static int find_tail(const struct audit *au, uint64_t size, struct audit_tail *ret,
		     char aside[NAME_MAX + 1], struct err *err)
{
	STRBUF_AUTO name = { 0 };
	struct audit_head base;
	int r;

	aside[0] = '\0';
	if (size != 0 && size == au->wrote_size) {
		*ret = (struct audit_tail){ .head = au->wrote_head, .keep = size };
		return 0;
	}
	strbuf_printf(&name, "%s/" AUDIT_FILE, au->dir);
	r = audit_tail_read(au->fd, size, NULL, name.buf, ret, err);
	if (r == 0 && ret->head.seq > 0)
		return 0;
	/* It holds no record, or what goes before the first is asked for. */
	if (r != 0) {
		struct err first = *err;

		*err = (struct err){ 0 };
		if (audit_rotate_base(au->dir_fd, au->dir, &base, aside, err) != 0)
			return -1;
		if (base.seq == 0) {
			*err = first;
			return -1;
		}
	} else if (audit_rotate_base(au->dir_fd, au->dir, &base, aside, err) != 0) {
		return -1;
	}
	return audit_tail_read(au->fd, size, &base, name.buf, ret, err);
}

static int rotated_add(const char *aside, struct strbuf *out, struct audit_head *head,
		       struct err *err)
{
	JSON_AUTO *extra = json_object();
	struct audit_record rec = { .event = AUDIT_ROTATED,
				    .reason = "goes on from the file that was put aside",
				    .extra = extra };

	json_put(extra, "file", json_text(aside));
	return audit_line_add(out, &rec, head, err);
}

struct append {
	const struct audit_record *records;
	size_t n;
	struct audit_lost lost;
	bool any_lost;
	struct strbuf out; /* the lines, once they were written */
	struct audit_head head;
	bool again; /* the file was put aside */
};

static int add_lines(struct append *ap, const struct audit_tail *tail, const char *aside,
		     struct err *err)
{
	struct audit_head *head = &ap->head;

	*head = tail->head;
	if (tail->torn && recovered_add(tail, &ap->out, head, err) != 0)
		return -1;
	if (!tail->torn && aside[0] != '\0' && rotated_add(aside, &ap->out, head, err) != 0)
		return -1;
	if (ap->any_lost && audit_lost_add(&ap->lost, &ap->out, head, err) != 0)
		return -1;
	for (size_t i = 0; i < ap->n; i++) {
		if (audit_line_add(&ap->out, &ap->records[i], head, err) != 0)
			return -1;
	}
	return 0;
}

/* Only a file that ends well is put aside: nobody closes a torn line in it later. */
static int rotate_due(const struct audit *au, uint64_t size, const struct audit_tail *tail,
		      struct err *err)
{
	if (au->opt.rotate == 0 || size < au->opt.rotate || tail->torn || tail->keep < size)
		return 0;
	return audit_rotate(au, tail->head.seq, err);
}

static int append_lines(struct audit *au, struct append *ap, struct err *err)
{
	char aside[NAME_MAX + 1];
	struct audit_tail tail;
	struct stat st;
	int r;

	if (fstat(au->fd, &st) != 0)
		return err_set(err, ERR_AUDIT, errno,
			       "cannot look at the audit log '%s/" AUDIT_FILE "'", au->dir);
	if (find_tail(au, (uint64_t)st.st_size, &tail, aside, err) != 0)
		return -1;
	r = rotate_due(au, (uint64_t)st.st_size, &tail, err);
	if (r != 0) {
		ap->again = r > 0;
		return r < 0 ? -1 : 0;
	}
	if (add_lines(ap, &tail, aside, err) != 0)
		return -1;
	if (tail.keep < (uint64_t)st.st_size && ftruncate(au->fd, (off_t)tail.keep) != 0)
		return err_set(err, ERR_AUDIT, errno,
			       "cannot repair the audit log '%s/" AUDIT_FILE "'", au->dir);
	if (ap->out.len > 0 && log_write(au, &ap->out, tail.keep, err) != 0)
		return -1;
	au->wrote_size = tail.keep + ap->out.len;
	au->wrote_head = ap->head;
	return 0;
}

static int append_file(struct audit *au, struct append *ap, struct err *err)
{
	for (int i = 0; i < RELOCK_MAX; i++) {
		int r;

		ap->again = false;
		if (log_lock(au, err) != 0)
			return -1;
		r = audit_lost_take(au, &ap->lost, &ap->any_lost, err);
		if (r == 0)
			r = append_lines(au, ap, err);
		if (ap->any_lost)
			audit_lost_drop(au, r == 0 && !ap->again);
		(void)flock(au->fd, LOCK_UN);
		if (r != 0 || !ap->again)
			return r;
	}
	return err_set(err, ERR_AUDIT, 0, "audit log '%s/" AUDIT_FILE "' keeps being put aside",
		       au->dir);
}

/* Nothing is kept, so the chain is that of this process. */
static int append_none(struct audit *au, struct append *ap, struct err *err)
{
	const struct audit_tail tail = { .head = au->wrote_head };

	if (add_lines(ap, &tail, "", err) != 0)
		return -1;
	au->wrote_head = ap->head;
	return 0;
}

int audit_append(struct audit *au, const struct audit_record *records, size_t n,
		 struct audit_head *ret, struct err *err)
{
	struct append ap = { .records = records, .n = n };
	int r = au->opt.no_file ? append_none(au, &ap, err) : append_file(au, &ap, err);

	if (r == 0) {
		*ret = ap.head;
		/* Without the lock: who reads slowly keeps nobody else. */
		r = audit_sinks_write(&au->opt, &ap.out, err);
	}
	strbuf_free(&ap.out);
	return r;
}
