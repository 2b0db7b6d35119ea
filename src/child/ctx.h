/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* ctx - what the steps of the child hand to each other. Private to child/.
 *
 * A step returns 0 or -errno. Nothing is closed on failure: the process ends, and with it every
 * descriptor, detached tree and namespace. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "child/child.h"

/* Of the command. */
#define CHILD_UMASK 022

/* File systems of ours that may be written to while the tree is built. */
#define CHILD_OWN_DEVS_MAX 16

struct child_dev {
	uint32_t major, minor;
};

/* A held directory: its path is len bytes of text in the plan, fd is valid with len > 0. */
#define CHILD_DIRS 2

struct child_dir {
	const char *path;
	size_t len;
	int fd;
};

struct child_ctx {
	const struct plan *plan;
	int control;
	int watch;
	int stdio[3];
	bool join_network; /* as in child_args */
	unsigned terminal; /* as in child_args */
	int tty;           /* the pty, from TERMINAL on, or -1 */
	uint32_t op;       /* index for the report, where the running step has one */

	uint64_t nofile_soft; /* to be restored in the command, with nofile_raised */
	int nofile_raised;

	int root_fd; /* the new root, from ROOT to DESCRIPTORS */
	int proc_fd; /* detached, from PROC until it is attached, or -1 */

	/* Directories of ours that BUILD used last; the one used longest ago is given up first. */
	struct child_dir dirs[CHILD_DIRS];
	unsigned dir_last;

	struct child_dev own[CHILD_OWN_DEVS_MAX];
	uint32_t n_own;
};

/* source.c */
int child_make_private(struct child_ctx *ctx);
int child_clone_sources(struct child_ctx *ctx);
unsigned child_mount_attrs(unsigned plan_attrs);
int child_restrict_tree(int tree, unsigned plan_attrs);
/* child_restrict_mount() - the same for the one mount; those in it stay as they are. */
int child_restrict_mount(int tree, unsigned plan_attrs);

/* identity.c */
int child_write_id_maps(struct child_ctx *ctx);
int child_take_identity(struct child_ctx *ctx);
int child_set_death_signal(struct child_ctx *ctx);
int child_start_session(struct child_ctx *ctx);
int child_join_keyring(struct child_ctx *ctx);
int child_set_hostname(struct child_ctx *ctx);
int child_drop_privileges(struct child_ctx *ctx);

/* network.c */
int child_build_network(struct child_ctx *ctx);

/* netns.c */
/* child_join_network() - and see that it is not the host's, whoever made it. */
int child_join_network(struct child_ctx *ctx);
int child_raise_loopback(struct child_ctx *ctx);

/* root.c */
bool child_same_text(const char *a, const char *b);
int child_make_tmpfs(const char *bytes, const char *inodes, const char *mode, unsigned attrs);
int child_own_dev(struct child_ctx *ctx, int mount);
int child_attach_root(struct child_ctx *ctx);
int child_make_proc(struct child_ctx *ctx);
/* child_pivot_root() - the old root is mounted over the new one then: a path from "/", or one from
 * root_fd without "..", does not lead there. */
int child_pivot_root(struct child_ctx *ctx);
int child_detach_old_root(struct child_ctx *ctx);
int child_seal_root(struct child_ctx *ctx);
int child_enter_workdir(struct child_ctx *ctx);
int child_set_descriptors(struct child_ctx *ctx);

/* terminal.c */
int child_open_terminal(struct child_ctx *ctx);

/* filter.c. The limit of core dumps first, which init passes on: the filter lets nobody set it. */
int child_install_filter(struct child_ctx *ctx);
/* child_deny_calls() - the second filter, in the command's own process: the last before execve. */
int child_deny_calls(const struct child_ctx *ctx);

/* build.c */
int child_build_tree(struct child_ctx *ctx);

/* landlock.c */
int child_restrict_self(struct child_ctx *ctx);

/* watch.c */
int child_send_watched(struct child_ctx *ctx);

/* work.c */
/* child_work() - do plan.work, report it, end the process. @setup: 0, or the -errno of what went
 * wrong before. */
_Noreturn void child_work(const struct child_ctx *ctx, int setup);

/* init.c */
/* child_apply_rlimit() - on the calling process; 0 or -errno. */
int child_apply_rlimit(const struct plan_rlimit *lim);
int child_spawn_command(struct child_ctx *ctx);

/* steps.c */
int child_send_report(const struct child_ctx *ctx, const struct child_report *report);
/* child_end() - send the last report and end the process, and with it the sandbox. */
_Noreturn void child_end(const struct child_ctx *ctx, const struct child_report *report,
			 int status);
/* child_recv_order() - exactly one record; -ECANCELED at end of file, -EPROTO for anything that
 * is not one. */
int child_recv_order(const struct child_ctx *ctx, struct child_order *ret);
/* child_recv_passed() - the descriptor that comes with the order @kind, or -errno. */
int child_recv_passed(const struct child_ctx *ctx, enum child_order_kind kind);
