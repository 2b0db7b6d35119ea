/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Where a run may have a cgroup of its own, and why not elsewhere: trees of plain files. What the
 * kernel does with a real one is in tests/vm. */
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "run/cgroup.h"
#include "run/scope.h"
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
	char path[512];
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

/* What is wanted decides which controllers are: the letters of those limits that find a cgroup. */
static const struct part {
	const char *controllers, *passed_on, *procs;
	const char *found;
} parts[] = {
	{ "cpu pids", "", "", "CP" }, { "memory pids", "", "", "MP" },
	{ ALL, "memory", "1", "M" },  { ALL, "memory pids", "1", "MP" },
	{ ALL, "cpu", "1", "C" },     { "memory pids", "memory pids", "1", "MP" },
	{ ALL, "", "", "CMP" },       { ALL, "", "1", "" },
	{ "", "", "", "" },
};

static void test_part(struct tap *t, const struct part *part)
{
	static const char letters[PLAN_LIMIT_MAX] = {
		[PLAN_LIMIT_CPUS] = 'C', [PLAN_LIMIT_MEMORY] = 'M', [PLAN_LIMIT_PROCESSES] = 'P'
	};
	const struct row row = { .self = "0::/u\n",
				 .controllers = part->controllers,
				 .passed_on = part->passed_on,
				 .procs = part->procs };
	char top[] = "/tmp/cgroup-test.XXXXXX";
	char dir[64], self[64], found[8] = "", command[128];
	const struct run_cgroup_host host = {
		.mount = top, .self = self, .systemd = "/no/such/directory", .any_fs = true
	};
	struct run_cgroup c;
	size_t n = 0;

	if (mkdtemp(top) == NULL)
		abort();
	(void)snprintf(dir, sizeof(dir), "%s/u", top);
	(void)snprintf(self, sizeof(self), "%s/self", top);
	if (mkdir(dir, 0700) != 0)
		abort();
	make_tree(&row, top, dir);
	for (unsigned i = 0; i < PLAN_LIMIT_MAX; i++) {
		run_cgroup_find_one(&host, i, false, &c);
		if (c.own >= 0)
			found[n++] = letters[i] == 0 ? '?' : letters[i];
		else
			tap_ok(t, c.reason[0] != '\0', "limit %u, a reason: %s", i, c.reason);
		run_cgroup_close(&c);
	}
	tap_str(t, found, part->found, part->controllers);
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

/* Where a scope may be asked for: trees of plain files again, and a socket for the bus. */
static const struct scope_row {
	const char *what;
	const char *path;  /* below the user's slice */
	const char *where; /* of the limit, below it; NULL: none */
	const char *file, *text;
	bool bus;
	const char *why; /* NULL: it may */
} scope_rows[] = {
	{ "a login session", "session-3.scope", NULL, NULL, NULL, true, NULL },
	{ "a service", "user@1000.service/app.slice/x.service", NULL, NULL, NULL, true, NULL },
	{ "no manager", "session-3.scope", NULL, NULL, NULL, false, "there is none at" },
	{ "what is unlimited", "session-3.scope", "session-3.scope", "cpu.max", "max 100000\n",
	  true, NULL },
	{ "nor is this one", "session-3.scope", "session-3.scope", "io.max", "\n", true, NULL },
	{ "memory", "session-3.scope", "session-3.scope", "memory.max", "1048576\n", true,
	  "memory.max of session-3.scope" },
	{ "a part of a processor", "session-3.scope", "session-3.scope", "cpu.max",
	  "50000 100000\n", true, "cpu.max of" },
	{ "some of the processors", "session-3.scope", "session-3.scope", "cpuset.cpus", "0\n",
	  true, "cpuset.cpus of" },
	{ "what only begins so", "session-3.scope", "session-3.scope", "pids.max", "maximum\n",
	  true, "pids.max of" },
	{ "above it", "user@1000.service/app.slice/x.service", "user@1000.service/app.slice",
	  "pids.max", "500\n", true, "pids.max of app.slice" },
	{ "above both", "user@1000.service/app.slice/x.service", "user@1000.service", "pids.max",
	  "500\n", true, NULL },
	{ "above a session and it", "session-3.scope", ".", "memory.max", "1048576\n", true, NULL },
	{ "the manager itself", "user@1000.service", NULL, NULL, NULL, true, "no login session" },
	{ "the slice itself", "", NULL, NULL, NULL, true, "no login session" },
	{ "another user's", "../user-1001.slice/session-3.scope", NULL, NULL, NULL, true,
	  "no login session" },
	{ "one that is gone", "session-3.scope/gone", "none", NULL, NULL, true,
	  "would leave a limit" },
};

PRINTF_LIKE(1, 2) static void run_shell(const char *fmt, ...)
{
	char command[512];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(command, sizeof(command), fmt, ap);
	va_end(ap);
	if (system(command) != 0)
		abort();
}

static void make_bus(const char *top)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)snprintf(sa.sun_path, sizeof(sa.sun_path), "%s/1000/bus", top);
	if (bind(fd, (const struct sockaddr *)&sa, sizeof(sa)) != 0)
		abort();
	/* Of the user that the row is about: this test's own number is another one. */
	if (geteuid() == 0 && chown(sa.sun_path, 1000, 1000) != 0)
		abort();
	(void)close(fd);
}

static void test_scope(struct tap *t, const struct scope_row *row)
{
	char top[] = "/tmp/scope-test.XXXXXX";
	char slice[128], at[256], path[256], why[256] = "";
	const struct run_scope_host host = { .mount = top, .runtime = top, .uid = 1000 };
	int r;

	if (mkdtemp(top) == NULL)
		abort();
	(void)snprintf(slice, sizeof(slice), "%s/user.slice/user-1000.slice", top);
	run_shell("mkdir -p '%s/%s'", slice, row->path);
	(void)snprintf(path, sizeof(path), "user.slice/user-1000.slice/%s", row->path);
	if (strncmp(row->path, "../", 3) == 0)
		(void)snprintf(path, sizeof(path), "user.slice/%s", row->path + 3);
	if (row->where != NULL && row->file == NULL) {
		run_shell("rmdir '%s/%s'", slice, row->path);
	} else if (row->where != NULL) {
		(void)snprintf(at, sizeof(at), "%s/%s", slice, row->where);
		put(at, row->file, row->text);
	}
	run_shell("mkdir '%s/1000'", top);
	if (row->bus)
		make_bus(top);
	r = run_scope_check(&host, path, why, sizeof(why));
	/* Elsewhere the socket is not the user's. */
	if (row->why == NULL && geteuid() != 0 && geteuid() != 1000)
		tap_ok(t, r != 0 && strstr(why, "there is none at") != NULL, "%s: %s", row->what,
		       why);
	else if (row->why == NULL)
		tap_ok(t, r == 0, "%s: it may be left (%s)", row->what, why);
	else
		tap_ok(t, r != 0 && (strstr(why, row->why) != NULL || geteuid() != 0),
		       "%s: it may not: %s", row->what, why);
	run_shell("rm -r '%s'", top);
}

int main(void)
{
	struct tap t = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		test_row(&t, &rows[i]);
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		test_part(&t, &parts[i]);
	test_not_cgroupfs(&t);
	for (size_t i = 0; i < ARRAY_SIZE(scope_rows); i++)
		test_scope(&t, &scope_rows[i]);
	return tap_done(&t);
}
