/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* deny-syscall - runs a command under a seccomp filter that answers ERRNO to the named calls and
 * lets all else pass, as the filter of a container runtime does.
 *
 *	deny-syscall ERRNO NAME... -- CMD...
 *
 * Exit status: the command's; 96 when the filter could not be had. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/macro.h"

#define EXIT_TOOL 96
#define CALLS_MAX 32

static const struct {
	const char *name;
	unsigned nr;
} calls[] = {
	{ "clone3", SYS_clone3 },
	{ "fsconfig", SYS_fsconfig },
	{ "fsmount", SYS_fsmount },
	{ "fsopen", SYS_fsopen },
	{ "mount", SYS_mount },
	/* Newer than some headers; the number is one on all architectures but alpha. */
	{ "mount_setattr", 442 },
	{ "move_mount", SYS_move_mount },
	{ "open_tree", SYS_open_tree },
	{ "openat2", 437 },
	{ "pivot_root", SYS_pivot_root },
	{ "setsid", SYS_setsid },
	{ "umount2", SYS_umount2 },
};

static const struct {
	const char *name;
	unsigned value;
} errnos[] = { { "EPERM", EPERM }, { "EACCES", EACCES }, { "ENOSYS", ENOSYS } };

static struct sock_filter filter[CALLS_MAX + 3] = {
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
};

static int find_call(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
		if (strcmp(calls[i].name, name) == 0)
			return (int)calls[i].nr;
	}
	return -1;
}

int main(int argc, char **argv)
{
	struct sock_fprog prog = { .filter = filter, .len = 1 };
	unsigned char n = 0;
	unsigned answer = 0;
	int i = 2;

	for (size_t e = 0; argc > 1 && e < ARRAY_SIZE(errnos); e++) {
		if (strcmp(errnos[e].name, argv[1]) == 0)
			answer = errnos[e].value;
	}
	while (i < argc && strcmp(argv[i], "--") != 0)
		i++;
	if (answer == 0 || i + 1 >= argc || i - 2 > CALLS_MAX) {
		(void)fprintf(stderr, "usage: deny-syscall ERRNO NAME... -- CMD...\n");
		return EXIT_TOOL;
	}
	n = (unsigned char)(i - 2);
	for (unsigned char k = 0; k < n; k++) {
		int nr = find_call(argv[2 + k]);

		if (nr < 0) {
			(void)fprintf(stderr, "deny-syscall: no '%s' in its table\n", argv[2 + k]);
			return EXIT_TOOL;
		}
		/* To the last row but the one that allows. */
		filter[prog.len++] = (struct sock_filter)BPF_JUMP(
			BPF_JMP | BPF_JEQ | BPF_K, (unsigned)nr, (unsigned char)(n - k), 0);
	}
	filter[prog.len++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	filter[prog.len++] =
		(struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | answer);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog) != 0) {
		perror("deny-syscall: seccomp");
		return EXIT_TOOL;
	}
	(void)execvp(argv[i + 1], argv + i + 1);
	perror(argv[i + 1]);
	return EXIT_TOOL;
}
