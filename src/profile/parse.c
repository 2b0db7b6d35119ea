/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>

#include "codec/json.h"
#include "profile/block.h"
#include "profile/dump.h"
#include "profile/envfile.h"
#include "profile/extends.h"

#define LEAST                                                                                      \
	"the least profile is {extends: [builtin:default]}, or {sandbox: {roots: [.]}, "           \
	"permissions: {agents: {me: allow}}}"

int block_version_check(struct schema_ctx *c, const struct yaml_node *v)
{
	if (v->kind != YAML_SCALAR || !v->plain || strcmp(v->text, "1") != 0)
		return schema_fail(c, v, "'version' can only be 1, not %s", schema_got(c, v));
	return 0;
}

static int parse_version(struct schema_ctx *c, const struct schema_row *row,
			 const struct yaml_pair *p, void *field)
{
	(void)row;
	(void)field;
	return block_version_check(c, p->value);
}

/* extends_follow() has put what they name in their place. */
static int parse_followed(struct schema_ctx *c, const struct schema_row *row,
			  const struct yaml_pair *p, void *field)
{
	(void)row;
	(void)field;
	return schema_fail(c, p->key, "'%s' can only stand at the top of a profile", p->key->text);
}

/* In the order of need: the blocks use the params. */
static const struct schema_row rows[] = {
	{ .key = "version",
	  .parse = parse_version,
	  .type = "1",
	  .help = "of the profile's language (absent: 1)" },
	{ .key = "extends",
	  .parse = parse_followed,
	  .shape = SCHEMA_SHAPE_LIST,
	  .type = "list of builtin:NAME or paths",
	  .help = "profiles that this one adds to and changes: the later over the earlier" },
	{ .key = "sandbox_file",
	  .parse = parse_followed,
	  .type = "path",
	  .help = "a file that holds the sandbox block" },
	{ .key = "permissions_file",
	  .parse = parse_followed,
	  .type = "path",
	  .help = "a file that holds the permissions block" },
	{ .key = "params",
	  .parse = block_parse_params,
	  .shape = SCHEMA_SHAPE_NAMED,
	  .sub = &param_map,
	  .type = "map",
	  .help = "the names that ${...} may use" },
	{ .key = "sandbox",
	  .parse = block_parse_sandbox,
	  .offset = offsetof(struct profile, sandbox),
	  .sub = &block_sandbox_map,
	  .required = "no 'sandbox' block; " LEAST,
	  .type = "map",
	  .help = "the boundary: what exists at all" },
	{ .key = "permissions",
	  .parse = block_parse_permissions,
	  .offset = offsetof(struct profile, permissions),
	  .sub = &block_permissions_map,
	  .required = "no 'permissions' block; " LEAST,
	  .type = "map",
	  .help = "the authorisation: which agent may do what" },
	{ .key = "audit",
	  .parse = schema_parse_map,
	  .offset = offsetof(struct profile, audit),
	  .sub = &block_audit_map,
	  .type = "map",
	  .help = "where the records go" },
	{ .key = "tests",
	  .parse = block_parse_tests,
	  .shape = SCHEMA_SHAPE_LIST,
	  .sub = &block_test_map,
	  .type = "list of tests",
	  .help = "what must be decided, for agentbox test" },
};

static const struct schema_map root_map = SCHEMA_MAP("a profile", rows);

const struct schema_map *schema_root(void)
{
	return &root_map;
}

void profile_hash_blocks(const struct profile *p, struct profile_hashes *ret)
{
	JSON_AUTO *sandbox = profile_sandbox_json(p);
	JSON_AUTO *permissions = profile_permissions_json(p);

	json_canonical_sha256(sandbox, ret->sandbox_sha256);
	json_canonical_sha256(permissions, ret->permissions_sha256);
}

static void hash_files(struct profile *p)
{
	STRBUF_AUTO lines = { 0 };

	if (p->files.n == 1) {
		memcpy(p->sha256, p->files.v[0].sha256, sizeof(p->sha256));
		return;
	}
	for (size_t i = 0; i < p->files.n; i++) {
		strbuf_puts(&lines, p->files.v[i].sha256);
		strbuf_puts(&lines, "\n");
	}
	sha256_hex(strbuf_str(&lines), lines.len, p->sha256);
}

int extends_parse(struct arena *a, const struct profile_source *src,
		  const struct profile_text *text, extends_open_fn *open, profile_files *files,
		  const struct profile **ret, struct err *err)
{
	struct schema_ctx c = {
		.a = a, .file = text->name, .src = src, .text = text->len, .err = err
	};
	struct profile *p = arena_new(a, struct profile);
	struct schema_read *read;
	const struct yaml_node *root = NULL;

	if (yaml_parse(a, text->name, text->text, text->len, &root, err) != 0)
		return -1;
	*array_push(a, &c.files) = (struct schema_file){ text->name, text->dir };
	if (extends_follow(&c, open, &root, files) != 0)
		return -1;
	param_predeclare(&c);
	p->audit.rotate = PROFILE_ROTATE_DEFAULT;
	if (schema_walk(&c, &root_map, root, p) != 0 || param_given_check(&c) != 0)
		return -1;
	p->files = *files;
	p->stood_in = c.stood_in;
	read = arena_new(a, struct schema_read);
	*read = (struct schema_read){ .c = c, .root = root };
	p->read = read;
	hash_files(p);
	if (envfile_read(&c, open, p) != 0)
		return -1;
	*ret = p;
	return 0;
}

int profile_parse(struct arena *a, const struct profile_source *src,
		  const struct profile_text *text, const struct profile **ret, struct err *err)
{
	profile_files files = { 0 };

	return extends_parse(a, src, text, NULL, &files, ret, err);
}

const struct profile_agent *profile_agent_find(const struct profile *p, const char *id)
{
	for (size_t i = 0; i < p->permissions.agents.n; i++) {
		if (strcmp(p->permissions.agents.v[i].id, id) == 0)
			return &p->permissions.agents.v[i];
	}
	return NULL;
}

bool profile_id_ok(const char *id)
{
	size_t n = strspn(id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-");

	return n > 0 && n <= PROFILE_ID_MAX && id[n] == '\0' && strcmp(id, ".") != 0 &&
	       strcmp(id, "..") != 0;
}
