/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* read - the lines of a log for who looks at it, over all its files.
 *
 * A log is the file that is written, AUDIT_FILE, and those that were put aside before it, each by
 * the number of its last record: audit-NUMBER.jsonl, twenty digits, so that names sort as the chain
 * goes. Such a file never changes again. */
#pragma once

#include <limits.h>

#include "audit/audit.h"

struct audit_file {
	char name[NAME_MAX + 1];
	uint64_t last; /* the number in the name */
};

typedef ARRAY_OF(struct audit_file) audit_files;

/* audit_files_aside() - the files put aside in a directory, in order. @dir_fd may be O_PATH.
 * Return: 0 or -errno. */
MUST_CHECK int audit_files_aside(struct arena *a, int dir_fd, audit_files *ret);
/* audit_aside_name() - of a file whose last record is @last. */
void audit_aside_name(uint64_t last, char ret[NAME_MAX + 1]);

struct audit_reader; /* opaque */

/* audit_read_dir() - the log of a state directory. @follow: audit_read_wait() will be used, and a
 * log that is not there yet is waited for. No lock is taken: writers are not kept. */
MUST_CHECK int audit_read_dir(struct arena *a, const char *dir, bool follow,
			      struct audit_reader **ret, struct err *err);
/* audit_read_file() - one file by itself. */
MUST_CHECK int audit_read_file(struct arena *a, const char *path, struct audit_reader **ret,
			       struct err *err);
/* audit_read_next() - a whole line, without its newline; it need not be a record. @ret is borrowed
 * until the next call.
 * Return: 1, 0 for no more (yet), or -1. */
MUST_CHECK int audit_read_next(struct audit_reader *r, const char **ret, size_t *ret_len,
			       struct err *err);
/* audit_read_wait() - until there may be more. @out: a pipe that is written to.
 * Return: 1, 0 when nobody reads from @out any more, or -1. */
MUST_CHECK int audit_read_wait(struct audit_reader *r, int out, struct err *err);
void audit_read_close(struct audit_reader *r);
