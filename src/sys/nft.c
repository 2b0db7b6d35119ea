/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/nft.h"

#include <errno.h>
#include <netinet/in.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>

/* These want that of the C library before them. */
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>

#include "sys/fs.h"
#include "sys/net.h"
#include "sys/raw.h"

#define BATCH_MAX 1024
#define NAME      "agentbox"
#define PRIORITY  (-150) /* "mangle": where transparent proxies are looked for */

#define IP_DADDR     16 /* RFC 791: where the destination is in the header */
#define IP_DADDR_LEN 4

/* All of it is one transaction: there is the whole rule, or nothing of it. */
struct batch {
	_Alignas(struct nlmsghdr) unsigned char buf[BATCH_MAX];
	uint32_t len;
	uint32_t head; /* of the message that is being made */
};

static void put(struct batch *b, const void *p, uint32_t n)
{
	memcpy(b->buf + b->len, p, n);
	b->len += NLMSG_ALIGN(n);
}

static void message_begin(struct batch *b, uint16_t type, uint16_t flags, uint8_t family,
			  uint16_t res)
{
	const struct nlmsghdr head = { .nlmsg_type = type,
				       .nlmsg_flags = (uint16_t)(NLM_F_REQUEST | flags) };
	const struct nfgenmsg gen = { .nfgen_family = family,
				      .version = NFNETLINK_V0,
				      .res_id = htons(res) };

	b->head = b->len;
	put(b, &head, sizeof(head));
	put(b, &gen, sizeof(gen));
}

static void message_end(struct batch *b)
{
	uint32_t len = b->len - b->head;

	memcpy(b->buf + b->head + offsetof(struct nlmsghdr, nlmsg_len), &len, sizeof(len));
}

static uint32_t attr(struct batch *b, uint16_t type, const void *p, uint32_t n)
{
	const struct nlattr a = { .nla_len = (uint16_t)(NLA_HDRLEN + n), .nla_type = type };
	uint32_t at = b->len;

	put(b, &a, sizeof(a));
	if (n > 0)
		put(b, p, n);
	return at;
}

static void attr_text(struct batch *b, uint16_t type, const char *text)
{
	(void)attr(b, type, text, (uint32_t)strlen(text) + 1);
}

static void attr_u32(struct batch *b, uint16_t type, uint32_t value)
{
	const uint32_t net = htonl(value);

	(void)attr(b, type, &net, sizeof(net));
}

static uint32_t nest_begin(struct batch *b, uint16_t type)
{
	return attr(b, NLA_F_NESTED | type, NULL, 0);
}

static void nest_end(struct batch *b, uint32_t at)
{
	uint16_t len = (uint16_t)(b->len - at);

	memcpy(b->buf + at + offsetof(struct nlattr, nla_len), &len, sizeof(len));
}

static void attr_data(struct batch *b, uint16_t type, const void *p, uint32_t n)
{
	uint32_t data = nest_begin(b, type);

	(void)attr(b, NFTA_DATA_VALUE, p, n);
	nest_end(b, data);
}

struct nest {
	uint32_t elem, data;
};

static struct nest expr_begin(struct batch *b, const char *name)
{
	struct nest n = { .elem = nest_begin(b, NFTA_LIST_ELEM) };

	attr_text(b, NFTA_EXPR_NAME, name);
	n.data = nest_begin(b, NFTA_EXPR_DATA);
	return n;
}

static void expr_end(struct batch *b, struct nest n)
{
	nest_end(b, n.data);
	nest_end(b, n.elem);
}

static void expr_cmp(struct batch *b, uint32_t op, const void *p, uint32_t n)
{
	struct nest e = expr_begin(b, "cmp");

	attr_u32(b, NFTA_CMP_SREG, NFT_REG_1);
	attr_u32(b, NFTA_CMP_OP, op);
	attr_data(b, NFTA_CMP_DATA, p, n);
	expr_end(b, e);
}

