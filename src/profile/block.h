/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* block - the tables of the two blocks, and what the files of this floor share. */
#pragma once

#include "profile/schema.h"

extern const struct schema_map block_sandbox_map;
extern const struct schema_map block_permissions_map;
extern const struct schema_map block_root_map;
extern const struct schema_map block_base_map;
extern const struct schema_map block_network_map;
extern const struct schema_map block_rule_map;
extern const struct schema_map block_syscalls_map;
extern const struct schema_map block_limits_map;
extern const struct profile_limits block_limits_default;
extern const struct schema_map block_test_map;
extern const struct schema_map block_audit_map;

/* block_version_check() - the only version there is. */
MUST_CHECK int block_version_check(struct schema_ctx *c, const struct yaml_node *v);

schema_parse_fn block_parse_params;      /* fills the context */
schema_parse_fn block_parse_sandbox;     /* struct profile_sandbox */
schema_parse_fn block_parse_permissions; /* struct profile_permissions */
schema_parse_fn block_parse_tests;       /* struct profile */
schema_parse_fn block_parse_roots;       /* struct profile_sandbox */
schema_parse_fn block_parse_syscalls;    /* struct profile_sandbox */
schema_parse_fn block_parse_network;     /* struct profile_sandbox */
schema_parse_fn block_parse_base;        /* struct profile_sandbox */

/* block_base_check() - no root and no added tree of the base lie in each other. After the whole
 * block was read. */
MUST_CHECK int block_base_check(struct schema_ctx *c, const struct profile_sandbox *s);

schema_parse_fn block_parse_commands; /* struct profile_sandbox */
schema_parse_fn block_parse_devices;  /* profile_names */
schema_parse_fn block_parse_sockets;  /* profile_names */

/* block_host_path() - host path text made absolute and canonical: relative to the profile's
 * folder, or below the caller's home. Text only; nothing is looked up. */
MUST_CHECK int block_host_path(struct schema_ctx *c, const char *key, const struct yaml_node *n,
			       const char *text, const char **ret);

/* block_path_text() - the text of a host path with ${...} replaced: not empty, one line. */
MUST_CHECK int block_path_text(struct schema_ctx *c, const char *key, const struct yaml_node *n,
			       const char **ret);

/* block_virtual_path() - a canonical absolute path as seen inside, after ${...}. */
MUST_CHECK int block_virtual_path(struct schema_ctx *c, const char *key, const struct yaml_node *n,
				  const char **ret);

/* Of all agents together; what a role says counts for each agent that has it. */
#define BLOCK_RULES_MAX ((size_t)16384)
/* block_rule_charge() - one agent, rule or pattern more. */
MUST_CHECK int block_rule_charge(struct schema_ctx *c, const struct yaml_node *n);

/* block_rule_build() - one item of `rules` into @rule. */
MUST_CHECK int block_rule_build(struct schema_ctx *c, const struct yaml_node *item,
				struct profile_rule *rule);
/* block_rule_path() - one path of a rule. @subtree: without slash star star too. */
MUST_CHECK int block_rule_path(struct schema_ctx *c, const char *key, const struct yaml_node *item,
			       bool subtree, struct profile_rule *rule);
/* block_rule_any_path() - the list ["/" and slash star star]. */
void block_rule_any_path(struct arena *a, struct profile_rule *rule);
/* block_rule_any_command() - the list ["*"]. */
void block_rule_any_command(struct arena *a, struct profile_rule *rule);
