/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* emit - one BPF program from a verdict for each system call number. */
#pragma once

#include "filter/table.h"

/* Numbers from here on are beyond any table: ENOSYS. */
#define EMIT_NUMBERS 512
/* Every jump of a program of this length fits into its eight bits. */
#define EMIT_CODE_MAX 256

struct emit {
	uint32_t audit_arch;
	const unsigned char *verdicts; /* enum filter_verdict, EMIT_NUMBERS of them */
	struct sock_filter code[EMIT_CODE_MAX];
	unsigned n;
};

/* emit_program() - fills code and n. NULL, or what is wrong. */
const char *emit_program(struct emit *e);
