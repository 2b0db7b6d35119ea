/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* publish - connections from outside to ports of the host that lead into the sandbox.
 *
 * The host's listener was made by the supervisor before there was a sandbox; the socket inside
 * comes from the dialer. From then on it is a connection like any other, and its socket inside is
 * the client's side. Programs that listen on 127.0.0.1 are reached, and those that listen on ::1
 * alone. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "relay/publish.h"
#include "sys/net.h"

#define INSIDE_MS 10000 /* for a program inside to be reached */

bool publish_enter(struct relay *r, int ns)
{
	const struct relay_dial first = { 0 };

	return sys_send_fds(r->dialer, &first, sizeof(first), &ns, 1) == 0;
}

void publish_arm(struct relay *r, bool on)
{
	for (uint32_t k = 0; k < r->n_published; k++) {
		struct epoll_event ev = { .events = on ? EPOLLIN : 0,
					  .data.u64 = RELAY_TAG(TAG_PUBLISHED, k) };

		if (r->published[k] >= 0)
			(void)epoll_ctl(r->epoll, EPOLL_CTL_MOD, r->published[k], &ev);
	}
}

void publish_close(struct relay *r)
{
	for (uint32_t k = 0; k < r->n_published; k++)
		fd_close(&r->published[k]);
}

static void peer_of(int fd, struct host_addr *ret)
{
	union {
		struct sockaddr any;
		struct sockaddr_in in;
		struct sockaddr_in6 in6;
	} at = { 0 };
	socklen_t len = sizeof(at);

	if (getpeername(fd, &at.any, &len) != 0)
		return;
	if (at.any.sa_family == AF_INET) {
		ret->family = 4;
		memcpy(ret->bytes, &at.in.sin_addr, 4);
	} else if (at.any.sa_family == AF_INET6) {
		ret->family = 6;
		memcpy(ret->bytes, &at.in6.sin6_addr, 16);
		host_addr_normal(ret);
	}
}

static void ask(struct relay *r, uint32_t i, uint8_t family)
{
	struct conn *c = &r->conns[i];
	struct relay_dial d = { .slot = i, .port = c->target.port, .family = family };

	c->family = family;
	c->serial = d.serial = ++r->serial;
	if (send(r->dialer, &d, sizeof(d), MSG_DONTWAIT | MSG_NOSIGNAL) != (ssize_t)sizeof(d))
		conn_end(r, i, RELAY_WHY_FULL, true);
}

void publish_begin(struct relay *r, uint32_t i, uint16_t inside)
{
	struct conn *c = &r->conns[i];

	c->published = true;
	c->target.addr = (struct host_addr){ .bytes = { 127, 0, 0, 1 }, .family = 4 };
	c->target.port = inside;
	peer_of(c->fd[SIDE_SERVER], &c->peer);
	c->state = CONN_PUBLISH;
	c->deadline_ms = r->now_ms + INSIDE_MS;
	ask(r, i, 4);
}

/* Nobody listens there. */
static void refused(struct relay *r, uint32_t i)
{
	struct conn *c = &r->conns[i];

	fd_close(&c->fd[SIDE_CLIENT]);
	if (c->family == 4)
		ask(r, i, 6);
	else
		conn_end(r, i, RELAY_WHY_UNREACHED, true);
}

static bool is_full(int result)
{
	return result == -EMFILE || result == -ENFILE || result == -ETOOMANYREFS ||
	       result == -ENOBUFS || result == -ENOMEM;
}

static void take_socket(struct relay *r, const struct relay_dial *d, int fd)
{
	const int on = 1;
	struct conn *c;

	if (d->slot >= r->max_conns || r->conns[d->slot].state != CONN_PUBLISH ||
	    r->conns[d->slot].serial != d->serial) {
		fd_close(&fd);
		return;
	}
	c = &r->conns[d->slot];
	c->fd[SIDE_CLIENT] = fd;
	if (fd < 0 && is_full(d->result)) {
		conn_end(r, d->slot, RELAY_WHY_FULL, true);
		return;
	}
	if (fd < 0) {
		refused(r, d->slot);
		return;
	}
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (relay_watch(r, fd, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET,
			RELAY_TAG(TAG_CLIENT, d->slot)) != 0)
		conn_end(r, d->slot, RELAY_WHY_BROKEN, true);
}

/* Return: 1 with an answer, 0 for none now, -1 when the dialer is gone. */
static int answer_recv(struct relay *r, struct relay_dial *ret, int *ret_fd)
{
	union {
		struct cmsghdr head;
		unsigned char space[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec iov = { .iov_base = ret, .iov_len = sizeof(*ret) };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = &control,
			      .msg_controllen = sizeof(control) };
	ssize_t n = recvmsg(r->dialer, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	const struct cmsghdr *c;

	*ret_fd = -1;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n != (ssize_t)sizeof(*ret))
		return -1;
	c = CMSG_FIRSTHDR(&msg);
	if (c != NULL && c->cmsg_type == SCM_RIGHTS && c->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(ret_fd, CMSG_DATA(c), sizeof(int));
	return 1;
}

void publish_answer(struct relay *r)
{
	struct relay_dial d;
	int got, fd;

	while ((got = answer_recv(r, &d, &fd)) == 1) {
		if (r->dialer_ready) {
			take_socket(r, &d, fd);
			continue;
		}
		r->dialer_ready = true;
		relay_ready(r);
	}
	if (got < 0)
		r->closing = true;
}

void publish_event(struct relay *r, uint32_t i, enum conn_side side, uint32_t events)
{
	struct conn *c = &r->conns[i];
	socklen_t len = sizeof(int);
	int err = 0;

	if (side == SIDE_SERVER) {
		/* Who has given up; who only has no more to say waits for an answer. */
		if ((events & (EPOLLHUP | EPOLLERR)) != 0)
			conn_end(r, i, RELAY_WHY_BROKEN, true);
		return;
	}
	if (c->fd[SIDE_CLIENT] < 0 || (events & (EPOLLOUT | EPOLLHUP | EPOLLERR)) == 0)
		return;
	if (getsockopt(c->fd[SIDE_CLIENT], SOL_SOCKET, SO_ERROR, &err, &len) != 0)
		err = errno;
	if (err == 0)
		conn_relay(r, i);
	else
		refused(r, i);
}
