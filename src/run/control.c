/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "run/control.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "base/fd.h"
#include "sys/sock.h"

int control_send(int fd, enum child_order_kind kind, uint32_t arg)
{
	struct child_order order = { .kind = (uint32_t)kind, .arg = arg };
	ssize_t n;

	do {
		/* Never waits: an init that does not read is dealt with by deadlines. */
		n = send(fd, &order, sizeof(order), MSG_NOSIGNAL | MSG_DONTWAIT);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	return n == (ssize_t)sizeof(order) ? 0 : -EPROTO;
}

int control_send_passed(int fd, enum child_order_kind kind, int passed)
{
	struct child_order order = { .kind = (uint32_t)kind };
	ssize_t n = sys_send_fd(fd, &order, sizeof(order), passed);

	if (n < 0)
		return (int)n;
	return n == (ssize_t)sizeof(order) ? 0 : -EPROTO;
}

/* @n: what recv(2) said. */
static int control_check(ssize_t n, const struct child_report *ret)
{
	if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
		return 0;
	if (n < 0)
		return errno == ECONNRESET ? -EPIPE : -errno;
	if (n == 0)
		return -EPIPE;
	if (n != (ssize_t)sizeof(*ret) || ret->kind == CHILD_REPORT_NONE ||
	    ret->kind > CHILD_REPORT_EXITED)
		return -EPROTO;
	return 1;
}

int control_recv(int fd, struct child_report *ret)
{
	ssize_t n;

	memset(ret, 0, sizeof(*ret));
	do {
		/* No room for control data: a descriptor that was sent along is not received. */
		n = recv(fd, ret, sizeof(*ret), MSG_DONTWAIT | MSG_TRUNC);
	} while (n < 0 && errno == EINTR);
	return control_check(n, ret);
}

/* The one descriptor of a message, or -1. There is room for a second one, by the alignment. */
static int take_one(const struct msghdr *msg)
{
	const struct cmsghdr *c = CMSG_FIRSTHDR(msg);
	int fds[2] = { -1, -1 };
	size_t len;

	if (c == NULL || c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
		return -1;
	len = c->cmsg_len - CMSG_LEN(0);
	memcpy(fds, CMSG_DATA(c), len < sizeof(fds) ? len : sizeof(fds));
	if (fds[1] < 0)
		return fds[0];
	fd_close(&fds[0]);
	fd_close(&fds[1]);
	return -1;
}

int control_recv_terminal(int fd, struct child_report *ret, int *ret_fd)
{
	struct iovec iov = { .iov_base = ret, .iov_len = sizeof(*ret) };
	_Alignas(struct cmsghdr) char room[CMSG_SPACE(sizeof(int))] = { 0 };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = room,
			      .msg_controllen = sizeof(room) };
	FD_AUTO got = -1;
	ssize_t n;
	int r;

	*ret_fd = -1;
	memset(ret, 0, sizeof(*ret));
	do {
		n = recvmsg(fd, &msg, MSG_DONTWAIT | MSG_TRUNC | MSG_CMSG_CLOEXEC);
	} while (n < 0 && errno == EINTR);
	r = control_check(n, ret);
	if (n < 0)
		return r;
	got = take_one(&msg);
	if (r != 1)
		return r;
	if ((ret->kind == CHILD_REPORT_TERMINAL) != (got >= 0) || (msg.msg_flags & MSG_CTRUNC) != 0)
		return -EPROTO;
	*ret_fd = fd_take(&got);
	return 1;
}
