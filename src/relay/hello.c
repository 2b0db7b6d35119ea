/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>

#include "relay/sniff.h"

#define RECORD_HANDSHAKE 22
#define RECORD_HEADER    5
#define RECORD_MAX       16384
#define CLIENT_HELLO     1
#define EXT_SERVER_NAME  0
#define NAME_TYPE_HOST   0

/* The handshake messages, whichever way they are cut into records. */
static enum sniff join_records(const uint8_t *p, size_t len, uint8_t *out, size_t *ret_len)
{
	size_t n = 0;

	while (len > 0) {
		size_t body, want;

		if (p[0] != RECORD_HANDSHAKE || (len > 1 && p[1] != 3))
			return SNIFF_WRONG;
		if (len < RECORD_HEADER)
			break;
		body = (size_t)p[3] << 8 | p[4];
		if (body == 0 || body > RECORD_MAX)
			return SNIFF_WRONG;
		want = len - RECORD_HEADER < body ? len - RECORD_HEADER : body;
		memcpy(out + n, p + RECORD_HEADER, want);
		n += want;
		/* Whatever follows the first message is not for us. */
		if (n >= 4 && n - 4 >= ((size_t)out[1] << 16 | (size_t)out[2] << 8 | out[3]))
			break;
		p += RECORD_HEADER + want;
		len -= RECORD_HEADER + want;
	}
	*ret_len = n;
	return SNIFF_MORE;
}

struct span {
	const uint8_t *p;
	size_t n;
};

/* A vector with its length in @bytes bytes before it. */
static bool take_vector(struct span *s, size_t bytes, struct span *ret)
{
	size_t n = 0;

	if (s->n < bytes)
		return false;
	for (size_t i = 0; i < bytes; i++)
		n = n << 8 | s->p[i];
	if (s->n - bytes < n)
		return false;
	*ret = (struct span){ s->p + bytes, n };
	s->p += bytes + n;
	s->n -= bytes + n;
	return true;
}

static bool skip(struct span *s, size_t n)
{
	if (s->n < n)
		return false;
	s->p += n;
	s->n -= n;
	return true;
}

static enum sniff read_server_name(struct span ext, struct host_target *ret)
{
	struct span list, name;

	if (!take_vector(&ext, 2, &list) || ext.n != 0 || list.n < 1 ||
	    list.p[0] != NAME_TYPE_HOST || !skip(&list, 1) || !take_vector(&list, 2, &name) ||
	    list.n != 0 || hostpat_name((const char *)name.p, name.n, ret->name) != NULL)
		return SNIFF_WRONG;
	return SNIFF_NAME;
}

static enum sniff read_extensions(struct span all, struct host_target *ret)
{
	enum sniff found = SNIFF_NONE;

	while (all.n > 0) {
		struct span body;
		unsigned type;

		if (all.n < 2)
			return SNIFF_WRONG;
		type = (unsigned)all.p[0] << 8 | all.p[1];
		if (!skip(&all, 2) || !take_vector(&all, 2, &body))
			return SNIFF_WRONG;
		if (type != EXT_SERVER_NAME)
			continue;
		/* A second one could be the one that the server reads. */
		if (found != SNIFF_NONE || read_server_name(body, ret) != SNIFF_NAME)
			return SNIFF_WRONG;
		found = SNIFF_NAME;
	}
	return found;
}

static enum sniff read_hello(struct span msg, struct host_target *ret)
{
	struct span session, suites, compression, extensions;

	if (!skip(&msg, 2 + 32) || !take_vector(&msg, 1, &session) ||
	    !take_vector(&msg, 2, &suites) || !take_vector(&msg, 1, &compression))
		return SNIFF_WRONG;
	if (msg.n == 0)
		return SNIFF_NONE;
	if (!take_vector(&msg, 2, &extensions) || msg.n != 0)
		return SNIFF_WRONG;
	return read_extensions(extensions, ret);
}

enum sniff sniff_hello(const uint8_t *p, size_t len, struct host_target *ret)
{
	uint8_t joined[SNIFF_MAX];
	size_t n = 0;
	size_t want;
	enum sniff r;

	*ret = (struct host_target){ 0 };
	if (len > SNIFF_MAX)
		return SNIFF_WRONG;
	if (join_records(p, len, joined, &n) == SNIFF_WRONG)
		return SNIFF_WRONG;
	if (n > 0 && joined[0] != CLIENT_HELLO)
		return SNIFF_WRONG;
	if (n < 4)
		return SNIFF_MORE;
	want = (size_t)joined[1] << 16 | (size_t)joined[2] << 8 | joined[3];
	if (want > SNIFF_MAX - 4)
		return SNIFF_WRONG;
	if (n - 4 < want)
		return len == SNIFF_MAX ? SNIFF_WRONG : SNIFF_MORE;
	r = read_hello((struct span){ joined + 4, want }, ret);
	if (r != SNIFF_NAME)
		ret->name[0] = '\0';
	return r;
}
