/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* audit-test - a log of its own for each test, and its bytes. */
#pragma once

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "audit/audit.h"
#include "base/fd.h"
#include "base/io.h"
#include "base/strbuf.h"
#include "tap.h"

/* The ordinary user that root becomes; no account is needed. */
#define ORDINARY 4242

#define CHILD_SKIP 77

/* In a child: give up root. Not possible where no other id is mapped. */
static inline int become_ordinary(void)
{
	if (geteuid() != 0)
		return 0;
	if (setresgid(ORDINARY, ORDINARY, ORDINARY) != 0 ||
	    setresuid(ORDINARY, ORDINARY, ORDINARY) != 0)
		return -1;
	/* Otherwise /proc/self stays root's. */
	return prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
}

/* Run @fn in a child; it returns 0 for success and CHILD_SKIP where it cannot run. */
static inline void tap_child(struct tap *t, int (*fn)(void), const char *what)
{
	int status = -1;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		int r = fn();

		fflush(stdout);
		_exit(r);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		status = -1;
	if (WIFEXITED(status) && WEXITSTATUS(status) == CHILD_SKIP)
		tap_skip(t, what, "no other user or no user namespace here");
	else
		tap_int(t, WIFEXITED(status) ? WEXITSTATUS(status) : status, 0, what);
}

struct log_env {
	char dir[64];
	char log[96];
	char lost[96];
};

/* In TMPDIR: a /tmp that is not root's own is no place for a log. */
static inline void env_make(struct log_env *e)
{
	const char *tmp = getenv("TMPDIR");

	(void)snprintf(e->dir, sizeof(e->dir), "%s/agentbox-audit-XXXXXX",
		       tmp != NULL ? tmp : "/tmp");
	if (mkdtemp(e->dir) == NULL) {
		perror(e->dir);
		exit(99);
	}
	(void)snprintf(e->log, sizeof(e->log), "%s/%s", e->dir, AUDIT_FILE);
	(void)snprintf(e->lost, sizeof(e->lost), "%s/audit.lost", e->dir);
}

/* All files of the log go. */
static inline void env_empty(struct log_env *e)
{
	DIR *d = opendir(e->dir);
	const struct dirent *f;

	while (d != NULL && (f = readdir(d)) != NULL)
		(void)unlinkat(dirfd(d), f->d_name, 0);
	if (d != NULL)
		(void)closedir(d);
}

static inline void env_free(struct log_env *e)
{
	if (e->dir[0] == '\0')
		return;
	(void)chmod(e->dir, 0700);
	env_empty(e);
	if (rmdir(e->dir) != 0)
		perror(e->dir);
}

#define ENV_AUTO CLEANUP(env_free) struct log_env

static inline void file_read(const char *path, struct strbuf *ret)
{
	FD_AUTO fd = open(path, O_RDONLY | O_CLOEXEC);
	char buf[8192];
	ssize_t n;

	ret->len = 0;
	while ((n = io_read_full(fd, buf, sizeof(buf))) > 0)
		strbuf_add(ret, buf, (size_t)n);
	if (n < 0) {
		perror(path);
		exit(99);
	}
}

static inline void file_write(const char *path, const char *text, size_t len)
{
	FD_AUTO fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0 || io_write_full(fd, text, len) != 0) {
		perror(path);
		exit(99);
	}
}

static inline size_t line_count(const struct strbuf *sb)
{
	size_t n = 0;

	for (size_t i = 0; i < sb->len; i++)
		n += sb->buf[i] == '\n';
	return n;
}

/* The line @i from 0, and its length without the newline. */
static inline const char *line_at(const struct strbuf *sb, size_t i, size_t *ret_len)
{
	const char *p = strbuf_str(sb);
	const char *nl;

	while (i-- > 0)
		p = strchr(p, '\n') + 1;
	nl = strchr(p, '\n');
	*ret_len = nl == NULL ? strlen(p) : (size_t)(nl - p);
	return p;
}

/* Open, append, close: what a run does. */
static inline int log_append(const char *dir, const struct audit_record *recs, size_t n,
			     struct audit_head *head, struct err *err)
{
	struct audit *au = NULL;
	int r = audit_open(dir, geteuid(), NULL, &au, err);

	if (r == 0)
		r = audit_append(au, recs, n, head, err);
	audit_close(au);
	return r;
}

/* One plain record; the head's seq, or 0 with *err set. */
static inline uint64_t log_add(const char *dir, const char *id, struct err *err)
{
	struct audit_record rec = { .event = AUDIT_DECISION,
				    .layer = AUDIT_LAYER_POLICY,
				    .decision = "allow",
				    .request_id = id,
				    .agent_id = "me",
				    .action = "run_command" };
	struct audit_head head = { 0 };

	*err = (struct err){ 0 };
	return log_append(dir, &rec, 1, &head, err) == 0 ? head.seq : 0;
}

static inline struct audit_verify log_verify(const char *path, const struct audit_head *want)
{
	const struct audit_verify_input in = { .want = want };
	struct audit_verify v = { 0 };
	struct err err = { 0 };

	if (audit_verify(path, &in, &v, &err) != 0)
		(void)snprintf(v.reason, sizeof(v.reason), "%.150s", err.msg);
	return v;
}

static inline bool tap_verified(struct tap *t, const char *path, uint64_t records,
				uint64_t recovered, const char *what)
{
	struct audit_verify v = log_verify(path, NULL);

	return tap_ok(t, v.ok && v.records == records && v.recovered == recovered,
		      "%s (records %llu of %llu, recovered %llu of %llu, line %llu: %s)", what,
		      (unsigned long long)v.records, (unsigned long long)records,
		      (unsigned long long)v.recovered, (unsigned long long)recovered,
		      (unsigned long long)v.bad_line, v.reason);
}
