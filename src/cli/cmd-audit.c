/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audit/audit.h"
#include "base/exitcode.h"
#include "base/path.h"
#include "base/suggest.h"
#include "cli/audit-verbs.h"

/* verify read the log and found it broken (DESIGN 8); 125 says that it could not be read. */
#define RC_BROKEN 1

static const struct cli_option options[] = {
	{ AUDIT_OPT_HEAD, 0, "head", CLI_ARG_VALUE, "SEQ:SHA256",
	  "verify: a head kept elsewhere that the log must still hold" },
	{ AUDIT_OPT_FROM, 0, "from", CLI_ARG_VALUE, "SEQ:SHA256",
	  "verify: the head of the files before, which were moved away" },
	{ AUDIT_OPT_FOLLOW, 'f', "follow", CLI_ARG_NONE, NULL, "show: go on with what is written" },
	{ AUDIT_OPT_LAST, 'n', "last", CLI_ARG_VALUE, "COUNT", "show: only the last of them" },
	{ .id = CLI_AGENT, .help = "show: of this agent or on its behalf; '*' is any text" },
	{ AUDIT_OPT_REQUEST, 0, "request", CLI_ARG_VALUE, "REQUEST",
	  "show: of the request that has this id, or one that begins so" },
	{ AUDIT_OPT_EVENT, 0, "event", CLI_ARG_VALUE, "WORD",
	  "show: decision, start, outcome, ..." },
	{ AUDIT_OPT_LAYER, 0, "layer", CLI_ARG_VALUE, "WORD",
	  "show: identity, policy, sandbox, net, ..." },
	{ AUDIT_OPT_DECISION, 0, "decision", CLI_ARG_VALUE, "WORD",
	  "show: allow, deny or interrupt" },
	{ AUDIT_OPT_CODE, 0, "code", CLI_ARG_VALUE, "WORD", "show: acl_deny, protected, ..." },
	{ AUDIT_OPT_ACTION, 0, "action", CLI_ARG_VALUE, "WORD", "show: run_command, ..." },
	{ AUDIT_OPT_RESOURCE, 0, "resource", CLI_ARG_VALUE, "PATTERN",
	  "show: the path, command line or HOST:PORT; '*' is any text" },
	{ AUDIT_OPT_SINCE, 0, "since", CLI_ARG_VALUE, "TIME",
	  "show: not before; 2026-01-31, 2026-01-31T09:00 (UTC), or 90m ago" },
	{ AUDIT_OPT_UNTIL, 0, "until", CLI_ARG_VALUE, "TIME", "show: before" },
	{ .id = CLI_JSON, .help = "show: each record as a JSON object in a line of its own" },
	{ .id = CLI_STATE, .help = "the state directory whose log is read" },
};

struct verb {
	const char *name;
	int (*run)(const struct audit_args *args, struct err *err);
	int options[ARRAY_SIZE(options)]; /* that mean something to it beside --state */
};

/* What `audit head` prints, and what `audit{seq, sha256}` of a result holds. */
static int parse_head(const char *option, const char *text, struct audit_head *ret, struct err *err)
{
	char *end;

	errno = 0;
	ret->seq = strtoull(text, &end, 10);
	if (isdigit((unsigned char)text[0]) == 0 || errno != 0 || *end != ':' ||
	    strlen(end + 1) != SHA256_HEX_SIZE - 1 ||
	    strspn(end + 1, "0123456789abcdefABCDEF") != SHA256_HEX_SIZE - 1)
		return err_set(err, ERR_USAGE, 0,
			       "%s '%s': write it as SEQ:SHA256, as 'agentbox audit head' prints "
			       "it",
			       option, text);
	for (size_t i = 0; i < SHA256_HEX_SIZE; i++)
		ret->sha256[i] = (char)tolower((unsigned char)end[1 + i]);
	return 0;
}

static void say_broken(const struct audit_args *args, const struct audit_verify *v)
{
	const char *path = args->file != NULL ? args->file : args->dir;

	if (v->bad_line == 0)
		cli_say("%s: %s", path, v->reason);
	else if (args->file == NULL)
		cli_say("%s/%s:%llu: %s", path, v->bad_file, (unsigned long long)v->bad_line,
			v->reason);
	else
		cli_say("%s:%llu: %s", path, (unsigned long long)v->bad_line, v->reason);
}

static int verb_verify(const struct audit_args *args, struct err *err)
{
	const char *want_text = cli_value(args->parsed, AUDIT_OPT_HEAD);
	const char *from_text = cli_value(args->parsed, AUDIT_OPT_FROM);
	struct audit_head want = { 0 }, from = { 0 };
	const struct audit_verify_input in = { .want = want_text == NULL ? NULL : &want,
					       .from = from_text == NULL ? NULL : &from };
	struct audit_verify v = { 0 };

	if ((want_text != NULL && parse_head("--head", want_text, &want, err) != 0) ||
	    (from_text != NULL && parse_head("--from", from_text, &from, err) != 0) ||
	    (args->file != NULL ? audit_verify(args->file, &in, &v, err)
				: audit_verify_dir(args->dir, &in, &v, err)) != 0)
		return cli_rc(err);
	if (!v.ok) {
		say_broken(args, &v);
		return RC_BROKEN;
	}
	(void)printf("ok: %llu records, %llu torn lines closed, head %llu:%s\n",
		     (unsigned long long)v.records, (unsigned long long)v.recovered,
		     (unsigned long long)v.head.seq, v.head.sha256);
	if (v.before > 0)
		(void)printf("the %llu records before are not in what was read\n",
			     (unsigned long long)v.before);
	return 0;
}

