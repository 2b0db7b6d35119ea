/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* libseccomp, given the same rows, makes a program of its own kind: both run in one interpreter,
 * and must agree on what is allowed, number by number. Where a check is more than its rules can
 * say, its answer is the default; so errors are compared for the calls without a check alone. */
#include <errno.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <unistd.h>

#include "arch.h"
#include "base/macro.h"
#include "tap.h"

#define NOSYS SCMP_ACT_ERRNO(ENOSYS)

#define LOW(arg, value) SCMP_CMP(arg, SCMP_CMP_MASKED_EQ, 0xffffffffU, (value))

struct made {
	scmp_filter_ctx ctx;
	unsigned refused; /* rules that it did not take */
	struct sock_filter code[4096];
	unsigned n;
	bool known[512], checked[512];
};

static void add(struct made *m, uint32_t action, int nr, unsigned n,
		const struct scmp_arg_cmp *cmps)
{
	if (seccomp_rule_add_array(m->ctx, action, nr, n, cmps) != 0)
		m->refused++;
}

/* The ways through a check that end in "allow", one rule for each. */
static void add_check(struct made *m, int nr, enum filter_verdict v)
{
	const struct filter_step *s = filter_checks[v - FILTER_ANSWERS].steps;
	struct scmp_arg_cmp cmps[2];
	unsigned n = 0;

	for (; s->op != FILTER_OP_END; s++) {
		if (s->op == FILTER_OP_ANY) {
			cmps[n] = SCMP_CMP(s->arg, SCMP_CMP_MASKED_EQ, s->value, 0);
			if (s->no == FILTER_ALLOW)
				add(m, SCMP_ACT_ALLOW, nr, 1, &cmps[n]);
			continue;
		}
		cmps[n] = LOW(s->arg, s->value);
		if (s->yes == FILTER_ALLOW)
			add(m, SCMP_ACT_ALLOW, nr, n + 1, cmps);
		else if (s->yes == FILTER_NEXT)
			n++;
	}
}

/* Below the first and above the last request: there is no rule for "unlike" in a part of the
 * bits, and none with two bounds for one argument. */
static void add_ioctl(struct made *m, int nr)
{
	const struct filter_step *s = filter_checks[FILTER_CHECK_IOCTL - FILTER_ANSWERS].steps;
	const struct scmp_arg_cmp first = SCMP_CMP(1, SCMP_CMP_LT, s->value, 0);
	struct scmp_arg_cmp last;

	while (s[1].op != FILTER_OP_END)
		s++;
	last = SCMP_CMP(1, SCMP_CMP_GT, s->value, 0);
	add(m, SCMP_ACT_ALLOW, nr, 1, &first);
	add(m, SCMP_ACT_ALLOW, nr, 1, &last);
}

/* Allowed for any other limit; for this one only without a new value. */
static void add_limit(struct made *m, int nr, unsigned arg)
{
	const struct scmp_arg_cmp other = SCMP_CMP(arg, SCMP_CMP_NE, 4, 0);
	const struct scmp_arg_cmp asks[] = { SCMP_CMP(arg, SCMP_CMP_EQ, 4, 0),
					     SCMP_CMP(2, SCMP_CMP_EQ, 0, 0) };

	add(m, SCMP_ACT_ALLOW, nr, 1, &other);
	if (arg == 1)
		add(m, SCMP_ACT_ALLOW, nr, 2, asks);
}

static void add_verdict(struct made *m, int nr, enum filter_verdict v)
{
	if (v == FILTER_ALLOW)
		add(m, SCMP_ACT_ALLOW, nr, 0, NULL);
	else if (v == FILTER_EPERM)
		add(m, SCMP_ACT_ERRNO(EPERM), nr, 0, NULL);
	else if (v == FILTER_CHECK_IOCTL)
		add_ioctl(m, nr);
	else if (v == FILTER_CHECK_SETRLIMIT || v == FILTER_CHECK_PRLIMIT)
		add_limit(m, nr, v == FILTER_CHECK_PRLIMIT);
	else if (v >= FILTER_ANSWERS)
		add_check(m, nr, v);
}

/* Rules are added by this machine's numbers, which the library turns into the other's; names that
 * this one lacks have negative ones. */
static void add_name(struct made *m, const struct arch *a, const char *name, enum filter_verdict v)
{
	int nr = seccomp_syscall_resolve_name_arch(a->audit_arch, name);

	if (nr < 0)
		return;
	add_verdict(m, seccomp_syscall_resolve_name(name), v);
	m->known[nr] = true;
	m->checked[nr] = v >= FILTER_ANSWERS;
}

