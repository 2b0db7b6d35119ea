/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Signals to the supervisor, its death, and what its child's memory holds. The supervisor is a
 * process of its own here: a fork of the test that calls run_plan(). */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "box.h"

/* What the supervisor tells, in memory shared with the test. */
struct tale {
	struct outcome o; /* without what it owns */
	int rc;
	bool returned;
	char output[256];
	volatile pid_t init;
};

static const int signals[] = { SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2 };

struct super {
	pid_t pid;
	struct tale *tale; /* shared mapping */
};

/* Needles: `sleep` is given 1000.<id of this test><number>, which the text of the script does not
 * hold, so that only the started command is found, and only one of this very test. */
struct needle {
	char buf[32];
};

static struct needle needle(int number)
{
	struct needle n;

	(void)snprintf(n.buf, sizeof(n.buf), "1000.%d%02d", (int)getpid(), number);
	return n;
}

struct opts {
	struct needle n;
	uint64_t timeout_ms;
	uint64_t grace_ms;
	int ignored; /* a signal that the caller ignores */
	bool die_with_caller;
};

static int plug_child(void *ctx, const struct run_child *child, struct err *err)
{
	struct tale *tale = ctx;

	(void)err;
	tale->init = child->pid;
	return 0;
}

/* @script: its $n is the number to sleep. */
static _Noreturn void super_main(struct tale *tale, const char *script, const struct opts *opts)
{
	const struct run_attachment plug = { .name = "child",
					     .ctx = tale,
					     .after_clone = plug_child };
	const struct run_attachment *list[] = { &plug };
	char text[512];
	struct outcome o;
	struct box b;

	(void)snprintf(text, sizeof(text), "a=%.4s; n=$a%s; %s", opts->n.buf, opts->n.buf + 4,
		       script);
	/* A test that is ended leaves nothing behind. */
	if (!opts->die_with_caller)
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	box_init(&b, text);
	b.plan.timeout_ms = opts->timeout_ms;
	b.plan.grace_ms = opts->grace_ms;
	b.opt.die_with_caller = opts->die_with_caller;
	/* The test may itself have been started with some of them ignored. */
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
		(void)signal(signals[i], signals[i] == opts->ignored ? SIG_IGN : SIG_DFL);
	(void)box_run(&b, list, 1, &o);
	tale->rc = outcome_rc(&o);
	(void)snprintf(tale->output, sizeof(tale->output), "%s", strbuf_str(&o.output[0]));
	tale->o = o;
	tale->returned = true;
	_exit(0);
}

static struct super super_start(const char *script, const struct opts *opts)
{
	struct super s;

	s.tale = mmap(NULL, sizeof(*s.tale), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (s.tale == MAP_FAILED)
		abort();
	fflush(stdout);
	s.pid = fork();
	if (s.pid == 0)
		super_main(s.tale, script, opts);
	return s;
}

/* Wait status of the supervisor, or -1 when it did not end in time. */
static int super_wait(const struct super *s)
{
	long long end = box_now_ms() + BOX_WAIT_MS;
	int status = -1;

	while (waitpid(s->pid, &status, WNOHANG) != s->pid) {
		if (box_now_ms() > end) {
			(void)kill(s->pid, SIGKILL);
			(void)waitpid(s->pid, &status, 0);
			return -1;
		}
		box_sleep_ms(5);
	}
	return status;
}

static void super_free(struct super *s)
{
	(void)munmap(s->tale, sizeof(*s->tale));
}

static void test_forward(struct tap *t)
{
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++) {
		struct opts opts = { .n = needle((int)i), .grace_ms = 5000 };
		char script[256];
		struct super s;
		int status;

		(void)snprintf(
			script, sizeof(script),
			"trap 'echo bye; exit 3' %d; sleep $n & while :; do sleep 0.03; done",
			signals[i]);
		s = super_start(script, &opts);
		(void)box_wait_there(opts.n.buf);
		(void)kill(s.pid, signals[i]);
		status = super_wait(&s);
		tap_ok(t, status == 0 && s.tale->returned, "signal %d: ends (%#x)", signals[i],
		       (unsigned)status);
		tap_int(t, s.tale->rc, 3, "forwarded: the command's own status");
		tap_ok(t, strstr(s.tale->output, "bye\n") != NULL, "and its last words");
		tap_int(t, s.tale->o.got_signal, i < 4 ? signals[i] : 0,
			"the outcome tells of it when it was meant to end us");
		super_free(&s);
	}
}

