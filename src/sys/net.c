/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/net.h"

#include <errno.h>
#include <linux/if.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <linux/veth.h>
#include <netinet/in.h>
#include <sched.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>

#include "sys/fs.h"
#include "sys/raw.h"

#define BACKLOG     1024
#define MESSAGE_MAX 256

/* One request, built from its end on. */
struct message {
	struct nlmsghdr head;
	unsigned char body[MESSAGE_MAX];
};

static void *message_put(struct message *m, const void *p, uint32_t n)
{
	unsigned char *at = (unsigned char *)m + m->head.nlmsg_len;

	memcpy(at, p, n);
	m->head.nlmsg_len += NLMSG_ALIGN(n);
	return at;
}

static void message_begin(struct message *m, unsigned type, unsigned flags, const void *p,
			  uint32_t n)
{
	memset(m, 0, sizeof(*m));
	m->head.nlmsg_len = NLMSG_HDRLEN;
	m->head.nlmsg_type = (uint16_t)type;
	m->head.nlmsg_flags = (uint16_t)(NLM_F_REQUEST | NLM_F_ACK | flags);
	(void)message_put(m, p, n);
}

static void message_attr(struct message *m, unsigned type, const void *p, uint32_t n)
{
	struct rtattr attr = { .rta_len = (unsigned short)RTA_LENGTH(n),
			       .rta_type = (unsigned short)type };

	(void)message_put(m, &attr, sizeof(attr));
	if (n > 0)
		(void)message_put(m, p, n);
}

/* An attribute that holds others: its length is set by nest_end(). */
static uint32_t nest_begin(struct message *m, unsigned type)
{
	uint32_t at = m->head.nlmsg_len;

	message_attr(m, type, NULL, 0);
	return at;
}

static void nest_end(struct message *m, uint32_t at)
{
	struct rtattr attr;

	memcpy(&attr, (unsigned char *)m + at, sizeof(attr));
	attr.rta_len = (unsigned short)(m->head.nlmsg_len - at);
	memcpy((unsigned char *)m + at, &attr, sizeof(attr));
}

/* The kernel works while we are in the first call. The answer carries the message again; what does
 * not fit of it is left. */
int sys_netlink_ask(int nl, const void *buf, uint32_t len)
{
	struct {
		struct nlmsghdr head;
		struct nlmsgerr err;
	} ack;
	long r;

	memset(&ack, 0, sizeof(ack));
	r = sys_call6(SYS_sendto, nl, sys_arg(buf), (long)len, 0, 0, 0);
	if (r < 0)
		return (int)r;
	do {
		r = sys_call6(SYS_recvfrom, nl, sys_arg(&ack), (long)sizeof(ack), 0, 0, 0);
	} while (r == -EINTR);
	if (r < 0)
		return (int)r;
	if (r < (long)(sizeof(ack.head) + sizeof(ack.err.error)) ||
	    ack.head.nlmsg_type != NLMSG_ERROR)
		return -EPROTO;
	return ack.err.error;
}

static int message_send(int nl, const struct message *m)
{
	return sys_netlink_ask(nl, m, m->head.nlmsg_len);
}

int sys_unshare_net(void)
{
	return (int)sys_call1(SYS_unshare, CLONE_NEWNET);
}

int sys_setns_net(int fd)
{
	return (int)sys_call2(SYS_setns, fd, CLONE_NEWNET);
}

