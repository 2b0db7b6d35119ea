/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Acts on files, directories and descriptors. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "probe.h"

static int act_write(char **args)
{
	int fd = open(args[0], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	size_t len = strlen(args[1]);

	if (fd < 0)
		return -errno;
	return write(fd, args[1], len) == (ssize_t)len ? PROBE_OK : -errno;
}

static int read_and_print(int fd)
{
	char buf[4096];
	ssize_t n = read(fd, buf, sizeof(buf));

	if (n < 0)
		return -errno;
	printf("ok ");
	fwrite(buf, 1, (size_t)n, stdout);
	putchar('\n');
	return 0;
}

static int act_read(char **args)
{
	int fd = open(args[0], O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -errno : read_and_print(fd);
}

/* Opens for writing and writes nothing: for kernel files, where a success must not land. */
static int act_open_write(char **args)
{
	return probe_result(open(args[0], O_WRONLY | O_CLOEXEC));
}

static int act_open_path(char **args)
{
	return probe_result(open(args[0], O_PATH | O_CLOEXEC));
}

static int act_exists(char **args)
{
	struct stat st;

	return probe_result(lstat(args[0], &st));
}

static int act_exec_ok(char **args)
{
	return probe_result(faccessat(AT_FDCWD, args[0], X_OK, AT_EACCESS));
}

static int act_mkdir(char **args)
{
	return probe_result(mkdir(args[0], 0777));
}

static int act_rename(char **args)
{
	return probe_result(rename(args[0], args[1]));
}

static int act_unlink(char **args)
{
	return probe_result(unlink(args[0]));
}

static int act_rmdir(char **args)
{
	return probe_result(rmdir(args[0]));
}

static int act_symlink(char **args)
{
	return probe_result(symlink(args[0], args[1]));
}

static int act_link(char **args)
{
	return probe_result(link(args[0], args[1]));
}

static int act_chmod(char **args)
{
	return probe_result(chmod(args[0], (mode_t)strtoul(args[1], NULL, 8)));
}

static int act_mount_remount(char **args)
{
	return probe_result(mount(NULL, args[0], NULL, MS_REMOUNT | MS_BIND, NULL));
}

static int act_mount_tmpfs(char **args)
{
	return probe_result(mount("tmpfs", args[0], "tmpfs", 0, NULL));
}

static int act_umount(char **args)
{
	return probe_result(umount2(args[0], MNT_DETACH));
}

static void print_fd(int fd)
{
	struct stat st;

	if (fstat(fd, &st) < 0) {
		printf(" %d:?", fd);
		return;
	}
	switch (st.st_mode & S_IFMT) {
	case S_IFIFO:
		printf(" %d:pipe", fd);
		break;
	case S_IFSOCK:
		printf(" %d:socket", fd);
		break;
	case S_IFDIR:
		printf(" %d:dir", fd);
		break;
	case S_IFREG:
		printf(" %d:file", fd);
		break;
	case S_IFCHR:
		printf(" %d:chr:%u:%u", fd, major(st.st_rdev), minor(st.st_rdev));
		break;
	default:
		printf(" %d:other", fd);
		break;
	}
}

/* Tries every number, so that it does not depend on /proc. */
static int act_fdlist(char **args)
{
	(void)args;
	printf("ok");
	for (int fd = 0; fd < 4096; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			print_fd(fd);
	putchar('\n');
	return 0;
}

static int act_fdread(char **args)
{
	return read_and_print((int)probe_number(args[0]));
}

static int act_fdwrite(char **args)
{
	size_t len = strlen(args[1]);
	ssize_t n = write((int)probe_number(args[0]), args[1], len);

	return n == (ssize_t)len ? PROBE_OK : -errno;
}

static int act_fchdir(char **args)
{
	return probe_result(fchdir((int)probe_number(args[0])));
}

/* Opens /proc/self/fd/N anew: a descriptor's own access mode is no limit to this. */
static int act_reopen(char **args)
{
	char path[64];
	int flags = O_CLOEXEC | O_NONBLOCK;
	int fd;

	flags |= strcmp(args[1], "w") == 0    ? O_WRONLY
		 : strcmp(args[1], "rw") == 0 ? O_RDWR
					      : O_RDONLY;
	snprintf(path, sizeof(path), "/proc/self/fd/%ld", probe_number(args[0]));
	fd = open(path, flags);
	if (fd < 0)
		return -errno;
	if ((flags & O_ACCMODE) != O_RDONLY && args[2] != NULL)
		return write(fd, args[2], strlen(args[2])) < 0 ? -errno : PROBE_OK;
	return PROBE_OK;
}

const struct probe_act probe_fs_acts[] = {
	{ "write", 2, act_write, "PATH TEXT" },
	{ "read", 1, act_read, "PATH" },
	{ "open-write", 1, act_open_write, "PATH" },
	{ "open-path", 1, act_open_path, "PATH" },
	{ "sysctl", 1, act_open_write, "PATH (opened for writing, not written)" },
	{ "exists", 1, act_exists, "PATH" },
	{ "exec-ok", 1, act_exec_ok, "PATH" },
	{ "mkdir", 1, act_mkdir, "PATH" },
	{ "rename", 2, act_rename, "FROM TO" },
	{ "unlink", 1, act_unlink, "PATH" },
	{ "rmdir", 1, act_rmdir, "PATH" },
	{ "symlink", 2, act_symlink, "TEXT PATH" },
	{ "link", 2, act_link, "FROM TO" },
	{ "chmod", 2, act_chmod, "PATH OCTAL" },
	{ "mount-remount", 1, act_mount_remount, "PATH" },
	{ "mount-tmpfs", 1, act_mount_tmpfs, "PATH" },
	{ "umount", 1, act_umount, "PATH" },
	{ "fdlist", 0, act_fdlist, "" },
	{ "fdread", 1, act_fdread, "FD" },
	{ "fdwrite", 2, act_fdwrite, "FD TEXT" },
	{ "fchdir", 1, act_fchdir, "FD" },
	{ "reopen", 2, act_reopen, "FD r|w|rw [TEXT]" },
	{ NULL, 0, NULL, NULL },
};
