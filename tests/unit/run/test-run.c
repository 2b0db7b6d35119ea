/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Whole runs of a small plan: status, output, limits, attachments, what is refused. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "box.h"

static const struct {
	const char *script;
	enum outcome_status status;
	int exit_code, signal, rc;
} ends[] = {
	{ "exit 0", OUTCOME_EXITED, 0, 0, 0 },
	{ "exit 5", OUTCOME_EXITED, 5, 0, 5 },
	{ "exit 125", OUTCOME_EXITED, 125, 0, 125 },
	{ "exit 255", OUTCOME_EXITED, 255, 0, 255 },
	{ "kill -KILL $$", OUTCOME_SIGNALED, 0, SIGKILL, 137 },
	{ "kill -TERM $$", OUTCOME_SIGNALED, 0, SIGTERM, 143 },
	{ "kill -SEGV $$", OUTCOME_SIGNALED, 0, SIGSEGV, 139 },
};

static void test_ends(struct tap *t)
{
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		struct outcome o;
		struct box b;

		box_init(&b, ends[i].script);
		(void)box_run(&b, NULL, 0, &o);
		tap_ok(t,
		       o.status == ends[i].status && o.exit_code == ends[i].exit_code &&
			       o.signal == ends[i].signal && o.started && o.has_exit,
		       "%s: status %d exit %d signal %d", ends[i].script, (int)o.status,
		       o.exit_code, o.signal);
		tap_int(t, outcome_rc(&o), ends[i].rc, "its exit status");
		outcome_free(&o);
		box_free(&b);
	}
}

static const struct {
	const char *what, *exe;
	int exit_code;
} noexecs[] = {
	{ "absent", "/usr/bin/no-such-program-here", 127 },
	{ "not executable", "/usr/share/dict", 126 },
	{ "a directory", "/usr/bin", 126 },
	{ "a device", "/dev/null", 126 },
};

static void test_noexec(struct tap *t)
{
	for (size_t i = 0; i < ARRAY_SIZE(noexecs); i++) {
		struct outcome o;
		struct box b;

		if (i == 1 && access(noexecs[i].exe, F_OK) != 0)
			continue;
		box_init(&b, "");
		box_program(&b, noexecs[i].exe);
		(void)box_run(&b, NULL, 0, &o);
		tap_ok(t,
		       o.status == OUTCOME_NOEXEC && !o.started && o.err.set &&
			       strstr(o.err.msg, noexecs[i].exe) != NULL,
		       "%s: not started", noexecs[i].what);
		tap_int(t, outcome_rc(&o), noexecs[i].exit_code, "its exit status");
		outcome_free(&o);
		box_free(&b);
	}
}

static void test_output(struct tap *t)
{
	struct outcome o;
	struct box b;

	box_init(&b, "for i in 1 2 3; do echo out; echo err >&2; done; echo x > /dev/stderr");
	(void)box_run(&b, NULL, 0, &o);
	tap_str(t, strbuf_str(&o.output[0]), "out\nerr\nout\nerr\nout\nerr\nx\n",
		"both streams in order, and by name");
	tap_int(t, (long long)o.output_bytes, 26, "counted");
	tap_ok(t, !o.truncated, "whole");
	outcome_free(&o);
	b.opt.capture_split = true;
	(void)box_run(&b, NULL, 0, &o);
	tap_str(t, strbuf_str(&o.output[0]), "out\nout\nout\n", "apart: stdout");
	tap_str(t, strbuf_str(&o.output[1]), "err\nerr\nerr\nx\n", "apart: stderr");
	outcome_free(&o);
	box_free(&b);
}

/* stdout is a file of the host: pumped, all in order, and not reachable. */
static void test_pass_through(struct tap *t, uint64_t limit, size_t want)
{
	char name[] = "/tmp/agentbox-run.XXXXXX";
	FD_AUTO file = mkostemp(name, O_CLOEXEC);
	struct stat st = { 0 };
	struct outcome o;
	struct box b;

	box_init(&b,
		 "printf 12345; printf 67890 >&2; : > /proc/self/fd/1; readlink /proc/self/fd/1 "
		 ">/dev/null");
	b.opt.capture = false;
	b.opt.caller_stdio[1] = file;
	b.opt.caller_stdio[2] = file;
	b.plan.output_limited = limit > 0;
	b.plan.output_bytes = limit;
	(void)box_run(&b, NULL, 0, &o);
	(void)fstat(file, &st);
	tap_int(t, outcome_rc(&o), 0, "passed through: ends as it did");
	tap_int(t, st.st_size, (long long)want, "exactly so many bytes");
	tap_int(t, (long long)o.output_bytes, 10, "counted all");
	tap_ok(t, o.truncated == (want < 10), "truncated when it is so");
	outcome_free(&o);
	box_free(&b);
	(void)unlink(name);
}

