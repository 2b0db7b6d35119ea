/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* filter - the system call filters of the sandbox, as bytes that were made at build time.
 *
 * tools/gen-filter turns the rows of table.c into one BPF program for each set of options that
 * can occur; a run picks one. It answers ENOSYS for whatever it does not know: numbers above the
 * newest known, and calls of another ABI (i386, x32). Nothing is ever killed. */
#pragma once

#include <linux/filter.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

/* What is open beside the calls that are always allowed. Zero is the strictest filter. */
enum filter_option {
	FILTER_DEBUG = 1 << 0,      /* ptrace, process_vm_*, the debuggers' personality */
	FILTER_MEMFD = 1 << 1,      /* memfd_create, memfd_secret; else ENOSYS */
	FILTER_IO_URING = 1 << 2,   /* its operations pass no filter: only with FILTER_SETID_BITS */
	FILTER_USERNS = 1 << 3,     /* namespaces and what their owners do: mounts, chroot, setns */
	FILTER_KEYRINGS = 1 << 4,   /* add_key, request_key, keyctl */
	FILTER_SETID_BITS = 1 << 5, /* files and directories with set-id bits */
	FILTER_OPTIONS_END = 1 << 6,
};

/* The preset `default`; `strict` is FILTER_MEMFD alone. */
#define FILTER_DEFAULT (FILTER_DEBUG | FILTER_MEMFD)

struct filter_group {
	const char *name; /* the word of `syscalls.allow` */
	enum filter_option option;
};

#define FILTER_GROUPS 4
extern const struct filter_group filter_groups[FILTER_GROUPS];

struct filter_program {
	const struct sock_filter *code;
	uint16_t n; /* instructions */
};

/* filter_base() - the program for a set of options; static. False: there is none, because
 * FILTER_IO_URING without FILTER_SETID_BITS would be a boundary that does not hold. */
bool filter_base(unsigned options, struct filter_program *ret);

/* filter_call_at() - the names and numbers of this architecture's system calls, in the order of
 * their numbers; NULL after the last. Static. */
const char *filter_call_at(size_t i, uint16_t *ret_number);
/* filter_call_number() - exact. False: no such call here. */
bool filter_call_number(const char *name, uint16_t *ret);
/* filter_call_name() - NULL: unknown. */
const char *filter_call_name(uint16_t number);
/* filter_call_elsewhere() - a name that another architecture has, which denies nothing here. */
bool filter_call_elsewhere(const char *name);
/* filter_call_needed() - without it no command can be started or ended. */
bool filter_call_needed(const char *name);

/* filter_deny() - a second program: EPERM for each of @numbers, and with @no_unix EAFNOSUPPORT
 * for socket(AF_UNIX) (pairs stay); the rest is allowed, which is to say, left to the first. In
 * @a. @n: at most FILTER_DENY_MAX. */
#define FILTER_DENY_MAX 512
void filter_deny(struct arena *a, const uint16_t *numbers, size_t n, bool no_unix,
		 struct filter_program *ret);
