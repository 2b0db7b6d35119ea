/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* resolver - asks the host's own resolver, whatever it is, for names that the rules allow.
 *
 * One process for each question: a name server that does not answer holds up nobody else, and what
 * an answer may do to the C library ends with it. */
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <resolv.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "relay/internal.h"
#include "sys/clone.h"
#include "sys/process.h"

#define AT_ONCE 16

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

	/* A question whose relay is gone is of no interest. */
	if (sys_prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
		sys_exit_group(1);
	resolve(q, &a);
	(void)!send(fd, &a, sizeof(a), MSG_NOSIGNAL);
	sys_exit_group(0);
}

void resolver_serve(int fd)
{
	unsigned running = 0;

	for (;;) {
		struct relay_question q;
		ssize_t n;
		long pid;

		while (running > 0 && waitpid(-1, NULL, running < AT_ONCE ? WNOHANG : 0) > 0)
			running--;
		n = recv(fd, &q, sizeof(q), 0);
		if (n < 0 && errno == EINTR)
			continue;
		if (n != (ssize_t)sizeof(q))
			return;
		pid = sys_fork();
		if (pid == 0)
			answer(fd, &q);
		if (pid > 0)
			running++;
	}
}
