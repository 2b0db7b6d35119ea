/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "run/pump.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/heap.h"
#include "run/talk.h"

/* How long a call on the caller's descriptor may hold up the loop. */
#define GUARD_NS (20L * 1000 * 1000)

/* More than the kernel holds between the two ends of a pty (drivers/tty: 64 KiB in the buffer of
 * the port, 4 KiB in the line discipline). */
#define PTY_HOLDS ((size_t)256 * 1024)

static void pump_init(struct pump *p, const char *name, int near, int far, enum pump_far kind)
{
	*p = (struct pump){ .name = name, .near = near, .far = far, .far_kind = kind };
}

void pump_init_output(struct pump *p, const char *name, int near, int far, enum pump_far far_kind)
{
	pump_init(p, name, near, far, far_kind);
}

void pump_init_input(struct pump *p, int near, int far, enum pump_far far_kind)
{
	pump_init(p, "standard input", near, far, far_kind);
	p->input = true;
}

void pump_free(struct pump *p)
{
	fd_close(&p->near);
	heap_free(p->buf);
	p->buf = NULL;
}

bool pump_done(const struct pump *p)
{
	return p->near < 0;
}

/* Closing our end is how either side of the command learns of it: end of file on its input,
 * SIGPIPE or EPIPE on its output. */
static void pump_close(struct pump *p)
{
	fd_close(&p->near);
	p->start = 0;
	p->len = 0;
}

bool pump_poll(const struct pump *p, struct pollfd *ret)
{
	bool giving = p->len > 0;

	if (pump_done(p))
		return false;
	/* Output: near gives, far takes. Input: the other way round. */
	ret->fd = p->input == giving ? p->near : p->far;
	ret->events = giving ? POLLOUT : POLLIN;
	ret->revents = 0;
	return true;
}

static void guard_signal(int signo)
{
	(void)signo;
}

void pump_guard_init(struct pump_guard *g)
{
	*g = (struct pump_guard){ .signo = SIGRTMIN + 4 };
}

/* The handler stays until the run ends; it does nothing, and there is no SA_RESTART, so that
 * its only effect is EINTR. */
static int guard_make(struct pump_guard *g)
{
	struct sigaction sa = { .sa_handler = guard_signal };
	struct sigevent ev = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = g->signo };
	sigset_t set;

	if (g->ready)
		return 0;
	sigemptyset(&sa.sa_mask);
	sigemptyset(&set);
	sigaddset(&set, g->signo);
	if (sigaction(g->signo, &sa, NULL) != 0 || sigprocmask(SIG_UNBLOCK, &set, NULL) != 0 ||
	    timer_create(CLOCK_MONOTONIC, &ev, &g->timer) != 0)
		return -errno;
	g->ready = true;
	return 0;
}

void pump_guard_free(struct pump_guard *g)
{
	struct sigaction sa = { .sa_handler = SIG_IGN };

	if (!g->ready)
		return;
	(void)timer_delete(g->timer);
	/* SIG_IGN first: it discards an expiry that is still pending. */
	(void)sigaction(g->signo, &sa, NULL);
	sa.sa_handler = SIG_DFL;
	(void)sigaction(g->signo, &sa, NULL);
	g->ready = false;
}

/* The timer repeats, because its first expiry may come before the call has begun to wait. */
static void guard_arm(struct pump_guard *g, bool on)
{
	struct itimerspec its = { 0 };

	if (on) {
		its.it_value.tv_nsec = GUARD_NS;
		its.it_interval.tv_nsec = GUARD_NS;
	}
	(void)timer_settime(g->timer, 0, &its, NULL);
}

static ssize_t far_guarded(struct pump *p, char *buf, size_t len)
{
	ssize_t n;
	int saved;

	if (guard_make(p->guard) != 0) {
		/* Not EAGAIN, which would mean "try again". */
		errno = ENOBUFS;
		return -1;
	}
	guard_arm(p->guard, true);
	/* PIPE_BUF bytes fit when poll(2) says that there is room, if nobody else writes. */
	n = p->input ? read(p->far, buf, len) : write(p->far, buf, len > PIPE_BUF ? PIPE_BUF : len);
	saved = errno;
	guard_arm(p->guard, false);
	errno = saved;
	return n;
}

/* One read or write on the caller's descriptor: bytes moved, or -1 with errno. EAGAIN and EINTR
 * mean: ask poll(2) again. */
