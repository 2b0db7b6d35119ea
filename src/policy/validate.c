/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>

#include "base/path.h"
#include "policy/decide.h"
#include "policy/grants.h"
#include "policy/match.h"

/* Does the mount of a root give what @rule allows in a part of it? The sandbox is the upper bound:
 * what it does not grant no rule does. */
static bool root_gives(const struct profile *p, const struct policy_agent *agent,
		       const struct profile_root *root, const struct profile_rule *rule)
{
	action_set reads = action_operation_set(OPERATION_READ);
	action_set writes = action_operation_set(OPERATION_WRITE);
	struct tree_access t;

	policy_tree_access(p, agent, root->at, false, &t);
	return ((rule->actions & reads) == 0 || t.read) &&
	       ((rule->actions & writes) == 0 || t.write || root->mode == PROFILE_MODE_RO);
}

/* A pattern that reaches into a root without covering it says something about a part of a mount.
 * For what is stricter there are masks, of what exists then (guards_rules()). An allow can only be
 * an exception from such a rule, or the part must be a root of its own, which it covers. */
static bool path_is_enforced(const struct profile *p, const struct policy_agent *agent,
			     const struct profile_rule *rule, const struct profile_path *path,
			     const struct profile_root **ret_root)
{
	const struct profile_sandbox *s = &p->sandbox;
	bool own_root = false;
	bool finer = false;

	if (rule->mode != PROFILE_ALLOW)
		return true;

	for (size_t i = 0; i < s->roots.n; i++) {
		const char *at = s->roots.v[i].at;

		if (match_tree(path, at, true)) {
			own_root = true;
		} else if (glob_reaches(&path->glob, at) &&
			   !root_gives(p, agent, &s->roots.v[i], rule)) {
			finer = true;
			*ret_root = &s->roots.v[i];
		}
	}
	return !finer || own_root;
}

static bool agent_runs_commands(const struct policy_agent *agent)
{
	for (size_t i = 0; i < agent->lists.n; i++) {
		const struct agent_rules *list = &agent->lists.v[i];
		bool runs = false;

		for (size_t k = 0; k < list->rules.n; k++)
			runs = runs ||
			       (list->rules.v[k].mode == PROFILE_ALLOW &&
				(list->rules.v[k].actions & ACTION_BIT(ACTION_RUN_COMMAND)) != 0);
		if (!runs)
			return false;
	}
	return true;
}

/* What the sandbox makes for itself. A rule of a directory above is not about it: what is there is
 * the command's own, and a mask of it would be no sandbox. One that names it would hold for
 * requests alone. */
static const struct {
	const char *at;
	const char *what;
} own_places[] = {
	{ "/proc", "the kernel's view of the sandbox itself" },
	{ "/tmp", "the sandbox's own scratch, which programs fill" },
	{ "/var/tmp", "the sandbox's own scratch, which programs fill" },
	{ "/home/agent", "the sandbox's own scratch, which programs fill" },
	{ "/dev/shm", "the sandbox's own scratch, which programs fill" },
	{ "/dev/pts", "the sandbox's own terminals" },
	{ "/dev/ptmx", "the sandbox's own terminals" },
	{ "/dev/fd", "a name of the program's own descriptors" },
	{ "/dev/stdin", "a name of the program's own descriptors" },
	{ "/dev/stdout", "a name of the program's own descriptors" },
	{ "/dev/stderr", "a name of the program's own descriptors" },
};

/* A root or a tree of the base, in a directory of the scratch. */
static bool reaches_granted(const struct profile_sandbox *s, const struct glob *g)
{
	for (size_t i = 0; i < s->roots.n; i++) {
		if (glob_reaches(g, s->roots.v[i].at))
			return true;
	}
	for (size_t i = 0; i < s->base_add.n; i++) {
		if (glob_reaches(g, s->base_add.v[i].path))
			return true;
	}
	return false;
}

static int path_is_maskable(const struct profile *p, const struct profile_rule *rule,
			    const struct profile_path *path, struct err *err)
{
	const struct glob *g = &path->glob;
	action_set files =
		action_operation_set(OPERATION_READ) | action_operation_set(OPERATION_WRITE);

	if (rule->mode == PROFILE_ALLOW || (rule->actions & files) == 0 || g->prefix == NULL)
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(own_places); i++) {
		const char *at = own_places[i].at;
		/* Of /dev nothing but single devices can be left out. */
		bool named = path_covers(at, g->prefix) ||
			     (strcmp(g->prefix, "/dev") == 0 && glob_reaches(g, at));

		if (!named || reaches_granted(&p->sandbox, g))
			continue;
		return err_set_at(err, ERR_PROFILE, rule->pos.file, rule->pos.line, rule->pos.col,
				  "'%s' cannot be enforced for programs, so that no command is run "
				  "('check' answers): %s is %s; leave it out of the rule",
				  path->text, at, own_places[i].what);
	}
	return 0;
}

