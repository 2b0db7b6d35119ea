/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Theory of operation: the kernel opens three kinds of file to execute them: the one that is
 * named, the interpreter of a script and the loader of a program, and for each of them it asks
 * for the same right. So the right is given to exactly the files that are found here.
 *
 * A loader would be a hole: as a command of its own it starts any program that it can read. It is
 * therefore shown as a sealed copy (loader_seal()), which the kernel takes as a loader and not as
 * a program, and the right is given to the copy. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/io.h"
#include "base/path.h"
#include "policy/facts-roots.h"
#include "policy/interp.h"
#include "policy/loader.h"
#include "policy/match.h"
#include "policy/resolve.h"

#define PROGRAMS_MAX 4096
#define NAMES_MAX    65536
/* As many as the kernel follows (exec_binprm()). */
#define SCRIPTS_MAX 5

struct programs {
	struct arena *arena;
	const struct resolve_input *in;
	struct resolved *ret;
	struct err *err;
	const struct profile_program *entry; /* being looked for */
	size_t names;                        /* looked at */
};

static int fail_at(const struct programs *p, const char *what, const char *path)
{
	const struct profile_pos *pos = &p->entry->pos;

	return err_set_at(p->err, ERR_PROFILE, pos->file, pos->line, pos->col,
			  "command '%s': %s %s", p->entry->text, path, what);
}

/* Programs can write to it, by this name or by another one of the same directory. */
static bool is_writable(struct programs *p, struct view_target *t)
{
	const struct facts *f = p->in->facts;

	if (t->node->writable)
		return true;
	if (facts_object_path(p->arena, &t->object) < 0)
		return true;
	for (size_t i = 0; i < f->roots.n; i++) {
		if (f->roots.v[i].present && p->in->access[i].read && p->in->access[i].write &&
		    path_covers(f->roots.v[i].object.path, t->object.path))
			return true;
	}
	return false;
}

/* A file of a root that has other names, where one of them may lie in a writable root: a hard link
 * never leaves its file system. What an ordinary caller owns in the base is no better. */
static bool is_linked(const struct programs *p, const struct view_target *t)
{
	const struct facts *f = p->in->facts;
	const struct file_id *id = &t->object.id;

	if (t->object.nlink <= 1 || (t->node->kind != VIEW_ROOT &&
				     (f->caller.kernel_root || t->object.uid != f->caller.uid)))
		return false;
	for (size_t i = 0; i < f->roots.n; i++) {
		const struct file_id *root = &f->roots.v[i].object.id;

		if (f->roots.v[i].present && p->in->access[i].read && p->in->access[i].write &&
		    root->dev_major == id->dev_major && root->dev_minor == id->dev_minor)
			return true;
	}
	return false;
}

static int fail_linked(const struct programs *p, const struct view_target *t)
{
	return fail_at(p,
		       arena_printf(p->arena,
				    "has %u names (hard links): copy it, or a program may write "
				    "to it by another one",
				    t->object.nlink),
		       t->path);
}

static int reopen(int fd)
{
	char link[64];

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	return open(link, O_RDONLY | O_CLOEXEC | O_NOCTTY);
}

static int seal(struct programs *p, const struct view_target *t, struct resolved_loader *ret)
{
	FD_AUTO fd = reopen(t->object.fd);
	char *image;
	size_t len;
	int r;

	if (fd < 0)
		return fail_at(p, "is its loader and cannot be read", t->path);
	r = io_read_file(fd, LOADER_MAX, p->arena, &image, &len);
	if (r == 0)
		r = loader_seal(p->arena, (const unsigned char *)image, len, &ret->image,
				&ret->len);
	if (r < 0)
		return fail_at(p,
			       "is its loader and cannot be kept from being a command itself: list "
			       "it as one too, or link the program statically",
			       t->path);
	return 0;
}

static int loader_add(struct programs *p, const struct view_target *t)
{
	struct resolved_loader l = { .path = t->path, .id = t->object.id };

	for (size_t i = 0; i < p->ret->loaders.n; i++) {
		if (file_id_same(&p->ret->loaders.v[i].id, &l.id))
			return 0;
	}
	/* Listed by the profile itself: a command like any other. */
	for (size_t i = 0; i < p->ret->programs.n; i++) {
		if (p->ret->programs.v[i].listed && file_id_same(&p->ret->programs.v[i].id, &l.id))
			return 0;
	}
	if (seal(p, t, &l) != 0)
		return -1;
	*array_push(p->arena, &p->ret->loaders) = l;
	return 0;
}

