/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/escape.h"
#include "base/exitcode.h"
#include "cli/context.h"
#include "policy/cases.h"

/* A test failed, or there was none. */
#define RC_FAILED 1

static const struct cli_option options[] = {
	{ .id = CLI_WORKSPACE },
	{ .id = CLI_PARAM },
	{ .id = CLI_JSON },
};

static const char *const verdicts[] = {
	[PROFILE_DENY] = "deny", [PROFILE_INTERRUPT] = "interrupt", [PROFILE_ALLOW] = "allow"
};

struct suite {
	struct arena *arena;
	size_t passed, failed;
	json_t *list; /* owned; NULL: TAP on the way */
};

static const char *resource_text(struct arena *a, const struct profile_test *t)
{
	const char *text = t->words.v[0];

	for (size_t i = 1; i < t->words.n; i++)
		text = arena_printf(a, "%s %s", text, t->words.v[i]);
	return text;
}

static const char *wanted(struct arena *a, const struct profile_test *t)
{
	return t->code == NULL ? verdicts[t->decision]
			       : arena_printf(a, "%s (%s)", verdicts[t->decision], t->code);
}

static json_t *test_json(struct arena *a, const struct profile_test *t, const struct decision *d,
			 bool ok)
{
	json_t *o = json_object();

	json_put(o, "profile", json_text(t->pos.file));
	json_put(o, "line", json_integer(t->pos.line));
	json_put(o, "agent", json_text(t->agent));
	json_put(o, "action", json_text(action_name(t->action)));
	json_put(o, "resource", json_text(resource_text(a, t)));
	json_put(o, "expected", json_text(verdicts[t->decision]));
	json_put(o, "expected_code", json_text(t->code));
	json_put(o, "decision", json_text(verdicts[d->verdict]));
	json_put(o, "code", json_text(d->code));
	json_put(o, "reason", json_text(d->reason));
	json_put(o, "rule",
		 json_text(d->has_rule ? arena_printf(a, "%s:%u", d->rule.file, d->rule.line)
				       : NULL));
	json_put(o, "ok", json_boolean(ok));
	return o;
}

/* What a profile holds is its author's, but nothing of it may end a TAP line or begin a comment
 * there. */
static void print_line(const char *before, const char *text)
{
	STRBUF_AUTO sb = { 0 };

	for (;;) {
		size_t n = strcspn(text, "#");

		escape_add(&sb, text, n);
		if (text[n] == '\0')
			break;
		strbuf_puts(&sb, "\\#");
		text += n + 1;
	}
	(void)printf("%s%s\n", before, strbuf_str(&sb));
}

static void print_result(const struct suite *s, bool ok, const char *text)
{
	print_line(arena_printf(s->arena, "%s %zu - ", ok ? "ok" : "not ok", s->passed + s->failed),
		   text);
}

static void print_tap(const struct suite *s, const struct profile_test *t, const struct decision *d,
		      bool ok)
{
	struct arena *a = s->arena;

	print_result(s, ok,
		     arena_printf(a, "%s:%u: %s%s%s %s: %s", t->pos.file, t->pos.line,
				  t->agent == NULL ? "" : t->agent, t->agent == NULL ? "" : " ",
				  action_name(t->action), resource_text(a, t), wanted(a, t)));
	if (ok)
		return;
	print_line("# ", arena_printf(a, "%s:%u:%u: got %s (%s): %s%s", t->pos.file, t->pos.line,
				      t->pos.col, verdicts[d->verdict], d->code, d->reason,
				      d->has_rule ? arena_printf(a, ", at %s:%u", d->rule.file,
								 d->rule.line)
						  : ""));
}

static void run_tests(struct suite *s, const struct profile *p)
{
	for (size_t i = 0; i < p->tests.n; i++) {
		const struct profile_test *t = &p->tests.v[i];
		struct decision d = { 0 };
		bool ok;

		cases_decide(s->arena, p, t, &d);
		ok = cases_holds(t, &d);
		s->passed += ok;
		s->failed += !ok;
		if (s->list == NULL)
			print_tap(s, t, &d, ok);
		else
			(void)json_array_append_new(s->list, test_json(s->arena, t, &d, ok));
	}
	if (p->tests.n > 0)
		return;
	/* Nothing was tested: that must not look like success. */
	s->failed++;
	if (s->list == NULL)
		print_result(s, false,
			     arena_printf(s->arena, "%s: it has no tests", p->files.v[0].name));
	else
		cli_say("%s has no tests", p->files.v[0].name);
}

static void print_end(struct suite *s)
{
	json_t *o;

	if (s->list == NULL) {
		(void)printf("1..%zu\n", s->passed + s->failed);
		return;
	}
	o = json_object();
	json_put(o, "version", json_integer(1));
	json_put(o, "ok", json_boolean(s->failed == 0));
	json_put(o, "passed", json_integer((json_int_t)s->passed));
	json_put(o, "failed", json_integer((json_int_t)s->failed));
	json_put(o, "tests", s->list);
	(void)cli_print_json(STDOUT_FILENO, o);
	json_decref(o);
}

static int command_test(struct arena *a, int argc, char **argv, struct err *err)
{
	struct suite s = { .arena = a };
	struct cli_parsed p;

	if (cli_parse(a, &cmd_test, argc, argv, &p, err) != 0)
		return EXITCODE_FAILED;
	if (p.help) {
		cli_print_help(&cmd_test);
		return 0;
	}
	if (p.words.n == 0 || p.rest != NULL) {
		(void)err_set(err, ERR_USAGE, 0,
			      "test needs profiles, as in: agentbox test profile.yaml");
		return EXITCODE_FAILED;
	}
	if (cli_has(&p, CLI_JSON))
		s.list = json_array();
	for (size_t i = 0; i < p.words.n; i++) {
		struct cli_context c = { .arena = a };
		struct cli_source src = cli_source_of(&p);

		src.profile = p.words.v[i];
		src.stand_in = true;
		if (cli_context_profile(&c, &src, err) != 0)
			return cli_rc(err);
		run_tests(&s, c.profile);
	}
	print_end(&s);
	if (fflush(stdout) != 0) {
		(void)err_set(err, ERR_HOST, errno, "cannot write to standard output");
		return EXITCODE_FAILED;
	}
	return s.failed == 0 ? 0 : RC_FAILED;
}

const struct cli_command cmd_test = {
	.name = "test",
	.synopsis = "[-w DIR] [--param NAME=VALUE]... [--json] PROFILE...",
	.summary = "the profile's own tests: 0 all hold, 1 one does not or there is none",
	.options = options,
	.n_options = ARRAY_SIZE(options),
	.examples = "  agentbox test default             TAP: ok 1 - ...\n"
		    "  agentbox test --json p.yaml q.yaml\n",
	.run = command_test,
};
