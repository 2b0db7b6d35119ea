/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/clone.h"

#include <stddef.h>
#include <stdint.h>

#include "sys/raw.h"

#ifndef SYS_clone3
#define SYS_clone3 435
#endif

#define VFORK_FLAGS (0x00000100 /* CLONE_VM */ | 0x00004000 /* CLONE_VFORK */ | 17 /* SIGCHLD */)

/* The child leaves the assembly only through fn: the parent's frame does not exist on its stack,
 * so nothing after the system call may run there. Registers other than the result survive the
 * call on both sides; fn and arg travel in two of them. */

#if defined(__x86_64__)

static long clone_enter(long nr, long a, long b, void (*fn)(void *), void *arg)
{
	register void (*r8)(void *) __asm__("r8") = fn;
	register void *r9 __asm__("r9") = arg;
	register long r10 __asm__("r10") = 0;
	long ret;

	__asm__ volatile("syscall\n\t"
			 "testq %%rax, %%rax\n\t"
			 "jnz 1f\n\t"
			 "xorl %%ebp, %%ebp\n\t"
			 "andq $-16, %%rsp\n\t"
			 "movq %%r9, %%rdi\n\t"
			 "callq *%%r8\n\t"
			 "movl $125, %%edi\n\t"
			 "movl %[exit], %%eax\n\t"
			 "syscall\n\t"
			 "ud2\n"
			 "1:"
			 : "=a"(ret)
			 : "a"(nr), "D"(a), "S"(b), "d"(0L), "r"(r10), "r"(r8),
			   "r"(r9), [exit] "i"(SYS_exit_group)
			 : "rcx", "r11", "memory");
	return ret;
}

#elif defined(__aarch64__)

static long clone_enter(long nr, long a, long b, void (*fn)(void *), void *arg)
{
	register long x8 __asm__("x8") = nr;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = 0;
	register long x3 __asm__("x3") = 0;
	register long x4 __asm__("x4") = 0;
	register void (*x9)(void *) __asm__("x9") = fn;
	register void *x10 __asm__("x10") = arg;

	__asm__ volatile("svc #0\n\t"
			 "cbnz x0, 1f\n\t"
			 "mov x29, xzr\n\t"
			 "mov x30, xzr\n\t"
			 "mov x0, x10\n\t"
			 "blr x9\n\t"
			 "mov x0, #125\n\t"
			 "mov x8, %[exit]\n\t"
			 "svc #0\n\t"
			 "brk #1\n"
			 "1:"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x9),
			   "r"(x10), [exit] "i"(SYS_exit_group)
			 : "memory", "cc");
	return x0;
}

#endif

long sys_clone_fn(struct clone_args *args, void (*fn)(void *), void *arg)
{
	/* Without a stack of its own the child would run on the caller's, which need not be
	 * mapped there. */
	if (args->stack == 0 || args->stack_size == 0)
		return -22; /* EINVAL */
	return clone_enter(SYS_clone3, sys_arg(args), (long)sizeof(*args), fn, arg);
}

long sys_vfork_fn(void *stack_top, void (*fn)(void *), void *arg)
{
	return clone_enter(SYS_clone, VFORK_FLAGS, sys_arg(stack_top), fn, arg);
}

long sys_fork(void)
{
	return sys_call5(SYS_clone, 17 /* SIGCHLD */, 0, 0, 0, 0);
}
