/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>
#include <sys/resource.h>

#include "hand.h"
#include "tap.h"

#define M 1048576LL

struct row {
	const char *what;
	const char *limits;
	bool capture;
	bool limited;
	long long bytes; /* of a limited one */
};

static const struct row rows[] = {
	{ "passed on, no limit", "", false, false, 0 },
	{ "captured, no limit", "", true, true, M },
	{ "captured, a lower limit", "limits: {output: 1K}", true, true, 1024 },
	{ "captured, one below the most", "max_output_bytes: 67108863", true, true, 64 * M - 1 },
	{ "captured, the most", "max_output_bytes: 67108864", true, true, 64 * M },
	{ "captured, one above the most", "max_output_bytes: 67108865", true, true, 64 * M },
	{ "captured, far above", "limits: {output: 1G}", true, true, 64 * M },
	{ "passed on, one above the most", "max_output_bytes: 67108865", false, true, 64 * M + 1 },
	{ "passed on, far above", "limits: {output: 1G}", false, true, 1024 * M },
};

static void test_output(struct tap *t, const struct row *row)
{
	struct arena a = { 0 };
	const char *text = arena_printf(&a,
					"sandbox: {roots: [/w]%s%s}\n"
					"permissions: {agents: {me: allow}}\n",
					row->limits[0] != '\0' ? ", " : "", row->limits);
	struct hand_options o = { .capture = row->capture };
	struct hand h;

	if (hand_load(&h, text, strlen(text)) != 0) {
		tap_ok(t, false, "%s: %s", row->what, h.err.msg);
	} else {
		hand_facts(&h, &o);
		if (hand_compile(&h) != 0) {
			tap_ok(t, false, "%s: %s", row->what, h.err.msg);
		} else {
			tap_int(t, h.plan->output_limited, row->limited, row->what);
			if (row->limited)
				tap_int(t, (long long)h.plan->output_bytes, row->bytes, row->what);
		}
		hand_free(&h);
	}
	arena_free(&a);
}

#define ABSENT (-1LL)

/* An rlimit for each that is enforced that way; one task more for init. */
static const struct rlimit_row {
	const char *limits;
	enum hand_caller caller;
	bool fallback;
	long long nproc, nofile, fsize, cpu, cpu_hard; /* soft limits, ABSENT: none */
} rlimit_rows[] = {
	{ "", HAND_USER, false, 4097, 1024, ABSENT, ABSENT, ABSENT },
	{ "processes: 1", HAND_USER, false, 2, 1024, ABSENT, ABSENT, ABSENT },
	{ "processes: 50, open_files: 9", HAND_ROOT, false, 51, 9, ABSENT, ABSENT, ABSENT },
	{ "file_size: 1K, cpu_time: 2m", HAND_USER, false, 4097, 1024, 1024, 120, 121 },
	/* Kernel uid 0 is exempt. */
	{ "", HAND_ROOT, true, ABSENT, 1024, ABSENT, ABSENT, ABSENT },
};

static void expect_rlimit(struct tap *t, const struct plan *p, int resource, long long soft,
			  long long hard)
{
	long long got_soft = ABSENT, got_hard = ABSENT;

	for (uint32_t i = 0; i < p->n_rlimits; i++) {
		if (p->rlimits[i].resource == resource) {
			got_soft = (long long)p->rlimits[i].soft;
			got_hard = (long long)p->rlimits[i].hard;
		}
	}
	tap_ok(t, got_soft == soft && got_hard == hard, "resource %d: %lld %lld, want %lld %lld",
	       resource, got_soft, got_hard, soft, hard);
}

/* @cgroup: NULL when there is one, else why not. */
static int limits_compile(struct hand *h, struct arena *a, const char *limits,
			  const struct hand_options *o, const char *cgroup)
{
	const char *text = arena_printf(a,
					"sandbox: {roots: [/w], limits: {%s}}\n"
					"permissions: {agents: {me: allow}}\n",
					limits);

	if (hand_load(h, text, strlen(text)) != 0)
		return -1;
	hand_facts(h, o);
	h->rq.cgroup = cgroup == NULL || strcmp(cgroup, "scope") == 0;
	h->rq.scope = cgroup != NULL && strcmp(cgroup, "scope") == 0;
	h->rq.cgroup_why = cgroup;
	return hand_compile(h);
}

