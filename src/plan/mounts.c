/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Theory of operation: the new root is an empty tmpfs. Below /proc, before the real proc is
 * mounted over it, lies the staging area: our own small files, the masks and the scratch tmpfs.
 * From there they are bound to where they belong; then proc covers it, and there is no path to
 * it left. Own files need no other home, nothing needs to be unmounted. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/path.h"
#include "plan/internal.h"

#define STAGE          "/proc/own"
#define STAGE_MASK     STAGE "/mask"
#define STAGE_MASK_DIR STAGE "/maskdir"
#define STAGE_SCRATCH  "/proc/scratch"
#define STAGE_LOADER   "/proc/loader"

#define ATTRS_RO   (PLAN_ATTR_RO | PLAN_ATTR_NOSUID | PLAN_ATTR_NODEV)
#define ATTRS_RW   (PLAN_ATTR_NOSUID | PLAN_ATTR_NODEV)
#define ATTRS_DATA (ATTRS_RO | PLAN_ATTR_NOEXEC)

static struct plan_op *op_add(struct plan_builder *b, enum plan_op_kind kind, const char *at)
{
	struct plan_op *op = array_push(b->arena, &b->ops);

	op->kind = kind;
	op->at = arena_strdup(b->arena, at);
	return op;
}

/* What programs may write to: with `commands`, nothing is executed from there. */
static unsigned attrs_rw(const struct plan_builder *b)
{
	return ATTRS_RW | (b->rq->profile->sandbox.any_command ? 0 : PLAN_ATTR_NOEXEC);
}

static void op_mkdir(struct plan_builder *b, const char *at, uint32_t mode)
{
	for (size_t i = 0; i < b->made.n; i++) {
		if (strcmp(b->made.v[i], at) == 0)
			return;
	}
	op_add(b, PLAN_OP_MKDIR, at)->mode = mode;
	*array_push(b->scratch, &b->made) = arena_strdup(b->scratch, at);
}

static void op_file(struct plan_builder *b, const char *at, uint32_t mode, const char *data)
{
	struct plan_op *op = op_add(b, PLAN_OP_FILE, at);

	op->mode = mode;
	op->data = arena_strdup(b->arena, data);
	op->data_len = (uint32_t)strlen(data);
}

static void op_symlink(struct plan_builder *b, const char *at, const char *text)
{
	struct plan_op *op = op_add(b, PLAN_OP_SYMLINK, at);

	op->data = arena_strdup(b->arena, text);
	op->data_len = (uint32_t)strlen(text);
}

static struct plan_op *op_bind(struct plan_builder *b, const char *from, const char *at,
			       unsigned attrs)
{
	struct plan_op *op = op_add(b, PLAN_OP_BIND, at);

	op->from = arena_strdup(b->arena, from);
	op->attrs = attrs;
	return op;
}

static void op_tmpfs(struct plan_builder *b, const char *at, uint32_t mode, unsigned attrs)
{
	const struct profile_sandbox *s = &b->rq->profile->sandbox;
	struct plan_op *op = op_add(b, PLAN_OP_TMPFS, at);

	op->mode = mode;
	op->attrs = attrs;
	op->bytes = (s->scratch_bytes + 4095) & ~(uint64_t)4095;
	op->inodes = s->scratch_files;
}

static void op_tree(struct plan_builder *b, const char *at, const struct facts_object *o,
		    unsigned attrs, int tree_fd)
{
	struct plan_source *src = array_push(b->arena, &b->sources);
	struct plan_op *op = op_add(b, PLAN_OP_TREE, at);

	src->path = arena_strdup(b->arena, o->path);
	src->id = o->id;
	src->attrs = attrs;
	src->tree_fd = tree_fd;
	src->idmapped = tree_fd >= 0 && b->rq->idmapped;
	op->source = (uint32_t)(b->sources.n - 1);
}

static void build_stage(struct plan_builder *b)
{
	const struct facts *f = b->rq->facts;

	op_mkdir(b, "/proc", 0555);
	op_mkdir(b, STAGE, 0755);
	for (size_t i = 0; !f->etc_made && i < f->etc.n; i++) {
		const char *name = f->etc.v[i].name;

		op_file(b, path_join(b->scratch, STAGE, name), 0444,
			plan_etc_text(b->scratch, b->rq, name));
	}
	op_file(b, STAGE_MASK, 0000, "");
	op_mkdir(b, STAGE_MASK_DIR, 0000);
	op_mkdir(b, STAGE_SCRATCH, 0755);
	op_tmpfs(b, STAGE_SCRATCH, 0755, attrs_rw(b));
}

