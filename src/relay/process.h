/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* process - what the program is when it was started as RELAY_ARGV0. */
#pragma once

#include <stdint.h>

#include "relay/wire.h"

/* relay_fds() - the descriptors of a relay that has no connection; each takes two. */
uint32_t relay_fds(const struct relay_config *c);

/* relay_main() - with the descriptors of wire.h. Return: the exit status. */
int relay_main(void);
