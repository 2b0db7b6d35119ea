/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A host behind clash, mihomo or sing-box: its resolver answers every name with an address of
 * 198.18.0.0/15 and a program takes what goes there. It is known by an interface or a name server
 * in that range; nobody is asked for a name. */
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <resolv.h>
#include <string.h>

#include "cli/doctor.h"

static const struct host_addr made_up = { .bytes = { 198, 18 }, .family = 4 };

static bool is_made_up(const struct in_addr *in)
{
	struct host_addr a = { .family = 4 };

	memcpy(a.bytes, in, 4);
	return host_addr_in(&a, &made_up, 15);
}

static const char *find_interface(struct arena *a)
{
	const char *found = NULL;
	struct ifaddrs *list;

	if (getifaddrs(&list) != 0)
		return NULL;
	for (const struct ifaddrs *i = list; i != NULL && found == NULL; i = i->ifa_next) {
		struct sockaddr_in in;
		char text[INET_ADDRSTRLEN];

		if (i->ifa_addr == NULL || i->ifa_addr->sa_family != AF_INET)
			continue;
		memcpy(&in, i->ifa_addr, sizeof(in));
		if (is_made_up(&in.sin_addr))
			found = arena_printf(a, "%s on %s",
					     inet_ntop(AF_INET, &in.sin_addr, text, sizeof(text)),
					     i->ifa_name);
	}
	freeifaddrs(list);
	return found;
}

static const char *find_server(struct arena *a)
{
	char text[INET_ADDRSTRLEN];

	if (res_init() != 0)
		return NULL;
	for (int i = 0; i < _res.nscount; i++) {
		const struct sockaddr_in *in = &_res.nsaddr_list[i];

		if (in->sin_family == AF_INET && is_made_up(&in->sin_addr))
			return arena_printf(a, "name server %s",
					    inet_ntop(AF_INET, &in->sin_addr, text, sizeof(text)));
	}
	return NULL;
}

static bool is_provided_for(const struct profile *p)
{
	if (p == NULL)
		return false;
	for (size_t i = 0; i < p->sandbox.named.private_ranges.n; i++) {
		const struct profile_range *r = &p->sandbox.named.private_ranges.v[i];

		if (r->bits <= 15 && host_addr_in(&made_up, &r->net, r->bits))
			return true;
	}
	return false;
}

void doctor_resolver(struct arena *a, const struct profile *p, struct doctor_check *ret)
{
	const char *found = find_interface(a);

	if (found == NULL)
		found = find_server(a);
	ret->detail = found;
	if (found == NULL || is_provided_for(p))
		return;
	ret->state = DOCTOR_FAILED;
	ret->cause = arena_printf(a,
				  "this host's resolver seems to make up addresses (%s; clash, "
				  "mihomo and sing-box do): network by name refuses them",
				  found);
	ret->remedy = "in profiles for this host: network: {private_ranges: [198.18.0.0/15]}";
}
