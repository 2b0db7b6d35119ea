/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* audit-verbs - what the words after `agentbox audit` share. */
#pragma once

#include "audit/audit.h"
#include "cli/context.h"

enum audit_option {
	AUDIT_OPT_HEAD = CLI_OWN,
	AUDIT_OPT_FROM,
	AUDIT_OPT_FOLLOW,
	AUDIT_OPT_LAST,
	AUDIT_OPT_REQUEST,
	AUDIT_OPT_EVENT,
	AUDIT_OPT_LAYER,
	AUDIT_OPT_DECISION,
	AUDIT_OPT_CODE,
	AUDIT_OPT_ACTION,
	AUDIT_OPT_RESOURCE,
	AUDIT_OPT_SINCE,
	AUDIT_OPT_UNTIL,
};

struct audit_args {
	struct arena *arena;
	const struct cli_parsed *parsed;
	const char *file; /* FILE, or NULL: the log of @dir */
	const char *dir;  /* the state directory, or NULL */
};

int audit_show(const struct audit_args *args, struct err *err);

/* audit_text_resource() - what a record is about, in one text; @quoted: words that hold blanks are
 * told apart. */
void audit_text_resource(const json_t *rec, bool quoted, struct strbuf *sb);
/* audit_text_head(), audit_text_row() - a table for people; escaped, with its newline. */
void audit_text_head(struct strbuf *sb);
void audit_text_row(const json_t *rec, struct strbuf *sb);
