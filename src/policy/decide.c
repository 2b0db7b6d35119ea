/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "policy/decide.h"

#include <string.h>

#include "base/path.h"
#include "policy/match.h"

static void decision_set(struct decision *d, enum profile_verdict verdict, const char *layer,
			 const char *code, const char *reason)
{
	*d = (struct decision){
		.verdict = verdict, .layer = layer, .code = code, .reason = reason
	};
}

const struct profile_agent *policy_identify(const struct profile *p, const char *id,
					    struct decision *ret)
{
	const struct profile_agent *agent = NULL;

	if (id != NULL)
		agent = profile_agent_find(p, id);
	else if (p->permissions.agents.n == 1)
		agent = &p->permissions.agents.v[0];
	if (agent == NULL)
		decision_set(ret, PROFILE_DENY, "identity", "identity",
			     id != NULL ? "unknown agent"
					: "no agent named and not exactly one declared");
	return agent;
}

static bool trap_match(const struct profile_trap *t, const char *rel)
{
	size_t len = strlen(t->pattern);

	/* "dir/name" is literal and covers what is below it. */
	if (strchr(t->pattern, '/') != NULL)
		return strncmp(t->pattern, rel, len) == 0 && (rel[len] == '\0' || rel[len] == '/');
	return match_name(t->pattern, rel, strcspn(rel, "/"));
}

enum policy_trap policy_trap_name(const struct profile_sandbox *s, const char *rel)
{
	for (size_t i = 0; i < s->except.n; i++) {
		if (trap_match(&s->except.v[i], rel))
			return POLICY_TRAP_NONE;
	}
	for (size_t i = 0; i < s->hide.n; i++) {
		if (trap_match(&s->hide.v[i], rel))
			return POLICY_TRAP_HIDE;
	}
	for (size_t i = 0; i < s->freeze.n; i++) {
		if (trap_match(&s->freeze.v[i], rel))
			return POLICY_TRAP_FREEZE;
	}
	return POLICY_TRAP_NONE;
}

enum policy_trap policy_trap(const struct profile_sandbox *s, const char *path)
{
	const char *deepest = NULL;

	/* The narrowest root decides: one that is granted by a protected name is granted. */
	for (size_t i = 0; i < s->roots.n; i++) {
		const char *at = s->roots.v[i].at;

		if (path_covers(at, path) && (deepest == NULL || strlen(at) > strlen(deepest)))
			deepest = at;
	}
	if (deepest == NULL || strcmp(deepest, path) == 0)
		return POLICY_TRAP_NONE;
	return policy_trap_name(s, path_rest(deepest, path));
}

/* What no rule can lift: agentbox's own files, and the traps. */
static bool decide_floor(const struct profile *p, const struct request *rq, struct decision *ret)
{
	bool write = action_operation(rq->action) == OPERATION_WRITE;
	enum policy_trap trap;

	if (rq->kind == REQUEST_PATH && rq->path_invalid) {
		decision_set(ret, PROFILE_DENY, "policy", "invalid_path",
			     "the path is not canonical");
		return true;
	}
	if (rq->kind != REQUEST_PATH)
		return false;
	trap = policy_trap(&p->sandbox, rq->path);
	if (rq->control_plane || trap == POLICY_TRAP_HIDE ||
	    (trap == POLICY_TRAP_FREEZE && write)) {
		decision_set(ret, PROFILE_DENY, "policy", "protected", "the path is protected");
		return true;
	}
	return false;
}

/* A mount cannot leave out the directory that it starts at: what is stricter about that alone
 * binds the whole tree, while an allow of it grants nothing below. */
static bool rule_matches_paths(const struct profile_rule *rule, const struct request *rq)
{
	bool whole = rq->path_is_file || rule->mode != PROFILE_ALLOW;

	for (size_t i = 0; i < rule->paths.n; i++) {
		const struct profile_path *p = &rule->paths.v[i];

		if (rq->kind == REQUEST_PATH ? glob_match(&p->glob, rq->path)
					     : match_tree(p, rq->path, whole))
			return true;
	}
	return false;
}

static bool rule_matches_command(const struct profile_rule *rule, size_t first_pattern,
				 const struct request_command *c)
{
	bool lenient = rule->mode != PROFILE_ALLOW;

	for (size_t i = 0; i < rule->commands.n; i++) {
		size_t k = first_pattern + i;
		const struct command_file *file =
			k < c->n_pattern_files ? &c->pattern_files[k] : NULL;

		if (match_command(&rule->commands.v[i], file, c, lenient))
			return true;
	}
	return false;
}

static bool rule_matches(const struct profile_rule *rule, size_t first_pattern,
			 const struct request *rq)
{
	if ((rule->actions & ACTION_BIT(rq->action)) == 0)
		return false;
	switch (rq->kind) {
	case REQUEST_PATH:
	case REQUEST_TREE:
		return rule_matches_paths(rule, rq);
	case REQUEST_COMMAND:
		return rule_matches_command(rule, first_pattern, rq->command);
	case REQUEST_HOST:
		return rule->any_host;
	}
	return false;
}

static const struct {
	const char *code;
	const char *reason;
} verdict_words[] = {
	[PROFILE_DENY] = { "acl_deny", "denied by a rule" },
	[PROFILE_INTERRUPT] = { "interrupt", "a person must approve this first" },
	[PROFILE_ALLOW] = { "acl_allow", "allowed by a rule" },
};

void policy_decide(const struct profile *p, const struct profile_agent *agent,
		   const struct request *rq, struct decision *ret)
{
	size_t pattern = 0;

	if (decide_floor(p, rq, ret))
		return;
	for (size_t i = 0; i < agent->rules.n; i++) {
		const struct profile_rule *rule = &agent->rules.v[i];

		if (rule_matches(rule, pattern, rq)) {
			decision_set(ret, rule->mode, "policy", verdict_words[rule->mode].code,
				     verdict_words[rule->mode].reason);
			ret->has_rule = true;
			ret->rule = rule->pos;
			return;
		}
		pattern += rule->commands.n;
	}
	decision_set(ret, PROFILE_DENY, "policy", "acl_deny", "no matching rule");
}

void policy_tree_access(const struct profile *p, const struct profile_agent *agent, const char *at,
			bool is_file, struct tree_access *ret)
{
	static const struct {
		enum action action;
		bool write;
	} rights[] = {
		{ ACTION_READ_FILE, false }, { ACTION_DOWNLOAD, false },
		{ ACTION_WRITE_FILE, true }, { ACTION_EDIT_FILE, true },
		{ ACTION_UPLOAD, true },     { ACTION_DELETE, true },
	};

	*ret = (struct tree_access){ 0 };
	for (size_t i = 0; i < ARRAY_SIZE(rights); i++) {
		struct request rq = { .action = rights[i].action,
				      .kind = REQUEST_TREE,
				      .path = at,
				      .path_is_file = is_file };
		struct decision d;

		policy_decide(p, agent, &rq, &d);
		if (d.verdict != PROFILE_ALLOW)
			continue;
		if (rights[i].write) {
			ret->write = true;
			ret->write_rule = d.rule;
		} else {
			ret->read = true;
		}
	}
}

void policy_root_access(const struct profile *p, const struct profile_agent *agent,
			const struct profile_root *root, bool is_file, struct tree_access *ret)
{
	policy_tree_access(p, agent, root->at, is_file, ret);
	/* The sandbox is the upper bound; and what cannot be read is not mounted at all. */
	ret->write = ret->write && ret->read && root->mode != PROFILE_MODE_RO;
}
