/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* pump - carries bytes between a pipe of ours and a descriptor of the caller.
 *
 * The caller's descriptors are shared open files: O_NONBLOCK is never set on them, or the shell
 * that started us would find its terminal changed. Instead each read or write is made so that
 * it cannot hold up the event loop: MSG_DONTWAIT on sockets, RWF_NOWAIT where the kernel has it
 * for the file (pipes, Linux 6.4), and else a timer whose signal ends a call that blocks although
 * poll(2) promised room (somebody else was faster).
 *
 * A pump holds at most PUMP_BUF_SIZE bytes. It waits for one descriptor at a time: while it
 * holds bytes for the side that takes them, else for the side that gives them. */
#pragma once

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "base/err.h"
#include "base/macro.h"
#include "base/strbuf.h"

#define PUMP_BUF_SIZE ((size_t)64 * 1024)

/* What the caller's end is; decides how it is read and written. */
enum pump_far {
	PUMP_FAR_NONE = 0, /* no far end: the bytes are kept (capture) */
	PUMP_FAR_REGULAR,
	PUMP_FAR_SOCKET,
	PUMP_FAR_STREAM, /* pipe or terminal */
};

/* What all output pumps of a run share: one count and one limit over both streams. */
struct pump_budget {
	bool limited;
	uint64_t left;    /* with limited: bytes that may still go out */
	uint64_t seen;    /* bytes that were read from the command */
	uint64_t omitted; /* bytes that were read and dropped */
	bool truncated;
};

/* Ends a blocked call by a signal. One for each run; made when it is first needed. */
struct pump_guard {
	bool ready;
	timer_t timer; /* owned when ready */
	int signo;
};

struct talk;

struct pump {
	const char *name; /* for messages */
	bool input;       /* from the caller to the command */
	int near;         /* owned: our end of the pipe, O_NONBLOCK; -1: this pump is done */
	int far;          /* borrowed */
	enum pump_far far_kind;
	bool no_nowait;  /* RWF_NOWAIT is not supported on far */
	bool pty;        /* near is the master of a pty inside, far the caller's terminal */
	bool last_bytes; /* only @remaining more bytes are read: the writers are dead */
	size_t remaining;
	char *buf; /* owned, PUMP_BUF_SIZE */
	size_t start, len;
	struct strbuf *sink;        /* borrowed; with PUMP_FAR_NONE */
	struct pump_budget *budget; /* borrowed; of output pumps */
	struct pump_guard *guard;   /* borrowed */
	struct talk *talk;          /* borrowed; of a pty, else NULL */
	int errnum;                 /* why bytes were lost; 0 also when the reader just left */
};

/* pump_init_output() - from the pipe @near (taken over) to @far, or into @sink when far_kind is
 * PUMP_FAR_NONE. */
void pump_init_output(struct pump *p, const char *name, int near, int far, enum pump_far far_kind);
/* pump_init_input() - from @far to the pipe @near (taken over). */
void pump_init_input(struct pump *p, int near, int far, enum pump_far far_kind);
void pump_free(struct pump *p);

/* pump_done() - nothing more will move; near is closed. */
bool pump_done(const struct pump *p);
/* pump_poll() - what the pump waits for. Return: false when it is done. */
bool pump_poll(const struct pump *p, struct pollfd *ret);
/* pump_move() - do one step after poll(2) reported *any* event on what pump_poll() named.
 * Return: true when bytes moved. */
bool pump_move(struct pump *p);
/* pump_finish() - every writer inside is dead: from now on an output pump takes what the pipe
 * holds at this moment and no more (whoever else got hold of a write end cannot keep the run
 * from ending); an input pump is done. */
void pump_finish(struct pump *p);

/* pump_guard_init() - choose the signal; nothing is armed. */
void pump_guard_init(struct pump_guard *g);
void pump_guard_free(struct pump_guard *g);
