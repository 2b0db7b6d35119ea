/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which files are written for which limits, and which one is told of when it fails: plain files.
 * What a kernel makes of them is in tests/vm. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "run/cgroup-limits.h"
#include "tap.h"

static const char *const files[] = { "memory.max", "memory.swap.max", "memory.oom.group",
				     "pids.max",   "cpu.max",         "cgroup.max.descendants" };

static const struct run_cgroup_limits all = { .memory = 1048576,
					      .processes = 20,
					      .cpus_milli = 250 };

/* In every file after it, for the limits of @want. */
static const struct set {
	const char *what;
	struct run_cgroup_limits want;
	const char *texts[ARRAY_SIZE(files)];
} sets[] = {
	{ "all", { 1048576, 20, 250, false }, { "1048576", "0", "1", "20", "25000 100000", "1" } },
	{ "memory", { .memory = UINT64_MAX }, { "18446744073709551615", "0", "1", "", "", "1" } },
	{ "processes", { .processes = 1 }, { "", "", "", "1", "", "1" } },
	{ "cpus", { .cpus_milli = 1 }, { "", "", "", "", "100 100000", "1" } },
	{ "none", { 0 }, { "", "", "", "", "", "1" } },
};

/* A file that is not there, or in which another text is read than was written. */
static const struct failure {
	const char *file;
	const char *link; /* it is a link there; NULL: it is not there at all */
	int r;
} failures[] = {
	{ "memory.max", NULL, -ENOENT },
	{ "memory.swap.max", NULL, 0 },
	{ "memory.oom.group", NULL, -ENOENT },
	{ "pids.max", NULL, -ENOENT },
	{ "cpu.max", NULL, -ENOENT },
	{ "cgroup.max.descendants", NULL, -ENOENT },
	{ "memory.max", "/dev/null", -EIO },
	{ "memory.swap.max", "/dev/null", -EIO },
	{ "memory.oom.group", "/dev/null", -EIO },
	{ "pids.max", "/dev/null", -EIO },
	{ "cpu.max", "/dev/null", -EIO },
	{ "cgroup.max.descendants", "/dev/null", -EIO },
	{ "memory.swap.max", "/dev/full", -ENOSPC },
	{ "pids.max", "/dev/full", -ENOSPC },
};

/* What was there before and is longer than what is written stays behind it. */
static const struct rest {
	const char *file, *before;
	int r;
} rests[] = {
	{ "memory.max", "10485761", -EIO },      { "memory.max", "1048576\n", 0 },
	{ "memory.max", "1048576 max\n", -EIO }, { "cpu.max", "25000 1000001\n", -EIO },
	{ "cpu.max", "25000 100000\n", 0 },      { "pids.max", "200\n", -EIO },
};

static void put(int dir, const char *name, const char *text)
{
	int fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text) || close(fd) != 0)
		abort();
}

static void get(int dir, const char *name, char *buf, size_t size)
{
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, buf, size - 1);

	if (n < 0 || close(fd) != 0)
		abort();
	buf[n] = '\0';
}

static int make_dir(char *path)
{
	int fd = mkdtemp(path) == NULL ? -1 : open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		abort();
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		put(fd, files[i], "");
	return fd;
}

static void remove_dir(int fd, const char *path)
{
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		(void)unlinkat(fd, files[i], 0);
	if (close(fd) != 0 || rmdir(path) != 0)
		abort();
}

static void test_set(struct tap *t, const struct set *set)
{
	char path[] = "/tmp/cgroup-limits.XXXXXX";
	int dir = make_dir(path);
	const char *file = NULL;
	char text[64];

	tap_int(t, cgroup_limits_set(dir, &set->want, &file), 0, set->what);
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		get(dir, files[i], text, sizeof(text));
		tap_str(t, text, set->texts[i], files[i]);
	}
	remove_dir(dir, path);
}

static void test_failure(struct tap *t, const struct failure *f)
{
	char path[] = "/tmp/cgroup-limits.XXXXXX";
	int dir = make_dir(path);
	const char *file = NULL;
	int r;

	(void)unlinkat(dir, f->file, 0);
	if (f->link != NULL && symlinkat(f->link, dir, f->file) != 0)
		abort();
	r = cgroup_limits_set(dir, &all, &file);
	tap_ok(t, r == f->r, "%s, %s: %d", f->file, f->link == NULL ? "not there" : f->link, r);
	if (f->r != 0)
		tap_str(t, file, f->file, "it is told of");
	remove_dir(dir, path);
}

static void test_rest(struct tap *t, const struct rest *row)
{
	char path[] = "/tmp/cgroup-limits.XXXXXX";
	int dir = make_dir(path);
	const char *file = NULL;
	int r;

	put(dir, row->file, row->before);
	r = cgroup_limits_set(dir, &all, &file);
	tap_ok(t, r == row->r, "%s held '%.*s' before: %d", row->file,
	       (int)strcspn(row->before, "\n"), row->before, r);
	remove_dir(dir, path);
}

int main(void)
{
	struct tap t = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(sets); i++)
		test_set(&t, &sets[i]);
	for (size_t i = 0; i < ARRAY_SIZE(failures); i++)
		test_failure(&t, &failures[i]);
	for (size_t i = 0; i < ARRAY_SIZE(rests); i++)
		test_rest(&t, &rests[i]);
	return tap_done(&t);
}
