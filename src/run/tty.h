/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* tty - the caller's terminal while a run is relayed through a pty of the sandbox.
 *
 * While the supervisor is in the foreground of it the terminal is raw: keys are not acted on but
 * passed on, and the pty acts on them inside. Its modes are put back whenever the supervisor ends
 * or is suspended, whatever the reason, and its foreground group is never changed. In the
 * background nothing is read and no mode is touched; that is looked at again each turn of the
 * loop, because a shell that takes a running job to the foreground tells it nothing. */
#pragma once

#include <stdbool.h>
#include <termios.h>

#include "base/err.h"
#include "base/macro.h"
#include "run/talk.h"

/* What the death of the caller sends where SIGKILL would leave the terminal raw. Above the signal
 * of pump_guard. */
#define TTY_DEATH_SIGNAL (SIGRTMIN + 5)

struct tty {
	int far;    /* borrowed: the caller's terminal; -1: this run has no relay */
	int master; /* owned: of the pty inside; -1 until it is there */
	bool raw;   /* the modes of far are ours, and saved is what they were */
	bool dies;  /* the supervisor ends with its caller */
	struct termios saved;
	struct talk talk; /* what went by so far */
};

/* tty_same() - are both descriptors terminals, and the same one? */
bool tty_same(int a, int b);
/* tty_in_foreground() - may this process read the terminal and set its modes? Where it is not
 * our controlling terminal there is no job control, and it may. */
bool tty_in_foreground(int fd);
/* tty_wait_foreground() - in the background: stop, as reading the terminal would, until a shell
 * takes the job to the foreground. An error where none can. */
MUST_CHECK int tty_wait_foreground(int fd, struct err *err);

/* tty_open() - nothing is changed yet. @far: -1 for a run without a relay. */
void tty_open(struct tty *t, int far, bool dies);
/* tty_start() - take the master over (closed on failure too), give the pty the size and the modes
 * of the caller's terminal, and make that one raw if we are in its foreground. */
MUST_CHECK int tty_start(struct tty *t, int master, struct err *err);
/* tty_enter() - make it raw again if it is not, and we are in the foreground. */
void tty_enter(struct tty *t);
/* tty_away() - there is a relay, and the terminal is not ours at the moment. */
bool tty_away(const struct tty *t);
/* tty_resize() - the size of the caller's terminal goes to the pty, which tells who is in it. */
void tty_resize(const struct tty *t);
/* tty_suspend() - put the modes back and stop by TSTP, alone or with the whole process group;
 * returns when continued, raw if in the foreground. Where TSTP stops nobody (an orphaned group)
 * it returns at once. TSTP is blocked, and is again. @wake_ms: continue by ourselves after that
 * long, if nobody does; 0: never. */
void tty_suspend(struct tty *t, bool group, uint64_t wake_ms);
/* tty_resumed() - somebody else stopped us (STOP): what a shell did to the modes since is undone,
 * and counts as what was there before. */
void tty_resumed(struct tty *t);
/* tty_close() - put the modes back, close the master. Any number of times. */
void tty_close(struct tty *t);
