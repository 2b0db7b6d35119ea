/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* net - a network namespace and what is in it: interfaces, addresses, routes (rtnetlink(7)) and
 * the sockets that listen there. IPv4, addresses in host byte order. All return a value, 0, or
 * -errno. Descriptors are close-on-exec. */
#pragma once

#include <stdint.h>

#define SYS_NET_LO 1 /* the index of lo in every network namespace */

/* sys_unshare_net() - a new network namespace for the calling process. */
int sys_unshare_net(void);
/* sys_setns_net() - enter the one that @fd names. */
int sys_setns_net(int fd);
/* sys_own_net() - a descriptor of the one that we are in, by ioctl(2) SIOCGSKNS (Linux 4.10).
 * -EPERM in any that was not made in a user namespace of ours: the kernel asks for CAP_NET_ADMIN
 * there. */
int sys_own_net(void);
/* sys_netlink() - a rtnetlink socket. It stays in the namespace that it was made in. */
int sys_netlink(void);
/* sys_netlink_ask() - send @buf, and read the one answer, which is asked for in it: 0 or -errno;
 * -EPROTO: it is none. */
int sys_netlink_ask(int nl, const void *buf, uint32_t len);
int sys_net_up(int nl, int ifindex);
int sys_net_addr(int nl, int ifindex, uint32_t addr, unsigned bits);
/* sys_net_route_local() - what goes to @net is for this namespace itself. */
int sys_net_route_local(int nl, uint32_t net, unsigned bits);
int sys_net_route_via(int nl, uint32_t net, unsigned bits, uint32_t gateway);
/* sys_net_veth() - a pair of interfaces: @name with index @ifindex here, and its peer of the same
 * index in the namespace @peer_ns. -EOPNOTSUPP: the kernel has no such interfaces. */
int sys_net_veth(int nl, const char *name, const char *peer, int ifindex, int peer_ns);

/* sys_listen_tcp() - on @port of every address of the namespace. */
int sys_listen_tcp(uint16_t port);
/* sys_listen_lo() - on @port of 127.0.0.1 alone. */
int sys_listen_lo(uint16_t port);
/* sys_listen_any() - as sys_listen_tcp(), and for what sys_nft_tproxy() brings to @port. */
int sys_listen_any(uint16_t port);
/* sys_listen_dns() - on port 53 of @addr, which need not be there yet; @stream: TCP, else UDP. */
int sys_listen_dns(uint32_t addr, int stream);

/* sys_send_fds() - one packet with @n descriptors, at most SYS_FDS_MAX. */
#define SYS_FDS_MAX 64
int sys_send_fds(int sock, const void *buf, uint32_t len, const int *fds, uint32_t n);
