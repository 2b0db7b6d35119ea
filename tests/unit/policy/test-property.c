/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Random rules and requests against a second implementation of the decision, written for being
 * plainly right and not for anything else. */
#include <time.h>

#include "base/path.h"
#include "policy/lint.h"
#include "tap.h"

#define PAIRS     20000
#define RULES_MAX 6
#define WORDS     3

struct random_case {
	struct arena arena;
	unsigned seed;
	struct profile profile;
	struct profile_agent agent;
	struct request rq;
	struct request_command command;
	struct command_file *files;
};

static unsigned pick(struct random_case *c, unsigned n)
{
	return (unsigned)rand_r(&c->seed) % n;
}

static const char *random_path(struct random_case *c)
{
	static const char *const names[] = { "a", "ab", "b", ".env", ".x", "lock" };
	const char *p = "";
	unsigned depth = pick(c, 5);

	if (depth == 0)
		return "/";
	for (unsigned i = 0; i < depth; i++)
		p = arena_printf(&c->arena, "%s/%s", p, names[pick(c, ARRAY_SIZE(names))]);
	return p;
}

static const char *const words[] = { "git", "/bin/git", "make", "sh", "push", "*" };

static void random_command(struct random_case *c, struct profile_rule *rule)
{
	struct profile_command *cmd = array_push(&c->arena, &rule->commands);

	cmd->n = 1 + pick(c, WORDS);
	cmd->words = arena_array(&c->arena, cmd->n, sizeof(*cmd->words));
	/* '*' only as the last word, as profiles have it. */
	for (size_t i = 0; i < cmd->n; i++)
		cmd->words[i] = words[pick(c, i + 1 == cmd->n ? 6 : 5)];
}

static void path_make(struct random_case *c, struct profile_rule *rule, const char *path,
		      bool subtree)
{
	struct profile_path *p = array_push(&c->arena, &rule->paths);

	p->text = subtree ? path_join(&c->arena, path, "**") : path;
	if (glob_compile(&c->arena, p->text, &p->glob) != NULL)
		abort();
}

static void random_rule(struct random_case *c, struct profile_rule *rule)
{
	rule->mode = (enum profile_verdict)pick(c, 3);
	rule->actions = (action_set)rand_r(&c->seed) & (ACTION_BIT(ACTION_MAX) - 1);
	rule->any_host = pick(c, 2) == 0;
	rule->pos.line = 1 + pick(c, 1000);
	for (unsigned i = pick(c, 3); i > 0; i--)
		path_make(c, rule, random_path(c), pick(c, 2) == 0);
	for (unsigned i = pick(c, 3); i > 0; i--)
		random_command(c, rule);
}

static void random_traps(struct random_case *c, profile_traps *traps)
{
	static const char *const patterns[] = {
		".env", ".e*", "lock", "a/b", "a/.x", "?b", "[ab]"
	};

	for (unsigned i = pick(c, 3); i > 0; i--)
		array_push(&c->arena, traps)->pattern = patterns[pick(c, ARRAY_SIZE(patterns))];
}

static void random_request(struct random_case *c, size_t n_patterns)
{
	char **argv = arena_array(&c->arena, 5, sizeof(*argv));
	unsigned n = 1 + pick(c, 4);

	for (unsigned i = 0; i < n; i++)
		argv[i] = arena_strdup(&c->arena, words[pick(c, 5)]);
	c->files = arena_array(&c->arena, n_patterns + 1, sizeof(*c->files));
	for (size_t i = 0; i < n_patterns; i++)
		c->files[i] = (struct command_file){ .found = pick(c, 4) > 0,
						     .id = { .ino = pick(c, 3) } };
	c->command = (struct request_command){
		.argv = argv,
		.file = { .found = pick(c, 4) > 0, .id = { .ino = pick(c, 3) } },
		.pattern_files = c->files,
		.n_pattern_files = n_patterns,
	};
	c->rq = (struct request){ .action = (enum action)pick(c, ACTION_MAX),
				  .kind = (enum request_kind)pick(c, 4),
				  .path = random_path(c),
				  .path_invalid = pick(c, 20) == 0,
				  .path_is_file = pick(c, 2) == 0,
				  .control_plane = pick(c, 20) == 0,
				  .command = &c->command };
}

static void random_make(struct random_case *c)
{
	size_t n_patterns = 0;

	for (unsigned i = pick(c, 4); i > 0; i--)
		array_push(&c->arena, &c->profile.sandbox.roots)->at = random_path(c);
	random_traps(c, &c->profile.sandbox.hide);
	random_traps(c, &c->profile.sandbox.freeze);
	random_traps(c, &c->profile.sandbox.except);
	for (unsigned i = pick(c, RULES_MAX + 1); i > 0; i--) {
		struct profile_rule *rule = array_push(&c->arena, &c->agent.rules);

		random_rule(c, rule);
		n_patterns += rule->commands.n;
	}
	random_request(c, n_patterns);
}

