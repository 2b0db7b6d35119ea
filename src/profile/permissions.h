/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* permissions - who may do what. Part of profile.h. */
#pragma once

#include "base/glob.h"
#include "base/hostpat.h"
#include "profile/action.h"
#include "profile/pos.h"

enum profile_verdict {
	PROFILE_DENY = 0,
	PROFILE_INTERRUPT,
	PROFILE_ALLOW,
};

/* A path pattern of a rule; one with {...} is one entry for each pattern that it stands for. */
struct profile_path {
	const char *text; /* as written, after ${...}: what a value holds is escaped there */
	bool more;        /* a further entry of the text before */
	/* With ${instance} in it: the pattern with PROFILE_INSTANCE_MARK in its place; glob then
	 * stands for every instance. Else NULL. */
	const char *instance;
	struct glob glob;
};

/* No text of a profile holds it. */
#define PROFILE_INSTANCE_MARK '\1'

/* A label of a request, or what a rule wants it to be. */
struct profile_label {
	const char *key;
	const char *value;
};

/* A command pattern: words; the last may be "*", for any further arguments. */
struct profile_command {
	const char *text;
	const char **words;
	size_t n;
};

struct profile_host {
	const char *text;
	struct hostpat pattern;
};

struct profile_rule {
	action_set actions;
	ARRAY_OF(struct profile_path) paths;
	ARRAY_OF(struct profile_command) commands;
	bool any_host;                       /* hosts: ["*"], whatever the sandbox reaches */
	ARRAY_OF(struct profile_host) hosts; /* narrower ones */
	ARRAY_OF(struct profile_label) when; /* all must hold */
	enum profile_verdict mode;
	bool absent_report; /* names that appear during a run are told */
	bool strict;        /* whole directories only */
	struct profile_pos pos;
};

struct profile_agent {
	const char *id;
	/* Its own, then those of its roles; first match wins; nothing matched: deny. */
	ARRAY_OF(struct profile_rule) rules;
	bool allow_all; /* the short form `ID: allow` (its one rule is in rules) */
	const struct profile_agent
		*parent; /* at most PROFILE_PARENTS_MAX above each other; or NULL */
	bool inherits;   /* it has its parent's rules and none of its own */
	struct profile_pos pos;
};

struct profile_permissions {
	ARRAY_OF(struct profile_agent) agents;
	profile_names context; /* the keys of labels */
	struct profile_pos pos;
};

/* What the profile says must be decided, for `agentbox test`. */
struct profile_test {
	const char *agent; /* NULL: the only one */
	enum action action;
	ARRAY_OF(const char *) words; /* a path, a host, or a command and its arguments */
	enum profile_verdict decision;
	const char *code; /* NULL: any */
	struct profile_pos pos;
};

#define PROFILE_ID_MAX      64
#define PROFILE_PARENTS_MAX 16

/* profile_id_ok() - the text of an agent's id, and of an instance: 1 to 64 letters, digits, '.',
 * '_' and '-', neither "." nor "..". */
bool profile_id_ok(const char *id);
