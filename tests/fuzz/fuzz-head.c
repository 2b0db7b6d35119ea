/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sniff-check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What goes on of @size bytes in two pieces of a connection; *ret_ends: and then no more. */
static size_t requests_feed(const uint8_t *data, size_t size, size_t first, bool *ret_ends)
{
	struct requests q = { 0 };
	size_t gone, more;

	*ret_ends = !requests_take(&q, "example.org", data, first, &gone);
	if (gone > first)
		abort();
	if (*ret_ends)
		return gone;
	*ret_ends = !requests_take(&q, "example.org", data + gone, size - gone, &more);
	if (more > size - gone)
		abort();
	return gone + more;
}

/* However it is cut, the same goes on, and the same ends it. */
static void requests_check(const uint8_t *data, size_t size)
{
	bool whole, cut;
	size_t all = requests_feed(data, size, size, &whole);
	size_t some = requests_feed(data, size, size / 3, &cut);

	if (whole != cut || (!whole && all != some))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	sniff_check(sniff_head, "example.org", 80, data, size);
	requests_check(data, size);
	return 0;
}
