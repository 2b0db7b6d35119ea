/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* rights - descriptors that cross a socket (SCM_RIGHTS, unix(7)). */
#pragma once

#include <stddef.h>

#define SYS_RIGHTS_MAX 4

/* sys_send_rights() - one packet of one byte, with copies of @n descriptors. 0 or -errno. */
int sys_send_rights(int sock, const int *fds, size_t n);
