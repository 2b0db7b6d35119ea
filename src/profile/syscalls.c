/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>

#include "base/suggest.h"
#include "profile/block.h"

static int unknown_call(struct schema_ctx *c, const char *key, const struct yaml_node *n,
			const char *name)
{
	const char *best = NULL, *known;
	size_t distance = 0;
	uint16_t number;

	if (filter_call_elsewhere(name))
		return schema_fail(c, n,
				   "'%s': this machine has no system call '%.80s' (its "
				   "architecture does without): remove it",
				   key, name);
	for (size_t i = 0; (known = filter_call_at(i, &number)) != NULL; i++)
		suggest_best(name, known, &best, &distance);
	if (best != NULL)
		return schema_fail(c, n, "'%s': unknown system call '%.80s' (did you mean '%s'?)",
				   key, name, best);
	return schema_fail(c, n, "'%s': unknown system call '%.80s'", key, name);
}

static int deny_add(struct schema_ctx *c, const char *key, const struct yaml_node *n, void *out)
{
	profile_names *deny = out;
	uint16_t number;
	const char *s;

	if (schema_scalar(c, key, n, &s) != 0)
		return -1;
	if (!filter_call_number(s, &number))
		return unknown_call(c, key, n, s);
	if (filter_call_needed(s))
		return schema_fail(c, n,
				   "'%s': without '%s' no command can be started or ended: remove "
				   "it",
				   key, s);
	if (deny->n == FILTER_DENY_MAX)
		return schema_fail(c, n, "'%s': more than %d names", key, FILTER_DENY_MAX);
	*array_push(c->a, deny) = (struct profile_name){ .name = s, .pos = schema_pos(c, n) };
	return 0;
}

static int parse_deny(struct schema_ctx *c, const struct schema_row *row, const struct yaml_pair *p,
		      void *field)
{
	(void)row;
	return schema_each(c, p, deny_add, field);
}

static int allow_add(struct schema_ctx *c, const char *key, const struct yaml_node *n, void *out)
{
	unsigned *open = out;
	const char *best = NULL;
	size_t distance = 0;
	const char *s;

	if (schema_scalar(c, key, n, &s) != 0)
		return -1;
	for (size_t i = 0; i < FILTER_GROUPS; i++) {
		if (strcmp(filter_groups[i].name, s) == 0) {
			*open |= filter_groups[i].option;
			return 0;
		}
		suggest_best(s, filter_groups[i].name, &best, &distance);
	}
	if (best != NULL)
		return schema_fail(c, n, "'%s': unknown group '%.80s' (did you mean '%s'?)", key, s,
				   best);
	return schema_fail(c, n,
			   "'%s': unknown group '%.80s': there are io_uring, userns, keyrings and "
			   "setid_bits, and no single system calls",
			   key, s);
}

static int parse_allow(struct schema_ctx *c, const struct schema_row *row,
		       const struct yaml_pair *p, void *field)
{
	unsigned *open = field;

	(void)row;
	if (schema_each(c, p, allow_add, open) != 0)
		return -1;
	if ((*open & FILTER_IO_URING) != 0 && (*open & FILTER_SETID_BITS) == 0)
		return schema_fail(c, p->value,
				   "'allow': what io_uring does passes no filter, so it opens "
				   "setid_bits too: name both, or neither");
	return 0;
}

static const struct schema_word presets[] = { { "default", PROFILE_PRESET_DEFAULT },
					      { "strict", PROFILE_PRESET_STRICT },
					      { NULL, 0 } };

static const struct schema_row rows[] = {
	{ .key = "preset",
	  .parse = schema_parse_word,
	  .offset = offsetof(struct profile_sandbox, syscalls_preset),
	  .words = presets,
	  .type = "word",
	  .help = "default, or strict: without ptrace and the like" },
	{ .key = "deny",
	  .parse = parse_deny,
	  .offset = offsetof(struct profile_sandbox, syscalls_deny),
	  .shape = SCHEMA_SHAPE_LIST,
	  .type = "list of names",
	  .help = "system calls that fail with EPERM for the command and all it starts" },
	{ .key = "allow",
	  .parse = parse_allow,
	  .offset = offsetof(struct profile_sandbox, syscalls_open),
	  .shape = SCHEMA_SHAPE_LIST,
	  .type = "list of io_uring, userns, keyrings, setid_bits",
	  .help = "groups of system calls that are closed otherwise" },
};

const struct schema_map block_syscalls_map = SCHEMA_MAP("sandbox.syscalls", rows);

int block_parse_syscalls(struct schema_ctx *c, const struct schema_row *row,
			 const struct yaml_pair *p, void *field)
{
	struct profile_sandbox *s = field;

	s->syscalls_pos = schema_pos(c, p->key);
	return schema_walk(c, row->sub, p->value, s);
}
