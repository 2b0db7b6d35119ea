/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "run/blame.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/io.h"
#include "child/child.h"

/* A setting of the host that explains a refusal when it has this value. */
struct cause {
	const char *path; /* below /proc/sys */
	long value;
	bool spares_root;
	const char *text; /* what it is, what to do */
};

/* Refused by clone3 itself: EPERM. */
static const struct cause clone_causes[] = {
	{ "/proc/sys/kernel/unprivileged_userns_clone", 0, true,
	  "kernel.unprivileged_userns_clone is 0: only root may make user namespaces here; the "
	  "administrator can allow it with: sysctl kernel.unprivileged_userns_clone=1" },
};

/* Out of namespaces: ENOSPC (EUSERS before Linux 4.9). */
static const struct cause count_causes[] = {
#define COUNT_CAUSE(name)                                                                          \
	{                                                                                          \
		"/proc/sys/user/max_" name "_namespaces", 0, false,                                \
			"user.max_" name                                                           \
			"_namespaces is 0: nobody may make such namespaces here; the "             \
			"administrator can allow it with: sysctl user.max_" name                   \
			"_namespaces=15000"                                                        \
	}
	COUNT_CAUSE("user"), COUNT_CAUSE("mnt"),    COUNT_CAUSE("pid"), COUNT_CAUSE("ipc"),
	COUNT_CAUSE("uts"),  COUNT_CAUSE("cgroup"), COUNT_CAUSE("net"),
#undef COUNT_CAUSE
};

/* The clone succeeds and the new namespace grants nothing: EPERM or EACCES in the steps after
 * it (Ubuntu 23.10 and later). */
static const struct cause step_causes[] = {
	{ "/proc/sys/kernel/apparmor_restrict_unprivileged_userns", 1, true,
	  "kernel.apparmor_restrict_unprivileged_userns is 1: AppArmor takes all rights from user "
	  "namespaces of programs without a profile; install a profile that allows userns for "
	  "agentbox, or have the administrator set: "
	  "sysctl kernel.apparmor_restrict_unprivileged_userns=0" },
};

static bool cause_holds(const struct cause *c)
{
	char buf[32] = "";
	char *end;
	ssize_t n;
	long v;
	FD_AUTO fd = open(c->path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || (c->spares_root && geteuid() == 0))
		return false;
	n = io_read_full(fd, buf, sizeof(buf) - 1);
	if (n <= 0)
		return false;
	v = strtol(buf, &end, 10);
	return end != buf && v == c->value;
}

static const char *cause_find(const struct cause *causes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (cause_holds(&causes[i]))
			return causes[i].text;
	return NULL;
}

/* The refusal with its cause, if one of @causes is it. */
static int blame_with(struct err *err, int errnum, const char *what, const struct cause *causes,
		      size_t n)
{
	const char *text = cause_find(causes, n);

	if (text == NULL)
		return err_set(err, ERR_HOST, errnum, "%s", what);
	err_set(err, ERR_HOST, 0, "%s: %s (%s)", what, strerror(errnum), text);
	err->errnum = errnum;
	return -1;
}

int blame_clone(struct err *err, int errnum)
{
	static const char what[] = "cannot make the namespaces of the sandbox (clone3)";

	switch (errnum) {
	case EPERM:
		return blame_with(err, errnum, what, clone_causes, ARRAY_SIZE(clone_causes));
	case ENOSPC:
	case EUSERS:
		return blame_with(err, errnum, what, count_causes, ARRAY_SIZE(count_causes));
	case ENOSYS:
	case EINVAL:
		return err_set(err, ERR_HOST, errnum,
			       "%s; agentbox needs Linux 5.13 or newer with all namespaces built "
			       "in, and no filter around it that refuses clone3",
			       what);
	default:
		return err_set(err, ERR_HOST, errnum, "%s", what);
	}
}

int blame_ids(struct err *err, const char *file, int errnum)
{
	char what[128];

	(void)snprintf(what, sizeof(what), "cannot write the sandbox's %s", file);
	if (errnum == EPERM || errnum == EACCES)
		return blame_with(err, errnum, what, step_causes, ARRAY_SIZE(step_causes));
	return err_set(err, ERR_HOST, errnum, "%s", what);
}

/* The path that a failed step was about, if it is about one. */
static const char *step_path(const struct plan *plan, const struct child_report *r)
{
	if (r->step == CHILD_STEP_SOURCES && r->op < plan->n_sources)
		return plan->sources[r->op].path;
	if (r->step == CHILD_STEP_BUILD && r->op < plan->n_ops)
		return plan->ops[r->op].at;
	if (r->step == CHILD_STEP_LANDLOCK && r->op < plan->landlock.n_rules)
		return plan->landlock.rules[r->op].at;
	if (r->step == CHILD_STEP_WORKDIR)
		return plan->workdir;
	return NULL;
}

int blame_step(struct err *err, const struct plan *plan, const struct child_report *r)
{
	const char *path = step_path(plan, r);
	int errnum = r->errnum > 0 && r->errnum < 4096 ? r->errnum : EPROTO;
	char what[ERR_MSG_MAX / 2];

	if (r->step == CHILD_STEP_NONE || r->step >= CHILD_STEP_MAX)
		return err_set(err, ERR_INTERNAL, EPROTO, "the sandbox reports an unknown step");
	(void)snprintf(what, sizeof(what), "%s%s%s", child_step_name((enum child_step)r->step),
		       path == NULL ? "" : ": ", path == NULL ? "" : path);
	if (errnum == ESTALE) {
		err_set(err, ERR_HOST, 0,
			"%s: changed while the sandbox was being built; try again", what);
		err->errnum = errnum;
		return -1;
	}
	if (errnum == EPERM || errnum == EACCES)
		return blame_with(err, errnum, what, step_causes, ARRAY_SIZE(step_causes));
	if (r->step == CHILD_STEP_FILTER && (errnum == EINVAL || errnum == ENOSYS))
		return err_set(err, ERR_HOST, errnum,
			       "%s: agentbox needs a kernel with CONFIG_SECCOMP_FILTER", what);
	return err_set(err, ERR_HOST, errnum, "%s", what);
}

int blame_exec(struct err *err, const struct plan *plan, int errnum)
{
	/* A bare name that no directory of the sandbox's PATH has: nothing was tried. */
	if (plan->exe[0] == '\0')
		return err_set(err, ERR_REQUEST, 0, "%s: not found in the sandbox's PATH",
			       plan->argv[0]);
	switch (errnum) {
	case ENOENT:
		return err_set(err, ERR_REQUEST, errnum,
			       "%s: cannot run it inside the sandbox: it, or the interpreter that "
			       "it names, is not there",
			       plan->exe);
	case ENOEXEC:
		return err_set(err, ERR_REQUEST, errnum,
			       "%s: neither a program of this machine nor a script with a #! line",
			       plan->exe);
	default:
		return err_set(err, ERR_REQUEST, errnum > 0 && errnum < 4096 ? errnum : EPROTO,
			       "%s: cannot run it inside the sandbox", plan->exe);
	}
}
