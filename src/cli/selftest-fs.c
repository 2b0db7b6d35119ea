/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Attacks on files. */
#include "cli/selftest.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/fd.h"
#include "filter/filter.h"

#define MARK ".agentbox-selftest-mark"

struct place {
	char path[PATH_MAX];
};

/* Return: 0, or the result that ends the act. */
static int place(const struct selftest_ctx *c, const char *arg, struct place *ret)
{
	const char *before = "";
	int n;

	if (arg[0] == '@' && c->room == NULL)
		return SELFTEST_NO_ROOM;
	if (arg[0] == '@') {
		before = c->room;
		arg++;
	}
	n = snprintf(ret->path, sizeof(ret->path), "%s%s", before, arg);
	return n < 0 || (size_t)n >= sizeof(ret->path) ? ENAMETOOLONG : 0;
}

static int act_create(const struct selftest_ctx *c, const char *arg)
{
	struct place p;
	int r = place(c, arg, &p);
	FD_AUTO fd = -1;

	if (r != 0)
		return r;
	fd = open(p.path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return errno;
	(void)unlink(p.path);
	return 0;
}

static int open_as(const struct selftest_ctx *c, const char *arg, int flags)
{
	struct place p;
	int r = place(c, arg, &p);
	FD_AUTO fd = -1;

	if (r != 0)
		return r;
	fd = open(p.path, flags | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	return fd < 0 ? errno : 0;
}

static int act_read(const struct selftest_ctx *c, const char *arg)
{
	return open_as(c, arg, O_RDONLY);
}

/* Opened and not written: what would happen to the host if it got through. */
static int act_open_write(const struct selftest_ctx *c, const char *arg)
{
	return open_as(c, arg, O_WRONLY);
}

/* The file outside every root, by ways that begin with @arg. */
static int act_read_outside(const struct selftest_ctx *c, const char *arg)
{
	struct place p;
	int n = snprintf(p.path, sizeof(p.path), "%s%s", arg, c->outside);

	return n < 0 || (size_t)n >= sizeof(p.path) ? ENAMETOOLONG : open_as(c, p.path, O_RDONLY);
}

static int act_readlink(const struct selftest_ctx *c, const char *arg)
{
	char text[PATH_MAX];

	(void)c;
	return selftest_errno(readlink(arg, text, sizeof(text)));
}

/* To a name beside it and back. */
static int act_rename(const struct selftest_ctx *c, const char *arg)
{
	struct place from, to;
	int r = place(c, arg, &from);

	if (r != 0)
		return r;
	to = from;
	to.path[strlen(to.path) - 1] = '~';
	if (rename(from.path, to.path) != 0)
		return errno;
	(void)rename(to.path, from.path);
	return 0;
}

static int act_unlink(const struct selftest_ctx *c, const char *arg)
{
	struct place p;
	int r = place(c, arg, &p);

	return r != 0 ? r : selftest_errno(unlink(p.path));
}

/* A second name for @arg, in the scratch or beside it. */
static int link_to(const struct selftest_ctx *c, const char *arg, const char *dir)
{
	struct place from, to;
	int r = place(c, arg, &from);

	if (r == 0)
		r = place(c, dir, &to);
	if (r != 0)
		return r;
	(void)unlink(to.path);
	r = selftest_errno(link(from.path, to.path));
	if (r == 0)
		(void)unlink(to.path);
	return r;
}

static int act_link_away(const struct selftest_ctx *c, const char *arg)
{
	return link_to(c, arg, "/tmp/" MARK);
}

static int act_link_here(const struct selftest_ctx *c, const char *arg)
{
	return link_to(c, arg, "@/" MARK);
}

static int act_rename_away(const struct selftest_ctx *c, const char *arg)
{
	struct place from;
	int r = place(c, arg, &from);

	if (r != 0)
		return r;
	r = selftest_errno(rename(from.path, "/tmp/" MARK));
	if (r == 0)
		(void)rename("/tmp/" MARK, from.path);
	return r;
}

/* A link planted in the directory, then followed: to @arg, or to the file outside. */
static int act_plant(const struct selftest_ctx *c, const char *arg)
{
	struct place p;
	int r = place(c, "@/" MARK, &p);

	if (r != 0)
		return r;
	(void)unlink(p.path);
	if (symlink(arg != NULL ? arg : c->outside, p.path) != 0)
		return errno;
	r = open_as(c, p.path, O_RDONLY);
	(void)unlink(p.path);
	return r;
}

static int mode_of(mode_t mode)
{
	static const char path[] = "/tmp/" MARK;
	FD_AUTO fd = -1;
	int r;

	(void)unlink(path);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return errno;
	r = selftest_errno(fchmod(fd, mode));
	(void)unlink(path);
	return r;
}

static int act_setuid_bit(const struct selftest_ctx *c, const char *arg)
{
	(void)c;
	(void)arg;
	return mode_of(04755);
}

static int act_plain_mode(const struct selftest_ctx *c, const char *arg)
{
	(void)c;
	(void)arg;
	return mode_of(0755);
}

static int node_of(mode_t mode)
{
	static const char path[] = "/tmp/" MARK;
	int r;

	(void)unlink(path);
	r = selftest_errno(mknod(path, mode | 0600, makedev(1, 3)));
	(void)unlink(path);
	return r;
}

static int act_char_device(const struct selftest_ctx *c, const char *arg)
{
	(void)c;
	(void)arg;
	return node_of(S_IFCHR);
}

static int act_block_device(const struct selftest_ctx *c, const char *arg)
{
	(void)c;
	(void)arg;
	return node_of(S_IFBLK);
}

static int act_fifo(const struct selftest_ctx *c, const char *arg)
{
	(void)c;
	(void)arg;
	return node_of(S_IFIFO);
}

/* One of our own, with a reader. */
static int act_write_fifo(const struct selftest_ctx *c, const char *arg)
{
	FD_AUTO reader = -1;
	int r;

	(void)unlink(arg);
	if (mkfifo(arg, 0600) != 0)
		return errno;
	reader = open(arg, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	r = reader < 0 ? errno : open_as(c, arg, O_WRONLY);
	(void)unlink(arg);
	return r;
}

/* By the descriptor, with the right that it was not given: a file of the host if the launcher
 * handed on what it had. Opened and not written. */
static int act_reopen_input(const struct selftest_ctx *c, const char *arg)
{
	struct stat st;
	FD_AUTO fd = open(arg, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	(void)c;
	if (fd < 0)
		return errno;
	return fstat(fd, &st) != 0 ? errno : S_ISREG(st.st_mode) ? 0 : EBADF;
}

static int act_reopen_own(const struct selftest_ctx *c, const char *arg)
{
	char path[32];
	FD_AUTO fd = open(arg, O_RDONLY | O_CREAT | O_CLOEXEC, 0600);
	int r = fd < 0 ? errno : 0;

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (r == 0)
		r = act_reopen_input(c, path);
	(void)unlink(arg);
	return r;
}

/* Not by opening it: a program that runs is ETXTBSY for as long as it does, and no longer. */
static int act_chmod_same(const struct selftest_ctx *c, const char *arg)
{
	struct stat st;

	(void)c;
	if (stat(arg, &st) != 0)
		return errno;
	return selftest_errno(chmod(arg, st.st_mode & 07777));
}

/* clang-format off */
const struct selftest_row selftest_fs_rows[] = {
	{ "write-usr", "create a file in /usr",
	  act_create, "/usr/" MARK, act_create, "/tmp/" MARK, { EROFS }, 0, 0, 0 },
	{ "write-etc", "create a file in /etc",
	  act_create, "/etc/" MARK, act_create, "/var/tmp/" MARK, { EROFS }, 0, 0, 0 },
	{ "write-root", "create a file in /",
	  act_create, "/" MARK, act_create, "/dev/shm/" MARK, { EROFS }, 0, 0, 0 },
	{ "write-dev", "create a file in /dev",
	  act_create, "/dev/" MARK, act_create, "/home/agent/" MARK, { EROFS }, 0, 0, 0 },
	{ "host-path", "open a host file outside every root",
	  act_read_outside, "", NULL, NULL, { ENOENT, EACCES }, SELFTEST_TWIN_HOST, 0, 0 },
	{ "host-dotdot", "the same, by /proc/self/root/../..",
	  act_read_outside, "/proc/self/root/../..", NULL, NULL, { ENOENT, EACCES },
	  SELFTEST_TWIN_HOST, 0, 0 },
	{ "host-cwd", "the same, by /proc/self/cwd/../../../../../../../..",
	  act_read_outside, "/proc/self/cwd/../../../../../../../../../../../..", NULL, NULL,
	  { ENOENT, EACCES }, SELFTEST_TWIN_HOST, 0, 0 },
	{ "planted-link", "plant a link to a host file and follow it (CVE-2024-42472)",
	  act_plant, NULL, act_plant, "plain", { ENOENT, EACCES }, 0, 0, 0 },
	{ "init-environ", "read /proc/1/environ",
	  act_read, "/proc/1/environ", act_read, "/proc/self/environ", { EACCES, EPERM }, 0, 0, 0 },
	{ "init-mem", "open /proc/1/mem",
	  act_read, "/proc/1/mem", act_read, "/proc/self/mem", { EACCES, EPERM }, 0, 0, 0 },
	{ "init-maps", "open /proc/1/maps",
	  act_read, "/proc/1/maps", act_read, "/proc/self/maps", { EACCES, EPERM }, 0, 0, 0 },
	{ "init-root", "follow /proc/1/root",
	  act_readlink, "/proc/1/root", act_readlink, "/proc/self/root", { EACCES, EPERM }, 0, 0, 0 },
	{ "init-cwd", "follow /proc/1/cwd",
	  act_readlink, "/proc/1/cwd", act_readlink, "/proc/self/cwd", { EACCES, EPERM }, 0, 0, 0 },
	{ "init-exe", "follow /proc/1/exe, the launcher",
	  act_readlink, "/proc/1/exe", act_readlink, "/proc/self/exe", { EACCES, EPERM }, 0, 0, 0 },
	{ "init-fd", "follow /proc/1/fd/0",
	  act_readlink, "/proc/1/fd/0", act_readlink, "/proc/self/fd/0",
	  { EACCES, EPERM, ENOENT }, 0, 0, 0 },
	{ "launcher-binary", "change the launcher's file by /proc/self/exe (CVE-2019-5736)",
	  act_chmod_same, "/proc/self/exe", act_plain_mode, NULL, { EROFS }, 0, 0, 0 },
	{ "core-pattern", "open /proc/sys/kernel/core_pattern for writing",
	  act_open_write, "/proc/sys/kernel/core_pattern", act_open_write, "/proc/self/oom_score_adj",
	  { EROFS, EACCES }, 0, 0, 0 },
	{ "sysctl", "open /proc/sys/vm/drop_caches for writing",
	  act_open_write, "/proc/sys/vm/drop_caches", act_open_write, "/proc/self/comm",
	  { EROFS, EACCES, ENOENT }, 0, 0, 0 },
	{ "sysrq", "open /proc/sysrq-trigger for writing",
	  act_open_write, "/proc/sysrq-trigger", act_open_write, "/proc/self/clear_refs",
	  { EROFS, EACCES, ENOENT }, 0, 0, 0 },
	{ "hidden-read", "read a hidden .env",
	  act_read, "@/.env", act_read, "@/plain", { EACCES }, 0, 0, 0 },
	{ "hidden-write", "open a hidden .env for writing",
	  act_open_write, "@/.env", act_open_write, "@/plain", { EACCES, EROFS }, 0, 0, 0 },
	{ "hidden-link", "give a hidden .env a second name",
	  act_link_here, "@/.env", act_link_here, "@/plain", { EXDEV, EPERM }, 0, 0, 0 },
	{ "profile-hidden", "read the profile of this run",
	  act_read, "@/selftest.yaml", act_read, "@/plain", { EACCES },
	  SELFTEST_OWN_PROFILE, 0, 0 },
	{ "frozen-config", "open .git/config for writing",
	  act_open_write, "@/.git/config", act_open_write, "@/.git/HEAD", { EROFS }, 0, 0, 0 },
	{ "frozen-unlink", "remove .git/config",
	  act_unlink, "@/.git/config", act_create, "@/.git/" MARK, { EBUSY, EROFS }, 0, 0, 0 },
	{ "frozen-hooks", "create a file in .git/hooks",
	  act_create, "@/.git/hooks/post-checkout", act_create, "@/.git/objects/" MARK, { EROFS },
	  0, 0, 0 },
	{ "frozen-rename", "rename .git away",
	  act_rename, "@/.git", act_rename, "@/directory", { EBUSY }, 0, 0, 0 },
	{ "host-fifo", "write into a FIFO of the host that lies in a writable root",
	  act_open_write, "@/" SELFTEST_FIFO, act_write_fifo, "/tmp/" MARK,
	  { EACCES, EROFS, ENOENT }, 0, 0, 0 },
	{ "stdin-reopen", "open standard input again for writing, a file of the host",
	  act_reopen_input, "/proc/self/fd/0", act_reopen_own, "/tmp/" MARK,
	  { EBADF, EACCES, ENXIO }, 0, 0, 0 },
	{ "link-across", "hard link from a root into the scratch",
	  act_link_away, "@/plain", act_link_here, "@/plain", { EXDEV }, 0, 0, 0 },
	{ "rename-across", "rename from a root into the scratch",
	  act_rename_away, "@/plain", act_rename, "@/plain", { EXDEV }, 0, 0, 0 },
	{ "setuid-bit", "make a setuid file",
	  act_setuid_bit, NULL, act_plain_mode, NULL, { EPERM }, 0, FILTER_SETID_BITS, 0 },
	{ "char-device", "make a character device",
	  act_char_device, NULL, act_fifo, NULL, { EPERM, EACCES }, 0, 0, 0 },
	{ "block-device", "make a block device",
	  act_block_device, NULL, act_fifo, NULL, { EPERM, EACCES }, 0, 0, 0 },
};
/* clang-format on */
const size_t selftest_n_fs_rows = ARRAY_SIZE(selftest_fs_rows);
