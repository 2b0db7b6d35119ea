/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* io - whole reads and writes over descriptors; EINTR is handled here and nowhere else. */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/macro.h"

/* io_read_full() - read until @len bytes or end of file.
 * Return: bytes read (short only at end of file), or -errno. */
MUST_CHECK ssize_t io_read_full(int fd, void *buf, size_t len);
/* io_write_full() - write all of @len bytes, waiting for room where @fd does not block.
 * Return: 0 or -errno. */
MUST_CHECK int io_write_full(int fd, const void *buf, size_t len);
/* io_write_value() - one write(2), for a file of the kernel that takes its value as a whole. There
 * EAGAIN is no lack of room that could be waited for, but an answer.
 * Return: 0, -EIO when it took less, or -errno. */
MUST_CHECK int io_write_value(int fd, const void *buf, size_t len);
/* io_read_file() - the rest of a file into an arena, NUL-terminated.
 * @max: refuse more than this many bytes.
 * Return: 0 with *ret and *ret_len set, -EFBIG past @max, or -errno. */
MUST_CHECK int io_read_file(int fd, size_t max, struct arena *a, char **ret, size_t *ret_len);