int sys_own_net(void)
{
	long r, sock = sys_call3(SYS_socket, AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (sock < 0)
		return (int)sock;
	r = sys_call3(SYS_ioctl, sock, SIOCGSKNS, 0);
	(void)sys_close((int)sock);
	return (int)r;
}

int sys_netlink(void)
{
	return (int)sys_call3(SYS_socket, AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
}

int sys_net_up(int nl, int ifindex)
{
	const struct ifinfomsg info = { .ifi_index = ifindex,
					.ifi_flags = IFF_UP,
					.ifi_change = IFF_UP };
	struct message m;

	message_begin(&m, RTM_NEWLINK, 0, &info, sizeof(info));
	return message_send(nl, &m);
}

int sys_net_addr(int nl, int ifindex, uint32_t addr, unsigned bits)
{
	const struct ifaddrmsg info = { .ifa_family = AF_INET,
					.ifa_prefixlen = (unsigned char)bits,
					.ifa_index = (unsigned)ifindex };
	const uint32_t net = htonl(addr);
	struct message m;

	message_begin(&m, RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL, &info, sizeof(info));
	message_attr(&m, IFA_LOCAL, &net, sizeof(net));
	message_attr(&m, IFA_ADDRESS, &net, sizeof(net));
	return message_send(nl, &m);
}

int sys_net_route_local(int nl, uint32_t net, unsigned bits)
{
	const struct rtmsg info = { .rtm_family = AF_INET,
				    .rtm_dst_len = (unsigned char)bits,
				    .rtm_table = RT_TABLE_LOCAL,
				    .rtm_protocol = RTPROT_STATIC,
				    .rtm_scope = RT_SCOPE_HOST,
				    .rtm_type = RTN_LOCAL };
	const uint32_t dst = htonl(net);
	const int lo = SYS_NET_LO;
	struct message m;

	message_begin(&m, RTM_NEWROUTE, NLM_F_CREATE | NLM_F_REPLACE, &info, sizeof(info));
	if (bits > 0)
		message_attr(&m, RTA_DST, &dst, sizeof(dst));
	message_attr(&m, RTA_OIF, &lo, sizeof(lo));
	return message_send(nl, &m);
}

int sys_net_route_via(int nl, uint32_t net, unsigned bits, uint32_t gateway)
{
	const struct rtmsg info = { .rtm_family = AF_INET,
				    .rtm_dst_len = (unsigned char)bits,
				    .rtm_table = RT_TABLE_MAIN,
				    .rtm_protocol = RTPROT_STATIC,
				    .rtm_scope = RT_SCOPE_UNIVERSE,
				    .rtm_type = RTN_UNICAST };
	const uint32_t dst = htonl(net);
	const uint32_t via = htonl(gateway);
	struct message m;

	message_begin(&m, RTM_NEWROUTE, NLM_F_CREATE | NLM_F_REPLACE, &info, sizeof(info));
	if (bits > 0)
		message_attr(&m, RTA_DST, &dst, sizeof(dst));
	message_attr(&m, RTA_GATEWAY, &via, sizeof(via));
	return message_send(nl, &m);
}

int sys_net_veth(int nl, const char *name, const char *peer, int ifindex, int peer_ns)
{
	const struct ifinfomsg info = { .ifi_index = ifindex };
	struct message m;
	uint32_t link, data, end;

	message_begin(&m, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, &info, sizeof(info));
	message_attr(&m, IFLA_IFNAME, name, (uint32_t)strlen(name) + 1);
	link = nest_begin(&m, IFLA_LINKINFO);
	message_attr(&m, IFLA_INFO_KIND, "veth", 5);
	data = nest_begin(&m, IFLA_INFO_DATA);
	end = nest_begin(&m, VETH_INFO_PEER);
	(void)message_put(&m, &info, sizeof(info));
	message_attr(&m, IFLA_IFNAME, peer, (uint32_t)strlen(peer) + 1);
	message_attr(&m, IFLA_NET_NS_FD, &peer_ns, sizeof(peer_ns));
	nest_end(&m, end);
	nest_end(&m, data);
	nest_end(&m, link);
	return message_send(nl, &m);
}

/* @option: of the IP level, switched on. */
static int listen_on(int type, uint32_t addr, uint16_t port, int option)
{
	const struct sockaddr_in at = { .sin_family = AF_INET,
					.sin_port = htons(port),
					.sin_addr = { htonl(addr) } };
	const int on = 1;
	const int much = 4 << 20;
	int fd, r;

	fd = (int)sys_call3(SYS_socket, AF_INET, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return fd;
	/* No SO_REUSEADDR and no SO_REUSEPORT: with either, a program inside could take the
	 * address over. */
	r = (int)sys_call5(SYS_setsockopt, fd, SOL_IP, option, sys_arg(&on), sizeof(on));
	/* As much as the kernel gives: questions of many threads at once. */
	if (r == 0 && type == SOCK_DGRAM)
		r = (int)sys_call5(SYS_setsockopt, fd, SOL_SOCKET, SO_RCVBUF, sys_arg(&much),
				   sizeof(much));
	if (r == 0)
		r = (int)sys_call3(SYS_bind, fd, sys_arg(&at), sizeof(at));
	if (r == 0 && type == SOCK_STREAM)
		r = (int)sys_call2(SYS_listen, fd, BACKLOG);
	if (r == 0)
		return fd;
	(void)sys_close(fd);
	return r;
}

int sys_listen_tcp(uint16_t port)
{
	return listen_on(SOCK_STREAM, INADDR_ANY, port, IP_FREEBIND);
}

int sys_listen_lo(uint16_t port)
{
	return listen_on(SOCK_STREAM, INADDR_LOOPBACK, port, IP_FREEBIND);
}

int sys_listen_any(uint16_t port)
{
	return listen_on(SOCK_STREAM, INADDR_ANY, port, IP_TRANSPARENT);
}

int sys_listen_dns(uint32_t addr, int stream)
{
	return listen_on(stream ? SOCK_STREAM : SOCK_DGRAM, addr, 53, IP_FREEBIND);
}

int sys_send_fds(int sock, const void *buf, uint32_t len, const int *fds, uint32_t n)
{
	union {
		struct cmsghdr head;
		unsigned char space[CMSG_SPACE(SYS_FDS_MAX * sizeof(int))];
	} control;
	struct iovec iov = { .iov_len = len };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	long r;

	if (n > SYS_FDS_MAX)
		return -EINVAL;
	memcpy(&iov.iov_base, &buf, sizeof(buf));
	if (n > 0) {
		memset(&control, 0, sizeof(control));
		control.head.cmsg_len = CMSG_LEN(n * sizeof(int));
		control.head.cmsg_level = SOL_SOCKET;
		control.head.cmsg_type = SCM_RIGHTS;
		memcpy(CMSG_DATA(&control.head), fds, n * sizeof(int));
		msg.msg_control = &control;
		msg.msg_controllen = CMSG_SPACE(n * sizeof(int));
	}
	do {
		r = sys_call3(SYS_sendmsg, sock, sys_arg(&msg), MSG_NOSIGNAL);
	} while (r == -EINTR);
	if (r < 0)
		return (int)r;
	return r == (long)len ? 0 : -EPROTO;
}
