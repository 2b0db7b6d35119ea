/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* hand - plans without a host: facts made by hand, with ids that are the same everywhere. */
#pragma once

#include "plan/compile.h"

enum hand_caller {
	HAND_USER = 0,    /* an ordinary user, 1234:1234 */
	HAND_NESTED,      /* inside unshare -r: uid 0, one id mapped */
	HAND_ROOT,        /* kernel root, roots are root's */
	HAND_ROOT_OTHERS, /* kernel root, roots belong to 1234:1235 */
	HAND_ROOT_SMALL,  /* kernel root of a container that maps 65535 ids */
};

struct hand_guard {
	const char *root_at; /* NULL ends the list */
	const char *at;
	enum guard_kind kind;
	bool is_dir;
	bool is_link;
	const char *from;
};

#define HAND_NO_LANDLOCK (-1)

enum hand_base {
	HAND_BASE_HOST = 0,
	HAND_BASE_MINIMAL, /* an /etc of ours */
	HAND_BASE_PATH,    /* /rootfs, with an /etc, a /var and a /srv of ours */
};

struct hand_options {
	enum hand_caller caller;
	enum hand_base base;
	bool split_usr;         /* /bin, /sbin, /lib are directories */
	int abi;                /* of Landlock; 0: 7, HAND_NO_LANDLOCK: the kernel has none */
	bool fallback;          /* no id mapping is possible */
	const char *file_roots; /* names of roots that are files, ";" around each: ";/w/f;" */
	const char *absent;     /* the same: optional and absent */
	const struct hand_guard *guards;
	const char *added; /* a tree added to the base */
	const char *const
		*secrets; /* names in /etc, NULL-terminated; a "/" at the end: a directory */
	uint64_t timeout_ms;
	bool capture;
	bool cgroup;          /* one for the run can be had */
	char *const *environ; /* NULL: a fixed one */
	const char *const *env_pass;
	size_t n_env_pass;
};

struct hand {
	struct arena arena; /* of the host */
	struct arena plan_arena;
	const struct profile *profile;
	const struct policy_agent *agent;
	struct facts facts;
	struct tree_access *access;
	struct resolved resolved;
	struct plan_request rq;
	struct plan *plan;
	struct err err;
};

/* hand_load() - profile from text ("/p" is its folder) and policy_validate(). 0, or -1 with
 * h->err. */
int hand_load(struct hand *h, const char *text, size_t len);
/* hand_facts() - the facts, the access of the first agent, the request. */
void hand_facts(struct hand *h, const struct hand_options *o);
/* hand_compile() - plan_compile(); 0 or -1 with h->err. */
int hand_compile(struct hand *h);
void hand_free(struct hand *h);
