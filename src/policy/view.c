/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "policy/view.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "policy/facts-roots.h"

/* Directories of our own in every view; plan/mounts.c makes them. */
static const struct {
	const char *at;
	bool writable;
} own_dirs[] = {
	{ "/", false },         { "/proc", false },   { "/dev", false },    { "/run", false },
	{ "/run/lock", false }, { "/var", false },    { "/home", false },   { "/home/agent", true },
	{ "/tmp", true },       { "/var/tmp", true }, { "/dev/shm", true },
};

/* Links of our own beside those of the base; plan/mounts.c makes them too. */
static const struct {
	const char *at, *link;
} own_links[] = { { "/var/run", "/run" }, { "/var/lock", "/run/lock" } };

static void node_add(struct arena *a, struct view *v, struct view_node n)
{
	*array_push(a, &v->nodes) = n;
}

static void parents_add(struct arena *a, struct view *v, const char *at)
{
	for (const char *p = path_dirname(a, at); p[1] != '\0'; p = path_dirname(a, p))
		node_add(a, v, (struct view_node){ .at = p, .kind = VIEW_DIR, .fd = -1 });
}

static void base_node_add(struct arena *a, struct view *v, const struct facts_base *b)
{
	struct view_node n = { .at = b->at, .fd = -1 };

	switch (b->kind) {
	case FACTS_BASE_ABSENT:
		return;
	case FACTS_BASE_LINK:
		n.kind = VIEW_LINK;
		n.link = b->link;
		break;
	case FACTS_BASE_DIR:
	case FACTS_BASE_FILE:
		n.kind = VIEW_BASE;
		n.host = b->object.path;
		n.fd = b->object.fd;
		break;
	case FACTS_BASE_MADE:
		n.kind = VIEW_DIR;
		break;
	}
	if (b->added)
		parents_add(a, v, b->at);
	node_add(a, v, n);
}

/* Where a root needs a directory there is no link. */
static void own_links_add(struct arena *a, const struct facts *f, const struct tree_access *access,
			  struct view *v)
{
	for (size_t i = 0; i < ARRAY_SIZE(own_links); i++) {
		bool taken = false;

		for (size_t k = 0; k < f->roots.n; k++)
			taken = taken || (f->roots.v[k].present && access[k].read &&
					  path_covers(own_links[i].at, f->roots.v[k].root->at));
		if (!taken)
			node_add(a, v,
				 (struct view_node){ .at = own_links[i].at,
						     .kind = VIEW_LINK,
						     .link = own_links[i].link,
						     .fd = -1 });
	}
}

void view_build(struct arena *a, const struct facts *f, const struct tree_access *access,
		struct view *ret)
{
	*ret = (struct view){ 0 };
	for (size_t i = 0; i < ARRAY_SIZE(own_dirs); i++)
		node_add(a, ret,
			 (struct view_node){ .at = own_dirs[i].at,
					     .kind = VIEW_DIR,
					     .fd = -1,
					     .writable = own_dirs[i].writable });
	own_links_add(a, f, access, ret);
	for (size_t i = 0; i < f->base.n; i++)
		base_node_add(a, ret, &f->base.v[i]);
	for (size_t i = 0; i < f->roots.n; i++) {
		const struct facts_root *r = &f->roots.v[i];

		if (!r->present || !access[i].read)
			continue;
		parents_add(a, ret, r->root->at);
		node_add(a, ret,
			 (struct view_node){ .at = r->root->at,
					     .kind = VIEW_ROOT,
					     .host = r->object.path,
					     .fd = r->object.fd,
					     .writable = access[i].write,
					     .root = i });
	}
}

/* The node mounted exactly at @path. A root wins over a directory that was only put there to
 * hold another root's mountpoint; between two directories there is nothing to choose. */
static const struct view_node *node_at(const struct view *v, const char *path)
{
	const struct view_node *best = NULL;

	for (size_t i = 0; i < v->nodes.n; i++) {
		const struct view_node *n = &v->nodes.v[i];

		if (strcmp(n->at, path) == 0 && (best == NULL || best->kind == VIEW_DIR))
			best = n;
	}
	return best;
}

struct walk {
	struct arena *arena;
	const struct view *view;
	const char *cur;              /* canonical virtual path reached */
	const struct view_node *node; /* what holds it */
	int fd; /* O_PATH of cur on the host, owned; -1 in our own directories */
	int hops;
	const char *missing; /* what begins with a name that is not there, canonical; or NULL */
	view_links links;
};

