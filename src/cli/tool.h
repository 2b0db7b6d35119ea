/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* tool - one act on one file or directory: decided as `check` does, done in a sandbox that shows
 * nothing but what the decision was about, by a process of ours that executes nothing. */
#pragma once

#include "cli/check.h"
#include "cli/prepare.h"

/* Where neither the profile nor the caller sets a bound. */
#define TOOL_READ_BYTES  ((uint64_t)16 * 1024 * 1024)
#define TOOL_WRITE_BYTES ((uint64_t)1024 * 1024 * 1024)

struct tool_verb {
	const char *name;
	enum plan_work_kind kind;
	enum action action;
};

struct tool_input {
	struct cli_source source;
	const char *path;    /* as given */
	const char *workdir; /* --workdir, or NULL */
	char *const *environ;
	uint64_t timeout_ms;
	bool capture; /* the output is kept */
};

struct tool {
	struct prepared prep;
	const struct tool_verb *verb; /* set by the caller, as are work.skip and work.lines */
	struct plan_work work;
	const char *path; /* what was decided on, before links */
	struct check_place place;
	struct view_target holder; /* WRITE: the directory */
	const char *code;          /* of a failure, for programs; NULL: none of these */
};

struct tool_entry {
	const char *name;
	char type; /* as of child/work.c */
	uint64_t mode, size, mtime;
};

struct tool_list {
	struct tool *tool;
	ARRAY_OF(struct tool_entry) entries; /* that the agent may see, sorted by byte value */
	uint64_t hidden;
	bool broken; /* the work's output is none */
};

void tool_init(struct tool *t, struct arena *a);
/* tool_prepare() - as prepare_request(): 0 with t->prep.plan ready, else the exit status. */
MUST_CHECK int tool_prepare(struct arena *a, const struct tool_input *in, struct tool *t,
			    struct err *err);
/* tool_failed() - what the work said, into *err and t->code. Return: the exit status. */
int tool_failed(struct tool *t, const struct outcome_work *w, struct err *err);
void tool_close(struct tool *t);

/* tool_list_attachment() - takes the listing out of the outcome, and what the agent may not see out
 * of the listing. After the audit's attachment, whose record of the outcome tells of it. */
void tool_list_attachment(struct tool_list *l, struct run_attachment *ret);
/* tool_list_json() - new reference. */
json_t *tool_list_json(const struct tool_list *l);
/* tool_list_print() - on standard output: names, one a line, escaped and with a slash after a
 * directory; @null: as they are, each with a NUL after it. 0 or -errno. */
MUST_CHECK int tool_list_print(const struct tool_list *l, bool null);
