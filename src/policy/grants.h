/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* grants - what a profile may never lend, by name and by number. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* grants_device_refusal() - why the device at @path (below /dev) is refused, or NULL. @rdev_known:
 * judge the numbers of a character device too. Static text. */
const char *grants_device_refusal(const char *path, bool rdev_known, uint32_t major, uint32_t minor,
				  bool nested);
/* grants_socket_refusal() - why the socket at a host path is refused, or NULL. Static text. */
const char *grants_socket_refusal(const char *path);
/* grants_socket_place() - well-known sockets by absolute path, for comparing what they are; NULL
 * after the last. */
const char *grants_socket_place(unsigned i, const char **why);
