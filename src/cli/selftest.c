/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/selftest.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

const struct selftest_row *selftest_row_at(size_t i)
{
	const struct {
		const struct selftest_row *rows;
		size_t n;
	} tables[] = {
		{ selftest_fs_rows, selftest_n_fs_rows },
		{ selftest_proc_rows, selftest_n_proc_rows },
		{ selftest_kernel_rows, selftest_n_kernel_rows },
	};

	for (size_t t = 0; t < ARRAY_SIZE(tables); t++) {
		if (i < tables[t].n)
			return &tables[t].rows[i];
		i -= tables[t].n;
	}
	return NULL;
}

static bool is_expected(const struct selftest_row *row, int result)
{
	for (size_t i = 0; i < ARRAY_SIZE(row->expect) && row->expect[i] != 0; i++) {
		if (row->expect[i] == result)
			return true;
	}
	return false;
}

static enum selftest_verdict not_tried(const char *why, const char **ret_why)
{
	*ret_why = why;
	return SELFTEST_NOT_TRIED;
}

static enum selftest_verdict judge_refused(const struct selftest_row *row,
					   const struct selftest_terms *terms, int twin,
					   const char **ret_why)
{
	bool outside = row->twin == NULL;

	/* On the host the twin is the attack: it worked when it was not refused in this way. */
	if (outside ? !is_expected(row, twin) && twin != SELFTEST_SIGNAL && twin != SELFTEST_NONE
		    : twin == SELFTEST_THROUGH)
		return SELFTEST_HELD;
	if (outside)
		return not_tried("this host refuses it outside the sandbox as well", ret_why);
	if ((row->needs & ~terms->options) != 0)
		return not_tried("the preset refuses the allowed twin as well", ret_why);
	if ((row->flags & SELFTEST_UNIX) != 0 && terms->no_unix)
		return not_tried("unix_sockets: none refuses the allowed twin as well", ret_why);
	if (terms->denies && (twin == EPERM || twin == ENOSYS))
		return not_tried("syscalls.deny refuses the allowed twin as well", ret_why);
	*ret_why = "the allowed twin failed as well";
	return SELFTEST_NOT_HELD;
}

enum selftest_verdict selftest_judge(const struct selftest_row *row,
				     const struct selftest_terms *terms, int attack, int twin,
				     const char **ret_why)
{
	*ret_why = "";
	if (attack == SELFTEST_NO_ROOM || twin == SELFTEST_NO_ROOM)
		return not_tried("the profile does not grant the private directory", ret_why);
	if ((row->flags & SELFTEST_OWN_PROFILE) != 0 && !terms->own_profile)
		return not_tried("the profile does not lie in the private directory", ret_why);
	if (is_expected(row, attack))
		return judge_refused(row, terms, twin, ret_why);
	if ((row->flags & SELFTEST_PRIVATE_NET) != 0 && terms->host_network)
		return not_tried("reachable, as network: host asks for", ret_why);
	if ((row->opened & terms->options) != 0)
		return not_tried("open, as syscalls.allow asks for", ret_why);
	if ((row->flags & SELFTEST_KNOWN) != 0 && attack == SELFTEST_THROUGH)
		return not_tried("reachable: sockets deep in a root are not covered", ret_why);
	*ret_why = attack == SELFTEST_THROUGH ? "it got through"
		   : attack == SELFTEST_NONE  ? "no answer came"
					      : "it failed, but in an unexpected way";
	return SELFTEST_NOT_HELD;
}

const char *selftest_verdict_name(enum selftest_verdict v)
{
	static const char *const names[] = {
		[SELFTEST_NOT_HELD] = "NOT HELD",
		[SELFTEST_HELD] = "held",
		[SELFTEST_NOT_TRIED] = "not tried",
	};

	return names[v];
}

const char *selftest_result_name(int result)
{
	const char *name;

	if (result == SELFTEST_THROUGH)
		return "ok";
	if (result == SELFTEST_IGNORED)
		return "ignored";
	if (result == SELFTEST_SIGNAL)
		return "signal";
	if (result == SELFTEST_NO_ROOM || result == SELFTEST_NONE)
		return "-";
	name = strerrorname_np(result);
	return name != NULL ? name : "?";
}

int selftest_errno(long r)
{
	return r < 0 ? errno : SELFTEST_THROUGH;
}

/* Not by the C library: a process of one thread that only makes system calls. */
long selftest_fork(void)
{
	return syscall(SYS_clone, (long)SIGCHLD, 0L, 0L, 0L, 0L);
}

int selftest_try(const struct selftest_ctx *c, selftest_act *act, const char *arg, bool owner)
{
	long pid = selftest_fork();
	int status;

	if (pid < 0)
		return SELFTEST_NONE;
	if (pid == 0) {
		if (owner && syscall(SYS_unshare, (long)(CLONE_NEWUSER | CLONE_NEWNS)) != 0)
			_exit(SELFTEST_NONE);
		_exit(act(c, arg));
	}
	if (waitpid((pid_t)pid, &status, 0) != (pid_t)pid)
		return SELFTEST_NONE;
	return WIFEXITED(status) ? WEXITSTATUS(status) : SELFTEST_SIGNAL;
}
