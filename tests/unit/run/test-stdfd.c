/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What each kind of descriptor becomes: refused, a new /dev/null, or a pipe of ours. */
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "run/stdfd.h"
#include "tap.h"

enum want {
	WANT_REFUSED,
	WANT_NULL, /* /dev/null, in an opening of ours */
	WANT_PUMPED,
};

struct dirs {
	char tmp[64];
	char file[96], fifo[96];
};

static int open_tty(void)
{
	int m = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);

	if (m < 0 || grantpt(m) != 0 || unlockpt(m) != 0)
		return -1;
	/* The master stays open until the test ends. */
	return open(ptsname(m), O_RDWR | O_NOCTTY | O_CLOEXEC);
}

static int open_pipe(int i)
{
	int p[2];

	if (pipe2(p, O_CLOEXEC) != 0)
		return -1;
	return p[i == 0 ? 0 : 1];
}

static int open_socket(int i)
{
	int p[2];

	(void)i;
	return socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, p) == 0 ? p[0] : -1;
}

static bool is_same(int a, int b)
{
	struct stat sa, sb;

	return fstat(a, &sa) == 0 && fstat(b, &sb) == 0 && sa.st_dev == sb.st_dev &&
	       sa.st_ino == sb.st_ino;
}

static void check(struct tap *t, const char *what, int i, int fd, enum want want, bool limited)
{
	struct plan plan = { .output_limited = limited, .output_bytes = 10 };
	struct run_options opt = { .stdin_mode = RUN_STDIN_CALLER, .caller_stdio = { 0, 1, 2 } };
	FD_AUTO null = open("/dev/null", O_RDWR | O_CLOEXEC);
	struct strbuf sink[2] = { { 0 } };
	struct err err = { 0 };
	struct stdfd_set set;
	int r;

	for (int k = 0; k < 3; k++)
		opt.caller_stdio[k] = k == i ? fd : null;
	r = stdfd_open(&set, &plan, &opt, sink, &err);
	if (want == WANT_REFUSED) {
		tap_ok(t,
		       r == -1 && err.code == ERR_REQUEST && err.set &&
			       strstr(err.msg, "standard") != NULL,
		       "%s as %d: refused (%s)", what, i, err.msg);
		if (r == 0)
			stdfd_free(&set);
		return;
	}
	if (!tap_ok(t, r == 0, "%s as %d: taken %s", what, i, err.msg))
		return;
	tap_ok(t, set.child[0] >= 3 && set.child[1] >= 3 && set.child[2] >= 3,
	       "%s as %d: the child's descriptors are above 2", what, i);
	if (want == WANT_NULL) {
		tap_ok(t, is_same(set.child[i], null), "%s as %d: /dev/null", what, i);
		tap_ok(t,
		       (fcntl(set.child[i], F_GETFL) & O_ACCMODE) == (i == 0 ? O_RDONLY : O_WRONLY),
		       "%s as %d: in an opening of ours, one way only", what, i);
	}
	if (want == WANT_PUMPED) {
		struct stat st;

		tap_ok(t,
		       !is_same(set.child[i], fd) && fstat(set.child[i], &st) == 0 &&
			       S_ISFIFO(st.st_mode) && set.n_pumps >= 1,
		       "%s as %d: through a pipe of ours", what, i);
		tap_ok(t, (fcntl(fd, F_GETFL) & O_NONBLOCK) == 0,
		       "%s as %d: the caller's open file is not made non-blocking", what, i);
		tap_ok(t, (fcntl(set.child[i], F_GETFL) & O_NONBLOCK) == 0,
		       "%s as %d: neither is the command's", what, i);
	}
	stdfd_free(&set);
}

static void test_kinds(struct tap *t, const struct dirs *d)
{
	for (int i = 0; i < 3; i++) {
		FD_AUTO null = open("/dev/null", O_RDWR | O_CLOEXEC);
		FD_AUTO zero = open("/dev/zero", O_RDWR | O_CLOEXEC);
		FD_AUTO dir = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		FD_AUTO file = open(d->file, O_RDWR | O_CLOEXEC);
		FD_AUTO fifo = open(d->fifo, O_RDWR | O_CLOEXEC);
		FD_AUTO tty = open_tty();
		FD_AUTO anon = open_pipe(i);
		FD_AUTO sock = open_socket(i);

		check(t, "null", i, null, WANT_NULL, false);
		check(t, "closed", i, 1000, WANT_NULL, false);
		check(t, "null, limited", i, null, i == 0 ? WANT_NULL : WANT_PUMPED, true);
		check(t, "pipe", i, anon, WANT_PUMPED, false);
		check(t, "pipe, limited", i, anon, WANT_PUMPED, true);
		check(t, "named pipe", i, fifo, WANT_PUMPED, false);
		check(t, "file", i, file, WANT_PUMPED, false);
		check(t, "socket", i, sock, WANT_PUMPED, false);
		if (tty >= 0)
			check(t, "terminal", i, tty, WANT_PUMPED, false);
		else
			tap_skip(t, "terminal", "no pty here");
		check(t, "directory", i, dir, WANT_REFUSED, false);
		check(t, "another device", i, zero, WANT_REFUSED, false);
	}
}

