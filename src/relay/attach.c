/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "relay/attach.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/io.h"
#include "relay/listen.h"
#include "relay/process.h"
#include "sys/process.h"

/* Bounds of waits that nothing in the sandbox can lengthen. */
#define READY_MS    10000
#define EARLY_PORTS 128
#define END_MS      3000
#define KILL_MS     1000
/* Of reports: so many at once, for one more, and of one turn. */
#define REPORTS_AT_ONCE 4096
#define REPORTS_MS      5
#define REPORTS_TURN    256

static uint64_t now_ms(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

/* --- start --- */

static int config_make(const struct relay_attach *r, struct err *err)
{
	const struct plan_net *net = &r->plan->net;
	struct relay_config c = {
		.magic = RELAY_MAGIC,
		.drop_id = r->drop_id,
		.drop_optional = r->drop_optional,
		.max_conns = RELAY_CONNS,
		.n_rules = (uint32_t)r->rules.n,
		.layers = r->rules.layers,
		.n_ranges = (uint32_t)r->n_ranges,
		.n_ports = net->n_ports,
		.any_port = net->any_port,
		.n_host_ports = net->n_host_ports,
		.proxy = r->proxy,
		.n_published = (uint32_t)r->n_publish,
	};
	const uint32_t least = relay_fds(&c) + 2;
	uint16_t inside[PROFILE_PUBLISH_MAX];
	struct rlimit files;
	const struct {
		const void *p;
		size_t n;
	} parts[] = {
		{ &c, sizeof(c) },
		{ r->rules.rules, r->rules.n * sizeof(*r->rules.rules) },
		{ r->ranges, r->n_ranges * sizeof(*r->ranges) },
		{ net->ports, net->n_ports * sizeof(*net->ports) },
		{ inside, r->n_publish * sizeof(*inside) },
	};
	FD_AUTO fd = -1;
	int ret = 0;

	/* It would end without a word. */
	if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_max < least)
		return err_set(err, ERR_HOST, 0,
			       "the network takes %u open files at least, and the limit is %llu: "
			       "raise it (ulimit -Hn; LimitNOFILE= of a service)",
			       least, (unsigned long long)files.rlim_max);
	fd = memfd_create("agentbox-network", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return err_set(err, ERR_HOST, errno, "cannot make the rules of the network");
	for (size_t i = 0; i < r->n_publish; i++)
		inside[i] = r->publish[i].inside;
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		c.size += (uint32_t)parts[i].n;
	for (size_t i = 0; ret == 0 && i < ARRAY_SIZE(parts); i++)
		ret = parts[i].n == 0 ? 0 : io_write_full(fd, parts[i].p, parts[i].n);
	if (ret == 0 &&
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) != 0)
		ret = -errno;
	if (ret < 0)
		return err_set(err, ERR_HOST, -ret, "cannot write the rules of the network");
	return fd_take(&fd);
}

/* Out of the way of the numbers that they get there. */
static int move_up(int *fd)
{
	int up = fcntl(*fd, F_DUPFD_CLOEXEC, RELAY_FD_END);

	if (up < 0)
		return -errno;
	fd_close(fd);
	*fd = up;
	return 0;
}

static int spawn(struct relay_attach *r, const int fds[3])
{
	char name[] = RELAY_ARGV0;
	char *argv[] = { name, NULL };
	char *env[] = { NULL };
	posix_spawn_file_actions_t act;
	posix_spawnattr_t attr;
	sigset_t none, all;
	int e;

	(void)sigemptyset(&none);
	(void)sigfillset(&all);
	if (posix_spawn_file_actions_init(&act) != 0)
		return -ENOMEM;
	if (posix_spawnattr_init(&attr) != 0) {
		(void)posix_spawn_file_actions_destroy(&act);
		return -ENOMEM;
	}
	/* Nothing of the caller's: no end of a pipe is to be held open. */
	e = posix_spawn_file_actions_addopen(&act, 0, "/dev/null", O_RDWR, 0);
	for (int i = 1; e == 0 && i < 3; i++)
		e = posix_spawn_file_actions_adddup2(&act, 0, i);
	for (int i = 0; e == 0 && i < 3; i++)
		e = posix_spawn_file_actions_adddup2(&act, fds[i], RELAY_FD_REPORT + i);
	if (e == 0)
		e = posix_spawnattr_setsigmask(&attr, &none);
	if (e == 0)
		e = posix_spawnattr_setsigdefault(&attr, &all);
	if (e == 0)
		e = posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	if (e == 0)
		e = posix_spawn(&r->pid, "/proc/self/exe", &act, &attr, argv, env);
	(void)posix_spawnattr_destroy(&attr);
	(void)posix_spawn_file_actions_destroy(&act);
	if (e != 0)
		r->pid = 0;
	return -e;
}