/* The place of the entry is there: @base is its directory of ours, or the root. */
static void build_base_entry(struct plan_builder *b, const struct facts_base *base)
{
	switch (base->kind) {
	case FACTS_BASE_ABSENT:
		return;
	case FACTS_BASE_LINK:
		if (path_covers("/run", base->at))
			op_mkdir(b, "/run", 0755);
		op_symlink(b, base->at, base->link);
		return;
	case FACTS_BASE_MADE:
		if (base->at[1] != '\0')
			op_mkdir(b, base->at, 0755);
		return;
	case FACTS_BASE_FILE:
		op_file(b, base->at, 0444, "");
		break;
	case FACTS_BASE_DIR:
		op_mkdir(b, base->at, 0755);
		break;
	}
	op_tree(b, base->at, &base->object, ATTRS_RO, -1);
}

/* Ours in place of the host's: made where /etc is a directory of ours, else bound over them. */
static void build_etc_own(struct plan_builder *b)
{
	const struct facts *f = b->rq->facts;

	for (size_t i = 0; i < f->etc.n; i++) {
		const char *name = f->etc.v[i].name;
		const char *at = path_join(b->scratch, "/etc", name);

		if (f->etc_made)
			op_file(b, at, 0444, plan_etc_text(b->scratch, b->rq, name));
		else
			op_bind(b, path_join(b->scratch, STAGE, name), at, ATTRS_DATA)->over_link =
				true;
	}
}

static void build_base(struct plan_builder *b)
{
	const struct facts *f = b->rq->facts;

	for (size_t i = 0; i < f->base.n; i++) {
		if (!f->base.v[i].added)
			build_base_entry(b, &f->base.v[i]);
	}
	build_etc_own(b);
}

static bool root_is_mounted(const struct plan_builder *b, size_t i)
{
	return b->rq->facts->roots.v[i].present && b->rq->access[i].read;
}

/* A link for old programs, unless a root needs a directory there. */
static void build_var_link(struct plan_builder *b, const char *at, const char *text)
{
	const struct facts *f = b->rq->facts;

	for (size_t i = 0; i < f->roots.n; i++) {
		if (root_is_mounted(b, i) && path_covers(at, f->roots.v[i].root->at))
			return;
	}
	op_symlink(b, at, text);
}

/* The parts of the one scratch file system: programs may fill it, not the host. */
static void build_scratch(struct plan_builder *b)
{
	static const struct {
		const char *stage;
		const char *at;
		uint32_t mode;
	} parts[] = {
		{ STAGE_SCRATCH "/tmp", "/tmp", 01777 },
		{ STAGE_SCRATCH "/vartmp", "/var/tmp", 01777 },
		{ STAGE_SCRATCH "/home", "/home/agent", 0700 },
	};

	op_mkdir(b, "/run", 0755);
	op_mkdir(b, "/run/lock", 0755);
	op_mkdir(b, "/var", 0755);
	op_mkdir(b, "/home", 0755);
	build_var_link(b, "/var/run", "/run");
	build_var_link(b, "/var/lock", "/run/lock");
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		op_mkdir(b, parts[i].stage, parts[i].mode);
		op_mkdir(b, parts[i].at, parts[i].mode);
		op_bind(b, parts[i].stage, parts[i].at, attrs_rw(b));
	}
}

