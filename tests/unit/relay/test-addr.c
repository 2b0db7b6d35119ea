/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "relay/addr.h"

#include "base/macro.h"
#include "tap.h"

static const struct {
	const char *addr;
	const char *why; /* NULL: of the public network */
} rows[] = {
	{ "1.1.1.1", NULL },
	{ "9.255.255.255", NULL },
	{ "11.0.0.0", NULL },
	{ "93.184.216.34", NULL },
	{ "100.63.255.255", NULL },
	{ "100.128.0.0", NULL },
	{ "126.255.255.255", NULL },
	{ "128.0.0.1", NULL },
	{ "172.15.255.255", NULL },
	{ "172.32.0.0", NULL },
	{ "192.167.255.255", NULL },
	{ "192.169.0.0", NULL },
	{ "198.17.255.255", NULL },
	{ "198.20.0.0", NULL },
	{ "223.255.255.255", NULL },
	{ "0.0.0.0", "reserved" },
	{ "0.1.2.3", "reserved" },
	{ "10.0.0.1", "private" },
	{ "100.64.0.1", "private" },
	{ "100.100.100.200", "metadata" },
	{ "127.0.0.1", "loopback" },
	{ "127.255.255.255", "loopback" },
	{ "168.63.129.16", "metadata" },
	{ "169.254.169.254", "metadata" },
	{ "169.254.1.1", "link-local" },
	{ "172.16.0.1", "private" },
	{ "172.31.255.255", "private" },
	{ "192.0.0.192", "metadata" },
	{ "192.168.1.1", "private" },
	{ "198.18.0.1", "benchmark" },
	{ "198.19.255.255", "benchmark" },
	{ "224.0.0.1", "multicast" },
	{ "255.255.255.255", "reserved" },
	{ "2606:4700::1111", NULL },
	{ "2a00:1450::1", NULL },
	{ "::", "reserved" },
	{ "::1", "loopback" },
	{ "::7f00:1", "loopback" },
	{ "::ffff:127.0.0.1", "loopback" },
	{ "::ffff:1.1.1.1", NULL },
	{ "::1.1.1.1", NULL },
	{ "64:ff9b::10.0.0.1", "private" },
	{ "64:ff9b::a9fe:a9fe", "metadata" },
	{ "64:ff9b::1.1.1.1", NULL },
	{ "64:ff9b:1::1", "reserved" },
	{ "100::1", "reserved" },
	{ "2001::1", "reserved" },
	{ "2001:db8::1", "reserved" },
	{ "2002:7f00:1::1", "reserved" },
	{ "3fff::1", "reserved" },
	{ "4000::1", "reserved" },
	{ "fc00::1", "private" },
	{ "fd00:ec2::254", "metadata" },
	{ "fe80::1", "link-local" },
	{ "fec0::1", "private" },
	{ "ff02::1", "multicast" },
};

int main(void)
{
	struct host_addr none = { 0 };
	struct tap t = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct host_addr a;
		const char *why;

		if (!tap_ok(&t, hostpat_addr(rows[i].addr, strlen(rows[i].addr), &a), "%s",
			    rows[i].addr))
			continue;
		why = addr_refusal(&a);
		tap_str(&t, why, rows[i].why, rows[i].addr);
	}
	tap_str(&t, addr_refusal(&none), "reserved", "no address at all");
	return tap_done(&t);
}
