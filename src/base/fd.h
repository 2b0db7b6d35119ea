/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* fd - ownership of descriptors. An owned descriptor that is not open is -1. */
#pragma once

#include <unistd.h>

#include "base/macro.h"

static inline void fd_close(int *fd)
{
	if (*fd >= 0)
		(void)close(*fd);
	*fd = -1;
}

/* fd_take() - hand ownership on: the variable no longer owns what is returned. */
static inline int fd_take(int *fd)
{
	int r = *fd;

	*fd = -1;
	return r;
}

#define FD_AUTO CLEANUP(fd_close) int
