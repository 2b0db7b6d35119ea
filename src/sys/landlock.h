/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* landlock - the rules that a process puts on itself, landlock(7). All return a value, 0, or
 * -errno.
 *
 * The words of <linux/landlock.h> under names of their own: headers are older than kernels. */
#pragma once

#include <stdint.h>

#define SYS_LANDLOCK_EXECUTE     (UINT64_C(1) << 0)
#define SYS_LANDLOCK_WRITE_FILE  (UINT64_C(1) << 1)
#define SYS_LANDLOCK_READ_FILE   (UINT64_C(1) << 2)
#define SYS_LANDLOCK_READ_DIR    (UINT64_C(1) << 3)
#define SYS_LANDLOCK_REMOVE_DIR  (UINT64_C(1) << 4)
#define SYS_LANDLOCK_REMOVE_FILE (UINT64_C(1) << 5)
#define SYS_LANDLOCK_MAKE_CHAR   (UINT64_C(1) << 6)
#define SYS_LANDLOCK_MAKE_DIR    (UINT64_C(1) << 7)
#define SYS_LANDLOCK_MAKE_REG    (UINT64_C(1) << 8)
#define SYS_LANDLOCK_MAKE_SOCK   (UINT64_C(1) << 9)
#define SYS_LANDLOCK_MAKE_FIFO   (UINT64_C(1) << 10)
#define SYS_LANDLOCK_MAKE_BLOCK  (UINT64_C(1) << 11)
#define SYS_LANDLOCK_MAKE_SYM    (UINT64_C(1) << 12)
#define SYS_LANDLOCK_REFER       (UINT64_C(1) << 13) /* ABI 2, Linux 5.19 */
#define SYS_LANDLOCK_TRUNCATE    (UINT64_C(1) << 14) /* ABI 3, Linux 6.2 */
#define SYS_LANDLOCK_IOCTL_DEV   (UINT64_C(1) << 15) /* ABI 5, Linux 6.10 */

#define SYS_LANDLOCK_SCOPE_ABSTRACT_UNIX (UINT64_C(1) << 0) /* ABI 6, Linux 6.12 */
#define SYS_LANDLOCK_SCOPE_SIGNAL        (UINT64_C(1) << 1) /* the same */

/* sys_landlock_abi() - the version that the kernel speaks, from 1; -ENOSYS: not built in,
 * -EOPNOTSUPP: built in and not switched on. */
int sys_landlock_abi(void);
/* sys_landlock_ruleset() - a descriptor (close-on-exec) of an empty set of rules.
 * @fs: what is denied where no rule allows it. @scoped: what ends at the domain. */
int sys_landlock_ruleset(uint64_t fs, uint64_t scoped);
/* sys_landlock_allow() - @access for the object @fd and, when it is a directory, for what is
 * below it. A right that makes no sense for a file is -EINVAL there. */
int sys_landlock_allow(int ruleset, int fd, uint64_t access);
/* sys_landlock_restrict() - for this process and what it starts, for good. Needs no_new_privs or
 * CAP_SYS_ADMIN. */
int sys_landlock_restrict(int ruleset);
