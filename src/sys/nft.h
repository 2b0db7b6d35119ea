/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* nft - the one rule of nf_tables that there is here, by nfnetlink. IPv4, addresses in host byte
 * order. Return 0 or -errno. */
#pragma once

#include <stdint.h>

/* sys_nft_tproxy() - in the network namespace that we are in: TCP for any address but @but goes to
 * the socket that listens on @port, which must be transparent, whatever port it is for; the
 * address and port that were meant are those of the socket that is accepted. Linux 4.19.
 * -ENOPROTOOPT: the kernel has no nf_tables, or none of this kind. */
int sys_nft_tproxy(uint32_t but, uint16_t port);
