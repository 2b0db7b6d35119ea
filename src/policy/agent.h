/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* agent - an agent as it asks: on whose behalf, with which labels, and the rules that bind this
 * one request.
 *
 * What depends on who asks is settled once, here: rules whose `when` does not hold are left out,
 * ${instance} is replaced, and the agents of the chain with their parents become one list, all of
 * which must allow. What decides then only compares. All in the arena of the call. */
#pragma once

#include "profile/profile.h"

/* What one row of rules is looked for by, in the order of the rules: whatever does not agree with
 * it is passed over without a look at the rule. */
struct agent_row {
	action_set actions;
	uint32_t hash;   /* paths: of the literal prefix; commands: of the program's name; hosts: of
			    the one name, else 0 */
	uint32_t need;   /* paths: of a component that the rest of the pattern names; 0: none */
	uint32_t rule;   /* in rules */
	uint32_t item;   /* in its paths, commands or hosts */
	uint32_t number; /* commands: among those of all rules of all lists */
	uint16_t len;    /* paths: of the literal prefix, 0 for "/" */
	bool strict;     /* the rule is no allow */
	bool any;        /* commands: ["*"]; hosts: any_host */
};

/* The rules of one declared agent, for this request. */
struct agent_rules {
	const struct profile_agent *declared;
	ARRAY_OF(struct profile_rule) rules;
	ARRAY_OF(struct agent_row) paths;
	ARRAY_OF(struct agent_row) commands;
	ARRAY_OF(struct agent_row) hosts;
};

struct policy_agent {
	const char *id; /* as given, "worker/17" */
	const char *const
		*chain; /* the ids of the delegation as given, first first; ends with id */
	size_t n_chain;
	ARRAY_OF(struct agent_rules) lists; /* the strictest answer of all is the answer */
	size_t n_commands;                  /* command patterns in all lists */
};

/* Who asks. All borrowed. */
struct agent_asked {
	const char *id;               /* ID or ID/INSTANCE; NULL: the only one declared */
	const char *const *on_behalf; /* the original principals, first first */
	size_t n_on_behalf;
	const struct profile_label *context;
	size_t n_context;
};

/* The agent and all for whom it asks: each is one more set of rules. */
#define AGENT_CHAIN_MAX 32

/* agent_find() - NULL when an id of the chain is not declared, none is given and not exactly one is
 * declared, or the chain is longer than that; *ret_reason then says it without naming anybody. */
const struct policy_agent *agent_find(struct arena *a, const struct profile *p,
				      const struct agent_asked *asked, const char **ret_reason);

/* agent_alone() - a declared agent as it would ask for itself, without labels. */
const struct policy_agent *agent_alone(struct arena *a, const struct profile_agent *declared);

/* agent_widest() - the most that it could be allowed, whatever its labels and instance: for what is
 * said of a profile, never for a decision. */
const struct policy_agent *agent_widest(struct arena *a, const struct profile_agent *declared);

/* agent_instance() - what follows the slash of ID/INSTANCE, or NULL. */
const char *agent_instance(const char *id);

/* agent_hash() - of @len bytes; never 0. agent_hashes() - of each beginning of @path that ends
 * before a slash or at its end, at its length; 0 elsewhere. @ret: as many as the path has bytes
 * and one. */
uint32_t agent_hash(const char *s, size_t len);
void agent_hashes(const char *path, size_t len, uint32_t *ret);
