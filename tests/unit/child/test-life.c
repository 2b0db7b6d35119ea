/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* From the first token to the last process: orders, ends, signals, the death of the supervisor.
 * Usage: test-life root|user|userns */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "box.h"
#include "sys/process.h"
#include "tap.h"

#define MARK "echo ran > /work/marker; "

static void test_status(struct tap *t, enum box_caller caller)
{
	static const struct {
		const char *script;
		int status; /* of wait(2) */
	} rows[] = {
		{ "exit 0", 0 },
		{ "exit 255", 255 << 8 },
		{ "kill -9 $$", SIGKILL },
		{ "kill -TERM $$", SIGTERM },
		/* Signals that the supervisor may have ignored are at their default again. */
		{ "kill -PIPE $$", SIGPIPE },
		/* An orphan that ends first is not taken for the command. */
		{ "(sleep 0 & exit 3); sleep 0.1; exit 4", 4 << 8 },
		/* A daemon does not hold the end up. */
		{ "setsid sleep 1000 & exit 5", 5 << 8 },
	};
	struct box *b;

	b = box_new(caller);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		box_sh(b, rows[i].script);
		box_run(b);
		tap_ok(t,
		       b->r.exec && b->r.exited.kind == CHILD_REPORT_EXITED &&
			       b->r.exited.status == rows[i].status && b->r.init_status == 0,
		       "'%s' ends as %#x", rows[i].script, rows[i].status);
	}
	box_free(b);
}

static void test_noexec(struct tap *t, enum box_caller caller)
{
	static const struct {
		const char *exe;
		int errnum;
	} rows[] = {
		{ "/usr/bin/absent", ENOENT },
		{ "/work/plain", EACCES },
		{ "/usr", EACCES },
		{ "/work/garbage", ENOEXEC },
	};
	struct box *b;

	b = box_new(caller);
	box_put(box_path(b, "work/plain"), "#!/usr/bin/sh\necho ran\n");
	box_put(box_path(b, "work/garbage"), "garbage");
	(void)!chmod(box_path(b, "work/garbage"), 0755);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		box_sh(b, "true");
		b->plan.exe = rows[i].exe;
		box_run(b);
		tap_ok(t,
		       b->r.ready && !b->r.exec && b->r.noexec.errnum == rows[i].errnum &&
			       b->r.exited.kind == 0 && b->r.failed.kind == 0,
		       "%s: %s", rows[i].exe, strerror(rows[i].errnum));
	}
	box_free(b);
}

