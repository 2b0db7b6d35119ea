/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* box - the least supervisor that can run a hand-written plan, for the tests of the child. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "child/child.h"
#include "tap.h"

#define BOX_OPS_MAX     1024
#define BOX_SOURCES_MAX 600
#define BOX_OUT_MAX     16384
#define BOX_TEXT_MAX    65536

/* Who calls: the whole test runs once as each. */
enum box_caller {
	BOX_CALLER_ROOT,   /* kernel uid 0: mapped to an unprivileged id */
	BOX_CALLER_USER,   /* an ordinary user */
	BOX_CALLER_USERNS, /* uid 0 of a user namespace with one id */
};

struct box_packet {
	const void *data; /* NULL: the right token; len 0: close instead of sending */
	size_t len;
	bool replace;
};

struct box_result {
	struct child_report failed, noexec, exited; /* kind is 0 when none came */
	bool ready, exec;
	int init_status;
	uint64_t exec_us; /* from before clone to the EXEC report */
	char out[BOX_OUT_MAX];
};

/* Mapped on its own, so that neither stack nor heap need cross. */
struct box {
	enum box_caller caller;
	struct plan plan;
	struct plan_op ops[BOX_OPS_MAX];
	struct plan_source sources[BOX_SOURCES_MAX];
	int tree_fds[BOX_SOURCES_MAX];
	struct plan_rlimit rlimits[4];
	char *argv[8];
	char text[BOX_TEXT_MAX]; /* of the strings above */
	size_t text_len;
	char dir[64];   /* owned: a scratch directory on the host; dir/work is /work inside */
	char work[80];  /* dir/work */
	int stdio[3];   /* -1: null, pipe, pipe */
	int control_at; /* number the child's end of the control socket gets, or -1 */
	struct box_packet ids_token, start_token;
	void (*before_clone)(struct box *b);
	void (*after_clone)(struct box *b);
	void (*after_ids)(struct box *b); /* the first token is sent */
	void (*before_start)(struct box *b);
	bool join_network; /* as in child_args */
	bool no_netns;     /* born in ours */
	void (*running)(struct box *b);
	char *env[4];
	struct box_result r;
	struct child_args args;
	int control; /* our end, while it runs */
	pid_t init;
};

typedef void (*box_test)(struct tap *t, enum box_caller caller);

/* box_main() - become the caller that argv[1] names and run the tests as it. A caller that this
 * process cannot become is another run's. */
int box_main(int argc, char **argv, const box_test *tests, size_t n);
/* box_new() - a plan with /usr, links, /proc, /dev, /tmp and a writable /work. */
struct box *box_new(enum box_caller caller);
void box_free(struct box *b);
/* box_sh() - sh -c @script as the command. */
void box_sh(struct box *b, const char *script);
uint32_t box_source(struct box *b, const char *path, unsigned attrs);
struct plan_op *box_op(struct box *b, enum plan_op_kind kind, const char *at);
void box_tree(struct box *b, const char *at, const char *path, unsigned attrs);
/* box_run() - clone, supervise, wait; what happened is in b->r. */
void box_run(struct box *b);
/* box_fault() - from here on, in this process and what it makes, system call @nr answers @errnum
 * (0: an idle success) where the low half of argument @arg_index is @arg. */
#define BOX_ANY (-1) /* for @arg_index: whatever the arguments */
bool box_fault(int nr, int arg_index, uint32_t arg, int errnum);
/* box_path() - dir/name, static storage of a few turns. */
const char *box_path(const struct box *b, const char *name);
void box_put(const char *path, const char *text);
bool box_exists(const char *path);
