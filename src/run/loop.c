/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Theory of operation.
 *
 *   RUNNING --(timeout, INT TERM HUP QUIT)--> TERM --(grace over, second signal)--> KILLED
 *      |                                       |                                      |
 *      +------------(EXITED, NOEXEC)-----------+--> ENDING --(init does not end)----->+
 *                                                     |                               |
 *                                                     +--------(pidfd readable)-------+--> FLUSH
 *
 * Only the pidfd says that the sandbox is gone: init is the last of its pid namespace to be
 * reported dead. What the command wrote is then in our pipes or was dropped, and FLUSH delivers
 * it. From every state a signal or a deadline leads on, so that nothing inside, no reader of the
 * output and no writer of the input can hold the loop for ever, with one exception: after a run
 * that no limit or signal ended, a slow reader is waited for, until a signal says otherwise.
 *
 * The clock. All deadlines are on l->clock, which counts while the supervisor runs: when SIGCONT
 * shows that it had been stopped since it last looked, the gap counts as one TICK. Therefore it
 * looks once a TICK while any deadline is set, and sleeps without end when none is. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#include "base/fd.h"
#include "base/heap.h"
#include "run/blame.h"
#include "run/control.h"
#include "run/limit.h"
#include "run/supervisor.h"

#define TICK_MS 250
/* Init ends itself at once after its report; then the kernel kills what is left. */
#define ENDING_MS 2000
/* After a limit or a signal: how long a reader of our output may take without reading. */
#define STALL_MS 5000

enum loop_state {
	LOOP_RUNNING = 0,
	LOOP_TERM,
	LOOP_ENDING,
	LOOP_KILLED,
	LOOP_FLUSH,
	LOOP_DONE,
};

/* Slots of the poll set; pumps and attachments follow. */
enum loop_slot {
	SLOT_CONTROL = 0,
	SLOT_PIDFD,
	SLOT_SIGNALS,
	SLOT_MONITOR,
	SLOT_PUMPS,
	SLOT_ATTACHED = SLOT_PUMPS + 3,
};

struct loop {
	struct supervisor *s;
	enum loop_state state;
	struct pollfd *fds; /* owned: SLOT_ATTACHED + n_attached */
	uint64_t clock;     /* ms of running time since the start */
	uint64_t looked;    /* CLOCK_MONOTONIC, when clock was last brought forward */
	uint64_t deadline;  /* on clock, of the state; 0: none */
	bool resumed;       /* SIGCONT came since */
	int signals[8];     /* read and not yet acted on, n_signals of them */
	unsigned n_signals;
	bool control_eof;
	bool killed;   /* by us */
	bool reported; /* EXITED, NOEXEC or FAILED came */
	struct child_report exited;
};

static void loop_enter(struct loop *l, enum loop_state state, uint64_t within_ms)
{
	l->state = state;
	/* 0 is "no deadline"; one that is due at once is due now. */
	l->deadline = l->clock + (within_ms == 0 ? 1 : within_ms);
}

static void loop_kill(struct loop *l)
{
	if (l->state >= LOOP_KILLED)
		return;
	spawn_kill(&l->s->child);
	run_cgroup_kill(l->s->cgroup);
	l->killed = true;
	loop_enter(l, LOOP_KILLED, SUPERVISOR_KILL_MS);
}

/* Ask the command to end; what still runs after its grace time is killed. */
static void loop_terminate(struct loop *l, int signo)
{
	if (control_send(l->s->child.control, CHILD_ORDER_SIGNAL, (uint32_t)signo) != 0) {
		loop_kill(l);
		return;
	}
	loop_enter(l, LOOP_TERM, l->s->plan->grace_ms);
}

static void loop_count(struct loop *l, uint64_t ms)
{
	l->clock += ms;
	l->looked = supervisor_now_ms();
}

/* --- reports of the child --- */

static void loop_protocol_error(struct loop *l)
{
	if (!l->s->o->err.set)
		(void)err_set(&l->s->o->err, ERR_INTERNAL, EPROTO,
			      "init of the sandbox sent a wrong report");
	loop_kill(l);
}

/* The command was stopped, and the sandbox with it: so are we; and, when it was the keyboard, our
 * process group, as if the command ran outside. Nothing inside reaches that group by itself, and a
 * stop of its own making takes none of its time away: it counts, and we wake for the end of it. */
