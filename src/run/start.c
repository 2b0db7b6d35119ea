/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* From clone to the order to start.
 *
 *   supervisor                               child
 *   clone, in the namespaces begun before    sources by path, device, inode, type
 *   id maps, IDS_WRITTEN (root caller) ----> identity, tree
 *   the network, NETWORK ------------------> joins it; privileges
 *   sources again, by mount id too           |
 *   after_clone of each attachment           |
 *   the terminal's modes <------------------ with a terminal: the master of a pty
 *   START ---------------------------------> the command, once every step is done
 *
 * Whatever fails before START ends the child; it waits for the exact token and knows no other
 * way on. The order waits in the socket until the child has done every step: neither side stands
 * still for the other, and a step that fails is reported to the loop. The mount ids are compared
 * here and not in the child because a clone of the mount namespace numbers its mounts anew; done
 * while the child builds, it costs no time. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <time.h>

#include "base/fd.h"
#include "run/blame.h"
#include "run/control.h"
#include "run/idmap.h"
#include "run/supervisor.h"
#include "sys/fs.h"

uint64_t supervisor_now_ms(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

bool supervisor_work_done(struct supervisor *s, const struct child_report *r)
{
	struct outcome_work *w = &s->o->work;

	if (s->plan->work.kind == PLAN_WORK_NONE || w->known || r->op >= CHILD_WORK_MAX ||
	    r->errnum < 0 || r->work_cut > 1)
		return false;
	*w = (struct outcome_work){ .known = true,
				    .phase = r->op,
				    .errnum = r->errnum,
				    .cut = r->work_cut != 0,
				    .bytes = r->work_bytes,
				    .size = r->work_size };
	return true;
}

int supervisor_step_failed(struct supervisor *s, const struct child_report *r, struct err *err)
{
	s->o->failure = (struct run_failure){ .place = blame_place(r->step), .step = r->step };
	(void)blame_step(err, s->plan, r);
	s->o->failure.errnum = err->errnum;
	return -1;
}

static int place_failed(struct supervisor *s, enum cause_place place, const struct err *err)
{
	s->o->failure = (struct run_failure){ .place = place, .errnum = err->errnum };
	return -1;
}

/* The child's own account of why it stopped is better than what we saw of it. */
static int child_gone(struct supervisor *s, struct err *err)
{
	struct child_report r;

	if (spawn_reap(&s->child, SUPERVISOR_KILL_MS, NULL) >= 0)
		fd_close(&s->child.pidfd);
	while (control_recv(s->child.control, &r) == 1)
		if (r.kind == CHILD_REPORT_FAILED)
			return supervisor_step_failed(s, &r, err);
	return err_set(err, ERR_HOST, 0,
		       "the first process of the sandbox ended while it was being built (killed "
		       "from outside, or out of memory)");
}

static int start_sent(struct supervisor *s, int r, struct err *err)
{
	if (r == -EPIPE || r == -ECONNRESET)
		return child_gone(s, err);
	if (r < 0)
		return err_set(err, ERR_HOST, -r, "cannot reach the first process of the sandbox");
	return 0;
}

static int start_order(struct supervisor *s, enum child_order_kind kind, struct err *err)
{
	return start_sent(s, control_send(s->child.control, kind, 0), err);
}

static int start_ids(struct supervisor *s, struct err *err)
{
	struct child_report r;

	/* The child maps its own id. */
	if (s->plan->ids.uid_map != NULL)
		return 0;
	if (idmap_write(s->child.pid, &s->plan->ids, err) == 0)
		return start_order(s, CHILD_ORDER_IDS_WRITTEN, err);
	(void)place_failed(s, CAUSE_IDS, err);
	/* The maps of a child that has ended cannot be written: what it says comes first. */
	if (control_recv(s->child.control, &r) == 1 && r.kind == CHILD_REPORT_FAILED)
		return supervisor_step_failed(s, &r, err);
	return -1;
}

/* After the ids, for which a root caller's child waits. */
static int start_network(struct supervisor *s, struct run_namespaces *namespaces, struct err *err)
{
	int net;

	if (run_namespaces_finish(namespaces, &net, err) != 0)
		return place_failed(s, CAUSE_CLONE, err);
	if (net < 0)
		return 0;
	return start_sent(s, control_send_passed(s->child.control, CHILD_ORDER_NETWORK, net), err);
}

static int start_check_sources(const struct supervisor *s, struct err *err)
{
	for (uint32_t i = 0; i < s->plan->n_sources; i++) {
		const struct plan_source *src = &s->plan->sources[i];
		struct file_id now;
		int r;

		/* A tree that is held already cannot change. */
		if (src->tree_fd >= 0)
			continue;
		r = sys_file_id(AT_FDCWD, src->path, AT_SYMLINK_NOFOLLOW, &now);
		if (r < 0 && r != -ENOENT && r != -ENOTDIR)
			return err_set(err, ERR_HOST, -r, "%s", src->path);
		if (r < 0 || !file_id_same(&now, &src->id) || now.mnt_id != src->id.mnt_id)
			return err_set(err, ERR_HOST, 0,
				       "%s: changed while the sandbox was being built; try again",
				       src->path);
	}
	return 0;
}

/* An attachment that a child leaves in the lurch fails; what the child said comes first. */
static int start_attachments(struct supervisor *s, struct err *err)
{
	struct run_child child = { .pid = s->child.pid, .pidfd = s->child.pidfd };
	struct child_report r;

	for (size_t i = 0; i < s->n_attached; i++) {
		const struct run_attachment *a = s->attached[i];

		if (a->after_clone == NULL || a->after_clone(a->ctx, &child, err) == 0)
			continue;
		if (control_recv(s->child.control, &r) == 1 && r.kind == CHILD_REPORT_FAILED)
			return supervisor_step_failed(s, &r, err);
		return -1;
	}
	return 0;
}

/* Return: whether something is there to be received. */
static bool wait_report(int fd)
{
	const uint64_t until = supervisor_now_ms() + SUPERVISOR_BUILD_MS;
	struct pollfd p = { .fd = fd, .events = POLLIN };
	uint64_t now = until - SUPERVISOR_BUILD_MS;

	/* One more look after the time is over: we may have been stopped meanwhile. */
	for (;;) {
		if (poll(&p, 1, now < until ? (int)(until - now) : 0) > 0)
			return true;
		if (now >= until)
			return false;
		now = supervisor_now_ms();
	}
}

/* What cannot be watched must not run. A child that fails before it has sent anything ends, and
 * what it said comes first. */
static int start_monitor(struct supervisor *s, struct err *err)
{
	struct child_report r;

	if (!s->plan->watched)
		return 0;
	if (!wait_report(s->child.watch))
		return err_set(err, ERR_HOST, ETIMEDOUT,
			       "the sandbox was not built within %d seconds",
			       SUPERVISOR_BUILD_MS / 1000);
	if (monitor_start(&s->monitor, s->child.watch, err) == 0)
		return 0;
	if (control_recv(s->child.control, &r) == 1 && r.kind == CHILD_REPORT_FAILED)
		return supervisor_step_failed(s, &r, err);
	return -1;
}

/* The last thing before the order to start: from here to the end the terminal is raw. */
static int start_terminal(struct supervisor *s, struct err *err)
{
	struct child_report r;
	int got, master = -1;

	if (s->io.terminal == 0)
		return 0;
	if (!wait_report(s->child.control))
		return err_set(err, ERR_HOST, ETIMEDOUT,
			       "the sandbox was not built within %d seconds",
			       SUPERVISOR_BUILD_MS / 1000);
	got = control_recv_terminal(s->child.control, &r, &master);
	if (got == -EPIPE)
		return child_gone(s, err);
	if (got == 1 && r.kind == CHILD_REPORT_FAILED)
		return supervisor_step_failed(s, &r, err);
	if (got != 1 || r.kind != CHILD_REPORT_TERMINAL) {
		fd_close(&master);
		return err_set(err, ERR_INTERNAL, EPROTO,
			       "init of the sandbox sent a wrong report");
	}
	if (tty_start(&s->tty, master, err) != 0)
		return -1;
	return stdfd_add_terminal(&s->io, s->opt, s->tty.master, &s->tty.talk, err);
}

static int start_steps(struct supervisor *s, struct run_namespaces *namespaces, struct err *err)
{
	if (start_ids(s, err) != 0 || start_network(s, namespaces, err) != 0 ||
	    start_check_sources(s, err) != 0 || start_attachments(s, err) != 0 ||
	    start_monitor(s, err) != 0 || start_terminal(s, err) != 0)
		return -1;
	return start_order(s, CHILD_ORDER_START, err);
}

static int start_in(struct supervisor *s, struct run_namespaces *namespaces, struct err *err)
{
	if (spawn_child(s->plan, namespaces, s->cgroup == NULL ? -1 : s->cgroup->in, s->io.child,
			s->io.terminal, &s->child, err) != 0)
		return place_failed(s, CAUSE_CLONE, err);
	stdfd_close_child(&s->io);
	if (start_steps(s, namespaces, err) == 0)
		return 0;
	if (s->child.pidfd >= 0) {
		spawn_kill(&s->child);
		(void)spawn_reap(&s->child, SUPERVISOR_KILL_MS, NULL);
	}
	return -1;
}

int start_child(struct supervisor *s, struct err *err)
{
	/* Where nobody could begin with the namespaces sooner. */
	struct run_namespaces *own =
		s->namespaces == NULL ? run_namespaces_begin(run_network_of(s->plan)) : NULL;
	int r;

	s->cloned_ms = supervisor_now_ms();
	r = start_in(s, own == NULL ? s->namespaces : own, err);
	run_namespaces_close(own);
	return r;
}
