/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* network - the network of names.
 *
 *   sandbox's namespace                        gateway's namespace, with no process in it
 *   eth0 198.18.0.2/30  <---- veth ---->  gw0 198.18.0.1/30
 *   198.19.0.0/16 via 198.18.0.1               198.19.0.0/16 is local: any of its addresses
 *   nothing else                               listeners, resolver
 *
 * The sockets of the gateway are made here and handed to the relay, which lives outside of both
 * namespaces; they alone keep the second one there. Where the kernel has no veth everything is on
 * the lo of the one namespace that there is. The sandbox gets no default route: whatever is not
 * named is refused at once, by its own kernel. */
#include "child/ctx.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>

#include "sys/fs.h"
#include "sys/net.h"
#include "sys/nft.h"
#include "sys/sock.h"

#define LINK_INDEX 2 /* of the veth, on both sides: the first one after lo */

/* A sysctl of the network namespace that we are in. Some hosts show them read-only; then UDP is
 * refused a little later, which costs programs time and nothing else. */
static void refuse_udp_at_once(void)
{
	int fd = sys_openat2(AT_FDCWD, "/proc/sys/net/ipv4/icmp_ratelimit", O_WRONLY, 0, 0);

	if (fd < 0)
		return;
	(void)sys_write(fd, "0", 1);
	(void)sys_close(fd);
}

static int route_gateway(const struct plan_net *net, int nl)
{
	int r = sys_net_route_local(nl, PLAN_NET_POOL, PLAN_NET_POOL_BITS);

	for (uint32_t i = 0; r == 0 && i < net->n_routes; i++)
		r = sys_net_route_local(nl, net->routes[i].net, net->routes[i].bits);
	return r;
}

/* The first @n_own of the descriptors are closed here afterwards. */
static int hand_over(const struct plan_net *net, struct plan_net_packet packet, const int *fds,
		     uint32_t n, uint32_t n_own)
{
	int r = sys_send_fds(net->handoff, &packet, sizeof(packet), fds, n);

	for (uint32_t i = 0; i < n_own; i++)
		(void)sys_close(fds[i]);
	return r;
}

struct listeners {
	const uint16_t *ports;
	uint32_t n;
	int lo;              /* on 127.0.0.1 alone */
	const uint16_t *but; /* these of them are there */
	uint32_t n_but;
};

static int is_listed(const uint16_t *ports, uint32_t n, uint16_t port)
{
	for (uint32_t i = 0; i < n; i++) {
		if (ports[i] == port)
			return 1;
	}
	return 0;
}

static int hand_listeners(struct child_ctx *ctx, const struct listeners *l)
{
	const struct plan_net_packet packet = { .kind = PLAN_NET_LISTENERS };
	const struct plan_net *net = &ctx->plan->net;
	int fds[SYS_FDS_MAX];
	uint32_t n = 0;
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < l->n; i++) {
		if (is_listed(l->but, l->n_but, l->ports[i]))
			continue;
		ctx->op = i;
		fds[n] = l->lo ? sys_listen_lo(l->ports[i]) : sys_listen_tcp(l->ports[i]);
		if (fds[n] < 0)
			return fds[n];
		n++;
		if (n < SYS_FDS_MAX)
			continue;
		r = hand_over(net, packet, fds, n, n);
		n = 0;
	}
	return r == 0 && n > 0 ? hand_over(net, packet, fds, n, n) : r;
}

/* In the sandbox's own namespace: what leads to ports of the host. On the one lo that there is,
 * listeners for all addresses take them too. */
static int hand_host_ports(struct child_ctx *ctx, int on_lo)
{
	const struct plan_net_packet end = { .kind = PLAN_NET_END };
	const struct plan_net *net = &ctx->plan->net;
	const struct listeners l = { .ports = net->host_ports,
				     .n = net->n_host_ports,
				     .lo = 1,
				     .but = net->ports,
				     .n_but = on_lo ? net->n_ports : 0 };
	int r = hand_listeners(ctx, &l);

	return r == 0 ? hand_over(net, end, NULL, 0, 0) : r;
}

/* The rule that brings it everything comes last: before the link carries anything, for the sandbox
 * has no process yet that would send. */
static int hand_any(const struct plan_net *net)
{
	const struct plan_net_packet packet = { .kind = PLAN_NET_LISTENERS };
	int fd = sys_listen_any(PLAN_NET_ANY_PORT);
	int r;

	if (fd < 0)
		return fd;
	r = hand_over(net, packet, &fd, 1, 1);
	return r < 0 ? r : sys_nft_tproxy(PLAN_NET_GATEWAY, PLAN_NET_ANY_PORT);
}