static void walk_set(struct walk *w, const char *cur, const struct view_node *node, int fd)
{
	fd_close(&w->fd);
	w->cur = cur;
	w->node = node;
	w->fd = fd;
}

static int node_dup(const struct view_node *n)
{
	return n->fd < 0 ? -1 : fcntl(n->fd, F_DUPFD_CLOEXEC, 3);
}

static enum view_result walk_errno(int e)
{
	if (e == ENOENT)
		return VIEW_ABSENT;
	if (e == ENOTDIR)
		return VIEW_OUTSIDE;
	return VIEW_FORBIDDEN;
}

/* A mount of the view hides what the host directory holds under that name, also when the walk is
 * inside another root; a directory that only exists to hold a mountpoint does not. */
static const struct view_node *node_covering(const struct walk *w, const char *next)
{
	const struct view_node *n = node_at(w->view, next);

	if (n != NULL && n->kind == VIEW_DIR && w->fd >= 0)
		return NULL;
	return n;
}

static enum view_result walk_into(struct walk *w, const char *name, size_t len, const char **link)
{
	const char *comp = arena_strndup(w->arena, name, len);
	const char *next = path_join(w->arena, w->cur, comp);
	const struct view_node *n = node_covering(w, next);
	char text[PATH_MAX];
	struct stat st;
	ssize_t got;
	int fd;

	*link = NULL;
	if (n != NULL && n->kind == VIEW_LINK) {
		*link = n->link;
		*array_push(w->arena, &w->links) = next;
		return VIEW_FOUND;
	}
	if (n != NULL) {
		fd = node_dup(n);
		if (fd < 0 && n->fd >= 0)
			return VIEW_FORBIDDEN;
		walk_set(w, next, n, fd);
		return VIEW_FOUND;
	}
	if (w->fd < 0)
		return VIEW_ABSENT;
	fd = openat(w->fd, comp, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return walk_errno(errno);
	if (fstat(fd, &st) != 0 || !S_ISLNK(st.st_mode)) {
		walk_set(w, next, w->node, fd);
		return VIEW_FOUND;
	}
	got = readlinkat(fd, "", text, sizeof(text));
	(void)close(fd);
	if (got <= 0 || got >= (ssize_t)sizeof(text))
		return VIEW_FORBIDDEN;
	*link = arena_strndup(w->arena, text, (size_t)got);
	*array_push(w->arena, &w->links) = next;
	return VIEW_FOUND;
}

static void walk_root(struct walk *w)
{
	walk_set(w, "/", node_at(w->view, "/"), -1);
}

static enum view_result walk_path(struct walk *w, const char *path);

/* cur is free of links, so its parent is the parent of its text. */
static enum view_result walk_up(struct walk *w)
{
	const char *up = path_dirname(w->arena, w->cur);

	walk_root(w);
	return walk_path(w, up);
}

static enum view_result walk_component(struct walk *w, const char *p, size_t len, const char *rest)
{
	const char *link;
	enum view_result r;

	if (len == 0 || (len == 1 && p[0] == '.'))
		return VIEW_FOUND;
	if (len == 2 && p[0] == '.' && p[1] == '.')
		return walk_up(w);
	r = walk_into(w, p, len, &link);
	if (r == VIEW_ABSENT && rest[strspn(rest, "/")] != '\0') {
		w->missing = path_join(w->arena, w->cur, p);
		return VIEW_OUTSIDE;
	}
	if (r != VIEW_FOUND || link == NULL)
		return r;
	if (++w->hops > VIEW_HOPS_MAX)
		return VIEW_LOOP;
	if (link[0] == '/')
		walk_root(w);
	r = walk_path(w, link);
	/* A dangling link leads nowhere, not to a place where something may be made. */
	w->missing = NULL;
	return r == VIEW_ABSENT ? VIEW_OUTSIDE : r;
}

static enum view_result walk_path(struct walk *w, const char *path)
{
	while (*path != '\0') {
		size_t len = strcspn(path, "/");
		const char *rest = path + len;
		enum view_result r = walk_component(w, path, len, rest);

		if (r == VIEW_ABSENT)
			w->cur = path_join(w->arena, w->cur, arena_strndup(w->arena, path, len));
		if (r != VIEW_FOUND)
			return r;
		path = rest + (*rest == '/');
	}
	return VIEW_FOUND;
}

/* The mount that a path without links lies on. */
static const struct view_node *node_holding(const struct view *v, const char *path)
{
	const struct view_node *best = NULL;

	for (size_t i = 0; i < v->nodes.n; i++) {
		const struct view_node *n = &v->nodes.v[i];

		if (path_covers(n->at, path) &&
		    (best == NULL || strlen(n->at) > strlen(best->at) ||
		     (strcmp(n->at, best->at) == 0 && best->kind == VIEW_DIR)))
			best = n;
	}
	return best;
}

/* One call for a path without links, which most are. -ELOOP: there is one, walk. */
static int open_plain(const struct view *v, const char *path, const struct view_node **ret)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC | O_NOFOLLOW,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};
	const struct view_node *n = path_is_canonical(path) ? node_holding(v, path) : NULL;
	long fd;

	if (n == NULL || n->fd < 0 || strcmp(n->at, path) == 0)
		return -ELOOP;
	*ret = n;
	fd = syscall(SYS_openat2, n->fd, path_rest(n->at, path), &how, sizeof(how));
	return fd < 0 ? -errno : (int)fd;
}

