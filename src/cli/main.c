/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "base/exitcode.h"
#include "cli/cli.h"
#include "cli/completion.h"
#include "cli/selftest.h"
#include "relay/process.h"
#include "relay/wire.h"

/* A descriptor that agentbox opens must never become the standard input or output of something
 * that believes to write to a terminal. */
static bool fill_stdio(void)
{
	for (int fd = 0; fd <= 2; fd++) {
		if (fcntl(fd, F_GETFD) >= 0)
			continue;
		if (open("/dev/null", fd == 0 ? O_RDONLY : O_WRONLY) != fd)
			return false;
	}
	return true;
}

static int run_command(const struct cli_command *cmd, int argc, char **argv)
{
	struct arena a = { 0 };
	struct err err = { 0 };
	int rc = cmd->run(&a, argc, argv, &err);

	if (err.set)
		cli_say_err(&err);
	/* The process ends: to give its memory back piece by piece would only take time. */
	return rc;
}

/* Before the command: only these two, alone. */
static int run_option(const char *word)
{
	if (strcmp(word, "--version") == 0)
		(void)puts("agentbox " AGENTBOX_VERSION);
	else if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
		cli_print_usage(stdout);
	else {
		cli_say("unexpected '%s': the command comes first, as in: agentbox run -p FILE -- "
			"COMMAND",
			word);
		return EXITCODE_FAILED;
	}
	return 0;
}

int main(int argc, char **argv)
{
	const struct cli_command *cmd;
	struct err err = { 0 };

	if (argc == 1 && strcmp(argv[0], RELAY_ARGV0) == 0)
		return relay_main();
	if (!fill_stdio())
		return EXITCODE_FAILED;
	/* What is allocated must lie in the heap, which is kept out of the child whole; and a heap
	 * that grows in large steps grows once. */
	(void)mallopt(M_MMAP_MAX, 0);
	(void)mallopt(M_TOP_PAD, 512 * 1024);
	json_seed();
	/* A caller's file size limit must fail a write of ours, not end us in the middle of a
	 * record. The child puts every disposition back to its default. */
	(void)signal(SIGXFSZ, SIG_IGN);
	/* Setuid or file capabilities: the caller's environment and files would be trusted with
	 * rights that the caller does not have. */
	if (getauxval(AT_SECURE) != 0) {
		cli_say("refusing to run with raised privileges (setuid, setgid or file "
			"capabilities): install agentbox without them");
		return EXITCODE_FAILED;
	}
	if (argc < 2) {
		cli_print_usage(stderr);
		return EXITCODE_FAILED;
	}
	if (argv[1][0] == '-')
		return run_option(argv[1]);
	if (strcmp(argv[1], SELFTEST_VERB) == 0)
		return selftest_inside(argc - 2, argv + 2);
	if (strcmp(argv[1], COMPLETION_VERB) == 0)
		return completion_print(argc - 2, argv + 2);
	cmd = cli_command_find(argv[1], &err);
	if (cmd != NULL)
		return run_command(cmd, argc - 2, argv + 2);
	cli_say_err(&err);
	return EXITCODE_FAILED;
}