/* All sockets, in the namespace that we are in. With them goes the sandbox's own namespace: what a
 * program sent right before it ended is still on its way through it. */
static int hand_sockets(struct child_ctx *ctx, struct plan_net_packet packet, int inner_ns)
{
	const struct listeners l = { .ports = ctx->plan->net.ports, .n = ctx->plan->net.n_ports };
	int fds[3];
	int r;

	fds[0] = sys_listen_dns(PLAN_NET_GATEWAY, 0);
	if (fds[0] < 0)
		return fds[0];
	fds[1] = sys_listen_dns(PLAN_NET_GATEWAY, 1);
	if (fds[1] < 0)
		return fds[1];
	fds[2] = inner_ns;
	packet.kind = PLAN_NET_RESOLVER;
	r = hand_over(&ctx->plan->net, packet, fds, 3, 2);
	if (r == 0 && ctx->plan->net.any_port)
		r = hand_any(&ctx->plan->net);
	return r < 0 ? r : hand_listeners(ctx, &l);
}

/* Both ends of the link, each from a netlink socket of its own namespace. */
static int raise_link(const struct plan_net *net, int outer, int inner)
{
	int r;

	r = sys_net_addr(outer, LINK_INDEX, PLAN_NET_GATEWAY, PLAN_NET_LINK_BITS);
	if (r == 0)
		r = sys_net_up(outer, LINK_INDEX);
	if (r == 0)
		r = sys_net_addr(inner, LINK_INDEX, PLAN_NET_SELF, PLAN_NET_LINK_BITS);
	if (r == 0)
		r = sys_net_up(inner, LINK_INDEX);
	if (r == 0)
		r = sys_net_route_via(inner, PLAN_NET_POOL, PLAN_NET_POOL_BITS, PLAN_NET_GATEWAY);
	for (uint32_t i = 0; r == 0 && i < net->n_routes; i++)
		r = sys_net_route_via(inner, net->routes[i].net, net->routes[i].bits,
				      PLAN_NET_GATEWAY);
	return r;
}

/* In a new namespace, which is left again. -EOPNOTSUPP: the kernel has no such links. */
static int build_gateway(struct child_ctx *ctx, int inner, int inner_ns)
{
	const struct plan_net_packet packet = { .topology = PLAN_NET_GATEWAY_NS };
	const struct plan_net *net = &ctx->plan->net;
	int outer, r;

	r = sys_loopback_up();
	if (r < 0)
		return r;
	outer = sys_netlink();
	if (outer < 0)
		return outer;
	r = sys_net_veth(outer, "gw0", "eth0", LINK_INDEX, inner_ns);
	if (r == 0)
		r = raise_link(net, outer, inner);
	if (r == 0)
		r = route_gateway(net, outer);
	(void)sys_close(outer);
	if (r < 0)
		return r;
	refuse_udp_at_once();
	return hand_sockets(ctx, packet, inner_ns);
}

static int build_linked(struct child_ctx *ctx, int inner, int ns)
{
	int back, r;

	r = sys_unshare_net();
	if (r == 0) {
		r = build_gateway(ctx, inner, ns);
		back = sys_setns_net(ns);
		if (back < 0)
			r = back;
	}
	return r;
}

/* Without a link: addresses and listeners on the one lo that there is. */
static int build_on_lo(struct child_ctx *ctx, int inner, int ns)
{
	const struct plan_net_packet packet = { .topology = PLAN_NET_LOOPBACK };
	int r;

	r = sys_net_addr(inner, SYS_NET_LO, PLAN_NET_SELF, PLAN_NET_LO_BITS);
	if (r == 0)
		r = route_gateway(&ctx->plan->net, inner);
	return r < 0 ? r : hand_sockets(ctx, packet, ns);
}

int child_build_network(struct child_ctx *ctx)
{
	int inner, ns, on_lo, r;

	if (!ctx->plan->net.named)
		return 0;
	inner = sys_netlink();
	if (inner < 0)
		return inner;
	ns = sys_openat2(AT_FDCWD, "/proc/self/ns/net", O_RDONLY, 0, 0);
	if (ns < 0)
		return ns;
	r = build_linked(ctx, inner, ns);
	on_lo = r == -EOPNOTSUPP;
	/* A listener for any port would be there for those that programs listen on themselves. */
	if (on_lo && ctx->plan->net.any_port)
		r = -ENOPROTOOPT;
	else if (on_lo)
		r = build_on_lo(ctx, inner, ns);
	if (r == 0)
		r = hand_host_ports(ctx, on_lo);
	(void)sys_close(ns);
	(void)sys_close(inner);
	return r;
}
