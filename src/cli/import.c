/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/import.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "base/glob.h"
#include "base/io.h"
#include "base/path.h"
#include "cli/context.h"

#define IMPORT_BYTES_MAX ((size_t)1024 * 1024)
#define ONE_AGENT        "agent"

/* A line of the profile that came from one rule: where an error there is to be looked for. */
struct origin {
	unsigned line;
	const char *where;
};

struct import {
	struct arena *arena;
	const char *file;
	struct strbuf rules; /* the block of permissions; owned */
	unsigned lines;      /* in it */
	ARRAY_OF(struct origin) origins;
	ARRAY_OF(const char *) roots; /* none in another */
	bool anywhere;                /* an allow names no directory */
	struct err *err;
};

#define fail(im, where, ...)                                                                       \
	((void)err_set((im)->err, ERR_PROFILE, 0, "%s: %s", (where),                               \
		       arena_printf((im)->arena, __VA_ARGS__)),                                    \
	 -1)

/* JSON texts are texts of YAML too, as long as what is not ASCII is left as it is. */
static void add_text(struct import *im, const char *text)
{
	JSON_AUTO *v = json_string(text);

	json_line(v, &im->rules);
}

/* @keys: those that there may be, up to NULL. */
static int only_keys(struct import *im, const char *where, json_t *o, const char *const *keys)
{
	const char *key;
	json_t *value;

	json_object_foreach(o, key, value)
	{
		size_t i = 0;

		while (keys[i] != NULL && strcmp(keys[i], key) != 0)
			i++;
		if (keys[i] == NULL)
			return fail(im, where, "unknown key '%s'", key);
	}
	return 0;
}

static int text_list(struct import *im, const char *where, json_t *o, const char *key)
{
	const json_t *list = json_object_get(o, key), *one;
	size_t i;

	if (!json_is_array(list) || json_array_size(list) == 0)
		return fail(im, where, "'%s' must be a list that is not empty", key);
	json_array_foreach(list, i, one)
	{
		if (!json_is_string(one))
			return fail(im, where, "'%s' must hold texts", key);
	}
	return 0;
}

/* The directory that all of a pattern lies in is granted by the sandbox too. */
static void add_root(struct import *im, const char *pattern)
{
	struct glob g = { 0 };
	glob_texts texts = { 0 };
	size_t n = 0;

	if (glob_expand(im->arena, pattern, &texts) != NULL)
		return;
	for (size_t i = 0; i < texts.n; i++) {
		bool covered = false;

		if (glob_compile(im->arena, texts.v[i], &g) != NULL)
			return;
		if (strcmp(g.prefix, "/") == 0) {
			im->anywhere = true;
			continue;
		}
		for (size_t k = 0; k < im->roots.n; k++)
			covered = covered || path_covers(im->roots.v[k], g.prefix);
		if (covered)
			continue;
		n = 0;
		for (size_t k = 0; k < im->roots.n; k++) {
			if (!path_covers(g.prefix, im->roots.v[k]))
				im->roots.v[n++] = im->roots.v[k];
		}
		im->roots.n = n;
		*array_push(im->arena, &im->roots) = g.prefix;
	}
}

static void line_end(struct import *im, const char *where)
{
	strbuf_putc(&im->rules, '\n');
	im->lines++;
	if (where != NULL)
		*array_push(im->arena, &im->origins) = (struct origin){ im->lines, where };
}

static int add_rule(struct import *im, const char *where, json_t *rule)
{
	static const char *const keys[] = { "operations", "paths", "mode", NULL };
	const json_t *mode = json_object_get(rule, "mode"), *one;
	const char *word = mode == NULL ? "allow" : json_string_value(mode);
	size_t i;

	if (!json_is_object(rule))
		return fail(im, where, "a rule is an object of operations, paths and mode");
	if (only_keys(im, where, rule, keys) != 0 ||
	    text_list(im, where, rule, "operations") != 0 ||
	    text_list(im, where, rule, "paths") != 0)
		return -1;
	if (word == NULL || (strcmp(word, "allow") != 0 && strcmp(word, "deny") != 0 &&
			     strcmp(word, "interrupt") != 0))
		return fail(im, where, "'mode' must be allow, deny or interrupt");
	strbuf_puts(&im->rules, "        - {operations: [");
	json_array_foreach(json_object_get(rule, "operations"), i, one)
	{
		const char *op = json_string_value(one);

		if (strcmp(op, "read") != 0 && strcmp(op, "write") != 0)
			return fail(im, where, "'operations' are read and write, not '%s'", op);
		strbuf_printf(&im->rules, "%s%s", i == 0 ? "" : ", ", op);
	}
	strbuf_puts(&im->rules, "], paths: [");
	json_array_foreach(json_object_get(rule, "paths"), i, one)
	{
		strbuf_puts(&im->rules, i == 0 ? "" : ", ");
		add_text(im, json_string_value(one));
		if (strcmp(word, "allow") == 0)
			add_root(im, json_string_value(one));
	}
	strbuf_printf(&im->rules, "], mode: %s}", word);
	line_end(im, where);
	return 0;
}