static void build_dev(struct plan_builder *b)
{
	static const struct {
		const char *at, *text;
	} links[] = {
		{ "/dev/ptmx", "pts/ptmx" },          { "/dev/fd", "/proc/self/fd" },
		{ "/dev/stdin", "/proc/self/fd/0" },  { "/dev/stdout", "/proc/self/fd/1" },
		{ "/dev/stderr", "/proc/self/fd/2" },
	};
	const struct facts *f = b->rq->facts;

	op_mkdir(b, "/dev", 0755);
	for (size_t i = 0; i < FACTS_DEVICES; i++) {
		const struct facts_device *d = &f->devices[i];
		const char *at = path_join(b->scratch, "/dev", d->name);
		struct facts_object o = d->object;

		if (o.fd < 0)
			continue;
		o.path = at;
		op_file(b, at, 0666, "");
		/* A read-only mount keeps its node from being changed, not from being written. */
		op_tree(b, at, &o, PLAN_ATTR_RO | PLAN_ATTR_NOSUID | PLAN_ATTR_NOEXEC, -1);
	}
	op_mkdir(b, "/dev/pts", 0755);
	op_add(b, PLAN_OP_DEVPTS, "/dev/pts");
	for (size_t i = 0; i < ARRAY_SIZE(links); i++)
		op_symlink(b, links[i].at, links[i].text);
	/* Of the one scratch: a second file system would be a second allowance. */
	op_mkdir(b, STAGE_SCRATCH "/shm", 01777);
	op_mkdir(b, "/dev/shm", 0755);
	op_bind(b, STAGE_SCRATCH "/shm", "/dev/shm", ATTRS_RW | PLAN_ATTR_NOEXEC);
}

/* A directory that another root holds must exist there: nothing is made on the host. */
static bool inside_other_root(const struct plan_builder *b, size_t self, const char *at)
{
	const struct facts *f = b->rq->facts;

	for (size_t i = 0; i < f->roots.n; i++) {
		if (i != self && root_is_mounted(b, i) && path_covers(f->roots.v[i].root->at, at))
			return true;
	}
	return false;
}

static void build_mountpoint(struct plan_builder *b, size_t root, const char *at, bool is_dir)
{
	const char *parent = path_dirname(b->scratch, at);

	if (at[1] == '\0' || inside_other_root(b, root, at))
		return;
	build_mountpoint(b, root, parent, true);
	if (is_dir)
		op_mkdir(b, at, 0755);
	else
		op_file(b, at, 0444, "");
}

/* Trees added to the base may lie in a directory of the scratch, so they come after it; what is
 * secret in /etc may lie in one of them. */
static void build_added(struct plan_builder *b)
{
	const struct facts *f = b->rq->facts;

	for (size_t i = 0; i < f->base.n; i++) {
		if (!f->base.v[i].added)
			continue;
		build_mountpoint(b, f->roots.n, f->base.v[i].at, true);
		build_base_entry(b, &f->base.v[i]);
	}
	for (size_t i = 0; i < f->etc_masked.n; i++) {
		const struct facts_secret *m = &f->etc_masked.v[i];

		op_bind(b, m->is_dir ? STAGE_MASK_DIR : STAGE_MASK,
			path_join(b->scratch, "/etc", m->name), ATTRS_DATA)
			->over_link = m->is_link;
	}
}

/* Directories that are bound onto themselves, sorted. */
struct pins {
	ARRAY_OF(const char *) set;
};

static bool pin_is_new(struct plan_builder *b, struct pins *pins, const char *dir)
{
	size_t low = 0;
	size_t high = pins->set.n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		int r = strcmp(pins->set.v[mid], dir);

		if (r == 0)
			return false;
		if (r < 0)
			low = mid + 1;
		else
			high = mid;
	}
	(void)array_push(b->scratch, &pins->set);
	memmove(&pins->set.v[low + 1], &pins->set.v[low],
		(pins->set.n - 1 - low) * sizeof(*pins->set.v));
	pins->set.v[low] = dir;
	return true;
}

/* Every directory between a writable root and what is mounted in it is bound onto itself: a
 * mountpoint cannot be renamed away, which would leave the name free for something else. */
