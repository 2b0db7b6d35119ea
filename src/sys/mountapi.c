/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/mountapi.h"

#include <stddef.h>

#include "sys/raw.h"

/* The numbers are the same on every architecture (Linux 5.2 and later). */
#define NR_OPEN_TREE     428
#define NR_MOVE_MOUNT    429
#define NR_FSOPEN        430
#define NR_FSCONFIG      431
#define NR_FSMOUNT       432
#define NR_MOUNT_SETATTR 442

/* O_CLOEXEC, as OPEN_TREE_CLOEXEC is defined. */
#define TREE_CLOEXEC 02000000

int sys_open_tree(int dirfd, const char *path, unsigned flags)
{
	return (int)sys_call3(NR_OPEN_TREE, dirfd, sys_arg(path), (long)(flags | TREE_CLOEXEC));
}

int sys_mount_setattr(int dirfd, const char *path, unsigned flags,
		      const struct sys_mount_attr *attr)
{
	return (int)sys_call5(NR_MOUNT_SETATTR, dirfd, sys_arg(path), (long)flags, sys_arg(attr),
			      (long)sizeof(*attr));
}

int sys_move_mount(int tree, int target)
{
	return (int)sys_call5(NR_MOVE_MOUNT, tree, sys_arg(""), target, sys_arg(""),
			      MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH);
}

int sys_move_mount_at(int tree, int dirfd, const char *name)
{
	return (int)sys_call5(NR_MOVE_MOUNT, tree, sys_arg(""), dirfd, sys_arg(name),
			      MOVE_MOUNT_F_EMPTY_PATH);
}

int sys_fsopen(const char *fstype)
{
	return (int)sys_call2(NR_FSOPEN, sys_arg(fstype), FSOPEN_CLOEXEC);
}

int sys_fsconfig_string(int fs, const char *key, const char *value)
{
	return (int)sys_call5(NR_FSCONFIG, fs, FSCONFIG_SET_STRING, sys_arg(key), sys_arg(value),
			      0);
}

int sys_fsconfig_flag(int fs, const char *key)
{
	return (int)sys_call5(NR_FSCONFIG, fs, FSCONFIG_SET_FLAG, sys_arg(key), 0, 0);
}

int sys_fsconfig_create(int fs)
{
	return (int)sys_call5(NR_FSCONFIG, fs, FSCONFIG_CMD_CREATE, 0, 0, 0);
}

int sys_fsmount(int fs, unsigned attrs)
{
	return (int)sys_call3(NR_FSMOUNT, fs, FSMOUNT_CLOEXEC, (long)attrs);
}

int sys_pivot_root(const char *new_root, const char *put_old)
{
	return (int)sys_call2(SYS_pivot_root, sys_arg(new_root), sys_arg(put_old));
}

int sys_umount2(const char *path, int flags)
{
	return (int)sys_call2(SYS_umount2, sys_arg(path), flags);
}

int sys_unshare_mounts(void)
{
	return (int)sys_call1(SYS_unshare,
			      0x10000000L /* CLONE_NEWUSER */ | 0x20000 /* CLONE_NEWNS */);
}
