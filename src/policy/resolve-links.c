/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Theory of operation: a mask covers one name. A file with more of them (hard links) would be open
 * by another one, so those are looked for by inode in every root of the same file system, and
 * guarded alike. Names outside of the roots do not exist inside. */
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
	const char *at;
};

struct links {
	struct guards *g;
	ARRAY_OF(struct linked) set; /* by inode */
	size_t root;                 /* that is walked */
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

static int link_name(void *ctx, const char *rel, int type, uint64_t ino)
{
	struct links *l = ctx;
	const struct facts_root *fr = &l->g->in->facts->roots.v[l->root];
	struct linked *k;
	struct stat st;

	if (type == DT_UNKNOWN)
		l->unlisted = true;
	if (type == DT_DIR)
		return 1;
	k = type == DT_REG ? link_find(l, ino) : NULL;
	/* What is mounted below a root has a device of its own. */
	if (k == NULL || facts_look(fr->object.fd, rel, &st) <= 0)
		return 0;
	for (; k < l->set.v + l->set.n && k->ino == st.st_ino; k++) {
		if (makedev(k->dev_major, k->dev_minor) != st.st_dev)
			continue;
		if (k->missing > 0)
			k->missing--;
		/* One that is guarded already is dropped with whatever is there twice. */
		if (guard_entry(l->g, l->root, rel, k->kind, l->err) != 0)
			return -ECANCELED;
	}
	return 0;
}

/* One for each file, the strictest kind. */
static void links_gather(struct links *l)
{
	size_t kept = 0;

	for (size_t i = 0; i < l->g->ret->guards.n; i++) {
		const struct guard *o = &l->g->ret->guards.v[i];

		if (o->nlink > 1 && o->kind != GUARD_KEEP)
			*array_push(l->g->arena, &l->set) = (struct linked){
				.ino = o->id.ino,
				.dev_major = o->id.dev_major,
				.dev_minor = o->id.dev_minor,
				.missing = o->nlink,
				.kind = o->kind,
				.at = o->at,
			};
	}
	if (l->set.n > 1)
		qsort(l->set.v, l->set.n, sizeof(*l->set.v), link_order);
	for (size_t i = 0; i < l->set.n; i++) {
		if (kept == 0 || l->set.v[kept - 1].ino != l->set.v[i].ino ||
		    l->set.v[kept - 1].dev_major != l->set.v[i].dev_major ||
		    l->set.v[kept - 1].dev_minor != l->set.v[i].dev_minor)
			l->set.v[kept++] = l->set.v[i];
	}
	l->set.n = kept;
}

static int link_refuse(const struct linked *k, const char *why, struct err *err)
{
	return err_set(err, ERR_HOST, 0,
		       "%s is protected and has more than one name (hard links), and %s: copy it, "
		       "or remove the others",
		       k->at, why);
}

int guards_links(struct guards *g, struct err *err)
{
	struct links l = { .g = g, .err = err };
	struct facts_walk w = { .arena = g->arena,
				.start = "",
				.fn = link_name,
				.ctx = &l,
				.max = GUARD_NAMES_MAX,
				.names = g->ret->names };

	links_gather(&l);
	for (l.root = 0; l.set.n > 0 && l.root < g->in->facts->roots.n; l.root++) {
		const struct facts_root *fr = &g->in->facts->roots.v[l.root];
		int r;

		if (!fr->present || !g->in->access[l.root].read || !S_ISDIR(fr->object.mode))
			continue;
		w.dirfd = fr->object.fd;
		r = facts_walk(&w);
		if (r == -ECANCELED)
			return -1;
		if (r == -E2BIG)
			return link_refuse(&l.set.v[0], "there are too many files to look for them",
					   err);
		if (r < 0)
			return err_set(err, ERR_HOST, -r, "looking for hard links in root '%s'",
				       fr->root->path);
	}
	g->ret->names = w.names;
	for (size_t i = 0; l.unlisted && i < l.set.n; i++) {
		if (l.set.v[i].missing > 0)
			return link_refuse(&l.set.v[i], "a directory cannot be listed", err);
	}
	return 0;
}
