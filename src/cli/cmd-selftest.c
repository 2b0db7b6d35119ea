/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/exitcode.h"
#include "cli/network.h"
#include "cli/prepare.h"
#include "cli/result.h"
#include "cli/selftest-host.h"

static const struct cli_option options[] = {
	{ .id = CLI_PROFILE,
	  .help = "the profile to attack (default: one over a private directory alone)" },
	{ .id = CLI_PROFILE_FD },
	{ .id = CLI_AGENT, .help = "whose rights (implied when the profile declares one)" },
	{ .id = CLI_WORKSPACE,
	  .help = "same as --param workspace=DIR (default: the private directory)" },
	{ .id = CLI_PARAM },
	{ .id = CLI_STATE, .help = "where the private directory is made" },
	{ .id = CLI_JSON },
};

/* A run that ends by its command, and one that a limit ends. */
#define RUN_TIMEOUT_MS 60000
#define LINGER_MS      400
#define LINGER_MAX_MS  30000

struct answer {
	int attack, twin;
};

struct selftest {
	struct arena *arena;
	const struct cli_parsed *parsed;
	struct selftest_host host;
	struct selftest_terms terms;
	json_t *mechanisms; /* owned */
	json_t *rows;       /* owned; NULL without --json */
	unsigned count[SELFTEST_NOT_TRIED + 1];
};

/* Rows of the host's own: what no process inside can tell. */
static const struct selftest_row daemon_row = {
	.name = "daemon",
	.what = "outlive the command",
	.expect = { ESRCH },
};
static const struct selftest_row linger_row = {
	.name = "linger",
	.what = "outlive a timeout",
	.expect = { ESRCH },
};

static bool has_profile(const struct cli_parsed *p)
{
	return cli_has(p, CLI_PROFILE) || cli_has(p, CLI_PROFILE_FD);
}

static char **make_argv(const struct selftest *s, bool linger)
{
	const struct selftest_ctx *c = &s->host.ctx;
	char **argv = arena_array(s->arena, 9, sizeof(char *));
	size_t n = 0;

	argv[n++] = arena_strdup(s->arena, SELFTEST_SELF);
	argv[n++] = arena_strdup(s->arena, SELFTEST_VERB);
	argv[n++] = arena_strdup(s->arena, linger ? "--linger" : "--raw");
	argv[n++] = arena_strdup(s->arena, s->host.room);
	argv[n++] = arena_strdup(s->arena, c->outside);
	argv[n++] = arena_strdup(s->arena, c->abstract);
	argv[n++] = arena_printf(s->arena, "%u", c->port);
	argv[n] = arena_printf(s->arena, "%d", c->pid);
	return argv;
}

/* @linger_ms: when the run that stays is ended, or 0: the run that ends. */
static int prepare(struct selftest *s, unsigned linger_ms, bool in_room, struct prepared *prep,
		   struct err *err)
{
	const struct cli_parsed *p = s->parsed;
	bool given = has_profile(p);
	struct prepare_input in = {
		.source = cli_source_of(p),
		.argv = make_argv(s, linger_ms > 0),
		.environ = environ,
		.timeout_ms = linger_ms > 0 ? linger_ms : RUN_TIMEOUT_MS,
		.capture = true,
		.dry_run = true,
		.self_at = SELFTEST_SELF,
	};

	if (!given)
		in.source.profile = s->host.profile;
	if (in_room)
		in.source.workspace = s->host.room;
	in.source.state = s->host.state;
	in.source.room = s->host.room;
	prepare_init(prep, s->arena);
	return prepare_request(s->arena, &in, prep, err);
}

/* A profile that wants a workspace gets the private directory. One that does not know the word
 * says so, and is taken as it is. */
static bool wants_room(const struct selftest *s)
{
	const char *path = cli_value(s->parsed, CLI_PROFILE);
	struct prepared prep;
	struct err err = { 0 };
	struct selftest probe = *s;
	int rc;

	if (path == NULL || cli_has(s->parsed, CLI_WORKSPACE) || cli_has(s->parsed, CLI_PARAM))
		return false;
	rc = prepare(&probe, 0, true, &prep, &err);
	prepare_close(&prep);
	return rc == 0;
}

