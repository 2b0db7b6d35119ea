/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "policy/decide.h"

#include <limits.h>
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

const struct policy_agent *policy_identify(struct arena *a, const struct profile *p,
					   const struct agent_asked *asked, struct decision *ret)
{
	const char *reason;
	const struct policy_agent *agent = agent_find(a, p, asked, &reason);

	if (agent == NULL)
		decision_set(ret, PROFILE_DENY, "identity", "identity", reason);
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

/* The first rule of a list that matches, or NULL. */
typedef const struct profile_rule *match_fn(const struct agent_rules *list,
					    const struct request *rq);

/* A mount cannot leave out the directory that it starts at: what is stricter about that alone
 * binds the whole tree, while an allow of it grants nothing below. */
static bool path_matches(const struct profile_rule *rule, const struct profile_path *p,
			 const struct request *rq)
{
	if (rq->kind == REQUEST_PATH)
		return glob_match(&p->glob, rq->path);
	return match_tree(p, rq->path, rq->path_is_file || rule->mode != PROFILE_ALLOW);
}

/* The names of a path as bits of their hashes: what is not there is certainly no component. */
#define NAME_BITS 1024

static void names_fill(const char *path, uint64_t bits[NAME_BITS / 64])
{
	while (*path != '\0') {
		size_t len = strcspn(path, "/");
		uint32_t h = agent_hash(path, len) >> 1;

		bits[h % NAME_BITS / 64] |= (uint64_t)1 << h % 64;
		path += len + (path[len] == '/');
	}
}

static bool names_miss(const uint64_t bits[NAME_BITS / 64], uint32_t need)
{
	uint32_t h = need >> 1;

	return need != 0 && (bits[h % NAME_BITS / 64] >> h % 64 & 1) == 0;
}

static const struct profile_rule *match_paths(const struct agent_rules *list,
					      const struct request *rq)
{
	uint32_t hashes[PATH_MAX];
	uint64_t names[NAME_BITS / 64] = { 0 };
	size_t len = strlen(rq->path);

	if (len >= PATH_MAX)
		return NULL;
	agent_hashes(rq->path, len == 1 ? 0 : len, hashes);
	names_fill(rq->path + 1, names);
	for (size_t i = 0; i < list->paths.n; i++) {
		const struct agent_row *row = &list->paths.v[i];
		const struct profile_rule *rule;

		if ((row->actions & ACTION_BIT(rq->action)) == 0 || row->len > len ||
		    hashes[row->len] != row->hash || names_miss(names, row->need))
			continue;
		rule = &list->rules.v[row->rule];
		if (path_matches(rule, &rule->paths.v[row->item], rq))
			return rule;
	}
	return NULL;
}

/* Deleting a directory needs an allow of all of it. What is stricter counts wherever it touches the
 * directory, something below it or a directory above; and wherever it stands in the list, unless it
 * begins at "/" as a catch-all does, which an allow before it answers. */
static const struct profile_rule *match_below(const struct agent_rules *list,
					      const struct request *rq)
{
	const struct profile_rule *allow = NULL;
	const struct profile_rule *strict = NULL;

	for (size_t i = 0; i < list->paths.n; i++) {
		const struct agent_row *row = &list->paths.v[i];
		const struct profile_rule *rule = &list->rules.v[row->rule];
		const struct glob *g = &rule->paths.v[row->item].glob;

		if ((row->actions & ACTION_BIT(rq->action)) == 0)
			continue;
		if (rule->mode == PROFILE_ALLOW) {
			if (allow == NULL && glob_covers(g, rq->path))
				allow = rule;
		} else if ((allow == NULL || row->len > 0) && glob_overlaps(g, rq->path)) {
			if (strict == NULL || rule->mode < strict->mode)
				strict = rule;
		}
	}
	return strict != NULL ? strict : allow;
}

static const struct profile_rule *match_commands(const struct agent_rules *list,
						 const struct request *rq)
{
	const struct request_command *c = rq->command;
	const char *name = path_basename(c->argv[0]);
	uint32_t hash = agent_hash(name, strlen(name));

	for (size_t i = 0; i < list->commands.n; i++) {
		const struct agent_row *row = &list->commands.v[i];
		const struct profile_rule *rule;
		const struct command_file *file;

		if ((row->actions & ACTION_BIT(rq->action)) == 0 ||
		    (!row->any && !row->strict && row->hash != hash))
			continue;
		rule = &list->rules.v[row->rule];
		file = row->number < c->n_pattern_files ? &c->pattern_files[row->number] : NULL;
		if (row->any || match_command(&rule->commands.v[row->item], file, c,
					      row->hash == hash, row->strict))
			return rule;
	}
	return NULL;
}

/* Anywhere at all: an allow must be of anywhere, what is stricter about any place is enough. */
static const struct profile_rule *match_hosts(const struct agent_rules *list,
					      const struct request *rq)
{
	const struct host_target *to = rq->host;
	uint32_t hash = to == NULL ? 0 : agent_hash(to->name, strlen(to->name));

	for (size_t i = 0; i < list->hosts.n; i++) {
		const struct agent_row *row = &list->hosts.v[i];
		const struct profile_rule *rule = &list->rules.v[row->rule];

		if ((row->actions & ACTION_BIT(rq->action)) == 0 ||
		    (to != NULL && row->hash != 0 && row->hash != hash))
			continue;
		if (row->any || (to == NULL ? row->strict
					    : hostpat_match(&rule->hosts.v[row->item].pattern, to)))
			return rule;
	}
	return NULL;
}

static match_fn *match_of(const struct request *rq)
{
	switch (rq->kind) {
	case REQUEST_PATH:
		return rq->path_below ? match_below : match_paths;
	case REQUEST_TREE:
		return match_paths;
	case REQUEST_COMMAND:
		return match_commands;
	case REQUEST_HOST:
		break;
	}
	return match_hosts;
}

static const struct {
	const char *code;
	const char *reason;
} verdict_words[] = {
	[PROFILE_DENY] = { "acl_deny", "denied by a rule" },
	[PROFILE_INTERRUPT] = { "interrupt", "a person must approve this first" },
	[PROFILE_ALLOW] = { "acl_allow", "allowed by a rule" },
};

void policy_decide(const struct profile *p, const struct policy_agent *agent,
		   const struct request *rq, struct decision *ret)
{
	match_fn *match = match_of(rq);

	if (decide_floor(p, rq, ret))
		return;
	decision_set(ret, PROFILE_DENY, "policy", "acl_deny", "no matching rule");
	for (size_t i = 0; i < agent->lists.n; i++) {
		const struct profile_rule *rule = match(&agent->lists.v[i], rq);

		if (rule == NULL) {
			decision_set(ret, PROFILE_DENY, "policy", "acl_deny", "no matching rule");
			return;
		}
		if (i > 0 && rule->mode >= ret->verdict)
			continue;
		decision_set(ret, rule->mode, "policy", verdict_words[rule->mode].code,
			     verdict_words[rule->mode].reason);
		ret->has_rule = true;
		ret->rule = rule->pos;
	}
}

void policy_tree_access(const struct profile *p, const struct policy_agent *agent, const char *at,
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

void policy_root_access(const struct profile *p, const struct policy_agent *agent,
			const struct profile_root *root, bool is_file, struct tree_access *ret)
{
	policy_tree_access(p, agent, root->at, is_file, ret);
	/* The sandbox is the upper bound; and what cannot be read is not mounted at all. */
	ret->write = ret->write && ret->read && root->mode != PROFILE_MODE_RO;
}