/* Without -i nothing of the caller's input is even looked at. */
static void test_null_mode(struct tap *t)
{
	FD_AUTO dir = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	FD_AUTO null = open("/dev/null", O_RDWR | O_CLOEXEC);
	struct run_options opt = { .caller_stdio = { dir, null, null } };
	struct plan plan = { 0 };
	struct strbuf sink[2] = { { 0 } };
	struct err err = { 0 };
	struct stdfd_set set;

	if (!tap_int(t, stdfd_open(&set, &plan, &opt, sink, &err), 0, "stdin null: taken"))
		return;
	tap_ok(t, is_same(set.child[0], null), "stdin null: a directory is replaced by /dev/null");
	tap_int(t, fcntl(set.child[0], F_GETFL) & O_ACCMODE, O_RDONLY, "for reading only");
	stdfd_free(&set);
}

static size_t count_pumps(int out, int errs, bool limited, bool capture, bool split)
{
	struct run_options opt = { .caller_stdio = { 0, out, errs },
				   .capture = capture,
				   .capture_split = split };
	struct plan plan = { .output_limited = limited, .output_bytes = 10 };
	struct strbuf sink[2] = { { 0 } };
	struct err err = { 0 };
	struct stdfd_set set;
	size_t n;

	if (stdfd_open(&set, &plan, &opt, sink, &err) != 0)
		return 99;
	n = set.n_pumps;
	stdfd_free(&set);
	return n;
}

static void test_order(struct tap *t, const struct dirs *d)
{
	FD_AUTO file = open(d->file, O_RDWR | O_CLOEXEC);
	FD_AUTO again = open(d->file, O_RDWR | O_CLOEXEC);
	FD_AUTO copy = fcntl(file, F_DUPFD_CLOEXEC, 3);
	FD_AUTO one = open_pipe(1);
	FD_AUTO one_copy = fcntl(one, F_DUPFD_CLOEXEC, 3);
	FD_AUTO two = open_pipe(1);

	tap_int(t, (long long)count_pumps(file, copy, false, false, false), 1,
		"one open file on both: one pump");
	tap_int(t, (long long)count_pumps(file, again, false, false, false), 2,
		"a file opened twice: two pumps");
	tap_int(t, (long long)count_pumps(one, one_copy, false, false, false), 1,
		"one pipe on both: one pump");
	tap_int(t, (long long)count_pumps(one, one_copy, true, false, false), 1,
		"one pipe on both, limited: one pump");
	tap_int(t, (long long)count_pumps(one, two, false, false, false), 2,
		"two pipes: two pumps");
	tap_int(t, (long long)count_pumps(one, two, true, false, false), 2,
		"two pipes, limited: two pumps");
	tap_int(t, (long long)count_pumps(one, two, false, true, false), 1, "captured: one");
	tap_int(t, (long long)count_pumps(one, two, false, true, true), 2, "captured apart: two");
}

int main(void)
{
	struct tap t = { 0 };
	struct dirs d = { .tmp = "/tmp/agentbox-stdfd.XXXXXX" };
	int fd;

	if (mkdtemp(d.tmp) == NULL)
		return 1;
	(void)snprintf(d.file, sizeof(d.file), "%s/file", d.tmp);
	(void)snprintf(d.fifo, sizeof(d.fifo), "%s/fifo", d.tmp);
	fd = open(d.file, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
	if (fd < 0 || close(fd) != 0 || mkfifo(d.fifo, 0600) != 0)
		return 1;
	test_kinds(&t, &d);
	test_null_mode(&t);
	test_order(&t, &d);
	(void)unlink(d.file);
	(void)unlink(d.fifo);
	(void)rmdir(d.tmp);
	return tap_done(&t);
}
