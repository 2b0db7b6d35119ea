/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Any profile that loads, and requests made of its own patterns:
 *  - what it is shown as is read as the same profile;
 *  - an agent is allowed nothing that its parent is not, nor a chain what one of it is not;
 *  - one more deny, wherever it stands, and a stricter mode of any rule allow nothing new. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "policy/decide.h"
#include "profile/show.h"

#define AGENTS_MAX 6
#define RULES_MAX  8
#define PROBES_MAX 48

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct probe {
	enum request_kind kind;
	bool below;
	const char *path;
	char **argv;
	struct host_target host;
};

struct fuzz {
	struct arena arena;
	const struct profile *profile;
	ARRAY_OF(struct probe) probes;
};

static void fail(const char *why)
{
	(void)fprintf(stderr, "%s\n", why);
	abort();
}

static int parse(struct arena *a, const char *text, size_t len, const struct profile **ret)
{
	static const struct profile_source src = {
		.fd = -1, .cwd = "/", .home = "/home/u", .uid = 1000, .gid = 1000
	};
	const struct profile_text in = { .name = "f", .dir = "/srv/p", .text = text, .len = len };
	struct err err = { 0 };

	return profile_parse(a, &src, &in, ret, &err);
}

static void check_shown(struct fuzz *f)
{
	STRBUF_AUTO sb = { 0 };
	const struct profile *again = NULL;
	struct profile_hashes one, two;
	struct err err = { 0 };

	if (profile_show(&f->arena, f->profile, &sb, &err) != 0)
		return;
	if (parse(&f->arena, strbuf_str(&sb), sb.len, &again) != 0)
		fail("what is shown is not read");
	profile_hash_blocks(f->profile, &one);
	profile_hash_blocks(again, &two);
	if (strcmp(one.permissions_sha256, two.permissions_sha256) != 0 ||
	    strcmp(one.sandbox_sha256, two.sandbox_sha256) != 0)
		fail("what is shown is another profile");
}

static void probe_path(struct fuzz *f, const char *path)
{
	if (!path_is_canonical(path) || f->probes.n >= PROBES_MAX)
		return;
	*array_push(&f->arena, &f->probes) = (struct probe){ .kind = REQUEST_PATH, .path = path };
	*array_push(&f->arena, &f->probes) =
		(struct probe){ .kind = REQUEST_PATH, .below = true, .path = path };
	*array_push(&f->arena, &f->probes) = (struct probe){ .kind = REQUEST_TREE, .path = path };
}

static void probe_command(struct fuzz *f, const struct profile_command *c)
{
	char **argv = arena_array(&f->arena, c->n + 1, sizeof(*argv));

	for (size_t i = 0; i < c->n; i++)
		argv[i] =
			arena_strdup(&f->arena, strcmp(c->words[i], "*") == 0 ? "x" : c->words[i]);
	if (f->probes.n < PROBES_MAX)
		*array_push(&f->arena, &f->probes) =
			(struct probe){ .kind = REQUEST_COMMAND, .argv = argv };
}

static void probe_host(struct fuzz *f, const struct profile_host *h)
{
	struct probe p = { .kind = REQUEST_HOST };
	const char *text = h->pattern.kind == HOSTPAT_SUFFIX
				   ? arena_printf(&f->arena, "a.%s", h->pattern.name)
				   : h->pattern.name;

	if (text[0] != '\0' && hostpat_target(text, &p.host) == NULL && f->probes.n < PROBES_MAX)
		*array_push(&f->arena, &f->probes) = p;
}

static void probes_of_rule(struct fuzz *f, const struct profile_rule *r)
{
	for (size_t i = 0; i < r->paths.n; i++) {
		const char *prefix = r->paths.v[i].glob.prefix;

		probe_path(f, prefix);
		probe_path(f, path_join(&f->arena, prefix, "a"));
		probe_path(f, path_join(&f->arena, prefix, "a/.env"));
		probe_path(f, path_dirname(&f->arena, prefix));
	}
	for (size_t i = 0; i < r->commands.n; i++)
		probe_command(f, &r->commands.v[i]);
	for (size_t i = 0; i < r->hosts.n; i++)
		probe_host(f, &r->hosts.v[i]);
}

static void probes_make(struct fuzz *f)
{
	probe_path(f, "/");
	probe_path(f, "/w/x");
	for (size_t i = 0; i < f->profile->permissions.agents.n; i++) {
		const struct profile_agent *agent = &f->profile->permissions.agents.v[i];

		for (size_t k = 0; k < agent->rules.n; k++)
			probes_of_rule(f, &agent->rules.v[k]);
	}
}

/* A file for each name: which one, its text decides. */
static struct command_file file_of(const char *word)
{
	const char *name = path_basename(word);

	return (struct command_file){ .found = true,
				      .id = { .ino = agent_hash(name, strlen(name)) } };
}

