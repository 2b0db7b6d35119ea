/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* plan - everything the child will do, as pure data.
 *
 * Made by plan_compile() on the host, printed by plan_json(), executed by child/ without
 * allocating, deciding or looking anything up. It lives in an ARENA_PLAN, the only memory
 * that crosses clone beside the program itself; it holds no rule, no profile text and no
 * pointer to either. Zero is the strictest value of every field.
 *
 * child/ may include this header and sys/, nothing else. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "plan/net.h"
#include "sys/fileid.h"

struct sock_filter; /* linux/filter.h */

/* Bounds of one plan; plan_compile() refuses what does not fit. */
#define PLAN_SOURCES_MAX 4096
#define PLAN_OPS_MAX     32768

/* Attributes of a mount, added to what the source has; nothing is ever taken away. */
enum plan_attr {
	PLAN_ATTR_RO = 1 << 0,
	PLAN_ATTR_NOSUID = 1 << 1,
	PLAN_ATTR_NODEV = 1 << 2,
	PLAN_ATTR_NOEXEC = 1 << 3,
};

/* A piece of the host, to be cloned (recursively, private, with @attrs) before the old root
 * goes away. Either the child opens @path without following links and compares @id, or a
 * supervisor with the right to do so has made the tree already and @tree_fd holds it. */
struct plan_source {
	const char *path; /* canonical host path */
	struct file_id id;
	unsigned attrs; /* enum plan_attr */
	int tree_fd;    /* detached tree made by the supervisor, or -1; not part of the hash */
	bool idmapped;  /* tree_fd carries an id mapping */
};

enum plan_op_kind {
	PLAN_OP_NONE = 0, /* never valid */
	PLAN_OP_MKDIR,    /* at, mode: a directory on a file system of ours */
	PLAN_OP_FILE,     /* at, mode, data: a new file on a file system of ours */
	PLAN_OP_SYMLINK,  /* at, data: its text */
	PLAN_OP_TREE,     /* at, source: attach the clone of a source */
	PLAN_OP_TMPFS,    /* at, mode, bytes, inodes, attrs */
	PLAN_OP_DEVPTS,   /* at: a new instance, ptmxmode 0666 */
	PLAN_OP_PROC,     /* at: the proc made before the old root went away */
	PLAN_OP_BIND,     /* at, from: clone a part of the new tree (recursive) onto a place in it,
			     attrs */
	PLAN_OP_WRITE,    /* at, data: write a kernel file and read it back (a sysctl) */
	PLAN_OP_MAX,
};

/* One step of building the tree. @at and @from are canonical virtual paths; every component is
 * resolved below the new root without following links. */
struct plan_op {
	enum plan_op_kind kind;
	const char *at;
	const char *from;
	const char *data;
	uint32_t data_len;
	uint32_t mode;       /* permission bits */
	uint32_t source;     /* index into sources */
	unsigned attrs;      /* enum plan_attr */
	uint64_t bytes;      /* tmpfs size, a multiple of 4096 */
	uint64_t inodes;     /* tmpfs nr_inodes */
	bool data_elsewhere; /* FILE: on a file system of its own, not in the root */
	bool over_link;      /* the last component may be a symbolic link: cover the link itself */
	bool shallow; /* BIND: attrs for what is bound, not for the mounts in it, which are ours */
	bool has_expect; /* the place must still be this object (dev, ino, type) */
	struct file_id expect;
};

struct plan_rlimit {
	int resource; /* RLIMIT_* */
	uint64_t soft, hard;
};
#define PLAN_RLIMITS_MAX 8

/* What a run may use. Names and units: plan_limit_name(). */
enum plan_limit {
	PLAN_LIMIT_TIMEOUT = 0,
	PLAN_LIMIT_CPU_TIME,
	PLAN_LIMIT_CPUS,
	PLAN_LIMIT_MEMORY,
	PLAN_LIMIT_PROCESSES,
	PLAN_LIMIT_OPEN_FILES,
	PLAN_LIMIT_FILE_SIZE,
	PLAN_LIMIT_OUTPUT,
	PLAN_LIMIT_DISK,
	PLAN_LIMIT_MAX,
};

enum plan_mechanism {
	PLAN_MECHANISM_NONE = 0,   /* there is no such limit */
	PLAN_MECHANISM_SUPERVISOR, /* the supervisor's clock and pumps: exact */
	PLAN_MECHANISM_RLIMIT,     /* setrlimit(2) in each started command */
	PLAN_MECHANISM_CGROUP,     /* a cgroup v2 of the run's own, below the caller's */
	PLAN_MECHANISM_SCOPE,      /* the same, below a scope that the user manager made for it */
	/* The supervisor looks again and again: soft, and with an rlimit on each process beside. */
	PLAN_MECHANISM_MONITOR,
	PLAN_MECHANISM_RLIMIT_MONITOR,
	PLAN_MECHANISM_MAX,
};

