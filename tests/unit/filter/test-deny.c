/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The second filter, the names, and what the kernel says of the programs: that it takes them, and
 * how long that takes. */
#include <errno.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bpf.h"
#include "filter/filter.h"
#include "tap.h"

#ifdef __x86_64__
#define NATIVE  0xc000003eU
#define FOREIGN 0x40000003U
#else
#define NATIVE  0xc00000b7U
#define FOREIGN 0x40000028U
#endif

static uint32_t ask(const struct filter_program *p, uint32_t arch, int nr, uint64_t arg)
{
	const struct seccomp_data d = { .nr = nr, .arch = arch, .args = { arg } };

	return bpf_run(p->code, p->n, &d);
}

static void test_names(struct tap *t)
{
	uint16_t nr = 0, before = 0;
	unsigned wrong = 0;
	const char *name;
	size_t n;

	tap_ok(t, filter_call_number("openat", &nr) && nr == SYS_openat, "openat is %d", nr);
	tap_ok(t, filter_call_number("bpf", &nr) && nr == SYS_bpf,
	       "bpf, never allowed, has a name");
	tap_ok(t, filter_call_number("mseal", &nr) && nr == 462,
	       "mseal, newer than many a library");
	tap_ok(t, !filter_call_number("opnat", &nr), "opnat is none");
	tap_ok(t, !filter_call_number("", &nr), "the empty name is none");
	tap_ok(t, !filter_call_number("open_by_handle_at ", &nr), "no blank at the end");
	for (n = 0; (name = filter_call_at(n, &nr)) != NULL; n++) {
		uint16_t again = 0;

		wrong += n > 0 && nr <= before;
		wrong += !filter_call_number(name, &again) || again != nr;
		wrong += filter_call_name(nr) == NULL || strcmp(filter_call_name(nr), name) != 0;
		before = nr;
	}
	tap_int(t, wrong, 0, "each name has one number, in order");
	tap_ok(t, n > 280 && n < 512, "%zu names", n);
	tap_ok(t, filter_call_name(511) == NULL, "no name for 511");
#ifdef __aarch64__
	tap_ok(t, filter_call_elsewhere("fork"), "fork is another architecture's");
#endif
	tap_ok(t, !filter_call_elsewhere("openat") && !filter_call_elsewhere("nonsense"),
	       "neither openat nor nonsense is another architecture's");
	tap_ok(t, filter_call_needed("execve") && filter_call_needed("exit_group"), "needed");
	tap_ok(t, !filter_call_needed("ptrace"), "not needed");
}

static void test_deny(struct tap *t)
{
	struct arena a = { .kind = ARENA_PLAN };
	const uint16_t numbers[] = { SYS_ptrace, SYS_kill, SYS_ptrace };
	uint16_t all[FILTER_DENY_MAX];
	struct filter_program p;
	unsigned wrong = 0;

	filter_deny(&a, numbers, 3, false, &p);
	for (int nr = 0; nr <= 600; nr++) {
		bool denied = nr == SYS_ptrace || nr == SYS_kill;

		wrong += ask(&p, NATIVE, nr, 0) !=
			 (denied ? (SECCOMP_RET_ERRNO | EPERM) : SECCOMP_RET_ALLOW);
	}
	tap_int(t, wrong, 0, "two numbers, one of them twice");
	tap_int(t, ask(&p, FOREIGN, SYS_read, 0), SECCOMP_RET_ERRNO | ENOSYS, "a foreign ABI");
	filter_deny(&a, NULL, 0, true, &p);
	tap_int(t, ask(&p, NATIVE, SYS_socket, AF_UNIX), SECCOMP_RET_ERRNO | EAFNOSUPPORT,
		"no unix: socket(AF_UNIX)");
	tap_int(t, ask(&p, NATIVE, SYS_socket, 0x700000000ULL | AF_UNIX),
		SECCOMP_RET_ERRNO | EAFNOSUPPORT, "no unix: high bits");
	tap_int(t, ask(&p, NATIVE, SYS_socket, AF_INET), SECCOMP_RET_ALLOW,
		"no unix: socket(AF_INET)");
	tap_int(t, ask(&p, NATIVE, SYS_socketpair, AF_UNIX), SECCOMP_RET_ALLOW,
		"no unix: socketpair(AF_UNIX)");
	for (uint16_t i = 0; i < FILTER_DENY_MAX; i++)
		all[i] = i;
	filter_deny(&a, all, FILTER_DENY_MAX, true, &p);
	wrong = 0;
	for (int nr = 0; nr < FILTER_DENY_MAX; nr++)
		wrong += ask(&p, NATIVE, nr, 0) != (SECCOMP_RET_ERRNO | EPERM);
	tap_int(t, wrong, 0, "as many as there may be");
	tap_int(t, ask(&p, NATIVE, FILTER_DENY_MAX, 0), SECCOMP_RET_ALLOW, "one above them");
	tap_ok(t, p.n <= 4096, "%u instructions, of 4096", p.n);
	arena_free(&a);
}

static double now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e6 + (double)ts.tv_nsec / 1e3;
}

static double load_us(const struct filter_program *p)
{
	const struct sock_fprog prog = { p->n, (struct sock_filter *)(uintptr_t)p->code };
	double start = now_us();

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
	    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog) != 0)
		return -1;
	return now_us() - start;
}

/* Each in a process of its own; the pipe brings the time back. */
static double load_in_child(const struct filter_program *p)
{
	double us = -1;
	int fds[2];
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC) != 0)
		return -1;
	pid = fork();
	if (pid == 0) {
		us = load_us(p);
		_exit(write(fds[1], &us, sizeof(us)) != sizeof(us) || prctl(PR_GET_SECCOMP) != 2);
	}
	close(fds[1]);
	if (read(fds[0], &us, sizeof(us)) != sizeof(us))
		us = -1;
	close(fds[0]);
	waitpid(pid, NULL, 0);
	return us;
}

static int double_cmp(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void test_load(struct tap *t)
{
	double times[21];
	struct filter_program p;
	unsigned count = 0, refused = 0;

	for (unsigned o = 0; o < FILTER_OPTIONS_END; o++) {
		if (!filter_base(o, &p))
			continue;
		count++;
		refused += load_in_child(&p) < 0;
	}
	tap_int(t, count, 48, "programs");
	tap_int(t, refused, 0, "the kernel takes them all");
	tap_ok(t, !filter_base(FILTER_OPTIONS_END, &p), "no program beyond the options");
	tap_ok(t, !filter_base(FILTER_IO_URING, &p), "no io_uring without setid_bits");
	tap_ok(t, filter_base(FILTER_DEFAULT, &p), "the default");
	for (size_t i = 0; i < 21; i++)
		times[i] = load_in_child(&p);
	qsort(times, 21, sizeof(times[0]), double_cmp);
	printf("# loading the default (%u instructions): %.0f us, median of 21\n", p.n, times[10]);
}

int main(void)
{
	struct tap t = { 0 };

	test_names(&t);
	test_deny(&t);
	test_load(&t);
	return tap_done(&t);
}
