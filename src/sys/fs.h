/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* fs - files and directories by descriptor. All return a value, 0, or -errno. */
#pragma once

#include <linux/openat2.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sys/fileid.h"

/* Resolve without following any link, also in the middle of a path. */
#define SYS_RESOLVE_PLAIN (RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS)

/* sys_openat2() - openat2(2), Linux 5.6. O_CLOEXEC is added.
 * @resolve: RESOLVE_*. Beware: with O_PATH | O_NOFOLLOW a link in the last component is opened
 * itself, RESOLVE_NO_SYMLINKS or not. */
int sys_openat2(int dirfd, const char *path, uint64_t flags, uint64_t mode, uint64_t resolve);

/* sys_file_id() - what @path (relative to @dirfd) is, by statx(2). Of what is open already no
 * server is asked.
 * @at_flags: AT_EMPTY_PATH, AT_SYMLINK_NOFOLLOW.
 * Return: 0, -EOPNOTSUPP when the kernel does not tell the mount id, or -errno. */
int sys_file_id(int dirfd, const char *path, unsigned at_flags, struct file_id *ret);

struct sys_file_stat {
	struct file_id id;
	uint32_t mode; /* permission bits */
	uint32_t uid, gid, nlink;
	uint64_t size;
	int64_t mtime; /* seconds since 1970 */
};

/* sys_file_stat() - the same, and what else is known of it. */
int sys_file_stat(int dirfd, const char *path, unsigned at_flags, struct sys_file_stat *ret);

/* sys_openat() - where openat2(2) is not to be had: under the filter. @flags: O_CLOEXEC is added,
 * O_NOFOLLOW is not. */
int sys_openat(int dirfd, const char *path, unsigned flags, unsigned mode);
int sys_close(int fd);
ssize_t sys_read(int fd, void *buf, size_t len);
ssize_t sys_write(int fd, const void *buf, size_t len);
/* sys_getdents64() - length of what @buf holds (getdents64(2)), 0 at the end. */
ssize_t sys_getdents64(int fd, void *buf, size_t len);
int sys_rewind(int fd);
int sys_ftruncate(int fd, uint64_t size);
int sys_fchmod(int fd, unsigned mode);
/* sys_link_fd() - a name for an open file that has none (O_TMPFILE), by /proc. */
int sys_link_fd(int fd, int dirfd, const char *name);
int sys_renameat2(int fromfd, const char *from, int tofd, const char *to);
int sys_unlinkat(int dirfd, const char *name);
/* sys_has_acl() - 1 when the file has an access list (acl(5)) beside its mode. */
int sys_has_acl(int fd);
int sys_mkdirat(int dirfd, const char *name, unsigned mode);
/* sys_mknodat() - of a regular file, FIFO or socket: no device number. Fails when it exists. */
int sys_mknodat(int dirfd, const char *name, unsigned mode);
int sys_symlinkat(const char *text, int dirfd, const char *name);
/* sys_usage() - bytes and files in use on the file system of @path, by statfs(2). */
int sys_usage(const char *path, uint64_t *ret_bytes, uint64_t *ret_files);
int sys_chdir(const char *path);
int sys_fchdir(int fd);
/* sys_getcwd() - length with the NUL, or -errno; "(unreachable)..." is not an error here. */
int sys_getcwd(char *buf, size_t size);
/* sys_umask() - set it, and see that it is set: 0 or -EPERM. */
int sys_umask(unsigned mask);
int sys_dup3(int from, int to, int flags);
/* sys_dup_min() - duplicate to the lowest free number >= @min, close-on-exec. */
int sys_dup_min(int fd, int min);
int sys_close_range(unsigned first, unsigned last);
