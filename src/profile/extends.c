/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "profile/extends.h"

#include <string.h>

#include "base/path.h"
#include "profile/block.h"
#include "profile/merge.h"

/* The profiles from the first one down to the one that is read. */
struct link {
	const struct link *up;
	const char *name;
	dev_t dev;
	ino_t ino; /* 0: no file of the host */
	unsigned depth;
};

struct follow {
	struct schema_ctx *c;
	extends_open_fn *open;
	profile_files *files;
	const struct link *at; /* the profile that names others now */
};

/* The keys that name files; what they name takes the place of the block. */
static const struct {
	const char *key;
	const char *block;
} block_files[] = {
	{ "sandbox_file", "sandbox" },
	{ "permissions_file", "permissions" },
};

static const struct yaml_pair *pair_of(const struct yaml_node *map, const char *key)
{
	for (size_t i = 0; i < map->n; i++) {
		if (strcmp(map->pairs[i].key->text, key) == 0)
			return &map->pairs[i];
	}
	return NULL;
}

static bool names_files(const struct yaml_node *map)
{
	if (pair_of(map, "extends") != NULL)
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(block_files); i++) {
		if (pair_of(map, block_files[i].key) != NULL)
			return true;
	}
	return false;
}

/* What errors call a file: as the user would name it from where the first profile was named. */
static const char *shown_name(struct schema_ctx *c, const struct yaml_node *n, const char *text)
{
	const char *slash = strrchr(n->file, '/');

	if (text[0] == '/' || text[0] == '~' || slash == NULL)
		return arena_strdup(c->a, text);
	return arena_printf(c->a, "%.*s/%s", (int)(slash - n->file), n->file, text);
}

static int file_path(struct schema_ctx *c, const char *key, const struct yaml_node *n,
		     const char *text, const char **ret)
{
	if (text[0] == '\0' || text[strcspn(text, "\t\r\n")] != '\0')
		return schema_fail(c, n, "'%s' must be the path of a file", key);
	if (text[0] != '~') {
		/* ".." is fine here: what is opened is judged by where it is found to lie. */
		*ret = text[0] == '/' ? text : path_join(c->a, schema_dir(c, n), text);
		return 0;
	}
	return block_host_path(c, key, n, text, ret);
}

void extends_builtin(const struct builtin *b, bool tests, struct extends_file *ret)
{
	ret->text = (struct profile_text){
		.name = b->name,
		.dir = "/",
		.text = b->text,
		.len = tests ? b->len : b->tests_at,
	};
	ret->file.name = b->name;
	sha256_hex(b->text, b->len, ret->file.sha256);
}

static int read_builtin(struct follow *f, const char *key, const struct yaml_node *n,
			const char *name, struct extends_file *ret)
{
	const struct builtin *b = builtin_find(name);
	const char *near = builtin_nearest(name);

	if (b == NULL)
		return schema_fail(f->c, n, "'%s': no shipped profile '%.80s'%s%s%s", key, name,
				   near == NULL ? " ('agentbox profiles' lists them)"
						: " (did you mean 'builtin:",
				   near == NULL ? "" : near, near == NULL ? "" : "'?)");
	extends_builtin(b, false, ret);
	return 0;
}

static int read_file(struct follow *f, const char *key, const struct yaml_node *n, const char *text,
		     struct extends_file *ret)
{
	struct schema_ctx *c = f->c;
	const char *path;

	if (strchr(text, '/') == NULL && builtin_find(text) != NULL)
		return schema_fail(c, n,
				   "'%s': write 'builtin:%s' for the shipped profile, or './%s' "
				   "for a file beside this one",
				   key, text, text);
	if (file_path(c, key, n, text, &path) != 0)
		return -1;
	if (f->open == NULL)
		return schema_fail(c, n, "'%s': '%.200s': no file can be named here", key, text);
	if (f->open(c->a, c->src, path, shown_name(c, n, text), ret, c->err) == 0)
		return 0;
	/* It says what of the file is wrong; here is who names it. */
	c->err->file = n->file;
	c->err->line = n->line;
	c->err->col = n->col;
	return -1;
}

/* No deeper than yaml_parse() lets it be. */
static size_t count_nodes(const struct yaml_node *n)
{
	size_t sum = 1;

	for (size_t i = 0; n->kind == YAML_LIST && i < n->n; i++)
		sum += count_nodes(n->items[i]);
	for (size_t i = 0; n->kind == YAML_MAP && i < n->n; i++)
		sum += 1 + count_nodes(n->pairs[i].value);
	return sum;
}

/* The tree of what the scalar @n names; *ret_link: for the chain. */
static int pull(struct follow *f, const char *key, const struct yaml_node *n,
		const struct yaml_node **ret, struct link *ret_link)
{
	struct schema_ctx *c = f->c;
	struct extends_file file = { 0 };
	size_t prefix = strlen(BUILTIN_PREFIX);
	const char *text;
	int r;

	if (schema_scalar(c, key, n, &text) != 0)
		return -1;
	if (f->files->n >= EXTENDS_FILES_MAX)
		return schema_fail(c, n, "'%s': more than %d files in one profile", key,
				   EXTENDS_FILES_MAX);
	if (strncmp(text, BUILTIN_PREFIX, prefix) == 0)
		r = read_builtin(f, key, n, text + prefix, &file);
	else
		r = read_file(f, key, n, text, &file);
	if (r != 0)
		return -1;
	*ret_link = (struct link){ .up = f->at,
				   .name = file.text.name,
				   .dev = file.file.dev,
				   .ino = file.file.ino,
				   .depth = f->at->depth + 1 };
	*array_push(c->a, f->files) = file.file;
	*array_push(c->a, &c->files) = (struct schema_file){ file.text.name, file.text.dir };
	if (yaml_parse(c->a, file.text.name, file.text.text, file.text.len, ret, c->err) != 0)
		return -1;
	if (schema_text_charge(c, key, n, file.text.len) != 0)
		return -1;
	c->nodes += count_nodes(*ret);
	if (c->nodes > YAML_NODES_MAX)
		return schema_fail(c, n, "'%s': more than %d values in all files of one profile",
				   key, YAML_NODES_MAX);
	return 0;
}

