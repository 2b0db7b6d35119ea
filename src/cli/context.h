/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* context - what every verb that decides needs: the caller, the profile, the agent, the facts. */
#pragma once

#include "cli/cli.h"
#include "policy/resolve.h"

struct cli_context {
	struct arena *arena;
	struct facts facts;       /* cli_context_close() */
	struct facts_input input; /* what they were gathered by */
	const char *state_dir;
	const char *room;              /* see struct cli_source */
	const char *default_state_dir; /* the caller's own, beside --state; or NULL */
	const struct profile *profile;
	const struct policy_agent *agent; /* NULL: *identity holds the denial */
	struct decision identity;
	struct agent_asked asked;   /* who asks, as given */
	struct tree_access *access; /* one for each root, for the agent */
	struct view view;
	struct resolved guards[2]; /* check_guards(): of the sandbox alone, of a run of guards_of */
	const char *guards_of;     /* NULL: not looked for */
	int audit_fd;              /* takes the records too; 0: none */
	const char *self_at;       /* show the running binary here, or NULL */
};

/* What the shared options of a command said. All borrowed. */
struct cli_source {
	const char *profile;    /* -p, or NULL */
	const char *profile_fd; /* --profile-fd, or NULL */
	const char *agent;      /* -a, or NULL */
	const char *workspace;  /* -w, or NULL */
	const char *state;      /* --state, or NULL */
	const char *room;    /* below the default state directory, a root all the same; or NULL */
	bool state_optional; /* the verb writes nothing: it can do without a state directory */
	const char *expect;  /* --expect-sha256, or NULL */
	bool stand_in;       /* the verb only looks at the profile: see struct profile_source */
	/* Holds each --param, --on-behalf-of and --context. */
	const struct cli_parsed *parsed;
};

/* cli_context_init() - nothing is open yet. */
void cli_context_init(struct cli_context *c, struct arena *a);

/* cli_source_of() - by the shared options; what only one command has is left for it to fill in. */
struct cli_source cli_source_of(const struct cli_parsed *p);

/* cli_state_dir() - the state directory: @state (--state) or the caller's default. */
MUST_CHECK int cli_state_dir(struct arena *a, const struct facts_caller *caller, const char *state,
			     const char **ret, struct err *err);
/* cli_context_load() - the caller, the profile, its checks, the agent. */
MUST_CHECK int cli_context_load(struct cli_context *c, const struct cli_source *src,
				struct err *err);
/* cli_context_profile() - the caller, the profile and its checks alone. Nothing to close. */
MUST_CHECK int cli_context_profile(struct cli_context *c, const struct cli_source *src,
				   struct err *err);
/* cli_agent_hint() - which agents the profile declares, and the one nearest to @given (-a, or
 * NULL). For the operator only: a denial does not name other principals to who was denied. */
const char *cli_agent_hint(const struct cli_context *c, const char *given);
/* cli_context_parse() - the same from the text of a profile of ours: the caller, no state. */
MUST_CHECK int cli_context_parse(struct cli_context *c, const char *text, struct err *err);
/* cli_label_add() - KEY=VALUE of --context, whose key the profile declares, as one more label. */
MUST_CHECK int cli_label_add(struct cli_context *c, const char *text, struct profile_label *labels,
			     size_t *n, struct err *err);
/* cli_context_gather() - what of the host decisions depend on (facts_gather()), and the view of
 * what
 * @all_roots or the agent's rights grant. */
MUST_CHECK int cli_context_gather(struct cli_context *c, bool all_roots, struct err *err);
/* cli_context_furnish() - the rest of the host (facts_furnish()), once. */
MUST_CHECK int cli_context_furnish(struct cli_context *c, struct err *err);
/* cli_context_view() - the view alone, of what was gathered, for another agent. */
void cli_context_view(struct cli_context *c, bool all_roots);
/* cli_context_judge() - whether the roots that were gathered may be granted. */
MUST_CHECK int cli_context_judge(const struct cli_context *c, struct err *err);
/* cli_context_facts() - gather, furnish and judge. */
MUST_CHECK int cli_context_facts(struct cli_context *c, bool all_roots, struct err *err);
void cli_context_close(struct cli_context *c);
