/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "run/talk.h"

#include <string.h>
#include <time.h>

#define ENQ 0x05
#define BEL 0x07
#define ESC 0x1b

/* Questions in the 7-bit form of ECMA-48, which is how programs write them. */
enum talk_state {
	TALK_TEXT = 0,
	TALK_ESC,      /* after ESC */
	TALK_CSI,      /* ESC [, the first number; mark: the last byte that is no digit */
	TALK_CSI_MORE, /* after it */
	TALK_OSC,      /* ESC ]; mark: the byte before */
	TALK_DCS,      /* ESC P; the same */
	TALK_APC,      /* ESC _; the same */
};

static uint64_t now_ms(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

bool talk_recent(uint64_t when, uint64_t within_ms)
{
	return when != 0 && now_ms() - when <= within_ms;
}

void talk_typed(struct talk *t, const char *buf, size_t len)
{
	if (t->interrupt != 0 && memchr(buf, t->interrupt, len) != NULL)
		t->interrupted_ms = now_ms();
	if (t->suspend != 0 && memchr(buf, t->suspend, len) != NULL)
		t->suspended_ms = now_ms();
}

/* Reports of the window have the numbers from 11 to 21; the others of that final byte act. */
static bool is_question(const struct talk *t, unsigned char final)
{
	switch (final) {
	case 'c': /* what it is */
	case 'n': /* its state, where the cursor is */
	case 'x': /* its line */
		return true;
	case 't':
		return t->number >= 11 && t->number <= 21;
	case 'u': /* which keyboard protocol */
	case 'S': /* graphics */
		return t->mark == '?';
	case 'q': /* which program */
		return t->mark == '>';
	case 'p': /* a mode */
	case 'w': /* a table */
		return t->mark == '$';
	case 'y': /* a checksum of what is shown */
		return t->mark == '*';
	default:
		return false;
	}
}

static void in_csi(struct talk *t, unsigned char c)
{
	if (c >= '0' && c <= '9') {
		if (t->state == TALK_CSI && t->number < 1000)
			t->number = (uint16_t)(t->number * 10 + (c - '0'));
	} else if (c == ';' || c == ':') {
		t->state = TALK_CSI_MORE;
	} else if (c >= 0x20 && c < 0x40) {
		t->mark = c;
	} else {
		if (is_question(t, c))
			t->asked_ms = now_ms();
		t->state = c == ESC ? TALK_ESC : TALK_TEXT;
	}
}

/* Return: whether a string of @state that goes on with @c after @before asks. */
static bool is_string_question(enum talk_state state, unsigned char before, unsigned char c)
{
	switch (state) {
	case TALK_OSC: /* a colour, the clipboard */
		return before == ';' && c == '?';
	case TALK_DCS: /* a setting, a capability */
		return (before == '$' || before == '+') && c == 'q';
	case TALK_APC: /* graphics, which are answered without being asked */
		return before == 0 && c == 'G';
	case TALK_TEXT:
	case TALK_ESC:
	case TALK_CSI:
	case TALK_CSI_MORE:
		break;
	}
	return false;
}

static void in_string(struct talk *t, unsigned char c)
{
	if (is_string_question((enum talk_state)t->state, t->mark, c))
		t->asked_ms = now_ms();
	t->mark = c;
	if (c == ESC)
		t->state = TALK_ESC;
	else if (c == BEL)
		t->state = TALK_TEXT;
}

static void after_esc(struct talk *t, unsigned char c)
{
	t->mark = 0;
	t->number = 0;
	switch (c) {
	case '[':
		t->state = TALK_CSI;
		break;
	case ']':
		t->state = TALK_OSC;
		break;
	case 'P':
		t->state = TALK_DCS;
		break;
	case '_':
		t->state = TALK_APC;
		break;
	case ESC:
		break;
	case 'Z': /* the oldest way to ask what it is */
		t->asked_ms = now_ms();
		t->state = TALK_TEXT;
		break;
	default:
		t->state = TALK_TEXT;
		break;
	}
}

static void in_text(struct talk *t, unsigned char c)
{
	if (c == ESC)
		t->state = TALK_ESC;
	else if (c == ENQ)
		t->asked_ms = now_ms();
}

void talk_shown(struct talk *t, const char *buf, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)buf[i];

		switch ((enum talk_state)t->state) {
		case TALK_TEXT:
			in_text(t, c);
			break;
		case TALK_ESC:
			after_esc(t, c);
			break;
		case TALK_CSI:
		case TALK_CSI_MORE:
			in_csi(t, c);
			break;
		case TALK_OSC:
		case TALK_DCS:
		case TALK_APC:
			in_string(t, c);
			break;
		}
	}
}
