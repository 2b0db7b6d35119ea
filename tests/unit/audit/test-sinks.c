/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <signal.h>

#include "audit-test.h"

/* As the caller of the program has it: not closed on exec. */
static void caller_pipe(int ret[2])
{
	if (pipe(ret) != 0)
		exit(99);
}

static int append(const char *dir, const struct audit_options *opt, size_t n,
		  struct audit_head *head, struct err *err)
{
	struct audit_record recs[3] = { { .request_id = "one" }, { .request_id = "two" }, { 0 } };
	struct audit *au = NULL;
	int r;

	*err = (struct err){ 0 };
	*head = (struct audit_head){ 0 };
	r = audit_open(dir, geteuid(), opt, &au, err);
	if (r == 0)
		r = audit_append(au, recs, n, head, err);
	audit_close(au);
	return r;
}

static void drain(int fd, struct strbuf *ret)
{
	char buf[65536];
	ssize_t n = read(fd, buf, sizeof(buf));

	ret->len = 0;
	strbuf_add(ret, buf, n > 0 ? (size_t)n : 0);
}

static void test_mirror(struct tap *t)
{
	ENV_AUTO e = { 0 };
	STRBUF_AUTO got = { 0 };
	STRBUF_AUTO file = { 0 };
	struct audit_head head;
	struct err err;
	int p[2], q[2], fds[2];
	struct audit_options opt = { .fds = fds, .n_fds = 2 };

	env_make(&e);
	caller_pipe(p);
	caller_pipe(q);
	fds[0] = p[1];
	fds[1] = q[1];
	tap_int(t, append(e.dir, &opt, 2, &head, &err), 0, "two sinks beside the file");
	file_read(e.log, &file);
	drain(p[0], &got);
	tap_ok(t, got.len > 0 && got.len == file.len && memcmp(got.buf, file.buf, got.len) == 0,
	       "take the very lines of the log");
	drain(q[0], &got);
	tap_ok(t, got.len == file.len && memcmp(got.buf, file.buf, got.len) == 0, "each of them");

	(void)close(q[0]);
	tap_ok(t, append(e.dir, &opt, 1, &head, &err) == -1 && err.errnum == EPIPE && head.seq == 3,
	       "one that nobody reads: refused, and no signal (%s)", err.msg);
	drain(p[0], &got);
	tap_ok(t, got.len > 0, "the ones before it have the record");
	(void)close(p[0]);
	(void)close(p[1]);
	(void)close(q[1]);
}

static void test_alone(struct tap *t)
{
	ENV_AUTO e = { 0 };
	STRBUF_AUTO got = { 0 };
	struct audit_head head;
	struct audit_verify v;
	struct err err;
	int p[2];
	struct audit_options opt = { .no_file = true, .fds = p + 1, .n_fds = 1 };

	env_make(&e);
	caller_pipe(p);
	tap_int(t, append("/proc/no/such", &opt, 2, &head, &err), 0, "no file, no directory");
	tap_int(t, (long long)head.seq, 2, "numbered from 1");
	drain(p[0], &got);
	file_write(e.log, got.buf, got.len);
	v = log_verify(e.log, &head);
	tap_ok(t, v.ok && v.head_found, "what was written verifies, with its head");
	(void)close(p[0]);
	(void)close(p[1]);
}

static void test_refused(struct tap *t)
{
	ENV_AUTO e = { 0 };
	struct audit_head head;
	struct err err;
	int p[2], fd;
	struct audit_options opt = { .fds = &fd, .n_fds = 1 };

	env_make(&e);
	caller_pipe(p);
	fd = 1000;
	tap_ok(t, append(e.dir, &opt, 1, &head, &err) == -1 && strstr(err.msg, "no such one"),
	       "one that is not open: %s", err.msg);
	fd = p[0];
	tap_ok(t, append(e.dir, &opt, 1, &head, &err) == -1 && strstr(err.msg, "written to"),
	       "one that is read from: %s", err.msg);
	fd = p[1];
	tap_int(t, append(e.dir, &opt, 1, &head, &err), 0, "one that is written to (control)");
	(void)fcntl(fd, F_SETFD, FD_CLOEXEC);
	tap_ok(t, append(e.dir, &opt, 1, &head, &err) == -1 && strstr(err.msg, "no such one"),
	       "one that the program itself opened: %s", err.msg);
	fd = open(e.log, O_PATH);
	tap_ok(t, append(e.dir, &opt, 1, &head, &err) == -1 && strstr(err.msg, "written to"),
	       "one that only names a file: %s", err.msg);
	(void)close(fd);
	fd = open("/dev/full", O_WRONLY);
	tap_ok(t, append(e.dir, &opt, 1, &head, &err) == -1 && err.errnum == ENOSPC,
	       "one without space: %s", err.msg);
	(void)close(fd);
	tap_int(t, (long long)log_verify(e.log, NULL).records, 2,
		"what could be known before is in no log");
	(void)close(p[0]);
	(void)close(p[1]);
}

/* More than a pipe holds, to a reader that takes its time. */
static void test_slow(struct tap *t)
{
	ENV_AUTO e = { 0 };
	static char fill[60000];
	struct audit_head head = { 0 };
	struct audit *au = NULL;
	struct err err = { 0 };
	int p[2], status = -1;
	struct audit_options opt = { .fds = p + 1, .n_fds = 1 };
	pid_t pid;

	env_make(&e);
	caller_pipe(p);
	memset(fill, 'f', sizeof(fill) - 1);
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		char buf[4096];
		size_t sum = 0;
		ssize_t n;

		(void)close(p[1]);
		while ((n = read(p[0], buf, sizeof(buf))) > 0)
			sum += (size_t)n;
		_exit(sum > 3 * (sizeof(fill) - 1) ? 0 : 1);
	}
	{
		JSON_AUTO *extra = json_pack("{s:s}", "argv", fill);
		struct audit_record recs[3] = { { .extra = extra },
						{ .extra = extra },
						{ .extra = extra } };

		tap_ok(t,
		       audit_open(e.dir, geteuid(), &opt, &au, &err) == 0 &&
			       audit_append(au, recs, 3, &head, &err) == 0,
		       "lines longer than a pipe holds: %s", err.msg);
	}
	audit_close(au);
	(void)close(p[1]);
	(void)close(p[0]);
	(void)waitpid(pid, &status, 0);
	tap_int(t, status, 0, "and all of them came");
}

int main(void)
{
	struct tap t = { 0 };

	test_mirror(&t);
	test_alone(&t);
	test_refused(&t);
	test_slow(&t);
	return tap_done(&t);
}
