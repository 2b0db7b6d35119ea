/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* bpf - the part of classic BPF that seccomp(2) takes, run in the test. */
#pragma once

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdint.h>
#include <string.h>

/* What a program that leaves its bounds, or uses what is not known here, answers: nothing that
 * anybody expects. */
#define BPF_BROKEN 0xdeadbeefU

static inline uint32_t bpf_run(const struct sock_filter *code, unsigned n,
			       const struct seccomp_data *data)
{
	uint32_t a = 0;
	unsigned pc = 0;

	while (pc < n) {
		const struct sock_filter *i = &code[pc++];

		switch (i->code) {
		case BPF_LD | BPF_W | BPF_ABS:
			if (i->k > sizeof(*data) - 4 || i->k % 4 != 0)
				return BPF_BROKEN;
			memcpy(&a, (const char *)data + i->k, 4);
			break;
		case BPF_ALU | BPF_AND | BPF_K:
			a &= i->k;
			break;
		case BPF_JMP | BPF_JA:
			pc += i->k;
			break;
		case BPF_JMP | BPF_JEQ | BPF_K:
			pc += a == i->k ? i->jt : i->jf;
			break;
		case BPF_JMP | BPF_JGE | BPF_K:
			pc += a >= i->k ? i->jt : i->jf;
			break;
		case BPF_JMP | BPF_JGT | BPF_K:
			pc += a > i->k ? i->jt : i->jf;
			break;
		case BPF_JMP | BPF_JSET | BPF_K:
			pc += (a & i->k) != 0 ? i->jt : i->jf;
			break;
		case BPF_RET | BPF_K:
			return i->k;
		default:
			return BPF_BROKEN;
		}
	}
	return BPF_BROKEN;
}
