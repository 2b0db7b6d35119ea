/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "world.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/strbuf.h"

static void die(const char *what)
{
	printf("Bail out! %s\n", what);
	perror(what);
	exit(1);
}

void world_open(struct world *w)
{
	char name[] = "/tmp/agentbox-policy.XXXXXX";
	char *real;

	*w = (struct world){ 0 };
	for (size_t i = 0; i < FACTS_DEVICES; i++)
		w->facts.devices[i].object.fd = -1;
	w->facts.self.fd = -1;
	if (mkdtemp(name) == NULL)
		die("mkdtemp");
	real = realpath(name, NULL);
	if (real == NULL)
		die("realpath");
	w->dir = arena_strdup(&w->arena, real);
	free(real);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

void world_close(struct world *w)
{
	facts_close(&w->facts);
	if (nftw(w->dir, remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT) != 0)
		die(w->dir);
	arena_free(&w->arena);
}

const char *world_path(struct world *w, const char *rel)
{
	return path_join(&w->arena, w->dir, rel);
}

void world_mkdir(struct world *w, const char *rel)
{
	char *p = arena_strdup(&w->arena, world_path(w, rel));

	for (char *s = strchr(p + strlen(w->dir) + 1, '/'); s != NULL; s = strchr(s + 1, '/')) {
		*s = '\0';
		(void)mkdir(p, 0755);
		*s = '/';
	}
	if (mkdir(p, 0755) != 0 && access(p, F_OK) != 0)
		die(p);
}

static void make_parent(struct world *w, const char *rel)
{
	const char *slash = strrchr(rel, '/');

	if (slash != NULL)
		world_mkdir(w, arena_strndup(&w->arena, rel, (size_t)(slash - rel)));
}

void world_file(struct world *w, const char *rel, unsigned mode)
{
	int fd;

	make_parent(w, rel);
	fd = open(world_path(w, rel), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, "x", 1) != 1 || fchmod(fd, mode) != 0)
		die(rel);
	(void)close(fd);
}

void world_text_file(struct world *w, const char *rel, const char *text)
{
	const char *data = world_text(w, text);
	size_t len = strlen(data);
	int fd;

	make_parent(w, rel);
	fd = open(world_path(w, rel), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, data, len) != (ssize_t)len)
		die(rel);
	(void)close(fd);
}

void world_fifo(struct world *w, const char *rel)
{
	make_parent(w, rel);
	if (mkfifo(world_path(w, rel), 0600) != 0)
		die(rel);
}

void world_link(struct world *w, const char *text, const char *rel)
{
	make_parent(w, rel);
	if (symlink(world_text(w, text), world_path(w, rel)) != 0)
		die(rel);
}

const char *world_text(struct world *w, const char *text)
{
	STRBUF_AUTO sb = { 0 };

	for (; *text != '\0'; text++) {
		if (*text == '@')
			strbuf_puts(&sb, w->dir);
		else
			strbuf_putc(&sb, *text);
	}
	return arena_strdup(&w->arena, strbuf_str(&sb));
}

void world_parse(struct world *w, const char *text)
{
	const struct profile_source src = {
		.fd = -1, .cwd = "/", .home = "/home/u", .uid = getuid(), .gid = getgid()
	};
	struct profile_text pt = { .name = "p.yaml", .dir = w->dir, .text = world_text(w, text) };
	struct err err = { 0 };

	pt.len = strlen(pt.text);
	if (profile_parse(&w->arena, &src, &pt, &w->profile, &err) != 0) {
		printf("# %u:%u: %s\n# in %s\n", err.line, err.col, err.msg, pt.text);
		die("the test's profile");
	}
	w->agent = w->profile->permissions.agents.n == 0
			   ? NULL
			   : agent_alone(&w->arena, &w->profile->permissions.agents.v[0]);
}

const struct policy_agent *world_agent(struct world *w, const char *id)
{
	const struct agent_asked asked = { .id = id };
	const char *reason;

	return agent_find(&w->arena, w->profile, &asked, &reason);
}

