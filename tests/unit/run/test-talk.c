/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What went by on a terminal: questions that it answers by itself, beside output that looks like
 * them and is none; keys; and that nothing is remembered for ever. */
#include "run/talk.h"

#include <string.h>
#include <time.h>

#include "base/macro.h"
#include "tap.h"

static const struct row {
	const char *what, *text;
	bool asks;
} rows[] = {
	{ "plain text", "hello? 6n c\r\n", false },
	{ "colours and the cursor", "\033[1;31mred\033[0m\033[2J\033[10;20H\033[K", false },
	{ "the cursor's place", "\033[6n", true },
	{ "the same, of DEC", "\033[?6n", true },
	{ "its state", "\033[5n", true },
	{ "what it is", "\033[c", true },
	{ "what it is, second and third form", "\033[>0c\033[=c", true },
	{ "what it is, the old form", "\033Z", true },
	{ "ENQ", "\005", true },
	{ "the line", "\033[x", true },
	{ "the title of the window", "\033[21t", true },
	{ "its size", "\033[18;2t", true },
	{ "the title is saved and restored", "\033[22;0;0t\033[23;0;18t", false },
	{ "the window is moved", "\033[3;11;12t", false },
	{ "a mode", "\033[?2026$p", true },
	{ "soft reset", "\033[!p", false },
	{ "which keyboard protocol", "\033[?u", true },
	{ "another keyboard protocol, and back", "\033[>1u\033[<u\033[u", false },
	{ "which program", "\033[>0q", true },
	{ "the shape of the cursor", "\033[2 q", false },
	{ "graphics", "\033[?1;1;0S", true },
	{ "scrolling", "\033[3S", false },
	{ "a checksum", "\033[1;1;1;1;2;2*y", true },
	{ "a colour", "\033]11;?\033\\", true },
	{ "a colour of many", "\033]4;1;?\007", true },
	{ "a colour is set", "\033]11;#ffffff\007", false },
	{ "a title with a question", "\033]0;what?\007", false },
	{ "the clipboard is asked", "\033]52;c;?\007", true },
	{ "the clipboard is set", "\033]52;c;aGk=\007", false },
	{ "a setting", "\033P$qm\033\\", true },
	{ "a capability", "\033P+q544e\033\\", true },
	{ "a picture", "\033Pq#0;2;0;0;0\033\\", false },
	{ "graphics that are answered", "\033_Ga=q;AAAA\033\\", true },
	{ "another application's", "\033_xG\033\\", false },
	{ "bracketed paste", "\033[?2004h\033[?2004l", false },
	{ "after text of all kinds", "\033]0;t\007x\033[m\033P0qx\033\\\033[6n", true },
};

static bool asked(const char *text, size_t at_once)
{
	struct talk t = { 0 };
	size_t len = strlen(text);

	for (size_t i = 0; i < len; i += at_once)
		talk_shown(&t, text + i, len - i < at_once ? len - i : at_once);
	return t.asked_ms != 0;
}

static void test_questions(struct tap *t)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct row *r = &rows[i];

		tap_ok(t, asked(r->text, 4096) == r->asks && asked(r->text, 1) == r->asks, "%s: %s",
		       r->what, r->asks ? "asks" : "does not");
	}
}

static void test_keys(struct tap *t)
{
	struct talk k = { .interrupt = 3, .suspend = 26 };
	struct talk none = { 0 };

	talk_typed(&k, "plain", 5);
	tap_ok(t, k.interrupted_ms == 0 && k.suspended_ms == 0, "other keys");
	talk_typed(&k, "a\003b", 3);
	tap_ok(t, k.interrupted_ms != 0 && k.suspended_ms == 0, "^C");
	talk_typed(&k, "\032", 1);
	tap_ok(t, k.suspended_ms != 0, "^Z");
	talk_typed(&none, "\003\032\0", 3);
	tap_ok(t, none.interrupted_ms == 0 && none.suspended_ms == 0,
	       "no key is one, not NUL either");
}

static void test_age(struct tap *t)
{
	struct timespec ts;
	uint64_t now;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	now = (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
	tap_ok(t, !talk_recent(0, UINT64_MAX), "never is not recent");
	tap_ok(t, talk_recent(now, 60000), "now is");
	tap_ok(t, now > 20000 && !talk_recent(now - 10001, 10000), "what is older is not");
	tap_ok(t, now > 20000 && talk_recent(now - 10000, 70000), "and is where more is asked for");
}

int main(void)
{
	struct tap t = { 0 };

	test_questions(&t);
	test_keys(&t);
	test_age(&t);
	return tap_done(&t);
}