static void test_rlimits(struct tap *t, const struct rlimit_row *row)
{
	struct hand_options o = { .caller = row->caller, .fallback = row->fallback };
	struct arena a = { 0 };
	struct hand h;

	if (limits_compile(&h, &a, row->limits, &o, "none here") != 0) {
		tap_ok(t, false, "%s: %s", row->limits, h.err.msg);
	} else {
		expect_rlimit(t, h.plan, RLIMIT_NPROC, row->nproc, row->nproc);
		expect_rlimit(t, h.plan, RLIMIT_NOFILE, row->nofile, row->nofile);
		expect_rlimit(t, h.plan, RLIMIT_FSIZE, row->fsize, row->fsize);
		expect_rlimit(t, h.plan, RLIMIT_CPU, row->cpu, row->cpu_hard);
		expect_rlimit(t, h.plan, RLIMIT_CORE, 1, 1);
		hand_free(&h);
	}
	arena_free(&a);
}

/* Which mechanism a limit gets, or the words with which it is refused. */
static const struct choice {
	const char *limits;
	enum hand_caller caller;
	bool fallback;
	enum { NONE, OWN, SCOPE } cgroup;
	enum plan_limit limit;
	enum plan_mechanism mechanism;
	bool watched;
	const char *refused;
} choices[] = {
	{ "memory: 64M", HAND_USER, false, OWN, PLAN_LIMIT_MEMORY, PLAN_MECHANISM_CGROUP, false,
	  NULL },
	{ "memory: 64M", HAND_USER, false, NONE, PLAN_LIMIT_MEMORY, PLAN_MECHANISM_RLIMIT_MONITOR,
	  true, NULL },
	{ "memory: 64M, enforce: kernel", HAND_USER, false, OWN, PLAN_LIMIT_MEMORY,
	  PLAN_MECHANISM_CGROUP, false, NULL },
	{ "memory: 64M, enforce: kernel", HAND_USER, false, NONE, PLAN_LIMIT_MEMORY, 0, false,
	  "'limits.memory' cannot be enforced by the kernel here: none here" },
	{ "memory: 64M, enforce: kernel", HAND_USER, false, SCOPE, PLAN_LIMIT_MEMORY,
	  PLAN_MECHANISM_SCOPE, false, NULL },
	{ "cpus: 1, enforce: kernel", HAND_USER, false, SCOPE, PLAN_LIMIT_CPUS,
	  PLAN_MECHANISM_SCOPE, false, NULL },
	{ "processes: 50, enforce: kernel", HAND_ROOT, true, SCOPE, PLAN_LIMIT_PROCESSES,
	  PLAN_MECHANISM_SCOPE, false, NULL },
	{ "cpus: 1", HAND_USER, false, OWN, PLAN_LIMIT_CPUS, PLAN_MECHANISM_CGROUP, false, NULL },
	{ "cpus: 1", HAND_USER, false, NONE, PLAN_LIMIT_CPUS, 0, false,
	  "'limits.cpus' cannot be enforced here: none here" },
	{ "disk: 1G", HAND_USER, false, OWN, PLAN_LIMIT_DISK, PLAN_MECHANISM_MONITOR, true, NULL },
	{ "disk: 1G, enforce: kernel", HAND_USER, false, OWN, PLAN_LIMIT_DISK, 0, false,
	  "it could only be watched" },
	{ "enforce: kernel", HAND_USER, false, NONE, PLAN_LIMIT_PROCESSES, PLAN_MECHANISM_RLIMIT,
	  false, NULL },
	/* Kernel uid 0 is exempt. */
	{ "timeout: 1s", HAND_ROOT, true, NONE, PLAN_LIMIT_PROCESSES, PLAN_MECHANISM_NONE, false,
	  NULL },
	{ "processes: 50", HAND_ROOT, true, NONE, PLAN_LIMIT_PROCESSES, PLAN_MECHANISM_MONITOR,
	  true, NULL },
	{ "processes: 50", HAND_ROOT, true, OWN, PLAN_LIMIT_PROCESSES, PLAN_MECHANISM_CGROUP, false,
	  NULL },
	{ "enforce: kernel", HAND_ROOT, true, NONE, PLAN_LIMIT_PROCESSES, 0, false, "none here" },
};