void world_roots(struct world *w, const char *roots)
{
	world_parse(w, arena_printf(&w->arena,
				    "sandbox: {roots: [%s]}\npermissions: {agents: {me: allow}}\n",
				    roots));
}

static void facts_base_add(struct world *w)
{
	struct facts_base *b = array_push(&w->arena, &w->facts.base);

	b->at = "/usr";
	b->kind = FACTS_BASE_DIR;
	if (facts_object_open(&w->arena, AT_FDCWD, world_path(w, "usr"), false, &b->object) != 0)
		die("usr");
	b = array_push(&w->arena, &w->facts.base);
	*b = (struct facts_base){
		.at = "/bin", .kind = FACTS_BASE_LINK, .link = "usr/bin", .object = { .fd = -1 }
	};
	b = array_push(&w->arena, &w->facts.base);
	*b = (struct facts_base){ .at = "/lib32", .object = { .fd = -1 } };
}

/* What world_facts() fills; the rest is the test's. */
static void facts_again(struct facts *f)
{
	for (size_t i = 0; i < f->base.n; i++)
		fd_close(&f->base.v[i].object.fd);
	for (size_t i = 0; i < f->roots.n; i++)
		fd_close(&f->roots.v[i].object.fd);
	fd_close(&f->self.fd);
	f->base.n = 0;
	f->roots.n = 0;
}

void world_facts(struct world *w)
{
	const struct profile_sandbox *s = &w->profile->sandbox;

	facts_again(&w->facts);
	world_mkdir(w, "usr/bin");
	facts_base_add(w);
	w->access = arena_array(&w->arena, s->roots.n, sizeof(*w->access));
	for (size_t i = 0; i < s->roots.n; i++) {
		struct facts_root *r = array_push(&w->arena, &w->facts.roots);

		*r = (struct facts_root){ .root = &s->roots.v[i], .object = { .fd = -1 } };
		r->present = facts_object_open(&w->arena, AT_FDCWD, r->root->path, true,
					       &r->object) == 0;
		if (r->present)
			policy_root_access(w->profile, w->agent, r->root, S_ISREG(r->object.mode),
					   &w->access[i]);
	}
	w->facts.caller = (struct facts_caller){ .uid = getuid(), .gid = getgid() };
	if (facts_object_open(&w->arena, AT_FDCWD, "/proc/self/exe", true, &w->facts.self) != 0)
		die("/proc/self/exe");
	view_build(&w->arena, &w->facts, w->access, &w->view);
}

enum view_result world_resolve(struct world *w, const char *path, const char **ret)
{
	struct view_target target;
	enum view_result r = view_resolve(&w->arena, &w->view, world_text(w, path), &target);

	*ret = target.path;
	view_target_close(&target);
	return r;
}

int world_guards(struct world *w, struct resolved *ret, struct err *err)
{
	const struct resolve_input in = {
		.profile = w->profile,
		.agent = w->agent,
		.facts = &w->facts,
		.view = &w->view,
		.access = w->access,
	};

	*ret = (struct resolved){ 0 };
	*err = (struct err){ 0 };
	return resolve_guards(&w->arena, &in, ret, err);
}

const char *world_guards_text(struct world *w)
{
	static const char *const kinds[] = { "hide", "freeze", "keep" };
	struct resolved r;
	struct err err;
	STRBUF_AUTO sb = { 0 };

	if (world_guards(w, &r, &err) != 0)
		return arena_printf(&w->arena, "error %s", err.msg);
	for (size_t i = 0; i < r.guards.n; i++) {
		const struct guard *g = &r.guards.v[i];

		strbuf_printf(&sb, "%s%s%s%s %s%s%s\n", kinds[g->kind], g->is_dir ? " d" : "",
			      g->is_link ? " l" : "", g->root_writable ? " !" : "", g->at,
			      g->from != NULL ? " < " : "", g->from != NULL ? g->from : "");
	}
	return arena_strdup(&w->arena, strbuf_str(&sb));
}