/* --- the second implementation ---------------------------------------------------------------- */

/* Components of a path as a list that ends with NULL. */
static char **ref_split(struct arena *a, const char *path)
{
	char **v = arena_array(a, 64, sizeof(*v));
	char *copy = arena_strdup(a, path);
	char *save = NULL;
	size_t n = 0;

	for (char *s = strtok_r(copy, "/", &save); s != NULL; s = strtok_r(NULL, "/", &save))
		v[n++] = s;
	return v;
}

/* How many components of @path are left below @dir, or -1 when it is not below. */
static int ref_below(struct arena *a, const char *dir, const char *path)
{
	char **d = ref_split(a, dir);
	char **p = ref_split(a, path);
	int left = 0;

	for (; *d != NULL; d++, p++) {
		if (*p == NULL || strcmp(*d, *p) != 0)
			return -1;
	}
	while (p[left] != NULL)
		left++;
	return left;
}

static bool ref_glob(const char *p, const char *s)
{
	if (*p == '\0')
		return *s == '\0';
	if (*p == '*')
		return ref_glob(p + 1, s) || (*s != '\0' && ref_glob(p, s + 1));
	if (strncmp(p, "[ab]", 4) == 0)
		return (*s == 'a' || *s == 'b') && ref_glob(p + 4, s + 1);
	return *s != '\0' && (*p == '?' || *p == *s) && ref_glob(p + 1, s + 1);
}

static bool ref_trapped(struct arena *a, const profile_traps *traps, char **rest)
{
	for (size_t i = 0; i < traps->n; i++) {
		char **want = ref_split(a, traps->v[i].pattern);

		if (want[1] == NULL && ref_glob(want[0], rest[0]))
			return true;
		if (want[1] != NULL && strcmp(want[0], rest[0]) == 0 && rest[1] != NULL &&
		    strcmp(want[1], rest[1]) == 0)
			return true;
	}
	return false;
}

static const char *ref_floor(struct random_case *c)
{
	const struct profile_sandbox *s = &c->profile.sandbox;
	char **parts = ref_split(&c->arena, c->rq.path);
	int all = ref_below(&c->arena, "/", c->rq.path);
	int least = -1;

	if (c->rq.kind != REQUEST_PATH)
		return NULL;
	if (c->rq.path_invalid)
		return "invalid_path";
	if (c->rq.control_plane)
		return "protected";
	for (size_t i = 0; i < s->roots.n; i++) {
		int left = ref_below(&c->arena, s->roots.v[i].at, c->rq.path);

		if (left >= 0 && (least < 0 || left < least))
			least = left;
	}
	if (least <= 0)
		return NULL;
	parts += all - least;
	if (ref_trapped(&c->arena, &s->except, parts))
		return NULL;
	if (ref_trapped(&c->arena, &s->hide, parts))
		return "protected";
	if (ref_trapped(&c->arena, &s->freeze, parts) &&
	    (c->rq.action == ACTION_WRITE_FILE || c->rq.action == ACTION_EDIT_FILE ||
	     c->rq.action == ACTION_DELETE || c->rq.action == ACTION_UPLOAD))
		return "protected";
	return NULL;
}

static bool ref_path_matches(struct random_case *c, const struct profile_rule *r)
{
	for (size_t i = 0; i < r->paths.n; i++) {
		int left = ref_below(&c->arena, r->paths.v[i].glob.prefix, c->rq.path);

		if (left < 0)
			continue;
		if (r->paths.v[i].glob.n > 0)
			return true;
		/* The directory alone: a tree of more than a file is not granted by it, but is
		 * withheld by it. */
		if (left == 0 &&
		    (c->rq.kind == REQUEST_PATH || c->rq.path_is_file || r->mode != PROFILE_ALLOW))
			return true;
	}
	return false;
}

static const char *ref_base(const char *s)
{
	return strrchr(s, '/') == NULL ? s : strrchr(s, '/') + 1;
}

static bool ref_command_matches(const struct random_case *c, const struct profile_rule *r,
				size_t first)
{
	for (size_t i = 0; i < r->commands.n; i++) {
		const struct profile_command *p = &r->commands.v[i];
		const struct command_file *f = &c->files[first + i];
		const struct command_file *g = &c->command.file;
		char *const *argv = c->command.argv;
		bool name = strcmp(ref_base(p->words[0]), ref_base(argv[0])) == 0;
		bool file = f->found && g->found && f->id.ino == g->id.ino;
		bool open_end = strcmp(p->words[p->n - 1], "*") == 0;
		size_t fixed = p->n - (open_end ? 1 : 0);
		size_t argc = 0;
		bool same = true;

		if (fixed == 0)
			return true;
		while (argv[argc] != NULL)
			argc++;
		for (size_t k = 1; k < fixed; k++)
			same = same && k < argc && strcmp(argv[k], p->words[k]) == 0;
		same = same && (open_end ? argc >= fixed : argc == fixed);
		if (same && (r->mode == PROFILE_ALLOW ? name && file : name || file))
			return true;
	}
	return false;
}

