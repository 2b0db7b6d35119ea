/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <signal.h>
#include <time.h>

#include "audit-test.h"
#include "audit/read.h"

#define BOUND   2000
#define WRITERS 32
#define RECORDS 25
#define KILLS   150

static const struct audit_options small = { .rotate = BOUND };

/* The head's seq, or 0 with *err set. */
static uint64_t add(const char *dir, const struct audit_options *opt, const char *id,
		    struct err *err)
{
	struct audit_record rec = { .event = AUDIT_DECISION,
				    .layer = AUDIT_LAYER_POLICY,
				    .decision = "allow",
				    .request_id = id };
	struct audit_head head = { 0 };
	struct audit *au = NULL;
	int r;

	*err = (struct err){ 0 };
	r = audit_open(dir, geteuid(), opt, &au, err);
	if (r == 0)
		r = audit_append(au, &rec, 1, &head, err);
	audit_close(au);
	return r == 0 ? head.seq : 0;
}

static uint64_t must_add(const char *dir, const char *id)
{
	struct err err;
	uint64_t seq = add(dir, &small, id, &err);

	if (seq == 0)
		printf("# %s\n", err.msg);
	return seq;
}

static struct audit_verify verify_dir(const char *dir, const struct audit_head *want,
				      const struct audit_head *from)
{
	const struct audit_verify_input in = { .want = want, .from = from };
	struct audit_verify v = { 0 };
	struct err err = { 0 };

	if (audit_verify_dir(dir, &in, &v, &err) != 0)
		(void)snprintf(v.reason, sizeof(v.reason), "%.150s", err.msg);
	return v;
}

static bool verified(struct tap *t, const char *dir, uint64_t files, const char *what)
{
	struct audit_verify v = verify_dir(dir, NULL, NULL);

	return tap_ok(t, v.ok && v.files == files && v.records == v.head.seq,
		      "%s (%llu files, %llu records, %s:%llu: %s)", what,
		      (unsigned long long)v.files, (unsigned long long)v.records, v.bad_file,
		      (unsigned long long)v.bad_line, v.reason);
}

static off_t size_of(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 ? st.st_size : -1;
}

static void aside_path(const struct log_env *e, uint64_t last, char ret[512])
{
	char name[NAME_MAX + 1];

	audit_aside_name(last, name);
	(void)snprintf(ret, 512, "%s/%s", e->dir, name);
}

/* Records until the next one has to go to a new file; the seq of the last. */
static uint64_t fill(const struct log_env *e)
{
	uint64_t seq = 0;

	do {
		seq = must_add(e->dir, "fill");
	} while (seq != 0 && size_of(e->log) < BOUND);
	return seq;
}

static void test_bound(struct tap *t)
{
	ENV_AUTO e = { 0 };
	STRBUF_AUTO sb = { 0 };
	struct audit_head kept = { 0 }, head = { 0 };
	struct audit_verify v;
	struct err err = { 0 };
	char path[512];
	uint64_t last;

	env_make(&e);
	last = fill(&e);
	tap_ok(t, last > 2 && verified(t, e.dir, 1, "up to the bound there is one file"),
	       "of %llu records", (unsigned long long)last);
	tap_int(t, audit_head_read_dir(e.dir, &kept, &err), 0, "its head");
	tap_int(t, (long long)must_add(e.dir, "over"), (long long)last + 2,
		"the next goes on, after a record of the new file");
	aside_path(&e, last, path);
	tap_ok(t, size_of(path) >= BOUND && size_of(path) < 2 * BOUND,
	       "the one before is aside, with %lld bytes", (long long)size_of(path));
	verified(t, e.dir, 2, "one chain over both");
	file_read(e.log, &sb);
	tap_ok(t, strstr(strbuf_str(&sb), "\"event\":\"rotated\",\"layer\":null") != NULL,
	       "the first line says so");
	v = verify_dir(e.dir, &kept, NULL);
	tap_ok(t, v.ok && v.head_found, "a head of the old file is found");
	kept.sha256[0] ^= 1;
	v = verify_dir(e.dir, &kept, NULL);
	tap_ok(t, !v.ok && !v.head_found, "and another than that is not");
	kept.sha256[0] ^= 1;

	v = log_verify(e.log, NULL);
	tap_ok(t, v.ok && v.before == last, "the new file by itself says what is before it");
	(void)unlink(path);
	v = verify_dir(e.dir, NULL, NULL);
	tap_ok(t, !v.ok && v.bad_line == 1, "the log without its first file is broken: %s",
	       v.reason);
	v = verify_dir(e.dir, NULL, &kept);
	tap_ok(t, v.ok && v.before == last, "unless it is told where that ended");
	v = verify_dir(e.dir, &kept, &kept);
	tap_ok(t, v.ok && v.head_found, "which may be the head that is looked for");
	kept.sha256[0] ^= 1;
	tap_ok(t, !verify_dir(e.dir, NULL, &kept).ok, "and told wrong it is");
	tap_int(t, (long long)must_add(e.dir, "on"), (long long)last + 3, "writers go on");
	tap_int(t, audit_head_read_dir(e.dir, &head, &err), 0, "head");
	tap_int(t, (long long)head.seq, (long long)last + 3, "of the new file");
}

