/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* arch - the generated programs of one architecture, whichever the build is for. */
#pragma once

#include "bpf.h"
#include "filter/table.h"

struct arch {
	const char *name;
	uint32_t audit_arch;
	struct filter_program programs[FILTER_OPTIONS_END]; /* n == 0: there is none */
};

void arch_x86_64(struct arch *ret);
void arch_aarch64(struct arch *ret);

#define NONE (-1)

/* A call that is the same for both, by its numbers; NONE where it is missing. */
struct number {
	int x86_64, aarch64;
};

static inline int number_of(const struct number *n, const struct arch *a)
{
	return a->audit_arch == 0xc000003eU ? n->x86_64 : n->aarch64;
}