/* It takes as long to be there as the sandbox does: it is started when that is under way. What the
 * child hands over meanwhile is in a socket, which holds so much and no more. */
static bool start_early(const struct relay_attach *r)
{
	return r->plan->net.n_ports > EARLY_PORTS;
}

static int pair_make(int *ret_ours, int *ret_theirs)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
		return -errno;
	*ret_ours = pair[0];
	*ret_theirs = pair[1];
	return 0;
}

static int start(struct relay_attach *r, struct err *err)
{
	const int fds[3] = { r->theirs, r->handoff[1], r->config };
	int e = spawn(r, fds);

	if (e < 0)
		return err_set(err, ERR_HOST, -e, "cannot start the network relay");
	fd_close(&r->theirs);
	fd_close(&r->handoff[1]);
	fd_close(&r->config);
	return 0;
}

static void close_all(struct relay_attach *r)
{
	fd_close(&r->handoff[0]);
	fd_close(&r->handoff[1]);
	fd_close(&r->theirs);
	fd_close(&r->config);
}

static int prepare(struct relay_attach *r, struct err *err)
{
	int e;

	e = pair_make(&r->fd, &r->theirs);
	if (e == 0)
		e = pair_make(&r->handoff[0], &r->handoff[1]);
	if (e < 0)
		return err_set(err, ERR_HOST, -e, "cannot make a socket for the network relay");
	/* They come out at the relay as the first packet. */
	if (listen_published(r->publish, r->n_publish, r->handoff[0], err) != 0)
		return -1;
	r->config = config_make(r, err);
	if (r->config < 0)
		return -1;
	e = move_up(&r->theirs);
	if (e == 0)
		e = move_up(&r->handoff[1]);
	if (e == 0)
		e = move_up(&r->config);
	if (e < 0)
		return err_set(err, ERR_HOST, -e, "cannot start the network relay");
	r->plan->net.handoff = r->handoff[0];
	return start_early(r) ? start(r, err) : 0;
}

static int hook_prepare(void *ctx, struct err *err)
{
	struct relay_attach *r = ctx;

	if (prepare(r, err) == 0)
		return 0;
	close_all(r);
	fd_close(&r->fd);
	return -1;
}

/* --- reports --- */

static bool report_is_sound(const struct relay_report *rep)
{
	char name[HOSTPAT_NAME_SIZE];
	size_t len = strnlen(rep->target.name, sizeof(rep->target.name));

	if (rep->kind == RELAY_REPORT_NONE || rep->kind >= RELAY_REPORT_MAX ||
	    rep->why >= RELAY_WHY_MAX || rep->method >= RELAY_METHOD_MAX ||
	    rep->topology > PLAN_NET_LOOPBACK || len == sizeof(rep->target.name))
		return false;
	return len == 0 || hostpat_name(rep->target.name, len, name) == NULL;
}

/* Return: 1 with a report, 0 for none now, -1 when the relay is gone or says what it cannot. */
static int report_recv(struct relay_attach *r, struct relay_report *ret)
{
	ssize_t n = recv(r->fd, ret, sizeof(*ret), MSG_DONTWAIT | MSG_TRUNC);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	return n == (ssize_t)sizeof(*ret) && report_is_sound(ret) ? 1 : -1;
}

/* The relay holds itself to less than this. One that hostile code has taken over fills no log. */
static bool report_fits(struct relay_attach *r)
{
	uint64_t now = now_ms();
	uint64_t more = (now - r->tokens_ms) / REPORTS_MS;

	if (more > 0) {
		more += r->tokens;
		r->tokens = more > REPORTS_AT_ONCE ? REPORTS_AT_ONCE : (uint32_t)more;
		r->tokens_ms = now;
	}
	if (r->tokens == 0)
		return false;
	r->tokens--;
	return true;
}

/* What is there, up to a number, so that the supervisor has its turn. */
static int take_reports(struct relay_attach *r, struct err *err)
{
	struct relay_report rep;
	int got = 1;

	for (int i = 0; i < REPORTS_TURN && (got = report_recv(r, &rep)) == 1; i++) {
		if (rep.kind == RELAY_REPORT_READY) {
			r->ready = true;
			r->topology = rep.topology;
		} else if (!report_fits(r)) {
			r->dropped += r->dropped < UINT32_MAX;
		} else if (r->report(r->ctx, &rep, err) != 0) {
			return -1;
		}
	}
	if (got < 0)
		fd_close(&r->fd);
	return 0;
}