static void begin_agent(struct import *im, const char *id, const char *model)
{
	strbuf_puts(&im->rules, "    ");
	add_text(im, id);
	strbuf_printf(&im->rules, ":%s", model);
	line_end(im, arena_printf(im->arena, "agent '%s'", id));
}

static int add_rules(struct import *im, json_t *list)
{
	json_t *one;
	size_t i;

	if (json_array_size(list) == 0)
		return fail(im, im->file, "there is no rule in it");
	begin_agent(im, ONE_AGENT, "");
	strbuf_puts(&im->rules, "      rules:");
	line_end(im, NULL);
	json_array_foreach(list, i, one)
	{
		if (add_rule(im, arena_printf(im->arena, "%s: rule %zu", im->file, i + 1), one) !=
		    0)
			return -1;
	}
	return 0;
}

/* {allowed_paths, allowed_actions}; without actions reading and writing files. */
static int add_allowed(struct import *im, const char *id, json_t *o)
{
	static const char *const keys[] = { "allowed_paths", "allowed_actions", NULL };
	static const char *const names[] = { "allowed_roots", "allowed_actions" };
	const char *where = arena_printf(im->arena, "%s: agent '%s'", im->file, id);
	const json_t *one;
	size_t i;

	if (!json_is_object(o))
		return fail(im, where, "an agent is an object with 'allowed_paths'");
	if (only_keys(im, where, o, keys) != 0 || text_list(im, where, o, keys[0]) != 0 ||
	    (json_object_get(o, keys[1]) != NULL && text_list(im, where, o, keys[1]) != 0))
		return -1;
	begin_agent(im, id, "");
	for (size_t k = 0; k < ARRAY_SIZE(names); k++) {
		const json_t *list = json_object_get(o, keys[k]);

		strbuf_printf(&im->rules, "      %s: [", names[k]);
		if (list == NULL)
			strbuf_puts(&im->rules, "read_file, ls, glob, grep, write_file, edit_file");
		json_array_foreach(list, i, one)
		{
			const char *s = json_string_value(one);
			size_t len = strlen(s);

			/* "/a/" and "/a" are one directory there. */
			if (k == 0 && len > 1 && s[len - 1] == '/')
				s = arena_strndup(im->arena, s, len - 1);
			strbuf_puts(&im->rules, i == 0 ? "" : ", ");
			add_text(im, s);
			if (k == 0)
				add_root(im, s);
		}
		strbuf_putc(&im->rules, ']');
		line_end(im, where);
	}
	return 0;
}

static int add_agents(struct import *im, json_t *agents)
{
	const char *id;
	json_t *o;

	if (json_object_size(agents) == 0)
		return fail(im, im->file, "'agents' must be an object that is not empty");
	json_object_foreach(agents, id, o)
	{
		if (add_allowed(im, id, o) != 0)
			return -1;
	}
	return 0;
}

static int add_all(struct import *im, json_t *root)
{
	static const char *const with_rules[] = { "permissions", NULL };
	static const char *const with_agents[] = { "agents", NULL };

	if (json_is_array(root))
		return add_rules(im, root);
	if (json_is_array(json_object_get(root, "permissions")))
		return only_keys(im, im->file, root, with_rules) != 0
			       ? -1
			       : add_rules(im, json_object_get(root, "permissions"));
	if (json_object_get(root, "agents") != NULL)
		return only_keys(im, im->file, root, with_agents) != 0
			       ? -1
			       : add_agents(im, json_object_get(root, "agents"));
	if (json_object_get(root, "allowed_paths") != NULL)
		return add_allowed(im, ONE_AGENT, root);
	return fail(im, im->file,
		    "neither a list of {operations, paths, mode} nor an object with 'permissions', "
		    "'allowed_paths' or 'agents'");
}

