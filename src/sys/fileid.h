/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* fileid - what identifies a file system object.
 *
 * The mount id is of the host's mount namespace (statx(2) STATX_MNT_ID, Linux 5.8): a clone of
 * the namespace numbers its mounts anew, so the supervisor compares it after clone and the child
 * compares the rest. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct file_id {
	uint32_t dev_major, dev_minor;
	uint64_t ino;
	uint64_t mnt_id;
	uint32_t type;                   /* S_IFMT bits */
	uint32_t rdev_major, rdev_minor; /* of a device, else 0 */
};

/* The same object, through whatever mount. */
static inline bool file_id_same(const struct file_id *a, const struct file_id *b)
{
	return a->dev_major == b->dev_major && a->dev_minor == b->dev_minor && a->ino == b->ino &&
	       a->type == b->type && a->rdev_major == b->rdev_major &&
	       a->rdev_minor == b->rdev_minor;
}