/* Every key at once: what each stands for, in the unit of the limit. */
static void test_all(struct tap *t)
{
	static const char text[] =
		"timeout: 90s, grace: 7s, cpu_time: 2m, cpus: 0.25, memory: 96M, processes: 77, "
		"open_files: 55, file_size: 3G, output: 5K, on_output_limit: kill, disk: 2G, "
		"enforce: any";
	static const struct {
		const char *unit;
		enum plan_mechanism mechanism;
		long long bound;
	} want[PLAN_LIMIT_MAX] = {
		[PLAN_LIMIT_TIMEOUT] = { "ms", PLAN_MECHANISM_SUPERVISOR, 90000 },
		[PLAN_LIMIT_CPU_TIME] = { "ms", PLAN_MECHANISM_RLIMIT, 120000 },
		[PLAN_LIMIT_CPUS] = { "thousandths", PLAN_MECHANISM_CGROUP, 250 },
		[PLAN_LIMIT_MEMORY] = { "bytes", PLAN_MECHANISM_CGROUP, 96 * M },
		[PLAN_LIMIT_PROCESSES] = { "tasks", PLAN_MECHANISM_RLIMIT, 77 },
		[PLAN_LIMIT_OPEN_FILES] = { "files", PLAN_MECHANISM_RLIMIT, 55 },
		[PLAN_LIMIT_FILE_SIZE] = { "bytes", PLAN_MECHANISM_RLIMIT, 3072 * M },
		[PLAN_LIMIT_OUTPUT] = { "bytes", PLAN_MECHANISM_SUPERVISOR, 5120 },
		[PLAN_LIMIT_DISK] = { "bytes", PLAN_MECHANISM_MONITOR, 2048 * M },
	};
	struct hand_options o = { .caller = HAND_USER };
	struct arena a = { 0 };
	struct hand h;

	if (limits_compile(&h, &a, text, &o, NULL) != 0) {
		tap_ok(t, false, "all: %s", h.err.msg);
	} else {
		for (unsigned i = 0; i < PLAN_LIMIT_MAX; i++) {
			const char *name = plan_limit_name(i)->name;

			tap_int(t, (long long)h.plan->limits[i].bound, want[i].bound, name);
			tap_int(t, h.plan->limits[i].mechanism, want[i].mechanism, name);
			tap_str(t, plan_limit_name(i)->unit, want[i].unit, name);
		}
		tap_int(t, (long long)h.plan->grace_ms, 7000, "grace");
		tap_ok(t, h.plan->output_kill && h.plan->watched, "on_output_limit, watched");
	}
	hand_free(&h);
	arena_free(&a);
}

static void test_choice(struct tap *t, const struct choice *c)
{
	static const char *const texts[] = {
		[NONE] = "none here", [OWN] = NULL, [SCOPE] = "scope"
	};
	struct hand_options o = { .caller = c->caller, .fallback = c->fallback };
	struct arena a = { 0 };
	struct hand h;
	int r = limits_compile(&h, &a, c->limits, &o, texts[c->cgroup]);

	if (c->refused != NULL) {
		tap_ok(t, r != 0 && strstr(h.err.msg, c->refused) != NULL && h.err.line == 1,
		       "%s: refused: %s", c->limits, h.err.msg);
	} else if (r != 0) {
		tap_ok(t, false, "%s: %s", c->limits, h.err.msg);
	} else {
		tap_int(t, h.plan->limits[c->limit].mechanism, c->mechanism, c->limits);
		tap_int(t, h.plan->watched, c->watched, "watched or not");
		expect_rlimit(t, h.plan, RLIMIT_DATA,
			      c->mechanism == PLAN_MECHANISM_RLIMIT_MONITOR ? 64 * M : ABSENT,
			      c->mechanism == PLAN_MECHANISM_RLIMIT_MONITOR ? 64 * M : ABSENT);
		expect_rlimit(t, h.plan, RLIMIT_AS, ABSENT, ABSENT);
	}
	hand_free(&h);
	arena_free(&a);
}

int main(void)
{
	struct tap t = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(rlimit_rows); i++)
		test_rlimits(&t, &rlimit_rows[i]);
	for (size_t i = 0; i < ARRAY_SIZE(choices); i++)
		test_choice(&t, &choices[i]);
	test_all(&t);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		test_output(&t, &rows[i]);
	return tap_done(&t);
}
