/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/sock.h"

#include <errno.h>
#include <net/if.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "sys/fs.h"
#include "sys/raw.h"

ssize_t sys_send(int fd, const void *buf, size_t len)
{
	long r;

	do {
		r = sys_call6(SYS_sendto, fd, sys_arg(buf), (long)len, MSG_NOSIGNAL, 0, 0);
	} while (r == -EINTR);
	return r;
}

ssize_t sys_send_fd(int fd, const void *buf, size_t len, int passed)
{
	/* The kernel only reads what iov_base points to. */
	struct iovec iov = { .iov_base = (void *)(uintptr_t)buf, .iov_len = len };
	_Alignas(struct cmsghdr) char room[CMSG_SPACE(sizeof(int))] = { 0 };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = room,
			      .msg_controllen = sizeof(room) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
	long r;

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &passed, sizeof(passed));
	do {
		r = sys_call3(SYS_sendmsg, fd, sys_arg(&msg), MSG_NOSIGNAL);
	} while (r == -EINTR);
	return r;
}

ssize_t sys_recv(int fd, void *buf, size_t len)
{
	long r;

	do {
		r = sys_call6(SYS_recvfrom, fd, sys_arg(buf), (long)len, 0, 0, 0);
	} while (r == -EINTR);
	return r;
}

ssize_t sys_recv_fd(int fd, void *buf, size_t len, int *passed)
{
	struct iovec iov = { .iov_base = buf, .iov_len = len };
	_Alignas(struct cmsghdr) char room[CMSG_SPACE(sizeof(int))] = { 0 };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = room,
			      .msg_controllen = sizeof(room) };
	struct cmsghdr *c;
	long r;

	*passed = -1;
	do {
		r = sys_call3(SYS_recvmsg, fd, sys_arg(&msg), MSG_CMSG_CLOEXEC);
	} while (r == -EINTR);
	c = r > 0 ? CMSG_FIRSTHDR(&msg) : NULL;
	if (c != NULL && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS &&
	    c->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(passed, CMSG_DATA(c), sizeof(*passed));
	return r;
}

int sys_recv_waiting(int fd)
{
	char c;
	long r = sys_call6(SYS_recvfrom, fd, sys_arg(&c), 1, MSG_PEEK | MSG_DONTWAIT, 0, 0);

	if (r == -EAGAIN || r == -EINTR)
		return 0;
	return r < 0 ? (int)r : 1;
}

void sys_recv_end(int fd)
{
	char packet[16];

	(void)sys_call2(SYS_shutdown, fd, SHUT_RD);
	while (sys_call6(SYS_recvfrom, fd, sys_arg(packet), (long)sizeof(packet), MSG_DONTWAIT, 0,
			 0) > 0)
		;
}

int sys_loopback_up(void)
{
	struct ifreq ifr = { .ifr_name = "lo" };
	long fd, r;

	fd = sys_call3(SYS_socket, AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return (int)fd;
	r = sys_call3(SYS_ioctl, fd, SIOCGIFFLAGS, sys_arg(&ifr));
	/* Raising it once more would cost as much as the first time. */
	if (r == 0 && (ifr.ifr_flags & IFF_UP) == 0) {
		ifr.ifr_flags = (short)(ifr.ifr_flags | IFF_UP);
		r = sys_call3(SYS_ioctl, fd, SIOCSIFFLAGS, sys_arg(&ifr));
	}
	(void)sys_close((int)fd);
	return (int)r;
}
