/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What init may send to the supervisor, and what code that has taken it over sends in its place:
 * packets of another size or kind, descriptors nobody asked for, the end. */
#include "run/control.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tap.h"

static void packet(int to, const void *data, size_t len, const int *fds, size_t n_fds)
{
	_Alignas(struct cmsghdr) char room[CMSG_SPACE(2 * sizeof(int))] = { 0 };
	struct iovec iov = { .iov_base = (void *)(uintptr_t)data, .iov_len = len };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (n_fds > 0) {
		struct cmsghdr *c = (struct cmsghdr *)room;

		msg.msg_control = room;
		msg.msg_controllen = CMSG_SPACE(n_fds * sizeof(int));
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(n_fds * sizeof(int));
		memcpy(CMSG_DATA(c), fds, n_fds * sizeof(int));
	}
	(void)!sendmsg(to, &msg, MSG_NOSIGNAL);
}

/* The lowest descriptor that is free: the same afterwards, where none was kept. */
static int lowest(void)
{
	int fd = dup(0);

	close(fd);
	return fd;
}

static const struct row {
	const char *what;
	size_t len;
	uint32_t kind;
	size_t n_fds;
	int plain, terminal; /* what the two functions return */
} rows[] = {
	{ "a report", sizeof(struct child_report), CHILD_REPORT_READY, 0, 1, 1 },
	{ "the last kind", sizeof(struct child_report), CHILD_REPORT_EXITED, 0, 1, 1 },
	{ "one kind further", sizeof(struct child_report), CHILD_REPORT_EXITED + 1, 0, -EPROTO,
	  -EPROTO },
	{ "the highest number", sizeof(struct child_report), UINT32_MAX, 0, -EPROTO, -EPROTO },
	{ "no kind", sizeof(struct child_report), CHILD_REPORT_NONE, 0, -EPROTO, -EPROTO },
	{ "a byte less", sizeof(struct child_report) - 1, CHILD_REPORT_READY, 0, -EPROTO, -EPROTO },
	{ "a byte more", sizeof(struct child_report) + 1, CHILD_REPORT_READY, 0, -EPROTO, -EPROTO },
	{ "one byte", 1, CHILD_REPORT_READY, 0, -EPROTO, -EPROTO },
	{ "a descriptor with the terminal", sizeof(struct child_report), CHILD_REPORT_TERMINAL, 1,
	  1, 1 },
	{ "the terminal without one", sizeof(struct child_report), CHILD_REPORT_TERMINAL, 0, 1,
	  -EPROTO },
	{ "two with it", sizeof(struct child_report), CHILD_REPORT_TERMINAL, 2, 1, -EPROTO },
	{ "one with anything else", sizeof(struct child_report), CHILD_REPORT_READY, 1, 1,
	  -EPROTO },
	{ "one with what is no report", 1, CHILD_REPORT_READY, 1, -EPROTO, -EPROTO },
};

static void send_row(int to, const struct row *r)
{
	char buf[sizeof(struct child_report) + 1] = { 0 };
	int fds[2] = { STDIN_FILENO, STDIN_FILENO };

	memcpy(buf, &r->kind, sizeof(r->kind));
	packet(to, buf, r->len, fds, r->n_fds);
}

static void test_row(struct tap *t, const int pair[2], const struct row *r)
{
	struct child_report rep;
	int before = lowest();
	char what[128];
	int fd;

	send_row(pair[1], r);
	(void)snprintf(what, sizeof(what), "%s", r->what);
	tap_int(t, control_recv(pair[0], &rep), r->plain, what);
	(void)snprintf(what, sizeof(what), "%s: no descriptor is taken", r->what);
	tap_int(t, lowest(), before, what);
	send_row(pair[1], r);
	(void)snprintf(what, sizeof(what), "%s, where the terminal is waited for", r->what);
	tap_int(t, control_recv_terminal(pair[0], &rep, &fd), r->terminal, what);
	tap_ok(t, (fd >= 0) == (r->terminal == 1 && r->n_fds == 1), "%s", what);
	if (fd >= 0) {
		tap_int(t, fcntl(fd, F_GETFD), FD_CLOEXEC, "what is taken goes nowhere");
		close(fd);
	}
	(void)snprintf(what, sizeof(what), "%s: nothing else is kept", r->what);
	tap_int(t, lowest(), before, what);
}

int main(void)
{
	struct child_report rep;
	struct tap t = { 0 };
	int pair[2];
	int fd;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
		return 1;
	tap_int(&t, control_recv(pair[0], &rep), 0, "nothing yet");
	tap_int(&t, control_recv_terminal(pair[0], &rep, &fd), 0, "nothing yet of the terminal");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		test_row(&t, pair, &rows[i]);
	packet(pair[1], "", 0, NULL, 0);
	tap_int(&t, control_recv(pair[0], &rep), -EPIPE, "an empty packet is the end");
	close(pair[1]);
	tap_int(&t, control_recv(pair[0], &rep), -EPIPE, "the end");
	tap_int(&t, control_recv_terminal(pair[0], &rep, &fd), -EPIPE, "the end of the terminal's");
	tap_int(&t, control_send(pair[0], CHILD_ORDER_START, 0), -EPIPE, "nobody is told anything");
	tap_int(&t, control_send_passed(pair[0], CHILD_ORDER_NETWORK, 0), -EPIPE, "nor given");
	return tap_done(&t);
}
