/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* run - clone the child, supervise it, tell what happened. Takes a plan, never a profile.
 *
 * The supervisor stays outside the sandbox with a pidfd. The end of the command, a timeout, a
 * signal or the death of the supervisor ends the whole pid namespace. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "plan/plan.h"
#include "run/cause.h"
#include "run/cgroup.h"
#include "run/namespaces.h"

enum outcome_status {
	OUTCOME_FAILED = 0, /* agentbox failed; nothing ran; err says why */
	OUTCOME_EXITED,
	OUTCOME_SIGNALED,
	OUTCOME_LIMIT,  /* a limit ended the run */
	OUTCOME_NOEXEC, /* the command could not be executed: exit_code is 126 or 127 */
};

/* Where the building of a sandbox was refused. */
struct run_failure {
	enum cause_place place;
	unsigned step; /* enum child_step; CHILD_STEP_NONE before the child had a say */
	int errnum;    /* 0: not refused by a system call, or not refused at all */
};

/* How the plan's work ended, in its own words. */
struct outcome_work {
	bool known;     /* it had the time to say */
	unsigned phase; /* enum child_work_phase, with errnum */
	int errnum;     /* 0: done */
	bool cut;       /* there was more than plan.work.bytes */
	uint64_t bytes; /* copied */
	uint64_t size;  /* READ: of the file */
};

struct outcome {
	enum outcome_status status;
	bool started;   /* the command was executed */
	int exit_code;  /* EXITED, NOEXEC */
	int signal;     /* SIGNALED, or what ended the command after a limit */
	bool has_exit;  /* exit_code or signal above are the command's own */
	int got_signal; /* the first INT, TERM, HUP or QUIT that agentbox itself received, or 0 */
	bool interrupt_typed; /* with a terminal: ^C was typed, and INT ended the command: without
				 the relay our process group would have had it too */
	const char *limit;    /* the one that ended the run: its name, static; NULL when none did */
	enum plan_limit limit_which; /* with limit, as of the next two */
	uint64_t limit_reached;      /* in the limit's unit */
	uint64_t limit_at_ms;        /* since the start */
	bool timed_out;
	bool truncated;
	uint64_t output_bytes;  /* everything the command wrote to pumped descriptors */
	uint64_t omitted_bytes; /* of these, what was dropped past the limit */
	uint64_t wall_ms;
	uint64_t cpu_user_ms, cpu_sys_ms;
	uint64_t max_rss_bytes;    /* of the largest process */
	bool memory_peak_known;    /* of all processes and the scratch together */
	bool processes_peak_known; /* both only where something counted */
	uint64_t memory_peak, processes_peak;
	uint64_t throttled_ms;  /* what the limit of processors made it wait */
	unsigned felt;          /* bits of enum plan_limit: reached, and the command went on */
	bool scratch_known;     /* init had the time to look at it */
	uint64_t scratch_bytes; /* in use at the end */
	uint64_t scratch_files;
	struct outcome_work work;
	struct strbuf output[2]; /* captured; owned; [1] only with capture_split */
	/* FAILED, NOEXEC: why. Beside EXITED, SIGNALED and LIMIT it is set when output was lost
	 * (a full disk), when an attachment's event failed and ended the run, when one's finish
	 * did, or when init was killed from outside (SIGNALED without has_exit). */
	struct err err;
	struct run_failure failure; /* FAILED: for doctor; err says the same in words */
};

void outcome_free(struct outcome *o);

/* outcome_rc() - the exit status of agentbox for an outcome. */
int outcome_rc(const struct outcome *o);

struct run_child {
	pid_t pid; /* init of the sandbox, in the caller's pid namespace */
	int pidfd; /* borrowed */
};

/* An attachment plugs a service into a run without run/ knowing it. Hooks that are NULL are
 * skipped. A failing prepare or after_clone means that nothing runs; a failing event ends the
 * run; a failing finish leaves the outcome as it was, and is its err where there was none. */
struct run_attachment {
	const char *name;
	void *ctx;
	int (*prepare)(void *ctx, struct err *err); /* before clone, in table order */
	int (*after_clone)(void *ctx, const struct run_child *child, struct err *err);
	int (*event)(void *ctx, uint32_t epoll_events, struct err *err); /* on *event_fd */
	const int *event_fd; /* polled for input from prepare to finish; NULL or -1: none */
	/* The command was started, and what it may have changed can change no more: nothing that
	 * it left runs, though init may still be ending. Once, before finish; says nothing. */
	void (*settled)(void *ctx);
	int (*finish)(void *ctx, const struct outcome *o,
		      struct err *err); /* reverse order, always
					     once prepare succeeded */
};

enum run_stdin {
	RUN_STDIN_NULL = 0,
	RUN_STDIN_CALLER,
};

struct run_options {
	enum run_stdin stdin_mode;
	/* The command gets a pty of the sandbox's own in place of the terminal that caller_stdio
	 * 0 and 1, and maybe 2, are: relayed, raw while the run lasts. Not with capture. */
	bool terminal;
	bool capture;       /* keep the output in the outcome (--json) instead of passing it on */
	bool capture_split; /* stdout and stderr apart */
	const struct run_cgroup *cgroup;   /* borrowed: for the plan's limits, or NULL */
	struct run_namespaces *namespaces; /* borrowed: begun already, or NULL */
	int caller_stdio[3];               /* borrowed: normally 0, 1, 2 */
	bool die_with_caller; /* ends when the calling process does (the thread of it that started
				 us, prctl(2) PR_SET_PDEATHSIG): by SIGKILL from the kernel, but
				 with a terminal, whose modes must be put back, only while we
				 are suspended */
};

/* Signals while a run lasts: INT, TERM, HUP and QUIT go to the command's process group, and what
 * still runs plan->grace_ms later, or at a second one, is killed; USR1 and USR2 go there too.
 * One that the caller had ignored stays ignored. The mask, and what is done with PIPE and CHLD,
 * are on return as they were. With a terminal WINCH, TSTP and CONT act as they do on a shell, and
 * what would else end the supervisor (ALRM, XCPU and the like) goes to the command's process group.
 *
 * Time in which the supervisor was stopped (SIGSTOP, ^Z) does not count for any limit, to within
 * a quarter of a second for each stop. */

/* run_plan() - run to the end. Returns 0 with *ret filled whenever the outcome is known, also
 * when the sandbox could not be built (status OUTCOME_FAILED, ret->err set). -1: a failure
 * before any attachment was prepared. *ret is the caller's: outcome_free(). */
MUST_CHECK int run_plan(const struct plan *plan, const struct run_options *opt,
			const struct run_attachment *const *attachments, size_t n_attachments,
			struct outcome *ret, struct err *err);
