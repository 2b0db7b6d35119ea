/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* tap - a unit test is a program that prints TAP: it prints values on failure and goes on. */
#pragma once

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct tap {
	int n;
	int failed;
};

__attribute__((format(printf, 3, 4))) static inline bool tap_ok(struct tap *t, bool ok,
								const char *fmt, ...)
{
	__builtin_va_list ap;
	char *text = NULL;

	t->n++;
	t->failed += !ok;
	__builtin_va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		abort();
	__builtin_va_end(ap);
	for (char *p = text; *p != '\0'; p++) {
		/* A test line is one line, whatever the value under test. */
		if (*p == '\n')
			*p = ' ';
	}
	printf("%sok %d - %s\n", ok ? "" : "not ", t->n, text);
	free(text);
	fflush(stdout);
	return ok;
}

static inline bool tap_str(struct tap *t, const char *got, const char *want, const char *what)
{
	bool ok = (got == NULL || want == NULL) ? got == want : strcmp(got, want) == 0;

	tap_ok(t, ok, "%s", what);
	if (!ok)
		printf("# got  '%s'\n# want '%s'\n", got == NULL ? "(null)" : got,
		       want == NULL ? "(null)" : want);
	return ok;
}

static inline bool tap_int(struct tap *t, long long got, long long want, const char *what)
{
	tap_ok(t, got == want, "%s", what);
	if (got != want)
		printf("# got  %lld\n# want %lld\n", got, want);
	return got == want;
}

/* A skip must name its reason; AGENTBOX_MUST_WORK=1 makes it a failure. */
static inline void tap_skip(struct tap *t, const char *what, const char *why)
{
	const char *must = getenv("AGENTBOX_MUST_WORK");

	t->n++;
	if (must != NULL && strcmp(must, "1") == 0) {
		t->failed++;
		printf("not ok %d - %s (must work, but: %s)\n", t->n, what, why);
	} else {
		printf("ok %d - %s # SKIP %s\n", t->n, what, why);
	}
}

static inline int tap_done(const struct tap *t)
{
	printf("1..%d\n", t->n);
	return t->failed == 0 ? 0 : 1;
}
