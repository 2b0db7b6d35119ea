/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* pump - bytes from one side of a connection to the other, as they come.
 *
 * One buffer for all, and one pipe through which pages go from socket to socket while there is
 * much: what is copied twice less by us leaves the time to those who talk. Little goes faster by
 * the buffer, and holds no page for a few bytes. Only what the other side does not take at once is
 * kept, and nothing more is read until it is gone. So a side that does not read holds the other one
 * up, as it would without us, and what we hold of a connection is bounded. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/heap.h"
#include "relay/http.h"
#include "relay/internal.h"

#define TURNS 16 /* reads, before another connection gets its turn */

#define BULK_MIN ((size_t)64 * 1024) /* of one read: where more of that kind is to be expected */

#define HALF_IDLE_MS (15ULL * 60 * 1000) /* with one direction closed */

enum pumped {
	PUMP_BROKEN = 0,
	PUMP_REFUSED, /* another host is named */
	PUMP_WAITS,   /* for the one side or the other, or is done */
	PUMP_MORE,    /* could go on */
};

void half_free(struct relay *r, struct half *h)
{
	if (h->buf == NULL)
		return;
	heap_free(h->buf);
	h->buf = NULL;
	h->off = 0;
	h->len = 0;
	r->n_blocked--;
}

static void half_keep(struct relay *r, struct half *h, const uint8_t *p, size_t n)
{
	h->buf = heap_alloc(n, 1);
	memcpy(h->buf, p, n);
	h->off = 0;
	h->len = n;
	r->n_blocked++;
}

/* Return: what was taken, 0 with *wr off, or -errno. */
static ssize_t give(int fd, const uint8_t *p, size_t n, bool *wr)
{
	ssize_t m = send(fd, p, n, MSG_DONTWAIT | MSG_NOSIGNAL);

	if (m >= 0)
		return m;
	if (errno != EAGAIN && errno != EINTR)
		return -errno;
	*wr = *wr && errno == EINTR;
	return 0;
}

static enum pumped pump_kept(struct relay *r, struct conn *c, enum conn_side from)
{
	enum conn_side to = from == SIDE_CLIENT ? SIDE_SERVER : SIDE_CLIENT;
	struct half *h = &c->half[from];

	while (h->len > 0 && c->wr[to]) {
		ssize_t m = give(c->fd[to], h->buf + h->off, h->len, &c->wr[to]);

		if (m < 0)
			return PUMP_BROKEN;
		h->off += (size_t)m;
		h->len -= (size_t)m;
		h->bytes += (size_t)m;
	}
	if (h->len > 0)
		return PUMP_WAITS;
	half_free(r, h);
	return PUMP_MORE;
}

/* What @n says of the side that was read from; PUMP_MORE: there are so many bytes, or its end. */
static enum pumped pump_got(struct conn *c, enum conn_side from, ssize_t n)
{
	if (n > 0)
		return PUMP_MORE;
	if (n == 0) {
		c->half[from].eof = true;
		return PUMP_MORE;
	}
	if (errno == EINTR)
		return PUMP_MORE;
	if (errno != EAGAIN)
		return PUMP_BROKEN;
	c->rd[from] = false;
	return PUMP_WAITS;
}

/* What goes on of the buffer's first @n bytes. */
static enum pumped pump_give(struct relay *r, struct conn *c, enum conn_side from, size_t n)
{
	enum conn_side to = from == SIDE_CLIENT ? SIDE_SERVER : SIDE_CLIENT;
	struct half *h = &c->half[from];
	ssize_t m = n > 0 ? give(c->fd[to], r->chunk, n, &c->wr[to]) : 0;

	if (m < 0)
		return PUMP_BROKEN;
	h->bytes += (size_t)m;
	if ((size_t)m < n)
		half_keep(r, h, r->chunk + m, n - (size_t)m);
	return PUMP_MORE;
}

/* By way of the buffer, and only what names the host of the connection. */
static enum pumped pump_requests(struct relay *r, struct conn *c)
{
	struct http *h = c->http;
	size_t chunk = r->n_blocked < RELAY_BLOCKED_MAX ? RELAY_CHUNK : RELAY_CHUNK_SMALL;
	size_t held = h->n_held, n = 0;

	if (held > 0)
		memcpy(r->chunk, h->held, held);
	/* It is less than SNIFF_MAX then. */
	if (!h->again) {
		size_t room = chunk < RELAY_CHUNK - held ? chunk : RELAY_CHUNK - held;
		ssize_t got = recv(c->fd[SIDE_CLIENT], r->chunk + held, room, MSG_DONTWAIT);

		if (got <= 0)
			return pump_got(c, SIDE_CLIENT, got);
		n = (size_t)got;
	}
	h->again = false;
	if (!http_take(c, r->chunk, held + n, &n))
		return PUMP_REFUSED;
	return pump_give(r, c, SIDE_CLIENT, n);
}

/* By way of the buffer. */
static enum pumped pump_copy(struct relay *r, struct conn *c, enum conn_side from)
{
	size_t chunk = r->n_blocked < RELAY_BLOCKED_MAX ? RELAY_CHUNK : RELAY_CHUNK_SMALL;
	ssize_t n = recv(c->fd[from], r->chunk, chunk, MSG_DONTWAIT);