static void build_pins(struct plan_builder *b, struct pins *pins, const char *root_at,
		       const char *at)
{
	const char *rest = path_rest(root_at, at);

	for (const char *slash = strchr(rest, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
		const char *dir = arena_strndup(b->scratch, at, (size_t)(slash - at));

		if (pin_is_new(b, pins, dir))
			op_bind(b, dir, dir, attrs_rw(b));
	}
}

/* The narrowest root that holds this one; SIZE_MAX when none does. */
static size_t root_holder(const struct plan_builder *b, size_t self)
{
	const struct facts *f = b->rq->facts;
	const char *at = f->roots.v[self].root->at;
	size_t best = SIZE_MAX;
	size_t depth = 0;

	for (size_t i = 0; i < f->roots.n; i++) {
		const char *other = f->roots.v[i].root->at;

		if (i == self || !root_is_mounted(b, i) || strcmp(other, at) == 0 ||
		    !path_covers(other, at) || path_depth(other) <= depth)
			continue;
		best = i;
		depth = path_depth(other);
	}
	return best;
}

/* Only the narrowest one's directories: those above it were pinned when it was mounted, and in a
 * read-only one nothing is renamed. Before the mount: a pin shows nothing that is mounted below. */
static void build_root_pins(struct plan_builder *b, struct pins *pins, size_t root)
{
	const struct facts *f = b->rq->facts;
	size_t holder = root_holder(b, root);

	if (holder != SIZE_MAX && b->rq->access[holder].write)
		build_pins(b, pins, f->roots.v[holder].root->at, f->roots.v[root].root->at);
}

/* Outer roots before those inside them. */
static void build_roots(struct plan_builder *b, struct pins *pins)
{
	const struct facts *f = b->rq->facts;
	size_t deepest = 0;

	for (size_t i = 0; i < f->roots.n; i++) {
		size_t depth = path_depth(f->roots.v[i].root->at);

		deepest = depth > deepest ? depth : deepest;
	}
	for (size_t depth = 1; depth <= deepest; depth++) {
		for (size_t i = 0; i < f->roots.n; i++) {
			const struct facts_root *r = &f->roots.v[i];

			if (path_depth(r->root->at) != depth || !root_is_mounted(b, i))
				continue;
			build_mountpoint(b, i, r->root->at, S_ISDIR(r->object.mode));
			build_root_pins(b, pins, i);
			op_tree(b, r->root->at, &r->object,
				b->rq->access[i].write ? attrs_rw(b) : ATTRS_RO,
				b->rq->root_trees == NULL ? -1 : b->rq->root_trees[i]);
		}
	}
}

/* Devices that the profile lends, at their own path. */
static void build_lent_devices(struct plan_builder *b)
{
	const struct facts *f = b->rq->facts;

	for (size_t i = 0; i < f->lent_devices.n; i++) {
		const struct facts_grant *g = &f->lent_devices.v[i];

		build_mountpoint(b, SIZE_MAX, g->at, false);
		op_tree(b, g->at, &g->object, PLAN_ATTR_RO | PLAN_ATTR_NOSUID | PLAN_ATTR_NOEXEC,
			-1);
	}
}

/* A mount of the socket itself: connect(2) asks for no writable mount. One that lies in a root has
 * its mountpoint there. */
static void build_lent_sockets(struct plan_builder *b)
{
	const struct facts *f = b->rq->facts;

	for (size_t i = 0; i < f->lent_sockets.n; i++) {
		const struct facts_grant *g = &f->lent_sockets.v[i];

		build_mountpoint(b, SIZE_MAX, g->at, false);
		op_tree(b, g->at, &g->object, ATTRS_RO, -1);
	}
}

/* The sealed copies of loaders need a file system of ours from which programs may map code: the
 * scratch may not be it, and the root is noexec. */
static void build_loaders(struct plan_builder *b)
{
	const struct resolved *r = b->rq->resolved;
	uint64_t bytes = 4096;
	struct plan_op *op;

	if (r->loaders.n == 0)
		return;
	for (size_t i = 0; i < r->loaders.n; i++)
		bytes += (r->loaders.v[i].len + 4095) & ~(uint64_t)4095;
	op_mkdir(b, STAGE_LOADER, 0755);
	op = op_add(b, PLAN_OP_TMPFS, STAGE_LOADER);
	op->mode = 0755;
	op->attrs = ATTRS_RW;
	op->bytes = bytes;
	op->inodes = r->loaders.n + 2;
	for (size_t i = 0; i < r->loaders.n; i++) {
		const struct resolved_loader *l = &r->loaders.v[i];
		const char *at = arena_printf(b->scratch, "%s/%zu", STAGE_LOADER, i);

		op = op_add(b, PLAN_OP_FILE, at);
		op->mode = 0555;
		op->data = memcpy(arena_alloc(b->arena, l->len), l->image, l->len);
		op->data_len = (uint32_t)l->len;
		op->data_elsewhere = true;
		op = op_bind(b, at, l->path, ATTRS_RO);
		op->has_expect = true;
		op->expect = l->id;
	}
}

static struct plan_op *op_guard(struct plan_builder *b, const struct guard *g, const char *from,
				unsigned attrs)
{
	struct plan_op *op = op_bind(b, from, g->at, attrs);

	op->over_link = g->is_link;
	/* The base is nobody's to write to, and some of its files are ours. */
	op->has_expect = g->root_at != NULL;
	if (op->has_expect)
		op->expect = g->id;
	return op;
}

/* What a freeze leaves alone is bound onto itself first: in the clone that becomes read-only it is
 * a mount of its own. The directories between are not pinned: in a read-only one nothing is
 * renamed. Return: is there any? */
static bool build_kept(struct plan_builder *b, struct pins *pins, size_t freeze)
{
	const struct resolved *r = b->rq->resolved;
	const char *at = r->guards.v[freeze].at;
	bool any = false;

	for (size_t i = freeze + 1; i < r->guards.n && path_covers(at, r->guards.v[i].at); i++) {
		const struct guard *g = &r->guards.v[i];

		if (g->kind != GUARD_KEEP)
			continue;
		any = true;
		if (pin_is_new(b, pins, g->at))
			(void)op_guard(b, g, g->at, attrs_rw(b));
	}
	if (any)
		(void)pin_is_new(b, pins, at);
	return any;
}

/* A root that was mounted in what is frozen stays as it is granted. */
static bool holds_other_root(const struct plan_builder *b, const char *at)
{
	const struct facts *f = b->rq->facts;

	for (size_t i = 0; i < f->roots.n; i++) {
		if (root_is_mounted(b, i) && path_covers(at, f->roots.v[i].root->at))
			return true;
	}
	return false;
}

static void build_guards(struct plan_builder *b, struct pins *pins)
{
	const struct resolved *r = b->rq->resolved;

	for (size_t i = 0; i < r->guards.n; i++) {
		const struct guard *g = &r->guards.v[i];
		const char *from = g->from != NULL ? g->from : g->at;
		bool shallow;

		if (g->kind == GUARD_KEEP)
			continue;
		if (g->root_writable)
			build_pins(b, pins, g->root_at, g->at);
		if (g->kind == GUARD_HIDE)
			from = g->is_dir ? STAGE_MASK_DIR : STAGE_MASK;
		shallow = g->kind == GUARD_FREEZE &&
			  (build_kept(b, pins, i) || holds_other_root(b, g->at));
		op_guard(b, g, from, g->kind == GUARD_HIDE ? ATTRS_DATA : ATTRS_RO)->shallow =
			shallow;
	}
}

/* Last: from here on the staging area has no path. */
static void build_proc(struct plan_builder *b)
{
	const struct facts *f = b->rq->facts;
	struct plan_op *op;

	if (b->rq->outer_proc) {
		/* Whole and read-only, with everything that the host has covered in it: there is
		 * no file of the kernel's in it to write to, and none needs a cover of ours. */
		op_tree(b, "/proc", f->proc, ATTRS_DATA, -1);
		return;
	}
	op_add(b, PLAN_OP_PROC, "/proc");
	/* A sandbox inside needs a user namespace, and for a proc of its own one that nothing is
	 * mounted over (mount_too_revealing() of the kernel). No kernel uid 0 is here then. */
	if (b->rq->profile->sandbox.nested_sandboxes)
		return;
	/* No user namespace below this one: it would give capabilities back to programs. The
	 * filter says so too; this holds where a filter is not looked at. */
	if ((b->rq->profile->sandbox.syscalls_open & FILTER_USERNS) == 0) {
		op = op_add(b, PLAN_OP_WRITE, "/proc/sys/user/max_user_namespaces");
		op->data = arena_strdup(b->arena, "0");
		op->data_len = 1;
	}
	for (size_t i = 0; i < f->proc_ro.n; i++) {
		const char *at = path_join(b->scratch, "/proc", f->proc_ro.v[i]);

		op_bind(b, at, at, ATTRS_DATA);
	}
}

void plan_mounts_build(struct plan_builder *b)
{
	struct pins pins = { 0 };

	build_stage(b);
	build_base(b);
	build_scratch(b);
	build_dev(b);
	build_added(b);
	build_lent_devices(b);
	build_roots(b, &pins);
	build_lent_sockets(b);
	build_loaders(b);
	build_guards(b, &pins);
	build_proc(b);
}
