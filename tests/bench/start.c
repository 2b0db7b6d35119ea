/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* start - how long one command takes from start to end, against bubblewrap and against nothing.
 *
 * Every row of the table is run once a round, in an order that is shuffled anew, after waiting
 * for a moment in which nothing else is runnable; medians over the rounds are compared. See
 * README.md here for the options and for what the numbers can and cannot say. */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/macro.h"

#define ROWS_MAX      8
#define ARGS_MAX      3200
#define MASKS_MAX     1000
#define ROUNDS_MAX    10000
#define QUIET_WAIT_MS 2000
#define JOBS_SECONDS  3

extern char **environ;

struct row {
	const char *name;
	const char *argv[ARGS_MAX];
	double *us;  /* one sample for each round */
	double must; /* ratio to the base row that is asked for; 0: none */
};

struct bench {
	struct row rows[ROWS_MAX];
	size_t n_rows;
	size_t base; /* the row that ratios are taken to */
	char *dir;
	const char *agentbox, *bwrap, *profile;
	long rounds, mounts, roots, masks, tree, jobs;
	bool control, egress;
	double most_ms; /* the last row may take so much longer than the base; 0: not asked */
	long noisy;     /* samples taken without a quiet moment before them */
};

_Noreturn static void die(const char *what)
{
	fprintf(stderr, "start: %s: %s\n", what, strerror(errno));
	exit(1);
}

static char *format(const char *fmt, ...) PRINTF_LIKE(1, 2);

static char *format(const char *fmt, ...)
{
	char *s;
	__builtin_va_list ap;

	__builtin_va_start(ap, fmt);
	if (vasprintf(&s, fmt, ap) < 0)
		abort();
	__builtin_va_end(ap);
	return s;
}

static double now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e6 + (double)ts.tv_nsec / 1e3;
}

static void sleep_us(long us)
{
	struct timespec ts = { .tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000 };

	(void)nanosleep(&ts, NULL);
}

/* The fourth field of /proc/loadavg is "runnable/all"; we are the one that is runnable. */
static void quiet_wait(struct bench *b)
{
	double until = now_us() + QUIET_WAIT_MS * 1e3;

	sleep_us(1000 + random() % 2000);
	while (now_us() < until) {
		FILE *f = fopen("/proc/loadavg", "re");
		int running = 0;

		if (f == NULL || fscanf(f, "%*s %*s %*s %d/", &running) != 1)
			running = 1;
		if (f != NULL)
			fclose(f);
		if (running <= 1)
			return;
		sleep_us(500);
	}
	b->noisy++;
}

static pid_t start(const struct row *r)
{
	posix_spawn_file_actions_t fa;
	pid_t pid;

	posix_spawn_file_actions_init(&fa);
	posix_spawn_file_actions_addopen(&fa, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&fa, 1, "/dev/null", O_WRONLY, 0);
	errno = posix_spawnp(&pid, r->argv[0], &fa, NULL, (char **)(uintptr_t)r->argv, environ);
	if (errno != 0)
		die(r->argv[0]);
	posix_spawn_file_actions_destroy(&fa);
	return pid;
}

static void finish(const struct row *r, int status)
{
	if (status == 0)
		return;
	fprintf(stderr, "start: %s: wait status %#x\n", r->name, status);
	exit(1);
}

static double sample(const struct row *r)
{
	double t = now_us();
	pid_t pid = start(r);
	int status;

	while (wait4(pid, &status, 0, NULL) < 0)
		if (errno != EINTR)
			die("wait4");
	t = now_us() - t;
	finish(r, status);
	return t;
}

static struct row *row_add(struct bench *b, const char *name, double must, const char *const *argv)
{
	struct row *r = &b->rows[b->n_rows++];
	size_t i;

	r->name = name;
	r->must = must;
	for (i = 0; argv[i] != NULL && i < ARGS_MAX - 1; i++)
		r->argv[i] = argv[i];
	r->us = calloc((size_t)b->rounds, sizeof(double));
	if (r->us == NULL)
		abort();
	return r;
}

static void row_add_bwrap(struct bench *b, const char *name)
{
	const char *argv[] = { b->bwrap, "--unshare-all", "--ro-bind", "/",    "/",
			       "--proc", "/proc",         "--dev",     "/dev", "--tmpfs",
			       "/tmp",   "true",          NULL };

	row_add(b, name, 0, argv);
}

static void row_add_agentbox_in(struct bench *b, const char *name, double must, const char *profile,
				const char *ws)
{
	const char *argv[] = { b->agentbox, "run",   "--state", format("%s/state", b->dir),
			       "-p",        profile, "-w",      format("%s/%s", b->dir, ws),
			       "--",        "true",  NULL };

	row_add(b, name, must, argv);
}

