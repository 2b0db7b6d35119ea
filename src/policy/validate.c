/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>

#include "base/path.h"
#include "policy/decide.h"
#include "policy/grants.h"
#include "policy/match.h"

/* A pattern that reaches into a root without covering it says something about a part of a mount.
 * For an allow that is fine when the part is a root of its own, which the rule covers; a
 * stricter rule would need a mask, which this version does not make: it is refused. */
static bool path_is_enforced(const struct profile_sandbox *s, const struct profile_path *path,
			     enum profile_verdict mode, const struct profile_root **ret_root)
{
	bool own_root = false;
	bool finer = false;

	for (size_t i = 0; i < s->roots.n; i++) {
		const char *at = s->roots.v[i].at;

		if (match_tree(path, at, true)) {
			own_root = true;
		} else if (glob_reaches(&path->glob, at)) {
			finer = true;
			*ret_root = &s->roots.v[i];
		}
	}
	return !finer || (mode == PROFILE_ALLOW && own_root);
}

static int rule_enforceable(const struct profile_sandbox *s, const struct profile_rule *rule,
			    struct err *err)
{
	if (rule->hosts.n > 0)
		return err_set_at(err, ERR_PROFILE, rule->pos.file, rule->pos.line, rule->pos.col,
				  "host '%s': network by name is not part of this version, so that "
				  "no command is run ('check' answers): write [\"*\"], or leave "
				  "connect out",
				  rule->hosts.v[0].text);
	for (size_t i = 0; i < rule->paths.n; i++) {
		const struct profile_path *path = &rule->paths.v[i];
		const struct profile_root *root = NULL;

		if (!path_is_enforced(s, path, rule->mode, &root))
			return err_set_at(err, ERR_PROFILE, rule->pos.file, rule->pos.line,
					  rule->pos.col,
					  "'%s' is finer than the root '%s', and nothing in this "
					  "version enforces that for programs, so that no command "
					  "is run ('check' answers): %s",
					  path->text, root->at,
					  rule->mode == PROFILE_ALLOW
						  ? "make it a root of its own, or move it out of "
						    "the root"
						  : "move it out of the root");
	}
	return 0;
}

int policy_enforceable(const struct profile *p, const struct policy_agent *agent, struct err *err)
{
	for (size_t i = 0; i < agent->lists.n; i++) {
		const struct agent_rules *list = &agent->lists.v[i];

		for (size_t k = 0; k < list->rules.n; k++) {
			if (rule_enforceable(&p->sandbox, &list->rules.v[k], err) != 0)
				return -1;
		}
	}
	return 0;
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
