/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "policy/passwd.h"

#include <pwd.h>
#include <stdio.h>
#include <string.h>

#include "tap.h"

#define BEFORE "root:x:0:0:root:/root:/bin/sh\n"

static const struct {
	const char *what, *text, *name;
	uid_t uid;
	const char *want;
} rows[] = {
	{ "the first entry", BEFORE, NULL, 0, "/root" },
	{ "by name", BEFORE "u:x:7:7::/home/u:/bin/sh\n", "u", 0, "/home/u" },
	{ "by uid", BEFORE "u:x:7:7::/home/u:/bin/sh\n", NULL, 7, "/home/u" },
	{ "the last line ends with the file", BEFORE "u:x:7:7::/home/u:/bin/sh", NULL, 7,
	  "/home/u" },
	{ "no such uid", BEFORE "u:x:7:7::/home/u:/bin/sh\n", NULL, 8, NULL },
	{ "no such name", BEFORE "u:x:7:7::/home/u:/bin/sh\n", "v", 0, NULL },
	{ "not a part of a name", "uu:x:7:7::/home/uu:/bin/sh\n", "u", 0, NULL },
	{ "not a part of a uid", "u:x:77:7::/home/u:/bin/sh\n", NULL, 7, NULL },
	{ "the first of two", "u:x:7:7::/a:/bin/sh\nv:x:7:7::/b:/bin/sh\n", NULL, 7, "/a" },
	{ "no shell", "u:x:7:7::/home/u\n", NULL, 7, "/home/u" },
	{ "a colon in the shell", "u:x:7:7::/home/u:/bin/sh:x\n", NULL, 7, "/home/u" },
	{ "an empty home", "u:x:7:7:::/bin/sh\n", NULL, 7, "" },
	{ "no home", "u:x:7:7:/home/u\nv:x:7:7::/b:\n", NULL, 7, "" },
	{ "no gid", "u:x:7\nv:x:7:7::/b:\n", NULL, 7, "/b" },
	{ "a comment", "#u:x:7:7::/home/u:/bin/sh\n", NULL, 7, NULL },
	{ "blank lines and blanks", "\n  \n  u:x:7:7::/home/u:/bin/sh\n", "u", 0, "/home/u" },
	{ "NIS", "+u:x:7:7::/home/u:/bin/sh\n-u:x:7:7::/b:/bin/sh\n+::::::\n", NULL, 7, NULL },
	{ "a uid that is no number", "u:x:7x:7::/home/u:/bin/sh\n", NULL, 7, NULL },
	{ "a uid with a sign", "u:x:-7:7::/home/u:/bin/sh\n", NULL, (uid_t)-7, NULL },
	{ "no uid", "u:x::7::/home/u:/bin/sh\n", NULL, 0, NULL },
	{ "a uid beyond 32 bits", "u:x:4294967303:7::/home/u:/bin/sh\n", NULL, 7, NULL },
	{ "a gid that is no number", "u:x:7:g::/home/u:/bin/sh\n", NULL, 7, NULL },
	{ "nothing", "", NULL, 0, NULL },
};

static const char *home(struct arena *a, const char *text, const char *name, uid_t uid)
{
	return passwd_home(a, arena_strdup(a, text), name, uid);
}

/* What the C library makes of the same text. */
static void test_library(struct tap *t, struct arena *a)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char *text = arena_strdup(a, rows[i].text);
		FILE *f = strlen(text) > 0 ? fmemopen(text, strlen(text), "r") : NULL;
		const struct passwd *pw = NULL;

		while (f != NULL && (pw = fgetpwent(f)) != NULL &&
		       (rows[i].name == NULL ? pw->pw_uid != rows[i].uid
					     : strcmp(pw->pw_name, rows[i].name) != 0))
			;
		/* It hands out NIS's lines too, and trusts whoever reads them to know. */
		if (strchr("+-", rows[i].text[0]) == NULL || rows[i].text[0] == '\0')
			tap_str(t, home(a, rows[i].text, rows[i].name, rows[i].uid),
				pw == NULL ? NULL : pw->pw_dir, rows[i].what);
		if (f != NULL)
			(void)fclose(f);
	}
}

int main(void)
{
	struct tap t = { 0 };
	struct arena a = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		tap_str(&t, home(&a, rows[i].text, rows[i].name, rows[i].uid), rows[i].want,
			rows[i].what);
	test_library(&t, &a);
	arena_free(&a);
	return tap_done(&t);
}
