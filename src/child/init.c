/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* init - start the command and stay as pid 1 until it ends.
 *
 * Init reaps, passes signals on and watches the control socket; limits, time and policy are the
 * supervisor's. When init ends, for whatever reason, the kernel ends everything inside. It has
 * the command's uid, no capability, and takes no input from inside but the ends of children. */
#include "child/ctx.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <sys/signalfd.h>
#include <sys/wait.h>

#include "sys/clone.h"
#include "sys/fs.h"
#include "sys/process.h"
#include "sys/sock.h"
#include "sys/tty.h"

#define SIGNAL_BIT(sig) (UINT64_C(1) << ((sig)-1))
#define FD_BIT(fd)      (UINT64_C(1) << (fd))

/* The frames of command_main() and its calls, which are small; the kernel builds the stack of
 * the new program elsewhere. */
#define COMMAND_STACK 8192

enum command_phase {
	COMMAND_SETUP = 0, /* ended here: no command */
	COMMAND_EXEC,      /* execve was called; with errnum 0 it did not return */
};

/* Shared between init and the command until execve. */
struct command {
	const struct child_ctx *ctx;
	volatile enum command_phase phase;
	volatile int errnum;
	volatile uint32_t op; /* index into plan.rlimits */
};

/* The plan says "at most": a caller that is bound more tightly stays so. The kernel refuses to
 * raise a hard limit (setrlimit(2)), so that the usual case is one call. */
int child_apply_rlimit(const struct plan_rlimit *lim)
{
	struct sys_rlimit now, want = { lim->soft, lim->hard };
	int r = sys_rlimit_set(lim->resource, &want);

	if (r != -EPERM)
		return r;
	r = sys_rlimit_get(lim->resource, &now);
	if (r < 0)
		return r;
	if (want.hard > now.hard)
		want.hard = now.hard;
	if (want.soft > want.hard)
		want.soft = want.hard;
	return sys_rlimit_set(lim->resource, &want);
}

static int restore_nofile(const struct child_ctx *ctx)
{
	struct sys_rlimit lim;
	int r;

	if (!ctx->nofile_raised)
		return 0;
	r = sys_rlimit_get(RLIMIT_NOFILE, &lim);
	if (r < 0)
		return r;
	lim.soft = ctx->nofile_soft;
	return sys_rlimit_set(RLIMIT_NOFILE, &lim);
}

/* Its own process group, so that a signal reaches it and its children and not init; and with a
 * pty the one in the foreground. TTOU is blocked still: a background group may do that then. */
static int command_group(const struct child_ctx *ctx)
{
	int r = sys_setpgid(0, 0);

	if (r < 0 || ctx->tty < 0)
		return r;
	return sys_tty_foreground(ctx->tty, sys_getpid());
}

static int command_setup(struct command *cmd)
{
	const struct plan *plan = cmd->ctx->plan;
	int r;

	r = command_group(cmd->ctx);
	if (r < 0)
		return r;
	r = restore_nofile(cmd->ctx);
	if (r < 0)
		return r;
	for (uint32_t i = 0; i < plan->n_rlimits; i++) {
		/* Init has it from before the filter. */
		if (plan->rlimits[i].resource == RLIMIT_CORE)
			continue;
		cmd->op = i;
		r = child_apply_rlimit(&plan->rlimits[i]);
		if (r < 0)
			return r;
	}
	/* With signals still blocked: one that ended this process here would pass for a step that
	 * failed. What comes after has to pass this filter, and no plan denies that; work of ours
	 * may need what commands are denied. */
	r = plan->work.kind == PLAN_WORK_NONE ? child_deny_calls(cmd->ctx) : 0;
	if (r < 0)
		return r;
	return sys_sigmask_set(0);
}

/* In memory shared with init, which stands still meanwhile: writes go to @arg alone. */
static void command_main(void *arg)
{
	struct command *cmd = arg;
	const struct plan *plan = cmd->ctx->plan;
	int r = command_setup(cmd);

	if (r == 0) {
		cmd->phase = COMMAND_EXEC;
		r = sys_execve(plan->exe, plan->argv, plan->envp);
	}
	cmd->errnum = -r;
	sys_exit_group(127);
}

/* The same for work of ours, which goes on in a copy of this program: init is free meanwhile. */
static int start_work(struct child_ctx *ctx)
{
	const struct child_report report = { .kind = CHILD_REPORT_EXEC, .step = CHILD_STEP_SPAWN };
	struct command cmd = { .ctx = ctx };
	long pid = sys_fork();
	int r;

	if (pid == 0)
		child_work(ctx, command_setup(&cmd));
	if (pid < 0)
		return (int)pid;
	r = child_send_report(ctx, &report);
	return r < 0 ? r : (int)pid;
}

