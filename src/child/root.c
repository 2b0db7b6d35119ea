/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* root - the new root: made, entered, sealed; then where and with what the command starts. */
#include "child/ctx.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <sys/stat.h>

#include "sys/fs.h"
#include "sys/mountapi.h"

#define ROOT_ATTRS (MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC)

/* Descriptors of the control socket and of the pty once 0, 1 and 2 are the command's. */
#define CONTROL_FD 3
#define TTY_FD     4

/* To tmpfs, 0 and an empty text are "no limit". */
static bool is_limit(const char *text)
{
	return text != NULL && text[0] >= '1' && text[0] <= '9';
}

int child_make_tmpfs(const char *bytes, const char *inodes, const char *mode, unsigned attrs)
{
	int fs, mount, r;

	if (!is_limit(bytes) || !is_limit(inodes))
		return -EINVAL;
	fs = sys_fsopen("tmpfs");
	if (fs < 0)
		return fs;
	r = sys_fsconfig_string(fs, "size", bytes);
	if (r == 0)
		r = sys_fsconfig_string(fs, "nr_inodes", inodes);
	if (r == 0)
		r = sys_fsconfig_string(fs, "mode", mode);
	if (r == 0)
		r = sys_fsconfig_create(fs);
	if (r < 0)
		return r;
	mount = sys_fsmount(fs, attrs);
	(void)sys_close(fs);
	return mount;
}

int child_own_dev(struct child_ctx *ctx, int mount)
{
	struct file_id id;
	int r;

	if (ctx->n_own == CHILD_OWN_DEVS_MAX)
		return -E2BIG;
	r = sys_file_id(mount, "", AT_EMPTY_PATH, &id);
	if (r < 0)
		return r;
	ctx->own[ctx->n_own++] = (struct child_dev){ id.dev_major, id.dev_minor };
	return 0;
}

int child_attach_root(struct child_ctx *ctx)
{
	const struct plan *plan = ctx->plan;
	int old, r;

	/* Nothing in the root itself is executed, and devices are mounts of their own. */
	ctx->root_fd = child_make_tmpfs(plan->root_bytes, plan->root_inodes, "755", ROOT_ATTRS);
	if (ctx->root_fd < 0)
		return ctx->root_fd;
	r = child_own_dev(ctx, ctx->root_fd);
	if (r < 0)
		return r;
	/* Over "/" itself, the only directory that is there on every host. pivot_root() wants the
	 * new root to be a mount below the old one, which a mount on top of it is. */
	old = sys_openat2(AT_FDCWD, "/", O_PATH | O_DIRECTORY, 0, 0);
	if (old < 0)
		return old;
	r = sys_move_mount(ctx->root_fd, old);
	(void)sys_close(old);
	return r;
}

static bool plan_has_proc(const struct plan *plan)
{
	for (uint32_t i = 0; i < plan->n_ops; i++) {
		if (plan->ops[i].kind == PLAN_OP_PROC)
			return true;
	}
	return false;
}

int child_make_proc(struct child_ctx *ctx)
{
	int fs, r;

	/* Where the kernel refuses it, a plan may bind the outer one instead. */
	if (!plan_has_proc(ctx->plan))
		return 0;
	fs = sys_fsopen("proc");
	if (fs < 0)
		return fs;
	r = sys_fsconfig_create(fs);
	if (r < 0)
		return r;
	ctx->proc_fd = sys_fsmount(fs, ROOT_ATTRS);
	(void)sys_close(fs);
	return ctx->proc_fd < 0 ? ctx->proc_fd : 0;
}

static int check_root(const struct child_ctx *ctx, const char *path)
{
	struct file_id want, have;
	int r;

	r = sys_file_id(ctx->root_fd, "", AT_EMPTY_PATH, &want);
	if (r < 0)
		return r;
	r = sys_file_id(AT_FDCWD, path, 0, &have);
	if (r < 0)
		return r;
	/* One namespace, so here the mount id compares as well. */
	return file_id_same(&want, &have) && want.mnt_id == have.mnt_id ? 0 : -ESTALE;
}

int child_pivot_root(struct child_ctx *ctx)
{
	int r;

	r = sys_fchdir(ctx->root_fd);
	if (r < 0)
		return r;
	/* The old root ends up mounted over the new one, at "."; no directory is needed for it
	 * (pivot_root(2), "pivot_root(".", ".")"). */
	r = sys_pivot_root(".", ".");
	return r < 0 ? r : check_root(ctx, "/");
}

int child_detach_old_root(struct child_ctx *ctx)
{
	int r;

	r = sys_umount2(".", MNT_DETACH);
	if (r < 0)
		return r;
	r = sys_chdir("/");
	if (r < 0)
		return r;
	/* Above the root is the root, or what is still mounted over it. */
	return check_root(ctx, "/..");
}

