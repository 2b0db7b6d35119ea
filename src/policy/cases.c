/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "policy/cases.h"

#include <string.h>

#include "base/path.h"
#include "policy/connect.h"
#include "policy/match.h"

/* Where a program's name is looked for, and what else of the base can be read. */
static const char *const program_dirs[] = { "/usr/local/sbin", "/usr/local/bin", "/usr/sbin",
					    "/usr/bin",        "/sbin",          "/bin" };
static const char *const base_trees[] = { "/usr",    "/bin", "/sbin", "/lib", "/lib32", "/lib64",
					  "/libx32", "/etc", "/opt",  "/nix", "/gnu" };

static void outside(struct decision *d, const char *reason)
{
	*d = (struct decision){ .layer = "sandbox", .code = "sandbox_deny", .reason = reason };
}

static const struct profile_root *root_of(const struct profile_sandbox *s, const char *path)
{
	const struct profile_root *deepest = NULL;

	for (size_t i = 0; i < s->roots.n; i++) {
		const struct profile_root *r = &s->roots.v[i];

		if (path_covers(r->at, path) &&
		    (deepest == NULL || strlen(r->at) > strlen(deepest->at)))
			deepest = r;
	}
	return deepest;
}

static bool base_holds(const struct profile_sandbox *s, const char *path)
{
	for (size_t i = 0; i < s->base_add.n; i++) {
		if (path_covers(s->base_add.v[i].path, path))
			return true;
	}
	for (size_t i = 0; i < ARRAY_SIZE(base_trees); i++) {
		if (path_covers(base_trees[i], path))
			return true;
	}
	return false;
}

static bool sandbox_grants(const struct profile_sandbox *s, const char *path, bool write)
{
	const struct profile_root *root = root_of(s, path);

	if (root != NULL)
		return !write || root->mode != PROFILE_MODE_RO;
	return !write && base_holds(s, path);
}

static void decide_path(const struct profile *p, const struct policy_agent *agent,
			const struct profile_test *test, struct decision *ret)
{
	const char *path = test->words.v[0];
	struct request rq = { .action = test->action,
			      .kind = REQUEST_PATH,
			      .path = path,
			      .path_invalid = !path_is_canonical(path) };
	bool write = action_operation(test->action) == OPERATION_WRITE;

	policy_decide(p, agent, &rq, ret);
	if (ret->verdict == PROFILE_ALLOW && !sandbox_grants(&p->sandbox, path, write))
		outside(ret, "outside what the sandbox grants");
}

/* Names and paths of programs, each one a file of its own. */
struct programs {
	struct arena *arena;
	ARRAY_OF(const char *) keys;
};

/* /usr/bin/git is what `git` stands for; any other path is itself. */
static const char *program_key(const char *word)
{
	const char *slash = strrchr(word, '/');

	for (size_t i = 0; slash != NULL && i < ARRAY_SIZE(program_dirs); i++) {
		size_t len = strlen(program_dirs[i]);

		if (len == (size_t)(slash - word) && strncmp(program_dirs[i], word, len) == 0)
			return slash + 1;
	}
	return word;
}

static struct command_file program_file(struct programs *t, const char *word)
{
	const char *key = program_key(word);
	size_t i = 0;

	while (i < t->keys.n && strcmp(t->keys.v[i], key) != 0)
		i++;
	if (i == t->keys.n)
		*array_push(t->arena, &t->keys) = key;
	return (struct command_file){ .found = true, .id = { .ino = i + 1 } };
}

static bool listed(const struct profile_sandbox *s, const char *word)
{
	const char *key = program_key(word);

	for (size_t i = 0; i < s->commands.n; i++) {
		const char *text = program_key(s->commands.v[i].text);

		if (match_wildcards(text, key))
			return true;
	}
	return s->any_command;
}

static void decide_command(struct arena *a, const struct profile *p,
			   const struct policy_agent *agent, const struct profile_test *test,
			   struct decision *ret)
{
	struct programs programs = { .arena = a };
	ARRAY_OF(struct command_file) files = { 0 };
	char **argv = arena_array(a, test->words.n + 1, sizeof(*argv));
	struct request_command command = { .argv = argv };
	struct request rq = { .action = test->action,
			      .kind = REQUEST_COMMAND,
			      .command = &command };

	for (size_t i = 0; i < test->words.n; i++)
		argv[i] = arena_strdup(a, test->words.v[i]);
	command.file = program_file(&programs, argv[0]);
	for (size_t i = 0; i < agent->lists.n; i++) {
		const struct agent_rules *list = &agent->lists.v[i];

		for (size_t k = 0; k < list->commands.n; k++) {
			const struct agent_row *row = &list->commands.v[k];
			const struct profile_rule *rule = &list->rules.v[row->rule];

			*array_push(a, &files) =
				program_file(&programs, rule->commands.v[row->item].words[0]);
		}
	}
	command.pattern_files = files.v;
	command.n_pattern_files = files.n;
	policy_decide(p, agent, &rq, ret);
	if (ret->verdict != PROFILE_ALLOW)
		return;
	if (argv[0][0] == '/' && !sandbox_grants(&p->sandbox, argv[0], false))
		outside(ret, "outside what the sandbox grants");
	else if (!listed(&p->sandbox, argv[0]))
		outside(ret, "none of the sandbox's commands");
}

static void decide_host(struct arena *a, const struct profile *p, const struct policy_agent *agent,
			const struct profile_test *test, struct decision *ret)
{
	struct host_target target;
	struct request rq = { .action = ACTION_NET_CONNECT, .kind = REQUEST_HOST, .host = &target };
	const char *why = hostpat_target(test->words.v[0], &target);

	if (why != NULL) {
		*ret = (struct decision){ .layer = "policy",
					  .code = "invalid_host",
					  .reason = why };
		return;
	}
	policy_decide(p, agent, &rq, ret);
	if (ret->verdict != PROFILE_ALLOW)
		return;
	why = connect_outside(a, p, agent, &target);
	if (why != NULL)
		outside(ret, why);
}

void cases_decide(struct arena *a, const struct profile *p, const struct profile_test *test,
		  struct decision *ret)
{
	const struct agent_asked asked = { .id = test->agent };
	const struct policy_agent *agent = policy_identify(a, p, &asked, ret);

	if (agent == NULL)
		return;
	switch (action_operation(test->action)) {
	case OPERATION_READ:
	case OPERATION_WRITE:
		decide_path(p, agent, test, ret);
		return;
	case OPERATION_EXECUTE:
		decide_command(a, p, agent, test, ret);
		return;
	case OPERATION_CONNECT:
		decide_host(a, p, agent, test, ret);
		return;
	case OPERATION_HOST:
	case OPERATION_MAX:
		break;
	}
	*ret = (struct decision){ .layer = "policy",
				  .code = "acl_deny",
				  .reason = "no matching rule" };
}

bool cases_holds(const struct profile_test *test, const struct decision *d)
{
	return d->verdict == test->decision &&
	       (test->code == NULL || strcmp(test->code, d->code) == 0);
}
