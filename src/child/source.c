/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* source - clone the pieces of the host that the plan names. */
#include "child/ctx.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <sys/resource.h>

#include "sys/fs.h"
#include "sys/mountapi.h"
#include "sys/process.h"

/* Descriptors beside those of the sources: stdio, control, root, proc, one or two in work. */
#define NOFILE_SPARE 64

static const struct {
	enum plan_attr plan;
	unsigned mount;
} attr_map[] = {
	{ PLAN_ATTR_RO, MOUNT_ATTR_RDONLY },
	{ PLAN_ATTR_NOSUID, MOUNT_ATTR_NOSUID },
	{ PLAN_ATTR_NODEV, MOUNT_ATTR_NODEV },
	{ PLAN_ATTR_NOEXEC, MOUNT_ATTR_NOEXEC },
};

unsigned child_mount_attrs(unsigned plan_attrs)
{
	unsigned attrs = 0;

	for (size_t i = 0; i < sizeof(attr_map) / sizeof(attr_map[0]); i++) {
		if ((plan_attrs & attr_map[i].plan) != 0)
			attrs |= attr_map[i].mount;
	}
	return attrs;
}

int child_restrict_tree(int tree, unsigned plan_attrs)
{
	const struct sys_mount_attr attr = {
		.attr_set = child_mount_attrs(plan_attrs),
		.propagation = MS_PRIVATE,
	};

	/* One call for the attributes and the propagation of the whole tree, while it is detached:
	 * it is never visible in a weaker state. Attributes are added; what the host had set
	 * stays, and the kernel would not let us take it away. */
	return sys_mount_setattr(tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr);
}

int child_restrict_mount(int tree, unsigned plan_attrs)
{
	const struct sys_mount_attr attr = { .attr_set = child_mount_attrs(plan_attrs) };

	/* A clone of private mounts is private. */
	return sys_mount_setattr(tree, "", AT_EMPTY_PATH, &attr);
}

int child_make_private(struct child_ctx *ctx)
{
	const struct sys_mount_attr attr = { .propagation = MS_PRIVATE };

	(void)ctx;
	return sys_mount_setattr(AT_FDCWD, "/", AT_RECURSIVE, &attr);
}

/* A tree holds its descriptor until it is attached. The command gets its own limit back. */
static int raise_nofile(struct child_ctx *ctx)
{
	const uint64_t need = ctx->plan->n_sources + NOFILE_SPARE;
	struct sys_rlimit lim;
	int r;

	r = sys_rlimit_get(RLIMIT_NOFILE, &lim);
	if (r < 0)
		return r;
	if (lim.soft >= need)
		return 0;
	ctx->nofile_soft = lim.soft;
	ctx->nofile_raised = 1;
	lim.soft = lim.hard < need ? lim.hard : need;
	return sys_rlimit_set(RLIMIT_NOFILE, &lim);
}

static int open_source(const struct plan_source *source)
{
	struct file_id id;
	int fd, tree, r;

	/* Opened anew: a descriptor from before clone belongs to a mount of the other namespace,
	 * which open_tree() refuses. The path may have been exchanged meanwhile, so what it leads
	 * to must be what the decision was about. */
	fd = sys_openat2(AT_FDCWD, source->path, O_PATH, 0, SYS_RESOLVE_PLAIN);
	if (fd < 0)
		return fd;
	r = sys_file_id(fd, "", AT_EMPTY_PATH, &id);
	if (r == 0 && !file_id_same(&id, &source->id))
		r = -ESTALE;
	if (r < 0)
		return r;
	/* Recursive: a part of a tree without its locked submounts would uncover what the host
	 * has covered, and is refused. */
	tree = sys_open_tree(fd, "", AT_EMPTY_PATH | AT_RECURSIVE | OPEN_TREE_CLONE);
	(void)sys_close(fd);
	return tree;
}

int child_clone_sources(struct child_ctx *ctx)
{
	const struct plan *plan = ctx->plan;
	int r = raise_nofile(ctx);

	if (r < 0)
		return r;
	for (uint32_t i = 0; i < plan->n_sources; i++) {
		const struct plan_source *source = &plan->sources[i];
		int tree = source->tree_fd;

		ctx->op = i;
		if (tree < 0)
			tree = open_source(source);
		if (tree < 0)
			return tree;
		r = child_restrict_tree(tree, source->attrs);
		if (r < 0)
			return r;
		plan->tree_fds[i] = tree;
	}
	return 0;
}