static void test_stdin(struct tap *t)
{
	char name[] = "/tmp/agentbox-run.XXXXXX";
	FD_AUTO file = mkostemp(name, O_CLOEXEC);
	FD_AUTO dir = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct outcome o;
	struct box b;
	int p[2];

	(void)!write(file, "line\n", 5);
	(void)lseek(file, 0, SEEK_SET);
	box_init(&b, "cat; cat /dev/stdin; echo gone > /proc/self/fd/0; echo end");
	b.opt.caller_stdio[0] = file;
	(void)box_run(&b, NULL, 0, &o);
	tap_ok(t, strstr(strbuf_str(&o.output[0]), "line") == NULL, "stdin null: nothing is read");
	outcome_free(&o);
	b.opt.stdin_mode = RUN_STDIN_CALLER;
	(void)box_run(&b, NULL, 0, &o);
	tap_ok(t, strncmp(strbuf_str(&o.output[0]), "line\n", 5) == 0, "stdin from a file: read");
	tap_int(t, lseek(file, 0, SEEK_END), 5, "and it cannot be written");
	outcome_free(&o);
	if (pipe2(p, O_CLOEXEC) != 0)
		abort();
	(void)!write(p[1], "1\n2\n", 4);
	(void)close(p[1]);
	b.opt.caller_stdio[0] = p[0];
	box_free(&b);
	box_init(&b, "cat /dev/stdin");
	b.opt.stdin_mode = RUN_STDIN_CALLER;
	b.opt.caller_stdio[0] = p[0];
	(void)box_run(&b, NULL, 0, &o);
	tap_str(t, strbuf_str(&o.output[0]), "1\n2\n", "stdin from a pipe, opened by name");
	outcome_free(&o);
	(void)close(p[0]);
	b.opt.caller_stdio[0] = dir;
	(void)box_run(&b, NULL, 0, &o);
	tap_ok(t, o.status == OUTCOME_FAILED && o.err.code == ERR_REQUEST && outcome_rc(&o) == 125,
	       "stdin from a directory: refused");
	outcome_free(&o);
	box_free(&b);
	(void)unlink(name);
}

static void test_capture_limit(struct tap *t, uint64_t limit)
{
	struct outcome o;
	struct box b;

	/* 100000 bytes and more than a pipe holds. */
	box_init(&b, "printf '%0100000d' 1");
	b.plan.output_bytes = limit;
	(void)box_run(&b, NULL, 0, &o);
	tap_int(t, (long long)o.output[0].len, limit < 100000 ? (long long)limit : 100000,
		"kept up to the limit");
	tap_int(t, (long long)o.output_bytes, 100000, "counted to the end");
	tap_ok(t, o.truncated == (limit < 100000), "truncated: %d", o.truncated);
	tap_int(t, outcome_rc(&o), 0, "the command is not disturbed");
	outcome_free(&o);
	box_free(&b);
}

/* --- the end of everything inside --- */

/* A time to sleep that no other test sleeps. */
static const char *needle(char buf[32])
{
	(void)snprintf(buf, 32, "1000.%d25", (int)getpid());
	return buf;
}

/* Longer than the start of a command takes on a loaded machine. */
#define TIMEOUT_MS 2000

