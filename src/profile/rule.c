/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "base/strbuf.h"
#include "base/suggest.h"
#include "profile/block.h"

struct rule_text {
	const struct yaml_pair *operations;
	const struct yaml_pair *paths;
	const struct yaml_pair *commands;
	const struct yaml_pair *hosts;
	const struct yaml_pair *when;
	enum profile_verdict mode;
	bool absent_report;
	bool strict;
};

static const struct schema_word absent_words[] = { { "report", true }, { NULL, 0 } };

static const struct schema_word modes[] = { { "allow", PROFILE_ALLOW },
					    { "deny", PROFILE_DENY },
					    { "interrupt", PROFILE_INTERRUPT },
					    { NULL, 0 } };

static int parse_absent(struct schema_ctx *c, const struct schema_row *row,
			const struct yaml_pair *p, void *field)
{
	unsigned word = 0;

	if (schema_parse_word(c, row, p, &word) != 0)
		return -1;
	*(bool *)field = word != 0;
	return 0;
}

static const struct schema_row rows[] = {
	{ .key = "operations",
	  .parse = schema_parse_pair,
	  .offset = offsetof(struct rule_text, operations),
	  .shape = SCHEMA_SHAPE_LIST,
	  .type = "list of read, write, execute, connect",
	  .required = "a rule needs 'operations': a list of read, write, execute or connect",
	  .help = "what the rule is about" },
	{ .key = "paths",
	  .parse = schema_parse_pair,
	  .offset = offsetof(struct rule_text, paths),
	  .shape = SCHEMA_SHAPE_LIST,
	  .type = "list of virtual paths",
	  .help = "for read and write: globs; PATH/** is PATH and all below it" },
	{ .key = "commands",
	  .parse = schema_parse_pair,
	  .offset = offsetof(struct rule_text, commands),
	  .shape = SCHEMA_SHAPE_LIST,
	  .type = "list of commands",
	  .help = "for execute: words; the last may be '*' for any further arguments" },
	{ .key = "hosts",
	  .parse = schema_parse_pair,
	  .offset = offsetof(struct rule_text, hosts),
	  .shape = SCHEMA_SHAPE_LIST,
	  .type = "list of hosts",
	  .help = "for connect: [\"*\"], whatever the sandbox allows, or HOST:PORT and "
		  "*.SUFFIX:PORT" },
	{ .key = "when",
	  .parse = schema_parse_pair,
	  .offset = offsetof(struct rule_text, when),
	  .shape = SCHEMA_SHAPE_NAMED,
	  .type = "map of labels",
	  .help = "only for requests with these labels (--context)" },
	{ .key = "mode",
	  .parse = schema_parse_word,
	  .offset = offsetof(struct rule_text, mode),
	  .words = modes,
	  .type = "word",
	  .required = "a rule needs a 'mode': allow, deny or interrupt",
	  .help = "what happens when the rule is the first that matches" },
	{ .key = "absent",
	  .parse = parse_absent,
	  .offset = offsetof(struct rule_text, absent_report),
	  .words = absent_words,
	  .type = "word",
	  .help = "report: names that appear during a run are told, and not masked" },
	{ .key = "strict",
	  .parse = schema_parse_bool,
	  .offset = offsetof(struct rule_text, strict),
	  .type = "bool",
	  .help = "only whole directories, or what is read-only for everybody inside" },
};

const struct schema_map block_rule_map = SCHEMA_MAP("a rule", rows);

static int operation_add(struct schema_ctx *c, const char *key, const struct yaml_node *n,
			 void *out)
{
	struct profile_rule *rule = out;
	const char *best = NULL;
	const char *s;
	size_t distance = 0;

	if (schema_scalar(c, key, n, &s) != 0)
		return -1;
	for (size_t op = 0; op < OPERATION_MAX; op++) {
		const char *word = action_operation_name((enum action_operation)op);

		if (strcmp(word, s) == 0 && op == OPERATION_HOST)
			return schema_fail(c, n,
					   "operation 'host': host tools are not part of this "
					   "version");
		if (strcmp(word, s) == 0) {
			rule->actions |= action_operation_set((enum action_operation)op);
			return 0;
		}
		if (op != OPERATION_HOST)
			suggest_best(s, word, &best, &distance);
	}
	if (best != NULL)
		return schema_fail(c, n, "unknown operation '%.80s' (did you mean '%s'?)", s, best);
	return schema_fail(c, n, "unknown operation '%.80s': read, write, execute or connect", s);
}

