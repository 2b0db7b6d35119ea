/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* listen - the host's sockets for published ports, made by the supervisor before the sandbox. */
#pragma once

#include <stddef.h>

#include "base/err.h"
#include "profile/profile.h"

/* listen_published() - one for each of @list, in one packet to the relay over @handoff; none is
 * kept here. An error has the place of the entry in the profile. */
MUST_CHECK int listen_published(const struct profile_publish *list, size_t n, int handoff,
				struct err *err);
