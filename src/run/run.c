/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "run/run.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "run/supervisor.h"

static int run_die_with_caller(const struct run_options *opt, struct err *err)
{
	pid_t caller = getppid();

	if (prctl(PR_SET_PDEATHSIG, opt->terminal ? TTY_DEATH_SIGNAL : SIGKILL) != 0)
		return err_set(err, ERR_HOST, errno, "cannot ask to end with the caller");
	/* It may have ended before the kernel was asked. */
	if (getppid() != caller)
		return err_set(err, ERR_HOST, 0, "the calling process has ended");
	return 0;
}

static int run_prepare(struct supervisor *s, struct err *err)
{
	for (; s->n_prepared < s->n_attached; s->n_prepared++) {
		const struct run_attachment *a = s->attached[s->n_prepared];

		if (a->prepare != NULL && a->prepare(a->ctx, err) != 0)
			return -1;
	}
	return 0;
}

/* A plan is made for the cgroup that is there: without it, nothing would hold those limits. */
static int run_check_cgroup(const struct supervisor *s, struct err *err)
{
	bool have = s->cgroup != NULL && s->cgroup->fd >= 0;

	for (unsigned i = 0; i < PLAN_LIMIT_MAX; i++) {
		enum plan_mechanism m = s->plan->limits[i].mechanism;

		if ((m == PLAN_MECHANISM_CGROUP || m == PLAN_MECHANISM_SCOPE) && !have)
			return err_set(err, ERR_INTERNAL, 0, "the cgroup of the run is missing");
	}
	return 0;
}

static int run_start(struct supervisor *s, struct err *err)
{
	if (run_check_cgroup(s, err) != 0 || monitor_open(&s->monitor, s->plan, err) != 0 ||
	    run_prepare(s, err) != 0)
		return -1;
	if (stdfd_open(&s->io, s->plan, s->opt, s->o->output, err) != 0) {
		/* The one act of it that the host may refuse: pipes given to another user. */
		if (err->errnum == EPERM)
			s->o->failure = (struct run_failure){ .place = CAUSE_IDS, .errnum = EPERM };
		return -1;
	}
	if (start_child(s, err) == 0)
		return 0;
	stdfd_free(&s->io);
	return -1;
}

void supervisor_settled(struct supervisor *s)
{
	if (s->settled || !s->o->started)
		return;
	s->settled = true;
	for (size_t i = 0; i < s->n_attached; i++)
		if (s->attached[i]->settled != NULL)
			s->attached[i]->settled(s->attached[i]->ctx);
}

/* The reverse order: what was plugged in last may rest on what was there before it. */
static void run_finish(struct supervisor *s)
{
	while (s->n_prepared > 0) {
		const struct run_attachment *a = s->attached[--s->n_prepared];
		struct err err = { 0 };

		if (a->finish != NULL && a->finish(a->ctx, s->o, &err) != 0 && !s->o->err.set)
			s->o->err = err;
	}
}

int run_plan(const struct plan *plan, const struct run_options *opt,
	     const struct run_attachment *const *attachments, size_t n_attachments,
	     struct outcome *ret, struct err *err)
{
	struct supervisor s = { .plan = plan,
				.opt = opt,
				.attached = attachments,
				.n_attached = n_attachments,
				.child = { .pid = -1, .pidfd = -1, .control = -1, .watch = -1 },
				.cgroup = opt->cgroup,
				.namespaces = opt->namespaces,
				.monitor = MONITOR_NONE,
				.o = ret };

	*ret = (struct outcome){ 0 };
	tty_open(&s.tty, opt->terminal ? opt->caller_stdio[0] : -1, opt->die_with_caller);
	/* Stopped there, a signal ends us at once: nothing is built and nothing is raw. */
	if (opt->terminal && tty_wait_foreground(s.tty.far, err) != 0)
		return -1;
	if (opt->die_with_caller && run_die_with_caller(opt, err) != 0)
		return -1;
	/* From here on a signal is an event: the attachments are finished whatever comes. */
	if (signals_open(&s.signals, opt->terminal, err) != 0)
		return -1;
	if (run_start(&s, &ret->err) == 0) {
		loop_run(&s);
		stdfd_free(&s.io);
	}
	/* First of all that may take time, and before anything is printed. */
	tty_close(&s.tty);
	spawn_close(&s.child);
	monitor_close(&s.monitor);
	run_finish(&s);
	signals_close(&s.signals);
	return 0;
}
