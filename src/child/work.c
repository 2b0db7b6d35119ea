/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* work - what a file tool does, in a process that executes nothing.
 *
 * The tree holds the one object that the decision was about, so there is no other to be led to: a
 * path names a mount of ours and, for a new file, one component below it. Its process has the
 * command's identity, filter and limits, and ends with status 0, or 1 after a report that says why.
 *
 * LIST writes for each entry: type (a letter as of find(1) %y), permission bits, size, time of the
 * last change in seconds, name; a space after each of the first four, all numbers decimal, and a
 * NUL after the name. */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>

#include "child/ctx.h"
#include "sys/fs.h"
#include "sys/process.h"

#define WORK_BUF 8192

/* Files are opened so that neither a pipe nor a device makes us wait, nor a terminal ours. */
#define OPEN_PLAIN (O_NOFOLLOW | O_NONBLOCK | O_NOCTTY)

#define NEW_MODE 0666U

/* Room for four numbers and a name, as d_name can be. */
#define RECORD_MAX (4 * 24 + 256)

struct linux_dirent64 {
	uint64_t d_ino;
	int64_t d_off;
	unsigned short d_reclen;
	unsigned char d_type;
	char d_name[];
};

static int failed(struct child_report *r, enum child_work_phase phase, int e)
{
	r->op = phase;
	return e;
}

static int write_all(int fd, const char *buf, size_t len)
{
	while (len > 0) {
		ssize_t n = sys_write(fd, buf, len);

		if (n < 0)
			return (int)n;
		buf += n;
		len -= (size_t)n;
	}
	return 0;
}

static int open_regular(int dirfd, const char *path, unsigned flags, struct sys_file_stat *st)
{
	int fd = sys_openat(dirfd, path, flags | OPEN_PLAIN, 0);
	int r;

	if (fd < 0)
		return fd;
	r = sys_file_stat(fd, "", AT_EMPTY_PATH, st);
	if (r < 0)
		return r;
	if (st->id.type == S_IFDIR)
		return -EISDIR;
	return st->id.type == S_IFREG ? fd : -EINVAL;
}

/* --- READ */

/* Of @n bytes, those of wanted lines: *from is where they begin; returns how many they are. */
static size_t wanted_part(const char *buf, size_t n, uint64_t *skip, uint64_t *lines, size_t *from)
{
	size_t i = 0;
	size_t end;

	for (; i<n && * skip> 0; i++)
		*skip -= buf[i] == '\n';
	*from = i;
	for (end = i; end<n && * lines> 0; end++)
		*lines -= buf[end] == '\n';
	return end - i;
}

static int work_read(const struct plan_work *w, struct child_report *ret)
{
	char buf[WORK_BUF];
	struct sys_file_stat st;
	uint64_t skip = w->skip;
	uint64_t lines = w->lines;
	int fd = open_regular(AT_FDCWD, w->at, O_RDONLY, &st);

	if (fd < 0)
		return failed(ret, CHILD_WORK_OPEN, fd);
	ret->work_size = st.size;
	while (lines > 0) {
		ssize_t n = sys_read(fd, buf, sizeof(buf));
		size_t from, len;
		int r;

		if (n <= 0)
			return failed(ret, CHILD_WORK_INPUT, (int)n);
		len = wanted_part(buf, (size_t)n, &skip, &lines, &from);
		if (len > w->bytes - ret->work_bytes) {
			len = (size_t)(w->bytes - ret->work_bytes);
			ret->work_cut = 1;
		}
		r = write_all(1, buf + from, len);
		if (r < 0)
			return failed(ret, CHILD_WORK_OUTPUT, r);
		ret->work_bytes += len;
		if (ret->work_cut != 0)
			break;
	}
	return 0;
}

/* --- WRITE */

struct place {
	int dir;                  /* -1: the file is a mount itself */
	int old;                  /* the file that is there, open for writing, or -1 */
	int fresh;                /* where the input goes first */
	bool nameless;            /* fresh can become the file */
	struct sys_file_stat was; /* of old */
};

/* The permissions of the file that is there count, although its directory would be enough. */
static int open_old(const struct plan_work *w, struct place *p)
{
	p->old = open_regular(p->dir < 0 ? AT_FDCWD : p->dir, p->dir < 0 ? w->at : w->name,
			      O_WRONLY, &p->was);
	if (p->old < 0)
		return p->old == -ELOOP || p->old == -ENOENT ? -ESTALE : p->old;
	return p->dir < 0 || file_id_same(&p->was.id, &w->id) ? 0 : -ESTALE;
}