static int hook_event(void *ctx, uint32_t events, struct err *err)
{
	struct relay_attach *r = ctx;

	(void)events;
	if (take_reports(r, err) != 0)
		return -1;
	/* The sockets of the sandbox's network went with it: nothing gets out any more. */
	r->lost = r->fd < 0;
	return 0;
}

/* The command starts when its network is there, and not before. */
static int hook_after_clone(void *ctx, const struct run_child *child, struct err *err)
{
	struct relay_attach *r = ctx;
	uint64_t until = now_ms() + READY_MS;

	if (r->pid == 0 && start(r, err) != 0)
		return -1;
	/* Only the child's copy is left: its death is the end of what the relay waits for. */
	fd_close(&r->handoff[0]);
	while (r->fd >= 0 && !r->ready) {
		struct pollfd p[2] = { { .fd = r->fd, .events = POLLIN },
				       { .fd = child->pidfd, .events = POLLIN } };
		uint64_t now = now_ms();

		if (now >= until)
			return err_set(err, ERR_HOST, ETIMEDOUT,
				       "the network of the sandbox was not there within %d seconds",
				       READY_MS / 1000);
		if (poll(p, 2, (int)(until - now)) < 0 && errno != EINTR)
			return err_set(err, ERR_HOST, errno, "poll");
		if (take_reports(r, err) != 0)
			return -1;
		if (p[1].revents != 0 && !r->ready)
			break;
	}
	if (r->ready && r->fd >= 0)
		return 0;
	return err_set(err, ERR_HOST, 0,
		       "the network relay ended before the sandbox was built (its namespaces or "
		       "its filter were refused)");
}

/* --- end --- */

static bool reap(struct relay_attach *r, int wait_ms)
{
	FD_AUTO pidfd = sys_pidfd_open(r->pid, 0);
	struct pollfd p = { .fd = pidfd, .events = POLLIN };
	pid_t got;

	/* Where there is none to be had, the whole time goes by: poll(2) passes over it. */
	while (poll(&p, 1, wait_ms) < 0 && errno == EINTR)
		;
	do
		got = waitpid(r->pid, NULL, WNOHANG);
	while (got < 0 && errno == EINTR);
	if (got == 0)
		return false;
	r->pid = 0;
	return true;
}

static int report_dropped(struct relay_attach *r, struct err *err)
{
	const struct relay_report rep = { .kind = RELAY_REPORT_SKIPPED, .count = r->dropped };

	return r->dropped == 0 ? 0 : r->report(r->ctx, &rep, err);
}

static int hook_finish(void *ctx, const struct outcome *o, struct err *err)
{
	struct relay_attach *r = ctx;
	uint64_t until = now_ms() + END_MS;
	int ret = 0;

	(void)o;
	close_all(r);
	if (r->fd >= 0)
		(void)shutdown(r->fd, SHUT_WR);
	while (r->fd >= 0 && ret == 0) {
		struct pollfd p = { .fd = r->fd, .events = POLLIN };
		uint64_t now = now_ms();

		if (now >= until || (poll(&p, 1, (int)(until - now)) < 0 && errno != EINTR))
			break;
		ret = take_reports(r, err);
	}
	fd_close(&r->fd);
	return ret == 0 ? report_dropped(r, err) : ret;
}

/* Both processes: the resolver ends after the relay, and has collected it. */
static int hook_end(void *ctx, const struct outcome *o, struct err *err)
{
	struct relay_attach *r = ctx;

	(void)o;
	(void)err;
	if (r->pid > 0 && !reap(r, KILL_MS)) {
		(void)kill(r->pid, SIGKILL);
		(void)reap(r, KILL_MS);
	}
	return 0;
}

void relay_attach(struct relay_attach *r, struct run_attachment *ret,
		  struct run_attachment *ret_end)
{
	r->fd = -1;
	r->handoff[0] = -1;
	r->handoff[1] = -1;
	r->theirs = -1;
	r->config = -1;
	r->pid = 0;
	*ret = (struct run_attachment){ .name = "network",
					.ctx = r,
					.prepare = hook_prepare,
					.after_clone = hook_after_clone,
					.event = hook_event,
					.event_fd = &r->fd,
					.finish = hook_finish };
	*ret_end = (struct run_attachment){ .name = "network's end", .ctx = r, .finish = hook_end };
}