static ssize_t far_move(struct pump *p, char *buf, size_t len)
{
	struct iovec iov = { .iov_base = buf, .iov_len = len };
	ssize_t n;

	switch (p->far_kind) {
	case PUMP_FAR_NONE:
		break;
	case PUMP_FAR_REGULAR:
		return p->input ? read(p->far, buf, len) : write(p->far, buf, len);
	case PUMP_FAR_SOCKET:
		/* recv(2) has no room for control data: the kernel closes a descriptor that was
		 * sent along, it reaches neither us nor the command. */
		return p->input ? recv(p->far, buf, len, MSG_DONTWAIT)
				: send(p->far, buf, len, MSG_DONTWAIT | MSG_NOSIGNAL);
	case PUMP_FAR_STREAM:
		if (p->no_nowait)
			return far_guarded(p, buf, len);
		n = p->input ? preadv2(p->far, &iov, 1, -1, RWF_NOWAIT)
			     : pwritev2(p->far, &iov, 1, -1, RWF_NOWAIT);
		if (n < 0 && errno == EOPNOTSUPP) {
			p->no_nowait = true;
			errno = EAGAIN;
		}
		return n;
	}
	errno = EBADF;
	return -1;
}

static bool is_retry(int errnum)
{
	return errnum == EAGAIN || errnum == EINTR;
}

/* How much of what was just read may go on. */
static size_t pump_account(struct pump *p, size_t n)
{
	struct pump_budget *b = p->budget;

	if (b == NULL)
		return n;
	b->seen += n;
	if (!b->limited)
		return n;
	if (n > b->left) {
		b->omitted += n - b->left;
		n = (size_t)b->left;
		b->truncated = true;
	}
	b->left -= n;
	return n;
}

static void watch_talk(const struct pump *p, size_t len)
{
	if (p->talk == NULL)
		return;
	if (p->input)
		talk_typed(p->talk, p->buf, len);
	else
		talk_shown(p->talk, p->buf, len);
}

static bool hung_up(int fd)
{
	struct pollfd pfd = { .fd = fd };

	return poll(&pfd, 1, 0) == 1 && (pfd.revents & (POLLHUP | POLLERR | POLLNVAL)) != 0;
}

static bool pump_fill(struct pump *p)
{
	size_t want = PUMP_BUF_SIZE;
	ssize_t n;

	/* Many a command says nothing. */
	if (p->buf == NULL)
		p->buf = heap_alloc(1, PUMP_BUF_SIZE);
	if (p->last_bytes && want > p->remaining)
		want = p->remaining;
	n = p->input ? far_move(p, p->buf, want) : read(p->near, p->buf, want);
	if (n < 0 && is_retry(errno)) {
		/* The writers are dead: an empty pipe stays empty. */
		if (p->last_bytes && errno == EAGAIN)
			pump_close(p);
		return false;
	}
	/* Modes that somebody set behind our back make a ^D an end of file. */
	if (n == 0 && p->input && p->pty && !hung_up(p->far))
		return false;
	if (n <= 0) {
		/* EIO is a terminal that hung up; all that matters is that no more will come. */
		if (n < 0 && errno != EIO)
			p->errnum = errno;
		pump_close(p);
		return false;
	}
	p->start = 0;
	p->len = pump_account(p, (size_t)n);
	watch_talk(p, p->len);
	if (p->last_bytes)
		p->remaining -= (size_t)n;
	if (p->far_kind == PUMP_FAR_NONE) {
		strbuf_add(p->sink, p->buf, p->len);
		p->len = 0;
	}
	return true;
}

static bool pump_drain(struct pump *p)
{
	char *at = p->buf + p->start;
	ssize_t n = p->input ? write(p->near, at, p->len) : far_move(p, at, p->len);

	if (n < 0) {
		if (is_retry(errno))
			return false;
		/* Who reads has left: the other side learns of it as it would without us. Any
		 * other cause (a full disk) has lost bytes, and that must be told. */
		if (errno != EPIPE && errno != ECONNRESET)
			p->errnum = errno;
		pump_close(p);
		return false;
	}
	p->start += (size_t)n;
	p->len -= (size_t)n;
	return n > 0;
}

static void pump_settle(struct pump *p)
{
	if (p->last_bytes && p->remaining == 0 && p->len == 0)
		pump_close(p);
}

bool pump_move(struct pump *p)
{
	bool moved;

	if (pump_done(p))
		return false;
	if (p->len > 0) {
		moved = pump_drain(p);
		pump_settle(p);
		return moved;
	}
	moved = pump_fill(p);
	/* Where a write cannot block, it need not be announced by poll(2) first. */
	if (p->len > 0 && (p->input || (p->far_kind == PUMP_FAR_STREAM && !p->no_nowait) ||
			   p->far_kind == PUMP_FAR_SOCKET || p->far_kind == PUMP_FAR_REGULAR))
		(void)pump_drain(p);
	pump_settle(p);
	return moved;
}

void pump_finish(struct pump *p)
{
	int n = 0;

	if (pump_done(p))
		return;
	if (p->input || (!p->pty && (ioctl(p->near, FIONREAD, &n) != 0 || n < 0))) {
		pump_close(p);
		return;
	}
	p->last_bytes = true;
	/* Of a pty the count leaves out what is still on its way; reading does not. */
	p->remaining = p->pty ? PTY_HOLDS : (size_t)n;
	pump_settle(p);
}
