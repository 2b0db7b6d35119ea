#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# syscall-names.sh COMPILER...: the system calls of the target as the rows of a C table.
set -e
echo '#include <asm/unistd.h>' | "$@" -E -dM - |
	sed -n 's/^#define __NR_\([a-z0-9_]*\) \([0-9][0-9]*\)$/	[\2] = "\1",/p' | sort