bool view_is_absent(const struct view *v, const char *path)
{
	const struct view_node *n;
	FD_AUTO fd = open_plain(v, path, &n);

	/* A link on the way would have been -ELOOP, so the name is missing as it is written. */
	return fd == -ENOENT;
}

/* What the walk can say more of: links, and names that are not there. Without openat2 it does all
 * the work. */
static bool is_for_walk(int e)
{
	return e == ELOOP || e == EXDEV || e == ENOENT || e == ENOTDIR || e == EACCES ||
	       e == EAGAIN || e == ENOSYS;
}

/* Return: false when the walk is to decide. */
static bool resolve_plain(struct arena *a, const struct view *v, const char *path,
			  struct view_target *ret, enum view_result *result)
{
	FD_AUTO fd = open_plain(v, path, &ret->node);

	*result = VIEW_FORBIDDEN;
	if (fd < 0)
		return !is_for_walk(-fd);
	if (facts_object_hold(fd, &ret->object) != 0)
		return true;
	(void)fd_take(&fd);
	/* With O_NOFOLLOW a link in the last component is opened itself. */
	if (S_ISLNK(ret->object.mode)) {
		fd_close(&ret->object.fd);
		return false;
	}
	ret->path = arena_strdup(a, path);
	*result = VIEW_FOUND;
	return true;
}

enum view_result view_resolve(struct arena *a, const struct view *v, const char *path,
			      struct view_target *ret)
{
	struct walk w = { .arena = a, .view = v, .fd = -1 };
	enum view_result r;
	int e;

	*ret = (struct view_target){ .object = { .fd = -1 } };
	if (resolve_plain(a, v, path, ret, &r))
		return r;
	walk_root(&w);
	r = walk_path(&w, path);
	ret->path = w.cur;
	ret->node = w.node;
	ret->no_parent = r == VIEW_OUTSIDE && w.missing != NULL && path_is_canonical(w.missing);
	if (ret->no_parent)
		ret->path = w.missing;
	ret->links = w.links;
	if (r != VIEW_FOUND) {
		fd_close(&w.fd);
		return r;
	}
	if (w.fd < 0) {
		ret->is_own_dir = true;
		return VIEW_FOUND;
	}
	e = facts_object_hold(w.fd, &ret->object);
	if (e < 0) {
		fd_close(&w.fd);
		return VIEW_FORBIDDEN;
	}
	return VIEW_FOUND;
}

const char *view_from_host(struct arena *a, const struct view *v, const char *path,
			   const struct view_node **ret_node)
{
	const struct view_node *best = NULL;
	const char *best_host = NULL;

	for (size_t i = 0; i < v->nodes.n; i++) {
		const struct view_node *n = &v->nodes.v[i];
		const char *host = n->host;

		if (host == NULL || !path_covers(host, path))
			continue;
		if (best == NULL || strlen(host) > strlen(best_host)) {
			best = n;
			best_host = host;
		}
	}
	if (best == NULL)
		return NULL;
	if (ret_node != NULL)
		*ret_node = best;
	if (strcmp(best_host, path) == 0)
		return best->at;
	return path_join(a, best->at, path_rest(best_host, path));
}

void view_target_close(struct view_target *t)
{
	fd_close(&t->object.fd);
}
