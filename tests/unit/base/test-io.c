/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "tap.h"

static void on_alarm(int sig)
{
	(void)sig;
}

/* No SA_RESTART: every slow call is interrupted again and again. */
static void timer_set(unsigned usec)
{
	struct sigaction sa = { .sa_handler = on_alarm };
	struct itimerval it = { .it_interval = { 0, usec }, .it_value = { 0, usec } };

	if (sigaction(SIGALRM, &sa, NULL) != 0 || setitimer(ITIMER_REAL, &it, NULL) != 0)
		abort();
}

/* A child that writes @n bytes 'a', 'b', ... in pieces of @piece, resting before each. */
static int slow_writer(size_t n, size_t piece, pid_t *pid)
{
	int p[2];

	if (pipe2(p, O_CLOEXEC) != 0)
		abort();
	*pid = fork();
	if (*pid < 0)
		abort();
	if (*pid == 0) {
		for (size_t i = 0; i < n; i++) {
			char c = (char)('a' + i % 26);

			if (i % piece == 0)
				(void)usleep(3000);
			if (write(p[1], &c, 1) != 1)
				_exit(1);
		}
		_exit(0);
	}
	(void)close(p[1]);
	return p[0];
}

static void reap(pid_t pid)
{
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		continue;
}

static bool is_sequence(const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (s[i] != (char)('a' + i % 26))
			return false;
	}
	return true;
}

static void test_read_full(struct tap *t)
{
	char buf[300];
	pid_t pid;
	FD_AUTO fd = slow_writer(200, 10, &pid);

	timer_set(1000);
	tap_int(t, io_read_full(fd, buf, 150), 150, "short and interrupted reads add up");
	tap_ok(t, is_sequence(buf, 150), "in order");
	tap_int(t, io_read_full(fd, buf, sizeof(buf)), 50, "short only at the end");
	tap_int(t, io_read_full(fd, buf, sizeof(buf)), 0, "nothing after it");
	timer_set(0);
	reap(pid);
	tap_int(t, io_read_full(-1, buf, 1), -EBADF, "an error is the negative errno");
	tap_int(t, io_read_full(-1, buf, 0), 0, "nothing wanted, nothing asked");
}

/* The reader sleeps, so that the pipe is full and write(2) is slow, short and interrupted.
 * @flags: of the writing end. */
static void write_case(struct tap *t, int flags, const char *what)
{
	static char out[300000];
	static char in[300000];
	size_t got = 0;
	int p[2];
	int r;
	pid_t pid;

	for (size_t i = 0; i < sizeof(out); i++)
		out[i] = (char)('a' + i % 26);
	if (pipe2(p, O_CLOEXEC) != 0)
		abort();
	pid = fork();
	if (pid < 0)
		abort();
	if (pid == 0) {
		(void)close(p[0]);
		if (fcntl(p[1], F_SETFL, flags) != 0)
			_exit(2);
		timer_set(500);
		r = io_write_full(p[1], out, sizeof(out));
		_exit(r == 0 ? 0 : 1);
	}
	(void)close(p[1]);
	while (got < sizeof(in)) {
		size_t more = sizeof(in) - got < 3000 ? sizeof(in) - got : 3000;
		ssize_t n = read(p[0], in + got, more);

		if (n <= 0)
			break;
		got += (size_t)n;
		(void)usleep(200);
	}
	if (waitpid(pid, &r, 0) != pid)
		abort();
	(void)close(p[0]);
	tap_int(t, r, 0, what);
	tap_int(t, (long long)got, (long long)sizeof(out), "and all arrives");
	tap_ok(t, is_sequence(in, got), "in order");
}

/* Nobody reads, and then nobody ever will: the wait ends with the error of the write. */
static void test_write_gone(struct tap *t)
{
	static const char out[1 << 20];
	int p[2];
	pid_t pid;

	if (pipe2(p, O_CLOEXEC | O_NONBLOCK) != 0)
		abort();
	pid = fork();
	if (pid < 0)
		abort();
	if (pid == 0) {
		(void)close(p[1]);
		(void)usleep(50000);
		_exit(0);
	}
	(void)close(p[0]);
	tap_int(t, io_write_full(p[1], out, sizeof(out)), -EPIPE, "a reader that goes away");
	(void)close(p[1]);
	reap(pid);
}

