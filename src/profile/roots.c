/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>

#include "base/path.h"
#include "profile/block.h"

struct root_text {
	const struct yaml_pair *path;
	const struct yaml_pair *at;
	enum profile_mode mode;
	bool optional;
	bool sensitive;
};

static const struct schema_word modes[] = { { "ro", PROFILE_MODE_RO },
					    { "rw", PROFILE_MODE_RW },
					    { NULL, 0 } };

/* Zero is without the label. */
static const struct schema_word labels[] = { { "sensitive", true }, { NULL, 0 } };

static int parse_label(struct schema_ctx *c, const struct schema_row *row,
		       const struct yaml_pair *p, void *field)
{
	unsigned label = 0;
	int r = schema_parse_word(c, row, p, &label);

	*(bool *)field = label != 0;
	return r;
}

static const struct schema_row rows[] = {
	{ .key = "path",
	  .parse = schema_parse_pair,
	  .offset = offsetof(struct root_text, path),
	  .type = "host path",
	  .required = "a root needs a 'path'",
	  .help = "absolute, below ~/, or relative to the profile's folder" },
	{ .key = "at",
	  .parse = schema_parse_pair,
	  .offset = offsetof(struct root_text, at),
	  .type = "virtual path",
	  .help = "where it is seen inside (default: the same path)" },
	{ .key = "mode",
	  .parse = schema_parse_word,
	  .offset = offsetof(struct root_text, mode),
	  .words = modes,
	  .type = "word",
	  .help = "the most that any agent may do there (default: as far as its rights go)" },
	{ .key = "optional",
	  .parse = schema_parse_bool,
	  .offset = offsetof(struct root_text, optional),
	  .type = "true or false",
	  .help = "leave the root out when the path does not exist (default false)" },
	{ .key = "label",
	  .parse = parse_label,
	  .offset = offsetof(struct root_text, sensitive),
	  .words = labels,
	  .type = "word",
	  .help = "sensitive: lint warns of an open network beside it" },
};

const struct schema_map block_root_map = SCHEMA_MAP("a root", rows);

/* Virtual places that agentbox itself builds: nothing may be put in or over them. */
static const char *const taken_trees[] = {
	"/usr", "/bin", "/sbin", "/lib",  "/lib32", "/lib64", "/libx32", "/etc",
	"/opt", "/nix", "/gnu",  "/proc", "/dev",   "/sys",   "/run",
};
/* Scratch: a root may lie below one of these, but not be one or hide one. */
static const char *const taken_points[] = { "/tmp", "/var/tmp", "/home/agent" };

static bool has_component(const char *s, const char *word)
{
	size_t n = strlen(word);

	for (const char *p = s; *p != '\0';) {
		size_t len = strcspn(p, "/");

		if (len == n && memcmp(p, word, n) == 0)
			return true;
		p += len + (p[len] == '/');
	}
	return false;
}

int block_path_text(struct schema_ctx *c, const char *key, const struct yaml_node *n,
		    const char **ret)
{
	const char *s;

	if (schema_scalar_raw(c, key, n, &s) != 0)
		return -1;
	if (s[0] == '\0')
		return schema_fail(c, n, "'%s' is empty", key);
	if (s[strcspn(s, "\t\r\n")] != '\0')
		return schema_fail(c, n, "'%s' holds a tab or a line break", key);
	return param_expand(c, key, n, s, ret);
}

int block_host_path(struct schema_ctx *c, const char *key, const struct yaml_node *n,
		    const char *text, const char **ret)
{
	const char *base = schema_dir(c, n);
	char *joined;
	size_t len;

	if (has_component(text, ".."))
		return schema_fail(c, n, "'%s': write '%.200s' without '..'", key, text);
	if (text[0] == '~') {
		if (text[1] != '/' || text[2] == '\0')
			return schema_fail(c, n, "'%s': '%.200s': '~' is read only as '~/name'",
					   key, text);
		if (c->src->home == NULL)
			return schema_fail(c, n, "'%s': '%.200s': the caller has no home directory",
					   key, text);
		base = c->src->home;
		text += 2;
	}
	while (strncmp(text, "./", 2) == 0)
		text += 2;
	if (strcmp(text, ".") == 0)
		text = "";
	joined = text[0] == '/'    ? arena_strdup(c->a, text)
		 : text[0] == '\0' ? arena_strdup(c->a, base)
				   : path_join(c->a, base, text);
	len = strlen(joined);
	if (len > 1 && joined[len - 1] == '/')
		joined[len - 1] = '\0';
	if (!path_is_canonical(joined))
		return schema_fail(c, n,
				   "'%s': write '%.200s' without '.' in the middle, '//', or over "
				   "4095 bytes",
				   key, joined);
	*ret = joined;
	return 0;
}

