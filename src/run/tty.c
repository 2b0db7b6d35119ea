/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "run/tty.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"

/* A restored terminal matters more than one system call that failed. */
#define RESTORE_TRIES 3
/* Terminals answer at once; what lies between may not. */
#define ANSWER_STEPS   10
#define ANSWER_STEP_MS 10
/* A stop that comes after the signal to go on is ended by the next one. */
#define WAKE_AGAIN_MS 100

bool tty_same(int a, int b)
{
	unsigned da, db;

	/* By what it is and not by its node: /dev/tty is one too. */
	return isatty(a) == 1 && isatty(b) == 1 && ioctl(a, TIOCGDEV, &da) == 0 &&
	       ioctl(b, TIOCGDEV, &db) == 0 && da == db;
}

bool tty_in_foreground(int fd)
{
	pid_t group = tcgetpgrp(fd);

	return group < 0 || group == getpgrp();
}

int tty_wait_foreground(int fd, struct err *err)
{
	/* The kernel stops a background job in a call that changes the terminal, and does so
	 * without a gap between looking and stopping. This one changes nothing. */
	while (!tty_in_foreground(fd)) {
		if (tcdrain(fd) == 0 && tty_in_foreground(fd))
			break;
		if (errno != EINTR)
			return err_set(err, ERR_REQUEST, 0,
				       "-t: in the background of this terminal, and nothing can "
				       "take it to the foreground; use --no-tty");
	}
	return 0;
}

void tty_open(struct tty *t, int far, bool dies)
{
	*t = (struct tty){ .far = far, .master = -1, .dies = dies };
}

static bool same_modes(const struct termios *a, const struct termios *b)
{
	return a->c_iflag == b->c_iflag && a->c_oflag == b->c_oflag && a->c_lflag == b->c_lflag &&
	       memcmp(a->c_cc, b->c_cc, sizeof(a->c_cc)) == 0;
}

static struct termios raw_modes(const struct termios *saved)
{
	struct termios raw = *saved;

	cfmakeraw(&raw);
	return raw;
}

static int make_raw(struct tty *t)
{
	struct termios raw;

	if (tcgetattr(t->far, &t->saved) != 0)
		return -errno;
	raw = raw_modes(&t->saved);
	/* From here on there is something to put back, also when the call says that it failed.
	 * NOW: waiting for output to drain could take for ever, and what is typed is kept. */
	t->raw = true;
	return tcsetattr(t->far, TCSANOW, &raw) == 0 ? 0 : -errno;
}

/* The command may have asked the terminal something just before its end. The answer would be typed
 * into whatever reads next, and in part it is the command's own words. It is waited for and
 * dropped, with what a person typed meanwhile; after any other run all that was typed ahead is
 * kept. */
static void drop_answers(const struct tty *t)
{
	struct timespec gap = { .tv_nsec = ANSWER_STEP_MS * 1000000L };

	if (!talk_recent(t->talk.asked_ms, TALK_QUESTION_MS))
		return;
	for (int i = 0; i < ANSWER_STEPS; i++) {
		(void)nanosleep(&gap, NULL);
		(void)tcflush(t->far, TCIFLUSH);
	}
}

static void put_back(struct tty *t)
{
	struct termios raw = raw_modes(&t->saved);
	struct termios now;
	sigset_t set, old;

	if (!t->raw)
		return;
	t->raw = false;
	/* In the background the terminal is another's, unless nobody has touched it since: then
	 * the modes are still the ones that we must not leave behind. */
	if (!tty_in_foreground(t->far) && (tcgetattr(t->far, &now) != 0 || !same_modes(&now, &raw)))
		return;
	sigemptyset(&set);
	sigaddset(&set, SIGTTOU);
	(void)sigprocmask(SIG_BLOCK, &set, &old);
	/* While it is raw still: nothing is echoed, no key in it is acted on. */
	drop_answers(t);
	for (int i = 0; i < RESTORE_TRIES; i++) {
		if (tcsetattr(t->far, TCSANOW, &t->saved) == 0)
			break;
	}
	(void)sigprocmask(SIG_SETMASK, &old, NULL);
}