static void test_tokens(struct tap *t, enum box_caller caller)
{
	static const struct child_order wrong = { .kind = 1 }, ids = { CHILD_ORDER_IDS_WRITTEN, 0 },
					with_arg = { CHILD_ORDER_START, 1 },
					twice[2] = { { CHILD_ORDER_START, 0 }, { 0, 0 } },
					zero = { 0 };
	static const struct {
		const char *name;
		bool at_start; /* else at IDS_WRITTEN */
		struct box_packet packet;
		int errnum;
	} rows[] = {
		{ "ids: end of file", false, { NULL, 0, true }, ECANCELED },
		{ "ids: wrong", false, { &wrong, sizeof(wrong), true }, EPROTO },
		{ "ids: short", false, { &ids, 4, true }, EPROTO },
		{ "start: end of file", true, { NULL, 0, true }, ECANCELED },
		{ "start: zero", true, { &zero, sizeof(zero), true }, EPROTO },
		{ "start: the other token", true, { &ids, sizeof(ids), true }, EPROTO },
		{ "start: with an argument", true, { &with_arg, sizeof(with_arg), true }, EPROTO },
		{ "start: short", true, { twice, 7, true }, EPROTO },
		{ "start: long", true, { twice, 9, true }, EPROTO },
		{ "start: two in one", true, { twice, sizeof(twice), true }, EPROTO },
		{ "start: right", true, { twice, sizeof(twice[0]), true }, 0 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct box *b;
		bool ran;

		b = box_new(caller);
		box_sh(b, MARK);
		*(rows[i].at_start ? &b->start_token : &b->ids_token) = rows[i].packet;
		box_run(b);
		ran = box_exists(box_path(b, "work/marker"));
		tap_ok(t,
		       ran == (rows[i].errnum == 0) && b->r.failed.errnum == rows[i].errnum &&
			       b->r.ready == rows[i].at_start && b->r.exec == ran,
		       "%s: %s", rows[i].name, ran ? "runs" : "nothing runs");
		box_free(b);
	}
}

static void send_order(struct box *b, uint32_t kind, uint32_t arg)
{
	const struct child_order order = { kind, arg };

	(void)!send(b->control, &order, sizeof(order), MSG_NOSIGNAL);
}

static void order_term(struct box *b)
{
	send_order(b, CHILD_ORDER_SIGNAL, SIGTERM);
}

/* Once the command says that it is ready for it; a minute is for ever. */
static void order_term_when_up(struct box *b)
{
	const struct timespec wait = { .tv_nsec = 10000000 };

	for (int i = 0; i < 6000 && !box_exists(box_path(b, "work/up")); i++)
		nanosleep(&wait, NULL);
	order_term(b);
}

static void order_zero(struct box *b)
{
	send_order(b, CHILD_ORDER_SIGNAL, 0);
}

static void order_past(struct box *b)
{
	send_order(b, CHILD_ORDER_SIGNAL, 65);
}

static void order_start(struct box *b)
{
	send_order(b, CHILD_ORDER_START, 0);
}

static void order_end(struct box *b)
{
	shutdown(b->control, SHUT_WR);
}

static void test_orders(struct tap *t, enum box_caller caller)
{
	static const struct {
		const char *name;
		void (*running)(struct box *b);
	} ends[] = {
		{ "signal 0", order_zero },
		{ "signal 65", order_past },
		{ "start again", order_start },
		{ "end of file", order_end },
	};
	struct box *b;

	b = box_new(caller);
	b->running = order_term;
	box_sh(b, "sleep 1000");
	box_run(b);
	tap_int(t, b->r.exited.status, SIGTERM, "TERM reaches the command");
	b->running = order_term_when_up;
	box_sh(b, "trap 'echo caught; exit 9' TERM; : >/work/up; sleep 1000 & wait");
	box_run(b);
	tap_int(t, b->r.exited.status, 9 << 8, "a handler may answer");
	tap_str(t, b->r.out, "caught\n", "and its output arrives");
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		b->running = ends[i].running;
		box_sh(b, "trap '' TERM HUP INT; sleep 1000; " MARK);
		box_run(b);
		tap_ok(t,
		       b->r.exec && b->r.exited.kind == 0 && b->r.init_status == 125 << 8 &&
			       !box_exists(box_path(b, "work/marker")),
		       "%s: init ends, and everything with it", ends[i].name);
	}
	box_free(b);
}

static void tell_running(struct box *b)
{
	(void)b;
	(void)!write(STDERR_FILENO, "r", 1);
}

static void stop_here(struct box *b)
{
	tell_running(b);
	pause();
}

/* Everything below a supervisor that is killed must be gone: each of them holds the pipe. */
static void test_death(struct tap *t, enum box_caller caller)
{
	static const char *const names[] = { "before the id maps", "before the start token",
					     "while it runs" };

	for (int late = 0; late < 3; late++) {
		int hold[2];
		char c = 0;
		struct pollfd p;
		pid_t pid;
		struct box *b;

		b = box_new(caller);
		(void)!pipe2(hold, O_CLOEXEC);
		fflush(stdout);
		pid = fork();
		if (pid == 0) {

			/* The pipe is the sandbox's stderr too. */
			dup2(hold[1], STDERR_FILENO);
			b->stdio[2] = STDERR_FILENO;
			*(late == 0   ? &b->after_clone
			  : late == 1 ? &b->before_start
				      : &b->running) = stop_here;
			box_sh(b, "trap '' TERM HUP; (setsid sleep 1000 &); sleep 1000");
			box_run(b);
			_exit(1);
		}
		close(hold[1]);
		tap_ok(t, read(hold[0], &c, 1) == 1 && c == 'r', "%s: got there", names[late]);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		p = (struct pollfd){ .fd = hold[0], .events = POLLIN };
		tap_ok(t, poll(&p, 1, 10000) == 1 && read(hold[0], &c, 1) == 0,
		       "%s: nothing survives the supervisor", names[late]);
		close(hold[0]);
		box_free(b);
	}
}

