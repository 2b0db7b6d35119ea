/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* trees - detached mount trees that only the supervisor of a root caller can make.
 *
 * A root caller may grant directories that the unprivileged id inside cannot even reach, and may
 * map the ids of files. Both need the caller's own rights, so the trees are made here, from the
 * held descriptors, before the child exists, and handed to it detached (mount_setattr(2)
 * MOUNT_ATTR_IDMAP, Linux 5.12). Without any mapping of paths there is nothing to re-check. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct run_trees {
	int *fds; /* one for each source, owned, -1 for none */
	size_t n;
	bool unsupported; /* this host or a file system cannot: *fds are all -1 */
	int errnum;       /* with unsupported: EINVAL or EPERM */
	size_t which;     /* with unsupported: the source, or n when it was none of them */
	struct run_trees_holder *holder; /* owned; a process that is ending, or NULL */
};

/* run_trees_close() also waits for the process whose user namespace the ids were mapped by.
 *
 * run_trees_make() - clone each of @sources (O_PATH descriptors, -1 skipped), recursive, private,
 * nosuid, nodev. With @idmap, files of uid and gid 0 appear as @uid and @gid, everything else as
 * itself. ret->fds must hold @n slots.
 * Return: 0, also with ret->unsupported set (EINVAL: a file system without id mapping; EPERM:
 * no right to mount here); -1 for everything else. */
MUST_CHECK int run_trees_make(const int *sources, size_t n, bool idmap, uint32_t uid, uint32_t gid,
			      struct run_trees *ret, struct err *err);
void run_trees_close(struct run_trees *t);
