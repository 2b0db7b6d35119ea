/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Pumps alone: every byte arrives whatever interrupts, nothing blocks the loop, limits are exact.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/io.h"
#include "run/pump.h"
#include "tap.h"

#define BIG ((uint64_t)60 * 1000 * 1000)
/* Far above what anything here takes, however loaded the machine. */
#define EVER_MS 30000

static void on_alarm(int signo)
{
	(void)signo;
}

static long long now_ms(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000LL + ts.tv_nsec / 1000000;
}

/* A signal every 200 us, without SA_RESTART. */
static void storm(bool on)
{
	struct sigaction sa = { .sa_handler = on_alarm };
	struct itimerval it = { { 0, on ? 200 : 0 }, { 0, on ? 200 : 0 } };

	(void)sigaction(SIGALRM, &sa, NULL);
	(void)setitimer(ITIMER_REAL, &it, NULL);
}

static unsigned char pattern(uint64_t at)
{
	return (unsigned char)(at * 2654435761U >> 13);
}

static _Noreturn void child_write(int fd, uint64_t total)
{
	unsigned char buf[50000];
	uint64_t at = 0;

	while (at < total) {
		size_t n = sizeof(buf);

		if (n > total - at)
			n = (size_t)(total - at);
		for (size_t i = 0; i < n; i++)
			buf[i] = pattern(at + i);
		if (io_write_full(fd, buf, n) != 0)
			_exit(1);
		at += n;
	}
	_exit(0);
}

/* Exit 0 when exactly @total bytes of the pattern came. */
static _Noreturn void child_read(int fd, uint64_t total, long delay_us)
{
	unsigned char buf[30000];
	struct timespec ts = { 0, delay_us * 1000 };
	uint64_t at = 0;
	ssize_t n;

	while ((n = read(fd, buf, sizeof(buf))) > 0) {
		for (ssize_t i = 0; i < n; i++)
			if (buf[i] != pattern(at + (uint64_t)i))
				_exit(2);
		at += (uint64_t)n;
		if (delay_us > 0)
			(void)nanosleep(&ts, NULL);
	}
	_exit(at == total ? 0 : 1);
}

/* Returns the longest that one step took, in ms. */
static long long pump_loop(struct pump *p, int ms)
{
	long long end = now_ms() + ms;
	long long worst = 0;
	struct pollfd pfd;

	while (pump_poll(p, &pfd) && now_ms() < end) {
		long long began;

		if (poll(&pfd, 1, 100) <= 0)
			continue;
		began = now_ms();
		(void)pump_move(p);
		if (now_ms() - began > worst)
			worst = now_ms() - began;
	}
	return worst;
}

struct rig {
	int in[2], out[2]; /* the pump reads in[0] and writes out[1] */
	pid_t writer, reader;
	struct pump_budget budget;
	struct pump_guard guard;
};

static void rig_pipes(struct rig *r, bool socket)
{
	*r = (struct rig){ .writer = -1, .reader = -1 };
	if (pipe2(r->in, O_CLOEXEC) != 0 ||
	    (socket ? socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, r->out)
		    : pipe2(r->out, O_CLOEXEC)) != 0)
		abort();
	pump_guard_init(&r->guard);
}

