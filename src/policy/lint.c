/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>

#include "base/path.h"
#include "base/strbuf.h"
#include "policy/lint-checks.h"
#include "policy/match.h"

void lint_add(struct lint *l, const struct profile_pos *at, const char *check, const char *text)
{
	for (size_t i = 0; i < l->ret->n; i++) {
		const struct lint_finding *f = &l->ret->v[i];

		if (f->pos.line == at->line && f->pos.col == at->col &&
		    strcmp(f->pos.file, at->file) == 0 && strcmp(f->name, check) == 0 &&
		    strcmp(f->text, text) == 0)
			return;
	}
	*array_push(l->arena, l->ret) =
		(struct lint_finding){ .pos = *at, .name = check, .text = text };
}

const char *lint_where(struct lint *l, const struct profile_pos *from, const struct profile_pos *to)
{
	if (strcmp(from->file, to->file) == 0)
		return arena_printf(l->arena, "line %u", to->line);
	return arena_printf(l->arena, "%s:%u", to->file, to->line);
}

/* A shell starts builtins and, by its own means, whatever it can read. */
static void check_shells(struct lint *l)
{
	static const char *const shells[] = { "sh",  "bash", "dash", "ash",     "zsh",    "ksh",
					      "csh", "tcsh", "fish", "busybox", "toybox", "mksh" };
	const struct profile_sandbox *s = &l->profile->sandbox;

	for (size_t i = 0; i < s->commands.n; i++) {
		const struct profile_program *c = &s->commands.v[i];
		const char *name = path_basename(c->text);

		for (size_t k = 0; k < ARRAY_SIZE(shells); k++) {
			if (!match_wildcards(name, shells[k]))
				continue;
			lint_found(l, c->pos, "shell",
				   "'%s' lets '%s' start, which is a shell: then 'commands' binds "
				   "nothing that a script can do by itself",
				   c->text, shells[k]);
			break;
		}
	}
}

/* Can any agent write there? */
static bool is_written(const struct lint *l, const struct profile_root *root)
{
	const struct profile *p = l->profile;

	for (size_t i = 0; i < p->permissions.agents.n; i++) {
		struct tree_access t;

		policy_root_access(p, agent_widest(l->arena, &p->permissions.agents.v[i]), root,
				   false, &t);
		if (t.write)
			return true;
	}
	return false;
}

/* What programs of the host are found in is changed from inside. */
static void check_host_programs(struct lint *l, const struct profile_root *root)
{
	const char *self = l->host->self;

	if (self != NULL && path_covers(root->path, self))
		lint_found(
			l, root->pos, "binary",
			"the writable root '%s' holds agentbox itself: it is kept read-only there, "
			"but better lies elsewhere",
			root->path);
	for (const char *p = l->host->path_env; p != NULL && *p != '\0'; p += *p == ':') {
		size_t len = strcspn(p, ":");
		const char *dir = arena_strndup(l->arena, p, len);

		p += len;
		if (!path_is_canonical(dir) || !path_covers(root->path, dir))
			continue;
		lint_found(l, root->pos, "path",
			   "the writable root '%s' holds '%s', which is in PATH: what is put there "
			   "from "
			   "inside is run outside",
			   root->path, dir);
		return;
	}
}

static bool is_read(const struct lint *l, const struct profile_root *root)
{
	const struct profile *p = l->profile;

	for (size_t i = 0; i < p->permissions.agents.n; i++) {
		const struct policy_agent *agent =
			agent_widest(l->arena, &p->permissions.agents.v[i]);
		struct tree_access tree, file;

		policy_root_access(p, agent, root, false, &tree);
		policy_root_access(p, agent, root, true, &file);
		if (tree.read || file.read)
			return true;
	}
	return false;
}

static void check_roots(struct lint *l)
{
	const struct profile_sandbox *s = &l->profile->sandbox;

	for (size_t i = 0; i < s->roots.n; i++) {
		const struct profile_root *root = &s->roots.v[i];

		if (is_written(l, root))
			check_host_programs(l, root);
		if (l->profile->permissions.agents.n > 0 && !is_read(l, root))
			lint_found(l, root->pos, "unused",
				   "no agent may read all of root '%s': the sandbox is wider than "
				   "policy "
				   "and the root is never mounted",
				   root->at);
	}
}

static bool base_reached(const struct profile_sandbox *s, const struct profile_path *path)
{
	static const char *const trees[] = { "/usr",    "/bin", "/sbin", "/lib", "/lib32", "/lib64",
					     "/libx32", "/etc", "/opt",  "/nix", "/gnu" };

	for (size_t i = 0; i < ARRAY_SIZE(trees); i++) {
		if (glob_reaches(&path->glob, trees[i]))
			return true;
	}
	for (size_t i = 0; i < s->base_add.n; i++) {
		if (glob_reaches(&path->glob, s->base_add.v[i].path))
			return true;
	}
	return s->base == PROFILE_BASE_PATH;
}

/* An allow of what the sandbox has not, and an approval that is asked for everywhere. */
static void check_paths(struct lint *l, const struct profile_rule *rule)
{
	const struct profile_sandbox *s = &l->profile->sandbox;

	for (size_t i = 0; i < rule->paths.n; i++) {
		const struct profile_path *path = &rule->paths.v[i];
		bool reached = base_reached(s, path);

		for (size_t k = 0; k < s->roots.n; k++)
			reached = reached || glob_reaches(&path->glob, s->roots.v[k].at);
		if (rule->mode == PROFILE_ALLOW && !reached && !path->more)
			lint_found(
				l, rule->pos, "outside",
				"'%s' is outside sandbox roots: the rule allows it and the sandbox "
				"has not got it",
				path->text);
		if (rule->mode == PROFILE_INTERRUPT && strcmp(path->glob.prefix, "/") == 0 &&
		    path->glob.n > 0 && !glob_is_subtree(&path->glob))
			lint_found(l, rule->pos, "anchor",
				   "'%s' asks a person for every match anywhere: anchor it below a "
				   "directory",
				   path->text);
	}
}

