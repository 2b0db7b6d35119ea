/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A network namespace that is made while the child builds: what it is sent, what it joins, and that
 * nothing runs in the host's. Usage: test-netns root|user|userns */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "box.h"
#include "tap.h"

#define SCRIPT                                                                                     \
	"cat /proc/net/dev >/work/dev; readlink /proc/self/ns/net >/work/ns; echo ran "            \
	">/work/marker"

/* What goes along with the order. */
enum passed {
	PASS_MADE, /* one of the sandbox's own user namespace */
	PASS_HOST, /* that of the test */
	PASS_NONE,
	PASS_OTHER, /* a namespace of another kind */
};

struct row {
	const char *name;
	bool no_netns, join; /* born in ours; told to wait for another */
	enum passed passed;
	struct child_order order; /* kind 0: the right one */
	int fault, errnum;        /* a system call that answers so; fault 0: none */
	int want;                 /* errno of NETNS; 0: it runs */
};

static const struct row rows[] = {
	{ "joins what it is sent", true, true, PASS_MADE, { 0 }, 0, 0, 0 },
	{ "born in its own", false, false, PASS_NONE, { 0 }, 0, 0, 0 },
	{ "born in ours, and told of no other", true, false, PASS_NONE, { 0 }, 0, 0, EPERM },
	{ "sent ours", true, true, PASS_HOST, { 0 }, 0, 0, EPERM },
	{ "sent another kind", true, true, PASS_OTHER, { 0 }, 0, 0, EINVAL },
	{ "sent nothing", true, true, PASS_NONE, { 0 }, 0, 0, EPROTO },
	{ "another order", true, true, PASS_MADE, { CHILD_ORDER_START, 0 }, 0, 0, EPROTO },
	{ "with an argument", true, true, PASS_MADE, { CHILD_ORDER_NETWORK, 1 }, 0, 0, EPROTO },
	{ "setns fails", true, true, PASS_MADE, { 0 }, SYS_setns, EBUSY, EBUSY },
	{ "setns does nothing", true, true, PASS_MADE, { 0 }, SYS_setns, 0, EPERM },
	{ "recvmsg fails", true, true, PASS_MADE, { 0 }, SYS_recvmsg, EIO, EIO },
};

/* Makes namespaces of a network in the user namespace of a process that is named to it. Begun
 * before there is a fault, which would be its own too. */
struct maker {
	pid_t pid;
	int ask[2], answer[2];
};

static int make_in(pid_t init)
{
	char path[64];
	int user;

	snprintf(path, sizeof(path), "/proc/%d/ns/user", (int)init);
	user = open(path, O_RDONLY | O_CLOEXEC);
	if (user < 0 || setns(user, CLONE_NEWUSER) != 0 || unshare(CLONE_NEWNET) != 0)
		return errno;
	return 0;
}

static void maker_start(struct maker *m)
{
	pid_t init;
	int r;

	if (pipe2(m->ask, O_CLOEXEC) != 0 || pipe2(m->answer, O_CLOEXEC) != 0)
		abort();
	m->pid = fork();
	if (m->pid != 0)
		return;
	close(m->ask[1]);
	if (read(m->ask[0], &init, sizeof(init)) != (ssize_t)sizeof(init))
		_exit(0);
	r = make_in(init);
	(void)!write(m->answer[1], &r, sizeof(r));
	(void)!read(m->ask[0], &init, sizeof(init));
	_exit(0);
}

static void maker_end(struct maker *m)
{
	for (int i = 0; i < 2; i++) {
		close(m->ask[i]);
		close(m->answer[i]);
	}
	waitpid(m->pid, NULL, 0);
}

static int maker_ask(const struct maker *m, pid_t init)
{
	char path[64];
	int r = EPIPE;

	if (write(m->ask[1], &init, sizeof(init)) != (ssize_t)sizeof(init) ||
	    read(m->answer[0], &r, sizeof(r)) != (ssize_t)sizeof(r) || r != 0) {
		printf("# no namespace was made: %s\n", strerror(r));
		return -1;
	}
	snprintf(path, sizeof(path), "/proc/%d/ns/net", (int)m->pid);
	return open(path, O_RDONLY | O_CLOEXEC);
}

static const struct row *row;
static struct maker maker;

static void send_order(int sock, const struct child_order *order, int fd)
{
	struct iovec iov = { .iov_base = (void *)(uintptr_t)order, .iov_len = sizeof(*order) };
	_Alignas(struct cmsghdr) char room[CMSG_SPACE(sizeof(int))] = { 0 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	struct cmsghdr *c;

	if (fd >= 0) {
		msg.msg_control = room;
		msg.msg_controllen = sizeof(room);
		c = CMSG_FIRSTHDR(&msg);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	}
	(void)!sendmsg(sock, &msg, MSG_NOSIGNAL);
}

static void send_network(struct box *b)
{
	static const char *const ours[] = {
		[PASS_HOST] = "/proc/self/ns/net", [PASS_OTHER] = "/proc/self/ns/uts"
	};
	struct child_order order = { .kind = CHILD_ORDER_NETWORK };
	int fd = -1;

	if (row->passed == PASS_MADE)
		fd = maker_ask(&maker, b->init);
	else if (row->passed != PASS_NONE)
		fd = open(ours[row->passed], O_RDONLY | O_CLOEXEC);
	if (row->order.kind != 0)
		order = row->order;
	send_order(b->control, &order, fd);
	if (fd >= 0)
		close(fd);
}

/* 0: the command ran; the errno of NETNS; 200 and above: anything else. */
static int run_row(struct box *b)
{
	if (row->fault != 0 && !box_fault(row->fault, BOX_ANY, 0, row->errnum))
		return 200;
	box_run(b);
	if (b->r.exec)
		return 0;
	return b->r.failed.step == CHILD_STEP_NETNS ? b->r.failed.errnum : 201;
}

static bool is_alone(struct box *b)
{
	char text[4096] = "", ours[64] = "", theirs[64] = "";
	int fd = open(box_path(b, "work/dev"), O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	unsigned lines = 0;

	close(fd);
	for (ssize_t i = 0; i < n; i++)
		lines += text[i] == '\n';
	fd = open(box_path(b, "work/ns"), O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, theirs, sizeof(theirs) - 1);
	close(fd);
	return n > 0 && readlink("/proc/self/ns/net", ours, sizeof(ours) - 1) > 0 &&
	       strncmp(ours, theirs, strlen(ours)) != 0 && lines == 3 &&
	       strstr(text, "lo:") != NULL;
}

static void test_rows(struct tap *t, enum box_caller caller)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct box *b = box_new(caller);
		int status, got;
		bool ran;
		pid_t pid;

		row = &rows[i];
		box_sh(b, SCRIPT);
		b->join_network = row->join;
		b->no_netns = row->no_netns;
		b->after_ids = row->join ? send_network : NULL;
		maker_start(&maker);
		fflush(stdout);
		pid = fork();
		if (pid == 0)
			_exit(run_row(b));
		waitpid(pid, &status, 0);
		maker_end(&maker);
		got = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
		ran = box_exists(box_path(b, "work/marker"));
		if (!tap_ok(t, got == row->want && ran == (row->want == 0), "%s: %s", row->name,
			    ran ? "runs" : "nothing runs"))
			printf("# %d (%s), want %d\n", got, strerror(got), row->want);
		if (row->want == 0)
			tap_ok(t, is_alone(b), "%s: with a loopback of its own and nothing else",
			       row->name);
		box_free(b);
	}
}

int main(int argc, char **argv)
{
	static const box_test tests[] = {
		test_rows,
	};

	return box_main(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
