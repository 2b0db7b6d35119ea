/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* resolve - the second pass over facts: what the rules and the request need to know in the view.
 * Text lives in the arena; no descriptor stays open. */
#pragma once

#include <time.h>

#include "policy/decide.h"
#include "policy/facts.h"
#include "policy/view.h"

enum guard_kind {
	GUARD_HIDE = 0, /* no read, no write: covered by an empty mask */
	GUARD_FREEZE,   /* no write, rename, unlink: bound onto itself, read-only */
	GUARD_KEEP,     /* a directory below a frozen one that stays as the root grants it */
};

/* An existing entry of a granted root that needs a mount of its own. */
struct guard {
	const char *at; /* canonical virtual path of the entry */
	const char *root_at;
	enum guard_kind kind;
	bool is_dir;
	bool is_link;     /* the entry itself is a link: it is covered, not followed */
	const char *from; /* FREEZE of a link to a file: the target shown in its place; else NULL */
	bool root_writable;              /* ancestors up to the root must be pinned */
	const struct profile_rule *rule; /* of the agent; NULL: the sandbox's own. Borrowed */
	uint32_t nlink;                  /* of a regular file, else 0 */
	struct file_id id;
};

/* A host directory in which a name that is guarded may appear. */
struct guard_watch {
	const char *path;
	dev_t dev;
	ino_t ino;
	struct timespec ctime; /* when something in it was last made, renamed or removed */
	bool recent; /* so short ago that the next change need not show: always look again */
};

/* A file that execve(2) may open as a program. */
struct resolved_program {
	const char *path; /* canonical virtual path */
	struct file_id id;
	bool listed; /* the profile lists it; else it is the interpreter of a script that is */
};

/* A loader of such programs. */
struct resolved_loader {
	const char *path; /* canonical virtual path */
	struct file_id id;
	unsigned char *image; /* what is shown in its place: see loader_seal() */
	size_t len;
};

struct resolved {
	ARRAY_OF(struct resolved_program)
	programs; /* with sandbox.any_command: empty, and no limit */
	ARRAY_OF(struct resolved_loader) loaders;
	ARRAY_OF(struct guard) guards; /* each after its parents; none below a hidden directory */
	ARRAY_OF(struct guard_watch) watched;
	size_t names;              /* how many were looked at to find the guards */
	const char *workdir;       /* virtual path, exists in the view */
	const char *exe;           /* path for execve; NULL: a bare name that PATH does not have */
	bool unlisted;             /* the executable is none of the profile's commands */
	const char *exe_canonical; /* where it leads in the view, or NULL */
	struct command_file file;
	struct command_file *pattern_files;
	size_t n_pattern_files;
};

struct resolve_input {
	const struct profile *profile;
	const struct policy_agent *agent;
	const struct facts *facts;
	const struct view *view;
	const struct tree_access *access; /* one for each of facts.roots */
	char *const *argv;
	const char *path_env; /* the sandbox's PATH */
	const char *workdir;  /* --workdir or the profile's, or NULL */
	bool no_rules;        /* guards: the sandbox's own, for who asks the policy himself */
	bool names_only; /* guards: those of names alone, not sockets or agentbox's own files */
};

/* resolve_command() - workdir, executable, files of the rules' command words.
 * ERR_OUTSIDE: the working directory or an executable that exists on the host is not in the
 * sandbox, or it is none of the profile's commands. */
MUST_CHECK int resolve_command(struct arena *a, const struct resolve_input *in,
			       struct resolved *ret, struct err *err);

/* resolve_programs() - the files that the profile's commands name, and what those need to start.
 * ERR_HOST without Landlock; ERR_PROFILE for a file that programs may write to,
 * or could by another name of it. */
MUST_CHECK int resolve_programs(struct arena *a, const struct resolve_input *in,
				struct resolved *ret, struct err *err);
/* resolve_is_listed() - is it one of them, as a command of its own? */
bool resolve_is_listed(const struct resolved *r, const struct file_id *id);

/* resolve_guards() - traps at the top of each granted root, and agentbox's own files that lie in
 * one. ERR_PROFILE when a file of the control plane cannot be hidden, or two roots are the same
 * directory with different rights; ERR_HOST when more than 4096 entries need a guard. */
MUST_CHECK int resolve_guards(struct arena *a, const struct resolve_input *in, struct resolved *ret,
			      struct err *err);

/* A name that a guard would have been for, had it been there at the start. */
struct appeared {
	const char *at;
	enum guard_kind kind;
	bool replaced; /* it was there, and is another object now: the guard is gone from it */
};

typedef ARRAY_OF(struct appeared) appeared_list;

/* resolve_appeared() - after a run: what has come since @before. Looks at the host again, unless
 * no directory that matters has changed. */
MUST_CHECK int resolve_appeared(struct arena *a, const struct resolve_input *in,
				const struct resolved *before, appeared_list *ret, struct err *err);

/* What execve(2) did not find, and which file asked for it. */
struct resolve_missing {
	const char *path;    /* virtual */
	const char *of;      /* the program or script that needs it */
	bool is_interpreter; /* else the program itself */
	bool is_script;      /* the interpreter of a script */
	bool on_host;        /* something is at that path on the host */
};

/* resolve_missing() - after an execve of @exe that failed with ENOENT: why. False when nothing is
 * missing by now, or the file cannot be read or understood. Looks at the host again. */
bool resolve_missing(struct arena *a, const struct view *view, const char *workdir, const char *exe,
		     struct resolve_missing *ret);
/* resolve_missing_err() - that, as an error; returns -1. */
int resolve_missing_err(const struct resolve_missing *m, struct err *err);