static bool has_dotdot(const char *s)
{
	for (; *s != '\0'; s += strcspn(s, "/"), s += *s == '/') {
		if (strcspn(s, "/") == 2 && s[0] == '.' && s[1] == '.')
			return true;
	}
	return false;
}

/* Every instance: a name, or a part of one. */
static const char *any_instance(struct arena *a, const char *pattern)
{
	STRBUF_AUTO sb = { 0 };

	for (; *pattern != '\0'; pattern++) {
		if (*pattern == PROFILE_INSTANCE_MARK)
			strbuf_puts(&sb, "?*");
		else
			strbuf_add(&sb, pattern, 1);
	}
	return arena_strdup(a, strbuf_str(&sb));
}

/* As it was written. */
static const char *show_instance(struct arena *a, const char *text)
{
	STRBUF_AUTO sb = { 0 };

	if (strchr(text, PROFILE_INSTANCE_MARK) == NULL)
		return text;
	for (; *text != '\0'; text++) {
		if (*text == PROFILE_INSTANCE_MARK)
			strbuf_puts(&sb, "${instance}");
		else
			strbuf_add(&sb, text, 1);
	}
	return arena_strdup(a, strbuf_str(&sb));
}

int block_rule_charge(struct schema_ctx *c, const struct yaml_node *n)
{
	if (++c->rules > BLOCK_RULES_MAX)
		return schema_fail(
			c, n,
			"more than %zu agents, rules and patterns in one profile (what a "
			"role says counts for each agent that has it, and {a,b} is two)",
			BLOCK_RULES_MAX);
	return 0;
}

/* One pattern without {...}. */
static int pattern_add(struct schema_ctx *c, const char *key, const struct yaml_node *item,
		       const char *pattern, struct profile_path p, struct profile_rule *rule)
{
	const char *why;

	if (pattern[0] != '/')
		return schema_fail(c, item, "'%s': '%.200s' must start with '/'", key, p.text);
	if (has_dotdot(pattern))
		return schema_fail(c, item, "'%s': write '%.200s' without '..'", key, p.text);
	if (!path_is_canonical(pattern))
		return schema_fail(c, item,
				   "'%s': write '%.200s' without '.', '//' and a slash at the end",
				   key, p.text);
	if (strchr(pattern, PROFILE_INSTANCE_MARK) != NULL) {
		p.instance = pattern;
		pattern = any_instance(c->a, pattern);
	}
	why = glob_compile(c->a, pattern, &p.glob);
	if (why == NULL && p.instance != NULL && strchr(pattern, '[') != NULL)
		why = "${instance} and [...] do not go together in one pattern";
	if (why != NULL)
		return schema_fail(c, item, "'%s': '%.200s': %s", key, p.text, why);
	if (block_rule_charge(c, item) != 0)
		return -1;
	*array_push(c->a, &rule->paths) = p;
	return 0;
}

static bool ends_deep(const char *s)
{
	size_t n = strlen(s);

	return n >= 3 && strcmp(s + n - 3, "/**") == 0;
}