static enum profile_verdict decide(struct fuzz *f, const struct policy_agent *agent,
				   const struct probe *p, enum action action)
{
	struct command_file *files = arena_array(&f->arena, agent->n_commands + 1, sizeof(*files));
	struct request_command command = { .argv = p->argv,
					   .pattern_files = files,
					   .n_pattern_files = agent->n_commands };
	struct request rq = { .action = action,
			      .kind = p->kind,
			      .path = p->path,
			      .path_below = p->below,
			      .command = &command,
			      .host = &p->host };
	struct decision d;

	for (size_t i = 0; i < agent->lists.n; i++) {
		const struct agent_rules *list = &agent->lists.v[i];

		for (size_t k = 0; k < list->commands.n; k++) {
			const struct agent_row *row = &list->commands.v[k];

			files[row->number] =
				file_of(list->rules.v[row->rule].commands.v[row->item].words[0]);
		}
	}
	if (p->argv != NULL)
		command.file = file_of(p->argv[0]);
	policy_decide(f->profile, agent, &rq, &d);
	return d.verdict;
}

/* All that @narrow is allowed, @wide is allowed too. */
static void check_narrower(struct fuzz *f, const struct policy_agent *narrow,
			   const struct policy_agent *wide, const char *why)
{
	static const enum action of_paths[] = { ACTION_READ_FILE, ACTION_WRITE_FILE,
						ACTION_DELETE };

	for (size_t i = 0; i < f->probes.n; i++) {
		const struct probe *p = &f->probes.v[i];
		enum action one =
			p->kind == REQUEST_COMMAND ? ACTION_RUN_COMMAND : ACTION_NET_CONNECT;
		bool paths = p->kind == REQUEST_PATH || p->kind == REQUEST_TREE;

		for (size_t k = 0; k < (paths ? ARRAY_SIZE(of_paths) : 1); k++) {
			enum action action = paths ? of_paths[k] : one;

			if (decide(f, narrow, p, action) == PROFILE_ALLOW &&
			    decide(f, wide, p, action) != PROFILE_ALLOW)
				fail(why);
		}
	}
}

/* The agent with one rule changed (@deny NULL), or with one more before it. */
static const struct policy_agent *altered(struct fuzz *f, const struct profile_agent *agent,
					  size_t at, enum profile_verdict mode,
					  const struct profile_rule *deny)
{
	struct profile_agent *copy = arena_new(&f->arena, struct profile_agent);

	*copy = *agent;
	memset(&copy->rules, 0, sizeof(copy->rules));
	for (size_t i = 0; i < agent->rules.n; i++) {
		struct profile_rule *rule;

		if (i == at && deny != NULL) {
			rule = array_push(&f->arena, &copy->rules);
			*rule = *deny;
			rule->mode = PROFILE_DENY;
		}
		rule = array_push(&f->arena, &copy->rules);
		*rule = agent->rules.v[i];
		if (i == at && deny == NULL && mode < rule->mode)
			rule->mode = mode;
	}
	return agent_alone(&f->arena, copy);
}

static void check_agent(struct fuzz *f, const struct profile_agent *agent)
{
	const struct policy_agent *alone = agent_alone(&f->arena, agent);
	const size_t n = agent->rules.n < RULES_MAX ? agent->rules.n : RULES_MAX;

	if (agent->parent != NULL)
		check_narrower(f, alone, agent_alone(&f->arena, agent->parent),
			       "a child has what its parent lacks");
	for (size_t i = 0; i < n; i++) {
		check_narrower(f, altered(f, agent, i, PROFILE_DENY, NULL), alone,
			       "a deny in place of a rule allows more");
		check_narrower(f, altered(f, agent, i, PROFILE_INTERRUPT, NULL), alone,
			       "an interrupt in place of an allow allows more");
		check_narrower(f, altered(f, agent, i, PROFILE_DENY, &agent->rules.v[n - 1 - i]),
			       alone, "one more deny allows more");
	}
}

static void check_chain(struct fuzz *f, const char *first, const char *second)
{
	const char *const behalf[] = { first };
	const struct agent_asked asked = { .id = second, .on_behalf = behalf, .n_on_behalf = 1 };
	const struct agent_asked alone = { .id = second };
	const struct agent_asked original = { .id = first };
	const char *reason;
	const struct policy_agent *chain = agent_find(&f->arena, f->profile, &asked, &reason);

	check_narrower(f, chain, agent_find(&f->arena, f->profile, &alone, &reason),
		       "a chain has what the agent lacks");
	check_narrower(f, chain, agent_find(&f->arena, f->profile, &original, &reason),
		       "a chain has what its principal lacks");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz f = { 0 };

	if (size > 16384)
		return 0;
	if (parse(&f.arena, (const char *)data, size, &f.profile) == 0) {
		const struct profile_permissions *p = &f.profile->permissions;

		check_shown(&f);
		probes_make(&f);
		for (size_t i = 0; i < p->agents.n && i < AGENTS_MAX; i++) {
			check_agent(&f, &p->agents.v[i]);
			if (i > 0)
				check_chain(&f, p->agents.v[i - 1].id, p->agents.v[i].id);
		}
	}
	arena_free(&f.arena);
	return 0;
}
