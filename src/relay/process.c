/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* process - from a fresh execution of the program to two confined processes.
 *
 *   supervisor -- execve --> resolver -- clone3 --> relay, pid 1 of namespaces of its own
 *                                     -- fork ----> dialer, only where ports are published
 *
 * Executed, and not forked from the supervisor: nothing of the profile, of the caller's environment
 * or of its arguments is in this memory. The relay dies with the resolver, and that with the
 * supervisor; the network of the sandbox dies with the relay, whose sockets it is. */
#include "relay/process.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/netlink.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/exitcode.h"
#include "base/fd.h"
#include "base/heap.h"
#include "relay/internal.h"
#include "relay/publish.h"
#include "sys/clone.h"
#include "sys/fs.h"
#include "sys/process.h"

#define STACK_SIZE ((size_t)1024 * 1024)
/* Beside connections, listeners and clients of the resolver. */
#define FDS_SPARE (RELAY_FD_END + DNS_CONNS + RELAY_EXTRA_MAX + 32)

static const struct relay_config *config_map(void)
{
	struct relay_config *c;
	struct stat st;
	size_t want;

	if (fstat(RELAY_FD_CONFIG, &st) != 0 || st.st_size < (off_t)sizeof(*c))
		return NULL;
	c = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, RELAY_FD_CONFIG, 0);
	if (c == MAP_FAILED)
		return NULL;
	want = sizeof(*c) + c->n_rules * sizeof(struct connect_rule) +
	       c->n_ranges * sizeof(struct addr_range) +
	       ((size_t)c->n_ports + c->n_published) * sizeof(uint16_t);
	return c->magic == RELAY_MAGIC && c->size == want && st.st_size == (off_t)want ? c : NULL;
}

/* The caller is root: nothing here needs to be. */
static int become(const struct relay_config *c)
{
	int r;

	if (c->drop_id == 0)
		return 0;
	r = setgroups(0, NULL) == 0 ? sys_set_ids(c->drop_id, c->drop_id) : -errno;
	return c->drop_optional && (r == -EPERM || r == -EINVAL) ? 0 : r;
}

uint32_t relay_fds(const struct relay_config *c)
{
	return relay_listeners(c) + c->n_published + FDS_SPARE;
}

/* As many connections as the limit on descriptors lets us have. */
static uint32_t raise_nofile(const struct relay_config *c, uint32_t *ret_fds)
{
	uint32_t fixed = relay_fds(c);
	uint32_t want = fixed + c->max_conns * 2;
	struct sys_rlimit lim;

	if (sys_rlimit_get(RLIMIT_NOFILE, &lim) != 0)
		return 0;
	if (lim.hard < want)
		want = (uint32_t)lim.hard;
	lim.soft = want;
	*ret_fds = want;
	if (want < fixed + 2 || sys_rlimit_set(RLIMIT_NOFILE, &lim) != 0)
		return 0;
	return (want - fixed) / 2;
}

struct start {
	const struct relay_config *config;
	int ours, theirs; /* of the pair between resolver and relay */
	pid_t relay;
	pid_t dialer_pid; /* 0: none */
	int dialer;       /* the relay's end of the pair with it, or -1 */
};

/* Where this user has too much in pipes for one more of this size (EPERM), bytes are copied. */
static int pipe_make(int pipe[2])
{
	if (pipe2(pipe, O_CLOEXEC | O_NONBLOCK) != 0)
		return -errno;
	if (fcntl(pipe[1], F_SETPIPE_SZ, (int)RELAY_CHUNK) >= (int)RELAY_CHUNK)
		return 0;
	if (errno != EPERM)
		return -errno;
	fd_close(&pipe[0]);
	fd_close(&pipe[1]);
	return 0;
}

static struct relay *relay_new(const struct start *s, uint32_t max_conns)
{
	const struct relay_config *c = s->config;
	struct relay *r = heap_alloc(1, sizeof(*r));
	const unsigned char *part = (const unsigned char *)(c + 1);
	struct host_addr at;
	bool pool;

