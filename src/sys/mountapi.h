/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* mountapi - the mount calls that work on descriptors (Linux 5.2; mount_setattr 5.12).
 *
 * All return a descriptor (close-on-exec), 0, or -errno. <sys/mount.h> does not go together
 * with this header: both define the same names. */
#pragma once

#include <linux/mount.h>
#include <stdint.h>

/* From <fcntl.h>, for callers that cannot include it beside <linux/fcntl.h>. */
#ifndef AT_FDCWD
#define AT_FDCWD (-100)
#endif
#ifndef AT_EMPTY_PATH
#define AT_EMPTY_PATH 0x1000
#endif
#ifndef AT_RECURSIVE
#define AT_RECURSIVE 0x8000
#endif
#ifndef MS_PRIVATE
#define MS_PRIVATE (1 << 18)
#endif
#ifndef MNT_DETACH
#define MNT_DETACH 2
#endif
#ifndef MOUNT_ATTR_IDMAP
#define MOUNT_ATTR_IDMAP 0x00100000
#endif
#ifndef MOUNT_ATTR_NOSYMFOLLOW
#define MOUNT_ATTR_NOSYMFOLLOW 0x00200000
#endif

/* struct mount_attr of mount_setattr(2), under a name of its own: older headers lack it. */
struct sys_mount_attr {
	uint64_t attr_set;
	uint64_t attr_clr;
	uint64_t propagation; /* MS_PRIVATE and the like, or 0: as it is */
	uint64_t userns_fd;   /* with MOUNT_ATTR_IDMAP */
};

/* sys_open_tree() - @flags: OPEN_TREE_CLONE, AT_RECURSIVE, AT_EMPTY_PATH, AT_SYMLINK_NOFOLLOW;
 * OPEN_TREE_CLOEXEC is added. */
int sys_open_tree(int dirfd, const char *path, unsigned flags);
int sys_mount_setattr(int dirfd, const char *path, unsigned flags,
		      const struct sys_mount_attr *attr);
/* sys_move_mount() - both ends by descriptor: attach @tree over the object @target. */
int sys_move_mount(int tree, int target);
/* sys_move_mount_at() - attach @tree over an entry of a directory; a link is covered itself. */
int sys_move_mount_at(int tree, int dirfd, const char *name);
int sys_fsopen(const char *fstype);
int sys_fsconfig_string(int fs, const char *key, const char *value);
int sys_fsconfig_flag(int fs, const char *key);
int sys_fsconfig_create(int fs);
/* sys_fsmount() - @attrs: MOUNT_ATTR_*. */
int sys_fsmount(int fs, unsigned attrs);
int sys_pivot_root(const char *new_root, const char *put_old);
int sys_umount2(const char *path, int flags);
/* sys_unshare_mounts() - a user and a mount namespace of our own. */
int sys_unshare_mounts(void);