/* Returns the command's pid once it runs. */
static int start_command(struct child_ctx *ctx)
{
	_Alignas(16) unsigned char stack[COMMAND_STACK];
	struct command cmd = { .ctx = ctx };
	struct child_report report = { .kind = CHILD_REPORT_EXEC, .step = CHILD_STEP_SPAWN };
	long pid;
	int r;

	pid = sys_vfork_fn(stack + sizeof(stack), command_main, &cmd);
	if (pid < 0)
		return (int)pid;
	ctx->op = cmd.op;
	if (cmd.phase == COMMAND_SETUP)
		return cmd.errnum != 0 ? -cmd.errnum : -ECHILD;
	if (cmd.errnum != 0) {
		report.kind = CHILD_REPORT_NOEXEC;
		report.errnum = cmd.errnum;
		child_end(ctx, &report, 127);
	}
	r = child_send_report(ctx, &report);
	return r < 0 ? r : (int)pid;
}

static _Noreturn void command_ended(const struct child_ctx *ctx, int status)
{
	struct child_report report = {
		.kind = CHILD_REPORT_EXITED,
		.step = CHILD_STEP_SPAWN,
		.status = status,
	};
	struct rusage ru;
	int ignored;

	/* Whatever is left inside is a child of ours, or a child's. One look: who leaves many
	 * behind must not keep us here. */
	report.alone = sys_wait_any(&ignored, false) == -ECHILD;
	if (sys_rusage_children(&ru) == 0) {
		report.utime_us =
			(uint64_t)ru.ru_utime.tv_sec * 1000000 + (uint64_t)ru.ru_utime.tv_usec;
		report.stime_us =
			(uint64_t)ru.ru_stime.tv_sec * 1000000 + (uint64_t)ru.ru_stime.tv_usec;
		report.max_rss_bytes = (uint64_t)ru.ru_maxrss * 1024;
	}
	/* In the same file system as the rest of the scratch. */
	if (sys_usage("/tmp", &report.scratch_bytes, &report.scratch_files) == 0)
		report.scratch_known = 1;
	child_end(ctx, &report, 0);
}

/* As a shell does, but for all that is inside: what runs on while the supervisor, and with it every
 * limit, stands still would be out of reach. */
static void command_stopped(const struct child_ctx *ctx, int command, int sig)
{
	struct child_report report = {
		.kind = CHILD_REPORT_STOPPED,
		.step = CHILD_STEP_SPAWN,
		.status = sig,
	};

	/* Not the keyboard: a program that took the foreground is gone and did not give it back. */
	if (sig == SIGTTIN || sig == SIGTTOU) {
		(void)sys_tty_foreground(ctx->tty, command);
		(void)sys_kill(-command, SIGCONT);
		return;
	}
	(void)sys_kill(-1, SIGSTOP);
	if (child_send_report(ctx, &report) < 0)
		sys_exit_group(125);
}

/* Reap whatever has ended; does not return when the command is among it. */
static void reap(const struct child_ctx *ctx, int command)
{
	int status, pid;

	while ((pid = sys_wait_any(&status, ctx->tty >= 0)) > 0) {
		if (pid != command)
			continue;
		if (!WIFSTOPPED(status))
			command_ended(ctx, status);
		command_stopped(ctx, command, WSTOPSIG(status));
	}
	/* The command is always there to be waited for until it is reaped above. */
	if (pid < 0)
		sys_exit_group(125);
}

static void take_order(const struct child_ctx *ctx, int command)
{
	struct child_order order = { 0 };

	/* End of file is the death of the supervisor; anything unknown is an end as well. */
	if (child_recv_order(ctx, &order) < 0)
		sys_exit_group(125);
	if (order.kind == CHILD_ORDER_RESUME && ctx->tty >= 0) {
		(void)sys_kill(-1, SIGCONT);
		return;
	}
	if (order.kind != CHILD_ORDER_SIGNAL || order.arg < 1 || order.arg > SYS_SIGNAL_MAX)
		sys_exit_group(125);
	/* The group may be empty while the command, a zombie, is about to be reaped. */
	(void)sys_kill(-command, (int)order.arg);
}

static _Noreturn void watch(const struct child_ctx *ctx, int signals, int command)
{
	struct signalfd_siginfo info;
	ssize_t r;

	for (;;) {
		uint64_t fds = FD_BIT(ctx->control) | FD_BIT(signals);

		if (sys_wait_readable(&fds) < 0)
			sys_exit_group(125);
		if ((fds & FD_BIT(signals)) != 0) {
			/* One reading stands for any number of children. */
			r = sys_read(signals, &info, sizeof(info));
			if (r < 0 && r != -EAGAIN)
				sys_exit_group(125);
			reap(ctx, command);
		}
		if ((fds & FD_BIT(ctx->control)) != 0)
			take_order(ctx, command);
	}
}

int child_spawn_command(struct child_ctx *ctx)
{
	int signals, command;

	/* Before the command: its end must not be missed. The supervisor blocked every signal
	 * before clone, and they stay blocked here. */
	signals = sys_signalfd(SIGNAL_BIT(SIGCHLD));
	if (signals < 0)
		return signals;
	/* Few are open here, and sys_wait_readable() knows no higher one. */
	if (ctx->control >= 64 || signals >= 64)
		return -EMFILE;
	command = ctx->plan->work.kind == PLAN_WORK_NONE ? start_command(ctx) : start_work(ctx);
	if (command < 0)
		return command;
	/* Init must not hold the pipes of the command open. */
	for (int fd = 0; fd < 3; fd++)
		(void)sys_close(fd);
	watch(ctx, signals, command);
}
