/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sniff-check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	sniff_check(sniff_head, "example.org", 80, data, size);
	return 0;
}
