/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/seccomp.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include "sys/process.h"
#include "sys/raw.h"

#define FAMILY_NETLINK     16
#define NETLINK_NOT_ROUTES 2
#define TYPE_NONE          SOCK_CLOEXEC

int sys_seccomp_filter(const struct sock_filter *code, uint16_t n)
{
	const struct sock_fprog prog = { .len = n,
					 .filter = (struct sock_filter *)(uintptr_t)code };

	return (int)sys_call3(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, sys_arg(&prog));
}

int sys_seccomp_answers(void)
{
	long r;

	r = sys_prctl(PR_GET_SECCOMP, 0);
	if (r != SECCOMP_MODE_FILTER)
		return r < 0 ? (int)r : -EPERM;
	/* A kernel that has bpf() says EINVAL or EPERM to such a one. */
	r = sys_call3(SYS_bpf, -1, 0, 0);
	if (r != -ENOSYS)
		return -EPERM;
	/* The kernel's own answer to a type that no netlink socket has is ESOCKTNOSUPPORT. */
	r = sys_call3(SYS_socket, FAMILY_NETLINK, TYPE_NONE, NETLINK_NOT_ROUTES);
	return r == -EAFNOSUPPORT ? 0 : -EPERM;
}
