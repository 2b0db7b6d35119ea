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

static bool paths_covered(const struct profile_rule *earlier, const struct profile_rule *later)
{
	for (size_t i = 0; i < later->paths.n; i++) {
		size_t k = 0;

		while (k < earlier->paths.n &&
		       !path_covered(&earlier->paths.v[k], &later->paths.v[i]))
			k++;
		if (k == earlier->paths.n)
			return false;
	}
	return true;
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

static bool commands_covered(const struct profile_rule *earlier, const struct profile_rule *later)
{
	for (size_t i = 0; i < later->commands.n; i++) {
		size_t k = 0;

		while (k < earlier->commands.n &&
		       !command_covered(&earlier->commands.v[k], &later->commands.v[i]))
			k++;
		if (k == earlier->commands.n)
			return false;
	}
	return true;
}

static bool hosts_covered(const struct profile_rule *earlier, const struct profile_rule *later)
{
	if (earlier->any_host)
		return true;
	for (size_t i = 0; i < later->hosts.n; i++) {
		size_t k = 0;

		while (k < earlier->hosts.n &&
		       strcmp(earlier->hosts.v[k].text, later->hosts.v[i].text) != 0)
			k++;
		if (k == earlier->hosts.n)
			return false;
	}
	return !later->any_host;
}

/* An allow is read more narrowly than what is stricter: of a command it wants name and file to
 * agree, and of a literal path it is the directory alone and not what is mounted with it. That
 * leaves something over for a later rule. */
static bool leaves_over(const struct profile_rule *earlier, const struct profile_rule *later)
{
	if (earlier->mode != PROFILE_ALLOW || later->mode == PROFILE_ALLOW)
		return false;
	for (size_t i = 0; i < earlier->paths.n; i++) {
		if (glob_is_literal(&earlier->paths.v[i].glob))
			return true;
	}
	for (size_t i = 0; i < earlier->commands.n; i++) {
		if (strcmp(earlier->commands.v[i].words[0], "*") == 0)
			return false;
	}
	return earlier->commands.n > 0;
}

bool lint_rule_covers(const struct profile_rule *earlier, const struct profile_rule *later)
{
	if ((later->actions & ~earlier->actions) != 0 || earlier->when.n > 0)
		return false;
	return hosts_covered(earlier, later) && paths_covered(earlier, later) &&
	       commands_covered(earlier, later) && !leaves_over(earlier, later);
}
