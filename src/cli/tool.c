/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Theory of operation: the decision has followed every link and holds what it was about. That one
 * object, where a root holds it, is all that the sandbox shows: a file that is read or a directory
 * that is listed; for a file that is written, its directory. So nothing that happens to names
 * meanwhile leads the work to another place, and what rules deny beside it is not there to be met.
 */
#include "cli/tool.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/exitcode.h"
#include "base/path.h"
#include "child/report.h"
#include "policy/facts-roots.h"

/* Words that harnesses know, where there is one. */
static const struct {
	int errnum;
	const char *code;
	const char *text; /* instead of the kernel's, or NULL */
} failures[] = {
	{ ENOENT, "file_not_found", NULL },
	{ EISDIR, "is_directory", NULL },
	{ ENOTDIR, "not_directory", NULL },
	{ EACCES, "permission_denied", NULL },
	{ EPERM, "permission_denied", NULL },
	{ EROFS, "permission_denied", NULL },
	{ EINVAL, "not_a_file", "is no regular file" },
	{ ESTALE, "changed", "changed while it was being looked at: try again" },
	{ ELOOP, "changed", "changed while it was being looked at: try again" },
	{ EEXIST, "changed", "appeared while it was being written: try again" },
	{ EFBIG, "too_large", "is larger than may be written at once" },
	{ ENOSPC, "no_space", NULL },
	{ EDQUOT, "no_space", NULL },
};

static int fail(struct tool *t, int errnum, struct err *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(failures); i++) {
		if (failures[i].errnum != errnum)
			continue;
		t->code = failures[i].code;
		if (failures[i].text != NULL)
			return err_set(err, ERR_REQUEST, 0, "%s %s", t->path, failures[i].text);
	}
	return err_set(err, ERR_REQUEST, errnum, "%s", t->path);
}

int tool_failed(struct tool *t, const struct outcome_work *w, struct err *err)
{
	if (w->known && w->phase == CHILD_WORK_SETUP) {
		(void)err_set(err, ERR_HOST, w->errnum, "the work cannot be started");
		return EXITCODE_FAILED;
	}
	(void)fail(t, w->known ? w->errnum : EIO, err);
	return EXITCODE_TOOL;
}

void tool_init(struct tool *t, struct arena *a)
{
	*t = (struct tool){ .place = { .target = { .object = { .fd = -1 } } },
			    .holder = { .object = { .fd = -1 } } };
	prepare_init(&t->prep, a);
}

void tool_close(struct tool *t)
{
	view_target_close(&t->holder);
	view_target_close(&t->place.target);
	prepare_close(&t->prep);
}

/* A relative path begins where a command would. */
static const char *absolute(struct arena *a, const struct tool_input *in, const struct profile *p)
{
	const char *from = in->workdir != NULL ? in->workdir : p->sandbox.workdir;

	if (in->path[0] == '/' || in->path[0] == '\0' || from == NULL)
		return in->path;
	return strcmp(in->path, ".") == 0 ? from : path_join(a, from, in->path);
}

/* Facts with this one object as the only root, and nothing of the base. */
static int show_only(struct tool *t, struct facts_object *o, const char *at, bool write,
		     struct err *err)
{
	struct arena *a = t->prep.context.arena;
	struct facts *f = arena_new(a, struct facts);
	struct profile_root *root = arena_new(a, struct profile_root);
	struct tree_access *access = arena_new(a, struct tree_access);
	int r = facts_object_path(a, o);

	if (r < 0)
		return err_set(err, ERR_HOST, -r, "%s", t->path);
	*root = (struct profile_root){ .at = at,
				       .mode = write ? PROFILE_MODE_RW : PROFILE_MODE_RO };
	*access = (struct tree_access){ .read = true, .write = write };
	*f = (struct facts){ .caller = t->prep.context.facts.caller,
			     .landlock_abi = t->prep.context.facts.landlock_abi,
			     .proc_ro = t->prep.context.facts.proc_ro,
			     .self = { .fd = -1 } };
	for (size_t i = 0; i < FACTS_DEVICES; i++)
		f->devices[i].object.fd = -1;
	*array_push(a, &f->roots) =
		(struct facts_root){ .root = root, .present = true, .object = *o };
	t->prep.shown = (struct prepare_shown){ f, access };
	t->work.at = at;
	return 0;
}