static const char head[] =
	"# Rules that were written for agents' file tools, as a profile. What no rule matches was\n"
	"# allowed there and is denied here. A name that begins with a dot is matched by '*' and "
	"'**'\n"
	"# here, so that an allow may cover more than it did. run_command is granted to nobody.\n"
	"version: 1\n"
	"sandbox:\n"
	"  # What the rules speak of. Each is the directory of the host that has this very path, "
	"until\n"
	"  # it says {path: ON THE HOST, at: AS SEEN INSIDE}.\n";

/* Not what is for no root, as /usr: the base has it. */
static bool may_be_root(const struct import *im, const char *path)
{
	struct cli_context c = { .arena = im->arena };
	JSON_AUTO *v = json_string(path);
	STRBUF_AUTO sb = { 0 };
	struct err ignored = { 0 };

	strbuf_puts(&sb, "sandbox: {roots: [");
	json_line(v, &sb);
	strbuf_puts(&sb, "]}\npermissions: {agents: {me: allow}}\n");
	return cli_context_parse(&c, strbuf_str(&sb), &ignored) == 0;
}

static void add_profile(const struct import *im, struct strbuf *sb)
{
	bool any = false;

	strbuf_puts(sb, head);
	if (im->anywhere)
		strbuf_puts(sb,
			    "  # Some rules allow paths everywhere: of them only what lies in a "
			    "root is granted.\n");
	for (size_t i = 0; i < im->roots.n; i++)
		any = any || may_be_root(im, im->roots.v[i]);
	strbuf_puts(sb, any ? "  roots:\n" : "  roots: []\n");
	for (size_t i = 0; i < im->roots.n; i++) {
		JSON_AUTO *v = json_string(im->roots.v[i]);

		strbuf_puts(sb, may_be_root(im, im->roots.v[i]) ? "    - " : "    # not a root: ");
		strbuf_puts(sb, "{path: ");
		json_line(v, sb);
		strbuf_puts(sb, ", optional: true}\n");
	}
	strbuf_puts(sb, "permissions:\n  agents:\n");
	strbuf_puts(sb, strbuf_str(&im->rules));
}

static unsigned lines_of(const char *s)
{
	unsigned n = 0;

	for (; *s != '\0'; s++)
		n += *s == '\n';
	return n;
}

static int check_loads(const struct import *im, const struct strbuf *sb)
{
	struct cli_context c = { .arena = im->arena };
	unsigned first = lines_of(strbuf_str(sb)) - im->lines;
	struct err got = { 0 };

	if (cli_context_parse(&c, strbuf_str(sb), &got) == 0)
		return 0;
	for (size_t i = 0; i < im->origins.n; i++) {
		if (first + im->origins.v[i].line == got.line)
			return err_set(im->err, ERR_PROFILE, 0, "%s: %s", im->origins.v[i].where,
				       got.msg);
	}
	return err_set(im->err, ERR_PROFILE, 0, "%s: %s", im->file, got.msg);
}

static int read_json(struct arena *a, const char *file, json_t **ret, struct err *err)
{
	FD_AUTO fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	json_error_t wrong;
	char *text = NULL;
	size_t len = 0;
	int r;

	if (fd < 0)
		return err_set(err, ERR_REQUEST, errno, "'%s' cannot be opened", file);
	r = io_read_file(fd, IMPORT_BYTES_MAX, a, &text, &len);
	if (r != 0)
		return err_set(err, ERR_REQUEST, -r, "'%s' cannot be read", file);
	*ret = json_loadb(text, len, JSON_REJECT_DUPLICATES, &wrong);
	if (*ret == NULL)
		return err_set_at(err, ERR_PROFILE, file, (unsigned)wrong.line,
				  wrong.column > 0 ? (unsigned)wrong.column : 1, "no JSON: %s",
				  wrong.text);
	return 0;
}

int import_deepagents(struct arena *a, const char *file, struct err *err)
{
	struct import im = { .arena = a, .file = file, .err = err };
	STRBUF_AUTO sb = { 0 };
	json_t *got = NULL;
	int r = read_json(a, file, &got, err);
	JSON_AUTO *root = got;

	if (r == 0)
		r = add_all(&im, root);
	if (r == 0) {
		add_profile(&im, &sb);
		r = check_loads(&im, &sb);
	}
	strbuf_free(&im.rules);
	if (r != 0)
		return -1;
	(void)fputs(strbuf_str(&sb), stdout);
	if (im.roots.n == 0 && !im.anywhere)
		cli_say("%s: no rule in it allows a path, so nothing is granted", file);
	cli_say("%s: what no rule matches was allowed there and is denied in this profile", file);
	return 0;
}
