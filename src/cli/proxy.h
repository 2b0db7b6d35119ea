/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* proxy - the upstream proxy of a profile, with the caller's credentials for it. */
#pragma once

#include "base/err.h"
#include "profile/profile.h"
#include "relay/wire.h"

/* proxy_settle() - what the relay has to know; port 0 where there is none. @environ: the caller's,
 * NULL-terminated. */
MUST_CHECK int proxy_settle(const struct profile_proxy *p, char *const *environ,
			    struct relay_proxy *ret, struct err *err);
