/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* trust - may this file speak for the caller? Asked of an open descriptor and of the
 * directories above it. */
#pragma once

#include <sys/stat.h>

#include "base/err.h"
#include "base/macro.h"
#include "profile/profile.h"

/* trust_check_file() - owned by the caller or root, not writable by anyone else.
 * @fd: the file, open for reading; @st: its status. */
MUST_CHECK int trust_check_file(const struct profile_source *src, const char *name, int fd,
				const struct stat *st, struct err *err);

/* trust_check_above() - the same of each directory above @real (canonical), from the top down;
 * a sticky directory of root's is fine. Then @real must still be the file @st. */
MUST_CHECK int trust_check_above(const struct profile_source *src, const char *real,
				 const struct stat *st, struct err *err);
