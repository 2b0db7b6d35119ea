/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* common - a profile as a string in, an error or a profile out. */
#pragma once

#include "profile/profile.h"
#include "tap.h"

static const struct profile_param common_params[] = { { "workspace", "/work/space" } };

static inline struct profile_source common_source(void)
{
	return (struct profile_source){
		.fd = -1, .cwd = "/", .home = "/home/u", .uid = 1000, .gid = 1000
	};
}

static inline struct profile_text common_text(const char *text)
{
	return (struct profile_text){
		.name = "p.yaml", .dir = "/srv/p", .text = text, .len = strlen(text)
	};
}

/* How much of a text names it in the output: a part of its first line, in ASCII. */
static inline int label_len(const char *text)
{
	size_t n = strcspn(text, "\r\n#\xc3\xe2\xf4");

	return n < 60 ? (int)n : 60;
}

/* The profile must be refused there, with a message that holds @want. @line 0: no position. */
static inline void common_bad_from(struct tap *t, const struct profile_source *src,
				   const char *text, unsigned line, unsigned col, const char *want)
{
	struct arena a = { 0 };
	struct err err = { 0 };
	const struct profile_text in = common_text(text);
	const struct profile *p = NULL;
	int r = profile_parse(&a, src, &in, &p, &err);
	bool ok = r == -1 && p == NULL && err.line == line && err.col == col &&
		  strstr(err.msg, want) != NULL &&
		  err.code == (line == 0 ? ERR_USAGE : ERR_PROFILE) &&
		  (line == 0 || (err.file != NULL && strcmp(err.file, "p.yaml") == 0));

	tap_ok(t, ok, "refused at %u:%u: %s", line, col, want);
	if (!ok)
		printf("# got %d %u:%u (code %d) '%s'\n", r, err.line, err.col, (int)err.code,
		       err.msg);
	arena_free(&a);
}

static inline void common_bad(struct tap *t, const char *text, unsigned line, unsigned col,
			      const char *want)
{
	struct profile_source src = common_source();

	common_bad_from(t, &src, text, line, col, want);
}

static inline const struct profile *
common_good_from(struct tap *t, struct arena *a, const struct profile_source *src, const char *text)
{
	struct err err = { 0 };
	const struct profile_text in = common_text(text);
	const struct profile *p = NULL;
	int r = profile_parse(a, src, &in, &p, &err);

	if (!tap_ok(t, r == 0 && p != NULL, "accepted: %.*s", label_len(text), text))
		printf("# got %u:%u '%s'\n", err.line, err.col, err.msg);
	return p;
}

static inline const struct profile *common_good(struct tap *t, struct arena *a, const char *text)
{
	struct profile_source src = common_source();

	return common_good_from(t, a, &src, text);
}

/* A sandbox block in flow style, line 1 from column 10 on. */
#define SANDBOX(s) "sandbox: {" s "}\npermissions: {}\n"
/* The body of permissions, line 2 from column 15 on. */
#define PERMISSIONS(s) "sandbox: {}\npermissions: {" s "}\n"
/* The rules of one agent; the first rule is at 2:37. */
#define RULES(s) PERMISSIONS("agents: {me: {rules: [" s "]}}")

struct common_row {
	const char *text;
	unsigned line, col;
	const char *want; /* in the message; NULL: accepted */
};

static inline void common_rows(struct tap *t, const struct common_row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct arena a = { 0 };

		if (rows[i].want != NULL)
			common_bad(t, rows[i].text, rows[i].line, rows[i].col, rows[i].want);
		else
			(void)common_good(t, &a, rows[i].text);
		arena_free(&a);
	}
}
