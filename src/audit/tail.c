/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "audit/log.h"

/* Nearly always the last line is in the last page. At worst a cut record R stands after a torn
 * line that stands after the last good record: three lines and the newline before them. */
#define WINDOW_SMALL ((size_t)4096)
#define WINDOW_LARGE (3 * AUDIT_LINE_MAX + 1)

enum judgement {
	TAIL_BAD = 0,
	TAIL_JUDGED,
	TAIL_WINDOW_SMALL, /* a line begins before the window */
};

struct window {
	const char *buf;
	size_t len;
	bool whole;                    /* the window begins where the file begins */
	const struct audit_head *base; /* what went before the file; NULL: nothing */
};

/* Where the line that ends before @end begins. */
static bool line_start(const struct window *w, size_t end, size_t *ret)
{
	const char *nl = end == 0 ? NULL : memrchr(w->buf, '\n', end);

	if (nl == NULL && !w->whole)
		return false;
	*ret = nl == NULL ? 0 : (size_t)(nl - w->buf) + 1;
	return true;
}

static void head_of(const struct audit_line *line, struct audit_head *ret)
{
	ret->seq = line->seq;
	memcpy(ret->sha256, line->sha256, sizeof(ret->sha256));
}

static void torn_of(const struct audit_line *line, struct audit_tail *ret)
{
	ret->torn = true;
	ret->torn_bytes = line->len;
	memcpy(ret->torn_sha256, line->sha256, sizeof(ret->torn_sha256));
}

/* The whole line at @start, which ends before its newline at @end, is no record: it is the
 * beginning of one, closed by a writer that came no further, or the log is damaged. @frag is what
 * follows it. */
static enum judgement judge_closed(const struct window *w, size_t start, size_t end, size_t frag,
				   const struct audit_line *torn, struct audit_tail *ret)
{
	const char *text = w->buf + start;
	struct audit_line good;
	size_t good_start;

	if (end - start >= AUDIT_LINE_MAX)
		return TAIL_BAD;
	if (start > 0) {
		if (!line_start(w, start - 1, &good_start))
			return TAIL_WINDOW_SMALL;
		audit_line_parse(w->buf + good_start, start - 1 - good_start, &good);
		if (!good.valid)
			return TAIL_BAD;
		head_of(&good, &ret->head);
	}
	if (!audit_line_begins(text, end - start, ret->head.seq + 1, ret->head.sha256))
		return TAIL_BAD;
	torn_of(torn, ret);
	if (frag < w->len &&
	    !audit_line_begins(w->buf + frag, w->len - frag, ret->head.seq + 1, torn->sha256))
		return TAIL_BAD;
	ret->keep -= w->len - frag;
	return TAIL_JUDGED;
}

static enum judgement judge(const struct window *w, uint64_t size, struct audit_tail *ret)
{
	struct audit_line line;
	size_t frag, start;

	*ret = (struct audit_tail){ .keep = size };
	audit_head_init(&ret->head);
	if (w->base != NULL)
		ret->head = *w->base;
	if (!line_start(w, w->len, &frag))
		return TAIL_WINDOW_SMALL;
	if (w->len - frag >= AUDIT_LINE_MAX)
		return TAIL_BAD;
	if (frag > 0) {
		if (!line_start(w, frag - 1, &start))
			return TAIL_WINDOW_SMALL;
		audit_line_parse(w->buf + start, frag - 1 - start, &line);
		if (!line.valid)
			return judge_closed(w, start, frag - 1, frag, &line, ret);
		head_of(&line, &ret->head);
	}
	if (frag < w->len) {
		audit_line_parse(w->buf + frag, w->len - frag, &line);
		torn_of(&line, ret);
		ret->newline = true;
	}
	return TAIL_JUDGED;
}

static int read_at(int fd, char *buf, size_t len, uint64_t offset)
{
	ssize_t n = pread(fd, buf, len, (off_t)offset);

	if (n < 0)
		return -errno;
	return (size_t)n == len ? 0 : -EIO;
}

int audit_tail_read(int fd, uint64_t size, const struct audit_head *base, const char *name,
		    struct audit_tail *ret, struct err *err)
{
	static const size_t sizes[] = { WINDOW_SMALL, WINDOW_LARGE };
	enum judgement got = TAIL_WINDOW_SMALL;

	for (size_t i = 0; got == TAIL_WINDOW_SMALL && i < ARRAY_SIZE(sizes); i++) {
		size_t len = size < sizes[i] ? (size_t)size : sizes[i];
		struct arena mem = { .kind = ARENA_HOST };
		char small[WINDOW_SMALL];
		char *buf = len <= sizeof(small) ? small : arena_alloc(&mem, len);
		struct window w = { .buf = buf, .len = len, .whole = len == size, .base = base };
		int r = read_at(fd, buf, len, size - len);

		if (r == 0)
			got = judge(&w, size, ret);
		arena_free(&mem);
		if (r != 0)
			return err_set(err, ERR_AUDIT, -r, "cannot read the audit log '%s'", name);
	}
	if (got != TAIL_JUDGED)
		return err_set(err, ERR_AUDIT, 0,
			       "audit log '%s': the last line is not a record; run `agentbox audit "
			       "verify`, then move the file away (a new one is begun)",
			       name);
	return 0;
}