static void test_timeout(struct tap *t)
{
	char script[256], n[32];
	struct outcome o;
	struct box b;

	(void)snprintf(script, sizeof(script),
		       "trap '' TERM; n=%s; setsid sh -c \"trap '' TERM; while :; do sleep $n; "
		       "done\" & echo up; while :; do sleep $n; done",
		       needle(n));
	box_init(&b, script);
	b.plan.timeout_ms = TIMEOUT_MS;
	(void)box_run(&b, NULL, 0, &o);
	tap_ok(t, o.status == OUTCOME_LIMIT && o.timed_out && !o.has_exit && o.started,
	       "TERM ignored: killed after the grace time");
	tap_str(t, o.limit, "timeout", "names the limit");
	tap_int(t, outcome_rc(&o), 124, "exit status");
	tap_ok(t, o.wall_ms >= TIMEOUT_MS + 290, "after timeout and grace: %llu ms",
	       (unsigned long long)o.wall_ms);
	tap_ok(t, box_find(n) < 0, "nothing is left");
	outcome_free(&o);
	box_free(&b);

	box_init(&b, "trap 'echo bye; exit 0' TERM; echo up; while :; do sleep 0.05; done");
	b.plan.timeout_ms = TIMEOUT_MS;
	(void)box_run(&b, NULL, 0, &o);
	tap_ok(t, o.status == OUTCOME_LIMIT && o.has_exit && o.exit_code == 0,
	       "exit 0 in the grace time is still the limit's end");
	tap_ok(t, strstr(strbuf_str(&o.output[0]), "bye\n") != NULL, "it could say good-bye");
	tap_int(t, outcome_rc(&o), 124, "exit status");
	outcome_free(&o);
	box_free(&b);

	box_init(&b, "exit 4");
	b.plan.timeout_ms = 60000;
	(void)box_run(&b, NULL, 0, &o);
	tap_ok(t, o.status == OUTCOME_EXITED && o.limit == NULL && o.exit_code == 4,
	       "an end in time is no timeout");
	outcome_free(&o);
	box_free(&b);
}

/* Background processes neither outlive the command nor hold the pipes. */
static void test_daemons(struct tap *t)
{
	char script[256], n[32];
	long long began;
	struct outcome o;
	struct box b;

	(void)snprintf(script, sizeof(script),
		       "for i in 1 2 3 4 5; do setsid sh -c 'trap \"\" TERM HUP; sleep %s' & done; "
		       "sleep 0.1; echo done; exit 6",
		       needle(n));
	box_init(&b, script);
	began = box_now_ms();
	(void)box_run(&b, NULL, 0, &o);
	tap_ok(t, box_now_ms() - began < BOX_WAIT_MS, "returns at once");
	tap_int(t, outcome_rc(&o), 6, "with the command's status");
	tap_str(t, strbuf_str(&o.output[0]), "done\n", "with its output");
	tap_ok(t, box_find(n) < 0, "nothing is left");
	outcome_free(&o);
	box_free(&b);
}

static void test_orphans(struct tap *t)
{
	struct outcome o;
	struct box b;

	box_init(&b, "i=0; while [ $i -lt 300 ]; do (true &) ; i=$((i+1)); done; exit 9");
	(void)box_run(&b, NULL, 0, &o);
	tap_int(t, outcome_rc(&o), 9, "300 orphans: the command's own status");
	outcome_free(&o);
	box_free(&b);
}

/* The caller ignores CHLD and PIPE, blocks signals, and has a child of its own. */
static void test_caller_state(struct tap *t)
{
	pid_t stranger = fork();
	sigset_t mask, got;
	struct outcome o;
	struct box b;

	if (stranger == 0) {
		box_sleep_ms(30);
		_exit(3);
	}
	(void)signal(SIGPIPE, SIG_IGN);
	sigemptyset(&mask);
	sigaddset(&mask, SIGTERM);
	(void)sigprocmask(SIG_BLOCK, &mask, NULL);
	box_init(&b, "sleep 0.1; grep -E 'Sig(Blk|Ign)' /proc/self/status; exit 5");
	(void)box_run(&b, NULL, 0, &o);
	tap_int(t, outcome_rc(&o), 5, "a stranger's end is not the command's");
	tap_str(t, strbuf_str(&o.output[0]),
		"SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n",
		"no mask and nothing ignored inside");
	(void)sigprocmask(SIG_SETMASK, NULL, &got);
	tap_ok(t, sigismember(&got, SIGTERM) == 1 && sigismember(&got, SIGINT) == 0,
	       "the mask is as it was");
	tap_int(t, waitpid(stranger, NULL, 0), stranger, "the stranger is still ours to reap");
	outcome_free(&o);
	(void)signal(SIGCHLD, SIG_IGN);
	(void)box_run(&b, NULL, 0, &o);
	tap_int(t, outcome_rc(&o), 5, "CHLD ignored by the caller");
	tap_ok(t, signal(SIGCHLD, SIG_DFL) == SIG_IGN, "and still ignored afterwards");
	(void)signal(SIGPIPE, SIG_DFL);
	(void)sigprocmask(SIG_UNBLOCK, &mask, NULL);
	outcome_free(&o);
	box_free(&b);
}

