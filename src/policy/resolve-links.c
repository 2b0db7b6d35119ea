/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Theory of operation: a mask covers one name, or all names in one directory. A file with more of
 * them (hard links) would be open by another one, so those are looked for by inode in every root of
 * the same file system, and guarded alike: of guarded files, and of files in guarded directories,
 * which are walked for it. Of what a rule hides in the base the other names in the base are looked
 * for too; nobody inside can have made those of anything else. Names outside do not exist inside.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/path.h"
#include "policy/facts-roots.h"
#include "policy/guards.h"

struct linked {
	uint64_t ino;
	uint32_t dev_major, dev_minor;
	uint32_t missing; /* names that are not found yet */
	enum guard_kind kind;
	bool in_base;
	const struct profile_rule *rule;
	const char *at;
};

struct links {
	struct guards *g;
	ARRAY_OF(struct linked) set; /* by inode */
	ARRAY_OF(size_t) dirs;       /* guards of directories, parents first */
	int dirfd;                   /* of what is walked */
	const char *at;              /* where that is seen */
	size_t root;                 /* which one it is; SIZE_MAX: the base */
	const struct guard *guard;   /* gathering: of the directory */
	bool unlisted;               /* a directory could not be */
	struct err *err;
};

static int link_order(const void *a, const void *b)
{
	const struct linked *x = a;
	const struct linked *y = b;

	return x->ino != y->ino ? (x->ino < y->ino ? -1 : 1) : (int)x->kind - (int)y->kind;
}

static struct linked *link_find(struct links *l, uint64_t ino)
{
	size_t low = 0;
	size_t high = l->set.n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (l->set.v[mid].ino < ino)
			low = mid + 1;
		else
			high = mid;
	}
	return low < l->set.n && l->set.v[low].ino == ino ? &l->set.v[low] : NULL;
}

/* Programs run as the caller: of somebody else's directory that he cannot list they see no more. */
static bool hides_from_caller(const struct links *l, const char *rel)
{
	struct stat st;

	return facts_look(l->dirfd, rel, &st) > 0 && st.st_uid == l->g->in->facts->caller.uid;
}

/* Whatever is below a guarded directory has its guard already. */
static bool is_guarded_there(const struct links *l, const char *at, enum guard_kind kind)
{
	const struct guard *nearest = NULL;

	for (size_t i = 0; i < l->dirs.n; i++) {
		const struct guard *d = &l->g->ret->guards.v[l->dirs.v[i]];

		if (path_covers(d->at, at))
			nearest = d;
	}
	return nearest != NULL && (nearest->kind == GUARD_HIDE ||
				   (nearest->kind == GUARD_FREEZE && kind == GUARD_FREEZE));
}

static int link_guard(struct links *l, const struct linked *k, const char *at,
		      const struct stat *st)
{
	struct guards *g = l->g;
	const struct guard guard = {
		.at = at,
		.kind = k->kind,
		.rule = k->rule,
		.nlink = (uint32_t)st->st_nlink,
		.id = { .dev_major = k->dev_major,
			.dev_minor = k->dev_minor,
			.ino = k->ino,
			.type = S_IFREG },
	};

	if (is_guarded_there(l, at, k->kind))
		return 0;
	if (l->root != SIZE_MAX)
		guard_add(g, l->root, guard);
	else if (k->kind == GUARD_HIDE)
		*array_push(g->arena, &g->ret->guards) = guard;
	return guards_limit(g, 0, l->err) == 0 ? 0 : -ECANCELED;
}