/* The deepest root that holds all of what a pattern can match, or NULL. */
static const struct profile_root *root_of(const struct profile_sandbox *s,
					  const struct profile_path *path)
{
	const struct profile_root *best = NULL;

	for (size_t i = 0; i < s->roots.n; i++) {
		const struct profile_root *r = &s->roots.v[i];

		if (path_covers(r->at, path->glob.prefix) &&
		    (best == NULL || path_covers(best->at, r->at)))
			best = r;
	}
	return best;
}

static void check_read_only(struct lint *l, const struct profile_rule *rule)
{
	const action_set write = action_operation_set(OPERATION_WRITE);

	if (rule->mode != PROFILE_ALLOW || (rule->actions & write) == 0)
		return;
	for (size_t i = 0; i < rule->paths.n; i++) {
		const struct profile_path *path = &rule->paths.v[i];
		const struct profile_root *root = root_of(&l->profile->sandbox, path);

		if (root != NULL && root->mode == PROFILE_MODE_RO)
			lint_found(
				l, rule->pos, "readonly",
				"'%s' is wider than sandbox roots: the rule allows writing it, and "
				"the root '%s' (%s) is read-only",
				path->text, root->at, lint_where(l, &rule->pos, &root->pos));
	}
}

/* The decision is on what is asked for; what that starts is nobody's request. */
static void check_advisory(struct lint *l, const struct profile_agent *agent)
{
	bool allows = false;

	for (size_t i = 0; i < agent->rules.n; i++) {
		const struct profile_rule *r = &agent->rules.v[i];

		allows = allows || (r->mode == PROFILE_ALLOW && r->commands.n > 0);
	}
	for (size_t i = 0; allows && i < agent->rules.n; i++) {
		const struct profile_rule *r = &agent->rules.v[i];

		if (r->mode == PROFILE_ALLOW || r->commands.n == 0 ||
		    strcmp(r->commands.v[0].words[0], "*") == 0)
			continue;
		lint_found(l, r->pos, "advisory",
			   "advisory: the rule on '%s' decides what is asked for, and not what an "
			   "allowed program starts; 'commands' of the sandbox binds that",
			   r->commands.v[0].text);
	}
}

static void check_rule(struct lint *l, const struct profile_rule *rule)
{
	check_paths(l, rule);
	check_read_only(l, rule);
}

static const char *const mode_words[] = {
	[PROFILE_DENY] = "deny", [PROFILE_INTERRUPT] = "interrupt", [PROFILE_ALLOW] = "allow"
};

/* By one alone, which is told in preference. */
static bool shadowed_by_one(struct lint *l, const struct profile_rule *rules, size_t i)
{
	const struct profile_rule *later = &rules[i];

	for (size_t k = 0; k < i; k++) {
		bool takes = false;

		if (!lint_rules_cover(&rules[k], 1, later, &takes))
			continue;
		lint_found(l, later->pos, "shadowed",
			   "this %s rule is never reached: it is shadowed by the %s rule at %s, "
			   "and the first match wins",
			   mode_words[later->mode], mode_words[rules[k].mode],
			   lint_where(l, &later->pos, &rules[k].pos));
		return true;
	}
	return false;
}

#define TAKERS_SHOWN 8

static void shadowed_by_several(struct lint *l, const struct profile_rule *rules, size_t i)
{
	const struct profile_rule *later = &rules[i];
	bool *takes = arena_array(l->arena, i, sizeof(*takes));
	STRBUF_AUTO sb = { 0 };
	size_t n = 0;

	if (!lint_rules_cover(rules, i, later, takes))
		return;
	for (size_t k = 0; k < i; k++) {
		if (takes[k] && n++ < TAKERS_SHOWN)
			strbuf_printf(&sb, "%sthe %s rule at %s", n == 1 ? "" : ", ",
				      mode_words[rules[k].mode],
				      lint_where(l, &later->pos, &rules[k].pos));
	}
	if (n > TAKERS_SHOWN)
		strbuf_printf(&sb, " and %zu more", n - TAKERS_SHOWN);
	lint_found(l, later->pos, "shadowed",
		   "this %s rule is never reached: it is shadowed by several rules together, %s, "
		   "and the first match wins",
		   mode_words[later->mode], strbuf_str(&sb));
}

static void check_shadowed(struct lint *l, const struct profile_agent *agent)
{
	for (size_t i = 1; i < agent->rules.n; i++) {
		if (!shadowed_by_one(l, agent->rules.v, i))
			shadowed_by_several(l, agent->rules.v, i);
	}
}

void lint_profile(struct arena *a, const struct profile *p, const struct lint_host *host,
		  lint_findings *ret)
{
	struct lint l = { .arena = a, .profile = p, .host = host, .ret = ret };

	check_shells(&l);
	lint_network(&l);
	check_roots(&l);
	for (size_t i = 0; i < p->permissions.agents.n; i++) {
		const struct profile_agent *agent = &p->permissions.agents.v[i];

		for (size_t k = 0; !agent->allow_all && k < agent->rules.n; k++)
			check_rule(&l, &agent->rules.v[k]);
		check_advisory(&l, agent);
		check_shadowed(&l, agent);
	}
}
