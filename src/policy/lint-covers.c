/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>

#include "base/path.h"
#include "policy/lint.h"

static bool path_covered(const struct profile_path *earlier, const struct profile_path *later)
{
	if (strcmp(earlier->text, later->text) == 0 && earlier->more == later->more)
		return true;
	/* Its glob stands for every instance, and it is about one. */
	if (earlier->instance != NULL)
		return false;
	if (glob_is_literal(&later->glob))
		return glob_match(&earlier->glob, later->glob.prefix);
	return glob_covers(&earlier->glob, later->glob.prefix);
}

/* Word by word, a last "*" of the earlier one for any that follow. Names must be the same text: a
 * name and a path may be two programs. */
static bool command_covered(const struct profile_command *earlier,
			    const struct profile_command *later)
{
	for (size_t i = 0; i < earlier->n; i++) {
		if (i + 1 == earlier->n && strcmp(earlier->words[i], "*") == 0)
			return true;
		if (i >= later->n || strcmp(earlier->words[i], later->words[i]) != 0)
			return false;
	}
	return earlier->n == later->n;
}

/* An allow is read more narrowly than what is stricter: of a command it wants name and file to
 * agree, and of a literal path it is the directory alone and not what is mounted with it. That
 * leaves something over for a later rule. */
static bool leaves_over(const struct profile_rule *earlier, const struct profile_rule *later)
{
	return earlier->mode == PROFILE_ALLOW && later->mode != PROFILE_ALLOW;
}

static bool takes_path(const struct profile_rule *earlier, const struct profile_rule *later,
		       size_t path)
{
	for (size_t i = 0; i < earlier->paths.n; i++) {
		const struct profile_path *p = &earlier->paths.v[i];

		if (path_covered(p, &later->paths.v[path]) &&
		    !(leaves_over(earlier, later) && glob_is_literal(&p->glob)))
			return true;
	}
	return false;
}

static bool takes_command(const struct profile_rule *earlier, const struct profile_rule *later,
			  size_t command)
{
	for (size_t i = 0; i < earlier->commands.n; i++) {
		const struct profile_command *c = &earlier->commands.v[i];

		if (command_covered(c, &later->commands.v[command]) &&
		    (!leaves_over(earlier, later) || strcmp(c->words[0], "*") == 0))
			return true;
	}
	return false;
}

/* @host: past the last for "any". */
static bool takes_host(const struct profile_rule *earlier, const struct profile_rule *later,
		       size_t host)
{
	if (earlier->any_host)
		return true;
	for (size_t i = 0; host < later->hosts.n && i < earlier->hosts.n; i++) {
		if (strcmp(earlier->hosts.v[i].text, later->hosts.v[host].text) == 0)
			return true;
	}
	return false;
}

typedef bool takes_fn(const struct profile_rule *earlier, const struct profile_rule *later,
		      size_t i);

/* What a rule says of an action: how many things, and who decides whether one of them is taken. */
static takes_fn *things_of(const struct profile_rule *rule, enum action action, size_t *ret_n)
{
	switch (action_operation(action)) {
	case OPERATION_READ:
	case OPERATION_WRITE:
		*ret_n = rule->paths.n;
		return takes_path;
	case OPERATION_EXECUTE:
		*ret_n = rule->commands.n;
		return takes_command;
	case OPERATION_CONNECT:
		*ret_n = rule->hosts.n + (rule->any_host ? 1 : 0);
		return takes_host;
	case OPERATION_HOST:
	case OPERATION_MAX:
		break;
	}
	*ret_n = 0;
	return NULL;
}

/* The first of them that decides it, or @n. */
static size_t taker(const struct profile_rule *earlier, size_t n, const struct profile_rule *later,
		    enum action action, takes_fn *takes, size_t thing)
{
	size_t i = 0;

	while (i < n && !((earlier[i].actions & ACTION_BIT(action)) != 0 &&
			  earlier[i].when.n == 0 && takes(&earlier[i], later, thing)))
		i++;
	return i;
}

bool lint_rules_cover(const struct profile_rule *earlier, size_t n,
		      const struct profile_rule *later, bool *ret_takes)
{
	bool any = false;

	for (unsigned a = 0; a < ACTION_MAX; a++) {
		takes_fn *takes;
		size_t things;

		if ((later->actions & ACTION_BIT(a)) == 0)
			continue;
		takes = things_of(later, (enum action)a, &things);
		if (takes == NULL)
			return false;
		for (size_t i = 0; i < things; i++) {
			size_t by = taker(earlier, n, later, (enum action)a, takes, i);

			if (by == n)
				return false;
			ret_takes[by] = any = true;
		}
	}
	return any;
}
