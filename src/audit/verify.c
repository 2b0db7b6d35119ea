/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "audit/audit.h"
#include "audit/log.h"
#include "audit/read.h"
#include "base/fd.h"

#define RETRY_MAX 8
#define CHUNK     ((size_t)256 * 1024)
_Static_assert(CHUNK > 2 * AUDIT_LINE_MAX, "a chunk holds the longest line");

struct verifier {
	const struct audit_head *want; /* NULL: none */
	bool may_begin;                /* later than with record 1: with a `rotated` record */
	struct audit_verify *out;
	uint64_t line_no; /* of the line read last, 1-based */
	/* A line is judged when the next one is known: that may be the record which says that it
	 * was torn. */
	bool pending;
	struct audit_line line;
};

/* A file system without locks holds a copy, not a log in use. */
static int lock_still(int fd)
{
	int r = audit_lock_fd(fd, LOCK_SH);

	return r == -EOPNOTSUPP || r == -ENOLCK ? 0 : r;
}

/* The file and its length at a moment when no writer was at work. What comes later is not looked
 * at, so that writers need not wait for a long walk. */
static int log_open_still(const char *path, int *ret_fd, uint64_t *ret_size, struct err *err)
{
	FD_AUTO fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;
	int r;

	if (fd < 0)
		return err_set(err, ERR_AUDIT, errno, "cannot open the audit log '%s'", path);
	if (fstat(fd, &st) != 0)
		return err_set(err, ERR_AUDIT, errno, "cannot look at the audit log '%s'", path);
	if (!S_ISREG(st.st_mode))
		return err_set(err, ERR_AUDIT, 0, "audit log '%s' is not a regular file", path);
	r = lock_still(fd);
	if (r != 0)
		return err_set(err, ERR_AUDIT, -r, "cannot lock the audit log '%s'", path);
	r = fstat(fd, &st) == 0 ? 0 : errno;
	(void)flock(fd, LOCK_UN);
	if (r != 0)
		return err_set(err, ERR_AUDIT, r, "cannot look at the audit log '%s'", path);
	*ret_size = (uint64_t)st.st_size;
	*ret_fd = fd_take(&fd);
	return 0;
}

int audit_head_read(const char *path, struct audit_head *ret, struct err *err)
{
	struct audit_tail tail;
	uint64_t size = 0;
	FD_AUTO fd = -1;

	if (log_open_still(path, &fd, &size, err) != 0)
		return -1;
	if (audit_tail_read(fd, size, NULL, path, &tail, err) != 0)
		return -1;
	*ret = tail.head;
	return 0;
}

/* All files of a log at such a moment. */
struct still {
	int dir_fd;
	audit_files aside;
	int fd; /* the file that is written; -1: none, between one and the next */
	uint64_t size;
};

static int still_list(struct arena *a, const char *dir, struct still *s, struct err *err)
{
	int r = audit_files_aside(a, s->dir_fd, &s->aside);

	if (r != 0)
		return err_set(err, ERR_AUDIT, -r, "cannot list the audit logs in '%s'", dir);
	if (s->fd < 0 && s->aside.n == 0)
		return err_set(err, ERR_AUDIT, ENOENT,
			       "cannot open the audit log '%s/" AUDIT_FILE "'", dir);
	return 0;
}