int block_rule_path(struct schema_ctx *c, const char *key, const struct yaml_node *item,
		    bool subtree, struct profile_rule *rule)
{
	struct profile_path p = { 0 };
	glob_texts patterns = { 0 };
	const char *text, *why, *s;

	if (schema_scalar_raw(c, key, item, &s) != 0)
		return -1;
	if (strchr(s, '~') != NULL)
		return schema_fail(c, item,
				   "'%s': '%.200s': '~' is not read in rules, which speak of paths "
				   "as seen inside",
				   key, s);
	if (s[strcspn(s, "\t\r\n")] != '\0')
		return schema_fail(c, item, "'%s' holds a tab or a line break", key);
	if (param_expand_glob(c, key, item, s, &text) != 0)
		return -1;
	/* A value that is "/" before a slash. */
	if (s[0] != '/' && strncmp(text, "//", 2) == 0)
		text++;
	if (subtree && !ends_deep(text))
		text = path_join(c->a, text, "**");
	p.text = show_instance(c->a, text);
	why = glob_expand(c->a, text, &patterns);
	if (why != NULL)
		return schema_fail(c, item, "'%s': '%.200s': %s", key, p.text, why);
	for (size_t i = 0; i < patterns.n; i++) {
		p.more = i > 0;
		if (pattern_add(c, key, item, patterns.v[i], p, rule) != 0)
			return -1;
	}
	return 0;
}

static int path_add(struct schema_ctx *c, const char *key, const struct yaml_node *item, void *out)
{
	return block_rule_path(c, key, item, false, out);
}

static int command_check(struct schema_ctx *c, const struct yaml_node *n, const char *s,
			 const struct profile_command *cmd)
{
	if (cmd->n == 0)
		return schema_fail(c, n, "a command needs at least one word");
	for (size_t i = 0; i < cmd->n; i++) {
		const char *w = cmd->words[i];

		if (strcmp(w, "*") == 0 && i + 1 < cmd->n)
			return schema_fail(c, n, "command '%.200s': '*' can only be the last word",
					   s);
		if (strcmp(w, "*") != 0 && w[strcspn(w, "*?[]{}")] != '\0')
			return schema_fail(
				c, n,
				"command '%.200s': patterns within a word are not part of "
				"this version ('*' alone may be the last word)",
				s);
	}
	return 0;
}

static int command_add(struct schema_ctx *c, const char *key, const struct yaml_node *item,
		       void *out)
{
	struct profile_rule *rule = out;
	ARRAY_OF(const char *) words = { 0 };
	struct profile_command cmd = { 0 };
	const char *s;

	if (schema_scalar(c, key, item, &s) != 0)
		return -1;
	if (s[strcspn(s, "\t\r\n\"'\\")] != '\0')
		return schema_fail(
			c, item,
			"command '%.200s': words are split at spaces; quotes, backslashes, "
			"tabs and line breaks are not read",
			s);
	for (const char *p = s + strspn(s, " "); *p != '\0';) {
		size_t n = strcspn(p, " ");

		*array_push(c->a, &words) = arena_strndup(c->a, p, n);
		p += n;
		p += strspn(p, " ");
	}
	cmd.text = s;
	cmd.words = words.v;
	cmd.n = words.n;
	if (command_check(c, item, s, &cmd) != 0 || block_rule_charge(c, item) != 0)
		return -1;
	*array_push(c->a, &rule->commands) = cmd;
	return 0;
}

static int host_add(struct schema_ctx *c, const char *key, const struct yaml_node *item, void *out)
{
	struct profile_rule *rule = out;
	struct profile_host host = { 0 };
	const char *why;

	if (schema_scalar(c, key, item, &host.text) != 0)
		return -1;
	why = hostpat_parse(host.text, &host.pattern);
	if (why != NULL)
		return schema_fail(c, item, "'%s': '%.200s': %s", key, host.text, why);
	if (block_rule_charge(c, item) != 0)
		return -1;
	if (host.pattern.kind == HOSTPAT_ANY && !host.pattern.has_ports)
		rule->any_host = true;
	else
		*array_push(c->a, &rule->hosts) = host;
	return 0;
}

static int when_key_check(struct schema_ctx *c, const struct yaml_node *key)
{
	const char *best = NULL;
	size_t distance = 0;

	for (size_t i = 0; c->context != NULL && i < c->context->n; i++) {
		if (strcmp(c->context->v[i].name, key->text) == 0)
			return 0;
		suggest_best(key->text, c->context->v[i].name, &best, &distance);
	}
	if (best != NULL)
		return schema_fail(c, key, "'when': '%.80s' is not declared (did you mean '%s'?)",
				   key->text, best);
	return schema_fail(c, key, "'when': '%.80s' is not declared: add it to permissions.context",
			   key->text);
}