/* The directory is looked up anew: what was decided on is what it holds now, or nothing is done. */
static int show_holder(struct arena *a, struct tool *t, struct err *err)
{
	const struct view_target *target = &t->place.target;
	const char *dir = path_dirname(a, target->path);

	if (view_resolve(a, &t->prep.context.view, dir, &t->holder) != VIEW_FOUND ||
	    t->holder.object.fd < 0 || strcmp(t->holder.path, dir) != 0 ||
	    t->holder.node->root != target->node->root || !S_ISDIR(t->holder.object.mode))
		return fail(t, ESTALE, err);
	t->work.name = path_basename(target->path);
	t->work.exists = t->place.result == VIEW_FOUND;
	t->work.id = target->object.id;
	return show_only(t, &t->holder.object, dir, true, err);
}

/* What the verb cannot be about, found before anything is built. */
static int wrong_kind(const struct tool *t)
{
	bool list = t->verb->kind == PLAN_WORK_LIST;
	uint32_t mode = t->place.target.object.mode;

	if (t->place.target.no_parent)
		return ENOENT;
	if (t->place.result == VIEW_ABSENT)
		return t->verb->kind == PLAN_WORK_WRITE ? 0 : ENOENT;
	if (t->place.target.is_own_dir)
		return list ? 0 : EISDIR;
	if (S_ISDIR(mode))
		return list ? 0 : EISDIR;
	if (list)
		return ENOTDIR;
	return S_ISREG(mode) ? 0 : EINVAL;
}

static int show(struct arena *a, struct tool *t, struct err *err)
{
	struct view_target *target = &t->place.target;
	int e = wrong_kind(t);

	if (e != 0)
		return fail(t, e, err);
	if (target->node->kind != VIEW_ROOT) {
		/* The base as a run has it, with our own files and masks over it; a directory of
		 * our own has no content but what is in it there. */
		cli_context_view(&t->prep.context, false);
		t->work.at = target->path;
		return 0;
	}
	if (t->verb->kind == PLAN_WORK_WRITE && strcmp(target->node->at, target->path) != 0)
		return show_holder(a, t, err);
	return show_only(t, &target->object, target->path, t->verb->kind == PLAN_WORK_WRITE, err);
}

static uint64_t most_bytes(const struct tool *t, const struct tool_input *in)
{
	const struct profile_limit *l = &t->prep.context.profile->sandbox.limits.output_bytes;

	if (t->verb->kind == PLAN_WORK_WRITE)
		return TOOL_WRITE_BYTES;
	if (!in->capture)
		return l->set ? l->value : TOOL_READ_BYTES;
	if (!l->set)
		return PLAN_CAPTURE_BYTES;
	return l->value < PLAN_CAPTURE_MAX ? l->value : PLAN_CAPTURE_MAX;
}

static int plan(struct arena *a, const struct tool_input *in, struct tool *t, struct err *err)
{
	char **argv = arena_array(a, 3, sizeof(char *));
	struct prepare_input pi = {
		.source = in->source,
		.argv = argv,
		.environ = in->environ,
		.timeout_ms = in->timeout_ms,
		.capture = in->capture,
		.work = &t->work,
	};

	argv[0] = arena_strdup(a, "tool");
	argv[1] = arena_strdup(a, t->verb->name);
	t->work.kind = t->verb->kind;
	t->work.bytes = most_bytes(t, in);
	t->prep.resolved.workdir = "/";
	if (t->verb->kind == PLAN_WORK_LIST && check_guards(&t->prep.context, err) != 0)
		return cli_rc(err);
	if (show(a, t, err) != 0)
		return t->code != NULL ? EXITCODE_TOOL : cli_rc(err);
	return prepare_plan(a, &pi, &t->prep, err) == 0 ? 0 : cli_rc(err);
}

int tool_prepare(struct arena *a, const struct tool_input *in, struct tool *t, struct err *err)
{
	struct prepared *p = &t->prep;
	struct cli_context *c = &p->context;
	int rc;

	if (cli_context_load(c, &in->source, err) != 0)
		return cli_rc(err);
	t->path = absolute(a, in, c->profile);
	if (record_begin_path(&p->record, c, t->verb->action, t->path, err) != 0)
		return cli_rc(err);
	p->began = true;
	if (c->agent == NULL) {
		p->decision = c->identity;
	} else {
		if (cli_context_facts(c, true, err) != 0 ||
		    check_path(a, c, t->verb->action, t->path, &t->place, err) != 0)
			return cli_rc(err);
		p->decision = t->place.decision;
	}
	p->decided = true;
	if (p->decision.verdict != PROFILE_ALLOW)
		return record_decision(&p->record, &p->decision, err) == 0 ? check_rc(&p->decision)
									   : cli_rc(err);
	record_allowed(&p->record, &p->decision);
	rc = plan(a, in, t, err);
	if (rc != 0) {
		p->plan = NULL;
		record_failure(&p->record, err);
	}
	return rc;
}