	if (n <= 0)
		return pump_got(c, from, n);
	c->half[from].bulk = (size_t)n >= BULK_MIN;
	if (from == SIDE_SERVER)
		http_answer(c, r->chunk, (size_t)n);
	return pump_give(r, c, from, (size_t)n);
}

/* What is left in the pipe, @n bytes, goes into the buffer: the next one finds it empty. */
static bool pipe_empty(struct relay *r, size_t n)
{
	for (size_t got = 0; got < n;) {
		ssize_t m = read(r->pipe[0], r->chunk + got, n - got);

		if (m <= 0 && errno != EINTR)
			return false;
		got += m > 0 ? (size_t)m : 0;
	}
	return true;
}

/* By way of the pipe. */
static enum pumped pump_pages(struct relay *r, struct conn *c, enum conn_side from)
{
	enum conn_side to = from == SIDE_CLIENT ? SIDE_SERVER : SIDE_CLIENT;
	struct half *h = &c->half[from];
	ssize_t n = splice(c->fd[from], NULL, r->pipe[1], NULL, RELAY_CHUNK, SPLICE_F_NONBLOCK);
	size_t left = n > 0 ? (size_t)n : 0;
	bool broken = false;

	if (n <= 0)
		return pump_got(c, from, n);
	h->bulk = (size_t)n >= BULK_MIN;
	while (left > 0 && c->wr[to] && !broken) {
		ssize_t m = splice(r->pipe[0], NULL, c->fd[to], NULL, left, SPLICE_F_NONBLOCK);

		if (m > 0) {
			h->bytes += (size_t)m;
			left -= (size_t)m;
		} else if (m < 0 && errno == EAGAIN) {
			c->wr[to] = false;
		} else {
			broken = m == 0 || errno != EINTR;
		}
	}
	if (left > 0 && !pipe_empty(r, left))
		broken = true;
	if (left > 0 && !broken)
		half_keep(r, h, r->chunk, left);
	return broken ? PUMP_BROKEN : PUMP_MORE;
}

/* One read and what becomes of it. */
static enum pumped pump_read(struct relay *r, struct conn *c, enum conn_side from)
{
	enum conn_side to = from == SIDE_CLIENT ? SIDE_SERVER : SIDE_CLIENT;

	if (from == SIDE_CLIENT && c->http != NULL) {
		if (!c->wr[to] || http_waits(c) || (!c->rd[from] && !c->http->again))
			return PUMP_WAITS;
		return pump_requests(r, c);
	}
	if (!c->rd[from] || !c->wr[to])
		return PUMP_WAITS;
	if (c->half[from].bulk && !http_waits(c) && r->pipe[0] >= 0 &&
	    r->n_blocked < RELAY_BLOCKED_MAX)
		return pump_pages(r, c, from);
	return pump_copy(r, c, from);
}

static enum pumped pump_half(struct relay *r, struct conn *c, enum conn_side from)
{
	enum conn_side to = from == SIDE_CLIENT ? SIDE_SERVER : SIDE_CLIENT;
	struct half *h = &c->half[from];

	for (int i = 0; i < TURNS; i++) {
		enum pumped p = PUMP_MORE;

		if (h->buf != NULL)
			p = pump_kept(r, c, from);
		if (p == PUMP_MORE && h->eof) {
			/* Where the other side is gone, its own direction says so. */
			if (!h->shut)
				(void)shutdown(c->fd[to], SHUT_WR);
			h->shut = true;
			return PUMP_WAITS;
		}
		if (p == PUMP_MORE)
			p = pump_read(r, c, from);
		if (p != PUMP_MORE)
			return p;
	}
	return PUMP_MORE;
}

void pump_turn(struct relay *r, uint32_t i)
{
	struct conn *c = &r->conns[i];
	enum pumped up, down;

	up = pump_half(r, c, SIDE_CLIENT);
	down = up == PUMP_BROKEN || up == PUMP_REFUSED ? PUMP_BROKEN : pump_half(r, c, SIDE_SERVER);
	if (up == PUMP_BROKEN || up == PUMP_REFUSED || down == PUMP_BROKEN) {
		conn_end(r, i, up == PUMP_REFUSED ? RELAY_WHY_OTHER_NAME : RELAY_WHY_BROKEN, true);
		return;
	}
	if (c->half[SIDE_SERVER].eof)
		http_answer(c, NULL, 0);
	if (c->half[SIDE_CLIENT].shut && c->half[SIDE_SERVER].shut) {
		conn_end(r, i, RELAY_WHY_ALLOWED, false);
		return;
	}
	c->deadline_ms = 0;
	if (c->half[SIDE_CLIENT].shut || c->half[SIDE_SERVER].shut)
		c->deadline_ms = r->now_ms + HALF_IDLE_MS;
	if (up == PUMP_MORE || down == PUMP_MORE ||
	    (c->http != NULL && c->http->again && c->wr[SIDE_SERVER]))
		conn_again(r, i);
}