static int attack(struct selftest *s, unsigned linger_ms, bool in_room, struct outcome *out,
		  struct err *err)
{
	struct prepared prep;
	struct run_options opt = {
		.stdin_mode = RUN_STDIN_CALLER,
		.capture = true,
		.cgroup = &prep.cgroup,
		.caller_stdio = { s->host.stdin_fd, STDOUT_FILENO, STDERR_FILENO },
	};
	struct run_attachment relay, relay_end;
	const struct run_attachment *const attached[] = { &relay_end, &relay };
	struct network network;
	int rc = prepare(s, linger_ms, in_room, &prep, err);

	if (rc == EXITCODE_DENIED && !err->set)
		rc = err_set(err, ERR_USAGE, 0, "%s",
			     cli_agent_hint(&prep.context, cli_value(s->parsed, CLI_AGENT)));
	if (rc == 0) {
		opt.namespaces = prep.namespaces;
		s->terms = (struct selftest_terms){
			.options = prep.plan->filter_options,
			.host_network = prep.plan->host_network,
			.own_profile = !has_profile(s->parsed),
			.no_unix = prep.context.profile->sandbox.unix_sockets == PROFILE_UNIX_NONE,
			.denies = prep.plan->n_denied > 0,
		};
		if (s->mechanisms == NULL)
			s->mechanisms = result_mechanisms(prep.plan);
		rc = run_plan(prep.plan, &opt, attached,
			      network_attach(&network, &prep, NULL, &relay, &relay_end) ? 2 : 0,
			      out, err);
	}
	if (rc == 0 && !out->started) {
		*err = out->err;
		rc = -1;
	}
	prepare_close(&prep);
	return rc;
}

/* The line "NAME ATTACK TWIN" of what the attacker printed. */
static struct answer find_answer(const char *text, const char *name)
{
	struct answer ret = { SELFTEST_NONE, SELFTEST_NONE };
	size_t len = strlen(name);

	for (const char *p = text; p != NULL && *p != '\0'; p = strchr(p, '\n')) {
		char *end;

		p += *p == '\n';
		if (strncmp(p, name, len) != 0 || p[len] != ' ')
			continue;
		ret.attack = (int)strtol(p + len, &end, 10);
		ret.twin = (int)strtol(end, NULL, 10);
		break;
	}
	return ret;
}

/* As owner of namespaces, or as it is: where it is answered, the sandbox is what refuses it. */
static int twin_outside(const struct selftest *s, const struct selftest_row *row)
{
	return selftest_try(&s->host.ctx, row->attack, row->arg,
			    (row->flags & SELFTEST_TWIN_OWNER) != 0);
}

static void tell(struct selftest *s, const struct selftest_row *row, struct answer a)
{
	const char *why;
	enum selftest_verdict v = selftest_judge(row, &s->terms, a.attack, a.twin, &why);

	s->count[v]++;
	if (s->rows != NULL) {
		json_t *o = json_object();

		json_put(o, "name", json_text(row->name));
		json_put(o, "attack", json_text(row->what));
		json_put(o, "verdict",
			 json_text(v == SELFTEST_NOT_HELD ? "not_held"
				   : v == SELFTEST_HELD   ? "held"
							  : "not_tried"));
		json_put(o, "got", json_text(selftest_result_name(a.attack)));
		json_put(o, "twin", json_text(selftest_result_name(a.twin)));
		json_put(o, "reason", json_text(why[0] != '\0' ? why : NULL));
		(void)json_array_append_new(s->rows, o);
		return;
	}
	(void)printf("%-9s  %-16s %s: %s%s%s\n", selftest_verdict_name(v), row->name, row->what,
		     selftest_result_name(a.attack), why[0] != '\0' ? ", " : "", why);
}

/* Refused by the end of everything, which the lock shows. */
static void tell_left(struct selftest *s, const struct selftest_row *row, const char *text)
{
	struct answer a = find_answer(text, row->name);

	if (a.attack == SELFTEST_THROUGH && !selftest_host_left(&s->host))
		a.attack = ESRCH;
	/* With a twin inside: the process was seen to live before. */
	if (a.twin == SELFTEST_NO_ROOM)
		a.attack = SELFTEST_NO_ROOM;
	else if (a.twin != SELFTEST_THROUGH)
		a.attack = SELFTEST_NONE;
	tell(s, row, a);
}

