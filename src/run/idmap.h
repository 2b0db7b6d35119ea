/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* idmap - the id maps of the sandbox's user namespace, written from outside. */
#pragma once

#include <sys/types.h>

#include "base/err.h"
#include "plan/plan.h"

/* idmap_pid() - the number by which /proc knows our child @pid. It is another one where /proc shows
 * an outer pid namespace (unshare -p without a proc of its own), and @pid is a stranger's there.
 * Return: the number, or -ESRCH when it cannot be told. */
MUST_CHECK pid_t idmap_pid(pid_t pid);
/* idmap_write() - one line each for uids and gids of @pid's namespace; setgroups(2) is denied
 * there first unless the child must clear its groups itself. */
MUST_CHECK int idmap_write(pid_t pid, const struct plan_ids *ids, struct err *err);
