/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* cause - why this host refused a part of the sandbox, and what to do about it.
 *
 * One table for the message of a run that failed and for doctor, so that both say the same. A
 * cause is named only when a fact beside the errno speaks for it; without one there is none and
 * the errno stands alone. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where it was refused. */
enum cause_place {
	CAUSE_NOWHERE = 0, /* not a part of the building: no cause is known for it */
	CAUSE_CLONE,       /* clone3 with the namespaces of the sandbox */
	CAUSE_IDS,         /* writing uid_map, gid_map, setgroups */
	CAUSE_MOUNT,       /* private propagation, sources, the new root, sealing it */
	CAUSE_PROC,        /* a new procfs */
	CAUSE_PIVOT,       /* pivot_root */
	CAUSE_FILTER,      /* the seccomp filter */
	CAUSE_OTHER,       /* every other step of the child */
};

/* One for each kind of namespace, in the order of cause_namespaces[]. */
#define CAUSE_NAMESPACES 7

struct cause_namespace {
	const char *name; /* "user" */
	const char *file; /* below /proc/sys/user */
	unsigned flag;    /* CLONE_NEW* */
};
extern const struct cause_namespace cause_namespaces[CAUSE_NAMESPACES];

#define CAUSE_UNKNOWN (-1L)

/* What was found on this host. Numbers that are not there are CAUSE_UNKNOWN. */
struct cause_facts {
	bool root;                  /* effective uid 0 */
	bool unmapped;              /* the effective uid or gid has no name in its namespace */
	bool in_agentbox;           /* container=agentbox in the first environment */
	bool chrooted;              /* the root directory is not the mount namespace's */
	bool proc_masked;           /* /proc is read-only or has something mounted over a part */
	uint64_t caps;              /* the effective set, a bit each */
	long max[CAUSE_NAMESPACES]; /* user.max_*_namespaces */
	long userns_clone;          /* kernel.unprivileged_userns_clone (Debian) */
	long apparmor_userns;       /* kernel.apparmor_restrict_unprivileged_userns */
	long seccomp;               /* Seccomp of /proc/self/status: 2 is a filter */
	long kernel_major, kernel_minor; /* of uname(2) */
	char apparmor[128];              /* label of this process; "" when there is none */
};

/* Zero: none known. */
struct cause {
	const char *name; /* one word, for machines; static, or NULL */
	char text[256];   /* what it is */
	char remedy[320]; /* what to do */
};

/* cause_facts_gather() - look. Only after a failure, and for doctor. */
void cause_facts_gather(struct cause_facts *ret);

/* cause_find() - pure: the one cause that @f gives for @errnum at @place.
 * Return: false with *ret zeroed when there is none. */
bool cause_find(const struct cause_facts *f, enum cause_place place, int errnum, struct cause *ret);
