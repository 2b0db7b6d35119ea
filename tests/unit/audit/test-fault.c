/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <time.h>

#include "audit-test.h"

/* A file may not grow past @bytes: write(2) is then short, or fails with EFBIG. */
static void limit_files(rlim_t bytes)
{
	struct rlimit rl;

	(void)getrlimit(RLIMIT_FSIZE, &rl);
	rl.rlim_cur = bytes == 0 ? rl.rlim_max : bytes;
	if (setrlimit(RLIMIT_FSIZE, &rl) != 0)
		exit(99);
}

static void test_full(struct tap *t)
{
	ENV_AUTO e = { 0 };
	STRBUF_AUTO before = { 0 };
	STRBUF_AUTO after = { 0 };
	struct err err = { 0 };
	size_t wrong = 0;

	env_make(&e);
	for (int i = 0; i < 20; i++)
		(void)log_add(e.dir, "x", &err);
	file_read(e.log, &before);
	tap_ok(t, before.len > 4096, "a log of %zu bytes", before.len);
	for (size_t room = 0; room < 300; room += 7) {
		uint64_t seq;

		limit_files(before.len + room);
		seq = log_add(e.dir, "y", &err);
		limit_files(0);
		file_read(e.log, &after);
		if (seq != 0 || err.code != ERR_AUDIT || after.len != before.len ||
		    memcmp(after.buf, before.buf, before.len) != 0) {
			wrong++;
			printf("# room %zu: %s\n", room, err.msg);
		}
	}
	tap_int(t, (long long)wrong, 0, "no room: an error, and the file is as it was");
	printf("# %s\n", err.msg);
	tap_int(t, (long long)log_add(e.dir, "z", &err), 21, "the same with room");
	tap_verified(t, e.log, 21, 0, "verified");
}

static void mark(const char *dir, const char *id)
{
	struct audit *au = NULL;
	struct err err = { 0 };

	if (audit_open(dir, geteuid(), NULL, &au, &err) != 0) {
		printf("# %s\n", err.msg);
		return;
	}
	audit_mark_lost(au, id);
	audit_close(au);
}

/* How many lines hold @text. */
static size_t lines_with(const struct log_env *e, const char *text)
{
	STRBUF_AUTO sb = { 0 };
	size_t n = 0;

	file_read(e->log, &sb);
	for (const char *p = strbuf_str(&sb); (p = strstr(p, text)) != NULL; p++)
		n++;
	return n;
}

