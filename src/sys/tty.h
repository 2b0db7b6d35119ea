/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* tty - pseudo-terminals (ioctl_tty(2)). All return a value, 0, or -errno. */
#pragma once

/* sys_tty_peer() - unlock the other end of the pty whose master is @master and open it: a
 * descriptor, close-on-exec, that is nobody's controlling terminal yet (Linux 4.13). */
int sys_tty_peer(int master);
/* sys_tty_control() - make @fd the controlling terminal of the caller's session, whose leader the
 * caller must be; it is never taken from another session. */
int sys_tty_control(int fd);
/* sys_tty_foreground() - give the terminal to process group @pgid of the caller's session. */
int sys_tty_foreground(int fd, int pgid);