static enum profile_verdict ref_decide(struct random_case *c, const char **code, unsigned *line)
{
	static const char *const codes[] = { "acl_deny", "interrupt", "acl_allow" };
	size_t first = 0;

	*line = 0;
	*code = ref_floor(c);
	if (*code != NULL)
		return PROFILE_DENY;
	for (size_t i = 0; i < c->agent.rules.n; i++) {
		const struct profile_rule *r = &c->agent.rules.v[i];
		bool hit = false;

		if (c->rq.kind == REQUEST_PATH || c->rq.kind == REQUEST_TREE)
			hit = ref_path_matches(c, r);
		else if (c->rq.kind == REQUEST_COMMAND)
			hit = ref_command_matches(c, r, first);
		else
			hit = r->any_host;
		if (hit && (r->actions >> c->rq.action & 1) != 0) {
			*line = r->pos.line;
			*code = codes[r->mode];
			return r->mode;
		}
		first += r->commands.n;
	}
	*code = "acl_deny";
	return PROFILE_DENY;
}

/* --- */

/* The same case with one more deny before all others. */
static enum profile_verdict with_deny(struct random_case *c)
{
	struct profile_agent stricter = { .id = "x" };
	struct profile_rule *front = array_push(&c->arena, &stricter.rules);
	struct command_file *files;
	struct request_command command = c->command;
	struct request rq = c->rq;
	struct decision d;

	random_rule(c, front);
	front->mode = PROFILE_DENY;
	files = arena_array(&c->arena, front->commands.n + command.n_pattern_files + 1,
			    sizeof(*files));
	for (size_t i = 0; i < front->commands.n; i++)
		files[i] = (struct command_file){ .found = true, .id = { .ino = pick(c, 3) } };
	memcpy(files + front->commands.n, c->files, command.n_pattern_files * sizeof(*files));
	command.n_pattern_files += front->commands.n;
	command.pattern_files = files;
	rq.command = &command;
	for (size_t i = 0; i < c->agent.rules.n; i++)
		*array_push(&c->arena, &stricter.rules) = c->agent.rules.v[i];
	policy_decide(&c->profile, agent_alone(&c->arena, &stricter), &rq, &d);
	return d.verdict;
}

static void test_pairs(struct tap *t)
{
	size_t bad = 0;
	size_t widened = 0;
	size_t seen[3] = { 0 };

	for (unsigned i = 0; i < PAIRS; i++) {
		struct random_case c = { .seed = 7919 + i };
		struct decision d;
		const char *code;
		unsigned line;
		enum profile_verdict want;
		enum profile_verdict stricter;

		random_make(&c);
		want = ref_decide(&c, &code, &line);
		policy_decide(&c.profile, agent_alone(&c.arena, &c.agent), &c.rq, &d);
		seen[want]++;
		if (d.verdict != want || strcmp(d.code, code) != 0 || d.rule.line != line) {
			if (bad++ < 10)
				printf("# case %u, kind %d: got %s line %u, want %s line %u\n", i,
				       (int)c.rq.kind, d.code, d.rule.line, code, line);
		}
		stricter = with_deny(&c);
		widened += stricter != PROFILE_DENY && stricter != want;
		arena_free(&c.arena);
	}
	printf("# %zu denied, %zu to approve, %zu allowed\n", seen[0], seen[1], seen[2]);
	tap_int(t, (long long)bad, 0,
		"20,000 random decisions agree with the second implementation");
	tap_int(t, (long long)widened, 0,
		"a deny at the front turns nothing into anything but a deny");
	tap_ok(t, seen[0] > 500 && seen[1] > 500 && seen[2] > 500, "every verdict came up often");
}

/* --- what lint says of rules that are never reached --- */

static const enum action some_actions[] = { ACTION_READ_FILE, ACTION_WRITE_FILE, ACTION_RUN_COMMAND,
					    ACTION_NET_CONNECT };

/* Few actions and short paths, so that rules meet. */
static size_t meeting_rules(struct random_case *c)
{
	size_t n_patterns = 0;

	for (unsigned i = 2 + pick(c, 4); i > 0; i--) {
		struct profile_rule *rule = array_push(&c->arena, &c->agent.rules);

		random_rule(c, rule);
		rule->actions = 0;
		for (size_t k = 0; k < ARRAY_SIZE(some_actions); k++)
			rule->actions |= pick(c, 2) == 0 ? ACTION_BIT(some_actions[k]) : 0;
		rule->any_host = (rule->actions & ACTION_BIT(ACTION_NET_CONNECT)) != 0;
		rule->pos.line = (unsigned)c->agent.rules.n;
		n_patterns += rule->commands.n;
	}
	return n_patterns;
}

