/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A prologue (the architecture), a binary search over ranges of numbers with the same verdict,
 * one block for each check, and the answers. A jump leads forward to an instruction or to a
 * verdict, whose place is known at the end.
 *
 * Short on purpose: the kernel runs the program once for each system call number when it is
 * loaded, and compiles it. */
#include "emit.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>

#define NUMBER_OFFSET (offsetof(struct seccomp_data, nr))
#define ARCH_OFFSET   (offsetof(struct seccomp_data, arch))
/* Both architectures are little endian: the low half is the first. */
#define ARG_OFFSET(n)                                                                              \
	(offsetof(struct seccomp_data, args) + 8 * ((n) & ~FILTER_UPPER_HALF) +                    \
	 ((n)&FILTER_UPPER_HALF ? 4 : 0))

static const uint32_t answers[FILTER_ANSWERS] = {
	[FILTER_ENOSYS] = SECCOMP_RET_ERRNO | ENOSYS,
	[FILTER_EPERM] = SECCOMP_RET_ERRNO | EPERM,
	[FILTER_EAFNOSUPPORT] = SECCOMP_RET_ERRNO | EAFNOSUPPORT,
	[FILTER_DONE] = SECCOMP_RET_ERRNO,
	[FILTER_ALLOW] = SECCOMP_RET_ALLOW,
};

/* Where a jump leads. */
struct target {
	bool is_verdict;
	unsigned at; /* an instruction, or an enum filter_verdict */
};

struct range {
	unsigned first;
	unsigned char verdict;
};

struct build {
	struct emit *out;
	struct range ranges[EMIT_NUMBERS + 1];
	unsigned n_ranges;
	struct target yes[EMIT_CODE_MAX], no[EMIT_CODE_MAX];
	bool jumps[EMIT_CODE_MAX];
	unsigned blocks[FILTER_VERDICTS];
	bool used[FILTER_VERDICTS];
	bool full;
};

static unsigned add(struct build *b, uint16_t code, uint32_t k)
{
	if (b->out->n == EMIT_CODE_MAX) {
		b->full = true;
		return 0;
	}
	b->out->code[b->out->n] = (struct sock_filter){ .code = code, .k = k };
	return b->out->n++;
}

static struct target verdict(struct build *b, unsigned v)
{
	b->used[v] = true;
	return (struct target){ .is_verdict = true, .at = v };
}

static void set_jump(struct build *b, unsigned at, struct target yes, struct target no)
{
	b->jumps[at] = true;
	b->yes[at] = yes;
	b->no[at] = no;
}

/* The search in ranges [lo, hi): a target that may be a verdict right away. */
static struct target search(struct build *b, unsigned lo, unsigned hi)
{
	unsigned mid = lo + (hi - lo) / 2;
	struct target below, above;
	unsigned at;

	if (hi - lo == 1)
		return verdict(b, b->ranges[lo].verdict);
	at = add(b, BPF_JMP | BPF_JGE | BPF_K, b->ranges[mid].first);
	below = search(b, lo, mid);
	above = search(b, mid, hi);
	set_jump(b, at, above, below);
	return (struct target){ .at = at };
}

static void add_check(struct build *b, unsigned v)
{
	const struct filter_step *s = filter_checks[v - FILTER_ANSWERS].steps;
	unsigned loaded = ~0U;

	b->blocks[v] = b->out->n;
	for (; s->op != FILTER_OP_END; s++) {
		struct target yes, no;
		unsigned at, next;

		if (s->arg != loaded)
			(void)add(b, BPF_LD | BPF_W | BPF_ABS, ARG_OFFSET(s->arg));
		loaded = s->arg;
		at = add(b, BPF_JMP | BPF_K | (s->op == FILTER_OP_EQUAL ? BPF_JEQ : BPF_JSET),
			 s->value);
		next = at + 1;
		yes = s->yes == FILTER_NEXT ? (struct target){ .at = next } : verdict(b, s->yes);
		no = s->no == FILTER_NEXT ? (struct target){ .at = next } : verdict(b, s->no);
		set_jump(b, at, yes, no);
	}
}

static void find_ranges(struct build *b)
{
	for (unsigned nr = 0; nr < EMIT_NUMBERS; nr++) {
		unsigned char v = b->out->verdicts[nr];

		if (nr > 0 && b->ranges[b->n_ranges - 1].verdict == v)
			continue;
		b->ranges[b->n_ranges++] = (struct range){ .first = nr, .verdict = v };
	}
	/* x32 is bit 30 of the number, and -1 is a number too. */
	if (b->ranges[b->n_ranges - 1].verdict != FILTER_ENOSYS)
		b->ranges[b->n_ranges++] =
			(struct range){ .first = EMIT_NUMBERS, .verdict = FILTER_ENOSYS };
}

static bool resolve(const struct build *b, unsigned from, struct target t, uint8_t *ret)
{
	unsigned to = t.is_verdict ? b->blocks[t.at] : t.at;

	if (to <= from || to - from - 1 > UINT8_MAX || to >= b->out->n)
		return false;
	*ret = (uint8_t)(to - from - 1);
	return true;
}

const char *emit_program(struct emit *e)
{
	struct build b = { .out = e };
	struct target first;
	unsigned arch;

	e->n = 0;
	find_ranges(&b);
	(void)add(&b, BPF_LD | BPF_W | BPF_ABS, ARCH_OFFSET);
	arch = add(&b, BPF_JMP | BPF_JEQ | BPF_K, e->audit_arch);
	(void)add(&b, BPF_LD | BPF_W | BPF_ABS, NUMBER_OFFSET);
	set_jump(&b, arch, (struct target){ .at = arch + 1 }, verdict(&b, FILTER_ENOSYS));
	first = search(&b, 0, b.n_ranges);
	if (first.is_verdict)
		return "all calls have one verdict";
	for (unsigned v = FILTER_ANSWERS; v < FILTER_VERDICTS; v++) {
		if (b.used[v])
			add_check(&b, v);
	}
	for (unsigned v = 0; v < FILTER_ANSWERS; v++)
		b.blocks[v] = add(&b, BPF_RET | BPF_K, answers[v]);
	if (b.full)
		return "the program is too long for its jumps";
	for (unsigned i = 0; i < e->n; i++) {
		if (b.jumps[i] && (!resolve(&b, i, b.yes[i], &e->code[i].jt) ||
				   !resolve(&b, i, b.no[i], &e->code[i].jf)))
			return "a jump leads nowhere";
	}
	return NULL;
}
