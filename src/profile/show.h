/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* show - a profile as text again: one file without what it pulled in, and with the values of its
 * parameters as their defaults. What is read from it means the same. */
#pragma once

#include "base/strbuf.h"
#include "profile/profile.h"

/* profile_show() - YAML, added to @sb. What comes from another file says so in a comment. */
MUST_CHECK int profile_show(struct arena *a, const struct profile *p, struct strbuf *sb,
			    struct err *err);
