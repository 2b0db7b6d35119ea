/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* log - what the files of audit/ share, and no one else includes.
 *
 * A line is counted with its newline: at most AUDIT_LINE_MAX bytes. `text` and `len` of a
 * line are without it.
 *
 * Torn lines. A write can be cut anywhere by a crash, so that the log may end in a fragment. The
 * next writer closes it with a newline and appends a record R with
 *   event "recovered", bytes = length of the fragment, sha256 = prev = digest of the fragment,
 *   seq = seq of the last good record + 1.
 * The fragment is no record, even where its text happens to be one: it takes no seq. A reader
 * accepts a line that does not continue the chain only when the next line is such an R.
 * The write of R can be cut too:
 *   right after the newline: the log ends in a whole line that is the beginning of a record. It is
 *     closed like a fragment (where its text is a record, it simply counts as one);
 *   within R: a beginning of R, which says nothing that is not known, is cut off and R is
 *     written again. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "audit/audit.h"
#include "base/strbuf.h"

struct audit {
	int dir_fd;  /* O_PATH, the state directory */
	int fd;      /* the log; O_APPEND */
	int lost_fd; /* audit.lost */
	uid_t euid;
	dev_t dev; /* of fd */
	ino_t ino;
	struct arena mem; /* holds this very struct too */
	struct audit_options opt;
	const char *dir; /* only for messages */
	/* What we wrote last: when the log ends there still, its end need not be read again. */
	uint64_t wrote_size; /* of the file; 0: nothing yet */
	struct audit_head wrote_head;
};

/* audit_log_open() - open the log below au->dir_fd in place of the one that is open. */
MUST_CHECK int audit_log_open(struct audit *au, struct err *err);

/* audit_lock_fd() - flock(2) with @op (LOCK_EX or LOCK_SH), waiting at most 10 s.
 * Return: 0, -ETIMEDOUT, or -errno. */
MUST_CHECK int audit_lock_fd(int fd, int op);

/* line.c */

struct audit_line {
	bool valid; /* a record; what follows but len and sha256 is only set then */
	size_t len;
	char sha256[SHA256_HEX_SIZE];
	uint64_t seq;
	char prev[SHA256_HEX_SIZE];
	bool rotated;
	bool recovered;
	uint64_t torn_bytes; /* of a recovered record: the fragment that it closes */
	char torn_sha256[SHA256_HEX_SIZE];
};

void audit_line_parse(const char *text, size_t len, struct audit_line *ret);

/* audit_head_init() - the head of an empty log: seq 0, 64 zeros. */
void audit_head_init(struct audit_head *head);

/* audit_line_begins() - could @text, or the beginning of it, be the record that follows @head
 * with @prev as its prev? Compares what is there of the keys v, seq and prev. */
bool audit_line_begins(const char *text, size_t len, uint64_t seq, const char *prev);

/* audit_line_add() - append the line of @rec to @out, following @head, which moves on to it.
 * The prev of the record is head->sha256. A record that is too long is shortened: its longest
 * values become {"truncated": true, "sha256", "bytes"} of their compact JSON text. */
MUST_CHECK int audit_line_add(struct strbuf *out, const struct audit_record *rec,
			      struct audit_head *head, struct err *err);

/* tail.c */

struct audit_tail {
	struct audit_head head; /* last good record */
	uint64_t keep;          /* bytes of the file to keep; less than its size only for a cut R */
	bool torn;              /* a recovered record must follow */
	bool newline;           /* ... after a newline */
	uint64_t torn_bytes;
	char torn_sha256[SHA256_HEX_SIZE];
};

/* audit_tail_read() - judge the end of a file of @size bytes that begins after @base (NULL: the log
 * begins with it). @name is only for messages. */
MUST_CHECK int audit_tail_read(int fd, uint64_t size, const struct audit_head *base,
			       const char *name, struct audit_tail *ret, struct err *err);

/* rotate.c */

/* audit_rotate_base() - how the newest file put aside ends: what the file that is written goes on
 * from; as audit_head_init() without one. @dir is only for messages, @ret_name the file's name. */
MUST_CHECK int audit_rotate_base(int dir_fd, const char *dir, struct audit_head *ret,
				 char ret_name[NAME_MAX + 1], struct err *err);
/* audit_rotate() - put the file that is open, and locked, aside; its last record is @last.
 * Return: 1, 0 where its directory is not the caller's to rename in, or -1. */
MUST_CHECK int audit_rotate(const struct audit *au, uint64_t last, struct err *err);

/* sinks.c */

/* audit_sinks_check() - each can be written to, and was not opened by this program. */
MUST_CHECK int audit_sinks_check(const struct audit_options *opt, struct err *err);
/* audit_sinks_write() - whole lines, to each; waits a while for one that has no room. */
MUST_CHECK int audit_sinks_write(const struct audit_options *opt, const struct strbuf *lines,
				 struct err *err);

/* lost.c */

#define AUDIT_LOST_FILE      "audit.lost"
#define AUDIT_LOST_SLOTS     64
#define AUDIT_LOST_SLOT_SIZE 64

struct audit_lost {
	char slot[AUDIT_LOST_SLOTS][AUDIT_LOST_SLOT_SIZE]; /* empty: first byte 0 */
};

/* audit_lost_open() - open audit.lost and make it whole. */
MUST_CHECK int audit_lost_open(struct audit *au, struct err *err);

/* audit_lost_take() - read the slots. *ret_any: there is one that is not empty; audit.lost is
 * then locked until audit_lost_drop(). */
MUST_CHECK int audit_lost_take(const struct audit *au, struct audit_lost *ret, bool *ret_any,
			       struct err *err);
/* audit_lost_drop() - unlock; @clear empties the slots first. */
void audit_lost_drop(const struct audit *au, bool clear);
/* audit_lost_add() - append one line for each slot that is not empty. */
MUST_CHECK int audit_lost_add(const struct audit_lost *lost, struct strbuf *out,
			      struct audit_head *head, struct err *err);
