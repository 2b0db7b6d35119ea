/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* terminal - a pty of the sandbox's own devpts, in place of the caller's terminal.
 *
 * It is opened here, where the devpts is, before anything hostile runs, and its master goes out to
 * the supervisor: nothing of the caller's comes in. Init leads the session and holds the pty open;
 * the command is the foreground process group of it, and not an orphaned one, so ^Z stops it. */
#include "child/ctx.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "sys/fs.h"
#include "sys/sock.h"
#include "sys/tty.h"

#define PTMX "dev/pts/ptmx"

/* Linux numbers, Documentation/admin-guide/devices.txt: the multiplexer of any devpts, and the
 * majors of what it gives. */
#define PTMX_MAJOR      5
#define PTS_MAJOR_FIRST 136
#define PTS_MAJOR_LAST  143

static int check_device(int fd, unsigned first, unsigned last)
{
	struct file_id id;
	int r = sys_file_id(fd, "", AT_EMPTY_PATH, &id);

	if (r < 0)
		return r;
	return id.type == S_IFCHR && id.rdev_major >= first && id.rdev_major <= last ? 0 : -ENOTTY;
}

int child_open_terminal(struct child_ctx *ctx)
{
	const struct child_report report = { .kind = CHILD_REPORT_TERMINAL,
					     .step = CHILD_STEP_TERMINAL };
	ssize_t n;
	int master, r;

	if (ctx->terminal == 0)
		return 0;
	master = sys_openat2(ctx->root_fd, PTMX, O_RDWR | O_NOCTTY | O_NONBLOCK, 0,
			     RESOLVE_BENEATH | SYS_RESOLVE_PLAIN);
	if (master < 0)
		return master;
	r = check_device(master, PTMX_MAJOR, PTMX_MAJOR);
	if (r < 0)
		return r;
	ctx->tty = sys_tty_peer(master);
	if (ctx->tty < 0)
		return ctx->tty;
	r = check_device(ctx->tty, PTS_MAJOR_FIRST, PTS_MAJOR_LAST);
	if (r < 0)
		return r;
	r = sys_tty_control(ctx->tty);
	if (r < 0)
		return r;
	n = sys_send_fd(ctx->control, &report, sizeof(report), master);
	if (n < 0)
		return (int)n;
	(void)sys_close(master);
	return n == (ssize_t)sizeof(report) ? 0 : -EPROTO;
}