/* What a writer that was killed can leave. */
static void test_gap(struct tap *t)
{
	ENV_AUTO e = { 0 };
	struct audit_head head = { 0 };
	struct err err = { 0 };
	STRBUF_AUTO sb = { 0 };
	char path[512];
	size_t bad = 0, len;
	uint64_t last;

	env_make(&e);
	last = fill(&e);
	aside_path(&e, last, path);
	(void)rename(e.log, path);
	verified(t, e.dir, 1, "put aside, and no new file yet");
	tap_int(t, audit_head_read_dir(e.dir, &head, &err), 0, "its head");
	tap_int(t, (long long)head.seq, (long long)last, "is that of the old one");
	tap_int(t, (long long)must_add(e.dir, "next"), (long long)last + 2, "the next goes on");
	verified(t, e.dir, 2, "in one chain");

	file_write(e.log, "", 0);
	tap_int(t, audit_head_read_dir(e.dir, &head, &err), 0, "a new file without a record");
	tap_int(t, (long long)head.seq, (long long)last, "the head is that of the old one");
	tap_int(t, (long long)must_add(e.dir, "next"), (long long)last + 2, "the next goes on");
	verified(t, e.dir, 2, "in one chain");

	/* The first lines of the new file, cut at each byte. */
	file_read(e.log, &sb);
	len = sb.len;
	for (size_t cut = 1; cut < len; cut++) {
		struct audit_verify v;

		file_write(e.log, sb.buf, cut);
		bad += must_add(e.dir, "after") == 0;
		v = verify_dir(e.dir, NULL, NULL);
		bad += !v.ok || v.files != 2;
	}
	tap_int(t, (long long)bad, 0, "its first lines may be cut off anywhere");

	/* A torn line is closed in its own file. */
	env_empty(&e);
	(void)fill(&e);
	file_read(e.log, &sb);
	file_write(e.log, sb.buf, sb.len - 9);
	tap_ok(t, size_of(e.log) > BOUND - 9 && must_add(e.dir, "closes") != 0, "a torn file");
	verified(t, e.dir, 1, "is closed first");
	(void)must_add(e.dir, "next");
	verified(t, e.dir, 2, "and then put aside");
}

static void test_in_the_way(struct tap *t)
{
	ENV_AUTO e = { 0 };
	struct err err;
	char path[512];
	uint64_t last;

	env_make(&e);
	last = fill(&e);
	aside_path(&e, last, path);
	file_write(path, "mine\n", 5);
	tap_ok(t, add(e.dir, &small, "x", &err) == 0 && strstr(err.msg, "move it away") != NULL,
	       "a file of that name is not overwritten: %s", err.msg);
	tap_int(t, (long long)size_of(path), 5, "it is as it was");
	tap_ok(t, add(e.dir, NULL, "x", &err) == last + 1, "without a bound it is not in the way");
	(void)unlink(path);
	aside_path(&e, 99, path);
	file_write(path, "mine\n", 5);
	file_write(e.log, "", 0);
	tap_ok(t, add(e.dir, &small, "x", &err) == 0 && strstr(err.msg, "is not a record") != NULL,
	       "nothing goes on from a file that is no log: %s", err.msg);
	if (geteuid() == 0)
		return;
	env_empty(&e);
	last = fill(&e);
	(void)chmod(e.dir, 0500);
	tap_ok(t, add(e.dir, &small, "x", &err) == last + 1,
	       "in a directory that is not to be written to, the file goes on");
}

