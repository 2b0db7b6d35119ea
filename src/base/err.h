/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* err - the error value that every fallible function above sys/ fills in.
 *
 * Convention of all floors but sys/ and child/: return 0, or -1 with *err set.
 * The value lives with the caller and owns no memory. Only the command line
 * floor prints it. */
#pragma once

#include <stdbool.h>

#include "base/macro.h"

/* Zero is "a bug in agentbox": an error that nobody classified must not look
 * like something the caller did. */
enum err_code {
	ERR_INTERNAL = 0,
	ERR_USAGE,   /* the command line */
	ERR_PROFILE, /* the profile's text, trust or meaning */
	ERR_REQUEST, /* what was asked for: --workdir, stdin, --env */
	ERR_HOST,    /* this host cannot build the sandbox */
	ERR_AUDIT,   /* a record could not be written or read */
	ERR_OUTSIDE, /* executable, working directory or path outside the sandbox (exit 121) */
	ERR_CODE_MAX,
};

#define ERR_MSG_MAX 768

struct err {
	enum err_code code;
	int errnum;       /* errno of the failed call, 0 if none */
	const char *file; /* borrowed: the profile's name as the user gave it, or NULL */
	unsigned line;    /* 1-based, 0 if none */
	unsigned col;     /* 1-based, in bytes, 0 if none */
	bool set;
	char msg[ERR_MSG_MAX]; /* NUL-terminated, may hold bytes that need the escaper */
};

/* err_set() - record an error; always returns -1 so that callers can `return err_set(...)`.
 * @errnum: positive errno, appended to the message as its text, or 0. */
int err_set(struct err *err, enum err_code code, int errnum, const char *fmt, ...)
	PRINTF_LIKE(4, 5);

/* err_set_at() - the same with a position in a file. @file is borrowed. */
int err_set_at(struct err *err, enum err_code code, const char *file, unsigned line, unsigned col,
	       const char *fmt, ...) PRINTF_LIKE(6, 7);

/* err_prefix() - put context before the message of an error that is set; returns -1.
 * Aborts when no error is set: a wrapped success is a bug that must not pass. */
int err_prefix(struct err *err, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* err_text() - an errno in words, with what to do where that is always the same. Static, or good
 * until the next call, as strerror(3) has it. */
const char *err_text(int errnum);

/* err_code_name() - the word used for a code in results and records. */
const char *err_code_name(enum err_code code);
