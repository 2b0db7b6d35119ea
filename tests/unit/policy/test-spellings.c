/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One command in many spellings, under `allow git status, deny git push, deny the rest`: whatever a
 * shell would make of the text, only the argv and the file that it names are judged. */
#include "tap.h"
#include "world.h"

static const char rules[] =
	"sandbox: {roots: [{path: '@/w', at: /w}]}\n"
	"permissions: {agents: {me: {rules: [\n"
	"  {operations: [read], paths: [/w/**], mode: allow},\n"
	"  {operations: [execute], commands: [git push, 'git push *'], mode: deny},\n"
	"  {operations: [execute], commands: [git status, 'git status *'], mode: allow}]}}}\n";

struct row {
	const char *argv[6];
	bool allowed;
};

static const struct row rows[] = {
	/* What is allowed, in each spelling that means the same. */
	{ { "git", "status" }, true },
	{ { "/usr/bin/git", "status" }, true },
	{ { "/bin/git", "status" }, true },
	{ { "git", "status", "--short" }, true },
	{ { "git", "status", "; git push" }, true }, /* one argument, which no shell reads */
	{ { "git", "status", "&&", "git", "push" }, true },
	{ { "git", "status", "$(git push)" }, true },
	/* What is denied, and what nobody allowed. */
	{ { "git", "push" }, false },
	{ { "git", "push", "origin", "main" }, false },
	{ { "git" }, false },
	{ { "git", "" }, false },
	{ { "git", " push" }, false },
	{ { "git", "push ", "x" }, false },
	{ { "git", "PUSH" }, false },
	{ { "Git", "status" }, false },
	{ { "git status" }, false },
	{ { "git\tstatus" }, false },
	{ { "git", "status\npush" }, false },
	{ { "git", "-C", ".", "push" }, false },
	{ { "git", "-C", ".", "status" }, false },
	{ { "git", "-c", "x=y", "push" }, false },
	{ { "git", "-c", "alias.status=push", "status" }, false },
	{ { "git", "--git-dir=.git", "push" }, false },
	{ { "git", "--", "push" }, false },
	{ { "git", "st" }, false },
	{ { "/usr/bin/git", "push" }, false },
	{ { "/bin/git", "push" }, false },
	{ { "/usr/bin/../bin/git", "push" }, false },
	{ { "/usr//bin/git", "push" }, false },
	{ { "./git", "push" }, false },
	{ { "./git", "status" }, false }, /* another file of the same name */
	{ { "/w/git", "status" }, false },
	{ { "/w/st", "push" }, false }, /* a link to git under another name */
	{ { "/w/st", "status" }, false },
	{ { "/w/copy", "push" }, false },
	{ { "/w/sub/git", "push" }, false }, /* a link to git under its own name */
	{ { "command", "git", "push" }, false },
	{ { "env", "git", "push" }, false },
	{ { "env", "git", "status" }, false },
	{ { "env", "-i", "git", "push" }, false },
	{ { "X=1", "git", "push" }, false },
	{ { "xargs", "git", "push" }, false },
	{ { "nice", "git", "push" }, false },
	{ { "timeout", "5", "git", "push" }, false },
	{ { "sh", "-c", "git push" }, false },
	{ { "sh", "-c", "git status" }, false },
	{ { "sh", "-c", "git status; git push" }, false },
	{ { "sh", "-c", "git status\ngit push" }, false },
	{ { "sh", "-c", "git status && git push" }, false },
	{ { "sh", "-c", "git status | git push" }, false },
	{ { "sh", "-c", "g''it push" }, false },
	{ { "sh", "-c", "$(echo git push)" }, false },
	{ { "sh", "-c", "`echo git push`" }, false },
	{ { "eval", "git push" }, false },
	{ { "busybox", "sh", "-c", "git push" }, false },
	{ { "g''it", "push" }, false },
	{ { "gi\\t", "push" }, false },
	{ { "git&&git", "push" }, false },
	{ { "", "git", "push" }, false },
	{ { "git*", "status" }, false },
};

static enum profile_verdict decide(struct world *w, const struct row *r)
{
	char **argv = arena_array(&w->arena, ARRAY_SIZE(r->argv) + 1, sizeof(*argv));
	struct resolve_input in = {
		.profile = w->profile,
		.agent = w->agent,
		.facts = &w->facts,
		.view = &w->view,
		.access = w->access,
		.argv = argv,
		.path_env = "/usr/bin",
		.workdir = "/w",
	};
	struct request_command command = { .argv = argv };
	struct request rq = { .action = ACTION_RUN_COMMAND,
			      .kind = REQUEST_COMMAND,
			      .command = &command };
	struct resolved resolved = { 0 };
	struct decision d;
	struct err err = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(r->argv) && r->argv[i] != NULL; i++)
		argv[i] = arena_strdup(&w->arena, r->argv[i]);
	if (resolve_command(&w->arena, &in, &resolved, &err) != 0)
		return PROFILE_DENY;
	command.file = resolved.file;
	command.pattern_files = resolved.pattern_files;
	command.n_pattern_files = resolved.n_pattern_files;
	policy_decide(w->profile, w->agent, &rq, &d);
	return d.verdict;
}

int main(void)
{
	static const char *const programs[] = { "usr/bin/git",     "usr/bin/sh",
						"usr/bin/env",     "usr/bin/xargs",
						"usr/bin/nice",    "usr/bin/timeout",
						"usr/bin/busybox", "w/git",
						"w/copy" };
	struct tap t = { 0 };
	struct world w;

	world_open(&w);
	for (size_t i = 0; i < ARRAY_SIZE(programs); i++)
		world_file(&w, programs[i], 0755);
	world_link(&w, "/usr/bin/git", "w/st");
	world_mkdir(&w, "w/sub");
	world_link(&w, "/usr/bin/git", "w/sub/git");
	world_parse(&w, rules);
	world_facts(&w);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct row *r = &rows[i];

		tap_ok(&t, (decide(&w, r) == PROFILE_ALLOW) == r->allowed, "%s %s %s %s: %s",
		       r->argv[0], r->argv[1] == NULL ? "" : r->argv[1],
		       r->argv[1] == NULL || r->argv[2] == NULL ? "" : r->argv[2],
		       r->argv[1] == NULL || r->argv[2] == NULL || r->argv[3] == NULL ? ""
										      : r->argv[3],
		       r->allowed ? "allowed" : "not allowed");
	}
	world_close(&w);
	return tap_done(&t);
}
