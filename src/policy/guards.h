/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* guards - what the files that find guards share; for resolve-guards.c and resolve-git.c. */
#pragma once

#include "policy/resolve.h"

/* Each is a mount, in every run; programs can make the entries that need one. */
#define GUARDS_MAX 4096
/* Names that are looked at for protect.depth and for globs. */
#define GUARD_NAMES_MAX 1048576

/* A directory at whose top protected names are looked for. */
struct guard_scope {
	size_t root;
	const char *rel; /* below the root, "" for the root itself */
	uint64_t deeper; /* levels of directories below it that are looked at as well */
};

struct guards {
	struct arena *arena;
	const struct resolve_input *in;
	struct resolved *ret;
	ARRAY_OF(struct guard_scope) scopes; /* each once */
	ARRAY_OF(const char *) git_dirs;     /* canonical host paths of those that were seen */
	size_t git_configs;                  /* files that were read */
};

/* guards_open() - what lies at @rel below a root, without following a link; -errno. @flags: O_*. */
MUST_CHECK int guards_open(const struct guards *g, size_t root, const char *rel, uint64_t flags);
/* guard_entry() - guard what lies at @rel below a root; nothing when there is nothing. */
MUST_CHECK int guard_entry(struct guards *g, size_t root, const char *rel, enum guard_kind kind,
			   struct err *err);
enum guard_kind guard_kind_of(enum policy_trap trap);
/* guards_scope_add() - look at that directory too, in its turn, and @deeper levels below it. */
void guards_scope_add(struct guards *g, size_t root, const char *rel, uint64_t deeper);
/* guards_watch() - of that host directory it matters whether it changes. */
void guards_watch(struct guards *g, const char *path);
/* guard_order() - by path, parents first; for qsort(3). */
int guard_order(const void *a, const void *b);
/* guards_limit() - ERR_HOST when @more guards would be too many. */
MUST_CHECK int guards_limit(const struct guards *g, size_t more, struct err *err);

/* guard_hold() - the same with the object at hand: @rel was opened without following a link.
 * @rule: that asks for it, or NULL. */
void guard_hold(struct guards *g, size_t root, const char *rel, enum guard_kind kind,
		const struct profile_rule *rule, const struct facts_object *o);
/* guard_add() - at @guard.at in that root, with what the root says of it; nothing where a deeper
 * root is mounted. */
void guard_add(struct guards *g, size_t root, struct guard guard);
/* guards_root_below() - the path of a root that is mounted at or below @at, or NULL. */
const char *guards_root_below(const struct guards *g, const char *at);

/* guards_rules() - masks of what the agent's rules are stricter about than about the root.
 * ERR_PROFILE at a rule that nothing backs. */
MUST_CHECK int guards_rules(struct guards *g, struct err *err);

/* guards_links() - the other names of guarded files and of files in guarded directories, in
 * whatever root they lie. The guards are settled. ERR_HOST when they cannot all be looked for. */
MUST_CHECK int guards_links(struct guards *g, struct err *err);

/* guards_place() - the root, or the part of the base, that shows a guard: its directory (borrowed)
 * and where it is seen. False when it is of neither. */
bool guards_place(const struct guards *g, const struct guard *guard, int *ret_dirfd,
		  const char **ret_at);
/* guards_twins() - ERR_PROFILE for one directory that is granted twice, writable and not. */
MUST_CHECK int guards_twins(const struct resolve_input *in, struct err *err);
/* guards_mirror() - what is guarded in one root is guarded wherever another root, or the base,
 * shows the same part of the host. The guards are settled. */
MUST_CHECK int guards_mirror(struct guards *g, struct err *err);

/* guards_programs() - ERR_PROFILE for one of the sandbox's commands that a guard hides with its
 * directory: there is nothing to allow it by. */
MUST_CHECK int guards_programs(const struct resolved *ret, struct err *err);

/* guards_git() - .git of a work tree: the git directory that it is or leads to, the common one, and
 * those of submodules and linked work trees, wherever in the roots they lie. Pointers are read,
 * never run; one that leads out of the roots guards nothing, for nothing of it is mounted. */
MUST_CHECK int guards_git(struct guards *g, const struct guard_scope *scope, struct err *err);
