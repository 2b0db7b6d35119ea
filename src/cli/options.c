/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/suggest.h"
#include "cli/cli.h"
#include "profile/schema.h"

static bool find_long(const struct cli_command *cmd, const char *name, size_t len,
		      struct cli_option *ret)
{
	for (size_t i = 0; i < cmd->n_options; i++) {
		*ret = cli_option_at(cmd, i);
		if (strlen(ret->name) == len && strncmp(ret->name, name, len) == 0)
			return true;
	}
	return false;
}

static bool find_short(const struct cli_command *cmd, char c, struct cli_option *ret)
{
	for (size_t i = 0; i < cmd->n_options; i++) {
		*ret = cli_option_at(cmd, i);
		if (ret->short_name != '\0' && ret->short_name == c)
			return true;
	}
	return false;
}

static int unknown_long(const struct cli_command *cmd, const char *name, size_t len,
			struct err *err)
{
	char word[64];
	const char *best = NULL;
	size_t distance = 0;

	(void)snprintf(word, sizeof(word), "%.*s", (int)(len < 63 ? len : 63), name);
	for (size_t i = 0; i < cmd->n_options; i++)
		suggest_best(word, cli_option_at(cmd, i).name, &best, &distance);
	if (best != NULL)
		return err_set(err, ERR_USAGE, 0, "unknown option '--%s' (did you mean '--%s'?)",
			       word, best);
	return err_set(err, ERR_USAGE, 0, "unknown option '--%s' (agentbox %s --help lists them)",
		       word, cmd->name);
}

static bool takes_value(const struct cli_option *o)
{
	return o->arg == CLI_ARG_VALUE || o->arg == CLI_ARG_REPEATED;
}

static int take_value(const struct cli_option *o, const char *inline_value, int argc, char **argv,
		      int *i, const char **ret, struct err *err)
{
	*ret = inline_value;
	if (inline_value != NULL && o->arg == CLI_ARG_NONE)
		return err_set(err, ERR_USAGE, 0, "option '--%s' takes no value", o->name);
	if (inline_value != NULL || !takes_value(o))
		return 0;
	if (*i + 1 >= argc || strcmp(argv[*i + 1], "--") == 0)
		return err_set(err, ERR_USAGE, 0, "option '--%s' needs a value: --%s %s", o->name,
			       o->name, o->value);
	*ret = argv[++*i];
	return 0;
}

/* Which of two values was meant is not ours to guess: the wrong one may grant the wrong folder. */
static int keep(struct arena *a, const struct cli_option *o, const char *value,
		struct cli_parsed *ret, struct err *err)
{
	if (o->arg != CLI_ARG_REPEATED && cli_has(ret, o->id))
		return err_set(err, ERR_USAGE, 0, "option '--%s' is given twice: give it once",
			       o->name);
	*array_push(a, &ret->options) = (struct cli_given){ .id = o->id, .value = value };
	return 0;
}

static int parse_long(struct arena *a, const struct cli_command *cmd, int argc, char **argv, int *i,
		      struct cli_parsed *ret, struct err *err)
{
	const char *name = argv[*i] + 2;
	size_t len = strcspn(name, "=");
	struct cli_option o;
	const char *value;

	if (!find_long(cmd, name, len, &o))
		return unknown_long(cmd, name, len, err);
	if (take_value(&o, name[len] == '=' ? name + len + 1 : NULL, argc, argv, i, &value, err) !=
	    0)
		return -1;
	return keep(a, &o, value, ret, err);
}

/* -abc are three flags, -pFILE is -p FILE. */
static int parse_short(struct arena *a, const struct cli_command *cmd, int argc, char **argv,
		       int *i, struct cli_parsed *ret, struct err *err)
{
	const char *arg = argv[*i];

	for (const char *c = arg + 1; *c != '\0'; c++) {
		struct cli_option o;
		const char *value;

		if (!find_short(cmd, *c, &o))
			return err_set(err, ERR_USAGE, 0,
				       "unknown option '-%c' (agentbox %s --help lists them)", *c,
				       cmd->name);
		if (take_value(&o, takes_value(&o) && c[1] != '\0' ? c + 1 : NULL, argc, argv, i,
			       &value, err) != 0 ||
		    keep(a, &o, value, ret, err) != 0)
			return -1;
		if (takes_value(&o))
			break;
	}
	return 0;
}

int cli_parse(struct arena *a, const struct cli_command *cmd, int argc, char **argv,
	      struct cli_parsed *ret, struct err *err)
{
	*ret = (struct cli_parsed){ 0 };
	for (int i = 0; i < argc; i++) {
		const char *arg = argv[i];

		if (strcmp(arg, "--") == 0) {
			ret->rest = argv + i + 1;
			return 0;
		}
		if (strcmp(arg, "--help") == 0 || strcmp(arg, "-h") == 0) {
			ret->help = true;
			return 0;
		}
		if (arg[0] != '-' || arg[1] == '\0')
			*array_push(a, &ret->words) = arg;
		else if (arg[1] == '-') {
			if (parse_long(a, cmd, argc, argv, &i, ret, err) != 0)
				return -1;
		} else if (parse_short(a, cmd, argc, argv, &i, ret, err) != 0) {
			return -1;
		}
	}
	return 0;
}

const struct cli_given *cli_given(const struct cli_parsed *p, int id, size_t *count)
{
	const struct cli_given *last = NULL;
	size_t n = 0;

	for (size_t i = 0; i < p->options.n; i++) {
		if (p->options.v[i].id == id) {
			last = &p->options.v[i];
			n++;
		}
	}
	if (count != NULL)
		*count = n;
	return last;
}

bool cli_has(const struct cli_parsed *p, int id)
{
	return cli_given(p, id, NULL) != NULL;
}

const char *cli_value(const struct cli_parsed *p, int id)
{
	const struct cli_given *g = cli_given(p, id, NULL);

	return g == NULL ? NULL : g->value;
}

int cli_timeout(const struct cli_parsed *p, uint64_t *ret_ms, struct err *err)
{
	const char *text = cli_value(p, CLI_TIMEOUT);

	*ret_ms = 0;
	if (text == NULL)
		return 0;
	if (schema_duration(text, ret_ms) != 0)
		return err_set(err, ERR_USAGE, 0,
			       "--timeout '%s': write a number and ms, s, m or h, as in 30s", text);
	if (*ret_ms == 0)
		return err_set(err, ERR_USAGE, 0, "--timeout must be more than zero");
	return 0;
}

/* Whether it can be written to is looked at where the log is opened. */
int cli_audit_fd(const struct cli_parsed *p, int *ret, struct err *err)
{
	const char *text = cli_value(p, CLI_AUDIT_FD);
	char *end;
	long v;

	*ret = 0;
	if (text == NULL)
		return 0;
	errno = 0;
	v = strtol(text, &end, 10);
	if (errno != 0 || end == text || *end != '\0' || v < 2 || v > INT_MAX)
		return err_set(err, ERR_USAGE, 0,
			       "--audit-fd '%s': write the number of a descriptor, 2 or higher",
			       text);
	*ret = (int)v;
	return 0;
}