	r->config = c;
	r->rules = (struct connect_rules){ .rules = (const struct connect_rule *)(const void *)part,
					   .n = c->n_rules,
					   .layers = c->layers };
	part += c->n_rules * sizeof(struct connect_rule);
	r->ranges = (const struct addr_range *)(const void *)part;
	part += c->n_ranges * sizeof(struct addr_range);
	r->ports = (const uint16_t *)(const void *)part;
	r->n_ports = c->n_ports;
	r->inside = r->ports + c->n_ports;
	if (c->any_port != 0) {
		uint16_t *edges = heap_alloc(CONNECT_EDGES_MAX(c->n_rules), sizeof(*edges));

		r->n_ports = connect_edges(&r->rules, edges);
		r->ports = edges;
	}
	r->report = RELAY_FD_REPORT;
	r->handoff = RELAY_FD_HANDOFF;
	r->resolver = s->theirs;
	r->dialer = s->dialer;
	r->published = heap_alloc(c->n_published, sizeof(int));
	r->dns_udp = -1;
	r->dns_tcp = -1;
	r->listeners = heap_alloc(relay_listeners(c), sizeof(int));
	r->max_conns = max_conns;
	r->conns = heap_alloc(max_conns, sizeof(*r->conns));
	r->again = heap_alloc((size_t)max_conns * 2, sizeof(*r->again));
	r->dead = heap_alloc(max_conns, sizeof(*r->dead));
	r->chunk = heap_alloc(RELAY_CHUNK, 1);
	for (uint32_t i = 0; i < DNS_CONNS; i++)
		r->dns[i].fd = -1;
	/* Its place among the names is one that no rule allows. */
	if (c->proxy.host.name[0] != '\0' && names_add(&r->names, c->proxy.host.name, &at))
		r->proxy = names_find(&r->names, &at, &pool);
	r->epoll = epoll_create1(EPOLL_CLOEXEC);
	r->route = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	if (r->epoll < 0 || r->route < 0 || pipe_make(r->pipe) != 0 ||
	    relay_watch(r, r->report, EPOLLIN | EPOLLRDHUP, RELAY_TAG(TAG_REPORT, 0)) != 0 ||
	    relay_watch(r, r->handoff, EPOLLIN, RELAY_TAG(TAG_HANDOFF, 0)) != 0 ||
	    relay_watch(r, r->resolver, EPOLLIN, RELAY_TAG(TAG_RESOLVER, 0)) != 0 ||
	    (r->dialer >= 0 && relay_watch(r, r->dialer, EPOLLIN, RELAY_TAG(TAG_DIALER, 0)) != 0))
		return NULL;
	return r;
}

static void relay_process(void *arg)
{
	const struct start *s = arg;
	uint32_t fds = 0;
	uint32_t conns = raise_nofile(s->config, &fds);
	struct relay *r = conns == 0 ? NULL : relay_new(s, conns);

	(void)sys_close(s->ours);
	(void)sys_close(RELAY_FD_CONFIG);
	/* splice(2) has no MSG_NOSIGNAL. */
	if (r == NULL || signal(SIGPIPE, SIG_IGN) == SIG_ERR || isolate_relay(fds) != 0)
		sys_exit_group(EXITCODE_FAILED);
	relay_serve(r);
	sys_exit_group(0);
}

static int relay_clone(struct start *s)
{
	struct clone_args args = {
		.flags = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS |
			 CLONE_NEWCGROUP,
		.exit_signal = SIGCHLD,
		.stack_size = STACK_SIZE,
	};
	void *stack = mmap(NULL, STACK_SIZE, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
	long pid;

	if (stack == MAP_FAILED)
		return -errno;
	args.stack = (uint64_t)(uintptr_t)stack;
	pid = sys_clone_fn(&args, relay_process, s);
	(void)munmap(stack, STACK_SIZE);
	s->relay = (pid_t)pid;
	return pid < 0 ? (int)pid : 0;
}

/* As who we still are: the right to enter the sandbox's namespaces is the caller's. */
static int dialer_fork(struct start *s)
{
	const struct relay_config *c = s->config;
	int pair[2];
	long pid;

	s->dialer = -1;
	if (c->n_published == 0)
		return 0;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
		return -errno;
	pid = sys_fork();
	if (pid == 0) {
		(void)sys_close(pair[0]);
		(void)sys_close(RELAY_FD_REPORT);
		(void)sys_close(RELAY_FD_HANDOFF);
		(void)sys_close(RELAY_FD_CONFIG);
		dialer_serve(pair[1], c, become);
		sys_exit_group(EXITCODE_FAILED);
	}
	(void)sys_close(pair[1]);
	s->dialer = pair[0];
	s->dialer_pid = (pid_t)pid;
	return pid < 0 ? (int)pid : 0;
}

static void collect(pid_t pid)
{
	while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

int relay_main(void)
{
	struct start s = { .config = config_map() };
	int pair[2];

	/* The caller's folder is nobody's business here, nor is it to be kept from being unmounted.
	 */
	if (s.config == NULL || sys_chdir("/") != 0 || sys_prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 ||
	    sys_close_range(RELAY_FD_END, ~0U) != 0 || dialer_fork(&s) != 0 ||
	    become(s.config) != 0 ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
		return EXITCODE_FAILED;
	s.ours = pair[0];
	s.theirs = pair[1];
	if (relay_clone(&s) != 0)
		return EXITCODE_FAILED;
	(void)sys_close(s.theirs);
	if (s.dialer >= 0)
		(void)sys_close(s.dialer);
	(void)sys_close(RELAY_FD_REPORT);
	(void)sys_close(RELAY_FD_HANDOFF);
	(void)sys_close(RELAY_FD_CONFIG);
	if (isolate_resolver() != 0)
		return EXITCODE_FAILED;
	resolver_serve(s.ours);
	(void)sys_close(s.ours);
	/* Pid 1 may be somebody who collects no orphans. The dialer ends after the relay. */
	collect(s.relay);
	collect(s.dialer_pid);
	return 0;
}
