/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Acts on sockets, terminals and what else arrives through a descriptor. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "probe.h"

/* @ret_len: set to the length for bind(2) and connect(2); 0 when @text is no address. */
static struct sockaddr_storage address(const char *text, long port, socklen_t *ret_len)
{
	struct sockaddr_storage ss = { 0 };
	struct sockaddr_in *v4 = (struct sockaddr_in *)(void *)&ss;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)(void *)&ss;

	*ret_len = 0;
	if (inet_pton(AF_INET, text, &v4->sin_addr) == 1) {
		v4->sin_family = AF_INET;
		v4->sin_port = htons((uint16_t)port);
		*ret_len = sizeof(*v4);
	} else if (inet_pton(AF_INET6, text, &v6->sin6_addr) == 1) {
		v6->sin6_family = AF_INET6;
		v6->sin6_port = htons((uint16_t)port);
		*ret_len = sizeof(*v6);
	}
	return ss;
}

static int act_connect_tcp(char **args)
{
	socklen_t len;
	struct sockaddr_storage ss = address(args[0], probe_number(args[1]), &len);
	struct pollfd p = { .events = POLLOUT };
	int e = 0;
	socklen_t elen = sizeof(e);

	p.fd = socket(ss.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (p.fd < 0)
		return -errno;
	if (connect(p.fd, (struct sockaddr *)&ss, len) == 0)
		return PROBE_OK;
	if (errno != EINPROGRESS)
		return -errno;
	if (poll(&p, 1, 3000) <= 0)
		return -ETIMEDOUT;
	if (getsockopt(p.fd, SOL_SOCKET, SO_ERROR, &e, &elen) < 0)
		return -errno;
	return e == 0 ? PROBE_OK : -e;
}

static int unix_address(const char *path, struct sockaddr_un *ret, socklen_t *ret_len)
{
	size_t len = strlen(path);

	if (len >= sizeof(ret->sun_path))
		return -ENAMETOOLONG;
	*ret = (struct sockaddr_un){ .sun_family = AF_UNIX };
	memcpy(ret->sun_path, path, len);
	/* "@name" is the abstract socket of that name. */
	if (path[0] == '@')
		ret->sun_path[0] = '\0';
	*ret_len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len + (path[0] != '@'));
	return 0;
}

static int act_connect_unix(char **args)
{
	struct sockaddr_un un;
	socklen_t len;
	int r = unix_address(args[0], &un, &len);
	int fd;

	if (r < 0)
		return r;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	return probe_result(connect(fd, (struct sockaddr *)&un, len));
}

/* Listens on a free port and connects to itself: shows that an address works. */
static int act_listen(char **args)
{
	socklen_t len;
	struct sockaddr_storage ss = address(args[0], 0, &len);
	int fd = socket(ss.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int c;

	if (fd < 0 || bind(fd, (struct sockaddr *)&ss, len) < 0 || listen(fd, 1) < 0)
		return -errno;
	if (getsockname(fd, (struct sockaddr *)&ss, &len) < 0)
		return -errno;
	c = socket(ss.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (c < 0)
		return -errno;
	return probe_result(connect(c, (struct sockaddr *)&ss, len));
}

static int act_socket(char **args)
{
	return probe_result(socket((int)probe_number(args[0]), (int)probe_number(args[1]),
				   (int)probe_number(args[2])));
}

static int act_interfaces(char **args)
{
	struct if_nameindex *list = if_nameindex();

	(void)args;
	if (list == NULL)
		return -errno;
	printf("ok");
	for (struct if_nameindex *i = list; i->if_index != 0; i++)
		printf(" %s", i->if_name);
	putchar('\n');
	return 0;
}

/* Succeeds when a descriptor came with the message, ENOMSG when only bytes did. */
static int act_recvfd(char **args)
{
	char data[64];
	union {
		struct cmsghdr h;
		char buf[CMSG_SPACE(sizeof(int) * 4)];
	} control;
	struct iovec iov = { .iov_base = data, .iov_len = sizeof(data) };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = &control,
			      .msg_controllen = sizeof(control) };
	struct cmsghdr *c;

	if (recvmsg((int)probe_number(args[0]), &msg, 0) < 0)
		return -errno;
	for (c = CMSG_FIRSTHDR(&msg); c != NULL; c = CMSG_NXTHDR(&msg, c))
		if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
			return PROBE_OK;
	return -ENOMSG;
}

static int act_tiocsti(char **args)
{
	return probe_result(ioctl((int)probe_number(args[0]), TIOCSTI, "x"));
}

static int act_winsize(char **args)
{
	struct winsize ws;

	if (ioctl((int)probe_number(args[0]), TIOCGWINSZ, &ws) < 0)
		return -errno;
	printf("ok %ux%u\n", ws.ws_col, ws.ws_row);
	return 0;
}

static int act_isatty(char **args)
{
	return isatty((int)probe_number(args[0])) ? PROBE_OK : -errno;
}

const struct probe_act probe_net_acts[] = {
	{ "connect-tcp", 2, act_connect_tcp, "ADDRESS PORT" },
	{ "connect-unix", 1, act_connect_unix, "PATH|@NAME" },
	{ "listen", 1, act_listen, "ADDRESS" },
	{ "socket", 3, act_socket, "FAMILY TYPE PROTOCOL" },
	{ "interfaces", 0, act_interfaces, "" },
	{ "recvfd", 1, act_recvfd, "FD" },
	{ "tiocsti", 1, act_tiocsti, "FD" },
	{ "winsize", 1, act_winsize, "FD" },
	{ "isatty", 1, act_isatty, "FD" },
	{ NULL, 0, NULL, NULL },
};
