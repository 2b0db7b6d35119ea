/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/path.h"
#include "policy/resolve.h"

static bool mode_executable(const struct facts_object *o)
{
	return S_ISREG(o->mode) && (o->mode & (S_IXUSR | S_IXGRP | S_IXOTH)) != 0;
}

/* One candidate: true when it is a program, with *file and *canonical set. */
static bool try_file(struct arena *a, const struct resolve_input *in, const char *path,
		     struct command_file *file, const char **canonical, bool *denied)
{
	struct view_target t;
	enum view_result r = view_resolve(a, in->view, path, &t);
	bool ok = false;

	if (r == VIEW_FOUND && t.object.fd >= 0 && S_ISREG(t.object.mode)) {
		ok = mode_executable(&t.object);
		*denied = *denied || !ok;
	}
	if (ok) {
		*file = (struct command_file){ .found = true, .id = t.object.id };
		*canonical = t.path;
	}
	view_target_close(&t);
	return ok;
}

/* As execvp(3) does: each entry of PATH, an empty one is the working directory. */
static const char *search_path(struct arena *a, const struct resolve_input *in, const char *workdir,
			       const char *name, struct command_file *file, const char **canonical,
			       bool *denied)
{
	const char *p = in->path_env;
	const char *first_denied = NULL;

	for (;;) {
		size_t len = strcspn(p, ":");
		const char *dir = len == 0 ? workdir : arena_strndup(a, p, len);
		const char *path = path_join(a, dir, name);

		if (!view_is_absent(in->view, path) &&
		    try_file(a, in, path, file, canonical, denied))
			return path;
		if (*denied && first_denied == NULL)
			first_denied = path;
		/* What is there without the right to run is tried last, so that the kernel says
		 * why. */
		if (p[len] == '\0')
			return first_denied;
		p += len + 1;
	}
}

static const char *lookup(struct arena *a, const struct resolve_input *in, const char *workdir,
			  const char *name, struct command_file *file, const char **canonical,
			  bool *denied)
{
	const char *path = name;

	*file = (struct command_file){ 0 };
	*canonical = NULL;
	if (name[0] == '\0')
		return NULL;
	if (strchr(name, '/') == NULL)
		return search_path(a, in, workdir, name, file, canonical, denied);
	if (name[0] != '/')
		path = path_join(a, workdir, name);
	(void)try_file(a, in, path, file, canonical, denied);
	return name;
}

static int resolve_workdir(struct arena *a, const struct resolve_input *in, struct resolved *ret,
			   struct err *err)
{
	const struct facts_caller *caller = &in->facts->caller;
	const struct view_node *node = NULL;
	const char *path = in->workdir;
	struct view_target t;
	enum view_result r;
	bool is_dir;

	if (path == NULL && caller->cwd != NULL)
		path = view_from_host(a, in->view, caller->cwd, &node);
	/* The base is no place to work in: only a granted root counts as "the caller's directory".
	 */
	if (in->workdir == NULL && node != NULL && node->kind != VIEW_ROOT)
		path = NULL;
	for (size_t i = 0; path == NULL && i < in->facts->roots.n; i++) {
		const struct facts_root *fr = &in->facts->roots.v[i];

		if (fr->present && in->access[i].read && S_ISDIR(fr->object.mode))
			path = fr->root->at;
	}
	if (path == NULL)
		path = "/";
	r = view_resolve(a, in->view, path, &t);
	is_dir = r == VIEW_FOUND && (t.is_own_dir || S_ISDIR(t.object.mode));
	ret->workdir = t.path;
	view_target_close(&t);
	if (r == VIEW_FORBIDDEN)
		return err_set(err, ERR_HOST, 0, "the working directory '%s' cannot be looked at",
			       path);
	if (!is_dir)
		return err_set(err, ERR_OUTSIDE, 0,
			       "the working directory '%s' is no directory of the sandbox", path);
	return 0;
}

/* A program that the host has and the sandbox has not: say so, rather than "not found". */
static int check_outside(struct arena *a, const struct resolve_input *in, const char *name,
			 struct err *err)
{
	struct stat st;
	struct view_target t;
	enum view_result r;

	if (name[0] != '/' || stat(name, &st) != 0)
		return 0;
	r = view_resolve(a, in->view, name, &t);
	view_target_close(&t);
	if (r == VIEW_FOUND || r == VIEW_FORBIDDEN)
		return 0;
	return err_set(err, ERR_OUTSIDE, 0,
		       "'%s' exists on the host, but lies outside the sandbox: grant its directory "
		       "as a root",
		       name);
}

static void resolve_patterns(struct arena *a, const struct resolve_input *in, struct resolved *ret)
{
	ret->n_pattern_files = in->agent->n_commands;
	ret->pattern_files = arena_array(a, ret->n_pattern_files, sizeof(*ret->pattern_files));
	for (size_t i = 0; i < in->agent->lists.n; i++) {
		const struct agent_rules *list = &in->agent->lists.v[i];

		for (size_t k = 0; k < list->commands.n; k++) {
			const struct agent_row *row = &list->commands.v[k];
			const struct profile_rule *rule = &list->rules.v[row->rule];
			const char *word = rule->commands.v[row->item].words[0];
			const char *canonical;
			bool denied = false;

			if (strcmp(word, "*") != 0)
				(void)lookup(a, in, ret->workdir, word,
					     &ret->pattern_files[row->number], &canonical, &denied);
		}
	}
}

int resolve_command(struct arena *a, const struct resolve_input *in, struct resolved *ret,
		    struct err *err)
{
	bool denied = false;

	if (resolve_workdir(a, in, ret, err) != 0)
		return -1;
	ret->exe =
		lookup(a, in, ret->workdir, in->argv[0], &ret->file, &ret->exe_canonical, &denied);
	if (!ret->file.found && check_outside(a, in, in->argv[0], err) != 0)
		return -1;
	resolve_patterns(a, in, ret);
	if (in->profile->sandbox.any_command)
		return 0;
	if (resolve_programs(a, in, ret, err) != 0)
		return -1;
	ret->unlisted = ret->file.found && !resolve_is_listed(ret, &ret->file.id);
	if (ret->unlisted)
		return err_set(err, ERR_OUTSIDE, 0, "'%s' is none of the sandbox's commands",
			       in->argv[0]);
	return 0;
}