static void test_write_full(struct tap *t)
{
	write_case(t, 0, "an interrupted writer says that all is written");
	write_case(t, O_NONBLOCK, "so does one that does not block");
	test_write_gone(t);
	tap_int(t, io_write_full(-1, "x", 1), -EBADF, "an error is the negative errno");
	tap_int(t, io_write_full(-1, "x", 0), 0, "nothing to write, nothing asked");
}

static int file_with(size_t n)
{
	int fd = memfd_create("test", MFD_CLOEXEC);

	if (fd < 0)
		abort();
	for (size_t i = 0; i < n; i++) {
		char c = (char)('a' + i % 26);

		if (write(fd, &c, 1) != 1)
			abort();
	}
	if (lseek(fd, 0, SEEK_SET) != 0)
		abort();
	return fd;
}

static void test_read_file(struct tap *t)
{
	static const size_t sizes[] = { 0, 1, 4095, 4096, 4097, 10000 };
	struct arena a = { 0 };
	char *text;
	size_t len;

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		size_t n = sizes[i];
		FD_AUTO fd = file_with(n);
		pid_t pid;
		FD_AUTO pipe_fd = slow_writer(n, 5000, &pid);

		tap_ok(t,
		       io_read_file(fd, n, &a, &text, &len) == 0 && len == n &&
			       is_sequence(text, n) && text[n] == '\0',
		       "a file of %zu bytes, and no more allowed", n);
		tap_ok(t,
		       io_read_file(pipe_fd, n, &a, &text, &len) == 0 && len == n &&
			       is_sequence(text, n) && text[n] == '\0',
		       "a pipe of %zu bytes, and no more allowed", n);
		reap(pid);
	}
	arena_free(&a);
}

static void test_read_file_limits(struct tap *t)
{
	static const size_t sizes[] = { 1, 4096, 4097, 10000 };
	struct arena a = { 0 };
	char *text = NULL;
	size_t len = 0;

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		size_t n = sizes[i];
		FD_AUTO fd = file_with(n);
		pid_t pid;
		FD_AUTO pipe_fd = slow_writer(n, 5000, &pid);

		tap_ok(t, io_read_file(fd, n - 1, &a, &text, &len) == -EFBIG,
		       "a file of %zu bytes, one too many", n);
		tap_ok(t, io_read_file(pipe_fd, n - 1, &a, &text, &len) == -EFBIG,
		       "a pipe of %zu bytes, one too many", n);
		reap(pid);
	}
	tap_ok(t, text == NULL && len == 0, "nothing is handed out of what was refused");
	tap_int(t, io_read_file(-1, 10, &a, &text, &len), -EBADF, "an error is the negative errno");
	arena_free(&a);
}

static void test_write_value(struct tap *t)
{
	static char big[1 << 17];
	int p[2];

	if (pipe2(p, O_CLOEXEC | O_NONBLOCK) != 0)
		_exit(99);
	tap_int(t, io_write_value(p[1], "x", 1), 0, "a value as a whole");
	tap_int(t, io_write_value(p[1], big, sizeof(big)), -EIO, "a part of it is an error");
	tap_int(t, io_write_value(p[1], "x", 1), -EAGAIN, "nothing is waited for");
	tap_int(t, io_write_value(-1, "x", 1), -EBADF, "an error is the negative errno");
	(void)close(p[0]);
	(void)close(p[1]);
}

static void test_fd(struct tap *t)
{
	int fd = file_with(1);
	int kept;

	kept = fd_take(&fd);
	tap_ok(t, fd == -1 && fcntl(kept, F_GETFD) >= 0, "taken: no longer owned, still open");
	fd = kept;
	fd_close(&fd);
	tap_ok(t, fd == -1 && fcntl(kept, F_GETFD) < 0, "closed: gone");
	fd_close(&fd);
	{
		FD_AUTO scoped = file_with(1);

		kept = scoped;
	}
	tap_ok(t, fcntl(kept, F_GETFD) < 0, "closed at the end of the scope");
}

int main(void)
{
	struct tap t = { 0 };

	(void)signal(SIGPIPE, SIG_IGN);
	test_read_full(&t);
	test_write_full(&t);
	test_read_file(&t);
	test_read_file_limits(&t);
	test_write_value(&t);
	test_fd(&t);
	return tap_done(&t);
}
