/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "relay/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "plan/plan.h"
#include "sys/net.h"

#define BACKLOG 1024

/* Return: a listener, or -errno. */
static int listen_one(const struct profile_publish *p)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(p->port) };
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6, .sin6_port = htons(p->port) };
	bool v4 = p->addr.family == 4;
	const int on = 1;
	FD_AUTO fd = socket(v4 ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -errno;
	memcpy(&in.sin_addr, p->addr.bytes, 4);
	memcpy(&in6.sin6_addr, p->addr.bytes, 16);
	/* Connections of an earlier run that have just ended are no obstacle; another listener is.
	 */
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0 ||
	    (!v4 && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on)) != 0) ||
	    (v4 ? bind(fd, (const struct sockaddr *)&in, sizeof(in))
		: bind(fd, (const struct sockaddr *)&in6, sizeof(in6))) != 0 ||
	    listen(fd, BACKLOG) != 0)
		return -errno;
	return fd_take(&fd);
}

static const char *remedy(int errnum)
{
	switch (errnum) {
	case EADDRINUSE:
		return ": another program listens there; end it, or name another port, as in "
		       "9080:8080";
	case EACCES:
		return ": ports of this kind are for root alone; name one from 1024 on";
	case EADDRNOTAVAIL:
		return ": it is no address of this host";
	default:
		return "";
	}
}

static int fail(const struct profile_publish *p, int errnum, struct err *err)
{
	char addr[INET6_ADDRSTRLEN] = "";
	bool v4 = p->addr.family == 4;

	(void)inet_ntop(v4 ? AF_INET : AF_INET6, p->addr.bytes, addr, sizeof(addr));
	(void)err_set_at(err, ERR_HOST, p->pos.file, p->pos.line, p->pos.col,
			 v4 ? "'publish': cannot listen on %s:%u: %s%s"
			    : "'publish': cannot listen on [%s]:%u: %s%s",
			 addr, p->port, strerror(errnum), remedy(errnum));
	err->errnum = errnum;
	return -1;
}

int listen_published(const struct profile_publish *list, size_t n, int handoff, struct err *err)
{
	const struct plan_net_packet packet = { .kind = PLAN_NET_PUBLISHED };
	int fds[SYS_FDS_MAX];
	uint32_t made = 0;
	int r = 0;

	if (n == 0)
		return 0;
	while (made < n && made < SYS_FDS_MAX) {
		fds[made] = listen_one(&list[made]);
		if (fds[made] < 0) {
			r = fail(&list[made], -fds[made], err);
			break;
		}
		made++;
	}
	if (r == 0) {
		r = sys_send_fds(handoff, &packet, sizeof(packet), fds, made);
		if (r < 0)
			r = err_set(err, ERR_HOST, -r, "cannot hand published ports over");
	}
	for (uint32_t i = 0; i < made; i++)
		fd_close(&fds[i]);
	return r;
}
