/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* dump - the two effective blocks as JSON: every default filled in, ${...} replaced, one
 * spelling for what has several. Equal meaning gives equal text, and so equal hashes. */
#pragma once

#include "codec/json.h"
#include "profile/profile.h"

/* Both: a new reference, owned by the caller. */
json_t *profile_sandbox_json(const struct profile *p);
json_t *profile_permissions_json(const struct profile *p);
