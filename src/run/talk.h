/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* talk - what went by between the caller's terminal and the pty inside that tells later who caused
 * what: keys that the pty turns into signals, and questions to the terminal, which answers them as
 * if the answer was typed.
 *
 * Neither is remembered for ever: a program that ended itself an hour after a ^C that it had caught
 * was not ended by the person at the keyboard. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How long after a key an end or a stop may be its effect. Programs clean up first, and machines
 * are slow. */
#define TALK_KEY_MS 10000
/* How long after a question an answer may still be on its way. */
#define TALK_QUESTION_MS 1000

/* Zero: no key is looked for. */
struct talk {
	unsigned char interrupt, suspend; /* the keys that the terminal takes for these; 0: none */
	/* When it last went by, in ms of CLOCK_MONOTONIC; 0: never. */
	uint64_t interrupted_ms, suspended_ms, asked_ms;
	/* Of the output: where in a control sequence it is (talk.c). */
	unsigned char state, mark;
	uint16_t number;
};

/* talk_typed(), talk_shown() - these bytes go to the pty, to the terminal. */
void talk_typed(struct talk *t, const char *buf, size_t len);
void talk_shown(struct talk *t, const char *buf, size_t len);

/* talk_recent() - @when is not 0 and no more than @within_ms ago. */
bool talk_recent(uint64_t when, uint64_t within_ms);