static void row_add_agentbox(struct bench *b, const char *name, double must, const char *profile)
{
	row_add_agentbox_in(b, name, must, profile, "ws");
}

static void file_make(const char *path, const char *text)
{
	FILE *f = fopen(path, "we");

	if (f == NULL || fputs(text, f) < 0 || fclose(f) != 0)
		die(path);
}

static void subdir_make(const char *path)
{
	if (mkdir(path, 0755) < 0)
		die(path);
}

/* A directory of names that are hidden by default, against the same files covered by bwrap. */
static void rows_masks(struct bench *b)
{
	const char *argv[ARGS_MAX] = { b->bwrap, "--unshare-all", "--ro-bind", "/",   "/",
				       "--proc", "/proc",         "--dev",     "/dev" };
	size_t n = 9;

	subdir_make(format("%s/masks", b->dir));
	for (long i = 0; i < b->masks; i++) {
		const char *path = format("%s/masks/.env.%ld", b->dir, i);

		file_make(path, "x\n");
		argv[n++] = "--ro-bind";
		argv[n++] = "/dev/null";
		argv[n++] = path;
	}
	argv[n] = "true";
	b->base = b->n_rows;
	row_add(b, format("bwrap, %ld masks", b->masks), 0, argv);
	row_add_agentbox_in(b, format("agentbox run, %ld masks", b->masks), 0.25, b->profile,
			    "masks");
}

/* A rule that asks for a walk of so many files, and the same root without it. */
static void rows_tree(struct bench *b)
{
	const char *profile = format("%s/tree.yaml", b->dir);

	subdir_make(format("%s/tree", b->dir));
	for (long i = 0; i < b->tree; i++) {
		if (i % 100 == 0)
			subdir_make(format("%s/tree/%ld", b->dir, i / 100));
		file_make(format("%s/tree/%ld/%ld", b->dir, i / 100, i), "");
	}
	file_make(profile,
		  "params: {workspace: {required: true}}\n"
		  "sandbox: {roots: [\"${workspace}\"]}\n"
		  "permissions:\n  agents:\n    me:\n      rules:\n"
		  "        - {operations: [read], paths: [\"${workspace}/**/*.key\"], mode: deny, "
		  "absent: report}\n"
		  "        - {operations: [read, write], paths: [\"/**\"], mode: allow}\n"
		  "        - {operations: [execute], commands: [\"*\"], mode: allow}\n");
	row_add_agentbox_in(b, format("agentbox run, %ld files", b->tree), 0, b->profile, "tree");
	row_add_agentbox_in(b, "and a glob over them", 0, profile, "tree");
}

/* The same sandbox, with no network and with one of names that it never uses. */
static void rows_egress(struct bench *b)
{
	static const struct {
		const char *name, *network;
	} rows[] = {
		{ "network: none", "none" },
		{ "network: {allow: [...]}",
		  "{allow: [\"example.org\", \"*.example.org:443\", \"git.example.org:22\"]}" },
	};

	b->base = b->n_rows;
	b->most_ms = 3;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const char *profile = format("%s/egress%zu.yaml", b->dir, i);

		file_make(profile, format("params: {workspace: {required: true}}\n"
					  "sandbox: {roots: [\"${workspace}\"], network: %s}\n"
					  "permissions: {agents: {me: allow}}\n",
					  rows[i].network));
		row_add_agentbox(b, rows[i].name, 0, profile);
	}
}

static const char *roots_profile(const struct bench *b)
{
	char *path = format("%s/roots.yaml", b->dir);
	FILE *f = fopen(path, "we");

	if (f == NULL)
		die(path);
	fputs("version: 1\nparams: {workspace: {required: true}}\nsandbox:\n  roots:\n"
	      "    - {path: \"${workspace}\", mode: rw}\n",
	      f);
	for (long i = 0; i < b->roots; i++) {
		char *dir = format("%s/root%ld", b->dir, i);

		if (mkdir(dir, 0755) < 0)
			die(dir);
		fprintf(f, "    - {path: \"%s\", mode: %s}\n", dir, i % 2 == 0 ? "rw" : "ro");
		free(dir);
	}
	fputs("permissions:\n  agents: {me: allow}\n", f);
	if (fclose(f) != 0)
		die(path);
	return path;
}

