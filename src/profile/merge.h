/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* merge - two profiles as one tree: maps by key, lists appended with the upper one's first, and
 * of everything else the upper one's. */
#pragma once

#include "profile/schema.h"

/* merge_inherited() - what others inherit of @profile (a map): all but its version and tests. */
const struct yaml_node *merge_inherited(struct arena *a, const struct yaml_node *profile);

/* merge_profiles() - @own over @base, both maps. An agent that both declare is an error, unless
 * @own's has `override: true` and so takes the place of the other's. */
MUST_CHECK int merge_profiles(struct schema_ctx *c, const struct yaml_node *own,
			      const struct yaml_node *base, const struct yaml_node **ret);