/* Names, owners and lists that a new file would not have are kept by writing to the old one. */
static int may_replace(const struct place *p)
{
	struct sys_file_stat st;
	int r;

	if (p->was.nlink != 1)
		return 0;
	r = sys_has_acl(p->old);
	if (r != 0)
		return r < 0 ? r : 0;
	r = sys_file_stat(p->fresh, "", AT_EMPTY_PATH, &st);
	if (r < 0)
		return r;
	return st.uid == p->was.uid && st.gid == p->was.gid;
}

static bool is_unsupported(int e)
{
	return e == -EOPNOTSUPP || e == -EISDIR;
}

/* A file without a name: whatever ends us before it has one, nothing is left. Where the directory
 * gives none, but the file is there, the input waits in the scratch until all of it has come. */
static int open_fresh(const struct plan_work *w, struct place *p)
{
	int r = -EACCES;

	if (p->dir >= 0)
		r = sys_openat(p->dir, ".", O_TMPFILE | O_RDWR, NEW_MODE);
	if (r >= 0) {
		p->fresh = r;
		r = p->old < 0 ? 1 : may_replace(p);
		if (r < 0)
			return r;
		p->nameless = r == 1;
		return 0;
	}
	if (p->old >= 0 && (is_unsupported(r) || r == -EACCES || r == -EPERM || r == -EROFS))
		r = sys_openat(AT_FDCWD, "/tmp", O_TMPFILE | O_RDWR, NEW_MODE);
	else if (p->old < 0 && is_unsupported(r))
		r = sys_openat(p->dir, w->name, O_CREAT | O_EXCL | O_RDWR | OPEN_PLAIN, NEW_MODE);
	p->fresh = r;
	return r < 0 ? r : 0;
}

/* To the end of @from. */
static int copy(int from, int to, uint64_t max, struct child_report *ret)
{
	char buf[WORK_BUF];

	ret->work_bytes = 0;
	for (;;) {
		ssize_t n = sys_read(from, buf, sizeof(buf));
		int r;

		if (n <= 0)
			return failed(ret, CHILD_WORK_INPUT, (int)n);
		if ((uint64_t)n > max - ret->work_bytes) {
			ret->work_cut = 1;
			return failed(ret, CHILD_WORK_OUTPUT, -EFBIG);
		}
		r = write_all(to, buf, (size_t)n);
		if (r < 0)
			return failed(ret, CHILD_WORK_OUTPUT, r);
		ret->work_bytes += (uint64_t)n;
	}
}

/* The one moment at which a name of ours is there. That of the file without one is unique: no other
 * has its number. */
static int replace(const struct plan_work *w, const struct place *p)
{
	char name[] = ".agentbox-0000000000000000";
	struct sys_file_stat st;
	int r = sys_file_stat(p->fresh, "", AT_EMPTY_PATH, &st);

	if (r < 0)
		return r;
	for (size_t i = sizeof(name) - 2; st.id.ino > 0; i--, st.id.ino >>= 4)
		name[i] = "0123456789abcdef"[st.id.ino & 15];
	r = sys_fchmod(p->fresh, p->was.mode & 0777);
	if (r == 0)
		r = sys_link_fd(p->fresh, p->dir, name);
	if (r < 0)
		return r;
	r = sys_renameat2(p->dir, name, p->dir, w->name);
	if (r < 0)
		(void)sys_unlinkat(p->dir, name);
	return r;
}

static int put(const struct plan_work *w, const struct place *p, struct child_report *ret)
{
	int r;

	if (p->nameless) {
		r = p->old < 0 ? sys_link_fd(p->fresh, p->dir, w->name) : replace(w, p);
		return failed(ret, CHILD_WORK_PUT, r);
	}
	if (p->old < 0)
		return 0;
	r = sys_rewind(p->fresh);
	if (r < 0)
		return failed(ret, CHILD_WORK_PUT, r);
	r = copy(p->fresh, p->old, UINT64_MAX, ret);
	return r < 0 ? r : failed(ret, CHILD_WORK_PUT, sys_ftruncate(p->old, ret->work_bytes));
}