static void test_lost(struct tap *t)
{
	ENV_AUTO e = { 0 };
	STRBUF_AUTO sb = { 0 };
	struct err err = { 0 };
	char longer[101];
	size_t len;

	env_make(&e);
	for (int i = 0; i < 20; i++)
		(void)log_add(e.dir, "x", &err);
	file_read(e.log, &sb);
	/* The disk is full when it matters. */
	limit_files(sb.len);
	mark(e.dir, "req-lost-1");
	mark(e.dir, "req-lost-2");
	tap_int(t, (long long)log_add(e.dir, "y", &err), 0, "still full: no record at all");
	limit_files(0);
	tap_int(t, (long long)log_add(e.dir, "z", &err), 23, "room again: the lost ones first");
	file_read(e.log, &sb);
	tap_ok(t,
	       strstr(line_at(&sb, 20, &len), "\"event\":\"lost\",\"layer\":null") != NULL &&
		       strstr(line_at(&sb, 20, &len), "\"request_id\":\"req-lost-1\"") != NULL,
	       "the first: %.*s", (int)len, line_at(&sb, 20, &len));
	tap_ok(t, strstr(line_at(&sb, 21, &len), "\"request_id\":\"req-lost-2\"") != NULL,
	       "the second");
	tap_int(t, (long long)lines_with(&e, "\"event\":\"lost\""), 2, "each once");
	tap_int(t, (long long)log_add(e.dir, "z", &err), 24, "and not again");
	memset(longer, 'i', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	mark(e.dir, longer);
	mark(e.dir, "\xff\n");
	(void)log_add(e.dir, "z", &err);
	longer[63] = '\0';
	tap_int(t, (long long)lines_with(&e, longer), 1, "an id too long for its slot is cut");
	tap_int(t, (long long)lines_with(&e, "{\"b64\":\"/wo=\"}"), 1, "any bytes do");
	tap_verified(t, e.log, 27, 0, "verified");
}

static void test_lost_many(struct tap *t)
{
	ENV_AUTO e = { 0 };
	struct err err = { 0 };
	char id[32];

	env_make(&e);
	for (int i = 0; i < 63; i++) {
		(void)snprintf(id, sizeof(id), "lost-%d.", i);
		mark(e.dir, id);
	}
	tap_int(t, (long long)log_add(e.dir, "x", &err), 64, "as many as there are slots");
	tap_int(t, (long long)lines_with(&e, "lost-62."), 1, "the last is named");
	for (int i = 0; i < 70; i++)
		mark(e.dir, "lost-again");
	tap_int(t, (long long)log_add(e.dir, "x", &err), 129, "more than there are slots");
	tap_int(t, (long long)lines_with(&e, "could not be noted"), 1, "the rest is said once");
	tap_verified(t, e.log, 129, 0, "verified");
}

/* In a child that is an ordinary user, so that modes bind. */
static int readonly_child(void)
{
	ENV_AUTO e = { 0 };
	struct err err = { 0 };
	STRBUF_AUTO before = { 0 };
	STRBUF_AUTO after = { 0 };

	if (become_ordinary() != 0)
		return CHILD_SKIP;
	env_make(&e);
	(void)chmod(e.dir, 0500);
	if (log_add(e.dir, "x", &err) != 0 || err.code != ERR_AUDIT || err.errnum != EACCES)
		return 2;
	printf("# %s\n", err.msg);
	(void)chmod(e.dir, 0700);
	if (log_add(e.dir, "x", &err) != 1)
		return 3;
	file_read(e.log, &before);
	(void)chmod(e.log, 0400);
	if (log_add(e.dir, "x", &err) != 0 || err.errnum != EACCES)
		return 4;
	printf("# %s\n", err.msg);
	file_read(e.log, &after);
	if (after.len != before.len)
		return 5;
	(void)chmod(e.log, 0600);
	return log_add(e.dir, "x", &err) == 2 ? 0 : 6;
}

static void test_replaced(struct tap *t)
{
	ENV_AUTO e = { 0 };
	struct audit *au = NULL;
	struct audit_record rec = { 0 };
	struct audit_head head = { 0 };
	struct err err = { 0 };
	char moved[160];

	env_make(&e);
	(void)snprintf(moved, sizeof(moved), "%s/moved", e.dir);
	tap_int(t, audit_open(e.dir, geteuid(), NULL, &au, &err), 0, "open");
	tap_int(t, audit_append(au, &rec, 1, &head, &err), 0, "first");
	tap_int(t, rename(e.log, moved), 0, "moved away");
	tap_int(t, audit_append(au, &rec, 1, &head, &err), 0, "next");
	tap_int(t, (long long)head.seq, 1, "in a new file");
	tap_verified(t, moved, 1, 0, "the old one");
	tap_verified(t, e.log, 1, 0, "the new one");
	(void)unlink(moved);
	audit_close(au);
}

/* @hold_ms: how long another process keeps the lock; -1: until it is killed. */
static uint64_t add_while_locked(const struct log_env *e, int hold_ms, struct err *err)
{
	FD_AUTO fd = open(e->log, O_RDWR | O_CLOEXEC);
	int ready[2];
	uint64_t seq;
	pid_t pid;
	char c;

	fd_close(&fd);
	if (pipe2(ready, O_CLOEXEC) != 0)
		return 0;
	pid = fork();
	if (pid == 0) {
		struct timespec ts = { hold_ms / 1000, hold_ms % 1000 * 1000000L };
		int mine = open(e->log, O_RDWR | O_CLOEXEC);

		if (flock(mine, LOCK_EX) != 0 || write(ready[1], "x", 1) != 1)
			_exit(1);
		if (hold_ms < 0)
			(void)pause();
		(void)nanosleep(&ts, NULL);
		_exit(0);
	}
	if (read(ready[0], &c, 1) != 1)
		printf("# the lock could not be taken\n");
	seq = log_add(e->dir, "x", err);
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
	(void)close(ready[0]);
	(void)close(ready[1]);
	return seq;
}

static void test_locked(struct tap *t)
{
	ENV_AUTO e = { 0 };
	struct err err = { 0 };
	struct timespec start, end;

	env_make(&e);
	(void)log_add(e.dir, "x", &err);
	tap_int(t, (long long)add_while_locked(&e, 100, &err), 2, "a lock held for 100 ms");
	(void)clock_gettime(CLOCK_MONOTONIC, &start);
	tap_int(t, (long long)add_while_locked(&e, -1, &err), 0, "a lock held for ever");
	(void)clock_gettime(CLOCK_MONOTONIC, &end);
	tap_ok(t, err.code == ERR_AUDIT && strstr(err.msg, "/proc/locks") != NULL, "is said: %s",
	       err.msg);
	tap_ok(t, end.tv_sec - start.tv_sec >= 9 && end.tv_sec - start.tv_sec <= 60,
	       "after ten seconds: %ld", (long)(end.tv_sec - start.tv_sec));
	tap_int(t, (long long)log_add(e.dir, "x", &err), 3, "and with the lock free");
	tap_verified(t, e.log, 3, 0, "verified");
}

int main(void)
{
	struct tap t = { 0 };

	(void)signal(SIGXFSZ, SIG_IGN);
	test_full(&t);
	test_lost(&t);
	test_lost_many(&t);
	tap_child(&t, readonly_child,
		  "directory or log not writable: refused, and accepted once it is");
	test_replaced(&t);
	test_locked(&t);
	return tap_done(&t);
}