static int exit_of(pid_t pid)
{
	int status = -1;

	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

static void rig_fork(struct rig *r, uint64_t total, uint64_t want, long delay_us)
{
	fflush(stdout);
	r->reader = fork();
	if (r->reader == 0) {
		(void)close(r->out[1]);
		(void)close(r->in[1]);
		child_read(r->out[0], want, delay_us);
	}
	r->writer = fork();
	if (r->writer == 0) {
		(void)close(r->in[0]);
		(void)close(r->out[0]);
		(void)signal(SIGPIPE, SIG_DFL);
		child_write(r->in[1], total);
	}
	(void)close(r->in[1]);
	(void)close(r->out[0]);
}

static void test_copy(struct tap *t, const char *what, enum pump_far kind, bool no_nowait,
		      bool interrupted, long delay_us, uint64_t total)
{
	struct pump p;
	struct rig r;

	rig_pipes(&r, kind == PUMP_FAR_SOCKET);
	rig_fork(&r, total, total, delay_us);
	(void)fcntl(r.in[0], F_SETFL, O_NONBLOCK);
	pump_init_output(&p, "out", r.in[0], r.out[1], kind);
	p.budget = &r.budget;
	p.guard = &r.guard;
	p.no_nowait = no_nowait;
	if (interrupted)
		storm(true);
	(void)pump_loop(&p, EVER_MS);
	storm(false);
	tap_ok(t, pump_done(&p), "%s: ends", what);
	tap_int(t, (long long)r.budget.seen, (long long)total, "every byte is counted");
	tap_int(t, p.errnum, 0, "no error");
	(void)close(r.out[1]);
	tap_int(t, exit_of(r.writer), 0, "the writer wrote all");
	tap_int(t, exit_of(r.reader), 0, "the reader got exactly that");
	pump_free(&p);
	pump_guard_free(&r.guard);
}

static void test_input(struct tap *t, bool file)
{
	char name[] = "/tmp/agentbox-pump.XXXXXX";
	uint64_t total = file ? 3000000 : BIG;
	struct pump p;
	struct rig r;
	int near, far;

	rig_pipes(&r, false);
	rig_fork(&r, file ? 0 : total, total, 0);
	near = r.out[1];
	far = r.in[0];
	if (file) {
		pid_t pid;

		far = mkostemp(name, O_CLOEXEC);
		pid = fork();
		if (pid == 0)
			child_write(far, total);
		(void)exit_of(pid);
		(void)lseek(far, 0, SEEK_SET);
	}
	(void)fcntl(near, F_SETFL, O_NONBLOCK);
	pump_init_input(&p, near, far, file ? PUMP_FAR_REGULAR : PUMP_FAR_STREAM);
	p.guard = &r.guard;
	storm(true);
	(void)pump_loop(&p, EVER_MS);
	storm(false);
	tap_ok(t, pump_done(&p), "input from a %s: ends", file ? "file" : "pipe");
	tap_int(t, exit_of(r.reader), 0, "the command got all of it, then end of file");
	(void)exit_of(r.writer);
	if (file) {
		(void)close(far);
		(void)unlink(name);
	}
	pump_free(&p);
	(void)close(r.in[0]);
}

/* The reader leaves: the writer must get SIGPIPE, as without us. */
static void test_closed_reader(struct tap *t)
{
	struct pump p;
	struct rig r;

	rig_pipes(&r, false);
	rig_fork(&r, BIG, BIG, 0);
	(void)kill(r.reader, SIGKILL);
	(void)exit_of(r.reader);
	(void)fcntl(r.in[0], F_SETFL, O_NONBLOCK);
	pump_init_output(&p, "out", r.in[0], r.out[1], PUMP_FAR_STREAM);
	p.guard = &r.guard;
	(void)pump_loop(&p, EVER_MS);
	tap_ok(t, pump_done(&p), "closed reader: the pump ends");
	tap_int(t, p.errnum, 0, "and calls it no error");
	tap_int(t, exit_of(r.writer), 1000 + SIGPIPE, "the writer gets SIGPIPE");
	(void)close(r.out[1]);
	pump_free(&p);
}

/* A full disk is an error that must be told. */
static void test_full(struct tap *t)
{
	FD_AUTO full = open("/dev/full", O_WRONLY | O_CLOEXEC);
	struct pump p;
	struct rig r;

	rig_pipes(&r, false);
	rig_fork(&r, 100000, 0, 0);
	(void)fcntl(r.in[0], F_SETFL, O_NONBLOCK);
	pump_init_output(&p, "out", r.in[0], full, PUMP_FAR_REGULAR);
	(void)pump_loop(&p, EVER_MS);
	tap_ok(t, pump_done(&p), "full disk: the pump ends");
	tap_int(t, p.errnum, ENOSPC, "with the cause");
	(void)close(r.out[1]);
	(void)exit_of(r.writer);
	(void)exit_of(r.reader);
	pump_free(&p);
}

/* Room for less than is written, on a descriptor that blocks and knows no RWF_NOWAIT. */
static void test_never_blocks(struct tap *t, bool no_nowait)
{
	struct pump p;
	struct rig r;
	long long worst;

	rig_pipes(&r, false);
	(void)fcntl(r.out[1], F_SETPIPE_SZ, 4096);
	(void)fcntl(r.in[0], F_SETFL, O_NONBLOCK);
	pump_init_output(&p, "out", r.in[0], r.out[1], PUMP_FAR_STREAM);
	p.guard = &r.guard;
	p.no_nowait = no_nowait;
	(void)!write(r.in[1], "x", 1);
	(void)pump_move(&p);
	/* Now somebody else fills the pipe between poll(2) and our write. */
	(void)!write(r.in[1], "yyyy", 4);
	(void)pump_move(&p);
	(void)fcntl(r.out[1], F_SETFL, O_NONBLOCK);
	{
		char block[4096] = { 0 };

		while (write(r.out[1], block, sizeof(block)) > 0)
			;
		while (write(r.out[1], block, 1) > 0)
			;
	}
	(void)fcntl(r.out[1], F_SETFL, 0);
	(void)!write(r.in[1], "zzzz", 4);
	worst = now_ms();
	for (int i = 0; i < 3; i++)
		(void)pump_move(&p);
	worst = now_ms() - worst;
	tap_ok(t, worst < EVER_MS, "a write that blocks is ended (%lld ms, %s)", worst,
	       no_nowait ? "by the timer" : "by the kernel");
	tap_ok(t, p.len > 0 && !pump_done(&p), "and its bytes are kept");
	(void)close(r.in[1]);
	(void)close(r.out[0]);
	(void)close(r.out[1]);
	pump_free(&p);
	pump_guard_free(&r.guard);
}

static void test_limit(struct tap *t, uint64_t limit, uint64_t bytes)
{
	struct strbuf sink = { 0 };
	struct pump p;
	struct rig r;

	rig_pipes(&r, false);
	rig_fork(&r, bytes, 0, 0);
	(void)fcntl(r.in[0], F_SETFL, O_NONBLOCK);
	r.budget = (struct pump_budget){ .limited = true, .left = limit };
	pump_init_output(&p, "out", r.in[0], -1, PUMP_FAR_NONE);
	p.budget = &r.budget;
	p.sink = &sink;
	(void)pump_loop(&p, EVER_MS);
	tap_ok(t, sink.len == (bytes < limit ? bytes : limit), "limit %llu, %llu written: kept %zu",
	       (unsigned long long)limit, (unsigned long long)bytes, sink.len);
	tap_int(t, (long long)r.budget.seen, (long long)bytes, "all are counted");
	tap_ok(t, r.budget.truncated == (bytes > limit), "truncated is told when it is so");
	tap_int(t, exit_of(r.writer), 0, "the writer is not held up");
	(void)close(r.out[1]);
	(void)exit_of(r.reader);
	strbuf_free(&sink);
	pump_free(&p);
}

/* Someone outside holds a write end and never stops. */
static void test_finish(struct tap *t)
{
	struct strbuf sink = { 0 };
	struct pump p;
	struct rig r;

	rig_pipes(&r, false);
	(void)fcntl(r.in[0], F_SETFL, O_NONBLOCK);
	pump_init_output(&p, "out", r.in[0], -1, PUMP_FAR_NONE);
	p.sink = &sink;
	(void)!write(r.in[1], "abc", 3);
	pump_finish(&p);
	(void)!write(r.in[1], "later", 5);
	(void)pump_loop(&p, EVER_MS);
	tap_ok(t, pump_done(&p), "finish: ends though a writer is left");
	tap_str(t, strbuf_str(&sink), "abc", "with what was there at that moment");
	strbuf_free(&sink);
	pump_free(&p);
	(void)close(r.in[1]);
	(void)close(r.out[0]);
	(void)close(r.out[1]);
}

/* A descriptor that is sent over a socket reaches nobody. */
static void test_sent_descriptor(struct tap *t)
{
	char ctl[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec iov = { (char[]){ 'x' }, 1 };
	struct msghdr m = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = ctl, .msg_controllen = sizeof(ctl)
	};
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);
	int sock[2], out[2], victim[2], first, second;
	struct pump p;
	char got = 0;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sock) != 0 ||
	    pipe2(out, O_CLOEXEC | O_NONBLOCK) != 0 || pipe2(victim, O_CLOEXEC) != 0)
		abort();
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &victim[1], sizeof(int));
	tap_int(t, sendmsg(sock[1], &m, 0), 1, "a descriptor is sent");
	first = dup(0);
	(void)close(first);
	pump_init_input(&p, out[1], sock[0], PUMP_FAR_SOCKET);
	(void)pump_move(&p);
	second = dup(0);
	(void)close(second);
	tap_int(t, second, first, "no descriptor has arrived");
	tap_int(t, read(out[0], &got, 1), 1, "the byte has");
	(void)close(victim[1]);
	tap_int(t, read(victim[0], &got, 1), 0, "and the kernel has closed it");
	pump_free(&p);
	(void)close(sock[0]);
	(void)close(sock[1]);
	(void)close(out[0]);
	(void)close(victim[0]);
}