static bool same_link(const struct link *x, const struct link *y)
{
	if (x->ino != 0 || y->ino != 0)
		return x->ino == y->ino && x->dev == y->dev;
	return strcmp(x->name, y->name) == 0;
}

static int check_chain(struct schema_ctx *c, const struct yaml_node *n, const struct link *l)
{
	for (const struct link *up = l->up; up != NULL; up = up->up) {
		if (same_link(up, l))
			return schema_fail(c, n, "'extends': '%.200s' comes back to itself",
					   l->name);
	}
	if (l->depth > EXTENDS_DEPTH_MAX)
		return schema_fail(c, n, "'extends': more than %d profiles in one chain",
				   EXTENDS_DEPTH_MAX);
	return 0;
}

/* The map without the pairs that are followed, and in their place the blocks of their files. */
static int with_blocks(struct follow *f, const struct yaml_node *root, const struct yaml_node **ret)
{
	struct schema_ctx *c = f->c;
	ARRAY_OF(struct yaml_pair) pairs = { 0 };
	struct yaml_node *copy = arena_new(c->a, struct yaml_node);

	for (size_t i = 0; i < root->n; i++) {
		const struct yaml_pair *p = &root->pairs[i];
		const struct yaml_pair *twin = NULL;
		struct yaml_node *key;
		struct link unused;
		size_t k = 0;

		if (strcmp(p->key->text, "extends") == 0)
			continue;
		while (k < ARRAY_SIZE(block_files) && strcmp(block_files[k].key, p->key->text) != 0)
			k++;
		if (k == ARRAY_SIZE(block_files)) {
			*array_push(c->a, &pairs) = *p;
			continue;
		}
		twin = pair_of(root, block_files[k].block);
		if (twin != NULL)
			return schema_fail(c, p->key,
					   "'%s' and '%s' (line %u) are two spellings of one key: "
					   "keep one",
					   p->key->text, twin->key->text, twin->key->line);
		key = arena_new(c->a, struct yaml_node);
		*key = *p->key;
		key->text = block_files[k].block;
		if (pull(f, p->key->text, p->value, &array_push(c->a, &pairs)->value, &unused) != 0)
			return -1;
		pairs.v[pairs.n - 1].key = key;
	}
	*copy = *root;
	copy->pairs = pairs.v;
	copy->n = pairs.n;
	*ret = copy;
	return 0;
}

static int follow_all(struct follow *f, const struct yaml_node **root);

/* One entry of `extends`, with all that it extends itself. */
static int follow_one(struct follow *f, const struct yaml_node *n, const struct yaml_node **ret)
{
	struct schema_ctx *c = f->c;
	const struct link *at = f->at;
	const struct yaml_pair *version;
	struct link l;
	int r;

	if (pull(f, "extends", n, ret, &l) != 0 || check_chain(c, n, &l) != 0)
		return -1;
	if ((*ret)->kind != YAML_MAP)
		return schema_fail(c, *ret, "a profile must be a map, not %s", schema_got(c, *ret));
	version = pair_of(*ret, "version");
	if (version != NULL && block_version_check(c, version->value) != 0)
		return -1;
	f->at = &l;
	r = follow_all(f, ret);
	f->at = at;
	return r;
}

static int follow_all(struct follow *f, const struct yaml_node **root)
{
	const struct yaml_pair *extends = pair_of(*root, "extends");
	const struct yaml_node *below = NULL;
	const struct yaml_node *own;

	if (!names_files(*root))
		return 0;
	if (extends != NULL && extends->value->kind != YAML_LIST)
		return schema_fail(f->c, extends->value, "'extends' must be a list, not %s",
				   schema_got(f->c, extends->value));
	for (size_t i = 0; extends != NULL && i < extends->value->n; i++) {
		const struct yaml_node *one = NULL;

		if (follow_one(f, extends->value->items[i], &one) != 0)
			return -1;
		if (below == NULL)
			below = merge_inherited(f->c->a, one);
		else if (merge_profiles(f->c, one, below, &below) != 0)
			return -1;
	}
	if (with_blocks(f, *root, &own) != 0)
		return -1;
	if (below == NULL) {
		*root = own;
		return 0;
	}
	return merge_profiles(f->c, own, below, root);
}

int extends_follow(struct schema_ctx *c, extends_open_fn *open, const struct yaml_node **root,
		   profile_files *files)
{
	struct link first = { .name = c->file, .depth = 1 };
	struct follow f = { .c = c, .open = open, .files = files, .at = &first };

	if ((*root)->kind != YAML_MAP)
		return 0; /* the walk over the tables says what is wrong */
	c->nodes = count_nodes(*root);
	if (files->n > 0) {
		first.dev = files->v[0].dev;
		first.ino = files->v[0].ino;
	}
	return follow_all(&f, root);
}