static int rule_enforceable(const struct profile *p, const struct policy_agent *agent,
			    const struct profile_rule *rule, struct err *err)
{
	/* The relay of a network by name asks them; with any other there is nobody who would. */
	if (rule->hosts.n > 0 && p->sandbox.network != PROFILE_NETWORK_NAMED)
		return err_set_at(
			err, ERR_PROFILE, rule->pos.file, rule->pos.line, rule->pos.col,
			"host '%s': nothing enforces it without a network by name, so that "
			"no command is run ('check' answers): list hosts in "
			"sandbox.network.allow, write [\"*\"] here, or leave connect out",
			rule->hosts.v[0].text);
	for (size_t i = 0; i < rule->paths.n; i++) {
		const struct profile_path *path = &rule->paths.v[i];
		const struct profile_root *root = NULL;

		if (agent_runs_commands(agent) && path_is_maskable(p, rule, path, err) != 0)
			return -1;
		if (!path_is_enforced(p, agent, rule, path, &root))
			return err_set_at(err, ERR_PROFILE, rule->pos.file, rule->pos.line,
					  rule->pos.col,
					  "'%s' is finer than the root '%s', which is not granted "
					  "as a whole, and nothing in this version enforces that "
					  "for programs, so that no command is run ('check' "
					  "answers): make it a root of its own",
					  path->text, root->at);
	}
	return 0;
}

int policy_enforceable(const struct profile *p, const struct policy_agent *agent, struct err *err)
{
	for (size_t i = 0; i < agent->lists.n; i++) {
		const struct agent_rules *list = &agent->lists.v[i];

		for (size_t k = 0; k < list->rules.n; k++) {
			if (rule_enforceable(p, agent, &list->rules.v[k], err) != 0)
				return -1;
		}
	}
	return 0;
}

/* A mount cannot be writable and unreadable at once. */
static int agent_validate(const struct profile *p, const struct policy_agent *agent,
			  struct err *err)
{
	if (!agent_runs_commands(agent))
		return 0;
	for (size_t i = 0; i < p->sandbox.roots.n; i++) {
		const char *at = p->sandbox.roots.v[i].at;
		struct tree_access t;

		policy_tree_access(p, agent, at, false, &t);
		if (t.write && !t.read)
			return err_set_at(
				err, ERR_PROFILE, t.write_rule.file, t.write_rule.line,
				t.write_rule.col,
				"agent '%s' may run commands and write '%s' but not read "
				"it: no mount is writable and unreadable; allow read too, "
				"or drop write",
				agent->id, at);
	}
	return 0;
}

/* What the profile alone shows; the rest is judged when the objects are there. */
static int grants_validate(const struct profile_sandbox *s, struct err *err)
{
	for (size_t i = 0; i < s->devices.n; i++) {
		const struct profile_name *n = &s->devices.v[i];
		const char *why = grants_device_refusal(n->name, false, 0, 0, s->nested_sandboxes);

		if (why != NULL)
			return err_set_at(err, ERR_PROFILE, n->pos.file, n->pos.line, n->pos.col,
					  "device: %s: %s", n->name, why);
	}
	for (size_t i = 0; i < s->sockets.n; i++) {
		const struct profile_name *n = &s->sockets.v[i];
		const char *why = grants_socket_refusal(n->name);

		if (why != NULL)
			return err_set_at(err, ERR_PROFILE, n->pos.file, n->pos.line, n->pos.col,
					  "socket: %s: %s", n->name, why);
	}
	if (s->nested_sandboxes && !s->any_command)
		return err_set_at(
			err, ERR_PROFILE, s->commands_pos.file, s->commands_pos.line,
			s->commands_pos.col,
			"'commands' needs Landlock, and 'nested_sandboxes: true' (line %u) "
			"turns it off: keep one of them",
			s->nested_pos.line);
	return 0;
}

int policy_validate(struct arena *a, const struct profile *p, struct err *err)
{
	if (grants_validate(&p->sandbox, err) != 0)
		return -1;
	for (size_t i = 0; i < p->permissions.agents.n; i++) {
		if (agent_validate(p, agent_alone(a, &p->permissions.agents.v[i]), err) != 0)
			return -1;
	}
	return 0;
}
