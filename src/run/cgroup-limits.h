/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* cgroup-limits - what is written into the cgroup of a run, and read back
 * (Documentation/admin-guide/cgroup-v2.rst). */
#pragma once

#include "base/macro.h"
#include "run/cgroup.h"

/* cgroup_limits_set() - the limits that are wanted, and the bound on cgroups below.
 * @dir: the directory of the cgroup.
 * Return: 0 or -errno, with the file that it was in *ret_file (static); -EIO: another value was
 * read back. */
MUST_CHECK int cgroup_limits_set(int dir, const struct run_cgroup_limits *want,
				 const char **ret_file);