static void loop_stopped(struct loop *l)
{
	struct talk *talk = &l->s->tty.talk;
	bool typed = talk_recent(talk->suspended_ms, TALK_KEY_MS);
	uint64_t timeout = typed ? 0 : l->s->plan->timeout_ms;
	uint64_t left = timeout > l->clock ? timeout - l->clock : 1;

	talk->suspended_ms = 0;
	if (l->state == LOOP_RUNNING) {
		tty_suspend(&l->s->tty, typed, timeout == 0 ? 0 : left);
		if (timeout != 0)
			loop_count(l, supervisor_now_ms() - l->looked);
	}
	if (control_send(l->s->child.control, CHILD_ORDER_RESUME, 0) != 0)
		loop_kill(l);
}

static void loop_ending(struct loop *l)
{
	l->reported = true;
	if (l->state < LOOP_ENDING)
		loop_enter(l, LOOP_ENDING, ENDING_MS);
}

static void loop_report(struct loop *l, const struct child_report *r)
{
	struct outcome *o = l->s->o;
	bool first = !o->started && !l->reported;

	switch (r->kind) {
	case CHILD_REPORT_EXEC:
		if (!first)
			break;
		o->started = true;
		if (l->state == LOOP_RUNNING)
			l->deadline = 0;
		return;
	case CHILD_REPORT_READY: /* built, and the order to start on its way */
		if (!first)
			break;
		return;
	case CHILD_REPORT_STOPPED:
		if (!o->started || l->s->tty.master < 0)
			break;
		loop_stopped(l);
		return;
	case CHILD_REPORT_NOEXEC:
		if (!first)
			break;
		o->status = OUTCOME_NOEXEC;
		o->exit_code = r->errnum == ENOENT ? 127 : 126;
		(void)blame_exec(&o->err, l->s->plan, r->errnum);
		loop_ending(l);
		return;
	case CHILD_REPORT_FAILED:
		if (!first)
			break;
		(void)supervisor_step_failed(l->s, r, &o->err);
		loop_ending(l);
		return;
	case CHILD_REPORT_WORK:
		if (!supervisor_work_done(l->s, r))
			break;
		return;
	case CHILD_REPORT_EXITED:
		if (!o->started || l->reported || !(WIFEXITED(r->status) || WIFSIGNALED(r->status)))
			break;
		l->exited = *r;
		loop_ending(l);
		/* While init ends, which takes the kernel its time. */
		if (r->alone == 1)
			supervisor_settled(l->s);
		return;
	default: /* other values do not get here */
		break;
	}
	loop_protocol_error(l);
}

static void loop_control(struct loop *l)
{
	struct child_report r;

	while (!l->control_eof && !l->reported) {
		int got = control_recv(l->s->child.control, &r);

		if (got == 0)
			return;
		if (got == 1) {
			loop_report(l, &r);
			continue;
		}
		l->control_eof = true;
		if (got != -EPIPE)
			loop_protocol_error(l);
	}
}

/* --- signals and time --- */

/* Return: whether that was all that @signo does. */
static bool loop_signal_passing(struct loop *l, int signo)
{
	switch (signo) {
	case SIGWINCH:
		tty_resize(&l->s->tty);
		return true;
	case SIGTSTP:
		tty_suspend(&l->s->tty, false, 0);
		return true;
	case SIGUSR1:
	case SIGUSR2:
		/* One that cannot be passed on now is lost, as signals are. */
		if (l->state < LOOP_ENDING)
			(void)!control_send(l->s->child.control, CHILD_ORDER_SIGNAL,
					    (uint32_t)signo);
		return true;
	default:
		return false;
	}
}

static void loop_signal(struct loop *l, int signo)
{
	if (loop_signal_passing(l, signo))
		return;
	if (l->s->o->got_signal == 0)
		l->s->o->got_signal = signo;
	if (signo == TTY_DEATH_SIGNAL) {
		loop_kill(l);
		return;
	}
	switch (l->state) {
	case LOOP_RUNNING:
		loop_terminate(l, signo);
		break;
	case LOOP_TERM:
		loop_kill(l);
		break;
	case LOOP_ENDING:
	case LOOP_KILLED:
		break;
	case LOOP_FLUSH: /* nobody is left to pass it on to: it means us */
		l->state = LOOP_DONE;
		break;
	case LOOP_DONE:
		break;
	}
}

