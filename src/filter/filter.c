/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "filter/filter.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/macro.h"

/* FILTER_AUDIT_ARCH, filter_code, filter_programs, filter_names, filter_numbers and
 * filter_elsewhere, for the architecture that is built for. No table of pointers: the loader
 * would have to write to it in every run. */
#include FILTER_DATA

const struct filter_group filter_groups[FILTER_GROUPS] = {
	{ "io_uring", FILTER_IO_URING },
	{ "userns", FILTER_USERNS },
	{ "keyrings", FILTER_KEYRINGS },
	{ "setid_bits", FILTER_SETID_BITS },
};

bool filter_base(unsigned options, struct filter_program *ret)
{
	if (options >= ARRAY_SIZE(filter_programs) || filter_programs[options].n == 0)
		return false;
	ret->code = filter_code + filter_programs[options].start;
	ret->n = filter_programs[options].n;
	return true;
}

const char *filter_call_at(size_t i, uint16_t *ret_number)
{
	const char *name = filter_names;

	if (i >= ARRAY_SIZE(filter_numbers))
		return NULL;
	for (size_t skip = i; skip > 0; skip--)
		name += strlen(name) + 1;
	*ret_number = filter_numbers[i];
	return name;
}

/* The index of @name in a list of strings that an empty one ends, or -1. */
static long list_find(const char *list, const char *name)
{
	for (long i = 0; *list != '\0'; i++, list += strlen(list) + 1) {
		if (strcmp(list, name) == 0)
			return i;
	}
	return -1;
}

bool filter_call_number(const char *name, uint16_t *ret)
{
	long i = list_find(filter_names, name);

	if (i < 0)
		return false;
	*ret = filter_numbers[i];
	return true;
}

const char *filter_call_name(uint16_t number)
{
	const char *name = filter_names;

	for (size_t i = 0; i < ARRAY_SIZE(filter_numbers); i++, name += strlen(name) + 1) {
		if (filter_numbers[i] == number)
			return name;
	}
	return NULL;
}

bool filter_call_elsewhere(const char *name)
{
	return list_find(filter_elsewhere, name) >= 0;
}

bool filter_call_needed(const char *name)
{
	static const char *const needed[] = { "execve", "exit", "exit_group", "rt_sigprocmask",
					      "rt_sigreturn" };

	for (size_t i = 0; i < ARRAY_SIZE(needed); i++) {
		if (strcmp(name, needed[i]) == 0)
			return true;
	}
	return false;
}

static int number_cmp(const void *a, const void *b)
{
	return *(const uint16_t *)a - *(const uint16_t *)b;
}

struct deny_code {
	struct sock_filter *code;
	uint16_t n;
};

static void deny_load(struct deny_code *d, size_t offset)
{
	d->code[d->n++] =
		(struct sock_filter){ .code = BPF_LD | BPF_W | BPF_ABS, .k = (uint32_t)offset };
}

/* What follows is skipped, @skip instructions of it, unless the value is @k. */
static void deny_unless(struct deny_code *d, uint32_t k, uint8_t skip)
{
	d->code[d->n++] =
		(struct sock_filter){ .code = BPF_JMP | BPF_JEQ | BPF_K, .jf = skip, .k = k };
}

static void deny_answer(struct deny_code *d, uint32_t answer)
{
	d->code[d->n++] = (struct sock_filter){ .code = BPF_RET | BPF_K, .k = answer };
}

void filter_deny(struct arena *a, const uint16_t *numbers, size_t n, bool no_unix,
		 struct filter_program *ret)
{
	struct deny_code d = { 0 };
	uint16_t *sorted, socket_number = 0;

	if (n > FILTER_DENY_MAX)
		abort();
	/* Four to begin with, two a number, four for the socket, one to end with. */
	d.code = arena_array(a, 2 * n + 9, sizeof(*d.code));
	sorted = arena_array(a, n + 1, sizeof(*sorted));
	if (n > 0)
		memcpy(sorted, numbers, n * sizeof(*sorted));
	qsort(sorted, n, sizeof(*sorted), number_cmp);
	deny_load(&d, offsetof(struct seccomp_data, arch));
	d.code[d.n++] = (struct sock_filter){ .code = BPF_JMP | BPF_JEQ | BPF_K,
					      .jt = 1,
					      .k = FILTER_AUDIT_ARCH };
	deny_answer(&d, SECCOMP_RET_ERRNO | ENOSYS);
	deny_load(&d, offsetof(struct seccomp_data, nr));
	for (size_t i = 0; i < n; i++) {
		if (i > 0 && sorted[i] == sorted[i - 1])
			continue;
		deny_unless(&d, sorted[i], 1);
		deny_answer(&d, SECCOMP_RET_ERRNO | EPERM);
	}
	if (no_unix && filter_call_number("socket", &socket_number)) {
		deny_unless(&d, socket_number, 3);
		deny_load(&d, offsetof(struct seccomp_data, args));
		deny_unless(&d, AF_UNIX, 1);
		deny_answer(&d, SECCOMP_RET_ERRNO | EAFNOSUPPORT);
	}
	deny_answer(&d, SECCOMP_RET_ALLOW);
	*ret = (struct filter_program){ .code = d.code, .n = d.n };
}
