/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "profile/param.h"

#include <string.h>

#include "base/glob.h"
#include "base/path.h"
#include "base/strbuf.h"
#include "base/suggest.h"
#include "profile/block.h"
#include "profile/schema.h"

#define NAME_MAX_LEN 64
#define EXPANDED_MAX ((size_t)64 * 1024)

enum param_type { PARAM_WORD = 1, PARAM_PATH };

struct param_text {
	bool required;
	enum param_type type;
	const struct yaml_pair *fallback;
};

static const struct schema_word types[] = { { "path", PARAM_PATH },
					    { "word", PARAM_WORD },
					    { NULL, 0 } };

static const struct schema_row rows[] = {
	{ .key = "required",
	  .parse = schema_parse_bool,
	  .offset = offsetof(struct param_text, required),
	  .type = "true or false",
	  .help = "loading fails when the parameter is not given (default false)" },
	{ .key = "type",
	  .parse = schema_parse_word,
	  .offset = offsetof(struct param_text, type),
	  .words = types,
	  .type = "word",
	  .help = "path: absolute and canonical; word: letters, digits and ._@:+- "
		  "(default path for workspace, else word)" },
	{ .key = "default",
	  .parse = schema_parse_pair,
	  .offset = offsetof(struct param_text, fallback),
	  .type = "text",
	  .help = "the value when none is given" },
};

const struct schema_map param_map = SCHEMA_MAP("a parameter", rows);

static const char *const predeclared[] = { "home", "uid", "instance" };

static bool name_ok(const char *s)
{
	size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-");

	return n > 0 && n <= NAME_MAX_LEN && s[n] == '\0';
}

static bool word_ok(const char *s)
{
	size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
			     "._@:+-");

	return n > 0 && s[n] == '\0';
}

static const char *given_value(const struct schema_ctx *c, const char *name)
{
	for (size_t i = 0; i < c->src->n_params; i++) {
		if (strcmp(c->src->params[i].name, name) == 0)
			return c->src->params[i].value;
	}
	return NULL;
}

static int value_check(struct schema_ctx *c, const char *name, enum param_type type,
		       const char *value)
{
	if (type == PARAM_PATH && !path_is_canonical(value))
		return err_set(c->err, ERR_USAGE, 0,
			       "param '%s': '%s' is not an absolute path without '.', '..', '//' "
			       "or a slash at the end",
			       name, value);
	if (type == PARAM_WORD && !word_ok(value))
		return err_set(c->err, ERR_USAGE, 0,
			       "param '%s': '%s' is not a word of letters, digits and ._@:+-", name,
			       value);
	return 0;
}

static int fallback_value(struct schema_ctx *c, const struct param_text *t, const char **ret)
{
	const struct yaml_node *n = t->fallback->value;

	if (schema_scalar(c, "default", n, ret) != 0)
		return -1;
	if (t->type == PARAM_PATH)
		return block_host_path(c, "default", n, *ret, ret);
	if (!word_ok(*ret))
		return schema_fail(c, n,
				   "'default' must be a word of letters, digits and ._@:+-, not "
				   "'%.80s'",
				   *ret);
	return 0;
}

static int param_declare(struct schema_ctx *c, const struct yaml_pair *p)
{
	const char *name = p->key->text;
	bool workspace = strcmp(name, "workspace") == 0;
	struct param_text t = { .type = workspace ? PARAM_PATH : PARAM_WORD };
	struct param_value *v;

	if (!name_ok(name))
		return schema_fail(c, p->key,
				   "param '%.80s': a name is 1 to %d letters, digits, '_' and '-'",
				   name, NAME_MAX_LEN);
	for (size_t i = 0; i < ARRAY_SIZE(predeclared); i++) {
		if (strcmp(predeclared[i], name) == 0)
			return schema_fail(c, p->key, "param '%s' is predeclared: leave it out",
					   name);
	}
	if (schema_walk(c, &param_map, p->value, &t) != 0)
		return -1;
	v = array_push(c->a, &c->params.values);
	*v = (struct param_value){
		.name = name,
		.value = given_value(c, name),
		.declared = true,
		.is_path = t.type == PARAM_PATH,
		.required = t.required,
	};
	if (v->value != NULL)
		return value_check(c, name, t.type, v->value);
	if ((t.required || t.fallback == NULL) && c->src->stand_in) {
		v->value = t.type == PARAM_PATH ? arena_printf(c->a, "/srv/%s", name) : name;
		v->stood_in = true;
		c->stood_in = true;
		return 0;
	}
	if (t.required)
		return schema_fail(c, p->key,
				   workspace ? "param '%s' is required: give -w DIR or --param "
					       "workspace=DIR"
					     : "param '%s' is required: give it with --param",
				   name);
	return t.fallback == NULL ? 0 : fallback_value(c, &t, &v->value);
}

int block_parse_params(struct schema_ctx *c, const struct schema_row *row,
		       const struct yaml_pair *p, void *field)
{
	(void)row;
	(void)field;
	if (p->value->kind != YAML_MAP)
		return schema_fail(c, p->value, "'params' must be a map of names, not %s",
				   schema_got(c, p->value));
	for (size_t i = 0; i < p->value->n; i++) {
		if (param_declare(c, &p->value->pairs[i]) != 0)
			return -1;
	}
	return 0;
}

