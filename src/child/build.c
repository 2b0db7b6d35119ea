/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* build - the operations of the plan, one after the other, below the new root.
 *
 * Every path is resolved from the root's descriptor, component by component, without following
 * a link and without leaving it. Things are created on file systems of ours alone: a plan that
 * asks for one in a tree of the host is refused, whatever the modes there allow. */
#include "child/ctx.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>

#include "sys/fs.h"
#include "sys/mountapi.h"

#define RESOLVE_INSIDE (RESOLVE_BENEATH | SYS_RESOLVE_PLAIN)

/* Digits of a 64-bit number in base 8, and the NUL. */
#define NUMBER_MAX 24

/* Permission bits and the sticky one; a plan has no use for set-id bits. */
#define MODE_MASK 01777

/* What a sysctl says at most. */
#define READBACK_MAX 256

static const char *number_text(char buf[NUMBER_MAX], uint64_t n, unsigned base)
{
	char *p = buf + NUMBER_MAX - 1;

	*p = '\0';
	do {
		*--p = (char)('0' + n % base);
		n /= base;
	} while (n != 0);
	return p;
}

static int open_inside(const struct child_ctx *ctx, const char *path, uint64_t flags)
{
	if (path == NULL || path[0] != '/')
		return -EINVAL;
	return sys_openat2(ctx->root_fd, path[1] == '\0' ? "." : path + 1, flags, 0,
			   RESOLVE_INSIDE);
}

/* 0 for a directory of ours, -EXDEV for one of the host. */
static int check_own(const struct child_ctx *ctx, int fd)
{
	struct file_id id;
	int r = sys_file_id(fd, "", AT_EMPTY_PATH, &id);

	if (r < 0)
		return r;
	for (uint32_t i = 0; i < ctx->n_own; i++) {
		if (ctx->own[i].major == id.dev_major && ctx->own[i].minor == id.dev_minor)
			return 0;
	}
	return -EXDEV;
}

/* The first @len bytes of @a and @b are the same. */
static bool same_bytes(const char *a, const char *b, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (a[i] != b[i])
			return false;
	}
	return true;
}

/* The first @len bytes of @path name @at or something below it. */
static bool covers(const char *at, const char *path, size_t len)
{
	const size_t n = strlen(at);

	return n <= len && same_bytes(at, path, n) && (n == len || path[n] == '/');
}

static void forget_dir(struct child_dir *dir)
{
	if (dir->len > 0)
		(void)sys_close(dir->fd);
	dir->len = 0;
}

static void forget_dirs(struct child_ctx *ctx)
{
	for (unsigned i = 0; i < CHILD_DIRS; i++)
		forget_dir(&ctx->dirs[i]);
}

/* What is mounted at @at now may cover a directory that is held. */
static void forget_covered(struct child_ctx *ctx, const char *at)
{
	for (unsigned i = 0; i < CHILD_DIRS; i++) {
		if (ctx->dirs[i].len > 0 && covers(at, ctx->dirs[i].path, ctx->dirs[i].len))
			forget_dir(&ctx->dirs[i]);
	}
}

/* Length of the parent's text in @path, and the last component in *name; -EINVAL without one. */
static int split_path(const char *path, const char **name)
{
	size_t len = 0;

	if (path == NULL || path[0] != '/')
		return -EINVAL;
	for (size_t i = 0; path[i] != '\0'; i++) {
		if (path[i] == '/')
			len = i;
	}
	*name = path + len + 1;
	return **name == '\0' || len >= PATH_MAX ? -EINVAL : (int)len;
}

/* The parent of @path, which must be ours to write to (-EXDEV), and the last component in *name.
 * The descriptor is the context's: a plan fills one directory after the other, so most are asked
 * for again by the next operation. */
static int open_parent(struct child_ctx *ctx, const char *path, const char **name)
{
	char dir[PATH_MAX];
	struct child_dir *slot;
	int fd, r, len = split_path(path, name);

	if (len <= 0)
		return len < 0 ? len : ctx->root_fd;
	for (unsigned i = 0; i < CHILD_DIRS; i++) {
		slot = &ctx->dirs[i];
		if (slot->len == (size_t)len && same_bytes(path, slot->path, slot->len)) {
			ctx->dir_last = i;
			return slot->fd;
		}
	}
	memcpy(dir, path, (size_t)len);
	dir[len] = '\0';
	fd = open_inside(ctx, dir, O_PATH | O_DIRECTORY);
	if (fd < 0)
		return fd;
	r = check_own(ctx, fd);
	if (r < 0) {
		(void)sys_close(fd);
		return r;
	}
	ctx->dir_last = (ctx->dir_last + 1) % CHILD_DIRS;
	slot = &ctx->dirs[ctx->dir_last];
	forget_dir(slot);
	*slot = (struct child_dir){ .path = path, .len = (size_t)len, .fd = fd };
	return fd;
}

