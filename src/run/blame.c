/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "run/blame.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "child/child.h"

int blame_at(struct err *err, enum cause_place place, int errnum, const char *what)
{
	struct cause_facts facts;
	struct cause c;

	cause_facts_gather(&facts);
	if (!cause_find(&facts, place, errnum, &c))
		return err_set(err, ERR_HOST, errnum, "%s", what);
	err_set(err, ERR_HOST, 0, "%s: %s (%s; %s)", what, err_text(errnum), c.text, c.remedy);
	err->errnum = errnum;
	return -1;
}

int blame_clone(struct err *err, int errnum)
{
	return blame_at(err, CAUSE_CLONE, errnum,
			"cannot make the namespaces of the sandbox (clone3)");
}

int blame_ids(struct err *err, const char *file, int errnum)
{
	char what[128];

	(void)snprintf(what, sizeof(what), "cannot write the sandbox's %s", file);
	return blame_at(err, CAUSE_IDS, errnum, what);
}

enum cause_place blame_place(unsigned step)
{
	static const enum cause_place places[CHILD_STEP_MAX] = {
		[CHILD_STEP_PROPAGATION] = CAUSE_MOUNT, [CHILD_STEP_SOURCES] = CAUSE_MOUNT,
		[CHILD_STEP_FILTER] = CAUSE_FILTER,     [CHILD_STEP_WAIT_IDS] = CAUSE_IDS,
		[CHILD_STEP_ROOT] = CAUSE_MOUNT,        [CHILD_STEP_PROC] = CAUSE_PROC,
		[CHILD_STEP_PIVOT] = CAUSE_PIVOT,       [CHILD_STEP_BUILD] = CAUSE_MOUNT,
		[CHILD_STEP_DETACH] = CAUSE_PIVOT,      [CHILD_STEP_SEAL] = CAUSE_MOUNT,
	};

	return step < CHILD_STEP_MAX && places[step] != CAUSE_NOWHERE ? places[step] : CAUSE_OTHER;
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
	/* What a path of the plan leads to was free of links when it was decided on. */
	if (errnum == ESTALE || (errnum == ELOOP && path != NULL)) {
		err_set(err, ERR_HOST, 0,
			"%s: changed while the sandbox was being built%s; try again", what,
			errnum == ELOOP ? " (a symbolic link stands there now)" : "");
		err->errnum = errnum;
		return -1;
	}
	if (r->step == CHILD_STEP_NETWORK && errnum == ENOPROTOOPT) {
		err_set(err, ERR_HOST, 0,
			"%s: a host with any port (:*) needs a kernel with veth and nf_tables' "
			"tproxy; list ports or ranges instead",
			what);
		err->errnum = errnum;
		return -1;
	}
	return blame_at(err, blame_place(r->step), errnum, what);
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