/* Every permutation of overlapping numbers, and the control socket among them. */
static void test_numbers(struct tap *t, enum box_caller caller)
{
	static const struct {
		int stdio[3];
		int control;
	} rows[] = {
		{ { 41, 42, 43 }, -1 }, { { 4, 3, 2 }, 0 }, { { 2, 0, 1 }, 3 },
		{ { 1, 2, 0 }, 4 },     { { 3, 4, 1 }, 2 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		pid_t pid;
		int status;

		fflush(stdout);
		pid = fork();
		if (pid == 0) {
			struct box *b;
			int in[2], out[2], err[2];
			char text[3][16] = { "", "", "" };

			b = box_new(caller);
			/* High numbers first, then the ones to try. */
			for (int fd = 0; fd < 60; fd++)
				close(fd);
			for (int fd = 0; fd < 60; fd++)
				(void)!open("/dev/null", O_RDWR | O_CLOEXEC);
			(void)!(pipe2(in, O_CLOEXEC) | pipe2(out, O_CLOEXEC) |
				pipe2(err, O_CLOEXEC));
			for (int fd = 0; fd < 50; fd++)
				close(fd);
			dup3(in[0], rows[i].stdio[0], O_CLOEXEC);
			dup3(out[1], rows[i].stdio[1], O_CLOEXEC);
			dup3(err[1], rows[i].stdio[2], O_CLOEXEC);
			for (int k = 0; k < 3; k++)
				b->stdio[k] = rows[i].stdio[k];
			b->control_at = rows[i].control;
			/* What box_run opens must not take the number. */
			for (int fd = 0; fd < 50; fd++)
				if (fd != rows[i].stdio[0] && fd != rows[i].stdio[1] &&
				    fd != rows[i].stdio[2] && fcntl(fd, F_GETFD) < 0)
					(void)!dup3(in[1], fd, O_CLOEXEC);
			(void)!write(in[1], "in\n", 3);
			box_sh(b, "read x; echo out-$x; echo err-$x >&2; ls /proc/self/fd | wc -l");
			box_run(b);
			(void)!read(out[0], text[1], sizeof(text[1]) - 1);
			(void)!read(err[0], text[2], sizeof(text[2]) - 1);
			box_free(b);
			_exit(strcmp(text[1], "out-in\n4\n") != 0 ||
			      strcmp(text[2], "err-in\n") != 0);
		}
		waitpid(pid, &status, 0);
		tap_int(t, status, 0, "descriptors arrive whatever their numbers were");
	}
}

/* Dispositions and mask of the supervisor's own caller must not matter. */
static void test_signals_reset(struct tap *t, enum box_caller caller)
{
	struct box *b;

	b = box_new(caller);
	signal(SIGINT, SIG_IGN);
	signal(SIGUSR1, SIG_IGN);
	signal(SIGCHLD, SIG_IGN);
	box_sh(b, "cat /proc/self/status | grep -E 'SigIgn|SigBlk|SigCgt' | grep -vc "
		  "0000000000000000");
	box_run(b);
	signal(SIGINT, SIG_DFL);
	signal(SIGUSR1, SIG_DFL);
	signal(SIGCHLD, SIG_DFL);
	tap_str(t, b->r.out, "0\n", "nothing ignored, blocked or caught");
	tap_int(t, b->r.exited.status, 1 << 8, "init waits although its parent ignores SIGCHLD");
	box_free(b);
}

static int by_size(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static void test_time(struct tap *t, enum box_caller caller)
{
	uint64_t us[51];
	struct box *b;

	b = box_new(caller);
	box_sh(b, "true");
	for (size_t i = 0; i < sizeof(us) / sizeof(us[0]); i++) {
		b->plan.exe = "/usr/bin/true";
		box_run(b);
		us[i] = b->r.exec_us;
	}
	qsort(us, sizeof(us) / sizeof(us[0]), sizeof(us[0]), by_size);
	tap_ok(t, us[25] > 0 && us[25] < 1000000, "starts");
	printf("# clone to exec: median %llu us, p95 %llu us\n", (unsigned long long)us[25],
	       (unsigned long long)us[48]);
	box_free(b);
}

int main(int argc, char **argv)
{
	static const box_test tests[] = {
		test_status, test_noexec,  test_tokens,        test_orders,
		test_death,  test_numbers, test_signals_reset, test_time,
	};

	return box_main(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
