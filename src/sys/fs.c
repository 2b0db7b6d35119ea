/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/fs.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "sys/raw.h"

#define NR_CLOSE_RANGE 436
#define NR_OPENAT2     437

#ifndef AT_STATX_DONT_SYNC
#define AT_STATX_DONT_SYNC 0x4000
#endif
#ifndef STATX_MNT_ID
#define STATX_MNT_ID 0x1000U
#endif

/* struct statx of Linux 5.8, which named stx_mnt_id; older headers have padding there. */
struct statx_answer {
	uint32_t mask, blksize;
	uint64_t attributes;
	uint32_t nlink, uid, gid;
	uint16_t mode, pad0;
	uint64_t ino, size, blocks, attributes_mask;
	struct {
		int64_t sec;
		uint32_t nsec;
		int32_t pad;
	} atime, btime, ctime, mtime;
	uint32_t rdev_major, rdev_minor, dev_major, dev_minor;
	uint64_t mnt_id;
	uint64_t spare[13];
};

_Static_assert(sizeof(struct statx_answer) == 256, "the kernel writes 256 bytes");

int sys_openat2(int dirfd, const char *path, uint64_t flags, uint64_t mode, uint64_t resolve)
{
	struct open_how how = { .flags = flags | O_CLOEXEC, .mode = mode, .resolve = resolve };

	return (int)sys_call4(NR_OPENAT2, dirfd, sys_arg(path), sys_arg(&how), (long)sizeof(how));
}

static int ask_statx(int dirfd, const char *path, unsigned at_flags, unsigned want,
		     struct statx_answer *ret)
{
	long r = sys_call5(SYS_statx, dirfd, sys_arg(path), (long)(at_flags | AT_NO_AUTOMOUNT),
			   (long)want, sys_arg(ret));

	if (r < 0)
		return (int)r;
	return (ret->mask & want) == want ? 0 : -EOPNOTSUPP;
}

static void take_id(const struct statx_answer *st, struct file_id *ret)
{
	ret->dev_major = st->dev_major;
	ret->dev_minor = st->dev_minor;
	ret->ino = st->ino;
	ret->mnt_id = st->mnt_id;
	ret->type = st->mode & S_IFMT;
	if (ret->type == S_IFCHR || ret->type == S_IFBLK) {
		ret->rdev_major = st->rdev_major;
		ret->rdev_minor = st->rdev_minor;
	}
}

int sys_file_id(int dirfd, const char *path, unsigned at_flags, struct file_id *ret)
{
	struct statx_answer st = { 0 };
	/* None of it ever changes, so that a server of the file system need not be asked, which
	 * may never answer. */
	int r = ask_statx(dirfd, path, at_flags | AT_STATX_DONT_SYNC,
			  STATX_TYPE | STATX_INO | STATX_MNT_ID, &st);

	*ret = (struct file_id){ 0 };
	if (r == 0)
		take_id(&st, ret);
	return r;
}

int sys_file_stat(int dirfd, const char *path, unsigned at_flags, struct sys_file_stat *ret)
{
	struct statx_answer st = { 0 };
	int r = ask_statx(dirfd, path, at_flags, STATX_BASIC_STATS | STATX_MNT_ID, &st);

	*ret = (struct sys_file_stat){ 0 };
	if (r < 0)
		return r;
	take_id(&st, &ret->id);
	ret->mode = st.mode & 07777;
	ret->uid = st.uid;
	ret->gid = st.gid;
	ret->nlink = st.nlink;
	ret->size = st.size;
	ret->mtime = st.mtime.sec;
	return 0;
}

int sys_openat(int dirfd, const char *path, unsigned flags, unsigned mode)
{
	return (int)sys_call4(SYS_openat, dirfd, sys_arg(path), (long)(flags | O_CLOEXEC),
			      (long)mode);
}

int sys_close(int fd)
{
	return (int)sys_call1(SYS_close, fd);
}

ssize_t sys_read(int fd, void *buf, size_t len)
{
	long r;

	do {
		r = sys_call3(SYS_read, fd, sys_arg(buf), (long)len);
	} while (r == -EINTR);
	return r;
}

