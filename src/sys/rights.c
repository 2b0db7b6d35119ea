/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/rights.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "sys/raw.h"

int sys_send_rights(int sock, const int *fds, size_t n)
{
	_Alignas(struct cmsghdr) unsigned char room[CMSG_SPACE(SYS_RIGHTS_MAX * sizeof(int))] = {
		0
	};
	char byte = 0;
	struct iovec iov = { .iov_base = &byte, .iov_len = 1 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = room };
	struct cmsghdr *c;
	long r;

	if (n == 0 || n > SYS_RIGHTS_MAX)
		return -EINVAL;
	msg.msg_controllen = CMSG_SPACE(n * sizeof(int));
	c = CMSG_FIRSTHDR(&msg);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(n * sizeof(int));
	memcpy(CMSG_DATA(c), fds, n * sizeof(int));
	do {
		r = sys_call3(SYS_sendmsg, sock, sys_arg(&msg), MSG_NOSIGNAL);
	} while (r == -EINTR);
	return r < 0 ? (int)r : 0;
}
