/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "run/scope.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "run/cgroup-file.h"
#include "sys/fs.h"

#define ANSWER_US (10UL * 1000 * 1000)

PRINTF_LIKE(3, 4) static int no_scope(char *why, size_t size, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(why, size, fmt, ap);
	va_end(ap);
	return -1;
}

/* --- may it be left --- */

/* cgroup-v2.rst: what each reads as where nothing is limited, or begins with before a space. */
static const struct {
	const char *file, *free;
} carried[] = {
	{ "memory.max", "max" },
	{ "memory.high", "max" },
	{ "memory.swap.max", "max" },
	{ "memory.swap.high", "max" },
	{ "memory.zswap.max", "max" },
	{ "pids.max", "max" },
	{ "cpu.max", "max" },
	{ "cpu.uclamp.max", "max" },
	{ "cpuset.cpus", "" },
	{ "cpuset.mems", "" },
	{ "io.max", "" },
	{ "misc.max", "" },
	{ "rdma.max", "" },
};

/* The file of a limit that the cgroup carries, or of one that cannot be read; NULL: none. */
static const char *limit_of(int dir)
{
	char text[4096];

	for (size_t i = 0; i < ARRAY_SIZE(carried); i++) {
		size_t len = strlen(carried[i].free);
		int r = cgroup_file_read(dir, carried[i].file, text, sizeof(text));

		/* The controller is not passed on to it. */
		if (r == -ENOENT)
			continue;
		if (r < 0 || strncmp(text, carried[i].free, len) != 0 ||
		    (text[len] != '\0' && (len == 0 || text[len] != ' ')))
			return carried[i].file;
	}
	return NULL;
}

/* How much of @path the scope is below too: the user's slice for a login session, the manager
 * itself for what it has started. 0: it is neither. */
static size_t shared_part(const char *path, unsigned uid)
{
	char slice[64], manager[128];
	size_t len;

	(void)snprintf(slice, sizeof(slice), "user.slice/user-%u.slice/", uid);
	(void)snprintf(manager, sizeof(manager), "%suser@%u.service/", slice, uid);
	len = strlen(manager);
	if (strncmp(path, manager, len) == 0 && path[len] != '\0')
		return len;
	len = strlen(slice);
	if (strncmp(path, slice, len) == 0 && strncmp(path + len, "session-", 8) == 0)
		return len;
	return 0;
}

static int check_limits(const struct run_scope_host *host, const char *path, size_t shared,
			char *why, size_t size)
{
	FD_AUTO top = open(host->mount, O_PATH | O_DIRECTORY | O_CLOEXEC);
	char part[4096];

	if (top < 0 || strlen(path) >= sizeof(part))
		return no_scope(why, size, "its cgroup cannot be looked at");
	(void)snprintf(part, sizeof(part), "%s", path);
	for (size_t len = strlen(part); len > shared;) {
		FD_AUTO dir = sys_openat2(top, part, O_RDONLY | O_DIRECTORY, 0,
					  RESOLVE_BENEATH | SYS_RESOLVE_PLAIN);
		const char *limit = dir < 0 ? "cgroup.procs" : limit_of(dir);

		if (limit != NULL)
			return no_scope(why, size,
					"this process would leave a limit for it (%s of %s)", limit,
					strrchr(part, '/') + 1);
		while (part[--len] != '/')
			;
		part[len] = '\0';
	}
	return 0;
}

static void bus_path(const struct run_scope_host *host, char *buf, size_t size)
{
	(void)snprintf(buf, size, "%s/%u/bus", host->runtime, host->uid);
}

int run_scope_check(const struct run_scope_host *host, const char *path, char *ret_why, size_t size)
{
	size_t shared = shared_part(path, host->uid);
	char bus[128];
	struct stat st;

	if (shared == 0)
		return no_scope(ret_why, size,
				"this process is in no login session and no user service of the "
				"caller");
	bus_path(host, bus, sizeof(bus));
	if (stat(bus, &st) != 0 || !S_ISSOCK(st.st_mode) || st.st_uid != host->uid)
		return no_scope(ret_why, size, "there is none at %s", bus);
	return check_limits(host, path, shared, ret_why, size);
}

/* --- asking for it --- */

/* sd-bus(3), as far as it is called here; the interface does not change within libsystemd.so.0. */
struct sd_bus;
struct sd_bus_error {
	const char *name, *message;
	int need_free;
};

