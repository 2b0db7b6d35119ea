/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* invariants - what holds of every plan, whatever the profile. */
#pragma once

#include "hand.h"

/* invariants_broken() - the first one that does not hold, as text in h's arena, or NULL. */
const char *invariants_broken(struct hand *h);
