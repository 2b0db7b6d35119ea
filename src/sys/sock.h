/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* sock - records over a socket pair, and the loopback interface. Return a value or -errno. */
#pragma once

#include <stddef.h>
#include <sys/types.h>

/* sys_send() - one packet, without SIGPIPE. */
ssize_t sys_send(int fd, const void *buf, size_t len);
/* sys_send_fd() - the same, and a copy of descriptor @passed along with it. */
ssize_t sys_send_fd(int fd, const void *buf, size_t len, int passed);
/* sys_recv() - one packet; 0 at end of file; descriptors sent along are not received. */
ssize_t sys_recv(int fd, void *buf, size_t len);
/* sys_recv_fd() - one packet, and in *@passed the one descriptor that came along, close-on-exec, or
 * -1. */
ssize_t sys_recv_fd(int fd, void *buf, size_t len, int *passed);
/* sys_recv_waiting() - 1: a packet, or the end of file, is there already; 0: not yet. */
int sys_recv_waiting(int fd);
/* sys_recv_end() - take nothing more: what comes is refused, what is queued is dropped. */
void sys_recv_end(int fd);
/* sys_loopback_up() - in the network namespace of the caller; one that is up stays up. */
int sys_loopback_up(void);
