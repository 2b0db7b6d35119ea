/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* raw - system calls without libc.
 *
 * Each returns what the kernel returns: a value, or -errno. errno is thread-local storage of the
 * supervisor and libc keeps state of its own (cached pids, locks, cancellation); after clone
 * neither may be touched, so nothing here goes near them. */
#pragma once

#include <stdint.h>
#include <sys/syscall.h>

#if defined(__x86_64__)

static inline long sys_call6(long nr, long a, long b, long c, long d, long e, long f)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long ret;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return ret;
}

#elif defined(__aarch64__)

static inline long sys_call6(long nr, long a, long b, long c, long d, long e, long f)
{
	register long x8 __asm__("x8") = nr;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;
	register long x5 __asm__("x5") = f;

	__asm__ volatile("svc #0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
			 : "memory", "cc");
	return x0;
}

#else
#error "agentbox knows the system calls of x86_64 and aarch64 only"
#endif

static inline long sys_call5(long nr, long a, long b, long c, long d, long e)
{
	return sys_call6(nr, a, b, c, d, e, 0);
}

static inline long sys_call4(long nr, long a, long b, long c, long d)
{
	return sys_call6(nr, a, b, c, d, 0, 0);
}

static inline long sys_call3(long nr, long a, long b, long c)
{
	return sys_call6(nr, a, b, c, 0, 0, 0);
}

static inline long sys_call2(long nr, long a, long b)
{
	return sys_call6(nr, a, b, 0, 0, 0, 0);
}

static inline long sys_call1(long nr, long a)
{
	return sys_call6(nr, a, 0, 0, 0, 0, 0);
}

static inline long sys_call0(long nr)
{
	return sys_call6(nr, 0, 0, 0, 0, 0, 0);
}

/* sys_arg() - a pointer as a system call's argument. */
static inline long sys_arg(const void *p)
{
	return (long)(uintptr_t)p;
}