/* --- the sources are what they were --- */

enum change { CHANGE_MOUNT, CHANGE_INODE, CHANGE_DEVICE };

static void change(struct file_id *id, enum change what)
{
	switch (what) {
	case CHANGE_MOUNT:
		id->mnt_id++;
		break;
	case CHANGE_INODE:
		id->ino++;
		break;
	case CHANGE_DEVICE:
		id->dev_minor++;
		break;
	}
}

static void test_changed_source(struct tap *t, enum change what, const char *how)
{
	struct outcome o;
	struct box b;

	box_init(&b, "echo ran");
	change(&b.plan.sources[0].id, what);
	(void)box_run(&b, NULL, 0, &o);
	tap_ok(t, o.status == OUTCOME_FAILED && !o.started && o.output[0].len == 0,
	       "a source that %s: nothing runs", how);
	tap_ok(t, strstr(o.err.msg, "/usr") != NULL && strstr(o.err.msg, "changed while") != NULL,
	       "the message names it: %s", o.err.msg);
	tap_int(t, outcome_rc(&o), 125, "exit status");
	outcome_free(&o);
	box_free(&b);
}

static void test_build_failure(struct tap *t)
{
	struct outcome o;
	struct box b;

	box_init(&b, "echo ran");
	b.ops[0].at = "/no/such/parent";
	(void)box_run(&b, NULL, 0, &o);
	tap_ok(t,
	       o.status == OUTCOME_FAILED && o.err.code == ERR_HOST &&
		       strstr(o.err.msg, "/no/such/parent") != NULL,
	       "a step that fails is named: %s", o.err.msg);
	outcome_free(&o);
	box_free(&b);
}

/* --- attachments --- */

enum hook { HOOK_NONE, HOOK_PREPARE, HOOK_AFTER_CLONE, HOOK_EVENT, HOOK_SETTLED, HOOK_FINISH };

struct plug {
	char *log; /* shared by all */
	char name;
	enum hook fails;
	int event_fd;
	enum outcome_status seen;
};

static int plug_say(struct plug *p, char what, enum hook hook, struct err *err)
{
	size_t n = strlen(p->log);

	p->log[n] = what;
	p->log[n + 1] = p->name;
	p->log[n + 2] = '\0';
	if (p->fails == hook)
		return err_set(err, ERR_AUDIT, 0, "plug %c fails", p->name);
	return 0;
}

static int plug_prepare(void *ctx, struct err *err)
{
	return plug_say(ctx, 'p', HOOK_PREPARE, err);
}

static int plug_after_clone(void *ctx, const struct run_child *child, struct err *err)
{
	if (child->pid <= 0 || fcntl(child->pidfd, F_GETFD) < 0)
		return err_set(err, ERR_INTERNAL, 0, "no child");
	return plug_say(ctx, 'c', HOOK_AFTER_CLONE, err);
}

static int plug_event(void *ctx, uint32_t events, struct err *err)
{
	struct plug *p = ctx;
	char c;

	if ((events & 1) == 0 || read(p->event_fd, &c, 1) != 1)
		p->event_fd = -1;
	return plug_say(p, 'e', HOOK_EVENT, err);
}

static void plug_settled(void *ctx)
{
	struct err ignored;

	(void)!plug_say(ctx, 's', HOOK_SETTLED, &ignored);
}

static int plug_finish(void *ctx, const struct outcome *o, struct err *err)
{
	struct plug *p = ctx;

	p->seen = o->status;
	return plug_say(p, 'f', HOOK_FINISH, err);
}

static void test_attached(struct tap *t, enum hook fails, const char *want,
			  enum outcome_status status)
{
	char log[64] = "";
	struct plug plugs[3] = { { log, 'a', HOOK_NONE, -1, OUTCOME_LIMIT },
				 { log, 'b', fails, -1, OUTCOME_LIMIT },
				 { log, 'c', HOOK_NONE, -1, OUTCOME_LIMIT } };
	struct run_attachment at[3];
	const struct run_attachment *list[3];
	struct outcome o;
	struct box b;
	int p[2];

