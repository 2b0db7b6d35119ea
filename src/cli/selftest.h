/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* selftest - attacks on the sandbox, each beside an allowed twin: the same act where it works.
 *
 * A row is held when the attack was refused in an expected way and the twin was not: a sandbox
 * in which nothing works proves nothing. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/macro.h"

/* How an act went: 0 it got through, 1 to 199 the errno that refused it, or one of these. It is
 * the exit status of the process that tried, so it fits a byte. */
enum selftest_result {
	SELFTEST_THROUGH = 0,
	SELFTEST_IGNORED = 200, /* the call succeeded and did nothing */
	SELFTEST_SIGNAL = 201,  /* the process was killed */
	SELFTEST_NO_ROOM = 202, /* needs the private directory, and the profile does not grant it */
	SELFTEST_NONE = 203,    /* no answer */
};

/* Where the attacker and its host have agreed to meet. Text lies in the structure, which is to be
 * on the stack: the memory of an arena does not cross a fork. */
struct selftest_ctx {
	const char *room;       /* the private directory as seen here, or NULL; borrowed */
	char outside[PATH_MAX]; /* host path of a file outside every root */
	char abstract[64];      /* name of a listening abstract socket of the host */
	unsigned port;          /* of a listening socket on the host's loopback interface */
	int pid;                /* a process of the host */
};

/* @arg: a path; "@" at its beginning is the private directory. */
typedef int selftest_act(const struct selftest_ctx *c, const char *arg);

enum selftest_flag {
	SELFTEST_TWIN_HOST = 1 << 0,   /* the twin is the attack itself, on the host */
	SELFTEST_TWIN_OWNER = 1 << 1,  /* the same, as owner of namespaces of its own */
	SELFTEST_PRIVATE_NET = 1 << 2, /* meaningless with `network: host` */
	SELFTEST_KNOWN = 1 << 3,       /* may get through: it is named, and no failure */
	SELFTEST_OWN_PROFILE = 1 << 4, /* attacks our own profile */
	SELFTEST_UNIX = 1 << 5,        /* the twin needs unix sockets */
};

struct selftest_row {
	const char *name;
	const char *what; /* the attack */
	selftest_act *attack;
	const char *arg;
	selftest_act *twin; /* inside; NULL with a TWIN flag */
	const char *twin_arg;
	unsigned char expect[4]; /* of the attack; 0 ends */
	unsigned flags;          /* enum selftest_flag */
	unsigned opened;         /* enum filter_option: the profile asked for what is attacked */
	unsigned needs;          /* enum filter_option: without it the twin is refused too */
};

/* selftest_row_at() - row number @i of all tables; NULL past the last. */
const struct selftest_row *selftest_row_at(size_t i);

extern const struct selftest_row selftest_fs_rows[];
extern const size_t selftest_n_fs_rows;
extern const struct selftest_row selftest_proc_rows[];
extern const size_t selftest_n_proc_rows;
extern const struct selftest_row selftest_kernel_rows[];
extern const size_t selftest_n_kernel_rows;

enum selftest_verdict {
	SELFTEST_NOT_HELD = 0,
	SELFTEST_HELD,
	SELFTEST_NOT_TRIED,
};

/* What the profile asked for. */
struct selftest_terms {
	unsigned options; /* enum filter_option */
	bool host_network;
	bool own_profile; /* ours, which lies in the private directory */
	bool no_unix;     /* unix_sockets: none */
	bool denies;      /* syscalls.deny: a twin may be refused too */
};

/* selftest_judge() - @ret_why: static, when not tried or not held. */
enum selftest_verdict selftest_judge(const struct selftest_row *row,
				     const struct selftest_terms *terms, int attack, int twin,
				     const char **ret_why);
/* selftest_verdict_name() - "held", "NOT HELD", "not tried". */
const char *selftest_verdict_name(enum selftest_verdict v);
/* selftest_result_name() - "ok", "EPERM" ... Static. */
const char *selftest_result_name(int result);
/* selftest_fork() - a child of one thread, by the system call. */
long selftest_fork(void);
/* selftest_try() - an act in a process of its own.
 * @owner: after that process has made user and mount namespaces of its own. */
int selftest_try(const struct selftest_ctx *c, selftest_act *act, const char *arg, bool owner);
/* selftest_errno() - what a system call returned, as a result. */
int selftest_errno(long r);

/* The lock that a process left behind holds, in the private directory. */
#define SELFTEST_LOCK "daemon.lock"
/* A FIFO in the private directory, which the host reads from. */
#define SELFTEST_FIFO "host.fifo"
/* Where the private directory lies when the profile is our own. */
#define SELFTEST_ROOM "/room"
/* Where the running binary lies inside. */
#define SELFTEST_SELF "/.agentbox-selftest"
/* The hidden verb: selftest-inside [--raw] [--linger] [ROOM OUTSIDE ABSTRACT PORT PID] */
#define SELFTEST_VERB "selftest-inside"
/* selftest_inside() - the verb; its exit status: 0 when all rows are held as far as that can be
 * seen from here. */
int selftest_inside(int argc, char **argv);
