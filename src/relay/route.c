/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* route - the kernel's own word on where an address leads: rtnetlink(7), RTM_GETROUTE. Asked for
 * each address before it is dialled, so that an address that the host was given meanwhile counts.
 */
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>

#include "relay/internal.h"

struct request {
	struct nlmsghdr head;
	struct rtmsg route;
	struct rtattr attr;
	uint8_t addr[16];
};

enum route route_find(int netlink, const struct host_addr *addr)
{
	size_t size = addr->family == 4 ? 4 : 16;
	struct request rq = {
		.head = { .nlmsg_len = (uint32_t)(offsetof(struct request, addr) + size),
			  .nlmsg_type = RTM_GETROUTE,
			  .nlmsg_flags = NLM_F_REQUEST },
		.route = { .rtm_family = addr->family == 4 ? AF_INET : AF_INET6,
			   .rtm_dst_len = (uint8_t)(size * 8) },
		.attr = { .rta_len = (uint16_t)RTA_LENGTH(size), .rta_type = RTA_DST },
	};
	struct {
		struct nlmsghdr head;
		struct rtmsg route;
		uint8_t rest[2048];
	} reply;
	ssize_t n;

	memcpy(rq.addr, addr->bytes, size);
	if (send(netlink, &rq, rq.head.nlmsg_len, MSG_NOSIGNAL) < 0)
		return ROUTE_NONE;
	/* The answer is there when the call returns. */
	n = recv(netlink, &reply, sizeof(reply), MSG_DONTWAIT);
	if (n < (ssize_t)(sizeof(reply.head) + sizeof(reply.route)) ||
	    reply.head.nlmsg_type != RTM_NEWROUTE)
		return ROUTE_NONE;
	return reply.route.rtm_type == RTN_UNICAST ? ROUTE_OUT : ROUTE_OWN;
}
