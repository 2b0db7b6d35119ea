/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The attacker: an ordinary command of the sandbox under test. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/exitcode.h"
#include "base/fd.h"
#include "cli/cli.h"
#include "cli/selftest.h"

#define WORDS 5

/* A process of its own session that heeds nothing and holds a lock on a file that the host looks
 * at when everything should have ended. Return: 0, or a result. */
static int leave_daemon(const char *lock)
{
	int gate[2];
	char byte = 0;
	long pid;
	ssize_t n;

	if (pipe2(gate, O_CLOEXEC) != 0)
		return errno;
	pid = selftest_fork();
	if (pid == 0) {
		FD_AUTO fd = open(lock, O_RDWR | O_CLOEXEC);

		(void)setsid();
		if (selftest_fork() != 0)
			_exit(0);
		(void)signal(SIGTERM, SIG_IGN);
		(void)signal(SIGHUP, SIG_IGN);
		(void)signal(SIGINT, SIG_IGN);
		if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) != 0)
			_exit(1);
		n = write(gate[1], "x", 1);
		(void)n;
		for (;;)
			(void)pause();
	}
	(void)close(gate[1]);
	n = pid < 0 ? -1 : read(gate[0], &byte, 1);
	(void)close(gate[0]);
	return n == 1 && byte == 'x' ? 0 : SELFTEST_NONE;
}

/* The twin: while the sandbox lives, so does the daemon. */
static int try_daemon(const struct selftest_ctx *c)
{
	char lock[PATH_MAX];
	FD_AUTO fd = -1;
	int r;

	if (c->room == NULL)
		return SELFTEST_NO_ROOM;
	(void)snprintf(lock, sizeof(lock), "%s/" SELFTEST_LOCK, c->room);
	r = leave_daemon(lock);
	if (r != 0)
		return r;
	fd = open(lock, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return errno;
	return flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK ? 0 : SELFTEST_NONE;
}

/* Where the profile shows the private directory, if it does. */
static const char *find_room(const char *host)
{
	const char *const places[] = { SELFTEST_ROOM, host };
	char path[PATH_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		int n = snprintf(path, sizeof(path), "%s/" SELFTEST_LOCK, places[i]);

		if (n > 0 && (size_t)n < sizeof(path) && access(path, W_OK) == 0)
			return places[i];
	}
	return NULL;
}

static int number(const char *text)
{
	char *end;
	long v = strtol(text, &end, 10);

	return end == text || *end != '\0' || v < 0 || v > INT_MAX ? -1 : (int)v;
}

/* Outside of a sandbox these are attacks on a real system. */
static bool is_privileged(void)
{
	return getenv("container") == NULL && geteuid() == 0;
}

static int try_row(const struct selftest_ctx *c, const struct selftest_row *row, bool raw)
{
	const struct selftest_terms terms = { .own_profile = true };
	int attack = selftest_try(c, row->attack, row->arg, false);
	int twin = row->twin == NULL ? SELFTEST_THROUGH
				     : selftest_try(c, row->twin, row->twin_arg, false);
	enum selftest_verdict v;
	const char *why;

	if (raw) {
		(void)printf("%s %d %d\n", row->name, attack, twin);
		return 0;
	}
	v = selftest_judge(row, &terms, attack, twin, &why);
	(void)printf("%-9s  %-16s %s: %s%s%s\n", selftest_verdict_name(v), row->name, row->what,
		     selftest_result_name(attack), why[0] != '\0' ? ", " : "", why);
	return v == SELFTEST_NOT_HELD;
}

static int attack_all(const struct selftest_ctx *c, bool raw)
{
	const struct selftest_row *row;
	int bad = 0;

	for (size_t i = 0; (row = selftest_row_at(i)) != NULL; i++) {
		bad += try_row(c, row, raw);
		if (fflush(stdout) != 0)
			return EXITCODE_FAILED;
	}
	return bad > 0;
}

int selftest_inside(int argc, char **argv)
{
	struct selftest_ctx c = {
		.outside = "/etc/hostname", .abstract = "@", .port = 1, .pid = getppid()
	};
	bool raw = false, linger = false;
	int i = 0, daemon;

	for (; i < argc && strncmp(argv[i], "--", 2) == 0; i++) {
		raw = raw || strcmp(argv[i], "--raw") == 0;
		linger = linger || strcmp(argv[i], "--linger") == 0;
	}
	if ((i != argc && i + WORDS != argc) || is_privileged()) {
		cli_say("%s runs inside the sandbox: use 'agentbox selftest'", SELFTEST_VERB);
		return EXITCODE_FAILED;
	}
	if (i + WORDS == argc) {
		c.room = find_room(argv[i]);
		(void)snprintf(c.outside, sizeof(c.outside), "%s", argv[i + 1]);
		(void)snprintf(c.abstract, sizeof(c.abstract), "%s", argv[i + 2]);
		c.port = (unsigned)number(argv[i + 3]);
		c.pid = number(argv[i + 4]);
	}
	if (!linger && !raw)
		return attack_all(&c, false);
	daemon = try_daemon(&c);
	if (linger) {
		(void)printf("linger %d %d\n", SELFTEST_THROUGH, daemon);
		(void)fflush(stdout);
		for (;;)
			(void)pause();
	}
	(void)printf("daemon %d %d\n", SELFTEST_THROUGH, daemon);
	return attack_all(&c, true);
}