static int work_write(const struct plan_work *w, struct child_report *ret)
{
	struct place p = { .dir = -1, .old = -1, .fresh = -1 };
	int r = 0;

	if (w->name != NULL) {
		p.dir = sys_openat(AT_FDCWD, w->at, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
		if (p.dir < 0)
			return failed(ret, CHILD_WORK_OPEN, p.dir);
	}
	if (w->name == NULL || w->exists)
		r = open_old(w, &p);
	if (r == 0)
		r = open_fresh(w, &p);
	if (r < 0)
		return failed(ret, CHILD_WORK_OPEN, r);
	r = copy(0, p.fresh, w->bytes, ret);
	if (r == 0)
		return put(w, &p, ret);
	/* Its name was there before its content. */
	if (p.old < 0 && !p.nameless)
		(void)sys_unlinkat(p.dir, w->name);
	return r;
}

/* --- LIST */

struct list {
	char buf[WORK_BUF];
	size_t len;
};

static void add_number(struct list *l, uint64_t v)
{
	char digits[24];
	unsigned n = 0;

	do {
		digits[n++] = (char)('0' + v % 10);
		v /= 10;
	} while (v > 0);
	while (n > 0)
		l->buf[l->len++] = digits[--n];
	l->buf[l->len++] = ' ';
}

static char type_letter(uint32_t type)
{
	static const struct {
		uint32_t type;
		char letter;
	} letters[] = { { S_IFREG, 'f' },  { S_IFDIR, 'd' }, { S_IFLNK, 'l' }, { S_IFIFO, 'p' },
			{ S_IFSOCK, 's' }, { S_IFCHR, 'c' }, { S_IFBLK, 'b' } };

	for (size_t i = 0; i < sizeof(letters) / sizeof(letters[0]); i++) {
		if (letters[i].type == type)
			return letters[i].letter;
	}
	return '?';
}

static int flush(struct list *l)
{
	int r = write_all(1, l->buf, l->len);

	l->len = 0;
	return r;
}

/* Return: 1 when there is room for no more. */
static int list_entry(const struct plan_work *w, int dir, const char *name, struct list *l,
		      struct child_report *ret)
{
	struct sys_file_stat st;
	size_t before;
	int r = sys_file_stat(dir, name, AT_SYMLINK_NOFOLLOW, &st);

	if (r == -ENOENT)
		return 0;
	if (r < 0)
		return failed(ret, CHILD_WORK_INPUT, r);
	r = l->len > sizeof(l->buf) - RECORD_MAX ? flush(l) : 0;
	if (r < 0)
		return failed(ret, CHILD_WORK_OUTPUT, r);
	before = l->len;
	l->buf[l->len++] = type_letter(st.id.type);
	l->buf[l->len++] = ' ';
	add_number(l, st.mode);
	add_number(l, st.size);
	add_number(l, st.mtime < 0 ? 0 : (uint64_t)st.mtime);
	for (size_t i = 0; i < 256; i++) {
		l->buf[l->len++] = name[i];
		if (name[i] == '\0')
			break;
	}
	ret->work_bytes += l->len - before;
	if (ret->work_bytes <= w->bytes)
		return 0;
	l->len = before;
	ret->work_cut = 1;
	return 1;
}

static bool is_itself(const char *name)
{
	return name[0] == '.' && (name[1] == '\0' || (name[1] == '.' && name[2] == '\0'));
}

static int list_some(const struct plan_work *w, int dir, struct list *l, struct child_report *ret)
{
	_Alignas(struct linux_dirent64) char buf[WORK_BUF / 2];
	ssize_t n = sys_getdents64(dir, buf, sizeof(buf));

	if (n < 0)
		return failed(ret, CHILD_WORK_INPUT, (int)n);
	for (ssize_t at = 0; at < n;) {
		const struct linux_dirent64 *e = (const void *)(buf + at);
		int r = is_itself(e->d_name) ? 0 : list_entry(w, dir, e->d_name, l, ret);

		if (r != 0)
			return r;
		at += e->d_reclen;
	}
	return n == 0;
}

static int work_list(const struct plan_work *w, struct child_report *ret)
{
	struct list l = { .len = 0 };
	int dir = sys_openat(AT_FDCWD, w->at, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
	int r;

	if (dir < 0)
		return failed(ret, CHILD_WORK_OPEN, dir);
	do {
		r = list_some(w, dir, &l, ret);
	} while (r == 0);
	return r < 0 ? r : failed(ret, CHILD_WORK_OUTPUT, flush(&l));
}

_Noreturn void child_work(const struct child_ctx *ctx, int setup)
{
	struct child_report report = { .kind = CHILD_REPORT_WORK, .step = CHILD_STEP_SPAWN };
	const struct plan_work *w = &ctx->plan->work;
	int r = setup;

	if (r == 0 && w->kind == PLAN_WORK_READ)
		r = work_read(w, &report);
	else if (r == 0 && w->kind == PLAN_WORK_WRITE)
		r = work_write(w, &report);
	else if (r == 0)
		r = work_list(w, &report);
	report.errnum = -r;
	/* Where nobody can be told, the status alone says it. */
	(void)child_send_report(ctx, &report);
	sys_exit_group(r == 0 ? 0 : 1);
}
