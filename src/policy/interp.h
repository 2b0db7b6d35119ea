/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* interp - which other file a program needs to be started: the interpreter that an ELF file
 * (PT_INTERP, elf(5)) or a script ("#!", execve(2)) names.
 *
 * For messages, after the kernel has refused. The bytes may be anybody's: every number in them is
 * checked, and nothing but the reader is called. */
#pragma once

#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum interp_kind {
	INTERP_NONE = 0, /* neither, or not understood */
	INTERP_ELF,
	INTERP_SCRIPT,
};

/* Reads at most @len bytes at @off; the number read, short only at the end, or -1. */
typedef ssize_t interp_read_fn(void *ctx, uint64_t off, void *buf, size_t len);

/* interp_find() - at most three reads. With anything but INTERP_NONE, @ret holds a text that is not
 * empty, as the file has it. */
enum interp_kind interp_find(interp_read_fn *read, void *ctx, char ret[PATH_MAX]);

struct facts_object;

/* interp_of_object() - of a held file; INTERP_NONE also when this caller may not read it. */
enum interp_kind interp_of_object(const struct facts_object *o, char ret[PATH_MAX]);
