/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The second layer by itself: what the mounts allow and the rules do not. Usage: test-landlock
 * root|user|userns */
#include <errno.h>
#include <sys/wait.h>

#include "base/macro.h"
#include "box.h"
#include "sys/landlock.h"
#include "tap.h"

#define WRITE                                                                                      \
	(SYS_LANDLOCK_WRITE_FILE | SYS_LANDLOCK_MAKE_REG | SYS_LANDLOCK_REMOVE_FILE |              \
	 SYS_LANDLOCK_MAKE_DIR)

static const struct plan_landlock_rule rules[] = {
	{ "/work", WRITE },
	{ "/dev/null", SYS_LANDLOCK_WRITE_FILE },
	{ "/usr", SYS_LANDLOCK_EXECUTE },
};
static const struct plan_landlock_rule no_execute[] = {
	{ "/work", WRITE },
	{ "/dev/null", SYS_LANDLOCK_WRITE_FILE },
};
static const struct plan_landlock_rule absent[] = {
	{ "/work", WRITE },
	{ "/work/none", WRITE },
};
static const struct plan_landlock_rule through_link[] = {
	{ "/bin", SYS_LANDLOCK_EXECUTE },
};
static const struct plan_landlock_rule of_a_file[] = {
	{ "/dev/null", SYS_LANDLOCK_MAKE_DIR },
};

static void set_rules(struct box *b, const struct plan_landlock_rule *v, uint32_t n)
{
	b->plan.landlock.fs = WRITE | SYS_LANDLOCK_EXECUTE;
	b->plan.landlock.rules = v;
	b->plan.landlock.n_rules = n;
}

static void test_holds(struct tap *t, enum box_caller caller)
{
	static const char script[] = "echo x > /work/a && echo work-written\n"
				     "echo x > /tmp/a || echo tmp-refused\n"
				     "echo x > /dev/null && echo null-written\n"
				     "mkdir /tmp/d || echo tmp-dir-refused\n"
				     "cat /work/a >/dev/null && echo work-read\n"
				     "exit 3\n";
	struct box *b = box_new(caller);

	box_sh(b, script);
	box_run(b);
	tap_ok(t, b->r.exec && strstr(b->r.out, "refused") == NULL,
	       "without rules everything is written (control)");
	box_free(b);
	b = box_new(caller);
	box_sh(b, script);
	set_rules(b, rules, ARRAY_SIZE(rules));
	box_run(b);
	tap_ok(t, b->r.exec && WEXITSTATUS(b->r.exited.status) == 3, "runs to its end");
	static const char *const want[] = { "work-written", "tmp-refused", "null-written",
					    "tmp-dir-refused", "work-read" };
	for (size_t i = 0; i < ARRAY_SIZE(want); i++) {
		if (!tap_ok(t, strstr(b->r.out, want[i]) != NULL, "%s", want[i]))
			printf("# %s\n", b->r.out);
	}
	box_free(b);
}

static void test_execute(struct tap *t, enum box_caller caller)
{
	struct box *b = box_new(caller);

	box_sh(b, "exit 0");
	set_rules(b, no_execute, ARRAY_SIZE(no_execute));
	box_run(b);
	tap_int(t, b->r.noexec.errnum, EACCES, "a program that no rule names is not executed");
	box_free(b);
}

static void expect_failed(struct tap *t, struct box *b, uint32_t op, int errnum, const char *what)
{
	box_sh(b, "echo ran > /work/ran");
	box_run(b);
	tap_ok(t,
	       b->r.failed.step == CHILD_STEP_LANDLOCK && b->r.failed.op == op &&
		       b->r.failed.errnum == errnum && !b->r.exec,
	       "%s: step %s, op %u, %s", what, child_step_name(b->r.failed.step), b->r.failed.op,
	       strerror(b->r.failed.errnum));
	tap_ok(t, !box_exists(box_path(b, "work/ran")), "%s: nothing ran", what);
	box_free(b);
}

static void test_broken(struct tap *t, enum box_caller caller)
{
	struct box *b = box_new(caller);

	set_rules(b, absent, ARRAY_SIZE(absent));
	expect_failed(t, b, 1, ENOENT, "a place that is not there");
	b = box_new(caller);
	set_rules(b, through_link, ARRAY_SIZE(through_link));
	expect_failed(t, b, 0, ELOOP, "a place behind a link");
	b = box_new(caller);
	set_rules(b, of_a_file, ARRAY_SIZE(of_a_file));
	expect_failed(t, b, 0, EINVAL, "a right that a file cannot have");
	b = box_new(caller);
	set_rules(b, rules, 1);
	b->plan.landlock.fs |= UINT64_C(1) << 63;
	expect_failed(t, b, 0, EINVAL, "a right that no kernel has");
}

static void test_landlock(struct tap *t, enum box_caller caller)
{
	int abi = sys_landlock_abi();

	if (abi < 1) {
		tap_skip(t, "landlock", "this kernel has none");
		return;
	}
	test_holds(t, caller);
	test_execute(t, caller);
	test_broken(t, caller);
}

int main(int argc, char **argv)
{
	static const box_test tests[] = { test_landlock };

	return box_main(argc, argv, tests, ARRAY_SIZE(tests));
}
