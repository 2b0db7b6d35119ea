/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The process that makes the namespaces, killed at any moment: the supervisor is told, waits for
 * nothing that will not come, and keeps neither a process nor a descriptor. */
#include "run/namespaces.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tap.h"

#define STACK_SIZE 65536
#if defined(__SANITIZE_ADDRESS__)
#define ROUNDS 400
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ROUNDS 400
#endif
#endif
#ifndef ROUNDS
#define ROUNDS 2000
#endif

/* Copied into the child with the rest of the memory. */
__attribute__((no_sanitize("address", "undefined"))) static void child_main_of_test(void *arg)
{
	(void)arg;
	for (;;)
		(void)pause();
}

/* The children of this process, in the order of their making. Return: how many. */
static int children(pid_t pids[2])
{
	char path[64], text[256] = "", *at = text;
	int fd, n = 0;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && read(fd, text, sizeof(text) - 1) < 0)
		text[0] = '\0';
	close(fd);
	while (n < 2 && *at != '\0' && (pids[n] = (pid_t)strtol(at, &at, 10)) > 0)
		n++;
	return n;
}

static void kill_maker(void)
{
	pid_t pids[2] = { 0 };

	if (children(pids) > 0)
		(void)kill(pids[0], SIGKILL);
}

/* Until it has ended or gone to sleep: what it does before it waits for an order. */
static void let_it_run(void)
{
	const struct timespec wait = { .tv_nsec = 20000000 };

	nanosleep(&wait, NULL);
}

enum when { NEVER, BEFORE_GO, BEFORE_NETWORK, ANY_TIME };

struct result {
	pid_t child;
	int finished;
	int net;
	bool own; /* net is a network namespace, and not ours */
	struct err err;
};

static bool is_another(int net)
{
	struct stat ours, theirs;

	return net >= 0 && stat("/proc/self/ns/net", &ours) == 0 && fstat(net, &theirs) == 0 &&
	       ours.st_ino != theirs.st_ino;
}

/* In another process, which may be stopped for a while like any other. */
static pid_t kill_later(long ns)
{
	pid_t pids[2] = { 0 }, pid;

	if (children(pids) == 0)
		return 0;
	pid = fork();
	if (pid == 0) {
		struct timespec now, until;

		clock_gettime(CLOCK_MONOTONIC, &now);
		until = now;
		until.tv_nsec += ns;
		do
			clock_gettime(CLOCK_MONOTONIC, &now);
		while ((now.tv_sec - until.tv_sec) * 1000000000L + now.tv_nsec < until.tv_nsec);
		(void)kill(pids[0], SIGKILL);
		_exit(0);
	}
	return pid;
}

static void make(enum run_network network, const struct plan *plan, enum when when, void *stack,
		 struct result *ret)
{
	struct run_namespaces *n = run_namespaces_begin(network);
	const struct clone_args args = { .flags = CLONE_CLEAR_SIGHAND,
					 .stack = (uint64_t)(uintptr_t)stack,
					 .stack_size = STACK_SIZE };
	pid_t killer = when == ANY_TIME ? kill_later(random() % 2500000) : 0;

	*ret = (struct result){ .net = -1, .finished = -1 };
	if (when == BEFORE_GO) {
		let_it_run();
		kill_maker();
		let_it_run();
	}
	ret->child = run_namespaces_clone(n, plan, &args, child_main_of_test, NULL, &ret->err);
	if (when == BEFORE_NETWORK)
		kill_maker();
	if (ret->child > 0)
		ret->finished = run_namespaces_finish(n, &ret->net, &ret->err);
	ret->own = is_another(ret->net);
	if (ret->child > 0) {
		(void)kill(ret->child, SIGKILL);
		(void)waitpid(ret->child, NULL, 0);
	}
	run_namespaces_close(n);
	if (killer > 0)
		(void)waitpid(killer, NULL, 0);
}

/* Return: whether there was nothing. */
static bool nothing_left(int lowest, bool killed)
{
	pid_t pids[2];
	int fd;

	if (killed)
		(void)close_range((unsigned)lowest, ~0U, 0);
	fd = dup(0);
	close(fd);
	return children(pids) == 0 && fd == lowest;
}

static void test_ends(struct tap *t, void *stack, int lowest)
{
	static const struct plan own = { 0 }, host = { .host_network = true },
				 named = { .net = { .named = true } };
	static const struct {
		const char *what;
		enum run_network network;
		const struct plan *plan;
		enum when when;
		bool cloned, finished, net;
	} rows[] = {
		{ "a network of its own", RUN_NETWORK_OWN, &own, NEVER, true, true, true },
		{ "killed before the clone", RUN_NETWORK_OWN, &own, BEFORE_GO, false, false,
		  false },
		{ "killed before the network", RUN_NETWORK_OWN, &own, BEFORE_NETWORK, true, false,
		  false },
		{ "the host's", RUN_NETWORK_HOST, &host, NEVER, true, true, false },
		{ "the host's, killed before the clone", RUN_NETWORK_HOST, &host, BEFORE_GO, false,
		  false, false },
		{ "one of names", RUN_NETWORK_NAMED, &named, NEVER, true, true, false },
		{ "the plan's is another", RUN_NETWORK_HOST, &own, NEVER, false, false, false },
		{ "the plan has names", RUN_NETWORK_OWN, &named, NEVER, false, false, false },
	};
	struct result r;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		make(rows[i].network, rows[i].plan, rows[i].when, stack, &r);
		if (!tap_ok(t,
			    (r.child > 0) == rows[i].cloned &&
				    (r.finished == 0) == rows[i].finished && r.own == rows[i].net &&
				    (r.net >= 0) == rows[i].net &&
				    (r.finished == 0 || r.err.msg[0] != '\0'),
			    "%s", rows[i].what))
			printf("# child %d, finished %d, net %d: %s\n", (int)r.child, r.finished,
			       r.net, r.err.msg);
		tap_ok(t, nothing_left(lowest, false), "%s: nothing is left", rows[i].what);
	}
}

static void test_any_time(struct tap *t, void *stack, int lowest)
{
	static const struct plan own = { 0 };
	unsigned whole = 0, cloned = 0, wrong = 0;
	struct result r;

	for (int i = 0; i < ROUNDS; i++) {
		make(RUN_NETWORK_OWN, &own, ANY_TIME, stack, &r);
		whole += r.finished == 0;
		cloned += r.finished != 0 && r.child > 0;
		wrong += (r.finished == 0) != r.own || (r.finished != 0 && r.err.msg[0] == '\0') ||
			 !nothing_left(lowest, r.finished != 0);
	}
	tap_int(t, wrong, 0, "killed at any time: an error or a network, and nothing is left");
	printf("# of %d: %u whole, %u ended between the clone and the network\n", ROUNDS, whole,
	       cloned);
}

int main(void)
{
	struct tap t = { 0 };
	struct result r;
	static const struct plan own = { 0 };
	int lowest = dup(0);
	void *stack =
		mmap(NULL, STACK_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	close(lowest);
	if (stack == MAP_FAILED)
		abort();
	/* A wait without end is a failure, not a test that is stopped from outside. */
	alarm(280);
	make(RUN_NETWORK_OWN, &own, NEVER, stack, &r);
	if (r.child < 0) {
		tap_skip(&t, "namespaces", r.err.msg);
		return tap_done(&t);
	}
	test_ends(&t, stack, lowest);
	test_any_time(&t, stack, lowest);
	return tap_done(&t);
}