int block_virtual_path(struct schema_ctx *c, const char *key, const struct yaml_node *n,
		       const char **ret)
{
	const char *s;

	if (block_path_text(c, key, n, &s) != 0)
		return -1;
	if (s[0] == '~')
		return schema_fail(c, n, "'%s' is a path as seen inside: '~' is not read there",
				   key);
	if (s[0] != '/')
		return schema_fail(c, n, "'%s' must start with '/', not '%.200s'", key, s);
	if (has_component(s, ".."))
		return schema_fail(c, n, "'%s': write '%.200s' without '..'", key, s);
	if (!path_is_canonical(s))
		return schema_fail(c, n,
				   "'%s': write '%.200s' without '.', '//' and a slash at the end",
				   key, s);
	*ret = s;
	return 0;
}

static int at_check(struct schema_ctx *c, const struct yaml_node *n, const char *at, bool written)
{
	const char *hint = written ? "" : ": choose another place with 'at'";

	if (at[1] == '\0')
		return schema_fail(c, n, "a root cannot be '/' inside%s", hint);
	for (size_t i = 0; i < ARRAY_SIZE(taken_trees); i++) {
		if (path_covers(taken_trees[i], at))
			return schema_fail(
				c, n, "a root cannot be '%.200s' inside: %s is not for roots%s", at,
				taken_trees[i], hint);
	}
	for (size_t i = 0; i < ARRAY_SIZE(taken_points); i++) {
		if (path_covers(at, taken_points[i]))
			return schema_fail(c, n,
					   "a root cannot be '%.200s' inside: it would hide %s%s",
					   at, taken_points[i], hint);
	}
	return 0;
}

const char *const profile_refused_roots[] = { "/",    "/etc", "/usr",  "/var",  "/run",  "/proc",
					      "/sys", "/dev", "/boot", "/root", "/home", NULL };

/* As a run would say by what lies there: what is clear from the name no verb passes. */
static int path_check(struct schema_ctx *c, const struct yaml_node *item, const char *path)
{
	const char *what = NULL;

	for (const char *const *dir = profile_refused_roots; what == NULL && *dir != NULL; dir++) {
		if (path_covers(path, *dir))
			what = *dir;
	}
	if (what == NULL && c->src->home != NULL && path_covers(path, c->src->home))
		what = "your home directory";
	if (what != NULL)
		return schema_fail(c, item,
				   "root '%.200s' is or contains %s: name a narrower directory",
				   path, what);
	if (path_covers("/proc", path) || path_covers("/sys", path))
		return schema_fail(c, item, "root '%.200s' lies on a kernel file system", path);
	return 0;
}

static int root_text_read(struct schema_ctx *c, const struct yaml_node *item, struct root_text *t,
			  const struct yaml_node **path)
{
	if (item->kind == YAML_SCALAR) {
		*path = item;
		return 0;
	}
	if (schema_walk(c, &block_root_map, item, t) != 0)
		return -1;
	*path = t->path->value;
	return 0;
}

static int root_add(struct schema_ctx *c, const char *key, const struct yaml_node *item, void *out)
{
	struct profile_sandbox *s = out;
	struct root_text t = { .mode = PROFILE_MODE_RIGHTS };
	struct profile_root r = { .pos = schema_pos(c, item) };
	const struct yaml_node *path;
	const char *text;

	(void)key;
	if (root_text_read(c, item, &t, &path) != 0 ||
	    block_path_text(c, "path", path, &text) != 0 ||
	    block_host_path(c, "path", path, text, &r.path) != 0)
		return -1;
	r.at = r.path;
	r.mode = t.mode;
	r.optional = t.optional;
	r.sensitive = t.sensitive;
	if (t.at != NULL && block_virtual_path(c, "at", t.at->value, &r.at) != 0)
		return -1;
	if (at_check(c, t.at != NULL ? t.at->value : path, r.at, t.at != NULL) != 0 ||
	    path_check(c, item, r.path) != 0)
		return -1;
	for (size_t i = 0; i < s->roots.n; i++) {
		if (strcmp(s->roots.v[i].at, r.at) == 0)
			return schema_fail(c, item,
					   "two roots at '%.200s' (the other at %s): one must move "
					   "with 'at'",
					   r.at, schema_where(c, item->file, &s->roots.v[i].pos));
	}
	if (s->roots.n == PROFILE_ROOTS_MAX)
		return schema_fail(c, item, "more than %d roots", PROFILE_ROOTS_MAX);
	*array_push(c->a, &s->roots) = r;
	return 0;
}

int block_parse_roots(struct schema_ctx *c, const struct schema_row *row, const struct yaml_pair *p,
		      void *field)
{
	(void)row;
	return schema_each(c, p, root_add, field);
}