static int when_read(struct schema_ctx *c, const struct yaml_pair *p, struct profile_rule *rule)
{
	if (p->value->kind != YAML_MAP)
		return schema_fail(c, p->value, "'when' must be a map of labels, not %s",
				   schema_got(c, p->value));
	if (p->value->n == 0)
		return schema_fail(c, p->value, "'when' is empty: leave it out");
	for (size_t i = 0; i < p->value->n; i++) {
		const struct yaml_pair *one = &p->value->pairs[i];
		struct profile_label label = { .key = one->key->text };

		if (when_key_check(c, one->key) != 0 ||
		    schema_scalar(c, label.key, one->value, &label.value) != 0)
			return -1;
		*array_push(c->a, &rule->when) = label;
	}
	return 0;
}

/* A list and the operations that it belongs to come together or not at all. */
static int list_check(struct schema_ctx *c, const struct yaml_node *item,
		      const struct yaml_pair *list, bool wanted, const char *key,
		      const char *operations)
{
	if (wanted && list == NULL)
		return schema_fail(c, item, "a rule on %s needs '%s'", operations, key);
	if (!wanted && list != NULL)
		return schema_fail(c, list->key, "'%s' only goes with %s", key, operations);
	return 0;
}

int block_rule_build(struct schema_ctx *c, const struct yaml_node *item, struct profile_rule *rule)
{
	struct rule_text t = { 0 };
	action_set files =
		action_operation_set(OPERATION_READ) | action_operation_set(OPERATION_WRITE);

	if (block_rule_charge(c, item) != 0 || schema_walk(c, &block_rule_map, item, &t) != 0 ||
	    schema_each(c, t.operations, operation_add, rule) != 0)
		return -1;
	rule->pos = schema_pos(c, item);
	rule->mode = t.mode;
	rule->absent_report = t.absent_report;
	rule->strict = t.strict;
	if ((t.absent_report || t.strict) &&
	    (t.mode == PROFILE_ALLOW || (rule->actions & files) == 0))
		return schema_fail(c, item,
				   "'absent' and 'strict' only go with what denies or interrupts "
				   "read or write");
	if (rule->actions == 0)
		return schema_fail(c, t.operations->value,
				   "'operations' is empty: the rule would "
				   "say nothing");
	if (list_check(c, item, t.paths, (rule->actions & files) != 0, "paths", "read or write") !=
		    0 ||
	    list_check(c, item, t.commands, (rule->actions & ACTION_BIT(ACTION_RUN_COMMAND)) != 0,
		       "commands", "execute") != 0 ||
	    list_check(c, item, t.hosts, (rule->actions & ACTION_BIT(ACTION_NET_CONNECT)) != 0,
		       "hosts", "connect") != 0)
		return -1;
	if (t.paths != NULL && schema_each(c, t.paths, path_add, rule) != 0)
		return -1;
	if (t.commands != NULL && schema_each(c, t.commands, command_add, rule) != 0)
		return -1;
	if (t.hosts != NULL && schema_each(c, t.hosts, host_add, rule) != 0)
		return -1;
	return t.when != NULL ? when_read(c, t.when, rule) : 0;
}

void block_rule_any_path(struct arena *a, struct profile_rule *rule)
{
	struct profile_path *p = array_push(a, &rule->paths);

	p->text = "/**";
	if (glob_compile(a, p->text, &p->glob) != NULL)
		abort();
}

void block_rule_any_command(struct arena *a, struct profile_rule *rule)
{
	struct profile_command *cmd = array_push(a, &rule->commands);

	cmd->text = "*";
	cmd->words = arena_array(a, 1, sizeof(*cmd->words));
	cmd->words[0] = "*";
	cmd->n = 1;
}
