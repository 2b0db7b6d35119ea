/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* decide - the one enforcement point: may this agent do this action on this resource?
 *
 * Pure: no system call, no allocation. Every path through policy_decide() that is not an
 * explicit match ends in a denial. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "policy/agent.h"
#include "policy/facts.h"

enum request_kind {
	REQUEST_PATH = 0, /* a canonical virtual path */
	REQUEST_TREE,     /* everything at and below a virtual path, as a mount grants it */
	REQUEST_COMMAND,  /* argv and the executable it resolves to */
	REQUEST_HOST,     /* a connection */
};

/* A file that a command word stands for, looked up in the view with the sandbox's PATH. */
struct command_file {
	bool found;
	struct file_id id;
};

struct request_command {
	char *const *argv; /* NULL-terminated */
	struct command_file file;
	/* For each command pattern of the agent's lists, in order of lists, rules and patterns: the
	 * file that its first word stands for. */
	const struct command_file *pattern_files;
	size_t n_pattern_files;
};

struct request {
	enum action action;
	enum request_kind kind;
	const char *path;   /* PATH, TREE: canonical virtual path */
	bool path_invalid;  /* the text was not canonical: denied as it stands */
	bool path_is_file;  /* TREE of a single file: a literal rule path covers it */
	bool path_below;    /* PATH: with all that lies below: what deletes a directory */
	bool control_plane; /* PATH: a file of agentbox itself (profile) */
	const struct request_command *command;
	const struct host_target *host; /* HOST: where to; NULL: anywhere the sandbox reaches */
};

struct decision {
	enum profile_verdict verdict;
	const char *layer;  /* "identity", "policy" */
	const char *code;   /* "acl_allow", "acl_deny", "interrupt", "protected", "invalid_path",
			       "invalid_host", "identity" */
	const char *reason; /* short, for the caller: no rule text, no host path; static */
	bool has_rule;
	struct profile_pos rule; /* for the operator */
};

/* policy_identify() - which agent asks. Returns NULL with a denial in *ret when there is none. The
 * ids are for the operator: they are not in the reason. */
const struct policy_agent *policy_identify(struct arena *a, const struct profile *p,
					   const struct agent_asked *asked, struct decision *ret);

/* policy_decide() - the decision for one request of one agent: the strictest of its lists. */
void policy_decide(const struct profile *p, const struct policy_agent *agent,
		   const struct request *rq, struct decision *ret);

/* What an agent may do with everything at and below a path, as a mount grants it. */
struct tree_access {
	bool read;
	bool write;
	struct profile_pos write_rule; /* what granted writing */
};

/* policy_tree_access() - read: any of read_file, download; write: any of write_file, edit_file,
 * upload, delete. @is_file: the tree is one regular file. */
void policy_tree_access(const struct profile *p, const struct policy_agent *agent, const char *at,
			bool is_file, struct tree_access *ret);

/* policy_root_access() - the same for a root, within what the sandbox grants it. */
void policy_root_access(const struct profile *p, const struct policy_agent *agent,
			const struct profile_root *root, bool is_file, struct tree_access *ret);

/* policy_trap() - does the floor hide or freeze this path? Protected names at the top level of
 * each root, DESIGN 3.1. Pure text. */
enum policy_trap { POLICY_TRAP_NONE = 0, POLICY_TRAP_FREEZE, POLICY_TRAP_HIDE };
enum policy_trap policy_trap(const struct profile_sandbox *s, const char *path);

/* policy_trap_name() - the same for a path below a root ("name" or "dir/name"). */
enum policy_trap policy_trap_name(const struct profile_sandbox *s, const char *rel);

/* policy_validate() - what contradicts itself, found from the profile alone: ERR_PROFILE at the
 * rule. Every verb calls it right after loading. */
MUST_CHECK int policy_validate(struct arena *a, const struct profile *p, struct err *err);

/* policy_enforceable() - rules that bind @agent and that no mechanism of this version holds for
 * programs: ERR_PROFILE at the rule. Before anything is mounted for it. */
MUST_CHECK int policy_enforceable(const struct profile *p, const struct policy_agent *agent,
				  struct err *err);