void tty_enter(struct tty *t)
{
	if (!tty_away(t) || !tty_in_foreground(t->far))
		return;
	if (make_raw(t) != 0)
		put_back(t);
	else
		tty_resize(t);
}

bool tty_away(const struct tty *t)
{
	return t->master >= 0 && !t->raw;
}

void tty_resize(const struct tty *t)
{
	struct winsize size;

	/* One that has no size gives none: that is what the command would see. */
	if (t->master >= 0 && ioctl(t->far, TIOCGWINSZ, &size) == 0)
		(void)ioctl(t->master, TIOCSWINSZ, &size);
}

/* It came over the control socket, although before anything hostile ran. */
static int check_master(int master, struct err *err)
{
	struct stat st;
	unsigned number;

	if (fstat(master, &st) != 0 || !S_ISCHR(st.st_mode) || st.st_rdev != makedev(5, 2) ||
	    ioctl(master, TIOCGPTN, &number) != 0)
		return err_set(err, ERR_INTERNAL, EPROTO,
			       "what the sandbox gave for a terminal is none");
	return 0;
}

int tty_start(struct tty *t, int master, struct err *err)
{
	struct termios modes;

	t->master = master;
	if (check_master(master, err) != 0)
		return -1;
	if (tcgetattr(t->far, &modes) != 0 || tcsetattr(master, TCSANOW, &modes) != 0)
		return err_set(err, ERR_HOST, errno, "cannot set the modes of the sandbox's pty");
	t->talk.interrupt = modes.c_cc[VINTR];
	t->talk.suspend = modes.c_cc[VSUSP];
	tty_resize(t);
	if (!tty_in_foreground(t->far))
		return 0;
	errno = -make_raw(t);
	if (errno != 0)
		return err_set(err, ERR_HOST, errno, "cannot set the modes of the terminal");
	return 0;
}

static void death_signal(const struct tty *t, int sig)
{
	if (t->dies)
		(void)prctl(PR_SET_PDEATHSIG, sig);
}

/* CONT wakes who is stopped, also where it is blocked. */
static int wake_after(timer_t *ret, uint64_t ms)
{
	struct sigevent ev = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGCONT };
	struct itimerspec its = {
		.it_value = { (time_t)(ms / 1000), (long)(ms % 1000) * 1000000L },
		.it_interval = { .tv_nsec = WAKE_AGAIN_MS * 1000000L },
	};

	if (timer_create(CLOCK_MONOTONIC, &ev, ret) != 0)
		return -errno;
	if (timer_settime(*ret, 0, &its, NULL) == 0)
		return 0;
	(void)timer_delete(*ret);
	return -EAGAIN;
}

void tty_suspend(struct tty *t, bool group, uint64_t wake_ms)
{
	timer_t timer;
	sigset_t set;

	if (wake_ms != 0 && wake_after(&timer, wake_ms) != 0)
		return;
	put_back(t);
	/* A stopped process acts on nothing else. */
	death_signal(t, SIGKILL);
	sigemptyset(&set);
	sigaddset(&set, SIGTSTP);
	(void)sigprocmask(SIG_UNBLOCK, &set, NULL);
	(void)kill(group ? 0 : getpid(), SIGTSTP);
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
	death_signal(t, TTY_DEATH_SIGNAL);
	if (wake_ms != 0)
		(void)timer_delete(timer);
	tty_enter(t);
}

void tty_resumed(struct tty *t)
{
	struct termios raw = raw_modes(&t->saved);
	struct termios now;

	if (!t->raw || !tty_in_foreground(t->far) || tcgetattr(t->far, &now) != 0)
		return;
	t->raw = same_modes(&now, &raw);
	tty_enter(t);
	tty_resize(t);
}

void tty_close(struct tty *t)
{
	put_back(t);
	fd_close(&t->master);
}