static int verb_head(const struct audit_args *args, struct err *err)
{
	struct audit_head head = { 0 };

	if ((args->file != NULL ? audit_head_read(args->file, &head, err)
				: audit_head_read_dir(args->dir, &head, err)) != 0)
		return cli_rc(err);
	(void)printf("%llu:%s\n", (unsigned long long)head.seq, head.sha256);
	return 0;
}

static const struct verb verbs[] = {
	{ "show",
	  audit_show,
	  { AUDIT_OPT_FOLLOW, AUDIT_OPT_LAST, CLI_AGENT, AUDIT_OPT_REQUEST, AUDIT_OPT_EVENT,
	    AUDIT_OPT_LAYER, AUDIT_OPT_DECISION, AUDIT_OPT_CODE, AUDIT_OPT_ACTION,
	    AUDIT_OPT_RESOURCE, AUDIT_OPT_SINCE, AUDIT_OPT_UNTIL, CLI_JSON } },
	{ "verify", verb_verify, { AUDIT_OPT_HEAD, AUDIT_OPT_FROM } },
	{ "head", verb_head, { 0 } },
};

static bool takes(const struct verb *v, int id)
{
	for (size_t i = 0; i < ARRAY_SIZE(v->options) && v->options[i] != 0; i++) {
		if (v->options[i] == id)
			return true;
	}
	return id == CLI_STATE;
}

static int check_options(const struct verb *verb, const struct cli_parsed *p, struct err *err)
{
	for (size_t i = 0; i < p->options.n; i++) {
		const struct verb *v = verbs;

		if (takes(verb, p->options.v[i].id))
			continue;
		while (!takes(v, p->options.v[i].id))
			v++;
		for (size_t k = 0; k < cmd_audit.n_options; k++) {
			if (options[k].id == p->options.v[i].id)
				return err_set(err, ERR_USAGE, 0,
					       "--%s belongs to 'agentbox audit %s'",
					       cli_option_at(&cmd_audit, k).name, v->name);
		}
	}
	return 0;
}

static const struct verb *find_verb(const struct cli_parsed *p, struct err *err)
{
	const char *best = NULL;
	size_t distance = 0;

	if (p->words.n == 0) {
		(void)err_set(err, ERR_USAGE, 0,
			      "audit needs one of: show, verify, head (agentbox audit --help tells "
			      "more)");
		return NULL;
	}
	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++) {
		if (strcmp(p->words.v[0], verbs[i].name) == 0)
			return &verbs[i];
		suggest_best(p->words.v[0], verbs[i].name, &best, &distance);
	}
	(void)err_set(err, ERR_USAGE, 0, "unknown word '%s' after audit%s%s%s", p->words.v[0],
		      best == NULL ? "" : " (did you mean '", best == NULL ? "" : best,
		      best == NULL ? "; it takes show, verify or head" : "'?)");
	return NULL;
}

/* FILE, else the state directory; nothing is created. */
static int find_log(struct audit_args *args, struct err *err)
{
	const struct cli_parsed *p = args->parsed;
	const char *state = cli_value(p, CLI_STATE);
	struct facts_caller caller = { 0 };

	if (p->words.n > 2)
		return err_set(err, ERR_USAGE, 0, "one log at a time, not '%s' as well",
			       p->words.v[2]);
	if (p->rest != NULL && p->rest[0] != NULL)
		return err_set(err, ERR_USAGE, 0, "nothing may follow '--' here");
	if (p->words.n == 2 && state != NULL)
		return err_set(err, ERR_USAGE, 0, "give FILE or --state, not both");
	if (p->words.n == 2) {
		args->file = p->words.v[1];
		return 0;
	}
	return facts_caller(args->arena, &caller, err) != 0
		       ? -1
		       : cli_state_dir(args->arena, &caller, state, &args->dir, err);
}

static const char *word_at(size_t i)
{
	return i < ARRAY_SIZE(verbs) ? verbs[i].name : NULL;
}

static int command_audit(struct arena *a, int argc, char **argv, struct err *err)
{
	const struct verb *verb;
	struct cli_parsed p;
	struct audit_args args = { .arena = a, .parsed = &p };
	int rc;

	if (cli_parse(a, &cmd_audit, argc, argv, &p, err) != 0)
		return cli_rc(err);
	if (p.help) {
		cli_print_help(&cmd_audit);
		return 0;
	}
	verb = find_verb(&p, err);
	if (verb == NULL || check_options(verb, &p, err) != 0 || find_log(&args, err) != 0)
		return cli_rc(err);
	rc = verb->run(&args, err);
	/* A head that reached no file is kept nowhere. */
	if (!err->set && fflush(stdout) != 0) {
		(void)err_set(err, ERR_HOST, errno, "cannot write to standard output");
		return EXITCODE_FAILED;
	}
	return rc;
}

const struct cli_command cmd_audit = {
	.name = "audit",
	.synopsis = "show [FILE] [OPTIONS] | verify [FILE] [--head SEQ:SHA256] | head [FILE]",
	.summary = "what is in the audit log; is it whole; where does it end",
	.options = options,
	.n_options = ARRAY_SIZE(options),
	.examples = "  agentbox audit show --decision deny --since 24h\n"
		    "  agentbox audit show --follow --json -a alice\n"
		    "  agentbox audit verify             0: whole, 1: broken, with the line\n"
		    "  agentbox audit head >head.txt     to be kept where no agent can write\n"
		    "  agentbox audit verify --head \"$(cat head.txt)\"\n",
	.word_at = word_at,
	.run = command_audit,
};
