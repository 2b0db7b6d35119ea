/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "run/control.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

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

int control_recv(int fd, struct child_report *ret)
{
	ssize_t n;

	memset(ret, 0, sizeof(*ret));
	do {
		n = recv(fd, ret, sizeof(*ret), MSG_DONTWAIT | MSG_TRUNC);
	} while (n < 0 && errno == EINTR);
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