/* A terminal whose reader is slow: no RWF_NOWAIT there, and room for less than a page. */
static void test_terminal(struct tap *t)
{
	int m = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
	long long worst, sum = 0;
	struct termios tio;
	char buf[16384];
	struct pump p;
	struct rig r;
	int tty;

	if (m < 0 || grantpt(m) != 0 || unlockpt(m) != 0 ||
	    (tty = open(ptsname(m), O_RDWR | O_NOCTTY | O_CLOEXEC)) < 0) {
		tap_skip(t, "terminal", "no pty here");
		return;
	}
	(void)tcgetattr(tty, &tio);
	cfmakeraw(&tio);
	(void)tcsetattr(tty, TCSANOW, &tio);
	rig_pipes(&r, false);
	(void)fcntl(r.in[0], F_SETFL, O_NONBLOCK);
	memset(buf, 'a', sizeof(buf));
	tap_int(t, write(r.in[1], buf, sizeof(buf)), sizeof(buf), "16 KiB for a terminal");
	(void)close(r.in[1]);
	pump_init_output(&p, "out", r.in[0], tty, PUMP_FAR_STREAM);
	p.guard = &r.guard;
	worst = pump_loop(&p, 300);
	tap_ok(t, worst < EVER_MS, "a terminal that is not read does not block (%lld ms)", worst);
	for (long long end = now_ms() + EVER_MS; now_ms() < end && sum < (long long)sizeof(buf);) {
		ssize_t got = read(m, buf, sizeof(buf));

		sum += got > 0 ? got : 0;
		(void)pump_loop(&p, 1);
	}
	tap_int(t, sum, sizeof(buf), "all of it arrives when it is read");
	pump_free(&p);
	pump_guard_free(&r.guard);
	(void)close(tty);
	(void)close(m);
	(void)close(r.out[0]);
	(void)close(r.out[1]);
}

