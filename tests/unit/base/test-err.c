/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/err.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/suggest.h"
#include "tap.h"

static void test_set(struct tap *t)
{
	struct err e = { 0 };

	tap_int(t, err_set(&e, ERR_HOST, ENOENT, "open '%s'", "x"), -1, "setting returns -1");
	tap_str(t, e.msg, "open 'x': No such file or directory", "with the text of errno");
	tap_ok(t,
	       e.set && e.code == ERR_HOST && e.errnum == ENOENT && e.file == NULL && e.line == 0,
	       "and its fields");
	tap_int(t, err_set(&e, ERR_HOST, ELOOP, "/w/x"), -1, "a link where none may be");
	tap_str(t, e.msg,
		"/w/x: a symbolic link stands in the way, a loop of them or one that came while it "
		"was looked at (try again, or name the real path)",
		"is told with what to do");
	tap_int(t, err_set(&e, ERR_USAGE, 0, "plain"), -1, "without an errno");
	tap_str(t, e.msg, "plain", "the message stands alone");
	tap_int(t, err_set_at(&e, ERR_PROFILE, "p.yaml", 3, 7, "no %d", 5), -1, "with a position");
	tap_ok(t, e.set && e.code == ERR_PROFILE && e.errnum == 0 && e.line == 3 && e.col == 7,
	       "which is kept");
	tap_str(t, e.file, "p.yaml", "and the file");
	tap_int(t, err_prefix(&e, "in %s", "block"), -1, "a prefix returns -1");
	tap_str(t, e.msg, "in block: no 5", "and goes before the message");
	tap_ok(t, e.line == 3 && e.code == ERR_PROFILE, "without touching the rest");
}

/* The values around the end of the buffer: what does not fit is cut, and NUL ends it. */
static void test_cut(struct tap *t)
{
	char text[2 * ERR_MSG_MAX];
	struct {
		struct err e;
		char guard[16];
	} s;
	size_t bad = 0;

	for (size_t n = ERR_MSG_MAX - 40; n < ERR_MSG_MAX + 40; n++) {
		size_t want = n < ERR_MSG_MAX ? n : ERR_MSG_MAX - 1;

		memset(&s, 0, sizeof(s));
		memset(text, 'x', n);
		text[n] = '\0';
		(void)err_set(&s.e, ERR_HOST, 0, "%s", text);
		bad += strlen(s.e.msg) != want;
		(void)err_set(&s.e, ERR_HOST, ENOENT, "%s", text);
		bad += strlen(s.e.msg) < want || strlen(s.e.msg) > ERR_MSG_MAX - 1;
		(void)err_prefix(&s.e, "%s", text);
		bad += strlen(s.e.msg) < want || strlen(s.e.msg) > ERR_MSG_MAX - 1;
		(void)err_set_at(&s.e, ERR_HOST, "f", 1, 1, "%s", text);
		bad += strlen(s.e.msg) != want;
		for (size_t i = 0; i < sizeof(s.guard); i++)
			bad += s.guard[i] != 0;
	}
	tap_int(t, (long long)bad, 0, "messages are cut at the end of the buffer and not beyond");
}

static void test_prefix_unset(struct tap *t)
{
	int status;
	pid_t pid = fork();

	if (pid < 0)
		abort();
	if (pid == 0) {
		struct rlimit none = { 0, 0 };
		struct err e = { 0 };

		(void)setrlimit(RLIMIT_CORE, &none);
		(void)signal(SIGABRT, SIG_DFL);
		(void)err_prefix(&e, "context");
		_exit(0);
	}
	if (waitpid(pid, &status, 0) != pid)
		abort();
	tap_ok(t, WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT,
	       "a prefix on no error aborts");
}

static void test_names(struct tap *t)
{
	static const char *const want[ERR_CODE_MAX] = { "internal",    "usage", "profile",
							"request",     "host",  "audit",
							"sandbox_deny" };

	for (int i = 0; i < ERR_CODE_MAX; i++)
		tap_str(t, err_code_name((enum err_code)i), want[i], "name of a code");
	tap_str(t, err_code_name(ERR_CODE_MAX), "internal", "what is no code is internal");
	tap_str(t, err_code_name((enum err_code) - 1), "internal", "below zero too");
}

static void test_distance(struct tap *t)
{
	static const struct {
		const char *a, *b;
		size_t want;
	} rows[] = {
		{ "", "", 0 },
		{ "", "abc", 3 },
		{ "abc", "", 3 },
		{ "abc", "abc", 0 },
		{ "abc", "ABC", 0 },
		{ "abc", "abd", 1 },
		{ "abc", "abcd", 1 },
		{ "abcd", "abc", 1 },
		{ "abc", "acb", 1 },
		{ "netwrok", "network", 1 },
		{ "ab", "ba", 1 },
		{ "abcdef", "badcfe", 3 },
		{ "kitten", "sitting", 3 },
		{ "a", "b", 1 },
		{ "ca", "abc", 3 },
	};
	char w63[64];
	char w64[65];

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		tap_ok(t,
		       suggest_distance(rows[i].a, rows[i].b) == rows[i].want &&
			       suggest_distance(rows[i].b, rows[i].a) == rows[i].want,
		       "distance of '%s' and '%s' is %zu", rows[i].a, rows[i].b, rows[i].want);
	}
	memset(w63, 'a', sizeof(w63) - 1);
	memset(w64, 'a', sizeof(w64) - 1);
	w63[63] = '\0';
	w64[64] = '\0';
	tap_ok(t, suggest_distance(w63, w63) == 0, "63 bytes are measured");
	tap_ok(t, suggest_distance(w63, w64) == SIZE_MAX, "64 are infinitely far");
	tap_ok(t, suggest_distance(w64, w63) == SIZE_MAX, "on either side");
}

static void test_best(struct tap *t)
{
	static const struct {
		const char *word, *want;
	} rows[] = {
		{ "netwrok", "network" },
		{ "NETWORK", "network" },
		{ "root", "roots" },
		{ "rots", "roots" },
		{ "env", "env" },
		{ "evn", "env" },
		{ "e", NULL },
		{ "frobnicate", NULL },
		{ "", NULL },
		{ "en", "env" },
		{ "rats", "roots" },
		{ "netXXXX", NULL },
	};
	static const char *const words[] = { "roots", "network", "env" };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const char *best = NULL;
		size_t d = 0;

		for (size_t k = 0; k < ARRAY_SIZE(words); k++)
			suggest_best(rows[i].word, words[k], &best, &d);
		tap_str(t, best, rows[i].want, "the nearest word");
	}
}

int main(void)
{
	struct tap t = { 0 };

	test_set(&t);
	test_cut(&t);
	test_prefix_unset(&t);
	test_names(&t);
	test_distance(&t);
	test_best(&t);
	return tap_done(&t);
}
