/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* requests - where one request on a connection ends and the next begins, as every server must see
 * it that follows RFC 9112. What could be seen in two ways ends the connection: a request that
 * hides in what is a body to us would be one that was not looked at. */
#include <string.h>

#include "relay/sniff.h"

#define CHUNK_DIGITS 15 /* no overflow */
#define WORD_MAX     64 /* holds any method */

struct input {
	const uint8_t *p;
	size_t n;
};

enum taken {
	TAKEN_WRONG = 0,
	TAKEN_MORE, /* not all there yet */
	TAKEN_SOME, /* *ret bytes */
};

static enum taken take_head(struct requests *q, const char *host, struct input in, size_t *ret)
{
	size_t from = q->seen < 3 ? 0 : q->seen - 3;
	size_t most = in.n < SNIFF_MAX ? in.n : SNIFF_MAX;
	struct host_target said;
	struct head_body body;

	/* From the beginning only when its end is there; until then its first word will do. */
	if (q->seen > 0 && memmem(in.p + from, most - from, "\r\n\r\n", 4) == NULL) {
		q->seen = most;
		if (most == SNIFF_MAX)
			return TAKEN_WRONG;
		return sniff_request(in.p, most < WORD_MAX ? most : WORD_MAX, &said, &body) ==
				       SNIFF_WRONG
			       ? TAKEN_WRONG
			       : TAKEN_MORE;
	}
	switch (sniff_request(in.p, most, &said, &body)) {
	case SNIFF_MORE:
		q->seen = most;
		return TAKEN_MORE;
	case SNIFF_NAME:
		break;
	case SNIFF_WRONG:
	case SNIFF_NONE:
		return TAKEN_WRONG;
	}
	if (strcmp(said.name, host) != 0)
		return TAKEN_WRONG;
	q->seen = 0;
	q->left = body.length;
	q->chunked = body.chunked;
	/* Only the first one: after it the server's first bytes are the answer to it. */
	if (body.websocket && !q->later && body.length == 0 && !body.chunked)
		q->state = REQUESTS_UPGRADE;
	else if (body.chunked)
		q->state = REQUESTS_CHUNK;
	else if (body.length > 0)
		q->state = REQUESTS_BODY;
	q->later = true;
	*ret = body.end;
	return TAKEN_SOME;
}

static int digit(uint8_t c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Its size alone: an extension is nothing that a client needs. */
static enum taken take_chunk(struct requests *q, struct input in, size_t *ret)
{
	uint64_t size = 0;
	size_t i = 0;

	while (i < in.n && i < CHUNK_DIGITS && digit(in.p[i]) >= 0)
		size = size << 4 | (uint64_t)digit(in.p[i++]);
	if (i == in.n)
		return TAKEN_MORE;
	if (i == 0 || in.p[i] != '\r')
		return TAKEN_WRONG;
	if (i + 1 == in.n)
		return TAKEN_MORE;
	if (in.p[i + 1] != '\n')
		return TAKEN_WRONG;
	q->left = size;
	q->state = size > 0 ? REQUESTS_BODY : REQUESTS_LAST;
	*ret = i + 2;
	return TAKEN_SOME;
}

static enum taken take_end(struct requests *q, struct input in, size_t *ret)
{
	if (in.p[0] != '\r')
		return TAKEN_WRONG;
	if (in.n == 1)
		return TAKEN_MORE;
	if (in.p[1] != '\n')
		return TAKEN_WRONG;
	q->state = q->state == REQUESTS_LAST ? REQUESTS_HEAD : REQUESTS_CHUNK;
	*ret = 2;
	return TAKEN_SOME;
}

static enum taken take_body(struct requests *q, struct input in, size_t *ret)
{
	*ret = q->left < in.n ? (size_t)q->left : in.n;
	q->left -= *ret;
	if (q->left == 0)
		q->state = q->chunked ? REQUESTS_CHUNK_END : REQUESTS_HEAD;
	return TAKEN_SOME;
}

static enum taken take(struct requests *q, const char *host, struct input in, size_t *ret)
{
	switch (q->state) {
	case REQUESTS_HEAD:
		return take_head(q, host, in, ret);
	case REQUESTS_BODY:
		return take_body(q, in, ret);
	case REQUESTS_CHUNK:
		return take_chunk(q, in, ret);
	case REQUESTS_CHUNK_END:
	case REQUESTS_LAST:
		return take_end(q, in, ret);
	case REQUESTS_UPGRADE:
		break;
	}
	return TAKEN_MORE;
}

bool requests_take(struct requests *q, const char *host, const uint8_t *p, size_t n, size_t *ret)
{
	size_t at = 0;

	*ret = 0;
	while (at < n) {
		size_t more = 0;
		enum taken got = take(q, host, (struct input){ p + at, n - at }, &more);

		if (got == TAKEN_WRONG)
			return false;
		if (got == TAKEN_MORE)
			break;
		at += more;
	}
	*ret = at;
	return true;
}