ssize_t sys_write(int fd, const void *buf, size_t len)
{
	long r;

	do {
		r = sys_call3(SYS_write, fd, sys_arg(buf), (long)len);
	} while (r == -EINTR);
	return r;
}

ssize_t sys_getdents64(int fd, void *buf, size_t len)
{
	return sys_call3(SYS_getdents64, fd, sys_arg(buf), (long)len);
}

int sys_rewind(int fd)
{
	return (int)sys_call3(SYS_lseek, fd, 0, 0 /* SEEK_SET */);
}

int sys_ftruncate(int fd, uint64_t size)
{
	return (int)sys_call2(SYS_ftruncate, fd, (long)size);
}

int sys_fchmod(int fd, unsigned mode)
{
	return (int)sys_call2(SYS_fchmod, fd, (long)mode);
}

int sys_link_fd(int fd, int dirfd, const char *name)
{
	char path[32] = "/proc/self/fd/";
	char digits[12];
	unsigned n = 0;
	unsigned at = sizeof("/proc/self/fd/") - 1;

	if (fd < 0)
		return -EBADF;
	do {
		digits[n++] = (char)('0' + fd % 10);
		fd /= 10;
	} while (fd > 0);
	while (n > 0)
		path[at++] = digits[--n];
	path[at] = '\0';
	return (int)sys_call5(SYS_linkat, AT_FDCWD, sys_arg(path), dirfd, sys_arg(name),
			      AT_SYMLINK_FOLLOW);
}

int sys_renameat2(int fromfd, const char *from, int tofd, const char *to)
{
	return (int)sys_call5(SYS_renameat2, fromfd, sys_arg(from), tofd, sys_arg(to), 0);
}

int sys_unlinkat(int dirfd, const char *name)
{
	return (int)sys_call3(SYS_unlinkat, dirfd, sys_arg(name), 0);
}

int sys_has_acl(int fd)
{
	/* A size is asked for, so nothing is copied. */
	long r = sys_call4(SYS_fgetxattr, fd, sys_arg("system.posix_acl_access"), 0, 0);

	if (r == -ENODATA || r == -EOPNOTSUPP)
		return 0;
	return r < 0 ? (int)r : 1;
}

int sys_mkdirat(int dirfd, const char *name, unsigned mode)
{
	return (int)sys_call3(SYS_mkdirat, dirfd, sys_arg(name), (long)mode);
}

int sys_mknodat(int dirfd, const char *name, unsigned mode)
{
	return (int)sys_call4(SYS_mknodat, dirfd, sys_arg(name), (long)mode, 0);
}

int sys_symlinkat(const char *text, int dirfd, const char *name)
{
	return (int)sys_call3(SYS_symlinkat, sys_arg(text), dirfd, sys_arg(name));
}

int sys_usage(const char *path, uint64_t *ret_bytes, uint64_t *ret_files)
{
	struct statfs fs = { 0 };
	int r = (int)sys_call2(SYS_statfs, sys_arg(path), sys_arg(&fs));

	if (r < 0)
		return r;
	*ret_bytes = (uint64_t)(fs.f_blocks - fs.f_bfree) * (uint64_t)fs.f_bsize;
	*ret_files = (uint64_t)(fs.f_files - fs.f_ffree);
	return 0;
}

int sys_chdir(const char *path)
{
	return (int)sys_call1(SYS_chdir, sys_arg(path));
}

int sys_fchdir(int fd)
{
	return (int)sys_call1(SYS_fchdir, fd);
}

int sys_getcwd(char *buf, size_t size)
{
	return (int)sys_call2(SYS_getcwd, sys_arg(buf), (long)size);
}

int sys_umask(unsigned mask)
{
	(void)sys_call1(SYS_umask, (long)mask);
	/* The answer is the one before. */
	return sys_call1(SYS_umask, (long)mask) == (long)mask ? 0 : -EPERM;
}

int sys_dup3(int from, int to, int flags)
{
	return (int)sys_call3(SYS_dup3, from, to, flags);
}

int sys_dup_min(int fd, int min)
{
	return (int)sys_call3(SYS_fcntl, fd, F_DUPFD_CLOEXEC, min);
}

int sys_close_range(unsigned first, unsigned last)
{
	return (int)sys_call3(NR_CLOSE_RANGE, (long)first, (long)last, 0);
}
