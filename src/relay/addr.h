/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* addr - which addresses a name may lead to. Pure. */
#pragma once

#include "base/hostpat.h"

struct addr_range {
	struct host_addr net;
	uint8_t bits;
};

/* addr_refusal() - why @a is no place of the public network: "loopback", "private", "metadata"
 * ... NULL when it is one. An IPv4 address within an IPv6 one (mapped, compatible, NAT64) is
 * judged as itself. Static. The host's own addresses are not known here. */
const char *addr_refusal(const struct host_addr *a);

/* addr_plain() - the IPv4 address that @a carries, or @a itself. */
struct host_addr addr_plain(const struct host_addr *a);