static void writer(const char *dir, int me)
{
	char id[32];

	for (int i = 0; i < RECORDS; i++) {
		(void)snprintf(id, sizeof(id), "w%d.%d.", me, i);
		if (must_add(dir, id) == 0) {
			fflush(stdout);
			_exit(1);
		}
	}
	_exit(0);
}

static size_t missing_of(const struct log_env *e, size_t *ret_twice)
{
	struct arena a = { 0 };
	struct audit_reader *r = NULL;
	unsigned char seen[WRITERS * RECORDS] = { 0 };
	struct err err = { 0 };
	const char *line = NULL;
	size_t len, missing = 0;

	if (audit_read_dir(&a, e->dir, false, &r, &err) != 0)
		return SIZE_MAX;
	*ret_twice = 0;
	while (audit_read_next(r, &line, &len, &err) == 1) {
		char text[512];
		unsigned w, i;
		const char *id;

		(void)snprintf(text, sizeof(text), "%.*s", (int)len, line);
		id = strstr(text, "\"request_id\":\"w");
		if (id == NULL || sscanf(id, "\"request_id\":\"w%u.%u.", &w, &i) != 2 ||
		    w >= WRITERS || i >= RECORDS)
			continue;
		*ret_twice += seen[w * RECORDS + i]++;
	}
	for (size_t i = 0; i < sizeof(seen); i++)
		missing += seen[i] == 0;
	audit_read_close(r);
	arena_free(&a);
	return missing;
}

static void test_at_once(struct tap *t)
{
	ENV_AUTO e = { 0 };
	pid_t pids[WRITERS];
	struct audit_verify v;
	size_t twice = 0;
	int failed = 0;

	env_make(&e);
	fflush(stdout);
	for (int i = 0; i < WRITERS; i++) {
		pids[i] = fork();
		if (pids[i] == 0)
			writer(e.dir, i);
	}
	for (int i = 0; i < WRITERS; i++) {
		int status = -1;

		(void)waitpid(pids[i], &status, 0);
		failed += status != 0;
	}
	tap_int(t, failed, 0, "every writer wrote");
	v = verify_dir(e.dir, NULL, NULL);
	tap_ok(t, v.ok && v.files > 20, "one chain over %llu files (%s:%llu: %s)",
	       (unsigned long long)v.files, v.bad_file, (unsigned long long)v.bad_line, v.reason);
	tap_int(t, (long long)v.records, (long long)(WRITERS * RECORDS + v.files - 1),
		"no record more, none less");
	tap_int(t, (long long)missing_of(&e, &twice), 0, "each record of each writer");
	tap_int(t, (long long)twice, 0, "once");
}

static void endless(const char *dir)
{
	while (must_add(dir, "x") != 0)
		;
	fflush(stdout);
	_exit(1);
}

static void test_killed(struct tap *t)
{
	ENV_AUTO e = { 0 };
	unsigned seed = (unsigned)getpid();
	unsigned long long files = 0;
	int refused = 0, broken = 0;

	env_make(&e);
	printf("# seed %u\n", seed);
	fflush(stdout);
	for (int i = 0; i < KILLS; i++) {
		struct timespec nap = { 0, rand_r(&seed) % 3000000 };
		struct audit_verify v;
		pid_t pids[2];

		for (int k = 0; k < 2; k++) {
			pids[k] = fork();
			if (pids[k] == 0)
				endless(e.dir);
		}
		(void)nanosleep(&nap, NULL);
		for (int k = 0; k < 2; k++) {
			int status = 0;

			(void)kill(pids[k], SIGKILL);
			(void)waitpid(pids[k], &status, 0);
			refused += !WIFSIGNALED(status);
		}
		refused += must_add(e.dir, "after") == 0;
		v = verify_dir(e.dir, NULL, NULL);
		broken += !v.ok;
		if (!v.ok)
			printf("# kill %d: %s:%llu: %s\n", i, v.bad_file,
			       (unsigned long long)v.bad_line, v.reason);
		files = v.files;
	}
	tap_int(t, refused, 0, "no writer is refused by what a killed one left");
	tap_int(t, broken, 0, "the log verifies after each kill");
	tap_ok(t, files > 5, "over %llu files", files);
}

int main(void)
{
	struct tap t = { 0 };

	test_bound(&t);
	test_gap(&t);
	test_in_the_way(&t);
	test_at_once(&t);
	test_killed(&t);
	return tap_done(&t);
}
