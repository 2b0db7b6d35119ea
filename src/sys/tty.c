/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/tty.h"

#include <fcntl.h>
#include <sys/ioctl.h>

#include "sys/raw.h"

int sys_tty_peer(int master)
{
	int locked = 0;
	long r = sys_call3(SYS_ioctl, master, TIOCSPTLCK, sys_arg(&locked));

	if (r < 0)
		return (int)r;
	return (int)sys_call3(SYS_ioctl, master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
}

int sys_tty_control(int fd)
{
	return (int)sys_call3(SYS_ioctl, fd, TIOCSCTTY, 0);
}

int sys_tty_foreground(int fd, int pgid)
{
	return (int)sys_call3(SYS_ioctl, fd, TIOCSPGRP, sys_arg(&pgid));
}
