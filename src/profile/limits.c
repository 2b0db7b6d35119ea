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
};

const struct schema_map block_limits_map = SCHEMA_MAP("sandbox.limits", rows);
