/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "profile/block.h"

#define SECOND_MS 1000U

static int parse_cpu_time(struct schema_ctx *c, const struct schema_row *row,
			  const struct yaml_pair *p, void *field)
{
	const struct profile_limit *limit = field;

	if (schema_parse_limit_duration(c, row, p, field) != 0)
		return -1;
	if (limit->value % SECOND_MS != 0)
		return schema_fail(c, p->value,
				   "'cpu_time' is counted by the kernel in whole seconds: write at "
				   "least 1s, and no fraction");
	return 0;
}

static int parse_processes(struct schema_ctx *c, const struct schema_row *row,
			   const struct yaml_pair *p, void *field)
{
	const struct profile_limit *limit = field;

	if (schema_parse_limit_bytes(c, row, p, field) != 0)
		return -1;
	if (limit->value > PROFILE_PROCESSES_MAX)
		return schema_fail(c, p->value,
				   "'processes' must be at most 4194304, the most that Linux has");
	return 0;
}

/* Less does not hold init and a program's first pages. */
#define MEMORY_MIN ((uint64_t)4 << 20)

static int parse_memory(struct schema_ctx *c, const struct schema_row *row,
			const struct yaml_pair *p, void *field)
{
	const struct profile_limit *limit = field;

	if (schema_parse_limit_size(c, row, p, field) != 0)
		return -1;
	if (limit->value < MEMORY_MIN)
		return schema_fail(c, p->value, "'memory' must be at least 4M");
	return 0;
}

/* cpu.max of a cgroup has a least quota of 1 ms in its period of 100 ms. */
#define CPUS_MILLI_MIN 10
#define CPUS_MILLI_MAX 1024000

/* "0.25" as 250. The decimals are read as if there were always three. */
static bool read_milli(const char *s, uint64_t *ret)
{
	uint64_t v = 0;
	int decimals = -1; /* before the point */

	if (*s < '0' || *s > '9')
		return false;
	for (; *s != '\0'; s++) {
		if (*s == '.' && decimals < 0) {
			decimals = 0;
			continue;
		}
		if (*s < '0' || *s > '9' || v > CPUS_MILLI_MAX || decimals == 3)
			return false;
		v = v * 10 + (uint64_t)(*s - '0');
		decimals += decimals >= 0;
	}
	if (decimals == 0)
		return false;
	for (int i = decimals < 0 ? 0 : decimals; i < 3; i++)
		v *= 10;
	*ret = v;
	return v >= CPUS_MILLI_MIN && v <= CPUS_MILLI_MAX;
}

static int parse_cpus(struct schema_ctx *c, const struct schema_row *row, const struct yaml_pair *p,
		      void *field)
{
	struct profile_limit *limit = field;
	const char *text;

	if (schema_scalar(c, row->key, p->value, &text) != 0)
		return -1;
	if (!read_milli(text, &limit->value))
		return schema_fail(c, p->value,
				   "'cpus' must be a number of processors with at most three "
				   "decimals, from 0.01 to 1024, such as 0.5, not '%.80s'",
				   text);
	limit->set = true;
	limit->pos = schema_pos(c, p->value);
	return 0;
}

static const struct schema_word enforce_words[] = { { "any", PROFILE_ENFORCE_ANY },
						    { "kernel", PROFILE_ENFORCE_KERNEL },
						    { NULL, 0 } };
static const struct schema_word output_words[] = { { "drain", PROFILE_OUTPUT_DRAIN },
						   { "kill", PROFILE_OUTPUT_KILL },
						   { NULL, 0 } };

static const struct schema_row rows[] = {
	{ .key = "timeout",
	  .parse = schema_parse_limit_duration,
	  .offset = offsetof(struct profile_limits, timeout_ms),
	  .type = "duration",
	  .help = "the longest that the command may run (default: no limit)" },
	{ .key = "grace",
	  .parse = schema_parse_limit_duration,
	  .offset = offsetof(struct profile_limits, grace_ms),
	  .type = "duration",
	  .help = "between asking the command to end and killing it (default 5s)" },
	{ .key = "cpu_time",
	  .parse = parse_cpu_time,
	  .offset = offsetof(struct profile_limits, cpu_time_ms),
	  .type = "duration",
	  .help = "the most processor time of any one process (default: no limit)" },
	{ .key = "cpus",
	  .parse = parse_cpus,
	  .offset = offsetof(struct profile_limits, cpus_milli),
	  .type = "number of processors",
	  .help = "how many processors may be used at a time, such as 0.5 (default: no limit)" },
	{ .key = "memory",
	  .parse = parse_memory,
	  .offset = offsetof(struct profile_limits, memory_bytes),
	  .type = "size",
	  .help = "the most memory of all processes and the scratch together (default: no limit)" },
	{ .key = "processes",
	  .parse = parse_processes,
	  .offset = offsetof(struct profile_limits, processes),
	  .type = "number",
	  .help = "the most processes and threads at a time (default 4096)" },
	{ .key = "open_files",
	  .parse = schema_parse_limit_bytes,
	  .offset = offsetof(struct profile_limits, open_files),
	  .type = "number",
	  .help = "the most open files of any one process (default 1024)" },
	{ .key = "file_size",
	  .parse = schema_parse_limit_size,
	  .offset = offsetof(struct profile_limits, file_bytes),
	  .type = "size",
	  .help = "the largest that any one file can be made (default: no limit)" },
	{ .key = "output",
	  .parse = schema_parse_limit_size,
	  .offset = offsetof(struct profile_limits, output_bytes),
	  .type = "size",
	  .help = "the most output that is kept (default: no limit, 1M with --json)" },
	{ .key = "disk",
	  .parse = schema_parse_limit_size,
	  .offset = offsetof(struct profile_limits, disk_bytes),
	  .type = "size",
	  .help = "the most that the file systems of writable roots may grow; soft (default: no "
		  "limit)" },
	{ .key = "enforce",
	  .parse = schema_parse_word,
	  .words = enforce_words,
	  .offset = offsetof(struct profile_limits, enforce),
	  .type = "word",
	  .help = "any (default) takes what the host has; kernel refuses what is only watched" },
	{ .key = "on_output_limit",
	  .parse = schema_parse_word,
	  .words = output_words,
	  .offset = offsetof(struct profile_limits, on_output_limit),
	  .type = "word",
	  .help = "what more output does: drain (default) drops it, kill ends the run" },
};

const struct profile_limits block_limits_default = {
	.grace_ms = { .value = 5000 },
	.processes = { .value = 4096 },
	.open_files = { .value = 1024 },
	.on_output_limit = PROFILE_OUTPUT_DRAIN,
	.enforce = PROFILE_ENFORCE_ANY,
};

const struct schema_map block_limits_map = SCHEMA_MAP("sandbox.limits", rows);