static bool make(struct made *m, const struct arch *a, unsigned options)
{
	int fd = memfd_create("bpf", MFD_CLOEXEC);
	ssize_t n;

	memset(m, 0, sizeof(*m));
	m->ctx = seccomp_init(NOSYS);
	(void)seccomp_arch_remove(m->ctx, SCMP_ARCH_NATIVE);
	if (seccomp_arch_add(m->ctx, a->audit_arch) != 0 ||
	    seccomp_attr_set(m->ctx, SCMP_FLTATR_ACT_BADARCH, NOSYS) != 0)
		return false;
	for (size_t i = 0; filter_allowed[i] != NULL; i++)
		add_name(m, a, filter_allowed[i], FILTER_ALLOW);
	for (size_t i = 0; filter_refused[i] != NULL; i++)
		add_name(m, a, filter_refused[i], FILTER_EPERM);
	for (const struct filter_switch *s = filter_switches; s->name != NULL; s++)
		add_name(m, a, s->name,
			 s->option != 0 && (options & s->option) != 0 ? s->open : s->closed);
	if (fd < 0 || seccomp_export_bpf(m->ctx, fd) != 0)
		return false;
	n = pread(fd, m->code, sizeof(m->code), 0);
	m->n = n > 0 ? (unsigned)((size_t)n / sizeof(m->code[0])) : 0;
	close(fd);
	seccomp_release(m->ctx);
	return m->n > 0 && m->refused == 0;
}

/* Values that checks tell apart, and their neighbours. */
static const uint64_t values[] = {
	0,       1,       2,        4,          8,          9,          10,      16,
	17,      0x40,    02000,    04000,      06755,      0755,       0101,    0x5411,
	0x5412,  0x541c,  0x5423,   0x5424,     0x80,       0x4111,     0x20000, 0x20008,
	0x40000, 0x40008, 0x400000, 0x10000011, 0x7e020000, 0xffffffff,
};

/* Between the first and the last request of ioctl() lies what add_ioctl() cannot say. */
static bool left_out(const struct arch *a, const struct seccomp_data *d)
{
	return d->nr == (a->audit_arch == SCMP_ARCH_X86_64 ? 16 : 29) && d->args[1] > 0x5412 &&
	       d->args[1] < 0x5423;
}

static unsigned compare_number(const struct made *m, const struct arch *a,
			       const struct filter_program *p, int nr, unsigned long *asked)
{
	struct seccomp_data d = { .nr = nr, .arch = a->audit_arch };
	const size_t all = ARRAY_SIZE(values), n = m->checked[nr] ? all * all * all : 1;
	unsigned wrong = 0;

	for (size_t i = 0; i < n; i++) {
		uint32_t ours, theirs;
		bool same;

		d.args[0] = d.args[3] = values[i % all];
		d.args[1] = values[i / all % all];
		d.args[2] = values[i / all / all];
		if (left_out(a, &d))
			continue;
		ours = bpf_run(p->code, p->n, &d);
		theirs = bpf_run(m->code, m->n, &d);
		same = m->checked[nr] ? (ours == SECCOMP_RET_ALLOW) == (theirs == SECCOMP_RET_ALLOW)
				      : ours == theirs;
		(*asked)++;
		if (!same && wrong++ < 2)
			printf("# %s %d (%#llx, %#llx, %#llx): ours %#x, theirs %#x\n", a->name, nr,
			       d.args[0], d.args[1], d.args[2], ours, theirs);
	}
	return wrong;
}

static unsigned compare(const struct made *m, const struct arch *a, const struct filter_program *p,
			unsigned long *asked)
{
	unsigned wrong = 0;

	for (int nr = 0; nr < 512; nr++) {
		const struct seccomp_data d = { .nr = nr, .arch = a->audit_arch };

		/* Newer than this library. */
		if (!m->known[nr] && bpf_run(p->code, p->n, &d) != NOSYS)
			continue;
		wrong += compare_number(m, a, p, nr, asked);
	}
	return wrong;
}

int main(void)
{
	static const unsigned options[] = { FILTER_DEFAULT, 0, FILTER_OPTIONS_END - 1 };
	struct made *made = malloc(sizeof(*made));
	struct arch archs[2];
	struct tap t = { 0 };

	arch_x86_64(&archs[0]);
	arch_aarch64(&archs[1]);
	for (size_t i = 0; i < ARRAY_SIZE(archs); i++) {
		for (size_t j = 0; made != NULL && j < ARRAY_SIZE(options); j++) {
			const struct filter_program *p = &archs[i].programs[options[j]];
			unsigned long asked = 0;
			unsigned wrong;

			if (!tap_ok(&t, make(made, &archs[i], options[j]),
				    "%s: libseccomp makes a program for options %#x", archs[i].name,
				    options[j]))
				continue;
			wrong = compare(made, &archs[i], p, &asked);
			tap_ok(&t, wrong == 0 && asked > 80000,
			       "%s: options %#x: the same for %lu questions (%u instructions, "
			       "ours %u)",
			       archs[i].name, options[j], asked, made->n, p->n);
		}
	}
	free(made);
	return tap_done(&t);
}
