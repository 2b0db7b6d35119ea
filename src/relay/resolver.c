/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* resolver - asks the host's own resolver, whatever it is, for names that the rules allow.
 *
 * One process for each question: a name server that does not answer holds up nobody else, and what
 * an answer may do to the C library ends with it. */
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <resolv.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "relay/internal.h"
#include "sys/clone.h"
#include "sys/process.h"

#define AT_ONCE  16
#define ANSWER_S 30

static void take_addrs(const struct addrinfo *list, struct relay_addresses *ret)
{
	for (; list != NULL && ret->n < RELAY_ADDRS_MAX; list = list->ai_next) {
		struct host_addr *a = &ret->addrs[ret->n];

		if (list->ai_family == AF_INET) {
			struct sockaddr_in in;

			memcpy(&in, list->ai_addr, sizeof(in));
			a->family = 4;
			memcpy(a->bytes, &in.sin_addr, 4);
			ret->n++;
		} else if (list->ai_family == AF_INET6) {
			struct sockaddr_in6 in6;

			memcpy(&in6, list->ai_addr, sizeof(in6));
			a->family = 6;
			memcpy(a->bytes, &in6.sin6_addr, 16);
			host_addr_normal(a);
			ret->n++;
		}
	}
}

static void resolve(const struct relay_question *q, struct relay_addresses *ret)
{
	const struct addrinfo hints = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM };
	struct addrinfo *list = NULL;
	char name[HOSTPAT_NAME_SIZE];
	int r;

	ret->id = q->id;
	/* The very string that the rules were asked about, or nothing. */
	if (hostpat_name(q->name, strnlen(q->name, sizeof(q->name)), name) != NULL ||
	    strcmp(name, q->name) != 0) {
		ret->absent = 1;
		return;
	}
	/* No other name is to be made of it with the host's search list. */
	if (res_init() == 0)
		_res.options &= ~((unsigned long)RES_DNSRCH | RES_DEFNAMES);
	r = getaddrinfo(name, NULL, &hints, &list);
	if (r == 0)
		take_addrs(list, ret);
	else
		ret->absent = r == EAI_NONAME || r == EAI_NODATA;
}

static _Noreturn void answer(int fd, const struct relay_question *q)
{
	struct relay_addresses a = { 0 };
	sigset_t none;

	/* A question whose relay is gone is of no interest, nor is one that a module of the name
	 * service never comes back from. */
	if (sys_prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
		sys_exit_group(1);
	(void)alarm(ANSWER_S);
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	resolve(q, &a);
	sys_exit_group(send(fd, &a, sizeof(a), MSG_NOSIGNAL) == (ssize_t)sizeof(a) ? 0 : 1);
}

/* One that is being answered. */
struct asked {
	pid_t pid; /* 0: free */
	uint32_t id;
};

static void fail(int fd, uint32_t id)
{
	const struct relay_addresses a = { .id = id };

	(void)!send(fd, &a, sizeof(a), MSG_NOSIGNAL);
}

/* Whoever ended without an answer has one too. */
static void reap(struct asked asked[AT_ONCE], int fd)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		for (size_t i = 0; i < AT_ONCE; i++) {
			if (asked[i].pid != pid)
				continue;
			if (status != 0)
				fail(fd, asked[i].id);
			asked[i].pid = 0;
		}
	}
}

static struct asked *place(struct asked asked[AT_ONCE])
{
	for (size_t i = 0; i < AT_ONCE; i++) {
		if (asked[i].pid == 0)
			return &asked[i];
	}
	return NULL;
}

static bool take_question(struct asked *free, int fd)
{
	struct relay_question q;
	ssize_t n = recv(fd, &q, sizeof(q), MSG_DONTWAIT);
	long pid;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return true;
	if (n != (ssize_t)sizeof(q))
		return false;
	pid = sys_fork();
	if (pid == 0)
		answer(fd, &q);
	if (pid < 0)
		fail(fd, q.id);
	else
		*free = (struct asked){ .pid = (pid_t)pid, .id = q.id };
	return true;
}

/* The end of one that answers wakes us; what it does is nothing. */
static void woken(int sig)
{
	(void)sig;
}

void resolver_serve(int fd)
{
	const struct relay_addresses ready = { .id = 0 };
	const struct sigaction act = { .sa_handler = woken };
	struct asked asked[AT_ONCE] = { 0 };
	sigset_t child, none;

	(void)sigemptyset(&none);
	(void)sigemptyset(&child);
	(void)sigaddset(&child, SIGCHLD);
	if (sigprocmask(SIG_BLOCK, &child, NULL) != 0 || sigaction(SIGCHLD, &act, NULL) != 0 ||
	    send(fd, &ready, sizeof(ready), MSG_NOSIGNAL) != (ssize_t)sizeof(ready))
		return;
	for (;;) {
		struct asked *free = place(asked);
		/* With no place left only the end of the relay is looked for. */
		struct pollfd p = { .fd = fd, .events = free != NULL ? POLLIN : 0 };

		if (ppoll(&p, 1, NULL, &none) < 0 && errno != EINTR)
			return;
		reap(asked, fd);
		if ((p.revents & POLLIN) == 0 && (p.revents & (POLLHUP | POLLERR)) != 0)
			return;
		if ((p.revents & POLLIN) != 0 && free != NULL && !take_question(free, fd))
			return;
	}
}