	if (pipe2(p, O_CLOEXEC) != 0)
		abort();
	if (fails == HOOK_EVENT)
		(void)!write(p[1], "x", 1);
	plugs[1].event_fd = p[0];
	for (size_t i = 0; i < 3; i++) {
		at[i] = (struct run_attachment){ .name = "plug",
						 .ctx = &plugs[i],
						 .prepare = plug_prepare,
						 .after_clone = plug_after_clone,
						 .event = plug_event,
						 .event_fd = &plugs[i].event_fd,
						 .settled = plug_settled,
						 .finish = plug_finish };
		list[i] = &at[i];
	}
	box_init(&b, fails == HOOK_EVENT ? "sleep 1000.75" : "echo ran");
	(void)box_run(&b, list, 3, &o);
	tap_str(t, log, want, "hooks in this order");
	tap_int(t, (int)o.status, (int)status, "status");
	tap_ok(t, plugs[0].seen == status, "finish sees the status");
	if (fails == HOOK_NONE)
		tap_str(t, strbuf_str(&o.output[0]), "ran\n", "it ran");
	else
		tap_ok(t,
		       o.err.set && strcmp(o.err.msg, "plug b fails") == 0 &&
			       (o.output[0].len == 0) == (fails != HOOK_FINISH),
		       "the error is the plug's, and nothing was done that was not: %s", o.err.msg);
	outcome_free(&o);
	box_free(&b);
	(void)close(p[0]);
	(void)close(p[1]);
}

static void left_settled(void *ctx)
{
	*(int *)ctx = box_find("1000.81");
}

/* Told of the end only when nothing that the command left runs, whether that was anything or not.
 */
static void test_settled(struct tap *t, const char *script, const char *said)
{
	int left = 0;
	const struct run_attachment at = { .name = "left", .ctx = &left, .settled = left_settled };
	const struct run_attachment *const list[] = { &at };
	struct outcome o;
	struct box b;

	box_init(&b, script);
	(void)box_run(&b, list, 1, &o);
	tap_str(t, strbuf_str(&o.output[0]), said, "it ran");
	tap_int(t, left, -1, "settled without anything left");
	outcome_free(&o);
	box_free(&b);
}

static int count_fds(void)
{
	int n = 0;

	for (int fd = 0; fd < 256; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

int main(void)
{
	struct tap t = { 0 };
	int fds;

	if (!box_usable(&t))
		return tap_done(&t);
	fds = count_fds();
	test_ends(&t);
	test_noexec(&t);
	test_output(&t);
	test_pass_through(&t, 0, 10);
	test_pass_through(&t, 9, 9);
	test_pass_through(&t, 10, 10);
	test_pass_through(&t, 11, 10);
	test_stdin(&t);
	test_capture_limit(&t, 99999);
	test_capture_limit(&t, 100000);
	test_capture_limit(&t, 100001);
	test_timeout(&t);
	test_daemons(&t);
	test_orphans(&t);
	test_caller_state(&t);
	test_changed_source(&t, CHANGE_MOUNT, "another mount covers");
	test_changed_source(&t, CHANGE_INODE, "is another file");
	test_changed_source(&t, CHANGE_DEVICE, "has its number on another device");
	test_build_failure(&t);
	test_settled(&t, "sleep 1000.81 & kill -0 $! && echo left", "left\n");
	test_settled(&t, "echo nobody", "nobody\n");
	test_attached(&t, HOOK_NONE, "papbpccacbccsasbscfcfbfa", OUTCOME_EXITED);
	test_attached(&t, HOOK_PREPARE, "papbfa", OUTCOME_FAILED);
	test_attached(&t, HOOK_AFTER_CLONE, "papbpccacbfcfbfa", OUTCOME_FAILED);
	test_attached(&t, HOOK_EVENT, "papbpccacbccebsasbscfcfbfa", OUTCOME_SIGNALED);
	test_attached(&t, HOOK_FINISH, "papbpccacbccsasbscfcfbfa", OUTCOME_EXITED);
	tap_int(&t, count_fds(), fds, "no descriptor is left open");
	tap_ok(&t, waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD, "no child is left");
	return tap_done(&t);
}