static int write_all(int fd, const char *data, size_t len)
{
	while (len > 0) {
		ssize_t n = sys_write(fd, data, len);

		if (n < 0)
			return (int)n;
		if (n == 0)
			return -EIO;
		data += n;
		len -= (size_t)n;
	}
	return 0;
}

/* What is mounted on, resolved to the end without a link and looked at. */
static int open_target(struct child_ctx *ctx, const struct plan_op *op)
{
	struct file_id id;
	int target, r;

	/* With O_NOFOLLOW a link in the last component is opened itself, and then covered. */
	target = open_inside(ctx, op->at, O_PATH | (op->over_link ? O_NOFOLLOW : 0));
	if (target < 0 || !op->has_expect)
		return target;
	r = sys_file_id(target, "", AT_EMPTY_PATH, &id);
	if (r == 0 && !file_id_same(&id, &op->expect))
		r = -ESTALE;
	if (r == 0)
		return target;
	(void)sys_close(target);
	return r;
}

/* In a tree of the host, or where a certain object is expected: mounted on by descriptor. */
static int attach_checked(struct child_ctx *ctx, const struct plan_op *op, int tree)
{
	int r, target = open_target(ctx, op);

	if (target < 0)
		return target;
	r = sys_move_mount(tree, target);
	(void)sys_close(target);
	return r;
}

/* Attach the detached @tree, which is used up, at the place of @op. In a directory of ours there
 * is nothing but what the plan put there, and its name is as good as a descriptor of it. */
static int attach(struct child_ctx *ctx, const struct plan_op *op, int tree)
{
	const char *name;
	int r;

	/* Over the root itself it would be out of everybody's sight. */
	if (op->at == NULL || op->at[0] != '/' || op->at[1] == '\0')
		return -EINVAL;
	r = op->has_expect || op->over_link ? -EXDEV : open_parent(ctx, op->at, &name);
	if (r >= 0)
		r = sys_move_mount_at(tree, r, name);
	else if (r == -EXDEV)
		r = attach_checked(ctx, op, tree);
	forget_covered(ctx, op->at);
	(void)sys_close(tree);
	return r;
}

static int op_mkdir(struct child_ctx *ctx, const struct plan_op *op)
{
	const char *name;
	int dir;

	if ((op->mode & ~MODE_MASK) != 0)
		return -EINVAL;
	dir = open_parent(ctx, op->at, &name);
	if (dir < 0)
		return dir;
	return sys_mkdirat(dir, name, op->mode);
}

static int op_file(struct child_ctx *ctx, const struct plan_op *op)
{
	const char *name;
	int dir, fd, r;

	if ((op->mode & ~MODE_MASK) != 0)
		return -EINVAL;
	dir = open_parent(ctx, op->at, &name);
	if (dir < 0)
		return dir;
	/* An empty one is a place to mount on. */
	if (op->data_len == 0)
		return sys_mknodat(dir, name, S_IFREG | op->mode);
	fd = sys_openat2(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, op->mode,
			 RESOLVE_INSIDE);
	if (fd < 0)
		return fd;
	r = write_all(fd, op->data, op->data_len);
	(void)sys_close(fd);
	return r;
}

static int op_symlink(struct child_ctx *ctx, const struct plan_op *op)
{
	const char *name;
	int dir;

	dir = open_parent(ctx, op->at, &name);
	if (dir < 0)
		return dir;
	return sys_symlinkat(op->data, dir, name);
}

static int op_tree(struct child_ctx *ctx, const struct plan_op *op)
{
	int tree;

	if (op->source >= ctx->plan->n_sources)
		return -EINVAL;
	tree = ctx->plan->tree_fds[op->source];
	/* Each clone is attached once. */
	ctx->plan->tree_fds[op->source] = -1;
	if (tree < 0)
		return -EINVAL;
	return attach(ctx, op, tree);
}

static int op_tmpfs(struct child_ctx *ctx, const struct plan_op *op)
{
	char bytes[NUMBER_MAX], inodes[NUMBER_MAX], mode[NUMBER_MAX];
	int mount, r;

	mount = child_make_tmpfs(number_text(bytes, op->bytes, 10),
				 number_text(inodes, op->inodes, 10),
				 number_text(mode, op->mode, 8), child_mount_attrs(op->attrs));
	if (mount < 0)
		return mount;
	r = child_own_dev(ctx, mount);
	if (r < 0)
		return r;
	return attach(ctx, op, mount);
}

static int op_devpts(struct child_ctx *ctx, const struct plan_op *op)
{
	int fs, mount, r;

	/* Each mount is an instance of its own (Linux 4.7). */
	fs = sys_fsopen("devpts");
	if (fs < 0)
		return fs;
	r = sys_fsconfig_string(fs, "ptmxmode", "0666");
	if (r == 0)
		r = sys_fsconfig_string(fs, "mode", "0620");
	if (r == 0)
		r = sys_fsconfig_create(fs);
	if (r < 0)
		return r;
	/* Its files are devices: no MOUNT_ATTR_NODEV. */
	mount = sys_fsmount(fs, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC);
	(void)sys_close(fs);
	if (mount < 0)
		return mount;
	return attach(ctx, op, mount);
}