/* What does not fit waits for the next turn. */
static void loop_read_signals(struct loop *l)
{
	int signo;

	while (l->n_signals < ARRAY_SIZE(l->signals) && (signo = signals_next(&l->s->signals)) != 0)
		if (signo == SIGCONT) {
			l->resumed = true;
			tty_resumed(&l->s->tty);
		} else {
			l->signals[l->n_signals++] = signo;
		}
}

static void loop_advance_clock(struct loop *l)
{
	uint64_t now = supervisor_now_ms();
	uint64_t gap = now - l->looked;

	if (gap > TICK_MS * 2)
		loop_read_signals(l);
	if (l->resumed && gap > TICK_MS)
		gap = TICK_MS;
	l->resumed = false;
	l->clock += gap;
	l->looked = now;
}

/* Read before the clock is brought forward, because SIGCONT bears on it, and acted on after: the
 * time that a signal leaves begins with it, however long the loop had slept. */
static void loop_clock_and_signals(struct loop *l, bool readable)
{
	if (readable)
		loop_read_signals(l);
	loop_advance_clock(l);
	for (unsigned i = 0; i < l->n_signals; i++)
		loop_signal(l, l->signals[i]);
	l->n_signals = 0;
}

static void loop_give_up(struct loop *l)
{
	if (!l->s->o->err.set)
		(void)err_set(&l->s->o->err, ERR_HOST, 0,
			      "a process of the sandbox cannot be killed (it waits in the kernel)");
	l->state = LOOP_DONE;
}

static void loop_deadlines(struct loop *l)
{
	uint64_t timeout = l->s->plan->timeout_ms;

	if (l->state == LOOP_RUNNING && timeout != 0 && l->clock >= timeout) {
		limit_reached(l->s, PLAN_LIMIT_TIMEOUT, l->clock);
		l->s->o->timed_out = true;
		loop_terminate(l, SIGTERM);
	}
	if (l->deadline == 0 || l->clock < l->deadline)
		return;
	switch (l->state) {
	case LOOP_DONE:
		break;
	case LOOP_RUNNING: /* the command is not there yet: only then is there a deadline */
		if (!l->s->o->err.set)
			(void)err_set(&l->s->o->err, ERR_HOST, ETIMEDOUT,
				      "the sandbox was not built within %d seconds",
				      SUPERVISOR_BUILD_MS / 1000);
		loop_kill(l);
		break;
	case LOOP_TERM:
	case LOOP_ENDING:
		loop_kill(l);
		break;
	case LOOP_KILLED:
		loop_give_up(l);
		break;
	case LOOP_FLUSH:
		if (!l->s->o->err.set)
			(void)err_set(&l->s->o->err, ERR_HOST, ETIMEDOUT,
				      "output was lost: nobody reads it");
		l->state = LOOP_DONE;
		break;
	}
}

/* How long poll(2) may sleep. */
static int loop_sleep_ms(const struct loop *l)
{
	uint64_t timeout = l->state == LOOP_RUNNING ? l->s->plan->timeout_ms : 0;
	uint64_t due = l->deadline;
	uint64_t left;

	if (timeout != 0 && (due == 0 || timeout < due))
		due = timeout;
	if (due == 0)
		return tty_away(&l->s->tty) ? TICK_MS : -1;
	left = due > l->clock ? due - l->clock : 0;
	return left < TICK_MS ? (int)left : TICK_MS;
}

/* --- the end --- */

static uint64_t timeval_us(const struct timeval *tv)
{
	return (uint64_t)tv->tv_sec * 1000000 + (uint64_t)tv->tv_usec;
}