struct bus_calls {
	int (*new)(struct sd_bus **ret);
	int (*set_address)(struct sd_bus *, const char *address);
	int (*set_bus_client)(struct sd_bus *, int yes);
	int (*start)(struct sd_bus *);
	int (*set_method_call_timeout)(struct sd_bus *, uint64_t us);
	int (*call_method)(struct sd_bus *, const char *destination, const char *path,
			   const char *interface, const char *member, struct sd_bus_error *,
			   void *reply, const char *types, ...);
	struct sd_bus *(*flush_close_unref)(struct sd_bus *);
	void (*error_free)(struct sd_bus_error *);
};

static const struct {
	const char *name;
	size_t at;
} symbols[] = {
	{ "sd_bus_new", offsetof(struct bus_calls, new) },
	{ "sd_bus_set_address", offsetof(struct bus_calls, set_address) },
	{ "sd_bus_set_bus_client", offsetof(struct bus_calls, set_bus_client) },
	{ "sd_bus_start", offsetof(struct bus_calls, start) },
	{ "sd_bus_set_method_call_timeout", offsetof(struct bus_calls, set_method_call_timeout) },
	{ "sd_bus_call_method", offsetof(struct bus_calls, call_method) },
	{ "sd_bus_flush_close_unref", offsetof(struct bus_calls, flush_close_unref) },
	{ "sd_bus_error_free", offsetof(struct bus_calls, error_free) },
};

static int load(void **ret_library, struct bus_calls *ret)
{
	*ret_library = dlopen("libsystemd.so.0", RTLD_NOW | RTLD_LOCAL);
	if (*ret_library == NULL)
		return -1;
	for (size_t i = 0; i < ARRAY_SIZE(symbols); i++) {
		void *symbol = dlsym(*ret_library, symbols[i].name);

		if (symbol == NULL)
			return -1;
		/* dlopen(3): a function is a pointer of the same size. */
		memcpy((char *)ret + symbols[i].at, &symbol, sizeof(symbol));
	}
	return 0;
}

static int start_scope(const struct bus_calls *c, struct sd_bus *bus, const char *name,
		       struct sd_bus_error *error)
{
	/* Process 0 is the one that asks: a number of ours may be somebody else's for a manager in
	 * another pid namespace. */
	return c->call_method(bus, "org.freedesktop.systemd1", "/org/freedesktop/systemd1",
			      "org.freedesktop.systemd1.Manager", "StartTransientUnit", error, NULL,
			      "ssa(sv)a(sa(sv))", name, "fail", 4U, "Description", "s",
			      "agentbox run", "Delegate", "b", 1, "PIDs", "au", 1U, (uint32_t)0,
			      "CollectMode", "s", "inactive-or-failed", 0U);
}

static int ask(const struct bus_calls *c, const struct run_scope_host *host, const char *name,
	       char *why, size_t size)
{
	struct sd_bus_error error = { 0 };
	struct sd_bus *bus = NULL;
	char path[128], address[160];
	int r;

	bus_path(host, path, sizeof(path));
	(void)snprintf(address, sizeof(address), "unix:path=%s", path);
	r = c->new (&bus);
	if (r >= 0)
		r = c->set_address(bus, address);
	if (r >= 0)
		r = c->set_bus_client(bus, 1);
	if (r >= 0)
		r = c->set_method_call_timeout(bus, ANSWER_US);
	if (r >= 0)
		r = c->start(bus);
	if (r >= 0)
		r = start_scope(c, bus, name, &error);
	if (r < 0)
		(void)no_scope(why, size, "it says: %s",
			       error.message != NULL ? error.message : strerrordesc_np(-r));
	c->error_free(&error);
	if (bus != NULL)
		(void)c->flush_close_unref(bus);
	return r < 0 ? -1 : 0;
}

int run_scope_ask(const struct run_scope_host *host, const char *name, char *ret_why, size_t size)
{
	struct bus_calls calls = { 0 };
	void *library;
	char unit[96];
	int r;

	(void)snprintf(unit, sizeof(unit), "%s.scope", name);
	if (load(&library, &calls) != 0)
		r = no_scope(ret_why, size, "libsystemd, which it is asked with, cannot be loaded");
	else
		r = ask(&calls, host, unit, ret_why, size);
	if (library != NULL)
		(void)dlclose(library);
	return r;
}
