/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "run/cgroup-limits.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "run/cgroup-file.h"

/* cpu.max: microseconds of each period. */
#define CPU_PERIOD_US 100000
#define TEXT(x)       #x
#define PERIOD(x)     " " TEXT(x)
/* Memory is held in pages, so that a little less may be read back, and never more. */
#define PAGE_SLACK 65536

#define ALWAYS        SIZE_MAX
#define LIMIT(member) offsetof(struct run_cgroup_limits, member)

/* In the order in which they are written. */
static const struct row {
	const char *file;
	size_t limit;    /* for which limit, where that is wanted */
	uint64_t factor; /* the value is that of the limit times this; 0: it is @fixed */
	uint64_t fixed;
	const char *tail; /* behind the number */
	uint64_t slack;   /* so much less may be read back */
	bool optional;    /* there are kernels without the file */
} rows[] = {
	{ .file = "memory.max", .limit = LIMIT(memory), .factor = 1, .slack = PAGE_SLACK },
	/* A kernel without swap accounting has no file for it. */
	{ .file = "memory.swap.max", .limit = LIMIT(memory), .fixed = 0, .optional = true },
	/* One victim alone would leave the rest of the command in an undefined state. */
	{ .file = "memory.oom.group", .limit = LIMIT(memory), .fixed = 1 },
	{ .file = "pids.max", .limit = LIMIT(processes), .factor = 1 },
	{ .file = "cpu.max",
	  .limit = LIMIT(cpus_milli),
	  .factor = CPU_PERIOD_US / 1000,
	  .tail = PERIOD(CPU_PERIOD_US) },
	/* What is made inside would be left behind. */
	{ .file = "cgroup.max.descendants", .limit = ALWAYS, .fixed = 1 },
};

static uint64_t limit_of(const struct row *row, const struct run_cgroup_limits *want)
{
	uint64_t v;

	if (row->limit == ALWAYS)
		return 1;
	memcpy(&v, (const char *)want + row->limit, sizeof(v));
	return v;
}

static int read_back(int dir, const struct row *row, uint64_t value)
{
	char text[64] = "";
	char *end;
	uint64_t got;
	int r = cgroup_file_read(dir, row->file, text, sizeof(text));

	if (r < 0)
		return r;
	got = strtoull(text, &end, 10);
	if (end == text || strcmp(end, row->tail == NULL ? "" : row->tail) != 0)
		return -EIO;
	return got <= value && value - got <= row->slack ? 0 : -EIO;
}

static int set(int dir, const struct row *row, uint64_t value)
{
	char text[64];
	int r;

	(void)snprintf(text, sizeof(text), "%" PRIu64 "%s", value,
		       row->tail == NULL ? "" : row->tail);
	r = cgroup_file_write(dir, row->file, text);
	if (r == -ENOENT && row->optional && faccessat(dir, row->file, F_OK, 0) != 0 &&
	    errno == ENOENT)
		return 0;
	return r < 0 ? r : read_back(dir, row, value);
}

int cgroup_limits_set(int dir, const struct run_cgroup_limits *want, const char **ret_file)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct row *row = &rows[i];
		uint64_t limit = limit_of(row, want);
		int r = limit == 0
				? 0
				: set(dir, row, row->factor > 0 ? limit * row->factor : row->fixed);

		if (r < 0) {
			*ret_file = row->file;
			return r;
		}
	}
	return 0;
}
