/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* cgroup-file - the files and directories of a cgroup. Return 0 or -errno. */
#pragma once

#include <dirent.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macro.h"

/* cgroup_file_read() - the text without its last line end; -EFBIG when it does not fit. */
MUST_CHECK int cgroup_file_read(int dir, const char *name, char *buf, size_t size);
MUST_CHECK int cgroup_file_write(int dir, const char *name, const char *text);
/* cgroup_file_number() - the number of the file, or with @key that of the line "KEY NUMBER".
 * -ENODATA: no number ("max" is none). */
MUST_CHECK int cgroup_file_number(int dir, const char *name, const char *key, uint64_t *ret);

struct cgroup_dir {
	DIR *dir; /* owned */
};
MUST_CHECK int cgroup_dir_open(struct cgroup_dir *d, int fd);
/* cgroup_dir_next() - the name of the next cgroup in it, or NULL. */
const char *cgroup_dir_next(struct cgroup_dir *d);
void cgroup_dir_close(struct cgroup_dir *d);
