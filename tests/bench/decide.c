/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One decision among N rules, of which the last matches: nanoseconds, the least and the median of
 * many batches. Paths below distinct directories, the same below one directory with globs (whose
 * literal beginning tells nothing apart), commands, hosts. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/strbuf.h"
#include "policy/decide.h"

#define BATCHES 200
#define BATCH   200

static const struct shape {
	const char *name;
	const char *rule; /* @: a number */
	enum request_kind kind;
	enum action action;
	const char *path; /* the resource, of the last rule; @ its number */
} shapes[] = {
	{ "directories", "{operations: [read], paths: [/work/dir@/**], mode: allow}", REQUEST_PATH,
	  ACTION_READ_FILE, "/work/dir@/a/b/c.txt" },
	{ "globs below one directory",
	  "{operations: [read], paths: ['/work/*/d@/*.[ch]'], mode: allow}", REQUEST_PATH,
	  ACTION_READ_FILE, "/work/any/d@/main.c" },
	{ "globs of any depth", "{operations: [read], paths: ['/work/**/d@/*.c'], mode: allow}",
	  REQUEST_PATH, ACTION_READ_FILE, "/work/a/b/c/d@/main.c" },
	{ "commands", "{operations: [execute], commands: ['tool@ *'], mode: allow}",
	  REQUEST_COMMAND, ACTION_RUN_COMMAND, "tool@" },
	{ "hosts", "{operations: [connect], hosts: ['h@.example.org:443'], mode: allow}",
	  REQUEST_HOST, ACTION_NET_CONNECT, "h@.example.org:443" },
};

struct bench {
	struct arena arena;
	const struct profile *profile;
	const struct policy_agent *agent;
	struct request rq;
	struct request_command command;
	struct host_target host;
	char *argv[2];
};

static void put(struct strbuf *sb, const char *text, int number)
{
	for (; *text != '\0'; text++) {
		if (*text == '@')
			strbuf_printf(sb, "%d", number);
		else
			strbuf_putc(sb, *text);
	}
}

static void make(struct bench *b, const struct shape *s, int n)
{
	const struct profile_source src = { .fd = -1, .cwd = "/", .home = "/h" };
	STRBUF_AUTO sb = { 0 };
	struct profile_text text = { .name = "bench", .dir = "/" };
	struct command_file *files;
	struct err err = { 0 };
	STRBUF_AUTO resource = { 0 };

	strbuf_puts(&sb, "sandbox: {}\npermissions: {agents: {me: {rules: [\n");
	for (int i = 0; i < n; i++) {
		put(&sb, s->rule, i);
		strbuf_puts(&sb, ",\n");
	}
	strbuf_puts(&sb, "]}}}\n");
	text.text = strbuf_str(&sb);
	text.len = sb.len;
	if (profile_parse(&b->arena, &src, &text, &b->profile, &err) != 0) {
		(void)fprintf(stderr, "%u:%u: %s\n", err.line, err.col, err.msg);
		exit(1);
	}
	b->agent = agent_alone(&b->arena, &b->profile->permissions.agents.v[0]);
	put(&resource, s->path, n - 1);
	files = arena_array(&b->arena, (size_t)n, sizeof(*files));
	for (int i = 0; i < n; i++)
		files[i] = (struct command_file){ .found = true, .id = { .ino = (uint64_t)i } };
	b->argv[0] = arena_strdup(&b->arena, strbuf_str(&resource));
	b->command = (struct request_command){ .argv = b->argv,
					       .file = files[n - 1],
					       .pattern_files = files,
					       .n_pattern_files = (size_t)n };
	b->rq = (struct request){ .kind = s->kind,
				  .action = s->action,
				  .path = b->argv[0],
				  .command = &b->command,
				  .host = &b->host };
	if (s->kind == REQUEST_HOST && hostpat_target(b->argv[0], &b->host) != NULL)
		exit(1);
}

static double now(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int order(const void *x, const void *y)
{
	double a = *(const double *)x;
	double b = *(const double *)y;

	return (a > b) - (a < b);
}

static void run(const struct shape *s, int n)
{
	double times[BATCHES];
	struct bench b = { 0 };
	struct decision d = { 0 };

	make(&b, s, n);
	for (size_t i = 0; i < BATCHES; i++) {
		double start = now();

		for (size_t k = 0; k < BATCH; k++)
			policy_decide(b.profile, b.agent, &b.rq, &d);
		times[i] = (now() - start) / BATCH;
		if (d.verdict != PROFILE_ALLOW) {
			(void)fprintf(stderr, "%s: %s\n", s->name, d.code);
			exit(1);
		}
	}
	qsort(times, BATCHES, sizeof(*times), order);
	printf("%-28s %5d rules: least %8.0f ns, median %8.0f ns\n", s->name, n, times[0],
	       times[BATCHES / 2]);
	arena_free(&b.arena);
}

int main(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(shapes); i++) {
		run(&shapes[i], 10);
		run(&shapes[i], 1000);
	}
	return 0;
}
