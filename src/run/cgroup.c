/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Theory of operation.
 *
 *   own                 where the supervisor was started: delegated to the caller
 *   |- NAME             the run, with the limits
 *   |  `- in            init is cloned into it, and its cgroup namespace begins here
 *   `- NAME.sup         the supervisor, where own had to pass controllers on first
 *
 * A cgroup that passes controllers on holds no processes itself (cgroups(7), "no internal
 * processes"). So where they are not passed on yet, the supervisor must be alone there, and moves
 * to a leaf while the run lasts. All of it happens under a lock on the directory of own: to stop
 * passing a controller on would take the limits away from another run beside this one.
 *
 * Who may make user namespaces inside (nested_sandboxes) may mount what its cgroup namespace shows,
 * and an ordinary caller owns that. Without `nsdelegate` only the level between keeps the limits
 * away. */
#include "run/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/io.h"
#include "run/cgroup-file.h"
#include "run/cgroup-limits.h"
#include "run/scope.h"
#include "sys/fs.h"

#define CGROUP2_MAGIC 0x63677270
#define TEXT_MAX      4096
#define INNER         "in"
#define LEAF_SIZE     (sizeof(((struct run_cgroup *)0)->name) + 4)
/* The kernel may need a moment to let go of dead processes. */
#define REMOVE_TRIES 200
#define REMOVE_NS    (5L * 1000 * 1000)
/* The manager answers that it will move us, and then does. */
#define SCOPE_TRIES 1000
#define SCOPE_NS    (10L * 1000 * 1000)

const struct run_cgroup_host run_cgroup_host = {
	.mount = "/sys/fs/cgroup",
	.self = "/proc/self/cgroup",
	.systemd = "/run/systemd/system",
	.runtime = "/run/user",
};

static const char not_delegated[] =
	"the cgroup of this process is not delegated to the caller (agentbox(1), Limits, says how "
	"to start it in one that is)";

PRINTF_LIKE(2, 3) static int no_cgroup(struct run_cgroup *c, const char *fmt, ...)
{
	va_list ap;

	fd_close(&c->own);
	va_start(ap, fmt);
	(void)vsnprintf(c->reason, sizeof(c->reason), fmt, ap);
	va_end(ap);
	return -1;
}

static bool read_text(int dir, const char *name, char *buf, size_t size)
{
	return cgroup_file_read(dir, name, buf, size) == 0;
}

static bool has_word(const char *text, const char *word)
{
	size_t len = strlen(word);

	for (const char *p = strstr(text, word); p != NULL; p = strstr(p + 1, word)) {
		if ((p == text || p[-1] == ' ') && (p[len] == ' ' || p[len] == '\0'))
			return true;
	}
	return false;
}

/* The path of the line "0::PATH", in place; NULL when there is none. */
static const char *own_path(char *text)
{
	char *line = strncmp(text, "0::/", 4) == 0 ? text : strstr(text, "\n0::/");

	if (line == NULL)
		return NULL;
	line = strstr(line, "0::/") + 4;
	line[strcspn(line, "\n")] = '\0';
	return line;
}

static int open_own(const struct run_cgroup_host *host, struct run_cgroup *c, char *text)
{
	FD_AUTO top = open(host->mount, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct statfs fs;
	const char *path;

	if (top < 0 || fstatfs(top, &fs) != 0 || (!host->any_fs && fs.f_type != CGROUP2_MAGIC))
		return no_cgroup(c, "there is no unified cgroup v2 at %s", host->mount);
	path = read_text(AT_FDCWD, host->self, text, TEXT_MAX) ? own_path(text) : NULL;
	if (path == NULL || strncmp(path, "..", 2) == 0)
		return no_cgroup(c, "the cgroup of this process cannot be seen at %s", host->mount);
	c->own = sys_openat2(top, path[0] == '\0' ? "." : path, O_RDONLY | O_DIRECTORY, 0,
			     RESOLVE_BENEATH | SYS_RESOLVE_PLAIN);
	if (c->own < 0)
		return no_cgroup(c, "the cgroup of this process cannot be seen at %s", host->mount);
	return 0;
}

static bool marked(int own, const char *name)
{
	char value[4] = "";

	return fgetxattr(own, name, value, sizeof(value)) == 1 && value[0] == '1';
}

/* systemd marks what it has delegated and manages the rest: what somebody else changes there it
 * may change back at any time. @known: it needs no mark. */
static int check_delegated(const struct run_cgroup_host *host, struct run_cgroup *c, bool known)
{
	if (faccessat(c->own, ".", W_OK, AT_EACCESS) != 0 ||
	    faccessat(c->own, "cgroup.procs", W_OK, AT_EACCESS) != 0 ||
	    faccessat(c->own, "cgroup.subtree_control", W_OK, AT_EACCESS) != 0)
		return no_cgroup(c, "%s", not_delegated);
	if (!known && (access(host->systemd, F_OK) == 0 || errno != ENOENT) &&
	    !marked(c->own, "user.delegate") && !marked(c->own, "trusted.delegate"))
		return no_cgroup(c, "%s", not_delegated);
	return 0;
}

static bool alone(int own)
{
	char text[TEXT_MAX];
	char self[32];

	(void)snprintf(self, sizeof(self), "%d", (int)getpid());
	return read_text(own, "cgroup.procs", text, sizeof(text)) && strcmp(text, self) == 0;
}

static size_t wanted(const struct run_cgroup_limits *want, const char *ret[3])
{
	size_t n = 0;

	if (want == NULL || want->memory > 0)
		ret[n++] = "memory";
	if (want == NULL || want->cpus_milli > 0)
		ret[n++] = "cpu";
	if (want == NULL || want->processes > 0)
		ret[n++] = "pids";
	return n;
}

/* Which of the wanted controllers own does not pass on; NULL: all are. */
static const char *not_passed_on(int own, const struct run_cgroup_limits *want)
{
	const char *names[3];
	size_t n = wanted(want, names);
	char text[TEXT_MAX];

	if (!read_text(own, "cgroup.subtree_control", text, sizeof(text)))
		text[0] = '\0';
	for (size_t i = 0; i < n; i++) {
		if (!has_word(text, names[i]))
			return names[i];
	}
	return NULL;
}

static int check_controllers(struct run_cgroup *c, const struct run_cgroup_limits *want)
{
	const char *missing = not_passed_on(c->own, want);
	const char *names[3];
	size_t n = wanted(want, names);
	char text[TEXT_MAX];

	if (missing == NULL)
		return 0;
	/* The root of the whole hierarchy alone has no type; it is the host's to configure. */
	if (faccessat(c->own, "cgroup.type", F_OK, 0) != 0)
		return no_cgroup(c, "the root cgroup does not pass on the controller '%s'",
				 missing);
	if (!read_text(c->own, "cgroup.controllers", text, sizeof(text)))
		text[0] = '\0';
	for (size_t i = 0; i < n; i++) {
		if (!has_word(text, names[i]))
			return no_cgroup(c, "the cgroup of this process has no controller '%s'",
					 names[i]);
	}
	if (!alone(c->own))
		return no_cgroup(c,
				 "other processes are in the cgroup of this process, so that it "
				 "cannot pass on the controller '%s'",
				 missing);
	return 0;
}

static struct run_scope_host scope_host(const struct run_cgroup_host *host)
{
	return (struct run_scope_host){ .mount = host->mount,
					.runtime = host->runtime,
					.uid = geteuid() };
}

/* Beside what is there already in c->reason. */
static void no_scope(struct run_cgroup *c, const char *why)
{
	size_t len = strlen(c->reason);

	c->scope = false;
	(void)snprintf(c->reason + len, sizeof(c->reason) - len,
		       ", and the caller's service manager gives none: %s", why);
}

static void find_scope(const struct run_cgroup_host *host, const char *path, struct run_cgroup *c)
{
	const struct run_scope_host scope = scope_host(host);
	char why[160];

	c->scope = run_scope_check(&scope, path, why, sizeof(why)) == 0;
	if (!c->scope)
		no_scope(c, why);
}

/* @in_scope: the scope that was asked for. Then, and at the top of a container's view, which is the
 * container's, there need be no mark: a user manager of systemd 252 makes none. */
static void find(const struct run_cgroup_host *host, const struct run_cgroup_limits *want,
		 bool in_scope, struct run_cgroup *ret)
{
	char text[TEXT_MAX];
	const char *path;

	*ret = (struct run_cgroup)RUN_CGROUP_NONE;
	if (open_own(host, ret, text) != 0)
		return;
	path = own_path(text);
	if (check_delegated(host, ret, in_scope || *path == '\0') == 0 &&
	    check_controllers(ret, want) == 0)
		return;
	if (!in_scope && want != NULL && want->scope)
		find_scope(host, path, ret);
}

void run_cgroup_find(const struct run_cgroup_host *host, const struct run_cgroup_limits *want,
		     struct run_cgroup *ret)
{
	find(host, want, false, ret);
}

void run_cgroup_find_one(const struct run_cgroup_host *host, enum plan_limit limit, bool scope,
			 struct run_cgroup *ret)
{
	const struct run_cgroup_limits want = {
		.memory = limit == PLAN_LIMIT_MEMORY,
		.processes = limit == PLAN_LIMIT_PROCESSES,
		.cpus_milli = limit == PLAN_LIMIT_CPUS,
		.scope = scope,
	};
	const char *names[3];

	*ret = (struct run_cgroup)RUN_CGROUP_NONE;
	if (wanted(&want, names) == 0)
		(void)no_cgroup(ret, "a cgroup does not hold it");
	else
		find(host, &want, false, ret);
}

/* --- making it --- */

static int step_failed(struct err *err, const char *what, int r)
{
	return err_set(err, ERR_HOST, -r, "cannot set up the cgroup of the run (%s)", what);
}

/* Of runs in this pid namespace whose supervisor is gone. One that is not empty stays. */
static void remove_stale(int own, const char *prefix)
{
	size_t len = strlen(prefix);
	struct cgroup_dir dir;
	const char *name;
	char inner[NAME_MAX + sizeof("/" INNER)];

	if (cgroup_dir_open(&dir, own) != 0)
		return;
	while ((name = cgroup_dir_next(&dir)) != NULL) {
		long pid = strncmp(name, prefix, len) == 0 ? strtol(name + len, NULL, 10) : 0;

		if (pid > 0 && pid != getpid() && kill((pid_t)pid, 0) != 0 && errno == ESRCH) {
			(void)snprintf(inner, sizeof(inner), "%s/" INNER, name);
			(void)unlinkat(own, inner, AT_REMOVEDIR);
			(void)unlinkat(own, name, AT_REMOVEDIR);
		}
	}
	cgroup_dir_close(&dir);
}

/* Return: how much of it all runs in this pid namespace share: a pid means something there only. */
static size_t name_make(char *buf, size_t size)
{
	struct timespec now;
	struct stat st = { 0 };
	int len;

	(void)stat("/proc/self/ns/pid", &st);
	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	len = snprintf(buf, size, "agentbox-%lx-", (unsigned long)st.st_ino);
	(void)snprintf(buf + len, size - (size_t)len, "%d-%lx", (int)getpid(),
		       (unsigned long)now.tv_nsec);
	return (size_t)len;
}

static void leaf_name(const struct run_cgroup *c, char *buf, size_t size)
{
	(void)snprintf(buf, size, "%s.sup", c->name);
}

static int pass_on(struct run_cgroup *c, const struct run_cgroup_limits *want)
{
	const char *names[4];
	size_t n = wanted(want, names);
	char leaf[LEAF_SIZE], text[TEXT_MAX];
	char line[64] = "";
	FD_AUTO fd = -1;
	int r;

	leaf_name(c, leaf, sizeof(leaf));
	if (mkdirat(c->own, leaf, 0755) != 0)
		return -errno;
	c->moved = true;
	fd = openat(c->own, leaf, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	r = cgroup_file_write(fd, "cgroup.procs", "0");
	if (r < 0)
		return r;
	/* It counts the processes, where nobody asked for a limit of them too. */
	if (want->processes == 0 && read_text(c->own, "cgroup.controllers", text, sizeof(text)) &&
	    has_word(text, "pids"))
		names[n++] = "pids";
	for (size_t i = 0; i < n; i++)
		(void)snprintf(line + strlen(line), sizeof(line) - strlen(line), "%s+%s",
			       i > 0 ? " " : "", names[i]);
	return cgroup_file_write(c->own, "cgroup.subtree_control", line);
}

static int make_locked(const struct run_cgroup_limits *want, struct run_cgroup *c, struct err *err)
{
	const char *what;
	char prefix[40];
	int r;

	(void)snprintf(prefix, sizeof(prefix), "%.*s", (int)name_make(c->name, sizeof(c->name)),
		       c->name);
	remove_stale(c->own, prefix);
	if (not_passed_on(c->own, want) != NULL) {
		r = pass_on(c, want);
		if (r < 0)
			return step_failed(err, "passing controllers on", r);
	}
	if (mkdirat(c->own, c->name, 0755) != 0)
		return step_failed(err, "mkdir", -errno);
	c->fd = openat(c->own, c->name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (c->fd < 0)
		return step_failed(err, "open", -errno);
	r = cgroup_limits_set(c->fd, want, &what);
	if (r < 0)
		return step_failed(err, what, r);
	if (mkdirat(c->fd, INNER, 0755) != 0)
		return step_failed(err, "mkdir", -errno);
	c->in = openat(c->fd, INNER, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return c->in < 0 ? step_failed(err, "open", -errno) : 0;
}

/* Wait until the manager has moved this process to NAME.scope. */
static bool wait_moved(const char *name)
{
	const struct timespec moment = { .tv_nsec = SCOPE_NS };
	char want[96], text[TEXT_MAX];

	(void)snprintf(want, sizeof(want), "/%s.scope", name);
	for (int i = 0; i < SCOPE_TRIES; i++) {
		const char *path = read_text(AT_FDCWD, run_cgroup_host.self, text, sizeof(text))
					   ? own_path(text)
					   : NULL;
		size_t len = path == NULL ? 0 : strlen(path);

		if (len > strlen(want) && strcmp(path + len - strlen(want), want) == 0)
			return true;
		(void)nanosleep(&moment, NULL);
	}
	return false;
}

/* What is found in the scope is judged as if the caller had been started there. */
static void enter_scope(const struct run_cgroup_limits *want, struct run_cgroup *ret)
{
	const struct run_scope_host host = scope_host(&run_cgroup_host);
	char name[64], why[160];

	(void)name_make(name, sizeof(name));
	if (run_scope_ask(&host, name, why, sizeof(why)) != 0) {
		no_scope(ret, why);
		return;
	}
	if (!wait_moved(name)) {
		no_scope(ret, "it did not start the scope in time");
		return;
	}
	find(&run_cgroup_host, want, true, ret);
	ret->scope = ret->own >= 0;
}

int run_cgroup_make(const struct run_cgroup_limits *want, struct run_cgroup *ret, struct err *err)
{
	int r;

	run_cgroup_find(&run_cgroup_host, want, ret);
	if (ret->scope)
		enter_scope(want, ret);
	if (ret->own < 0)
		return 0;
	if (flock(ret->own, LOCK_EX) != 0)
		return step_failed(err, "lock", -errno);
	r = make_locked(want, ret, err);
	(void)flock(ret->own, LOCK_UN);
	if (r != 0)
		run_cgroup_close(ret);
	return r;
}

/* --- using it --- */

void run_cgroup_usage(const struct run_cgroup *c, struct run_cgroup_usage *ret)
{
	uint64_t us = 0;

	*ret = (struct run_cgroup_usage){ 0 };
	if (c == NULL || c->fd < 0)
		return;
	/* Peaks: Linux 5.19 and 6.11. */
	ret->memory_known = cgroup_file_number(c->fd, "memory.peak", NULL, &ret->memory_peak) == 0;
	ret->processes_known =
		cgroup_file_number(c->fd, "pids.peak", NULL, &ret->processes_peak) == 0;
	(void)!cgroup_file_number(c->fd, "memory.events", "oom_kill", &ret->oom_kills);
	(void)!cgroup_file_number(c->fd, "pids.events", "max", &ret->forks_refused);
	if (cgroup_file_number(c->fd, "cpu.stat", "throttled_usec", &us) == 0)
		ret->throttled_ms = us / 1000;
}

void run_cgroup_kill(const struct run_cgroup *c)
{
	/* Linux 5.14; before, the end of init does the same. */
	if (c != NULL && c->fd >= 0)
		(void)!cgroup_file_write(c->fd, "cgroup.kill", "1");
}

static void remove_dir(int own, const char *name)
{
	const struct timespec moment = { .tv_nsec = REMOVE_NS };

	for (int i = 0; i < REMOVE_TRIES; i++) {
		if (unlinkat(own, name, AT_REMOVEDIR) == 0 || errno != EBUSY)
			return;
		(void)nanosleep(&moment, NULL);
	}
}

static bool others_there(const struct run_cgroup *c)
{
	char leaf[LEAF_SIZE];
	struct cgroup_dir dir;
	const char *name;
	bool found = false;

	leaf_name(c, leaf, sizeof(leaf));
	if (cgroup_dir_open(&dir, c->own) != 0)
		return true;
	while (!found && (name = cgroup_dir_next(&dir)) != NULL)
		found = strcmp(name, leaf) != 0;
	cgroup_dir_close(&dir);
	return found;
}

/* As it was found: nothing passed on, and the supervisor where it was started. */
static void move_back(struct run_cgroup *c)
{
	char leaf[LEAF_SIZE];
	char text[TEXT_MAX];
	char line[TEXT_MAX + 64] = "";
	char *word, *rest = text;

	if (others_there(c) || !read_text(c->own, "cgroup.subtree_control", text, sizeof(text)))
		return;
	while ((word = strsep(&rest, " ")) != NULL) {
		if (word[0] != '\0')
			(void)snprintf(line + strlen(line), sizeof(line) - strlen(line), "-%s ",
				       word);
	}
	/* Nothing is, where it failed half way. */
	if ((line[0] != '\0' && cgroup_file_write(c->own, "cgroup.subtree_control", line) != 0) ||
	    cgroup_file_write(c->own, "cgroup.procs", "0") != 0)
		return;
	leaf_name(c, leaf, sizeof(leaf));
	remove_dir(c->own, leaf);
}

void run_cgroup_close(struct run_cgroup *c)
{
	if (c->own >= 0 && c->name[0] != '\0') {
		bool locked = flock(c->own, LOCK_EX) == 0;

		if (c->fd >= 0)
			remove_dir(c->fd, INNER);
		remove_dir(c->own, c->name);
		if (c->moved && locked)
			move_back(c);
	}
	fd_close(&c->in);
	fd_close(&c->fd);
	/* The lock goes with the last descriptor of it; no child has one. */
	fd_close(&c->own);
}