static void tell_all(struct selftest *s, const char *text)
{
	const struct selftest_row *row;

	for (size_t i = 0; (row = selftest_row_at(i)) != NULL; i++) {
		struct answer a = find_answer(text, row->name);

		if (row->twin == NULL)
			a.twin = twin_outside(s, row);
		tell(s, row, a);
	}
}

static void print_end(const struct selftest *s)
{
	JSON_AUTO *o = NULL;

	if (s->rows == NULL) {
		(void)printf("%u held, %u not held, %u not tried\n", s->count[SELFTEST_HELD],
			     s->count[SELFTEST_NOT_HELD], s->count[SELFTEST_NOT_TRIED]);
		return;
	}
	o = json_object();
	json_put(o, "version", json_text(AGENTBOX_VERSION));
	json_put(o, "held", json_integer(s->count[SELFTEST_HELD]));
	json_put(o, "not_held", json_integer(s->count[SELFTEST_NOT_HELD]));
	json_put(o, "not_tried", json_integer(s->count[SELFTEST_NOT_TRIED]));
	json_put(o, "mechanisms", json_incref(s->mechanisms));
	json_put(o, "rows", json_incref(s->rows));
	(void)cli_print_json(STDOUT_FILENO, o);
}

/* Where a start takes longer than the time that is given, once more with more of it. */
static int attack_lingering(struct selftest *s, bool in_room, struct err *err)
{
	for (unsigned ms = LINGER_MS;; ms *= 4) {
		struct outcome out = { 0 };
		bool enough;

		if (attack(s, ms, in_room, &out, err) != 0)
			return -1;
		enough = find_answer(strbuf_str(&out.output[0]), linger_row.name).twin !=
				 SELFTEST_NONE ||
			 ms >= LINGER_MAX_MS;
		if (enough)
			tell_left(s, &linger_row, strbuf_str(&out.output[0]));
		outcome_free(&out);
		if (enough)
			return 0;
	}
}

static int attack_twice(struct selftest *s, struct err *err)
{
	struct outcome out = { 0 };
	bool in_room = wants_room(s);

	if (attack(s, 0, in_room, &out, err) != 0)
		return EXITCODE_FAILED;
	tell_left(s, &daemon_row, strbuf_str(&out.output[0]));
	tell_all(s, strbuf_str(&out.output[0]));
	outcome_free(&out);
	if (attack_lingering(s, in_room, err) != 0)
		return EXITCODE_FAILED;
	print_end(s);
	return s->count[SELFTEST_NOT_HELD] > 0;
}

static int selftest_run(struct selftest *s, struct err *err)
{
	struct facts_caller caller = { 0 };
	const char *state;
	int rc = EXITCODE_FAILED, r;

	if (facts_caller(s->arena, &caller, err) != 0 ||
	    cli_state_dir(s->arena, &caller, cli_value(s->parsed, CLI_STATE), &state, err) != 0)
		return rc;
	if (selftest_host_make(s->arena, state, &s->host, err) == 0)
		rc = attack_twice(s, err);
	r = selftest_host_close(&s->host);
	if (r != 0)
		cli_say("%s/%s could not be removed: %s", state, s->host.name, strerror(-r));
	return rc;
}

static int command_selftest(struct arena *a, int argc, char **argv, struct err *err)
{
	struct cli_parsed p;
	struct selftest s = { .arena = a, .parsed = &p };
	int rc;

	if (cli_parse(a, &cmd_selftest, argc, argv, &p, err) != 0)
		return EXITCODE_FAILED;
	if (p.help) {
		cli_print_help(&cmd_selftest);
		return 0;
	}
	if (p.words.n > 0 || p.rest != NULL) {
		(void)err_set(err, ERR_USAGE, 0, "selftest takes options only");
		return EXITCODE_FAILED;
	}
	if (cli_has(&p, CLI_JSON))
		s.rows = json_array();
	rc = selftest_run(&s, err);
	json_decref(s.rows);
	json_decref(s.mechanisms);
	return rc;
}

const struct cli_command cmd_selftest = {
	.name = "selftest",
	.synopsis = "[-p FILE] [OPTIONS]",
	.summary = "attack the sandbox from inside: 0 all held, 1 something was not",
	.options = options,
	.n_options = ARRAY_SIZE(options),
	.examples = "  agentbox selftest\n"
		    "  agentbox selftest -p profiles/default.yaml --json\n",
	.run = command_selftest,
};