int main(void)
{
	struct tap t = { 0 };

	(void)signal(SIGPIPE, SIG_IGN);
	test_copy(&t, "pipe, interrupted", PUMP_FAR_STREAM, false, true, 0, BIG);
	test_copy(&t, "pipe without RWF_NOWAIT, interrupted", PUMP_FAR_STREAM, true, true, 0, BIG);
	test_copy(&t, "socket, interrupted", PUMP_FAR_SOCKET, false, true, 0, BIG);
	test_copy(&t, "slow reader", PUMP_FAR_STREAM, false, false, 5000, 3000000);
	test_copy(&t, "slow reader, timer", PUMP_FAR_STREAM, true, false, 5000, 3000000);
	test_copy(&t, "nothing", PUMP_FAR_STREAM, false, false, 0, 0);
	test_input(&t, false);
	test_input(&t, true);
	test_closed_reader(&t);
	test_full(&t);
	test_never_blocks(&t, false);
	test_never_blocks(&t, true);
	test_terminal(&t);
	for (uint64_t n = 99999; n <= 100001; n++)
		test_limit(&t, 100000, n);
	test_limit(&t, 0, 1);
	test_limit(&t, 0, 0);
	test_finish(&t);
	test_sent_descriptor(&t);
	return tap_done(&t);
}
