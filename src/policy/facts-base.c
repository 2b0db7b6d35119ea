/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "policy/facts-base.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "policy/facts-roots.h"

/* Entries of a root file system: its top, /etc and what a root needs a place in. */
#define BASE_ENTRIES_MAX 2048

/* The top of the system that programs need to start; what is absent here is absent inside. The
 * rest of / and all of /var is data: it takes a root to see it. */
static const char *const host_names[] = { "/usr",    "/bin", "/sbin", "/lib", "/lib32", "/lib64",
					  "/libx32", "/etc", "/opt",  "/nix", "/gnu" };

/* The stores of NixOS and Guix are what /usr is elsewhere. */
static const char *const minimal_names[] = { "/usr",   "/bin",    "/sbin", "/lib", "/lib32",
					     "/lib64", "/libx32", "/nix",  "/gnu" };

/* What programs fail without, or tell another time or trust other authorities without; nothing
 * about the host, its users or its services. */
static const char *const minimal_etc[] = {
	"ld.so.cache",
	"ld.so.conf",
	"ld.so.conf.d",
	"ld-musl-x86_64.path",
	"alternatives",
	"static",
	"ssl",
	"ca-certificates",
	"pki",
	"gnutls",
	"crypto-policies",
	"localtime",
	"timezone",
	"protocols",
	"services",
	"ethers",
	"rpc",
	"host.conf",
	"gai.conf",
	"mime.types",
	"magic",
	"locale.alias",
	"locale.conf",
	"terminfo",
	"inputrc",
	"fonts",
	"perl",
	"shells",
	"login.defs",
	"os-release",
	"xattr.conf",
};

/* Where NixOS and Guix keep the way into the store. Nothing else of /run is shown. */
static const char *const run_links[] = { "/run/current-system", "/run/opengl-driver" };

/* Of a root file system: the sandbox has its own. */
static const char *const own_places[] = { "/proc", "/dev",     "/sys",     "/tmp",     "/run",
					  "/home", "/var/tmp", "/var/run", "/var/lock" };

struct gather {
	struct arena *arena;
	const struct facts_input *in;
	struct facts *facts;
	const char *prefix; /* of host paths: "" or the canonical path of the root file system */
	struct err *err;
};

const struct facts_base *facts_base_find(const struct facts *f, const char *at)
{
	for (size_t i = 0; i < f->base.n; i++) {
		if (f->base.v[i].kind != FACTS_BASE_ABSENT && strcmp(f->base.v[i].at, at) == 0)
			return &f->base.v[i];
	}
	return NULL;
}

const struct facts_base *facts_base_holder(const struct facts *f, const char *path)
{
	for (size_t i = 0; i < f->base.n; i++) {
		const struct facts_base *b = &f->base.v[i];

		if (b->kind != FACTS_BASE_ABSENT && b->kind != FACTS_BASE_MADE &&
		    path_covers(b->at, path))
			return b;
	}
	return NULL;
}

static int take(struct gather *g, int dirfd, const char *name, const char *at);

static bool is_own_place(const struct gather *g, const char *at)
{
	const struct profile_sandbox *s = &g->in->profile->sandbox;
	const char *const *own = facts_etc_own_names();

	for (size_t i = 0; path_covers("/etc", at) && i < FACTS_ETC; i++) {
		if (strcmp(path_rest("/etc", at), own[i]) == 0)
			return true;
	}
	for (size_t i = 0; i < ARRAY_SIZE(own_places); i++) {
		if (strcmp(own_places[i], at) == 0)
			return true;
	}
	/* The root's mountpoint is made where the entry would be. */
	for (size_t i = 0; i < s->roots.n; i++) {
		if (strcmp(s->roots.v[i].at, at) == 0)
			return true;
	}
	return false;
}

/* A directory of a root file system in which something must be made that is not there: it becomes
 * one of ours, with its entries in it. */
