/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* facts-roots - the roots' share of facts_gather(), and the pieces that facts files share. */
#pragma once

#include <sys/stat.h>

#include "policy/facts.h"

/* facts_roots_gather() - open and hold every root of the profile. */
MUST_CHECK int facts_roots_gather(struct arena *a, const struct facts_input *in, struct facts *ret,
				  struct err *err);

struct facts_refused {
	dev_t dev;
	ino_t ino;
	const char *what;
};

/* What no root and no named tree of the base may be or contain. */
struct facts_judge {
	ARRAY_OF(struct facts_refused) set;
	const char *state_dirs[2]; /* nothing in them either; borrowed, or NULL */
	const char *room;          /* except in there; borrowed, or NULL */
	const char *home;          /* canonical, or the part of it that exists; borrowed */
};

MUST_CHECK int facts_judge_build(struct arena *a, const struct facts_input *in,
				 const struct facts_caller *c, struct facts_judge *ret,
				 struct err *err);
/* facts_judge() - ERR_PROFILE at @pos when @o may not be granted; @key and @path name it. */
MUST_CHECK int facts_judge(const struct facts_judge *j, const struct facts_object *o,
			   const char *key, const char *path, const struct profile_pos *pos,
			   struct err *err);
/* facts_judge_place() - the same, but for the kind of its file system, which is not asked. */
MUST_CHECK int facts_judge_place(const struct facts_judge *j, const struct facts_object *o,
				 const char *key, const char *path, const struct profile_pos *pos,
				 struct err *err);
/* facts_named_open() - hold what a profile names by an absolute path, links followed; *ret is
 * closed on failure. ERR_PROFILE at @pos. */
MUST_CHECK int facts_named_open(struct arena *a, const struct facts_caller *c, const char *key,
				const char *path, const struct profile_pos *pos,
				struct facts_object *ret, struct err *err);

/* facts_object_hold() - the facts of an open O_PATH descriptor, as the kernel has them: a server of
 * the file system is not asked. *ret then owns the descriptor (on success
 * only). 0 or -errno; -ENOSYS on kernels before 5.8. */
MUST_CHECK int facts_object_hold(int fd, struct facts_object *ret);
/* facts_object_path() - fill in the canonical path of a held object. 0 or -errno. */
MUST_CHECK int facts_object_path(struct arena *a, struct facts_object *o);

/* facts_uid_is_unmapped() - it is the overflow uid of a user namespace that does not map every id:
 * root's own files show it there, and cannot be told from those of others. */
bool facts_uid_is_unmapped(uid_t uid);
/* facts_look() - is it there? 1 with *st filled (a link itself), 0 when it is not or cannot be
 * reached (ENOENT, ENOTDIR, EACCES, ELOOP), else -errno: what is not known is not absent. */
MUST_CHECK int facts_look(int dirfd, const char *path, struct stat *st);

/* facts_grants_gather() - devices and sockets that the profile lends. */
MUST_CHECK int facts_grants_gather(struct arena *a, const struct facts_input *in, struct facts *ret,
				   struct err *err);

typedef ARRAY_OF(const char *) facts_names_found;

/* facts_sockets_find() - sockets and FIFOs in an open directory and in its directories, relative
 * to it, and those of its directories that cannot be listed. 0, -E2BIG with more than 262144 names
 * there, or -errno. */
MUST_CHECK int facts_sockets_find(struct arena *a, struct facts_answers *answers, int dirfd,
				  facts_names_found *ret);

/* One name that facts_walk() meets. @rel: below where it began. Return: 1 to go on below it, 0 not
 * to, or -errno to end. @type: DT_*; DT_UNKNOWN: a directory that cannot be listed. */
typedef int facts_walk_fn(void *ctx, const char *rel, int type, uint64_t ino);

struct facts_walk {
	struct arena *arena;
	struct facts_answers *answers; /* borrowed */
	int dirfd; /* where it begins, @start below it ("" for itself); borrowed */
	const char *start;
	facts_walk_fn *fn;
	void *ctx;
	size_t max;   /* names */
	size_t names; /* met so far: goes on from walk to walk */
};

/* facts_walk() - every name below, no link followed. 0, -E2BIG past max, -ENAMETOOLONG where a
 * path is too long to be one, what the callback returned, or -errno. */
MUST_CHECK int facts_walk(struct facts_walk *w);

struct facts_entry {
	const char *name;
	bool is_dir;
};

typedef ARRAY_OF(struct facts_entry) facts_entries;

/* facts_entries_list() - what an open directory holds but "." and "..", sorted by byte value.
 * @dirfd is not consumed. 0 or -errno. */
MUST_CHECK int facts_entries_list(struct arena *a, int dirfd, facts_entries *ret);

struct facts_names {
	const char **v;
	size_t n;
	size_t cap;
};

/* facts_names_list() - the names alone. */
MUST_CHECK int facts_names_list(struct arena *a, int dirfd, struct facts_names *ret);