struct plan_limit_row {
	enum plan_mechanism mechanism;
	uint64_t bound; /* in the limit's unit; with a mechanism */
};

enum plan_identity {
	PLAN_IDENTITY_CALLER = 0,  /* ordinary caller: its own kernel uid */
	PLAN_IDENTITY_ROOT_MAPPED, /* root caller: an unprivileged kernel uid */
	PLAN_IDENTITY_ROOT,        /* kernel uid 0 without capabilities */
};

/* One line of uid_map or gid_map (user_namespaces(7)). */
struct plan_ids {
	enum plan_identity identity;
	uint32_t inside_uid, inside_gid;   /* what the command sees */
	uint32_t outside_uid, outside_gid; /* in the caller's user namespace */
	bool switch_ids;                   /* the child must change to them (root caller) */
	bool drop_groups;                  /* setgroups(0) in the child; else setgroups is denied */
	/* Lines for uid_map and gid_map that the child writes itself, without waiting: one may
	 * always map one's own id (user_namespaces(7)). NULL: only the supervisor has the right
	 * to; it writes them from the numbers above, and says so. */
	const char *uid_map, *gid_map;
};

/* A right that a part of the new tree has: landlock(7), SYS_LANDLOCK_* of sys/landlock.h. */
struct plan_landlock_rule {
	const char *at; /* canonical virtual path, without links */
	uint64_t access;
};

/* Work that init has a process of its own do, in place of a command: nothing is executed. What it
 * is on is mounted at @at, and was what the decision is about: the object itself, or the directory
 * that holds @name. */
enum plan_work_kind {
	PLAN_WORK_NONE = 0,
	PLAN_WORK_READ,  /* the file at @at, to standard output */
	PLAN_WORK_WRITE, /* standard input, to the file at @at, or to @name there */
	PLAN_WORK_LIST,  /* the directory at @at: a record for each entry, see child/work.c */
};
struct plan_work {
	enum plan_work_kind kind;
	const char *at;   /* canonical virtual path */
	const char *name; /* WRITE: one component, or NULL */
	bool exists; /* WRITE with @name: there is such a file, and it is @id; else it is new */
	struct file_id id;
	uint64_t skip;  /* READ: lines before the first that is wanted */
	uint64_t lines; /* READ: at most */
	uint64_t bytes; /* at most: READ is cut there, WRITE refused; LIST: of records, cut */
};

/* The second layer. @fs 0: there is none. */
struct plan_landlock {
	int abi;     /* of this host's kernel, 0 when it has none */
	uint64_t fs; /* handled: denied where no rule allows it */
	uint64_t scoped;
	const struct plan_landlock_rule *rules;
	uint32_t n_rules;
};

struct plan {
	struct plan_ids ids;
	bool nested;        /* programs may make user namespaces */
	bool only_commands; /* execve is limited to what the landlock rules say */
	bool host_network;  /* false: a new network namespace with lo up */
	struct plan_net net;
	bool outer_proc; /* /proc is the caller's, read-only: processes outside can be seen */
	const char *hostname;

	struct plan_source *sources; /* tree_fd is filled in by the supervisor before clone */
	uint32_t n_sources;
	int *tree_fds; /* n_sources slots, written by the child in its own copy */

	const struct plan_op *ops;
	uint32_t n_ops;

	struct plan_landlock landlock;

	const char *root_bytes; /* text for fsconfig: size of the root tmpfs */
	const char *root_inodes;

	const char *workdir;   /* virtual path */
	struct plan_work work; /* with a kind: instead of exe, argv and envp */
	const char *exe;       /* virtual path given to execve */
	char *const *argv;     /* NULL-terminated */
	char *const *envp;     /* NULL-terminated */

	/* The system call filter, of init and of everything it starts. */
	const struct sock_filter *filter;
	uint16_t n_filter; /* instructions; a plan without any is refused by the child */
	/* A second one, of the command and what it starts, or none; what init itself has to call
	 * may be denied in it. */
	const struct sock_filter *filter_deny;
	uint16_t n_filter_deny;
	uint16_t filter_options; /* enum filter_option of the first, for people */
	const uint16_t *denied;  /* numbers in the second, for people */
	uint16_t n_denied;

	const struct plan_rlimit *rlimits; /* applied in each started command */
	uint32_t n_rlimits;

	uint64_t timeout_ms; /* 0: the run has no wall-clock limit (limits.timeout absent) */
	uint64_t grace_ms;   /* between TERM and KILL */
	bool output_limited;
	bool output_kill;      /* reaching it ends the run */
	uint64_t output_bytes; /* with output_limited */

	bool watched; /* a limit has a mechanism with a monitor: the supervisor looks inside */
	struct plan_limit_row limits[PLAN_LIMIT_MAX]; /* for the result and for people */
};
