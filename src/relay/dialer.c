/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* dialer - makes the sockets inside for what comes from outside to a published port.
 *
 * The relay has no right to enter a namespace, and a socket belongs to that of the process that
 * makes it. So this process enters the sandbox's network, gives up everything else, and hands out
 * sockets that connect to the sandbox's own loopback addresses and to nothing else. No process of
 * the sandbox can name it: it is outside of its pid namespace. */
#include <errno.h>
#include <linux/nsfs.h>
#include <netinet/in.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "relay/publish.h"
#include "sys/net.h"

static int recv_ns(int fd)
{
	union {
		struct cmsghdr head;
		unsigned char space[CMSG_SPACE(sizeof(int))];
	} control;
	struct relay_dial first;
	struct iovec iov = { .iov_base = &first, .iov_len = sizeof(first) };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = &control,
			      .msg_controllen = sizeof(control) };
	const struct cmsghdr *c;
	int ns = -1;

	if (recvmsg(fd, &msg, MSG_CMSG_CLOEXEC) != (ssize_t)sizeof(first))
		return -EPROTO;
	c = CMSG_FIRSTHDR(&msg);
	if (c == NULL || c->cmsg_type != SCM_RIGHTS || c->cmsg_len != CMSG_LEN(sizeof(ns)))
		return -EPROTO;
	memcpy(&ns, CMSG_DATA(c), sizeof(ns));
	return ns;
}

/* Root may enter as it is. For anybody else the right to comes with the user namespace, which is
 * the caller's own; its ids may not be mapped yet, and none is needed. */
static int enter(int ns)
{
	FD_AUTO user = -1;

	if (setns(ns, CLONE_NEWNET) == 0)
		return 0;
	if (errno != EPERM)
		return -errno;
	user = ioctl(ns, NS_GET_USERNS);
	if (user < 0 || setns(user, CLONE_NEWUSER) != 0 || setns(ns, CLONE_NEWNET) != 0)
		return -errno;
	return 0;
}

static int dial(const struct relay_dial *d)
{
	const struct sockaddr_in in = { .sin_family = AF_INET,
					.sin_port = htons(d->port),
					.sin_addr = { htonl(INADDR_LOOPBACK) } };
	const struct sockaddr_in6 in6 = { .sin6_family = AF_INET6,
					  .sin6_port = htons(d->port),
					  .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	int fd, r;

	fd = socket(d->family == 4 ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
		    0);
	if (fd < 0)
		return -errno;
	r = d->family == 4 ? connect(fd, (const struct sockaddr *)&in, sizeof(in))
			   : connect(fd, (const struct sockaddr *)&in6, sizeof(in6));
	if (r == 0 || errno == EINPROGRESS)
		return fd;
	r = -errno;
	fd_close(&fd);
	return r;
}

void dialer_serve(int fd, const struct relay_config *c, int (*become)(const struct relay_config *c))
{
	struct relay_dial d = { 0 };
	FD_AUTO ns = recv_ns(fd);

	if (ns < 0 || enter(ns) != 0 || become(c) != 0)
		return;
	fd_close(&ns);
	if (isolate_dialer() != 0 || sys_send_fds(fd, &d, sizeof(d), NULL, 0) != 0)
		return;
	while (recv(fd, &d, sizeof(d), 0) == (ssize_t)sizeof(d)) {
		FD_AUTO made = dial(&d);
		int r = made;

		d.result = 0;
		if (made >= 0)
			r = sys_send_fds(fd, &d, sizeof(d), &made, 1);
		if (r == 0 && made >= 0)
			continue;
		/* One too many, of descriptors that are open or (ETOOMANYREFS) under way. */
		d.result = r;
		if (sys_send_fds(fd, &d, sizeof(d), NULL, 0) != 0)
			return;
	}
}