static void rows_make(struct bench *b)
{
	static const char *const plain[] = { "true", NULL };

	row_add(b, "fork + exec true", 0, plain);
	if (b->egress) {
		rows_egress(b);
		return;
	}
	b->base = b->n_rows;
	row_add_bwrap(b, "bwrap");
	if (b->control) {
		row_add_bwrap(b, "bwrap again (control)");
		return;
	}
	row_add_agentbox(b, "agentbox run",
			 b->masks > 0    ? 0
			 : b->mounts > 0 ? 0.20
					 : 0.90,
			 b->profile);
	if (b->roots > 0)
		row_add_agentbox(b, format("agentbox run, %ld roots", b->roots), 0,
				 roots_profile(b));
	if (b->masks > 0)
		rows_masks(b);
	if (b->tree > 0)
		rows_tree(b);
}

static void dir_make(struct bench *b)
{
	static const char *const names[] = { "ws", "state" };

	b->dir = format("/var/tmp/agentbox-bench.XXXXXX");
	if (mkdtemp(b->dir) == NULL)
		die(b->dir);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		char *path = format("%s/%s", b->dir, names[i]);

		if (mkdir(path, 0700) < 0)
			die(path);
		free(path);
	}
}

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	(void)st;
	(void)flag;
	(void)ftw;
	return remove(path);
}

static void dir_remove(const struct bench *b)
{
	if (nftw(b->dir, remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT) < 0)
		fprintf(stderr, "start: %s stays: %s\n", b->dir, strerror(errno));
}

static void write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		die(path);
	close(fd);
}

/* Own mount namespace with @n more mounts; an ordinary user gets a user namespace for it. */
static void mounts_make(const struct bench *b, long n)
{
	uid_t uid = geteuid();
	gid_t gid = getegid();
	char *at = format("%s/m", b->dir);

	if (unshare(uid == 0 ? CLONE_NEWNS : CLONE_NEWNS | CLONE_NEWUSER) < 0)
		die("unshare");
	if (uid != 0) {
		write_file("/proc/self/setgroups", "deny");
		write_file("/proc/self/uid_map", format("0 %u 1", uid));
		write_file("/proc/self/gid_map", format("0 %u 1", gid));
	}
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		die("private mounts");
	if (mkdir(at, 0755) < 0 || mount("tmpfs", at, "tmpfs", 0, "mode=755") < 0)
		die(at);
	for (long i = 0; i < n; i++) {
		char *path = format("%s/%ld", at, i);

		if (mkdir(path, 0755) < 0 || mount("tmpfs", path, "tmpfs", 0, "size=4k") < 0)
			die(path);
		free(path);
	}
	free(at);
}

static void shuffle(size_t *order, size_t n)
{
	for (size_t i = n; i > 1; i--) {
		size_t j = (size_t)random() % i;
		size_t t = order[i - 1];

		order[i - 1] = order[j];
		order[j] = t;
	}
}

static void rounds_run(struct bench *b)
{
	size_t order[ROWS_MAX];

	for (size_t i = 0; i < b->n_rows; i++) {
		order[i] = i;
		for (int warm = 0; warm < 3; warm++)
			(void)sample(&b->rows[i]);
	}
	for (long round = 0; round < b->rounds; round++) {
		shuffle(order, b->n_rows);
		for (size_t i = 0; i < b->n_rows; i++) {
			struct row *r = &b->rows[order[i]];

			quiet_wait(b);
			r->us[round] = sample(r);
		}
	}
}

