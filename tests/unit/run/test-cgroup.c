/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Where a run may have a cgroup of its own, and why not elsewhere: trees of plain files. What the
 * kernel does with a real one is in tests/vm. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "run/cgroup.h"
#include "tap.h"

#define ALL "cpuset cpu io memory pids"

static const struct row {
	const char *what;
	const char *self;        /* of /proc/self/cgroup; NULL: there is no such file */
	const char *controllers; /* NULL: the cgroup is not there */
	const char *passed_on;
	const char *procs; /* "" is filled in with our own pid */
	bool root;         /* of the hierarchy: it has no type */
	bool systemd;
	const char *why; /* part of the reason; NULL: one can be had */
} rows[] = {
	{ "delegated, alone", "0::/u\n", ALL, "", "", false, false, NULL },
	{ "behind lines of v1", "5:cpu:/x\n0::/u\n", ALL, "", "", false, false, NULL },
	{ "passed on already", "0::/u\n", ALL, "cpu memory pids", "1", false, false, NULL },
	{ "one is missing", "0::/u\n", ALL, "memory pids", "1", false, false,
	  "other processes are in the cgroup of this process" },
	{ "not alone", "0::/u\n", ALL, "", "1", false, false, "other processes" },
	{ "beside others", "0::/u\n", ALL, "", "+", false, false, "other processes" },
	{ "a controller is not there", "0::/u\n", "cpu pids", "", "", false, false,
	  "no controller 'memory'" },
	{ "a name that only begins so", "0::/u\n", "cpu memory2 pids", "", "", false, false,
	  "no controller 'memory'" },
	{ "the root of all", "0::/u\n", ALL, "", "", true, false, "root cgroup" },
	{ "the root of all, passing on", "0::/u\n", ALL, ALL, "1", true, false, NULL },
	{ "systemd's own", "0::/u\n", ALL, "", "", false, true, "not delegated" },
	{ "the top of a view", "0::/\n", ALL, "", "", false, true, NULL },
	{ "outside of the view", "0::/../u\n", ALL, "", "", false, false, "cannot be seen" },
	{ "up again", "0::/u/../../etc\n", ALL, "", "", false, false, "cannot be seen" },
	{ "v1 alone", "5:memory:/u\n", ALL, "", "", false, false, "cannot be seen" },
	{ "no /proc", NULL, ALL, "", "", false, false, "cannot be seen" },
	{ "it is gone", "0::/gone\n", ALL, "", "", false, false, "cannot be seen" },
};

static void put(const char *dir, const char *name, const char *text)
{
	char path[256];
	FILE *f;

	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "we");
	if (f == NULL || fputs(text, f) < 0 || fclose(f) != 0)
		abort();
}

static void make_tree(const struct row *row, const char *top, const char *dir)
{
	char procs[64];

	(void)snprintf(procs, sizeof(procs), "%d\n%s", (int)getpid(),
		       strcmp(row->procs, "+") == 0 ? "1\n" : "");
	put(dir, "cgroup.procs", strcmp(row->procs, "1") == 0 ? "1\n" : procs);
	put(dir, "cgroup.controllers", row->controllers);
	put(dir, "cgroup.subtree_control", row->passed_on);
	if (!row->root)
		put(dir, "cgroup.type", "domain\n");
	if (row->self != NULL)
		put(top, "self", row->self);
}

static void test_row(struct tap *t, const struct row *row)
{
	char top[] = "/tmp/cgroup-test.XXXXXX";
	char mount[64], dir[80], self[64], command[128];
	struct run_cgroup_host host = { .mount = mount, .self = self, .any_fs = true };
	struct run_cgroup c;

	if (mkdtemp(top) == NULL)
		abort();
	(void)snprintf(mount, sizeof(mount), "%s/cg", top);
	(void)snprintf(self, sizeof(self), "%s/self", top);
	(void)snprintf(dir, sizeof(dir), "%s/u", mount);
	if (mkdir(mount, 0700) != 0 || mkdir(dir, 0700) != 0)
		abort();
	make_tree(row, top, row->self != NULL && strcmp(row->self, "0::/\n") == 0 ? mount : dir);
	host.systemd = row->systemd ? "/" : "/no/such/directory";
	run_cgroup_find(&host, NULL, &c);
	if (row->why == NULL)
		tap_ok(t, c.own >= 0 && c.fd < 0, "%s: there is one (%s)", row->what, c.reason);
	else
		tap_ok(t, c.own < 0 && strstr(c.reason, row->why) != NULL, "%s: none: %s",
		       row->what, c.reason);
	run_cgroup_close(&c);
	(void)snprintf(command, sizeof(command), "rm -r %s", top);
	tap_int(t, system(command), 0, "nothing was made in it");
}

/* What is wanted decides which controllers are. */
static void test_wanted(struct tap *t)
{
	static const struct row no_memory = {
		.self = "0::/u\n", .controllers = "cpu pids", .passed_on = "", .procs = ""
	};
	const struct run_cgroup_limits cpus = { .cpus_milli = 500 };
	const struct run_cgroup_limits memory = { .memory = 1 << 26 };
	char top[] = "/tmp/cgroup-test.XXXXXX";
	char dir[64], self[64];
	struct run_cgroup_host host = {
		.mount = top, .self = self, .systemd = "/no/such/directory", .any_fs = true
	};
	struct run_cgroup c;
	char command[128];

	if (mkdtemp(top) == NULL)
		abort();
	(void)snprintf(dir, sizeof(dir), "%s/u", top);
	(void)snprintf(self, sizeof(self), "%s/self", top);
	if (mkdir(dir, 0700) != 0)
		abort();
	make_tree(&no_memory, top, dir);
	run_cgroup_find(&host, &cpus, &c);
	tap_ok(t, c.own >= 0, "cpu alone is there");
	run_cgroup_close(&c);
	run_cgroup_find(&host, &memory, &c);
	tap_ok(t, c.own < 0, "memory is not: %s", c.reason);
	run_cgroup_close(&c);
	(void)snprintf(command, sizeof(command), "rm -r %s", top);
	tap_int(t, system(command), 0, "removed");
}

static void test_not_cgroupfs(struct tap *t)
{
	struct run_cgroup_host host = { .mount = "/tmp",
					.self = "/proc/self/cgroup",
					.systemd = "/x" };
	struct run_cgroup c;

	run_cgroup_find(&host, NULL, &c);
	tap_ok(t, c.own < 0 && strstr(c.reason, "no unified cgroup v2 at /tmp") != NULL,
	       "another file system is none: %s", c.reason);
	run_cgroup_close(&c);
}

int main(void)
{
	struct tap t = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		test_row(&t, &rows[i]);
	test_wanted(&t);
	test_not_cgroupfs(&t);
	return tap_done(&t);
}
