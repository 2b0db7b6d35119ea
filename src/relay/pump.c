/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* pump - bytes from one side of a connection to the other, as they come.
 *
 * One buffer for all; only what the other side does not take at once is kept, and nothing more is
 * read until it is gone. So a side that does not read holds the other one up, as it would without
 * us, and what we hold of a connection is bounded. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "base/heap.h"
#include "relay/internal.h"

#define TURNS 16 /* reads, before another connection gets its turn */

#define HALF_IDLE_MS (15ULL * 60 * 1000) /* with one direction closed */

enum pumped {
	PUMP_BROKEN = 0,
	PUMP_WAITS, /* for the one side or the other, or is done */
	PUMP_MORE,  /* could go on */
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

/* One read and what becomes of it. */
static enum pumped pump_read(struct relay *r, struct conn *c, enum conn_side from)
{
	enum conn_side to = from == SIDE_CLIENT ? SIDE_SERVER : SIDE_CLIENT;
	struct half *h = &c->half[from];
	size_t chunk = r->n_blocked < RELAY_BLOCKED_MAX ? RELAY_CHUNK : RELAY_CHUNK_SMALL;
	ssize_t n, m;

	if (!c->rd[from] || !c->wr[to])
		return PUMP_WAITS;
	n = recv(c->fd[from], r->chunk, chunk, MSG_DONTWAIT);
	if (n < 0 && errno == EINTR)
		return PUMP_MORE;
	if (n < 0 && errno == EAGAIN) {
		c->rd[from] = false;
		return PUMP_WAITS;
	}
	if (n < 0)
		return PUMP_BROKEN;
	if (n == 0) {
		h->eof = true;
		return PUMP_MORE;
	}
	m = give(c->fd[to], r->chunk, (size_t)n, &c->wr[to]);
	if (m < 0)
		return PUMP_BROKEN;
	h->bytes += (size_t)m;
	if (m < n)
		half_keep(r, h, r->chunk + m, (size_t)(n - m));
	return PUMP_MORE;
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
	down = up == PUMP_BROKEN ? PUMP_BROKEN : pump_half(r, c, SIDE_SERVER);
	if (up == PUMP_BROKEN || down == PUMP_BROKEN) {
		conn_end(r, i, RELAY_WHY_BROKEN, true);
		return;
	}
	if (c->half[SIDE_CLIENT].shut && c->half[SIDE_SERVER].shut) {
		conn_end(r, i, RELAY_WHY_ALLOWED, false);
		return;
	}
	c->deadline_ms = 0;
	if (c->half[SIDE_CLIENT].shut || c->half[SIDE_SERVER].shut)
		c->deadline_ms = r->now_ms + HALF_IDLE_MS;
	if (up == PUMP_MORE || down == PUMP_MORE)
		conn_again(r, i);
}