static int op_proc(struct child_ctx *ctx, const struct plan_op *op)
{
	int proc = ctx->proc_fd;

	ctx->proc_fd = -1;
	if (proc < 0)
		return -EINVAL;
	return attach(ctx, op, proc);
}

/* A clone of what is at @path in the new tree: by name in a directory of ours, else resolved to
 * the end without a link. */
static int clone_inside(struct child_ctx *ctx, const char *path)
{
	const unsigned flags = AT_RECURSIVE | OPEN_TREE_CLONE;
	const char *name;
	int fd, tree, dir;

	dir = open_parent(ctx, path, &name);
	if (dir >= 0)
		return sys_open_tree(dir, name, flags | AT_SYMLINK_NOFOLLOW);
	if (dir != -EXDEV)
		return dir;
	fd = open_inside(ctx, path, O_PATH);
	if (fd < 0)
		return fd;
	tree = sys_open_tree(fd, "", flags | AT_EMPTY_PATH);
	(void)sys_close(fd);
	return tree;
}

static int restrict_bound(const struct plan_op *op, int tree)
{
	return op->shallow ? child_restrict_mount(tree, op->attrs)
			   : child_restrict_tree(tree, op->attrs);
}

/* A place bound onto itself, to be seen with other attributes: one descriptor is both ends. */
static int bind_itself(struct child_ctx *ctx, const struct plan_op *op)
{
	int tree, r, target = open_target(ctx, op);

	if (target < 0)
		return target;
	tree = sys_open_tree(target, "", AT_EMPTY_PATH | AT_RECURSIVE | OPEN_TREE_CLONE);
	if (tree < 0)
		return tree;
	r = restrict_bound(op, tree);
	if (r == 0)
		r = sys_move_mount(tree, target);
	forget_covered(ctx, op->at);
	(void)sys_close(tree);
	(void)sys_close(target);
	return r;
}

static int op_bind(struct child_ctx *ctx, const struct plan_op *op)
{
	int r, tree;

	if (op->from != NULL && op->at != NULL && child_same_text(op->from, op->at) &&
	    !child_same_text(op->at, "/"))
		return bind_itself(ctx, op);
	tree = clone_inside(ctx, op->from);
	if (tree < 0)
		return tree;
	r = restrict_bound(op, tree);
	if (r < 0)
		return r;
	return attach(ctx, op, tree);
}

static int op_write(struct child_ctx *ctx, const struct plan_op *op)
{
	char got[READBACK_MAX];
	ssize_t n;
	int fd, r;

	fd = open_inside(ctx, op->at, O_WRONLY);
	if (fd < 0)
		return fd;
	n = sys_write(fd, op->data, op->data_len);
	r = sys_close(fd);
	if (n < 0)
		return (int)n;
	if (r < 0)
		return r;
	if (n != (ssize_t)op->data_len)
		return -EIO;
	/* The kernel may take a value and hold another, clamped one. */
	fd = open_inside(ctx, op->at, O_RDONLY);
	if (fd < 0)
		return fd;
	n = sys_read(fd, got, sizeof(got));
	(void)sys_close(fd);
	if (n < 0)
		return (int)n;
	for (uint32_t i = 0;; i++) {
		const char want = i < op->data_len ? op->data[i] : '\n';
		const char have = i < n ? got[i] : '\n';

		if (want != have)
			return -EIO;
		if (want == '\n')
			return 0;
	}
}

static int (*const ops[PLAN_OP_MAX])(struct child_ctx *ctx, const struct plan_op *op) = {
	[PLAN_OP_MKDIR] = op_mkdir, [PLAN_OP_FILE] = op_file,   [PLAN_OP_SYMLINK] = op_symlink,
	[PLAN_OP_TREE] = op_tree,   [PLAN_OP_TMPFS] = op_tmpfs, [PLAN_OP_DEVPTS] = op_devpts,
	[PLAN_OP_PROC] = op_proc,   [PLAN_OP_BIND] = op_bind,   [PLAN_OP_WRITE] = op_write,
};

int child_build_tree(struct child_ctx *ctx)
{
	const struct plan *plan = ctx->plan;
	/* Modes are the plan's, to the bit. */
	int r = sys_umask(0);

	if (r < 0)
		return r;

	for (uint32_t i = 0; i < plan->n_ops; i++) {
		const struct plan_op *op = &plan->ops[i];

		ctx->op = i;
		if ((unsigned)op->kind >= PLAN_OP_MAX || ops[op->kind] == NULL)
			return -EINVAL;
		r = ops[op->kind](ctx, op);
		if (r < 0)
			return r;
	}
	forget_dirs(ctx);
	return sys_umask(CHILD_UMASK);
}