static int compare(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static double quantile(const struct row *r, long n, double q)
{
	return r->us[(long)(q * (double)(n - 1) + 0.5)];
}

static void report(struct bench *b)
{
	double base, floor;

	for (size_t i = 0; i < b->n_rows; i++)
		qsort(b->rows[i].us, (size_t)b->rounds, sizeof(double), compare);
	base = quantile(&b->rows[b->base], b->rounds, 0.5);
	if (b->most_ms > 0) {
		double more = (quantile(&b->rows[b->n_rows - 1], b->rounds, 0.5) - base) / 1e3;

		printf("# %+.2f ms, must <= %+.2f: %s\n", more, b->most_ms,
		       more <= b->most_ms ? "met" : "MISSED");
	}
	floor = quantile(&b->rows[0], b->rounds, 0.5);
	printf("# %ld rounds, %ld more mounts, uid %u; %ld samples without a quiet moment\n",
	       b->rounds, b->mounts, geteuid(), b->noisy);
	printf("%-28s %10s %10s %10s %8s %18s\n", "", "median us", "p95 us", "min us", "x base",
	       "without fork+exec");
	for (size_t i = 0; i < b->n_rows; i++) {
		const struct row *r = &b->rows[i];
		double med = quantile(r, b->rounds, 0.5);

		printf("%-28s %10.0f %10.0f %10.0f %8.2f %18.2f", r->name, med,
		       quantile(r, b->rounds, 0.95), quantile(r, b->rounds, 0), med / base,
		       (med - floor) / (base - floor));
		if (r->must > 0)
			printf("  must <= %.2f: %s", r->must,
			       med / base <= r->must ? "met" : "MISSED");
		printf("\n");
	}
}

/* Runs for each second, with @jobs at a time. */
static double throughput(const struct row *r, long jobs)
{
	double t = now_us(), until = t + JOBS_SECONDS * 1e6;
	long running = 0, done = 0;
	int status;

	while (running > 0 || now_us() < until) {
		while (running < jobs && now_us() < until) {
			(void)start(r);
			running++;
		}
		if (running > 0 && wait4(-1, &status, 0, NULL) > 0) {
			finish(r, status);
			running--;
			done++;
		}
	}
	return (double)done / ((now_us() - t) / 1e6);
}

static void jobs_run(struct bench *b)
{
	double best[ROWS_MAX] = { 0 };

	for (int pass = 0; pass < 2; pass++)
		for (size_t i = 0; i < b->n_rows; i++) {
			double v = throughput(&b->rows[i], b->jobs);

			best[i] = v > best[i] ? v : best[i];
		}
	printf("# %ld at once, best of 2 x %d s\n%-28s %10s %8s\n", b->jobs, JOBS_SECONDS, "",
	       "runs/s", "x bwrap");
	for (size_t i = 0; i < b->n_rows; i++)
		printf("%-28s %10.0f %8.2f\n", b->rows[i].name, best[i], best[i] / best[b->base]);
}

static const struct {
	const char *name;
	size_t offset; /* of a long in struct bench */
	long max;
} numbers[] = {
	{ "--rounds", offsetof(struct bench, rounds), ROUNDS_MAX },
	{ "--mounts", offsetof(struct bench, mounts), 20000 },
	{ "--roots", offsetof(struct bench, roots), 256 },
	{ "--masks", offsetof(struct bench, masks), MASKS_MAX },
	{ "--tree", offsetof(struct bench, tree), 1000000 },
	{ "--jobs", offsetof(struct bench, jobs), 256 },
};

static bool option_number(struct bench *b, const char *name, const char *text)
{
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		if (strcmp(name, numbers[i].name) == 0) {
			long v = strtol(text, NULL, 10);

			*(long *)(void *)((char *)b + numbers[i].offset) = v;
			return v >= 0 && v <= numbers[i].max;
		}
	return false;
}

static bool options_parse(struct bench *b, int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		const char *next = i + 1 < argc ? argv[i + 1] : NULL;

		if (strcmp(argv[i], "--control") == 0) {
			b->control = true;
			continue;
		}
		if (strcmp(argv[i], "--egress") == 0) {
			b->egress = true;
			continue;
		}
		if (next == NULL)
			return false;
		if (strcmp(argv[i], "--agentbox") == 0)
			b->agentbox = next;
		else if (strcmp(argv[i], "--bwrap") == 0)
			b->bwrap = next;
		else if (strcmp(argv[i], "--profile") == 0)
			b->profile = next;
		else if (!option_number(b, argv[i], next))
			return false;
		i++;
	}
	return b->rounds > 0 && (b->control || (b->agentbox != NULL && b->profile != NULL));
}

/* In a process of its own: mounts and namespaces that it makes end with it, and what is left to
 * do is to remove an ordinary directory. */
static int measure(struct bench *b)
{
	pid_t pid = fork();
	int status;

	if (pid < 0)
		die("fork");
	if (pid == 0) {
		if (b->mounts > 0)
			mounts_make(b, b->mounts);
		rows_make(b);
		if (b->jobs > 0) {
			jobs_run(b);
		} else {
			rounds_run(b);
			report(b);
		}
		exit(0);
	}
	if (waitpid(pid, &status, 0) < 0)
		die("waitpid");
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

int main(int argc, char **argv)
{
	struct bench b = { .rounds = 150, .bwrap = "bwrap" };
	int r;

	if (!options_parse(&b, argc, argv)) {
		fputs("usage: start --agentbox BINARY --profile FILE | --control  [--bwrap BINARY] "
		      "[--rounds N] [--mounts N] [--roots N] [--jobs K]\n",
		      stderr);
		return 2;
	}
	srandom((unsigned)getpid());
	dir_make(&b);
	r = measure(&b);
	dir_remove(&b);
	return r;
}