void param_predeclare(struct schema_ctx *c)
{
	*array_push(c->a, &c->params.values) =
		(struct param_value){ .name = "home", .value = c->src->home };
	*array_push(c->a, &c->params.values) =
		(struct param_value){ .name = "uid",
				      .value = arena_printf(c->a, "%u", (unsigned)c->src->uid) };
	*array_push(c->a, &c->params.values) =
		(struct param_value){ .name = "instance",
				      .value = c->src->instance == NULL && c->src->stand_in
						       ? "instance"
						       : c->src->instance };
}

static const struct param_value *param_find(const struct schema_ctx *c, const char *name,
					    size_t len)
{
	for (size_t i = 0; i < c->params.values.n; i++) {
		const char *have = c->params.values.v[i].name;

		if (strncmp(have, name, len) == 0 && have[len] == '\0')
			return &c->params.values.v[i];
	}
	return NULL;
}

static const char *param_nearest(const struct schema_ctx *c, const char *name)
{
	const char *best = NULL;
	size_t distance = 0;

	for (size_t i = 0; i < c->params.values.n; i++)
		suggest_best(name, c->params.values.v[i].name, &best, &distance);
	return best;
}

int param_given_check(struct schema_ctx *c)
{
	for (size_t i = 0; i < c->src->n_params; i++) {
		const char *name = c->src->params[i].name;
		const char *best;

		for (size_t j = 0; j < ARRAY_SIZE(predeclared); j++) {
			if (strcmp(predeclared[j], name) == 0)
				return err_set(c->err, ERR_USAGE, 0,
					       "param '%s' is predeclared and cannot be given",
					       name);
		}
		for (size_t j = 0; j < i; j++) {
			if (strcmp(c->src->params[j].name, name) == 0)
				return err_set(c->err, ERR_USAGE, 0, "param '%s' is given twice",
					       name);
		}
		if (param_find(c, name, strlen(name)) != NULL)
			continue;
		best = param_nearest(c, name);
		if (best != NULL)
			return err_set(c->err, ERR_USAGE, 0,
				       "param '%s' is not declared in %s (did you mean '%s'?)",
				       name, c->file, best);
		return err_set(c->err, ERR_USAGE, 0,
			       "param '%s' is not declared in %s: add it under 'params' there",
			       name, c->file);
	}
	return 0;
}

static int no_value(struct schema_ctx *c, const struct yaml_node *n, const struct param_value *v)
{
	if (strcmp(v->name, "instance") == 0)
		return schema_fail(c, n,
				   "${instance} has no value: give the agent as ID/INSTANCE (-a)");
	return schema_fail(c, n, "${%s} has no value: give --param %s=..., or a default", v->name,
			   v->name);
}

/* @pattern: the text is one of a path, in which a value stands for itself; that of an instance is
 * put in for each agent that asks (PROFILE_INSTANCE_MARK). */
static int expand_one(struct schema_ctx *c, const struct yaml_node *n, const char *name, size_t len,
		      bool pattern, struct strbuf *sb)
{
	static const char mark[] = { PROFILE_INSTANCE_MARK, '\0' };
	const struct param_value *v = param_find(c, name, len);

	if (v == NULL) {
		const char *word = arena_strndup(c->a, name, len);
		const char *best = param_nearest(c, word);

		if (best != NULL)
			return schema_fail(c, n, "undeclared ${%.80s} (did you mean ${%s}?)", word,
					   best);
		return schema_fail(c, n, "undeclared ${%.80s}: add it under 'params'", word);
	}
	if (pattern && strcmp(v->name, "instance") == 0)
		strbuf_puts(sb, mark);
	else if (v->value == NULL)
		return no_value(c, n, v);
	else if (pattern)
		glob_escape(sb, v->value);
	else
		strbuf_puts(sb, v->value);
	return 0;
}

static int expand(struct schema_ctx *c, const char *key, const struct yaml_node *n,
		  const char *text, bool pattern, const char **ret)
{
	STRBUF_AUTO sb = { 0 };
	const char *at = strstr(text, "${");

	if (at == NULL) {
		*ret = text;
		return 0;
	}
	for (; at != NULL; at = strstr(text, "${")) {
		size_t len = strcspn(at + 2, "}");

		if (at[2 + len] == '\0')
			return schema_fail(c, n, "'%s': '${' without '}'", key);
		strbuf_add(&sb, text, (size_t)(at - text));
		if (expand_one(c, n, at + 2, len, pattern, &sb) != 0)
			return -1;
		/* A bound for what a short text can grow to by naming a long value often. */
		if (sb.len > EXPANDED_MAX)
			return schema_fail(c, n, "'%s': too long after ${...} is replaced", key);
		text = at + 2 + len + 1;
	}
	strbuf_puts(&sb, text);
	if (schema_text_charge(c, key, n, sb.len) != 0)
		return -1;
	*ret = arena_strndup(c->a, strbuf_str(&sb), sb.len);
	return 0;
}

int param_expand(struct schema_ctx *c, const char *key, const struct yaml_node *n, const char *text,
		 const char **ret)
{
	return expand(c, key, n, text, false, ret);
}

int param_expand_glob(struct schema_ctx *c, const char *key, const struct yaml_node *n,
		      const char *text, const char **ret)
{
	return expand(c, key, n, text, true, ret);
}
