/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Theory of operation: Landlock repeats what the mounts say about writing, as a part of the kernel
 * that knows nothing of mounts, and says what mounts cannot: which files execve(2) may open, and
 * that signals and abstract sockets end at the domain. Reading is the view's business alone. */
#include <string.h>
#include <sys/stat.h>

#include "base/path.h"
#include "plan/internal.h"
#include "sys/landlock.h"

/* Of a directory that programs may write to. Not MAKE_CHAR and MAKE_BLOCK: devices come from the
 * profile. REFER: without it a file cannot be moved to another directory. TRUNCATE is left to the
 * mounts: where a domain handles it, the kernel asks it at every open(2), of files that are only
 * read too, and walks the whole path (Linux 6.2 on, hook_file_open: optional_access); an open took
 * a third longer. A file is opened for writing by WRITE_FILE alone; so what only the mounts hold is
 * truncate(2) by a path, and O_TRUNC beside O_RDONLY. */
#define RIGHTS_DIR                                                                                 \
	(SYS_LANDLOCK_WRITE_FILE | SYS_LANDLOCK_REMOVE_DIR | SYS_LANDLOCK_REMOVE_FILE |            \
	 SYS_LANDLOCK_MAKE_DIR | SYS_LANDLOCK_MAKE_REG | SYS_LANDLOCK_MAKE_SOCK |                  \
	 SYS_LANDLOCK_MAKE_FIFO | SYS_LANDLOCK_MAKE_SYM | SYS_LANDLOCK_REFER)
#define RIGHTS_FILE   SYS_LANDLOCK_WRITE_FILE
#define RIGHTS_DEVICE (SYS_LANDLOCK_WRITE_FILE | SYS_LANDLOCK_IOCTL_DEV)

#define HANDLED (RIGHTS_DIR | RIGHTS_DEVICE | SYS_LANDLOCK_MAKE_CHAR | SYS_LANDLOCK_MAKE_BLOCK)

/* Below this ABI no domain lets a file move to another directory, whatever its rules say: mv and
 * git would break, and the mounts hold as it is. `commands` cannot do without. */
#define ABI_WRITES 2

/* What each ABI brought; an older kernel refuses a word that it does not know. */
static const struct {
	int abi;
	uint64_t fs, scoped;
} brought[] = {
	{ 2, SYS_LANDLOCK_REFER, 0 },
	{ 5, SYS_LANDLOCK_IOCTL_DEV, 0 },
	{ 6, 0, SYS_LANDLOCK_SCOPE_ABSTRACT_UNIX | SYS_LANDLOCK_SCOPE_SIGNAL },
};

/* Beside roots. In /dev is nothing but what the plan puts there, and each rule costs its time.
 * Programs write their own files in /proc (comm, oom_score_adj); what is the host's there is
 * read-only by its mounts. */
static const struct {
	const char *at;
	uint64_t rights;
} places[] = {
	{ "/tmp", RIGHTS_DIR },     { "/var/tmp", RIGHTS_DIR }, { "/home/agent", RIGHTS_DIR },
	{ "/dev/shm", RIGHTS_DIR }, { "/dev", RIGHTS_DEVICE },  { "/proc", RIGHTS_FILE },
};

struct rules {
	struct plan_builder *builder;
	uint64_t handled;
	ARRAY_OF(struct plan_landlock_rule) set;
};

static void rule_add(struct rules *r, const char *at, uint64_t access)
{
	struct arena *a = r->builder->arena;

	/* A rule without a right is refused by the kernel. */
	if ((access & r->handled) == 0)
		return;
	*array_push(a, &r->set) = (struct plan_landlock_rule){ .at = arena_strdup(a, at),
							       .access = access & r->handled };
}

static void rules_write(struct rules *r)
{
	const struct plan_request *rq = r->builder->rq;
	const struct facts *f = rq->facts;

	for (size_t i = 0; i < ARRAY_SIZE(places); i++)
		rule_add(r, places[i].at, places[i].rights);
	for (size_t i = 0; i < f->roots.n; i++) {
		const struct facts_root *root = &f->roots.v[i];

		if (root->present && rq->access[i].read && rq->access[i].write)
			rule_add(r, root->root->at,
				 S_ISDIR(root->object.mode) ? RIGHTS_DIR : RIGHTS_FILE);
	}
}

/* The same right opens a program, an interpreter and a loader; where a loader's place is, its
 * sealed copy is by now. */
static void rules_execute(struct rules *r)
{
	const struct resolved *resolved = r->builder->rq->resolved;

	for (size_t i = 0; i < resolved->programs.n; i++)
		rule_add(r, resolved->programs.v[i].path, SYS_LANDLOCK_EXECUTE);
	for (size_t i = 0; i < resolved->loaders.n; i++)
		rule_add(r, resolved->loaders.v[i].path, SYS_LANDLOCK_EXECUTE);
}

void plan_landlock_build(struct plan_builder *b, struct plan_landlock *ret)
{
	const struct facts *f = b->rq->facts;
	struct rules r = { .builder = b };
	uint64_t known = HANDLED;

	*ret = (struct plan_landlock){ .abi = f->landlock_abi };
	for (size_t i = 0; i < ARRAY_SIZE(brought); i++) {
		if (f->landlock_abi >= brought[i].abi)
			ret->scoped |= brought[i].scoped;
		else
			known &= ~brought[i].fs;
	}
	if (f->landlock_abi >= ABI_WRITES)
		r.handled = known;
	if (!b->rq->profile->sandbox.any_command)
		r.handled |= SYS_LANDLOCK_EXECUTE;
	/* It forbids every mount, which is what a sandbox inside lives on. */
	if (r.handled == 0 || f->landlock_abi == 0 || b->rq->profile->sandbox.nested_sandboxes)
		return;
	rules_write(&r);
	rules_execute(&r);
	ret->fs = r.handled;
	ret->rules = r.set.v;
	ret->n_rules = (uint32_t)r.set.n;
}