static void put_exprs(struct batch *b, uint32_t but, uint16_t port)
{
	const uint8_t tcp = IPPROTO_TCP;
	const uint32_t addr = htonl(but);
	const uint16_t to = htons(port);
	struct nest e;

	e = expr_begin(b, "meta");
	attr_u32(b, NFTA_META_DREG, NFT_REG_1);
	attr_u32(b, NFTA_META_KEY, NFT_META_L4PROTO);
	expr_end(b, e);
	expr_cmp(b, NFT_CMP_EQ, &tcp, sizeof(tcp));
	e = expr_begin(b, "payload");
	attr_u32(b, NFTA_PAYLOAD_DREG, NFT_REG_1);
	attr_u32(b, NFTA_PAYLOAD_BASE, NFT_PAYLOAD_NETWORK_HEADER);
	attr_u32(b, NFTA_PAYLOAD_OFFSET, IP_DADDR);
	attr_u32(b, NFTA_PAYLOAD_LEN, IP_DADDR_LEN);
	expr_end(b, e);
	expr_cmp(b, NFT_CMP_NEQ, &addr, sizeof(addr));
	e = expr_begin(b, "immediate");
	attr_u32(b, NFTA_IMMEDIATE_DREG, NFT_REG_1);
	attr_data(b, NFTA_IMMEDIATE_DATA, &to, sizeof(to));
	expr_end(b, e);
	e = expr_begin(b, "tproxy");
	attr_u32(b, NFTA_TPROXY_FAMILY, NFPROTO_IPV4);
	attr_u32(b, NFTA_TPROXY_REG_PORT, NFT_REG_1);
	expr_end(b, e);
}

#define NFT_TYPE(msg) ((uint16_t)(NFNL_SUBSYS_NFTABLES << 8 | (msg)))

static void batch_make(struct batch *b, uint32_t but, uint16_t port)
{
	uint32_t at;

	memset(b, 0, sizeof(*b));
	message_begin(b, NFNL_MSG_BATCH_BEGIN, 0, AF_UNSPEC, NFNL_SUBSYS_NFTABLES);
	message_end(b);
	message_begin(b, NFT_TYPE(NFT_MSG_NEWTABLE), NLM_F_CREATE, NFPROTO_IPV4, 0);
	attr_text(b, NFTA_TABLE_NAME, NAME);
	message_end(b);
	message_begin(b, NFT_TYPE(NFT_MSG_NEWCHAIN), NLM_F_CREATE, NFPROTO_IPV4, 0);
	attr_text(b, NFTA_CHAIN_TABLE, NAME);
	attr_text(b, NFTA_CHAIN_NAME, NAME);
	at = nest_begin(b, NFTA_CHAIN_HOOK);
	attr_u32(b, NFTA_HOOK_HOOKNUM, NF_INET_PRE_ROUTING);
	attr_u32(b, NFTA_HOOK_PRIORITY, (uint32_t)PRIORITY);
	nest_end(b, at);
	attr_text(b, NFTA_CHAIN_TYPE, "filter");
	message_end(b);
	/* The one that is answered when all went well; what fails is answered in any case. */
	message_begin(b, NFT_TYPE(NFT_MSG_NEWRULE), NLM_F_CREATE | NLM_F_APPEND | NLM_F_ACK,
		      NFPROTO_IPV4, 0);
	attr_text(b, NFTA_RULE_TABLE, NAME);
	attr_text(b, NFTA_RULE_CHAIN, NAME);
	at = nest_begin(b, NFTA_RULE_EXPRESSIONS);
	put_exprs(b, but, port);
	nest_end(b, at);
	message_end(b);
	message_begin(b, NFNL_MSG_BATCH_END, 0, AF_UNSPEC, NFNL_SUBSYS_NFTABLES);
	message_end(b);
}

int sys_nft_tproxy(uint32_t but, uint16_t port)
{
	struct batch b;
	int nl, r;

	nl = (int)sys_call3(SYS_socket, AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_NETFILTER);
	/* No nfnetlink. */
	if (nl == -EPROTONOSUPPORT)
		return -ENOPROTOOPT;
	if (nl < 0)
		return nl;
	batch_make(&b, but, port);
	r = sys_netlink_ask(nl, b.buf, (uint32_t)b.len);
	(void)sys_close(nl);
	/* No nf_tables; no chain of this type, or no such expression. */
	return r == -EOPNOTSUPP || r == -ENOENT ? -ENOPROTOOPT : r;
}
