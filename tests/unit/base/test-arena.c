/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/arena.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tap.h"

static bool is_zero(const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (p[i] != 0)
			return false;
	}
	return true;
}

static void test_alloc(struct tap *t)
{
	static const size_t sizes[] = {
		0, 1, 15, 16, 17, 4096, 65000, 65504, 65536, 70000, 10000000
	};
	struct arena a = { 0 };
	size_t unaligned = 0;
	size_t dirty = 0;
	char *last = NULL;

	for (int round = 0; round < 20; round++) {
		for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
			char *p = arena_alloc(&a, sizes[i]);

			unaligned += (uintptr_t)p % _Alignof(max_align_t) != 0;
			dirty += p == NULL || !is_zero(p, sizes[i]);
			memset(p, 0xee, sizes[i]);
			last = p;
		}
	}
	tap_int(t, (long long)unaligned, 0, "every piece is aligned");
	tap_int(t, (long long)dirty, 0, "every piece is zeroed and its own");
	tap_ok(t, last[9999999] == (char)0xee, "a big piece is there to its end");
	arena_free(&a);
	tap_ok(t, a.head == NULL, "freed is empty");
	arena_free(&a);
	tap_ok(t, arena_alloc(&a, 8) != NULL, "freed twice, and usable again");
	arena_free(&a);
}

static void test_text(struct tap *t)
{
	struct arena a = { 0 };
	char *s;

	tap_str(t, arena_strdup(&a, ""), "", "empty text");
	tap_str(t, arena_strdup(&a, "abc"), "abc", "text");
	tap_str(t, arena_strndup(&a, "abcdef", 3), "abc", "part of a text");
	tap_str(t, arena_strndup(&a, NULL, 0), "", "no part of no text");
	tap_str(t, arena_printf(&a, "%s/%d", "x", 7), "x/7", "formatted text");
	s = arena_printf(&a, "%0100000d", 0);
	tap_int(t, (long long)strlen(s), 100000, "formatted text beyond a chunk");
	arena_free(&a);
}

static void test_growing(struct tap *t)
{
	struct arena a = { 0 };
	ARRAY_OF(int) v = { 0 };
	size_t bad = 0;

	for (int i = 0; i < 5000; i++) {
		int *p = array_push(&a, &v);

		bad += *p != 0;
		*p = i;
	}
	for (int i = 0; i < 5000; i++)
		bad += v.v[i] != i;
	tap_int(t, (long long)v.n, 5000, "pushed elements are counted");
	tap_int(t, (long long)bad, 0, "new ones are zero, old ones move along");
	arena_free(&a);
}

/* The status of a child that reads one byte at @p. */
static int child_read(const volatile char *p)
{
	struct rlimit none = { 0, 0 };
	int status;
	pid_t pid = fork();

	if (pid < 0)
		abort();
	if (pid == 0) {
		(void)setrlimit(RLIMIT_CORE, &none);
		(void)signal(SIGSEGV, SIG_DFL);
		_exit(*p == 'x' ? 7 : 8);
	}
	if (waitpid(pid, &status, 0) != pid)
		abort();
	return status;
}

static bool is_fault(int status)
{
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV;
}

static void test_fork(struct tap *t)
{
	struct arena host = { .kind = ARENA_HOST };
	struct arena plan = { .kind = ARENA_PLAN };
	char *secret = arena_strdup(&host, "x");
	char *shared = arena_strdup(&plan, "x");
	char *big = arena_alloc(&host, 300000);
	char *big_plan = arena_alloc(&plan, 300000);
	int status;

	big[299999] = 'x';
	big_plan[299999] = 'x';
	tap_ok(t, is_fault(child_read(secret)), "a child has no ARENA_HOST memory");
	tap_ok(t, is_fault(child_read(big + 299999)), "not in a big chunk either");
	status = child_read(shared);
	tap_ok(t, WIFEXITED(status) && WEXITSTATUS(status) == 7, "it has ARENA_PLAN memory");
	status = child_read(big_plan + 299999);
	tap_ok(t, WIFEXITED(status) && WEXITSTATUS(status) == 7, "in a big chunk too");
	tap_ok(t, secret[0] == 'x' && big[299999] == 'x', "the parent keeps its own");
	tap_int(t, (long long)(struct arena){ 0 }.kind, ARENA_HOST, "zero is the strict kind");
	arena_free(&host);
	arena_free(&plan);
}

/* How a child ends that asks for more than there can be. */
static int child_overflow(bool array)
{
	struct rlimit none = { 0, 0 };
	int status;
	pid_t pid = fork();

	if (pid < 0)
		abort();
	if (pid == 0) {
		struct arena a = { 0 };

		(void)setrlimit(RLIMIT_CORE, &none);
		(void)signal(SIGABRT, SIG_DFL);
		if (array)
			(void)arena_array(&a, SIZE_MAX / 4, 8);
		else
			(void)arena_alloc(&a, SIZE_MAX - 7);
		_exit(0);
	}
	if (waitpid(pid, &status, 0) != pid)
		abort();
	return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

int main(void)
{
	struct tap t = { 0 };

	test_alloc(&t);
	test_text(&t);
	test_growing(&t);
	test_fork(&t);
	tap_int(&t, child_overflow(true), SIGABRT, "an array that overflows aborts");
	tap_int(&t, child_overflow(false), SIGABRT, "a size that overflows aborts");
	return tap_done(&t);
}
