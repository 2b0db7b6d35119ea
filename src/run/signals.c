/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "run/signals.h"

#include <errno.h>
#include <stddef.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/fd.h"
#include "run/tty.h"

static const int handled[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2 };

static const int handled_terminal[] = {
	SIGTSTP, SIGALRM, SIGVTALRM, SIGPROF, SIGXCPU, SIGIO, SIGPWR
};

static void add_unless_ignored(sigset_t *set, const int *signals, size_t n)
{
	struct sigaction sa;

	for (size_t i = 0; i < n; i++)
		if (sigaction(signals[i], NULL, &sa) == 0 && sa.sa_handler != SIG_IGN)
			sigaddset(set, signals[i]);
}

static void handled_set(bool terminal, sigset_t *ret)
{
	sigemptyset(ret);
	add_unless_ignored(ret, handled, ARRAY_SIZE(handled));
	if (terminal) {
		add_unless_ignored(ret, handled_terminal, ARRAY_SIZE(handled_terminal));
		/* Nothing happens without it, so nobody ignores it on purpose. */
		sigaddset(ret, SIGWINCH);
		sigaddset(ret, TTY_DEATH_SIGNAL);
	}
	sigaddset(ret, SIGCONT);
}

int signals_open(struct signals *s, bool terminal, struct err *err)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN };
	struct sigaction plain = { .sa_handler = SIG_DFL };
	sigset_t set;

	*s = (struct signals){ .fd = -1 };
	handled_set(terminal, &set);
	s->fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (s->fd < 0)
		return err_set(err, ERR_HOST, errno, "cannot watch for signals");
	/* These cannot fail: the numbers are valid. */
	(void)sigprocmask(SIG_BLOCK, &set, &s->old_mask);
	(void)sigaction(SIGPIPE, &ignore, &s->old_pipe);
	/* With CHLD ignored the kernel would reap init, and its status would be lost. */
	(void)sigaction(SIGCHLD, &plain, &s->old_chld);
	return 0;
}

int signals_next(const struct signals *s)
{
	struct signalfd_siginfo si;

	if (read(s->fd, &si, sizeof(si)) != (ssize_t)sizeof(si))
		return 0;
	return (int)si.ssi_signo;
}

void signals_close(struct signals *s)
{
	if (s->fd < 0)
		return;
	fd_close(&s->fd);
	(void)sigaction(SIGPIPE, &s->old_pipe, NULL);
	(void)sigaction(SIGCHLD, &s->old_chld, NULL);
	(void)sigprocmask(SIG_SETMASK, &s->old_mask, NULL);
}
