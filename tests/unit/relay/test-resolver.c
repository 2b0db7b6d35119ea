/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Each question has an answer, also where no process can be made for it. */
#include <errno.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hand.h"
#include "tap.h"

static pid_t start(bool no_process, int *ret_fd)
{
	const struct rlimit none = { 0, 0 };
	int theirs;
	int ours = hand_pair(SOCK_SEQPACKET, &theirs);
	pid_t pid = fork();

	if (pid == 0) {
		(void)close(ours);
		if (no_process &&
		    ((geteuid() == 0 && setuid(65534) != 0) || setrlimit(RLIMIT_NPROC, &none) != 0))
			_exit(1);
		resolver_serve(theirs);
		_exit(0);
	}
	(void)close(theirs);
	*ret_fd = ours;
	return pid;
}

/* Its first answer is to no question. */
static bool is_ready(int fd)
{
	struct relay_addresses a;

	return recv(fd, &a, sizeof(a), 0) == (ssize_t)sizeof(a) && a.id == 0 && a.n == 0;
}

static bool ask(int fd, uint32_t id, const char *name, struct relay_addresses *ret)
{
	struct relay_question q = { .id = id };
	struct pollfd p = { .fd = fd, .events = POLLIN };

	(void)snprintf(q.name, sizeof(q.name), "%s", name);
	return send(fd, &q, sizeof(q), 0) == (ssize_t)sizeof(q) && poll(&p, 1, 60000) == 1 &&
	       recv(fd, ret, sizeof(*ret), MSG_DONTWAIT) == (ssize_t)sizeof(*ret) && ret->id == id;
}

int main(void)
{
	struct tap t = { 0 };
	struct relay_addresses a = { 0 };
	int fd, status = -1;
	pid_t pid = start(false, &fd);

	tap_ok(&t, is_ready(fd), "it says that it is ready");
	tap_ok(&t, ask(fd, 7, "localhost", &a) && a.n > 0, "a name of the hosts file");
	tap_ok(&t, ask(fd, 8, "127.0.0.1", &a) && a.n == 0 && a.absent, "an address is no name");
	tap_ok(&t, ask(fd, 9, "LOCALHOST", &a) && a.n == 0 && a.absent,
	       "nor is what is not canonical");
	(void)close(fd);
	tap_ok(&t, waitpid(pid, &status, 0) == pid && status == 0, "it ends with the relay");
	pid = start(true, &fd);
	tap_ok(&t, is_ready(fd), "and so does one that may make no process");
	tap_ok(&t, ask(fd, 10, "localhost", &a) && a.n == 0 && !a.absent,
	       "without a process for it: that the resolver failed");
	(void)close(fd);
	tap_ok(&t, waitpid(pid, &status, 0) == pid && status == 0, "and it goes on to the end");
	return tap_done(&t);
}