static void test_default_action(struct tap *t)
{
	struct opts opts = { .n = needle(11), .grace_ms = 5000 };
	struct super s = super_start("exec sleep $n", &opts);

	tap_ok(t, box_wait_there(opts.n.buf), "a command without a handler");
	(void)kill(s.pid, SIGINT);
	(void)super_wait(&s);
	tap_int(t, s.tale->rc, 128 + SIGINT, "dies of the signal, status 130");
	tap_ok(t, box_wait_gone(opts.n.buf), "nothing is left");
	super_free(&s);
}

static void test_grace(struct tap *t)
{
	struct opts opts = { .n = needle(12), .grace_ms = 300 };
	struct super s = super_start("trap '' TERM INT; while :; do sleep $n; done", &opts);
	long long began;

	tap_ok(t, box_wait_there(opts.n.buf), "a command that ignores TERM");
	/* Longer than the grace time: what the loop sleeps before the signal is no part of it. */
	box_sleep_ms(600);
	began = box_now_ms();
	(void)kill(s.pid, SIGTERM);
	(void)super_wait(&s);
	began = box_now_ms() - began;
	tap_ok(t, began >= 290, "killed after the grace time (%lld ms)", began);
	tap_int(t, s.tale->rc, 137, "status 137");
	tap_ok(t, !s.tale->o.has_exit && s.tale->o.limit == NULL, "by us, and by no limit");
	super_free(&s);

	opts.n = needle(13);
	opts.grace_ms = 60000;
	s = super_start("trap '' TERM INT; while :; do sleep $n; done", &opts);
	(void)box_wait_there(opts.n.buf);
	(void)kill(s.pid, SIGTERM);
	(void)kill(s.pid, SIGINT);
	tap_int(t, super_wait(&s), 0, "a second signal ends the grace time");
	tap_int(t, s.tale->rc, 137, "status 137");
	tap_ok(t, box_wait_gone(opts.n.buf), "nothing is left");
	super_free(&s);
}

static void test_ignored(struct tap *t)
{
	struct opts opts = { .n = needle(18), .grace_ms = 5000, .ignored = SIGHUP };
	struct super s =
		super_start("trap 'exit 4' USR1; sleep $n & while :; do sleep 0.03; done", &opts);

	(void)box_wait_there(opts.n.buf);
	(void)kill(s.pid, SIGHUP);
	(void)kill(s.pid, SIGUSR1);
	(void)super_wait(&s);
	tap_int(t, s.tale->rc, 4, "HUP under nohup stays ignored");
	super_free(&s);
}

/* Stopped for longer than the limit, and then continued; beside it one that is only continued. The
 * limit is far above what a start takes, the stop above the limit. */
static void test_stopped(struct tap *t)
{
	struct opts opts = { .n = needle(19), .timeout_ms = 4000, .grace_ms = 300 };
	struct opts other = { .n = needle(20), .timeout_ms = 4000, .grace_ms = 300 };
	struct super s = super_start("sleep $n & sleep 6; echo in time", &opts);
	struct super o = super_start("sleep $n & sleep 6; echo in time", &other);

	(void)box_wait_there(opts.n.buf);
	(void)kill(s.pid, SIGSTOP);
	(void)box_wait_there(other.n.buf);
	(void)kill(o.pid, SIGCONT);
	box_sleep_ms(5500);
	(void)kill(s.pid, SIGCONT);
	(void)super_wait(&s);
	tap_int(t, s.tale->rc, 0, "6 s, 5.5 s of them stopped: within a limit of 4 s");
	(void)super_wait(&o);
	tap_int(t, o.tale->rc, 124, "never stopped: over the limit");
	super_free(&s);
	super_free(&o);
}

