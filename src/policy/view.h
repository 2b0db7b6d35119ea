/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* view - the virtual tree as it will be inside, over descriptors of the host.
 *
 * Paths are resolved in it as the kernel will resolve them inside: component by component, links
 * followed within the view, at most VIEW_HOPS_MAX of them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "policy/decide.h"
#include "policy/facts.h"

#define VIEW_HOPS_MAX 40

enum view_kind {
	VIEW_DIR = 0, /* a directory of our own: root, scratch, /proc, /dev */
	VIEW_LINK,    /* a link of our own */
	VIEW_BASE,    /* part of the base */
	VIEW_ROOT,    /* a granted root */
};

struct view_node {
	const char *at;
	enum view_kind kind;
	const char *link;
	const char *host; /* BASE and ROOT: canonical host path */
	int fd;           /* borrowed; -1 for DIR and LINK */
	bool writable;    /* programs may write: scratch and rw roots */
	size_t root;      /* VIEW_ROOT: index into facts.roots */
};

struct view {
	ARRAY_OF(struct view_node) nodes;
};

/* view_build() - the view of base, scratch and those roots that @access grants reading.
 * @access: one for each of facts.roots. Pure. */
void view_build(struct arena *a, const struct facts *f, const struct tree_access *access,
		struct view *ret);

enum view_result {
	VIEW_ABSENT = 0, /* the last component does not exist in a directory of the view */
	VIEW_OUTSIDE,    /* an earlier component does not exist in the view, or is no directory */
	VIEW_FOUND,
	VIEW_LOOP,      /* too many links */
	VIEW_FORBIDDEN, /* the caller may not look there */
};

typedef ARRAY_OF(const char *) view_links;

struct view_target {
	const char *path;             /* canonical virtual path (also when absent) */
	const struct view_node *node; /* what holds it; NULL when outside */
	struct facts_object
		object;  /* fd -1 in a directory of our own; owned: view_target_close() */
	bool is_own_dir; /* a directory of our own */
	/* OUTSIDE because a directory in the middle is not there, and no link led to that: @path is
	 * the whole canonical path all the same. */
	bool no_parent;
	view_links links; /* canonical virtual paths of those that were followed */
};

/* view_resolve() - follow links to the end. @path: absolute; "." and empty components are
 * skipped and ".." is walked, as the kernel does (requests are checked before). */
enum view_result view_resolve(struct arena *a, const struct view *v, const char *path,
			      struct view_target *ret);

/* view_is_absent() - a cheap "no" for searches: true only when the path certainly leads nowhere. */
bool view_is_absent(const struct view *v, const char *path);

/* view_from_host() - the virtual path of a held host object at canonical host path @path, or
 * NULL when no root or base holds it. The deepest match wins. */
const char *view_from_host(struct arena *a, const struct view *v, const char *path,
			   const struct view_node **ret_node);

void view_target_close(struct view_target *t);
