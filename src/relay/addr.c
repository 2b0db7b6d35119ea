/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Sources: the IANA special-purpose address registries (RFC 6890 and what followed it), and the
 * addresses at which clouds keep the credentials of a machine. */
#include "relay/addr.h"

#include <string.h>

struct row {
	struct addr_range range;
	const char *why;
};

#define V4(a, b, c, d, n, why)                                                                     \
	{                                                                                          \
		{ { { a, b, c, d }, 4 }, n }, why                                                  \
	}
#define V6(n, why, ...)                                                                            \
	{                                                                                          \
		{ { { __VA_ARGS__ }, 6 }, n }, why                                                 \
	}

/* First match: what is narrow stands before what is wide. */
static const struct row rows[] = {
	V4(169, 254, 169, 254, 32, "metadata"),
	V4(169, 254, 170, 2, 32, "metadata"),
	V4(100, 100, 100, 200, 32, "metadata"),
	V4(168, 63, 129, 16, 32, "metadata"),
	V4(192, 0, 0, 192, 32, "metadata"),
	V4(0, 0, 0, 0, 8, "reserved"),
	V4(10, 0, 0, 0, 8, "private"),
	V4(100, 64, 0, 0, 10, "private"),
	V4(127, 0, 0, 0, 8, "loopback"),
	V4(169, 254, 0, 0, 16, "link-local"),
	V4(172, 16, 0, 0, 12, "private"),
	V4(192, 0, 0, 0, 24, "reserved"),
	V4(192, 0, 2, 0, 24, "reserved"),
	V4(192, 88, 99, 0, 24, "reserved"),
	V4(192, 168, 0, 0, 16, "private"),
	V4(198, 18, 0, 0, 15, "benchmark"),
	V4(198, 51, 100, 0, 24, "reserved"),
	V4(203, 0, 113, 0, 24, "reserved"),
	V4(224, 0, 0, 0, 4, "multicast"),
	V4(240, 0, 0, 0, 4, "reserved"),
	V6(128, "metadata", 0xfd, 0, 0x0e, 0xc2, [14] = 0x02, [15] = 0x54),
	V6(128, "loopback", [15] = 1),
	V6(96, "reserved", 0),
	V6(48, "reserved", 0, 0x64, 0xff, 0x9b, 0, 1),
	V6(64, "reserved", 1),
	V6(23, "reserved", 0x20, 1),
	V6(32, "reserved", 0x20, 1, 0x0d, 0xb8),
	V6(16, "reserved", 0x20, 2),
	V6(20, "reserved", 0x3f, 0xff),
	V6(16, "reserved", 0x5f, 0),
	V6(7, "private", 0xfc),
	V6(10, "link-local", 0xfe, 0x80),
	V6(10, "private", 0xfe, 0xc0),
	V6(8, "multicast", 0xff),
};

/* Prefixes of IPv6 addresses whose last four bytes are an IPv4 address. */
static const struct addr_range carriers[] = {
	{ { { [10] = 0xff, [11] = 0xff }, 6 }, 96 },
	{ { { 0, 0x64, 0xff, 0x9b }, 6 }, 96 },
	{ { { 0 }, 6 }, 96 },
};

struct host_addr addr_plain(const struct host_addr *a)
{
	struct host_addr in = { .family = 4 };

	/* :: and ::1 are themselves. */
	if (a->family != 6 || (memcmp(a->bytes, (uint8_t[15]){ 0 }, 15) == 0 && a->bytes[15] <= 1))
		return *a;
	for (size_t i = 0; i < sizeof(carriers) / sizeof(carriers[0]); i++) {
		if (!host_addr_in(a, &carriers[i].net, carriers[i].bits))
			continue;
		memcpy(in.bytes, a->bytes + 12, 4);
		return in;
	}
	return *a;
}

const char *addr_refusal(const struct host_addr *a)
{
	struct host_addr plain = addr_plain(a);

	if (plain.family == 0)
		return "reserved";
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (host_addr_in(&plain, &rows[i].range.net, rows[i].range.bits))
			return rows[i].why;
	}
	/* Only 2000::/3 is given out. */
	if (plain.family == 6 && (plain.bytes[0] & 0xe0) != 0x20)
		return "reserved";
	return NULL;
}
