/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* facts - what the host looks like, gathered by this file and no other.
 *
 * First pass, facts_gather(): the caller, the base, the roots; facts_furnish(): the kernel's files
 * and /etc. From the first and the agent's rights comes the view (view.h). Second pass,
 * facts_resolve(): what the rules and the request need to know in that view: the executable, the
 * working directory, the traps at the top of each root, the control plane's files. After that the
 * decision and the plan never look.
 *
 * Sources are held by an O_PATH descriptor from here on. Text lives in the arena, descriptors
 * are owned by struct facts: facts_close(). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/err.h"
#include "profile/profile.h"
#include "sys/fileid.h"

/* Who calls, from the kernel and passwd; never from the environment. */
struct facts_caller {
	uid_t uid; /* effective */
	gid_t gid;
	bool kernel_root;   /* uid 0 is kernel uid 0 of the initial namespace, as far as uid_map(5)
			       can tell: "0 0 N". Inside a second namespace of an ordinary user this
			       may be wrong in the strict direction */
	uint32_t map_count; /* ids mapped one to one from 0, 0 when the map has another shape */
	const char *home;   /* passwd; NULL when there is no entry */
	const char *cwd;    /* absolute; NULL when it is gone */
};

struct facts_object {
	const char *path; /* canonical host path */
	int fd;           /* O_PATH, owned; -1 when absent */
	struct file_id id;
	uint32_t uid, gid;
	uint32_t mode; /* type and permission bits */
	uint32_t nlink;
};

enum facts_base_kind {
	FACTS_BASE_ABSENT = 0,
	FACTS_BASE_DIR,  /* a tree of the host, read-only */
	FACTS_BASE_LINK, /* a link of ours with the host's text */
	FACTS_BASE_FILE, /* a file of the host, read-only */
	FACTS_BASE_MADE, /* a directory of ours that holds other entries */
};

struct facts_base {
	const char *at;
	enum facts_base_kind kind;
	bool added;       /* base.add: may lie in a directory of the scratch */
	const char *link; /* text of a link */
	struct facts_object
		object; /* path and what of it is seen: DIR, FILE; MADE: what it stands for */
};

struct facts_root {
	const struct profile_root *root; /* borrowed */
	bool present;                    /* false: optional and absent */
	struct facts_object object;
};

/* Files of the host that become mounts or text of the sandbox, by table. */
struct facts_device {
	const char *name; /* below /dev */
	struct facts_object object;
};

struct facts_etc {
	const char *name; /* below /etc */
	bool is_link;
	const char *text; /* content for a private network namespace: NULL (ours is used) */
};

/* An entry of /etc that the command must not read. */
struct facts_secret {
	const char *name; /* below /etc */
	bool is_dir;
	bool is_link; /* the link itself is covered */
};

/* A device or socket of the host that the profile lends. */
struct facts_grant {
	const char *at; /* virtual path */
	struct facts_object object;
};

typedef ARRAY_OF(struct facts_grant) facts_grants;

#define FACTS_DEVICES 6
#define FACTS_ETC     6
#define FACTS_PROC_RO 8

struct facts_answers;

struct facts {
	struct facts_caller caller;
	ARRAY_OF(struct facts_base) base;  /* outer ones first */
	ARRAY_OF(struct facts_root) roots; /* one for each of profile.sandbox.roots, same order */
	struct facts_device devices[FACTS_DEVICES];
	facts_grants lent_devices;
	facts_grants lent_sockets;
	ARRAY_OF(struct facts_etc) etc; /* those of our own files that /etc has a place for */
	bool etc_made;                  /* /etc is a directory of ours: they are made in it */
	ARRAY_OF(const char *) proc_ro; /* below /proc: what becomes read-only */
	ARRAY_OF(struct facts_secret) etc_masked; /* below /etc */
	int landlock_abi;              /* 0: the kernel has none, or it is not switched on */
	struct facts_object self;      /* the running binary, once facts_self() was asked */
	const char *resolv_conf;       /* the host's text, for network: host; or NULL */
	const char *hosts;             /* the same */
	struct facts_object *proc;     /* the caller's own /proc, or NULL */
	struct facts_answers *answers; /* which file systems answer; grows when one is met */
};

/* What facts_gather() is told. All borrowed. */
struct facts_input {
	const struct profile *profile;
	const char *state_dir;         /* refused as (part of) a root */
	const char *default_state_dir; /* the caller's, when state_dir is another: the same; NULL:
					  none, or not known */
	const char *room;              /* made by us below one of them, not refused; or NULL */
	const char *runtime_dir;       /* $XDG_RUNTIME_DIR or NULL: the same */
	const char *profiles_dir;      /* installed profiles: the same */
};

/* facts_caller() - who calls. Reads /proc/self/uid_map and /etc/passwd (NSS only when passwd has
 * no entry). */
MUST_CHECK int facts_caller(struct arena *a, struct facts_caller *ret, struct err *err);

/* facts_home() - the home of somebody by name, the same way; *ret NULL when there is none. */
MUST_CHECK int facts_home(struct arena *a, const char *user, const char **ret, struct err *err);

/* facts_gather() - first pass. ret->caller must be filled. ERR_PROFILE with the root's position
 * for roots that are absent or reached through a link below a writable root. */
MUST_CHECK int facts_gather(struct arena *a, const struct facts_input *in, struct facts *ret,
			    struct err *err);

/* facts_self() - the running binary; after facts_gather(), and no more than once is it looked for.
 */
MUST_CHECK int facts_self(struct arena *a, struct facts *f, struct err *err);

/* facts_furnish() - the running binary, devices, proc_ro, etc and etc_masked: once, after
 * facts_gather(). No decision depends on them, only the plan and what explains it, so that a run
 * gathers them after it has decided. */
MUST_CHECK int facts_furnish(struct arena *a, const struct facts_input *in, struct facts *f,
			     struct err *err);

/* facts_judge_roots() - ERR_PROFILE with the root's position for one that may not be granted to
 * anybody, or that a mount makes so. Changes no fact, so it can wait until the child is building
 * what they say; nothing may run before. */
MUST_CHECK int facts_judge_roots(struct arena *a, const struct facts_input *in,
				 const struct facts *f, struct err *err);

/* facts_etc_secrets() - add to etc_masked what is not world-readable: needed only for
 * PLAN_IDENTITY_ROOT. One bounded walk. */
MUST_CHECK int facts_etc_secrets(struct arena *a, struct facts *f, struct err *err);

/* facts_base_find() - the entry of the base at exactly @at, or NULL. */
const struct facts_base *facts_base_find(const struct facts *f, const char *at);
/* facts_base_holder() - the entry that shows a piece of the host (or a link) at @path or above it;
 * NULL when no part of the base does. */
const struct facts_base *facts_base_holder(const struct facts *f, const char *path);
/* facts_outer_proc() - hold the caller's own /proc: needed only where the sandbox gets that one. */
MUST_CHECK int facts_outer_proc(struct arena *a, struct facts *f, struct err *err);

void facts_close(struct facts *f);

/* facts_object_open() - hold @path: no link in the last component unless @follow. 0 or -errno.
 * path is the canonical one (readlink of the descriptor). */
MUST_CHECK int facts_object_open(struct arena *a, int dirfd, const char *path, bool follow,
				 struct facts_object *ret);
