/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>

#include "plan/internal.h"

static const char *text_passwd(struct arena *a, const struct plan_request *rq)
{
	const char *name = plan_user_name(&rq->ids);
	bool root = rq->ids.inside_uid == 0;

	/* The command's own entry first: the first with a number is its name. */
	return arena_printf(a,
			    "%s:x:%u:%u:%s:/home/agent:/bin/sh\n"
			    "%s"
			    "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n",
			    name, rq->ids.inside_uid, rq->ids.inside_gid, name,
			    root ? "" : "root:x:0:0:root:/root:/usr/sbin/nologin\n");
}

static const char *text_group(struct arena *a, const struct plan_request *rq)
{
	bool root = rq->ids.inside_gid == 0;

	return arena_printf(a,
			    "%s:x:%u:\n"
			    "%s"
			    "tty:x:5:\n"
			    "nogroup:x:65534:\n",
			    root ? "root" : "agent", rq->ids.inside_gid, root ? "" : "root:x:0:\n");
}

static const char *text_hosts(struct arena *a, const struct plan_request *rq)
{
	if (rq->host_network && rq->facts->hosts != NULL)
		return arena_strdup(a, rq->facts->hosts);
	return arena_printf(a,
			    "127.0.0.1\tlocalhost\n"
			    "127.0.1.1\t%s\n"
			    "::1\tlocalhost ip6-localhost ip6-loopback\n",
			    rq->profile->sandbox.hostname);
}

static const char *text_hostname(struct arena *a, const struct plan_request *rq)
{
	return arena_printf(a, "%s\n", rq->profile->sandbox.hostname);
}

/* Files and, for host names, DNS: nscd, resolved and their sockets are not inside. */
static const char *text_nsswitch(struct arena *a, const struct plan_request *rq)
{
	return arena_printf(a,
			    "passwd: files\n"
			    "group: files\n"
			    "shadow: files\n"
			    "hosts: files%s\n"
			    "networks: files\n"
			    "protocols: files\n"
			    "services: files\n"
			    "ethers: files\n"
			    "rpc: files\n",
			    rq->host_network || rq->named_network ? " dns" : "");
}

static const char *text_resolv(struct arena *a, const struct plan_request *rq)
{
	if (rq->host_network && rq->facts->resolv_conf != NULL)
		return arena_strdup(a, rq->facts->resolv_conf);
	/* No search line: it would make further names of each that is not known. */
	if (rq->named_network)
		return arena_strdup(a, "nameserver 198.18.0.1\noptions edns0\n");
	return arena_strdup(a, "# no network, no resolver\n");
}

static const struct {
	const char *name;
	const char *(*text)(struct arena *a, const struct plan_request *rq);
} texts[] = {
	{ "passwd", text_passwd },
	{ "group", text_group },
	{ "hosts", text_hosts },
	{ "hostname", text_hostname },
	{ "nsswitch.conf", text_nsswitch },
	{ "resolv.conf", text_resolv },
};

const char *plan_etc_text(struct arena *a, const struct plan_request *rq, const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		if (strcmp(texts[i].name, name) == 0)
			return texts[i].text(a, rq);
	}
	return "";
}