static int link_name(void *ctx, const char *rel, int type, uint64_t ino)
{
	struct links *l = ctx;
	struct linked *k;
	struct stat st;

	if (type == DT_UNKNOWN)
		l->unlisted = l->unlisted || hides_from_caller(l, rel);
	if (type == DT_DIR)
		return 1;
	k = type == DT_REG ? link_find(l, ino) : NULL;
	/* What is mounted below a root has a device of its own. */
	if (k == NULL || facts_look(l->dirfd, rel, &st) <= 0)
		return 0;
	for (; k < l->set.v + l->set.n && k->ino == st.st_ino; k++) {
		int r;

		if (makedev(k->dev_major, k->dev_minor) != st.st_dev)
			continue;
		if (k->missing > 0)
			k->missing--;
		r = link_guard(l, k, path_join(l->g->arena, l->at, rel), &st);
		if (r != 0)
			return r;
	}
	return 0;
}

static int link_refuse(const char *at, const char *why, struct err *err)
{
	return err_set(err, ERR_HOST, 0,
		       "%s is protected and has more than one name (hard links), and %s: copy it, "
		       "or remove the others",
		       at, why);
}

static void link_add(struct links *l, const struct guard *g, struct linked k)
{
	k.kind = g->kind;
	k.in_base = g->root_at == NULL;
	k.rule = g->rule;
	*array_push(l->g->arena, &l->set) = k;
}

/* What lies there has a guard of its own, or is another root. */
static bool is_left_out(const struct links *l, const char *at)
{
	const struct resolved *ret = l->g->ret;
	const struct facts *f = l->g->in->facts;

	for (const struct guard *g = l->guard + 1;
	     g < ret->guards.v + ret->guards.n && path_covers(l->guard->at, g->at); g++) {
		if (strcmp(g->at, at) == 0)
			return true;
	}
	for (size_t i = 0; i < f->roots.n; i++) {
		if (f->roots.v[i].present && l->g->in->access[i].read &&
		    strcmp(f->roots.v[i].root->at, at) == 0)
			return true;
	}
	return false;
}

/* One that is hidden because it cannot be listed is nothing that anybody named. */
static bool is_asked_for(const struct links *l)
{
	return l->guard->rule != NULL ||
	       policy_trap(&l->g->in->profile->sandbox, l->guard->at) != POLICY_TRAP_NONE;
}

static int gather_name(void *ctx, const char *rel, int type, uint64_t ino)
{
	struct links *l = ctx;
	const char *at = path_join(l->g->arena, l->at, rel);
	struct stat st;

	(void)ino;
	if (type == DT_UNKNOWN && is_asked_for(l) && hides_from_caller(l, rel)) {
		(void)err_set(l->err, ERR_HOST, 0,
			      "%s is protected and cannot be listed, so that other names (hard "
			      "links) of files in it cannot be found: chmod u+rx it",
			      at);
		return -ECANCELED;
	}
	if (type == DT_DIR)
		return !is_left_out(l, at);
	if (type != DT_REG || facts_look(l->dirfd, rel, &st) <= 0 || st.st_nlink < 2 ||
	    is_left_out(l, at))
		return 0;
	link_add(l, l->guard,
		 (struct linked){ .ino = st.st_ino,
				  .dev_major = major(st.st_dev),
				  .dev_minor = minor(st.st_dev),
				  .missing = (uint32_t)st.st_nlink,
				  .at = at });
	return 0;
}

static int links_gather_dir(struct links *l, const struct guard *dir)
{
	struct facts_walk w = { .arena = l->g->arena,
				.answers = l->g->in->facts->answers,
				.fn = gather_name,
				.ctx = l,
				.max = GUARD_NAMES_MAX,
				.names = l->g->ret->names };
	int r;

	if (!guards_place(l->g, dir, &l->dirfd, &l->at) || strcmp(l->at, dir->at) == 0)
		return 0;
	l->guard = dir;
	w.dirfd = l->dirfd;
	w.start = path_rest(l->at, dir->at);
	r = facts_walk(&w);
	l->g->ret->names = w.names;
	/* EACCES: the callback would not have it. */
	if (r == -ECANCELED || r == -EACCES)
		return -1;
	if (r == -E2BIG)
		return err_set(l->err, ERR_HOST, 0,
			       "%s is protected and holds too much to look for other names (hard "
			       "links) of files in it: protect less of it",
			       dir->at);
	return r == 0 ? 0 : err_set(l->err, ERR_HOST, -r, "looking for hard links in %s", dir->at);
}

