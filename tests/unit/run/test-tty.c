/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The caller's terminal at the end of a run: its modes are put back; what was typed ahead is kept,
 * but not where the command asked the terminal something last. */
#include "run/tty.h"

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "tap.h"

/* Return: the master; *near is the other end, which is no controlling terminal of ours. */
static int open_pty(int *near)
{
	int m = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	char name[64];

	*near = -1;
	if (m < 0 || grantpt(m) != 0 || unlockpt(m) != 0 || ptsname_r(m, name, sizeof(name)) != 0)
		return m;
	*near = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
	return m;
}

/* Return: bytes that wait at the terminal after a run in which @shown went by, and "typed\n" came
 * while nobody read; -1: something failed. */
static int left_after(struct tap *t, const char *what, const char *shown)
{
	struct termios before = { 0 };
	struct termios after = { 0 };
	struct pollfd arrives;
	struct err err = { 0 };
	int keyboard, far, inner, master, n = -1;
	struct tty tty;

	keyboard = open_pty(&far);
	master = open_pty(&inner);
	if (far < 0 || inner < 0 || tcgetattr(far, &before) != 0)
		return -1;
	tty_open(&tty, far, false);
	tap_ok(t, tty_start(&tty, master, &err) == 0 && tty.raw, "%s: it is raw", what);
	talk_shown(&tty.talk, shown, strlen(shown));
	/* It takes the kernel its time to get from one end to the other. */
	arrives = (struct pollfd){ .fd = far, .events = POLLIN };
	if (write(keyboard, "typed\n", 6) != 6 || poll(&arrives, 1, 60000) != 1)
		return -1;
	tty_close(&tty);
	tap_ok(t, tcgetattr(far, &after) == 0 && memcmp(&before, &after, sizeof(before)) == 0,
	       "%s: its modes are put back", what);
	if (ioctl(far, FIONREAD, &n) != 0)
		n = -1;
	close(keyboard);
	close(far);
	close(inner);
	return n;
}

int main(void)
{
	struct tap t = { 0 };

	tap_int(&t, left_after(&t, "plain", "text\r\n\033[0m"), 6, "plain: what was typed is kept");
	tap_int(&t, left_after(&t, "asked", "text\033[6n"), 0, "asked: it is dropped");
	tap_int(&t, left_after(&t, "nothing", ""), 6, "nothing: it is kept");
	return tap_done(&t);
}
