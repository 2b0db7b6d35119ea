/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "policy/interp.h"
#include "policy/resolve.h"

/* The kernel follows this many scripts whose interpreter is a script (fs/exec.c). */
#define SCRIPTS_MAX 5

static ssize_t read_file(void *ctx, uint64_t off, void *buf, size_t len)
{
	const int *fd = ctx;
	ssize_t n;

	if (off > INT64_MAX - len)
		return -1;
	do
		n = pread(*fd, buf, len, (off_t)off);
	while (n < 0 && errno == EINTR);
	return n;
}

enum interp_kind interp_of_object(const struct facts_object *o, char ret[PATH_MAX])
{
	char link[64];
	FD_AUTO fd = -1;

	if (!S_ISREG(o->mode))
		return INTERP_NONE;
	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", o->fd);
	fd = open(link, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	return fd < 0 ? INTERP_NONE : interp_find(read_file, &fd, ret);
}

static bool on_host(const char *path)
{
	struct stat st;

	return path[0] == '/' && stat(path, &st) == 0;
}

bool resolve_missing(struct arena *a, const struct view *view, const char *workdir, const char *exe,
		     struct resolve_missing *ret)
{
	const char *path = exe[0] == '/' ? exe : path_join(a, workdir, exe);

	*ret = (struct resolve_missing){ .of = path };
	for (int i = 0; i <= SCRIPTS_MAX; i++) {
		char text[PATH_MAX];
		struct view_target t;
		enum view_result r = view_resolve(a, view, path, &t);
		enum interp_kind kind = INTERP_NONE;

		if (r == VIEW_ABSENT || r == VIEW_OUTSIDE) {
			ret->path = path;
			ret->on_host = on_host(path);
			return true;
		}
		if (r == VIEW_FOUND && t.object.fd >= 0)
			kind = interp_of_object(&t.object, text);
		view_target_close(&t);
		if (kind == INTERP_NONE)
			return false;
		ret->of = path;
		ret->is_script = kind == INTERP_SCRIPT;
		path = text[0] == '/' ? arena_strdup(a, text) : path_join(a, workdir, text);
		ret->is_interpreter = true;
	}
	return false;
}

int resolve_missing_err(const struct resolve_missing *m, struct err *err)
{
	const char *where = m->on_host ? "which the host has and the sandbox has not: see 'base'"
				       : "which is not on this host either";

	if (!m->is_interpreter)
		return err_set(err, ERR_REQUEST, 0, "%s: it is not there inside the sandbox",
			       m->of);
	(void)err_set(err, ERR_REQUEST, 0, "%s: %s '%s', %s", m->of,
		      m->is_script ? "its first line names the interpreter"
				   : "it needs the ELF interpreter",
		      m->path, where);
	err->errnum = ENOENT;
	return -1;
}