static bool must_make(const struct gather *g, int fd, const char *at)
{
	const struct profile_sandbox *s = &g->in->profile->sandbox;
	const char *const *own = facts_etc_own_names();
	struct stat st;

	if (s->base != PROFILE_BASE_PATH)
		return false;
	if (strcmp(at, "/var") == 0)
		return true;
	for (size_t i = 0; strcmp(at, "/etc") == 0 && i < FACTS_ETC; i++) {
		if (fstatat(fd, own[i], &st, AT_SYMLINK_NOFOLLOW) != 0 ||
		    (!S_ISREG(st.st_mode) && !S_ISLNK(st.st_mode)))
			return true;
	}
	for (size_t i = 0; i < s->roots.n; i++) {
		if (strcmp(s->roots.v[i].at, at) != 0 && path_covers(at, s->roots.v[i].at))
			return true;
	}
	return false;
}

static int take_all(struct gather *g, int dirfd, const char *at)
{
	struct facts_names names = { 0 };
	int r = facts_names_list(g->arena, dirfd, &names);

	if (r < 0)
		return err_set(g->err, ERR_HOST, -r, "base %s%s", g->prefix, at);
	for (size_t i = 0; i < names.n; i++) {
		const char *child = path_join(g->arena, at, names.v[i]);

		if (!is_own_place(g, child) && take(g, dirfd, names.v[i], child) != 0)
			return -1;
	}
	return 0;
}

/* A directory or a file, held; anything else is no part of a base. */
static int take_object(struct gather *g, int dirfd, const char *name, struct facts_base b)
{
	FD_AUTO fd = openat(dirfd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	int r = fd < 0 ? -errno : facts_object_hold(fd, &b.object);

	if (r < 0)
		return err_set(g->err, ERR_HOST, -r, "base %s%s", g->prefix, b.at);
	if (S_ISDIR(b.object.mode))
		b.kind = must_make(g, fd, b.at) ? FACTS_BASE_MADE : FACTS_BASE_DIR;
	else if (S_ISREG(b.object.mode))
		b.kind = FACTS_BASE_FILE;
	else
		return 0;
	b.object.path =
		g->prefix[0] == '\0' ? b.at : arena_printf(g->arena, "%s%s", g->prefix, b.at);
	*array_push(g->arena, &g->facts->base) = b;
	/* The entry owns it from here on. */
	r = fd_take(&fd);
	return b.kind == FACTS_BASE_MADE ? take_all(g, r, b.at) : 0;
}

/* One entry as it is on the host: a link as a link, whatever it leads to. A link needs no
 * descriptor, and most of the base is links: asked first. */
static int take(struct gather *g, int dirfd, const char *name, const char *at)
{
	struct facts_base b = { .at = at, .object = { .fd = -1 } };
	char text[PATH_MAX];
	ssize_t n = readlinkat(dirfd, name, text, sizeof(text));

	if (n < 0 && errno == ENOENT)
		return 0;
	if (n == 0 || n >= (ssize_t)sizeof(text))
		return err_set(g->err, ERR_HOST, ENAMETOOLONG, "base %s%s", g->prefix, at);
	if (n < 0 && errno != EINVAL)
		return err_set(g->err, ERR_HOST, errno, "base %s%s", g->prefix, at);
	if (g->facts->base.n >= BASE_ENTRIES_MAX)
		return err_set(g->err, ERR_HOST, 0, "base %s: more than %d entries", g->prefix,
			       BASE_ENTRIES_MAX);
	if (n < 0)
		return take_object(g, dirfd, name, b);
	b.kind = FACTS_BASE_LINK;
	b.link = arena_strndup(g->arena, text, (size_t)n);
	*array_push(g->arena, &g->facts->base) = b;
	return 0;
}

static int take_names(struct gather *g, const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (take(g, AT_FDCWD, names[i], names[i]) != 0)
			return -1;
	}
	return 0;
}

