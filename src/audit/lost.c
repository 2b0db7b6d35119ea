/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A full disk is the likeliest reason why an outcome cannot be written, so the note about it goes
 * into bytes that were taken from the disk beforehand. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "audit/log.h"
#include "base/fd.h"

_Static_assert(sizeof(struct audit_lost) == 4096, "the file is one page");

/* What the last slot says when more were lost than there are slots. */
#define LOST_MORE "(more)"

static int lost_fail(const struct audit *au, int errnum, const char *what, struct err *err)
{
	return err_set(err, ERR_AUDIT, errnum, "'%s/" AUDIT_LOST_FILE "' %s", au->dir, what);
}

static int slots_read(int fd, struct audit_lost *ret)
{
	ssize_t n = pread(fd, ret, sizeof(*ret), 0);

	if (n < 0)
		return -errno;
	return (size_t)n == sizeof(*ret) ? 0 : -EIO;
}

static bool slots_any(const struct audit_lost *lost)
{
	for (size_t i = 0; i < AUDIT_LOST_SLOTS; i++) {
		if (lost->slot[i][0] != '\0')
			return true;
	}
	return false;
}

/* New, or cut short by a crash while it was made: what is missing is zeros. */
static int lost_fill(const struct audit *au, struct err *err)
{
	static const struct audit_lost zeros;
	struct stat st;
	int r = audit_lock_fd(au->lost_fd, LOCK_EX);

	if (r != 0)
		return lost_fail(au, -r, "cannot be locked", err);
	if (fstat(au->lost_fd, &st) != 0) {
		r = -errno;
	} else if (st.st_size < (off_t)sizeof(zeros)) {
		size_t len = sizeof(zeros) - (size_t)st.st_size;
		ssize_t n = pwrite(au->lost_fd, &zeros, len, st.st_size);

		if (n < 0)
			r = -errno;
		else if ((size_t)n != len)
			r = -ENOSPC;
	}
	(void)flock(au->lost_fd, LOCK_UN);
	return r == 0 ? 0 : lost_fail(au, -r, "cannot be written", err);
}

int audit_lost_open(struct audit *au, struct err *err)
{
	FD_AUTO fd =
		openat(au->dir_fd, AUDIT_LOST_FILE,
		       O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0600);
	struct stat st;

	if (fd < 0 && errno == ELOOP)
		return lost_fail(au, 0, "is a symbolic link; move it away", err);
	if (fd < 0)
		return lost_fail(au, errno, "cannot be opened", err);
	if (fstat(fd, &st) != 0)
		return lost_fail(au, errno, "cannot be looked at", err);
	if (!S_ISREG(st.st_mode) || st.st_uid != au->euid || (st.st_mode & 077) != 0)
		return lost_fail(au, 0,
				 "must be a regular file of the caller's that is closed to others; "
				 "move it away",
				 err);
	au->lost_fd = fd_take(&fd);
	if (st.st_size < (off_t)sizeof(struct audit_lost))
		return lost_fill(au, err);
	return 0;
}

void audit_mark_lost(struct audit *au, const char *request_id)
{
	char slot[AUDIT_LOST_SLOT_SIZE] = { 0 };
	struct audit_lost lost;
	size_t i = 0;

	if (au->opt.no_file || audit_lock_fd(au->lost_fd, LOCK_EX) != 0)
		return;
	if (slots_read(au->lost_fd, &lost) == 0) {
		while (i < AUDIT_LOST_SLOTS - 1 && lost.slot[i][0] != '\0')
			i++;
		if (i == AUDIT_LOST_SLOTS - 1 || request_id == NULL || request_id[0] == '\0')
			request_id = LOST_MORE;
		memcpy(slot, request_id, strnlen(request_id, sizeof(slot) - 1));
		/* One write inside bytes that exist: nothing better is left if it fails. */
		(void)!pwrite(au->lost_fd, slot, sizeof(slot), (off_t)(i * sizeof(slot)));
	}
	(void)flock(au->lost_fd, LOCK_UN);
}

int audit_lost_take(const struct audit *au, struct audit_lost *ret, bool *ret_any, struct err *err)
{
	int r = slots_read(au->lost_fd, ret);

	*ret_any = false;
	if (r != 0)
		return lost_fail(au, -r, "cannot be read", err);
	/* Without the lock: what is marked from now on is the next writer's. */
	if (!slots_any(ret))
		return 0;
	r = audit_lock_fd(au->lost_fd, LOCK_EX);
	if (r != 0)
		return lost_fail(au, -r, "cannot be locked", err);
	r = slots_read(au->lost_fd, ret);
	if (r != 0) {
		(void)flock(au->lost_fd, LOCK_UN);
		return lost_fail(au, -r, "cannot be read", err);
	}
	*ret_any = true;
	return 0;
}

void audit_lost_drop(const struct audit *au, bool clear)
{
	static const struct audit_lost zeros;

	/* Where that fails, the next writer says it again: twice rather than never. */
	if (clear)
		(void)!pwrite(au->lost_fd, &zeros, sizeof(zeros), 0);
	(void)flock(au->lost_fd, LOCK_UN);
}

int audit_lost_add(const struct audit_lost *lost, struct strbuf *out, struct audit_head *head,
		   struct err *err)
{
	for (size_t i = 0; i < AUDIT_LOST_SLOTS; i++) {
		char id[AUDIT_LOST_SLOT_SIZE + 1] = { 0 };
		struct audit_record rec = {
			.event = AUDIT_LOST,
			.request_id = id,
			.reason = "the outcome of this request could not be written",
		};

		memcpy(id, lost->slot[i], AUDIT_LOST_SLOT_SIZE);
		if (id[0] == '\0')
			continue;
		if (strcmp(id, LOST_MORE) == 0) {
			rec.request_id = NULL;
			rec.reason = "outcomes were lost whose requests could not be noted";
		}
		if (audit_line_add(out, &rec, head, err) != 0)
			return -1;
	}
	return 0;
}