static int still_open(struct arena *a, const char *dir, struct still *s, struct err *err)
{
	s->dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (s->dir_fd < 0)
		return err_set(err, ERR_AUDIT, errno, "cannot open the state directory '%s'", dir);
	for (int i = 0; i < RETRY_MAX; i++) {
		FD_AUTO fd = openat(s->dir_fd, AUDIT_FILE,
				    O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
		struct stat st, now;
		int r;

		if (fd < 0 && errno == ENOENT)
			return still_list(a, dir, s, err);
		if (fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
			return err_set(err, ERR_AUDIT, fd < 0 ? errno : 0,
				       "cannot open the audit log '%s/" AUDIT_FILE "'", dir);
		r = lock_still(fd);
		if (r != 0)
			return err_set(err, ERR_AUDIT, -r,
				       "cannot lock the audit log '%s/" AUDIT_FILE "'", dir);
		/* As long as it has its name under the lock, nobody puts it aside. */
		if (fstatat(s->dir_fd, AUDIT_FILE, &now, AT_SYMLINK_NOFOLLOW) == 0 &&
		    now.st_dev == st.st_dev && now.st_ino == st.st_ino && fstat(fd, &st) == 0) {
			s->fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
			s->size = (uint64_t)st.st_size;
			r = s->fd < 0 ? err_set(err, ERR_AUDIT, errno, "the audit log")
				      : still_list(a, dir, s, err);
			(void)flock(fd, LOCK_UN);
			return r;
		}
	}
	return err_set(err, ERR_AUDIT, 0, "audit log '%s/" AUDIT_FILE "' keeps being replaced",
		       dir);
}

static void still_close(struct still *s)
{
	fd_close(&s->fd);
	fd_close(&s->dir_fd);
}

int audit_head_read_dir(const char *dir, struct audit_head *ret, struct err *err)
{
	struct arena mem = { .kind = ARENA_HOST };
	struct still s = { .dir_fd = -1, .fd = -1 };
	char name[NAME_MAX + 1];
	struct audit_tail tail;
	int r = still_open(&mem, dir, &s, err);

	audit_head_init(&tail.head);
	if (r == 0 && s.fd >= 0)
		r = audit_tail_read(s.fd, s.size, NULL, dir, &tail, err);
	if (r == 0 && tail.head.seq == 0)
		r = audit_rotate_base(s.dir_fd, dir, &tail.head, name, err);
	still_close(&s);
	arena_free(&mem);
	if (r == 0)
		*ret = tail.head;
	return r;
}

PRINTF_LIKE(3, 4)
static bool broken(struct verifier *v, uint64_t line_no, const char *fmt, ...)
{
	va_list ap;

	v->out->bad_line = line_no;
	va_start(ap, fmt);
	(void)vsnprintf(v->out->reason, sizeof(v->out->reason), fmt, ap);
	va_end(ap);
	return false;
}

static bool accept_record(struct verifier *v, const struct audit_line *line, uint64_t line_no)
{
	struct audit_head *head = &v->out->head;

	head->seq = line->seq;
	memcpy(head->sha256, line->sha256, sizeof(head->sha256));
	v->out->records++;
	if (v->want == NULL || line->seq != v->want->seq)
		return true;
	if (strcmp(line->sha256, v->want->sha256) != 0)
		return broken(v, line_no, "record %llu is not the one of the head asked for",
			      (unsigned long long)line->seq);
	v->out->head_found = true;
	return true;
}

/* The pending line must be the record that follows the head. */
static bool judge_pending(struct verifier *v, uint64_t line_no)
{
	const struct audit_head *head = &v->out->head;

	if (!v->pending)
		return true;
	v->pending = false;
	if (!v->line.valid)
		return broken(v, line_no,
			      "not a record, and no recovered record after it says that it was "
			      "torn");
	if (v->may_begin && head->seq == 0 && v->line.rotated) {
		v->out->before = v->line.seq - 1;
		v->out->head.seq = v->line.seq - 1;
		memcpy(v->out->head.sha256, v->line.prev, sizeof(v->line.prev));
	}
	if (v->line.seq != head->seq + 1)
		return broken(v, line_no, "record %llu where %llu must be",
			      (unsigned long long)v->line.seq, (unsigned long long)head->seq + 1);
	if (strcmp(v->line.prev, head->sha256) != 0)
		return broken(v, line_no,
			      head->seq == 0 ? "prev of the first record is not all zeros"
					     : "prev is not the digest of the line before: one of "
					       "the two was changed");
	return accept_record(v, &v->line, line_no);
}

static bool closes(const struct audit_line *r, const struct audit_line *torn,
		   const struct audit_head *head)
{
	return r->valid && r->recovered && torn->len > 0 && r->seq == head->seq + 1 &&
	       r->torn_bytes == torn->len && strcmp(r->torn_sha256, torn->sha256) == 0 &&
	       strcmp(r->prev, torn->sha256) == 0;
}

static bool take_line(struct verifier *v, const char *text, size_t len)
{
	struct audit_line line;

	v->line_no++;
	audit_line_parse(text, len, &line);
	if (v->pending && closes(&line, &v->line, &v->out->head)) {
		v->pending = false;
		v->out->recovered++;
		return accept_record(v, &line, v->line_no);
	}
	if (!judge_pending(v, v->line_no - 1))
		return false;
	v->line = line;
	v->pending = true;
	return true;
}

/* Lines of @buf up to @len; *ret_used: the bytes of whole lines. */
static bool take_lines(struct verifier *v, const char *buf, size_t len, size_t *ret_used)
{
	size_t used = 0;
	const char *nl;

	while ((nl = memchr(buf + used, '\n', len - used)) != NULL) {
		size_t n = (size_t)(nl - (buf + used));

		if (n >= AUDIT_LINE_MAX)
			break;
		if (!take_line(v, buf + used, n))
			return false;
		used += n + 1;
	}
	*ret_used = used;
	if (len - used >= AUDIT_LINE_MAX && judge_pending(v, v->line_no))
		return broken(v, v->line_no + 1, "line of more than %zu bytes", AUDIT_LINE_MAX);
	return len - used < AUDIT_LINE_MAX;
}

/* @buf: CHUNK bytes to work in. Return: 0 with *ret_sound, or -errno. */
static int walk_lines(struct verifier *v, int fd, uint64_t size, char *buf, bool *ret_sound)
{
	size_t have = 0;
	uint64_t at = 0;

	*ret_sound = false;
	while (at < size) {
		size_t room = CHUNK - have;
		size_t want = size - at < room ? (size_t)(size - at) : room;
		ssize_t n = pread(fd, buf + have, want, (off_t)at);
		size_t used;

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		at += (uint64_t)n;
		have += (size_t)n;
		if (!take_lines(v, buf, have, &used))
			return 0;
		memmove(buf, buf + used, have - used);
		have -= used;
	}
	if (!judge_pending(v, v->line_no))
		return 0;
	if (have > 0)
		(void)broken(v, v->line_no + 1,
			     "torn: the last %zu bytes are no whole line; the next run closes it",
			     have);
	*ret_sound = have == 0;
	return 0;
}

static int log_size(int fd, const char *name, uint64_t *ret, struct err *err)
{
	struct stat st;

	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
		return err_set(err, ERR_AUDIT, 0, "audit log '%s' is not a regular file", name);
	*ret = (uint64_t)st.st_size;
	return 0;
}

static int walk_file(struct verifier *v, int fd, uint64_t size, const char *name, bool *ret_sound,
		     struct err *err)
{
	struct arena mem = { .kind = ARENA_HOST };
	int r;

	v->line_no = 0;
	v->pending = false;
	v->out->files++;
	r = walk_lines(v, fd, size, arena_alloc(&mem, CHUNK), ret_sound);
	arena_free(&mem);
	return r == 0 ? 0 : err_set(err, ERR_AUDIT, -r, "cannot read the audit log '%s'", name);
}

static void verify_begin(const struct audit_verify_input *in, struct verifier *v,
			 struct audit_verify *out)
{
	*out = (struct audit_verify){ 0 };
	*v = (struct verifier){ .out = out };
	audit_head_init(&out->head);
	if (in->want != NULL && in->want->seq > 0)
		v->want = in->want;
	if (in->from == NULL)
		return;
	out->head = *in->from;
	out->before = in->from->seq;
	if (v->want != NULL && v->want->seq == in->from->seq)
		out->head_found = strcmp(v->want->sha256, in->from->sha256) == 0;
}

/* A whole log that does not hold the head asked for. */
static void verify_end(struct verifier *v)
{
	struct audit_verify *out = v->out;

	if (!out->ok || v->want == NULL || out->head_found)
		return;
	if (v->want->seq <= out->before)
		out->ok =
			broken(v, 0, "record %llu of the head asked for is in a file before these",
			       (unsigned long long)v->want->seq);
	else
		out->ok =
			broken(v, 0,
			       "the log ends at record %llu, before record %llu of the head "
			       "asked for",
			       (unsigned long long)out->head.seq, (unsigned long long)v->want->seq);
}

int audit_verify(const char *path, const struct audit_verify_input *in, struct audit_verify *ret,
		 struct err *err)
{
	struct verifier v;
	uint64_t size = 0;
	FD_AUTO fd = -1;

	verify_begin(in, &v, ret);
	v.may_begin = in->from == NULL;
	if (log_open_still(path, &fd, &size, err) != 0 ||
	    walk_file(&v, fd, size, path, &ret->ok, err) != 0)
		return -1;
	verify_end(&v);
	return 0;
}

/* File @i of those put aside; the one after them is the one that is written. */
static int walk_still(struct verifier *v, const struct still *s, size_t i, struct err *err)
{
	const char *name = i < s->aside.n ? s->aside.v[i].name : AUDIT_FILE;
	uint64_t size = s->size;
	FD_AUTO fd = -1;

	(void)snprintf(v->out->bad_file, sizeof(v->out->bad_file), "%.60s", name);
	if (i == s->aside.n)
		return walk_file(v, s->fd, size, name, &v->out->ok, err);
	fd = openat(s->dir_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return err_set(err, ERR_AUDIT, errno, "cannot open the audit log '%s'", name);
	return log_size(fd, name, &size, err) != 0 ? -1
						   : walk_file(v, fd, size, name, &v->out->ok, err);
}

int audit_verify_dir(const char *dir, const struct audit_verify_input *in, struct audit_verify *ret,
		     struct err *err)
{
	struct arena mem = { .kind = ARENA_HOST };
	struct still s = { .dir_fd = -1, .fd = -1 };
	struct verifier v;
	int r = still_open(&mem, dir, &s, err);
	size_t n = s.aside.n + (s.fd >= 0 ? 1 : 0);

	verify_begin(in, &v, ret);
	ret->ok = true;
	for (size_t i = 0; r == 0 && ret->ok && i < n; i++)
		r = walk_still(&v, &s, i, err);
	still_close(&s);
	arena_free(&mem);
	if (r == 0)
		verify_end(&v);
	return r;
}