/* A directory of ours, with what programs need of the host's. */
static int take_minimal_etc(struct gather *g)
{
	struct facts_base b = { .at = "/etc", .kind = FACTS_BASE_MADE, .object = { .fd = -1 } };
	FD_AUTO fd = open("/etc", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int r;

	if (fd < 0)
		return err_set(g->err, ERR_HOST, errno, "base /etc");
	r = facts_object_hold(fd, &b.object);
	if (r < 0)
		return err_set(g->err, ERR_HOST, -r, "base /etc");
	b.object.path = b.at;
	*array_push(g->arena, &g->facts->base) = b;
	r = fd_take(&fd);
	for (size_t i = 0; i < ARRAY_SIZE(minimal_etc); i++) {
		if (take(g, r, minimal_etc[i], path_join(g->arena, "/etc", minimal_etc[i])) != 0)
			return -1;
	}
	return 0;
}

/* Links into a store, where there is one. @dirfd, @skip: "/" by name, or a descriptor for it. */
static int take_run_links(struct gather *g, int dirfd, size_t skip)
{
	struct facts *f = g->facts;

	if (facts_base_find(f, "/nix") == NULL && facts_base_find(f, "/gnu") == NULL)
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(run_links); i++) {
		const struct facts_base *last;
		size_t before = f->base.n;

		if (take(g, dirfd, run_links[i] + skip, run_links[i]) != 0)
			return -1;
		if (f->base.n == before)
			continue;
		last = &f->base.v[before];
		if (last->kind != FACTS_BASE_LINK ||
		    (!path_covers("/nix", last->link) && !path_covers("/gnu", last->link))) {
			fd_close(&f->base.v[before].object.fd);
			f->base.n = before;
		}
	}
	return 0;
}

/* A directory that the profile names, held and judged as a root is. */
static int open_named(struct gather *g, const char *key, const char *path,
		      const struct profile_pos *pos, struct facts_object *ret)
{
	struct facts_judge judge = { 0 };

	if (facts_judge_build(g->arena, g->in, &g->facts->caller, &judge, g->err) != 0 ||
	    facts_named_open(g->arena, &g->facts->caller, key, path, pos, ret, g->err) != 0 ||
	    facts_judge(&judge, ret, key, path, pos, g->err) != 0)
		return -1;
	if (!S_ISDIR(ret->mode))
		return err_set_at(g->err, ERR_PROFILE, pos->file, pos->line, pos->col,
				  "%s '%s' is no directory", key, path);
	return 0;
}

static int gather_path(struct gather *g)
{
	const struct profile_sandbox *s = &g->in->profile->sandbox;
	struct facts_base top = { .at = "/", .kind = FACTS_BASE_MADE, .object = { .fd = -1 } };
	int r = open_named(g, "base", s->base_path, &s->base_pos, &top.object);

	*array_push(g->arena, &g->facts->base) = top;
	if (r != 0)
		return -1;
	g->prefix = top.object.path;
	if (take_all(g, top.object.fd, "/") != 0 || take_run_links(g, top.object.fd, 1) != 0)
		return -1;
	if (facts_base_find(g->facts, "/etc") == NULL)
		*array_push(g->arena, &g->facts->base) = (struct facts_base){
			.at = "/etc", .kind = FACTS_BASE_MADE, .object = { .fd = -1 }
		};
	return 0;
}

static int gather_add(struct gather *g, const struct profile_tree *t)
{
	struct facts_base b = { .at = t->path, .kind = FACTS_BASE_DIR, .added = true };
	const struct facts_base *holder = facts_base_holder(g->facts, t->path);
	int r;

	/* What is there already is no mistake: a profile may be read on another host too. */
	if (holder != NULL && holder->kind == FACTS_BASE_DIR)
		return 0;
	r = open_named(g, "base.add", t->path, &t->pos, &b.object);
	if (r == 0 && holder == NULL) {
		*array_push(g->arena, &g->facts->base) = b;
		return 0;
	}
	if (r == 0) {
		holder = facts_base_holder(g->facts, b.object.path);
		if (holder == NULL || holder->kind != FACTS_BASE_DIR)
			r = err_set_at(g->err, ERR_PROFILE, t->pos.file, t->pos.line, t->pos.col,
				       "base.add '%s' lies behind a link of the base: write '%s'",
				       t->path, b.object.path);
	}
	fd_close(&b.object.fd);
	return r;
}

int facts_base_gather(struct arena *a, const struct facts_input *in, struct facts *ret,
		      struct err *err)
{
	const struct profile_sandbox *s = &in->profile->sandbox;
	struct gather g = { .arena = a, .in = in, .facts = ret, .prefix = "", .err = err };
	int r = -1;