static uint64_t max_u64(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* Init's report is exact but missing when it was killed; what the kernel says of init covers what
 * it had waited for. */
static void loop_usage(struct loop *l, const struct rusage *ru)
{
	const struct child_report *r = &l->exited;
	struct outcome *o = l->s->o;

	o->wall_ms = supervisor_now_ms() - l->s->cloned_ms;
	o->cpu_user_ms = max_u64(r->utime_us, timeval_us(&ru->ru_utime)) / 1000;
	o->cpu_sys_ms = max_u64(r->stime_us, timeval_us(&ru->ru_stime)) / 1000;
	o->max_rss_bytes =
		r->kind == CHILD_REPORT_EXITED ? r->max_rss_bytes : (uint64_t)ru->ru_maxrss * 1024;
	o->scratch_known = r->kind == CHILD_REPORT_EXITED && r->scratch_known != 0;
	o->scratch_bytes = r->scratch_bytes;
	o->scratch_files = r->scratch_files;
}

/* @status: init's own wait status. */
static void loop_verdict(struct loop *l, int status)
{
	struct outcome *o = l->s->o;

	if (l->exited.kind == CHILD_REPORT_EXITED) {
		bool signaled = WIFSIGNALED(l->exited.status);

		o->status = signaled ? OUTCOME_SIGNALED : OUTCOME_EXITED;
		o->signal = signaled ? WTERMSIG(l->exited.status) : 0;
		o->exit_code = signaled ? 0 : WEXITSTATUS(l->exited.status);
		o->has_exit = true;
		if (!l->killed)
			limit_of_exit(l->s, &l->exited);
	} else if (!l->reported) {
		/* The order to start went out: it may have run, so it counts as having run. */
		o->started = true;
		o->status = OUTCOME_SIGNALED;
		o->signal = WIFSIGNALED(status) ? WTERMSIG(status) : SIGKILL;
		if (!l->killed && o->limit == NULL && !o->err.set)
			(void)err_set(&o->err, ERR_HOST, 0,
				      "init of the sandbox was killed (from outside, or out of "
				      "memory)");
	}
	o->interrupt_typed = talk_recent(l->s->tty.talk.interrupted_ms, TALK_KEY_MS) &&
			     o->has_exit && o->signal == SIGINT;
	if (o->limit != NULL && (o->status == OUTCOME_EXITED || o->status == OUTCOME_SIGNALED))
		o->status = OUTCOME_LIMIT;
}

static void loop_gone(struct loop *l)
{
	struct rusage ru = { 0 };
	int status = spawn_reap(&l->s->child, 0, &ru);

	if (status < 0)
		return;
	/* Its last words may have come between the two looks. */
	loop_control(l);
	limit_of_kernel(l->s, l->exited.kind != CHILD_REPORT_EXITED && !l->killed);
	loop_verdict(l, status);
	loop_usage(l, &ru);
	for (size_t i = 0; i < l->s->io.n_pumps; i++)
		pump_finish(&l->s->io.pumps[i]);
	fd_close(&l->s->child.pidfd);
	l->state = LOOP_FLUSH;
	l->deadline = 0;
	if (l->s->o->limit != NULL || l->killed || l->s->o->got_signal != 0)
		loop_enter(l, LOOP_FLUSH, STALL_MS);
}

/* --- one turn --- */

static void slot_set(struct pollfd *slot, int fd)
{
	*slot = (struct pollfd){ .fd = fd, .events = POLLIN };
}

/* In the background what is typed is not for us. */
static bool loop_pump_waits(const struct supervisor *s, const struct pump *p)
{
	return !(p->input && p->pty && tty_away(&s->tty));
}

/* poll(2) passes over slots with a negative descriptor. */
static void loop_watch(struct loop *l)
{
	const struct supervisor *s = l->s;

	/* After its last report init has nothing more to say. */
	slot_set(&l->fds[SLOT_CONTROL], l->control_eof || l->reported ? -1 : s->child.control);
	slot_set(&l->fds[SLOT_PIDFD], s->child.pidfd);
	slot_set(&l->fds[SLOT_SIGNALS], s->signals.fd);
	slot_set(&l->fds[SLOT_MONITOR], s->child.pidfd < 0 ? -1 : s->monitor.timer);
	for (size_t i = 0; i < ARRAY_SIZE(s->io.pumps); i++)
		if (i >= s->io.n_pumps || !loop_pump_waits(s, &s->io.pumps[i]) ||
		    !pump_poll(&s->io.pumps[i], &l->fds[SLOT_PUMPS + i]))
			slot_set(&l->fds[SLOT_PUMPS + i], -1);
	for (size_t i = 0; i < s->n_attached; i++) {
		const int *fd = s->attached[i]->event_fd;

		slot_set(&l->fds[SLOT_ATTACHED + i], fd == NULL ? -1 : *fd);
	}
}

static void loop_monitor(struct loop *l)
{
	enum plan_limit which;
	uint64_t reached;

	if (l->fds[SLOT_MONITOR].revents == 0 || l->state >= LOOP_KILLED ||
	    !monitor_look(&l->s->monitor, &which, &reached))
		return;
	limit_reached(l->s, which, reached);
	loop_kill(l);
}

static void loop_attached(struct loop *l)
{
	struct supervisor *s = l->s;

	for (size_t i = 0; i < s->n_attached; i++) {
		const struct run_attachment *a = s->attached[i];
		uint32_t events = (uint16_t)l->fds[SLOT_ATTACHED + i].revents;
		struct err err = { 0 };

		/* The bits of poll(2) and epoll(7) are the same. */
		if (events == 0 || a->event == NULL || a->event(a->ctx, events, &err) == 0)
			continue;
		if (!s->o->err.set)
			s->o->err = err;
		loop_kill(l);
	}
}

/* At once and without a grace time: what is asked to end by a signal can write on meanwhile. */
static void loop_output_limit(struct loop *l)
{
	const struct supervisor *s = l->s;

	if (!s->plan->output_kill || !s->io.budget.truncated || s->o->limit != NULL)
		return;
	limit_reached(l->s, PLAN_LIMIT_OUTPUT, s->io.budget.seen);
	loop_kill(l);
}

static void loop_pumps(struct loop *l)
{
	bool moved = false;
	bool done = true;

	for (size_t i = 0; i < l->s->io.n_pumps; i++) {
		struct pump *p = &l->s->io.pumps[i];

		if (l->fds[SLOT_PUMPS + i].revents != 0)
			moved |= pump_move(p);
		done = done && pump_done(p);
		/* A terminal that hung up: the kernel tells only its own sessions. */
		if (p->pty && pump_done(p) && l->state == LOOP_RUNNING)
			loop_terminate(l, SIGHUP);
	}
	loop_output_limit(l);
	if (l->state != LOOP_FLUSH)
		return;
	if (done)
		l->state = LOOP_DONE;
	else if (moved && l->deadline != 0)
		loop_enter(l, LOOP_FLUSH, STALL_MS);
}

static void loop_turn(struct loop *l)
{
	tty_enter(&l->s->tty);
	loop_watch(l);
	if (poll(l->fds, SLOT_ATTACHED + l->s->n_attached, loop_sleep_ms(l)) < 0) {
		/* Only EINTR and ENOMEM are possible; neither has filled anything in. */
		loop_clock_and_signals(l, false);
		loop_deadlines(l);
		return;
	}
	loop_clock_and_signals(l, l->fds[SLOT_SIGNALS].revents != 0);
	if (l->fds[SLOT_CONTROL].revents != 0)
		loop_control(l);
	loop_attached(l);
	loop_monitor(l);
	/* Before the deadlines: an end that came in time is not late. */
	if (l->fds[SLOT_PIDFD].revents != 0)
		loop_gone(l);
	loop_pumps(l);
	loop_deadlines(l);
}

static void loop_lost_output(struct loop *l)
{
	for (size_t i = 0; i < l->s->io.n_pumps; i++) {
		const struct pump *p = &l->s->io.pumps[i];

		if (p->errnum != 0 && !l->s->o->err.set)
			(void)err_set(&l->s->o->err, ERR_HOST, p->errnum, "%s", p->name);
	}
	l->s->o->output_bytes = l->s->io.budget.seen;
	l->s->o->omitted_bytes = l->s->io.budget.omitted;
	l->s->o->truncated = l->s->io.budget.truncated;
	if (l->s->o->truncated && l->s->o->limit_which != PLAN_LIMIT_OUTPUT)
		l->s->o->felt |= 1U << PLAN_LIMIT_OUTPUT;
}

void loop_run(struct supervisor *s)
{
	struct loop l = { .s = s, .looked = supervisor_now_ms() };

	l.fds = heap_alloc(SLOT_ATTACHED + s->n_attached, sizeof(*l.fds));
	l.deadline = SUPERVISOR_BUILD_MS;
	while (l.state != LOOP_DONE)
		loop_turn(&l);
	supervisor_settled(s);
	loop_lost_output(&l);
	heap_free(l.fds);
}