/* One for each file, the strictest kind. */
static int links_gather(struct links *l)
{
	struct guards *g = l->g;
	size_t kept = 0;

	for (size_t i = 0; i < g->ret->guards.n; i++) {
		const struct guard *o = &g->ret->guards.v[i];

		if (o->is_dir)
			*array_push(g->arena, &l->dirs) = i;
		if (o->is_dir && o->kind != GUARD_KEEP && links_gather_dir(l, o) != 0)
			return -1;
		if (o->nlink > 1 && o->kind != GUARD_KEEP)
			link_add(l, o,
				 (struct linked){ .ino = o->id.ino,
						  .dev_major = o->id.dev_major,
						  .dev_minor = o->id.dev_minor,
						  .missing = o->nlink,
						  .at = o->at });
	}
	if (l->set.n > 1)
		qsort(l->set.v, l->set.n, sizeof(*l->set.v), link_order);
	for (size_t i = 0; i < l->set.n; i++) {
		if (kept == 0 || l->set.v[kept - 1].ino != l->set.v[i].ino ||
		    l->set.v[kept - 1].dev_major != l->set.v[i].dev_major ||
		    l->set.v[kept - 1].dev_minor != l->set.v[i].dev_minor)
			l->set.v[kept++] = l->set.v[i];
		else
			l->set.v[kept - 1].in_base |= l->set.v[i].in_base;
	}
	l->set.n = kept;
	return 0;
}

static int links_walk(struct links *l, size_t root, const char *at, int dirfd)
{
	struct facts_walk w = { .arena = l->g->arena,
				.answers = l->g->in->facts->answers,
				.dirfd = dirfd,
				.start = "",
				.fn = link_name,
				.ctx = l,
				.max = GUARD_NAMES_MAX,
				.names = l->g->ret->names };
	int r;

	l->root = root;
	l->at = at;
	l->dirfd = dirfd;
	r = facts_walk(&w);
	l->g->ret->names = w.names;
	if (r == -ECANCELED)
		return -1;
	if (r == -E2BIG)
		return link_refuse(l->set.v[0].at, "there are too many files to look for them",
				   l->err);
	return r == 0 ? 0 : err_set(l->err, ERR_HOST, -r, "looking for hard links in '%s'", at);
}

static bool any_missing_in_base(const struct links *l)
{
	for (size_t i = 0; i < l->set.n; i++) {
		if (l->set.v[i].in_base && l->set.v[i].missing > 1)
			return true;
	}
	return false;
}

int guards_links(struct guards *g, struct err *err)
{
	struct links l = { .g = g, .err = err };
	const struct facts *f = g->in->facts;

	if (links_gather(&l) != 0)
		return -1;
	for (size_t i = 0; l.set.n > 0 && i < f->roots.n; i++) {
		const struct facts_root *fr = &f->roots.v[i];

		if (fr->present && g->in->access[i].read && S_ISDIR(fr->object.mode) &&
		    links_walk(&l, i, fr->root->at, fr->object.fd) != 0)
			return -1;
	}
	for (size_t i = 0; any_missing_in_base(&l) && i < f->base.n; i++) {
		if (f->base.v[i].kind == FACTS_BASE_DIR &&
		    links_walk(&l, SIZE_MAX, f->base.v[i].at, f->base.v[i].object.fd) != 0)
			return -1;
	}
	for (size_t i = 0; l.unlisted && i < l.set.n; i++) {
		if (l.set.v[i].missing > 0 && !l.set.v[i].in_base)
			return link_refuse(l.set.v[i].at, "a directory cannot be listed", err);
	}
	return 0;
}
