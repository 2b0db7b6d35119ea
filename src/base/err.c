/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const code_names[] = {
	[ERR_INTERNAL] = "internal",    [ERR_USAGE] = "usage", [ERR_PROFILE] = "profile",
	[ERR_REQUEST] = "request",      [ERR_HOST] = "host",   [ERR_AUDIT] = "audit",
	[ERR_OUTSIDE] = "sandbox_deny",
};
_Static_assert(ARRAY_SIZE(code_names) == ERR_CODE_MAX, "one name for each code");

const char *err_code_name(enum err_code code)
{
	if ((unsigned)code >= ERR_CODE_MAX)
		return "internal";
	return code_names[code];
}

const char *err_text(int errnum)
{
	switch (errnum) {
	case EMFILE:
		return "Too many open files (ulimit -n raises the limit)";
	case ELOOP:
		/* Paths are resolved without links: one is enough for it. */
		return "a symbolic link stands in the way, a loop of them or one that came while "
		       "it was looked at (try again, or name the real path)";
	default:
		return strerror(errnum);
	}
}

static void err_fill(struct err *err, enum err_code code, int errnum)
{
	*err = (struct err){ .code = code, .errnum = errnum, .set = true };
}

/* A message that does not fit is cut: it is for reading, nothing decides by it. */
static void err_append(struct err *err, const char *s)
{
	size_t n = strlen(err->msg);
	size_t more = strlen(s);

	if (more > sizeof(err->msg) - 1 - n)
		more = sizeof(err->msg) - 1 - n;
	memcpy(err->msg + n, s, more);
	err->msg[n + more] = '\0';
}

int err_set(struct err *err, enum err_code code, int errnum, const char *fmt, ...)
{
	va_list ap;

	err_fill(err, code, errnum);
	va_start(ap, fmt);
	(void)vsnprintf(err->msg, sizeof(err->msg), fmt, ap);
	va_end(ap);
	if (errnum > 0) {
		err_append(err, ": ");
		err_append(err, err_text(errnum));
	}
	return -1;
}

int err_set_at(struct err *err, enum err_code code, const char *file, unsigned line, unsigned col,
	       const char *fmt, ...)
{
	va_list ap;

	err_fill(err, code, 0);
	err->file = file;
	err->line = line;
	err->col = col;
	va_start(ap, fmt);
	(void)vsnprintf(err->msg, sizeof(err->msg), fmt, ap);
	va_end(ap);
	return -1;
}

int err_prefix(struct err *err, const char *fmt, ...)
{
	char old[ERR_MSG_MAX];
	va_list ap;

	if (!err->set)
		abort();
	memcpy(old, err->msg, sizeof(old));
	va_start(ap, fmt);
	(void)vsnprintf(err->msg, sizeof(err->msg), fmt, ap);
	va_end(ap);
	err_append(err, ": ");
	err_append(err, old);
	return -1;
}
