/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* param - the names that ${...} may use, and the one place that replaces them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/macro.h"

struct schema_ctx;
struct schema_map;
struct yaml_node;

struct param_value {
	const char *name;
	const char *value; /* NULL: declared, not required and not given; using it is an error */
	bool declared;     /* by the profile, not by us */
	bool is_path;
	bool required;
	bool stood_in; /* nobody gave this value */
};

struct param_set {
	ARRAY_OF(struct param_value) values;
};

extern const struct schema_map param_map;

/* param_given_check() - after the block was read: everything given was declared. */
MUST_CHECK int param_given_check(struct schema_ctx *c);

/* param_predeclare() - home, uid and instance. Before the params block is read. */
void param_predeclare(struct schema_ctx *c);

/* param_expand() - the text of a scalar with each ${name} replaced once: what a value
 * holds is literal. @text is the node's text or a part of it. */
MUST_CHECK int param_expand(struct schema_ctx *c, const char *key, const struct yaml_node *n,
			    const char *text, const char **ret);
/* param_expand_glob() - the same in a path pattern, where a value stands for itself;
 * PROFILE_INSTANCE_MARK for ${instance}. */
MUST_CHECK int param_expand_glob(struct schema_ctx *c, const char *key, const struct yaml_node *n,
				 const char *text, const char **ret);
