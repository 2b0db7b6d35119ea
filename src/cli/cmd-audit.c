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
#include "cli/context.h"

/* verify read the log and found it broken (DESIGN 8); 125 says that it could not be read. */
#define RC_BROKEN 1

enum { OPT_HEAD = CLI_OWN };

static const struct cli_option options[] = {
	{ OPT_HEAD, 0, "head", CLI_ARG_VALUE, "SEQ:SHA256",
	  "verify: a head kept elsewhere that the log must still hold" },
	{ .id = CLI_STATE, .help = "the state directory whose log is read" },
};

struct verb {
	const char *name;
	int (*run)(const char *path, const struct audit_head *want, struct err *err);
};

static int verb_verify(const char *path, const struct audit_head *want, struct err *err)
{
	struct audit_verify v = { 0 };

	if (audit_verify(path, want, &v, err) != 0)
		return cli_rc(err);
	if (v.ok) {
		(void)printf("ok: %llu records, %llu torn lines closed, head %llu:%s\n",
			     (unsigned long long)v.records, (unsigned long long)v.recovered,
			     (unsigned long long)v.head.seq, v.head.sha256);
		return 0;
	}
	if (v.bad_line > 0)
		cli_say("%s:%llu: %s", path, (unsigned long long)v.bad_line, v.reason);
	else
		cli_say("%s: %s", path, v.reason);
	return RC_BROKEN;
}

static int verb_head(const char *path, const struct audit_head *want, struct err *err)
{
	struct audit_head head = { 0 };

	if (want->sha256[0] != '\0') {
		(void)err_set(err, ERR_USAGE, 0, "--head belongs to 'agentbox audit verify'");
		return EXITCODE_FAILED;
	}
	if (audit_head_read(path, &head, err) != 0)
		return cli_rc(err);
	(void)printf("%llu:%s\n", (unsigned long long)head.seq, head.sha256);
	return 0;
}

static const struct verb verbs[] = {
	{ "verify", verb_verify },
	{ "head", verb_head },
};

/* What `audit head` prints, and what `audit{seq, sha256}` of a result holds. */
static int parse_head(const char *text, struct audit_head *ret, struct err *err)
{
	char *end;

	errno = 0;
	ret->seq = strtoull(text, &end, 10);
	if (isdigit((unsigned char)text[0]) == 0 || errno != 0 || *end != ':' ||
	    strlen(end + 1) != SHA256_HEX_SIZE - 1 ||
	    strspn(end + 1, "0123456789abcdefABCDEF") != SHA256_HEX_SIZE - 1)
		return err_set(err, ERR_USAGE, 0,
			       "--head '%s': write it as SEQ:SHA256, as 'agentbox audit head' "
			       "prints it",
			       text);
	for (size_t i = 0; i < SHA256_HEX_SIZE; i++)
		ret->sha256[i] = (char)tolower((unsigned char)end[1 + i]);
	return 0;
}

static const struct verb *find_verb(const struct cli_parsed *p, struct err *err)
{
	const char *best = NULL;
	size_t distance = 0;

	if (p->words.n == 0) {
		(void)err_set(
			err, ERR_USAGE, 0,
			"audit needs one of: verify, head (agentbox audit --help tells more)");
		return NULL;
	}
	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++) {
		if (strcmp(p->words.v[0], verbs[i].name) == 0)
			return &verbs[i];
		suggest_best(p->words.v[0], verbs[i].name, &best, &distance);
	}
	(void)err_set(err, ERR_USAGE, 0, "unknown word '%s' after audit%s%s%s", p->words.v[0],
		      best == NULL ? "" : " (did you mean '", best == NULL ? "" : best,
		      best == NULL ? "; it takes verify or head" : "'?)");
	return NULL;
}

/* FILE, else the log of the state directory; nothing is created. */
static int log_path(struct arena *a, const struct cli_parsed *p, const char **ret, struct err *err)
{
	const char *state = cli_value(p, CLI_STATE);
	struct facts_caller caller = { 0 };
	const char *dir = NULL;

	if (p->words.n > 2)
		return err_set(err, ERR_USAGE, 0, "one log at a time, not '%s' as well",
			       p->words.v[2]);
	if (p->rest != NULL && p->rest[0] != NULL)
		return err_set(err, ERR_USAGE, 0, "nothing may follow '--' here");
	if (p->words.n == 2 && state != NULL)
		return err_set(err, ERR_USAGE, 0, "give FILE or --state, not both");
	if (p->words.n == 2) {
		*ret = p->words.v[1];
		return 0;
	}
	if (facts_caller(a, &caller, err) != 0 || cli_state_dir(a, &caller, state, &dir, err) != 0)
		return -1;
	*ret = path_join(a, dir, AUDIT_FILE);
	return 0;
}

static const char *word_at(size_t i)
{
	return i < ARRAY_SIZE(verbs) ? verbs[i].name : NULL;
}

static int command_audit(struct arena *a, int argc, char **argv, struct err *err)
{
	struct audit_head want = { 0 };
	const struct verb *verb;
	struct cli_parsed p;
	const char *path = NULL;
	int rc;

	if (cli_parse(a, &cmd_audit, argc, argv, &p, err) != 0)
		return cli_rc(err);
	if (p.help) {
		cli_print_help(&cmd_audit);
		return 0;
	}
	verb = find_verb(&p, err);
	if (verb == NULL || log_path(a, &p, &path, err) != 0)
		return cli_rc(err);
	if (cli_has(&p, OPT_HEAD) && parse_head(cli_value(&p, OPT_HEAD), &want, err) != 0)
		return cli_rc(err);
	rc = verb->run(path, &want, err);
	/* A head that reached no file is kept nowhere. */
	if (!err->set && fflush(stdout) != 0) {
		(void)err_set(err, ERR_HOST, errno, "cannot write to standard output");
		return EXITCODE_FAILED;
	}
	return rc;
}

const struct cli_command cmd_audit = {
	.name = "audit",
	.synopsis = "verify [FILE] [--head SEQ:SHA256] | head [FILE]",
	.summary = "is the audit log whole; where does it end",
	.options = options,
	.n_options = ARRAY_SIZE(options),
	.examples = "  agentbox audit verify             0: whole, 1: broken, with the line\n"
		    "  agentbox audit head >head.txt     to be kept where no agent can write\n"
		    "  agentbox audit verify --head \"$(cat head.txt)\"\n",
	.word_at = word_at,
	.run = command_audit,
};