int child_seal_root(struct child_ctx *ctx)
{
	const struct sys_mount_attr attr = { .attr_set = ROOT_ATTRS | MOUNT_ATTR_RDONLY };
	int r;

	r = sys_mount_setattr(ctx->root_fd, "", AT_EMPTY_PATH, &attr);
	if (r < 0)
		return r;
	/* Tried, not looked up. What was made by a seal that does not hold is left: the process
	 * ends and the root with it. */
	r = sys_mkdirat(ctx->root_fd, ".sealed", 0700);
	if (r == -EROFS)
		return 0;
	return r == 0 ? -EPERM : r;
}

bool child_same_text(const char *a, const char *b)
{
	while (*a != '\0' && *a == *b) {
		a++;
		b++;
	}
	return *a == *b;
}

int child_enter_workdir(struct child_ctx *ctx)
{
	const char *dir = ctx->plan->workdir;
	char cwd[PATH_MAX];
	int fd, r;

	if (dir == NULL || dir[0] != '/')
		return -EINVAL;
	fd = sys_openat2(ctx->root_fd, dir[1] == '\0' ? "." : dir + 1, O_PATH | O_DIRECTORY, 0,
			 RESOLVE_BENEATH | SYS_RESOLVE_PLAIN);
	if (fd < 0)
		return fd;
	r = sys_fchdir(fd);
	(void)sys_close(fd);
	if (r < 0)
		return r;
	/* Also says "(unreachable)" when the directory is not below the root. */
	r = sys_getcwd(cwd, sizeof(cwd));
	if (r < 0)
		return r;
	return child_same_text(cwd, dir) ? 0 : -ESTALE;
}

/* What a descriptor leads to can be opened again through /proc/self/fd with other rights than
 * it was given with: a file read-only here could be overwritten, a directory listed, and a pipe
 * turned round. The null device gives nothing more. A pipe must be one that was made for this
 * run, so that nobody but the supervisor is at its other end: run/stdfd sees to that, because
 * from here one pipe looks like another. */
static int check_stdio(int fd)
{
	struct file_id id;
	int r = sys_file_id(fd, "", AT_EMPTY_PATH, &id);

	if (r < 0)
		return r;
	if (id.type == S_IFIFO)
		return 0;
	return id.type == S_IFCHR && id.rdev_major == 1 && id.rdev_minor == 3 ? 0 : -EBADF;
}

/* The pty is ours and nothing of what the supervisor handed over. */
static int stdio_source(const struct child_ctx *ctx, int i)
{
	int r;

	if ((ctx->terminal & 1U << i) != 0)
		return sys_dup_min(ctx->tty, TTY_FD + 1);
	r = check_stdio(ctx->stdio[i]);
	return r < 0 ? r : sys_dup_min(ctx->stdio[i], TTY_FD + 1);
}

/* The descriptors of init itself; whatever is above them is closed. */
static int place_own(struct child_ctx *ctx)
{
	int r, last = CONTROL_FD;

	r = sys_dup3(ctx->control, CONTROL_FD, O_CLOEXEC);
	if (r < 0)
		return r;
	ctx->control = CONTROL_FD;
	if (ctx->tty >= 0) {
		r = sys_dup3(ctx->tty, TTY_FD, O_CLOEXEC);
		if (r < 0)
			return r;
		ctx->tty = TTY_FD;
		last = TTY_FD;
	}
	return sys_close_range((unsigned)last + 1, ~0U);
}

int child_set_descriptors(struct child_ctx *ctx)
{
	int from[3], control, r;

	/* First out of the way of the numbers they are to get: any may be any. */
	control = sys_dup_min(ctx->control, TTY_FD + 1);
	if (control < 0)
		return control;
	ctx->control = control;
	if (ctx->tty >= 0) {
		ctx->tty = sys_dup_min(ctx->tty, TTY_FD + 1);
		if (ctx->tty < 0)
			return ctx->tty;
	}
	for (int i = 0; i < 3; i++) {
		ctx->op = (uint32_t)i;
		from[i] = stdio_source(ctx, i);
		if (from[i] < 0)
			return from[i];
	}
	for (int i = 0; i < 3; i++) {
		ctx->op = (uint32_t)i;
		r = sys_dup3(from[i], i, 0);
		if (r < 0)
			return r;
	}
	r = place_own(ctx);
	if (r < 0)
		return r;
	ctx->root_fd = -1;
	ctx->proc_fd = -1;
	/* One that was open must be closed now. */
	return sys_close(control) == -EBADF ? 0 : -EPERM;
}