/* Return: how many rules decide it together; 0 when it is reached. */
static size_t shadow_of(struct random_case *c, size_t i)
{
	bool *takes = arena_array(&c->arena, i + 1, sizeof(*takes));
	size_t n = 0;

	if (!lint_rules_cover(c->agent.rules.v, i, &c->agent.rules.v[i], takes))
		return 0;
	for (size_t k = 0; k < i; k++)
		n += takes[k];
	return n;
}

/* What a word leads to: the same for each that says it, though some are two names of one file. */
static struct command_file file_of(const struct random_case *c, const char *word)
{
	size_t i = 0;

	while (i < ARRAY_SIZE(words) && strcmp(words[i], word) != 0)
		i++;
	return (struct command_file){ .found = (c->seed >> i & 1) != 0,
				      .id = { .ino = (c->seed >> (8 + i)) % 3 } };
}

static void request_of_kind(struct random_case *c, size_t n_patterns)
{
	size_t n = 0;

	random_request(c, n_patterns);
	c->command.file = file_of(c, c->command.argv[0]);
	for (size_t i = 0; i < c->agent.rules.n; i++) {
		const struct profile_rule *rule = &c->agent.rules.v[i];

		for (size_t k = 0; k < rule->commands.n; k++)
			c->files[n++] = file_of(c, rule->commands.v[k].words[0]);
	}
	c->rq.action = some_actions[pick(c, ARRAY_SIZE(some_actions))];
	c->rq.kind = c->rq.action == ACTION_RUN_COMMAND   ? REQUEST_COMMAND
		     : c->rq.action == ACTION_NET_CONNECT ? REQUEST_HOST
		     : pick(c, 2) == 0                    ? REQUEST_PATH
							  : REQUEST_TREE;
}

static void test_shadowed(struct tap *t)
{
	size_t by_one = 0;
	size_t by_several = 0;
	size_t reached = 0;

	for (unsigned i = 0; i < PAIRS; i++) {
		struct random_case c = { .seed = 104729 + i };
		size_t n_patterns = meeting_rules(&c);

		for (size_t k = 1; k < c.agent.rules.n; k++) {
			size_t takers = shadow_of(&c, k);

			by_one += takers == 1;
			by_several += takers > 1;
			for (int n = 0; takers > 0 && n < 30; n++) {
				struct decision d;

				request_of_kind(&c, n_patterns);
				policy_decide(&c.profile, agent_alone(&c.arena, &c.agent), &c.rq,
					      &d);
				reached += d.has_rule && d.rule.line == k + 1;
			}
		}
		arena_free(&c.arena);
	}
	printf("# shadowed: %zu by one rule, %zu by several\n", by_one, by_several);
	tap_int(t, (long long)reached, 0, "no rule that is said to be shadowed ever decides");
	tap_ok(t, by_one > 500 && by_several > 200, "of which there were many");
}

/* A note, not a limit: how long one decision takes when the last of 1,000 rules matches. */
static void note_time(void)
{
	struct random_case c = { .seed = 1 };
	struct timespec a;
	struct timespec b;
	struct decision d = { 0 };
	const int rounds = 1000;
	const struct policy_agent *agent;

	for (int i = 0; i < 1000; i++) {
		struct profile_rule *r = array_push(&c.arena, &c.agent.rules);

		r->mode = PROFILE_ALLOW;
		r->actions = ACTION_BIT(ACTION_READ_FILE);
		path_make(&c, r, arena_printf(&c.arena, "/work/dir%d", i), true);
	}
	c.rq = (struct request){ .action = ACTION_READ_FILE, .path = "/work/dir999/a/b/c" };
	agent = agent_alone(&c.arena, &c.agent);
	(void)clock_gettime(CLOCK_MONOTONIC, &a);
	for (int i = 0; i < rounds; i++)
		policy_decide(&c.profile, agent, &c.rq, &d);
	(void)clock_gettime(CLOCK_MONOTONIC, &b);
	printf("# a decision among 1,000 rules: %.2f us (%s)\n",
	       ((double)(b.tv_sec - a.tv_sec) * 1e9 + (double)(b.tv_nsec - a.tv_nsec)) / 1e3 /
		       rounds,
	       d.code);
	arena_free(&c.arena);
}

int main(void)
{
	struct tap t = { 0 };

	test_pairs(&t);
	test_shadowed(&t);
	note_time();
	return tap_done(&t);
}
