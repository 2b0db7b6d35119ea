/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* probe - try one thing that a sandbox needs in a process made for it, which then ends. */
#pragma once

#include <stdint.h>

#include "base/macro.h"

/* probe_namespaces() - clone3 with CLONE_NEW* @flags. Return: 0 or -errno. */
MUST_CHECK int probe_namespaces(uint64_t flags);
/* probe_proc() - mount a new procfs in new user, mount and pid namespaces; nothing is attached.
 * Return: 0, -EPERM where the kernel refuses it because the one there is masked ("mount too
 * revealing", fs/namespace.c), or another -errno. */
MUST_CHECK int probe_proc(void);
/* probe_any_port() - what a network by name needs for hosts with any port: a veth pair, and a rule
 * that leads to a transparent listener. In new user and network namespaces. Return: 0, -EOPNOTSUPP
 * or -ENOPROTOOPT where the kernel has the one or the other not, or another -errno. */
MUST_CHECK int probe_any_port(void);
/* probe_landlock() - the ABI of this kernel's Landlock, or -errno. */
MUST_CHECK int probe_landlock(void);
