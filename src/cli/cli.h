/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* cli - commands and options as tables; the only floor that prints and the only that exits. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/err.h"
#include "codec/json.h"

enum cli_arg {
	CLI_ARG_NONE = 0,
	CLI_ARG_VALUE,    /* --name VALUE, --name=VALUE, -n VALUE */
	CLI_ARG_OPTIONAL, /* --name or --name=VALUE */
	CLI_ARG_REPEATED, /* like CLI_ARG_VALUE, as often as wanted; all others once */
};

/* Options of more than one command: their rows stand once, in shared.c. */
enum cli_shared {
	CLI_PROFILE = 1,
	CLI_PROFILE_FD,
	CLI_AGENT,
	CLI_ON_BEHALF_OF,
	CLI_CONTEXT,
	CLI_WORKSPACE,
	CLI_PARAM,
	CLI_STATE,
	CLI_JSON,
	CLI_WORKDIR,
	CLI_TIMEOUT,
	CLI_EXPECT,
	CLI_QUIET,
	CLI_AUDIT_FD,
	CLI_OWN, /* the ids of a command's own options begin here */
};

/* A row of a command's table: an option of its own, or the id of a shared one alone, with a help
 * of its own where it means more here. */
struct cli_option {
	int id;           /* unique within the command */
	char short_name;  /* 0: none */
	const char *name; /* long name, without dashes; NULL: the shared row of this id */
	enum cli_arg arg;
	const char *value; /* placeholder in help: FILE, DIR, ID, ... */
	const char *help;  /* one line */
};

struct cli_given {
	int id;
	const char *value; /* borrowed from argv; NULL for none */
};

struct cli_parsed {
	ARRAY_OF(struct cli_given) options;
	ARRAY_OF(const char *) words; /* before "--" */
	char **rest;                  /* after "--"; NULL without one */
	bool help;
};

struct cli_command {
	const char *name;
	const char *synopsis; /* after "agentbox NAME" */
	const char *summary;
	const struct cli_option *options;
	size_t n_options;
	const char *examples; /* lines for help, or NULL */
	/* For completion: what the first word may be; NULL after the last. NULL: no such list. */
	const char *(*word_at)(size_t i);
	/* Returns the exit status; errors are put into *err and printed by main. */
	int (*run)(struct arena *a, int argc, char **argv, struct err *err);
};

/* cli_option_at() - row @i of a command's table, completed from the shared one. */
struct cli_option cli_option_at(const struct cli_command *cmd, size_t i);

/* cli_parse() - by the command's table. --help and -h are known everywhere. ERR_USAGE, also for an
 * option that is given twice and is not CLI_ARG_REPEATED. */
MUST_CHECK int cli_parse(struct arena *a, const struct cli_command *cmd, int argc, char **argv,
			 struct cli_parsed *ret, struct err *err);

/* cli_given() - the last value of an option, or NULL; *count: how often it was given. */
const struct cli_given *cli_given(const struct cli_parsed *p, int id, size_t *count);
bool cli_has(const struct cli_parsed *p, int id);
const char *cli_value(const struct cli_parsed *p, int id);

/* cli_timeout() - of --timeout; 0 without one. ERR_USAGE for what is no time. */
MUST_CHECK int cli_timeout(const struct cli_parsed *p, uint64_t *ret_ms, struct err *err);

/* cli_audit_fd() - of --audit-fd, 0 without one. ERR_USAGE for what is no descriptor's number. */
MUST_CHECK int cli_audit_fd(const struct cli_parsed *p, int *ret, struct err *err);

/* cli_print_help() - of one command, from its table, on stdout. */
void cli_print_help(const struct cli_command *cmd);
/* cli_print_usage() - the list of commands. */
void cli_print_usage(FILE *f);

/* cli_say() - one line on stderr, "agentbox: " before it, through the escaper. */
void cli_say(const char *fmt, ...) PRINTF_LIKE(1, 2);
void cli_say_err(const struct err *err);
/* cli_print_json() - one line; one write unless it is long. Returns 0 or -errno. */
int cli_print_json(int fd, const json_t *v);

/* cli_rc() - the exit status for an error. */
int cli_rc(const struct err *err);

/* cli_command_at() - all commands, in the order of help; NULL after the last. */
const struct cli_command *cli_command_at(size_t i);
/* cli_command_find() - by name; NULL with ERR_USAGE, and the nearest name in the message. */
MUST_CHECK const struct cli_command *cli_command_find(const char *name, struct err *err);

extern const struct cli_command cmd_run;
extern const struct cli_command cmd_check;
extern const struct cli_command cmd_tool;
extern const struct cli_command cmd_audit;
extern const struct cli_command cmd_doctor;
extern const struct cli_command cmd_selftest;
extern const struct cli_command cmd_explain;
extern const struct cli_command cmd_lint;
extern const struct cli_command cmd_test;
extern const struct cli_command cmd_profiles;
extern const struct cli_command cmd_init;
extern const struct cli_command cmd_schema;
extern const struct cli_command cmd_help;
