/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* loader - the program that maps other programs, ld.so(8), kept from being a command. */
#pragma once

#include <stddef.h>

#include "base/arena.h"

/* The largest one that loader_seal() takes. */
#define LOADER_MAX ((size_t)8 * 1024 * 1024)

/* loader_seal() - a copy of a loader that works as one and cannot be started by itself: a part of
 * its header that nothing reads (a note, or the flags of the stack, which count only in the
 * program) becomes the request for an interpreter that is none, /dev/null. The kernel looks for
 * one in the program that is started, and never in a loader.
 *
 * 0, -ENOEXEC when @image is no loader of this machine, -EOPNOTSUPP when nothing in its header is
 * free. */
MUST_CHECK int loader_seal(struct arena *a, const unsigned char *image, size_t len,
			   unsigned char **ret, size_t *ret_len);
