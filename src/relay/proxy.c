/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* proxy - the name goes to the proxy as the program asked for it, after the rules were asked; the
 * proxy resolves it, so that where it leads is for the proxy to judge. */
#include "relay/proxy.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/heap.h"

#define PROXY_MS 30000 /* for its answer: it dials meanwhile */
#define HEAD_MAX 8192
#define HEAD_MIN 12 /* HTTP/1.1 200 */

bool proxy_is_for(const struct relay *r, const struct conn *c)
{
	static const struct host_addr lo = { .bytes = { 127 }, .family = 4 };

	return r->config->proxy.host.port != 0 &&
	       (c->name != NULL || !host_addr_in(&c->target.addr, &lo, 8));
}

void proxy_begin(struct relay *r, uint32_t i)
{
	const char *auth = r->config->proxy.auth;
	struct conn *c = &r->conns[i];
	char text[HOSTPAT_TEXT_SIZE];
	char ask[2 * HOSTPAT_TEXT_SIZE + RELAY_AUTH_SIZE + 128];
	int n;

	(void)hostpat_target_text(&c->target, text);
	n = snprintf(ask, sizeof(ask), "CONNECT %s HTTP/1.1\r\nHost: %s\r\n%s%s%s\r\n", text, text,
		     auth[0] != '\0' ? "Proxy-Authorization: " : "", auth,
		     auth[0] != '\0' ? "\r\n" : "");
	/* All of it: nothing was sent on this socket yet. */
	if (n < 0 || (size_t)n >= sizeof(ask) ||
	    send(c->fd[SIDE_SERVER], ask, (size_t)n, MSG_DONTWAIT | MSG_NOSIGNAL) != n) {
		conn_refuse(r, i, RELAY_WHY_NO_PROXY);
		return;
	}
	c->state = CONN_PROXY;
	c->deadline_ms = r->now_ms + PROXY_MS;
	/* What comes after the answer is the other side's already. */
	c->half[SIDE_SERVER].buf = heap_alloc(HEAD_MAX, 1);
	r->n_blocked++;
	conn_again(r, i);
}

/* Return: 0 for more, -1 for no answer of HTTP, else the status, with where it ends. */
static int read_head(const uint8_t *p, size_t n, size_t *ret_end)
{
	static const char version[] = "HTTP/1.";
	const uint8_t *end = memmem(p, n, "\r\n\r\n", 4);
	int status = 0;

	if (n >= sizeof(version) - 1 && memcmp(p, version, sizeof(version) - 1) != 0)
		return -1;
	if (end == NULL)
		return n == HEAD_MAX ? -1 : 0;
	*ret_end = (size_t)(end - p) + 4;
	if (*ret_end < HEAD_MIN || p[8] != ' ')
		return -1;
	for (size_t i = 9; i < HEAD_MIN; i++) {
		if (p[i] < '0' || p[i] > '9')
			return -1;
		status = status * 10 + (p[i] - '0');
	}
	return status < 100 ? -1 : status;
}

static void judge(struct relay *r, uint32_t i, int status, size_t end)
{
	struct conn *c = &r->conns[i];
	struct half *h = &c->half[SIDE_SERVER];

	if (status == 0) {
		conn_again(r, i);
		return;
	}
	if (status < 0) {
		conn_refuse(r, i, RELAY_WHY_NO_PROXY);
		return;
	}
	if (status < 200 || status > 299) {
		c->status = (uint16_t)status;
		conn_refuse(r, i, RELAY_WHY_PROXY);
		return;
	}
	h->off = end;
	h->len -= end;
	if (h->len == 0)
		half_free(r, h);
	conn_relay(r, i);
}

void proxy_turn(struct relay *r, uint32_t i)
{
	struct conn *c = &r->conns[i];
	struct half *h = &c->half[SIDE_SERVER];
	size_t end = 0;
	ssize_t n;
	int status;

	n = recv(c->fd[SIDE_SERVER], h->buf + h->len, HEAD_MAX - h->len, MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		conn_refuse(r, i, RELAY_WHY_NO_PROXY);
		return;
	}
	h->len += (size_t)n;
	status = read_head(h->buf, h->len, &end);
	judge(r, i, status, end);
}