static void test_init_killed(struct tap *t)
{
	struct opts opts = { .n = needle(14), .grace_ms = 300 };
	struct super s = super_start("sleep $n", &opts);

	(void)box_wait_there(opts.n.buf);
	(void)kill(s.tale->init, SIGKILL);
	(void)super_wait(&s);
	tap_int(t, s.tale->rc, 137, "init killed from outside: status 137");
	tap_ok(t, s.tale->o.started && !s.tale->o.has_exit && s.tale->o.err.set,
	       "and the outcome says so: %s", s.tale->o.err.msg);
	tap_ok(t, box_wait_gone(opts.n.buf), "nothing is left");
	super_free(&s);
}

/* How many children, adopted ones too, are still there after a while; all are ended. Init cannot
 * be found by its arguments: it has none in its memory. */
static int children_left(void)
{
	long long end = box_now_ms() + BOX_WAIT_MS;
	int left = 0;
	pid_t pid;

	while ((pid = waitpid(-1, NULL, WNOHANG)) >= 0 && box_now_ms() < end)
		if (pid == 0)
			box_sleep_ms(5);
	while ((pid = waitpid(-1, NULL, WNOHANG)) >= 0) {
		char path[64], list[256] = "";
		FD_AUTO fd = -1;

		left += pid == 0;
		(void)snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0 || read(fd, list, sizeof(list) - 1) <= 0)
			break;
		(void)kill(atoi(list), SIGKILL);
		(void)waitpid(atoi(list), NULL, 0);
	}
	return left;
}

/* SIGKILL to the supervisor at any moment: nothing stays. */
static void test_supervisor_killed(struct tap *t, int rounds)
{
	struct opts opts = { .n = needle(15), .grace_ms = 300 };
	unsigned seed = 1;

	/* Orphans become ours, so that none can hide. */
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1);
	for (int i = 0; i < rounds; i++) {
		struct super s = super_start("setsid sleep $n & sleep $n", &opts);

		seed = seed * 1103515245U + 12345;
		usleep((seed >> 8) % 12000);
		(void)kill(s.pid, SIGKILL);
		(void)super_wait(&s);
		super_free(&s);
	}
	tap_int(t, children_left(), 0, "supervisor killed at random moments: no child is left");
	tap_ok(t, box_wait_gone(opts.n.buf), "and no command");
	(void)prctl(PR_SET_CHILD_SUBREAPER, 0);
}

static void test_die_with_caller(struct tap *t)
{
	struct opts opts = { .n = needle(16), .grace_ms = 300, .die_with_caller = true };
	pid_t caller;

	fflush(stdout);
	caller = fork();
	if (caller == 0) {
		(void)super_start("sleep $n", &opts);
		for (;;)
			pause();
	}
	tap_ok(t, box_wait_there(opts.n.buf), "runs while its caller lives");
	(void)kill(caller, SIGKILL);
	(void)waitpid(caller, NULL, 0);
	tap_ok(t, box_wait_gone(opts.n.buf), "and ends with it");
}

/* --- memory --- */

/* Built at run time, so that the program's own text does not hold it whole. */
static void marker_make(char *buf, size_t size, const char *word)
{
	(void)snprintf(buf, size, "%s-%s-%s", "MARKER", word, "of-the-host");
}

static bool memory_has(pid_t pid, const char *needle)
{
	static char buf[1024 * 1024];
	char path[64], line[512];
	bool found = false;
	FILE *maps;

	(void)snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);

	FD_AUTO mem = open(path, O_RDONLY | O_CLOEXEC);

	(void)snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	maps = fopen(path, "re");
	while (!found && maps != NULL && fgets(line, sizeof(line), maps) != NULL) {
		unsigned long from, to;

		if (sscanf(line, "%lx-%lx", &from, &to) != 2)
			continue;
		for (; from < to && !found; from += sizeof(buf) / 2) {
			size_t want = to - from < sizeof(buf) ? to - from : sizeof(buf);
			ssize_t n = pread(mem, buf, want, (off_t)from);

			found = n > 0 && memmem(buf, (size_t)n, needle, strlen(needle)) != NULL;
		}
	}
	if (maps != NULL)
		fclose(maps);
	return found && mem >= 0;
}

