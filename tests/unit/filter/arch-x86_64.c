/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "arch.h"

#include "filter-x86_64.inc"

void arch_x86_64(struct arch *ret)
{
	*ret = (struct arch){ .name = "x86_64", .audit_arch = FILTER_AUDIT_ARCH };
	_Static_assert(sizeof(filter_programs) / sizeof(filter_programs[0]) == FILTER_OPTIONS_END,
		       "one for each set of options");
	for (unsigned i = 0; i < FILTER_OPTIONS_END; i++)
		ret->programs[i] = (struct filter_program){ filter_code + filter_programs[i].start,
							    filter_programs[i].n };
	/* The lists of names are filter.c's. */
	(void)filter_names;
	(void)filter_numbers;
	(void)filter_elsewhere;
}