/* @via: how many scripts led here; 0 for what the profile lists. */
static int program_add(struct programs *p, struct view_target *t, int via)
{
	enum interp_kind kind;
	char interp[PATH_MAX];
	struct view_target next;
	int r = 0;

	for (size_t i = 0; i < p->ret->programs.n; i++) {
		struct resolved_program *known = &p->ret->programs.v[i];

		if (file_id_same(&known->id, &t->object.id)) {
			known->listed = known->listed || via == 0;
			return 0;
		}
	}
	if (p->ret->programs.n >= PROGRAMS_MAX)
		return fail_at(p, "and others are more than 4096 programs", t->path);
	*array_push(p->arena, &p->ret->programs) = (struct resolved_program){ .path = t->path,
									      .id = t->object.id,
									      .listed = via == 0 };
	/* One that may be executed and not read: what it needs is not known, and not given. */
	kind = interp_of_object(&t->object, interp);
	if (kind == INTERP_NONE || interp[0] != '/')
		return 0;
	if (view_resolve(p->arena, p->in->view, interp, &next) == VIEW_FOUND &&
	    next.object.fd >= 0 && S_ISREG(next.object.mode) && !is_writable(p, &next)) {
		if (is_linked(p, &next))
			r = fail_linked(p, &next);
		else if (kind == INTERP_ELF)
			r = loader_add(p, &next);
		else if (via < SCRIPTS_MAX)
			r = program_add(p, &next, via + 1);
	}
	view_target_close(&next);
	return r;
}

/* 1: a program, and added; 0: none there; -1. */
static int path_add(struct programs *p, const char *path)
{
	struct view_target t;
	int r = 0;

	if (view_resolve(p->arena, p->in->view, path, &t) == VIEW_FOUND && t.object.fd >= 0 &&
	    S_ISREG(t.object.mode) && (t.object.mode & (S_IXUSR | S_IXGRP | S_IXOTH)) != 0) {
		if (!is_writable(p, &t))
			r = is_linked(p, &t)             ? fail_linked(p, &t)
			    : program_add(p, &t, 0) != 0 ? -1
							 : 1;
		else if (!p->entry->is_pattern)
			r = fail_at(p,
				    "lies where programs may write, and nothing is executed from "
				    "there: grant it read-only",
				    t.path);
	}
	view_target_close(&t);
	return r;
}

static int pattern_add(struct programs *p, const char *dir, const char *pattern)
{
	struct facts_names names = { 0 };
	struct view_target t;
	int r = 0;

	if (view_resolve(p->arena, p->in->view, dir, &t) == VIEW_FOUND && t.object.fd >= 0 &&
	    S_ISDIR(t.object.mode))
		r = facts_names_list(p->arena, t.object.fd, &names);
	view_target_close(&t);
	/* Programs inside cannot list it either; what is named there may be listed by its path. */
	if (r < 0)
		return 0;
	p->names += names.n;
	if (p->names > NAMES_MAX)
		return fail_at(p, "and others hold more than 65536 names", dir);
	for (size_t i = 0; i < names.n; i++) {
		if (match_wildcards(pattern, names.v[i]) &&
		    path_add(p, path_join(p->arena, dir, names.v[i])) < 0)
			return -1;
	}
	return 0;
}

/* A name is the first file of that name in PATH, a pattern all of them. */
static int name_add(struct programs *p, const char *name)
{
	const char *path = p->in->path_env;

	for (;;) {
		size_t len = strcspn(path, ":");
		const char *dir = arena_strndup(p->arena, path, len);
		int r = 0;

		if (dir[0] == '/')
			r = p->entry->is_pattern ? pattern_add(p, dir, name)
						 : path_add(p, path_join(p->arena, dir, name));
		if (r < 0)
			return -1;
		if (r > 0 || path[len] == '\0')
			return 0;
		path += len + 1;
	}
}

static int entry_add(struct programs *p)
{
	const char *text = p->entry->text;

	if (text[0] != '/')
		return name_add(p, text);
	if (p->entry->is_pattern)
		return pattern_add(p, path_dirname(p->arena, text), path_basename(text));
	return path_add(p, text) < 0 ? -1 : 0;
}

int resolve_programs(struct arena *a, const struct resolve_input *in, struct resolved *ret,
		     struct err *err)
{
	const struct profile_sandbox *s = &in->profile->sandbox;
	struct programs p = { .arena = a, .in = in, .ret = ret, .err = err };
	const struct profile_pos *pos = &s->commands_pos;
	size_t kept = 0;

	if (in->facts->landlock_abi == 0)
		return err_set_at(
			err, ERR_HOST, pos->file, pos->line, pos->col,
			"'commands' needs Landlock, and this kernel has none (or it is not "
			"in the boot parameter lsm=)");
	for (size_t i = 0; i < s->commands.n; i++) {
		p.entry = &s->commands.v[i];
		if (entry_add(&p) != 0)
			return -1;
	}
	for (size_t i = 0; i < ret->loaders.n; i++) {
		bool listed = false;

		for (size_t k = 0; k < ret->programs.n; k++)
			listed = listed ||
				 (ret->programs.v[k].listed &&
				  file_id_same(&ret->programs.v[k].id, &ret->loaders.v[i].id));
		if (!listed)
			ret->loaders.v[kept++] = ret->loaders.v[i];
	}
	ret->loaders.n = kept;
	return 0;
}

bool resolve_is_listed(const struct resolved *r, const struct file_id *id)
{
	for (size_t i = 0; i < r->programs.n; i++) {
		if (r->programs.v[i].listed && file_id_same(&r->programs.v[i].id, id))
			return true;
	}
	return false;
}