static bool maps_has(pid_t pid, const char *word)
{
	char path[64], line[512];
	bool found = false;
	FILE *maps;

	(void)snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	maps = fopen(path, "re");
	while (maps != NULL && fgets(line, sizeof(line), maps) != NULL)
		found = found || strstr(line, word) != NULL;
	if (maps != NULL)
		fclose(maps);
	return found;
}

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

static _Noreturn void memory_super(struct tale *tale, const struct opts *opts)
{
	struct arena host = { .kind = ARENA_HOST };
	char text[64], frame[64];
	char *heap, *block;

	marker_make(text, sizeof(text), "environment");
	(void)setenv("AGENTBOX_TEST", text, 1);
	marker_make(text, sizeof(text), "heap");
	heap = strdup(text);
	/* As the program does at its start: blocks of any size come from the break. */
	(void)mallopt(M_MMAP_MAX, 0);
	block = calloc(1, 1024 * 1024);
	if (block == NULL)
		abort();
	marker_make(block + 500000, 64, "block");
	marker_make(text, sizeof(text), "arena");
	(void)arena_strdup(&host, text);
	marker_make(frame, sizeof(frame), "stack");
	explicit_bzero(text, sizeof(text));
	__asm__ volatile("" : : "r"(heap), "r"(block), "r"(frame) : "memory");
	super_main(tale, "MARK=plan; sleep $n", opts);
}

static void test_memory(struct tap *t, char **argv)
{
	static const char *const words[] = { "environment", "heap", "block", "arena", "stack" };
	struct opts opts = { .n = needle(17), .grace_ms = 300 };
	struct super s;
	char marker[64];

	if (geteuid() != 0 || SANITIZED) {
		/* By nature: a sanitizer keeps everything mapped, and memory is root's to read. */
		printf("# memory of init: not with a sanitizer, and only by root\n");
		return;
	}
	s.tale = mmap(NULL, sizeof(*s.tale), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (s.tale == MAP_FAILED)
		abort();
	fflush(stdout);
	s.pid = fork();
	if (s.pid == 0)
		memory_super(s.tale, &opts);
	if (!tap_ok(t, box_wait_there(opts.n.buf), "a run to look into")) {
		(void)kill(s.pid, SIGKILL);
		(void)waitpid(s.pid, NULL, 0);
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		marker_make(marker, sizeof(marker), words[i]);
		tap_ok(t, memory_has(s.pid, marker), "%s: in the supervisor", words[i]);
		tap_ok(t, !memory_has(s.tale->init, marker), "%s: not in init", words[i]);
	}
	tap_ok(t, memory_has(s.tale->init, "MARK=plan; sleep"), "control: the plan is in init");
	tap_ok(t, memory_has(s.pid, argv[0]), "argv: in the supervisor");
	tap_ok(t, !memory_has(s.tale->init, argv[0]) || strlen(argv[0]) < 8, "argv: not in init");
	tap_ok(t, maps_has(s.pid, "[stack]") && !maps_has(s.tale->init, "[stack]"),
	       "init has no main stack");
	tap_ok(t, maps_has(s.pid, "[heap]") && !maps_has(s.tale->init, "[heap]"),
	       "init has no heap");
	(void)kill(s.pid, SIGKILL);
	(void)waitpid(s.pid, NULL, 0);
	tap_ok(t, box_wait_gone(opts.n.buf), "nothing is left");
	super_free(&s);
}

int main(int argc, char **argv)
{
	struct tap t = { 0 };

	(void)argc;
	if (!box_usable(&t))
		return tap_done(&t);
	test_forward(&t);
	test_default_action(&t);
	test_grace(&t);
	test_ignored(&t);
	test_stopped(&t);
	test_init_killed(&t);
	test_supervisor_killed(&t, 100);
	test_die_with_caller(&t);
	test_memory(&t, argv);
	return tap_done(&t);
}
