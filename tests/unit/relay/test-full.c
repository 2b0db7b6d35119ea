/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Without a descriptor to accept with, a listener stays ready. The loop does not spin, and goes on
 * when there is one again. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "hand.h"
#include "plan/plan.h"
#include "sys/net.h"
#include "tap.h"

static int listener(struct sockaddr_in *ret)
{
	socklen_t len = sizeof(*ret);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	*ret = (struct sockaddr_in){ .sin_family = AF_INET,
				     .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	if (fd < 0 || bind(fd, (struct sockaddr *)ret, sizeof(*ret)) != 0 || listen(fd, 16) != 0 ||
	    getsockname(fd, (struct sockaddr *)ret, &len) != 0)
		abort();
	return fd;
}

static int client(const struct sockaddr_in *to)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || connect(fd, (const struct sockaddr *)to, sizeof(*to)) != 0)
		abort();
	return fd;
}

static double cpu_of(pid_t pid)
{
	clockid_t clock;
	struct timespec ts = { 0 };

	if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &ts) != 0)
		abort();
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* @which: of the two listeners. */
static void test_spin(struct tap *t, const char *name, size_t which)
{
	const struct relay_config config = { .n_ports = 1 };
	struct relay *r = hand_relay(&config, 16);
	const struct plan_net_packet dns = { .kind = PLAN_NET_RESOLVER };
	const struct plan_net_packet ports = { .kind = PLAN_NET_LISTENERS };
	const struct plan_net_packet end = { .kind = PLAN_NET_END };
	const struct rlimit enough = { 256, 256 }, none = { 0, 256 };
	struct sockaddr_in at[2];
	int report = hand_pair(SOCK_SEQPACKET, &r->report);
	int handoff = hand_pair(SOCK_SEQPACKET, &r->handoff);
	int fds[4];
	struct relay_report rep = { 0 };
	struct pollfd p;
	double cpu;
	pid_t pid;
	int c;

	fds[0] = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	fds[1] = listener(&at[0]);
	fds[2] = dup(fds[0]);
	fds[3] = listener(&at[1]);
	if (relay_watch(r, r->report, EPOLLIN | EPOLLRDHUP, RELAY_TAG(TAG_REPORT, 0)) != 0 ||
	    relay_watch(r, r->handoff, EPOLLIN, RELAY_TAG(TAG_HANDOFF, 0)) != 0 ||
	    sys_send_fds(handoff, &dns, sizeof(dns), fds, 3) < 0 ||
	    sys_send_fds(handoff, &ports, sizeof(ports), fds + 3, 1) < 0 ||
	    sys_send_fds(handoff, &end, sizeof(end), NULL, 0) < 0)
		abort();
	pid = fork();
	if (pid == 0) {
		(void)close(report);
		relay_serve(r);
		_exit(0);
	}
	(void)close(r->report);
	(void)!recv(report, &rep, sizeof(rep), 0);
	tap_int(t, rep.kind, RELAY_REPORT_READY, name);
	if (prlimit(pid, RLIMIT_NOFILE, &none, NULL) != 0)
		abort();
	c = client(&at[which]);
	(void)send(c, "\0\x01x", 3, 0);
	cpu = cpu_of(pid);
	(void)usleep(1500000);
	cpu = cpu_of(pid) - cpu;
	tap_ok(t, cpu < 0.3, "%s: no spinning (%.3f s of 1.5)", name, cpu);
	if (prlimit(pid, RLIMIT_NOFILE, &enough, NULL) != 0)
		abort();
	/* A connection to nothing that has a name is reset; a resolver's with a broken question is
	 * closed. */
	p = (struct pollfd){ .fd = c, .events = POLLIN };
	tap_ok(t, poll(&p, 1, 20000) == 1, "%s: with a descriptor it goes on", name);
	(void)close(report);
	tap_ok(t, waitpid(pid, NULL, 0) == pid, "%s: and ends", name);
	(void)close(c);
	for (size_t i = 0; i < 4; i++)
		(void)close(fds[i]);
	(void)close(handoff);
	hand_free(r);
}

int main(void)
{
	struct tap t = { 0 };

	test_spin(&t, "a listener", 1);
	test_spin(&t, "the resolver's", 0);
	return tap_done(&t);
}
