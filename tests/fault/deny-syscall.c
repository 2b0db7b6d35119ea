/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* deny-syscall - runs a command under a seccomp filter that answers ERRNO to the named calls and
 * lets all else pass, as the filter of a container runtime does.
 *
 *	deny-syscall ERRNO NAME[:LENGTH]... -- CMD...
 *
 * With a length only where the third argument is that.
 *
 * Exit status: the command's; 96 when the filter could not be had. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
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
	{ "sendto", SYS_sendto },
	{ "setsid", SYS_setsid },
	{ "umount2", SYS_umount2 },
};

static const struct {
	const char *name;
	unsigned value;
} errnos[] = { { "EPERM", EPERM },
	       { "EACCES", EACCES },
	       { "ENOSYS", ENOSYS },
	       { "EOPNOTSUPP", EOPNOTSUPP },
	       { "ELOOP", ELOOP } };

static struct sock_filter filter[CALLS_MAX * 5 + 2] = {
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
};

static int find_call(const char *name)
{
	size_t n = strcspn(name, ":");

	for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
		if (strncmp(calls[i].name, name, n) == 0 && calls[i].name[n] == '\0')
			return (int)calls[i].nr;
	}
	return -1;
}

static void put(struct sock_fprog *prog, struct sock_filter row)
{
	filter[prog->len++] = row;
}

static void deny(struct sock_fprog *prog, unsigned nr, const char *length, unsigned answer)
{
	const struct sock_filter no = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | answer);
	const struct sock_filter yes = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);

	if (length == NULL) {
		put(prog, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 1));
		put(prog, no);
		return;
	}
	put(prog, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 4));
	put(prog, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
					       offsetof(struct seccomp_data, args[2])));
	put(prog, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
					       (unsigned)strtoul(length, NULL, 10), 0, 1));
	put(prog, no);
	put(prog, yes);
}

int main(int argc, char **argv)
{
	struct sock_fprog prog = { .filter = filter, .len = 1 };
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
	for (int k = 2; k < i; k++) {
		const char *colon = strchr(argv[k], ':');
		int nr = find_call(argv[k]);

		if (nr < 0) {
			(void)fprintf(stderr, "deny-syscall: no '%s' in its table\n", argv[k]);
			return EXIT_TOOL;
		}
		deny(&prog, (unsigned)nr, colon == NULL ? NULL : colon + 1, answer);
	}
	put(&prog, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog) != 0) {
		perror("deny-syscall: seccomp");
		return EXIT_TOOL;
	}
	(void)execvp(argv[i + 1], argv + i + 1);
	perror(argv[i + 1]);
	return EXIT_TOOL;
}
