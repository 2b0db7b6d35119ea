/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* idmap - the id maps of the sandbox's user namespace, written from outside. */
#pragma once

#include <sys/types.h>

#include "base/err.h"
#include "plan/plan.h"

/* idmap_write() - one line each for uids and gids of @pid's namespace; setgroups(2) is denied
 * there first unless the child must clear its groups itself. */
MUST_CHECK int idmap_write(pid_t pid, const struct plan_ids *ids, struct err *err);