	switch (s->base) {
	case PROFILE_BASE_HOST:
		r = take_names(&g, host_names, ARRAY_SIZE(host_names));
		break;
	case PROFILE_BASE_MINIMAL:
		r = take_names(&g, minimal_names, ARRAY_SIZE(minimal_names));
		if (r == 0)
			r = take_minimal_etc(&g);
		break;
	case PROFILE_BASE_PATH:
		r = gather_path(&g);
		break;
	}
	if (r == 0 && s->base != PROFILE_BASE_PATH)
		r = take_run_links(&g, AT_FDCWD, 0);
	for (size_t i = 0; r == 0 && i < s->base_add.n; i++)
		r = gather_add(&g, &s->base_add.v[i]);
	if (r == 0) {
		const struct facts_base *etc = facts_base_find(ret, "/etc");

		ret->etc_made = etc != NULL && etc->kind == FACTS_BASE_MADE;
	}
	return r;
}

struct tree_check {
	struct arena *arena;
	const struct facts *facts;
	const char *key;
	const struct profile_pos *pos;
	const char *text; /* as the profile names the tree */
	const struct facts_object *tree;
	struct err *err;
};

static bool same_object(const struct facts_object *o, const struct stat *st)
{
	struct stat own;

	return fstat(o->fd, &own) == 0 && own.st_dev == st->st_dev && own.st_ino == st->st_ino;
}

/* @path or a directory above it is @o. */
static bool chain_has(struct arena *a, const char *path, const struct facts_object *o)
{
	struct stat st;

	for (const char *p = path; p[1] != '\0'; p = path_dirname(a, p)) {
		if (stat(p, &st) == 0 && same_object(o, &st))
			return true;
	}
	return false;
}

/* The way to the tree, link by link, leads through @root: an earlier run may have planted the
 * link that it ends in. */
static bool way_leads_through(const struct tree_check *c, const struct facts_object *root)
{
	for (const char *p = c->text; p[1] != '\0'; p = path_dirname(c->arena, p)) {
		char *real = realpath(path_dirname(c->arena, p), NULL);
		bool hit = real != NULL && chain_has(c->arena, real, root);

		free(real);
		if (hit)
			return true;
	}
	return false;
}

static int check_tree(const struct tree_check *c)
{
	for (size_t i = 0; i < c->facts->roots.n; i++) {
		const struct facts_root *r = &c->facts->roots.v[i];

		if (!r->present || r->root->mode == PROFILE_MODE_RO)
			continue;
		if (chain_has(c->arena, c->tree->path, &r->object) ||
		    chain_has(c->arena, r->object.path, c->tree) ||
		    way_leads_through(c, &r->object))
			return err_set_at(
				c->err, ERR_PROFILE, c->pos->file, c->pos->line, c->pos->col,
				"%s '%s': programs could write to it through the root '%s' "
				"(line %u): give that root 'mode: ro', or move one of them",
				c->key, c->text, r->root->path, r->root->pos.line);
	}
	return 0;
}

static int check_hidden_roots(const struct facts *f, struct err *err)
{
	for (size_t i = 0; i < f->roots.n; i++) {
		const struct profile_root *r = f->roots.v[i].root;
		const struct facts_base *b = facts_base_holder(f, r->at);

		if (b != NULL)
			return err_set_at(err, ERR_PROFILE, r->pos.file, r->pos.line, r->pos.col,
					  "the root at '%s' lies behind '%s' of the base, which is "
					  "no directory: choose another place with 'at'",
					  r->at, b->at);
	}
	return 0;
}

int facts_base_check(struct arena *a, const struct facts_input *in, const struct facts *f,
		     struct err *err)
{
	const struct profile_sandbox *s = &in->profile->sandbox;
	struct tree_check c = { .arena = a, .facts = f, .err = err };

	if (s->base == PROFILE_BASE_PATH) {
		c.key = "base";
		c.pos = &s->base_pos;
		c.text = s->base_path;
		c.tree = &facts_base_find(f, "/")->object;
		return check_tree(&c) != 0 ? -1 : check_hidden_roots(f, err);
	}
	for (size_t i = 0; i < s->base_add.n; i++) {
		const struct facts_base *b = facts_base_find(f, s->base_add.v[i].path);

		if (b == NULL || !b->added)
			continue;
		c.key = "base.add";
		c.pos = &s->base_add.v[i].pos;
		c.text = b->at;
		c.tree = &b->object;
		if (check_tree(&c) != 0)
			return -1;
	}
	return 0;
}
