/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <signal.h>
#include <time.h>

#include "audit-test.h"

#define WRITERS 32
#define RECORDS 50
#define KILLS   200

static void writer(const char *dir, int me)
{
	char id[32];

	for (int i = 0; i < RECORDS; i++) {
		struct err err = { 0 };

		(void)snprintf(id, sizeof(id), "w%d.%d.", me, i);
		if (log_add(dir, id, &err) == 0) {
			printf("# %s\n", err.msg);
			fflush(stdout);
			_exit(1);
		}
	}
	_exit(0);
}

static void test_at_once(struct tap *t)
{
	ENV_AUTO e = { 0 };
	STRBUF_AUTO sb = { 0 };
	pid_t pids[WRITERS];
	int failed = 0;
	size_t missing = 0;
	char id[64];

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
	tap_verified(t, e.log, (uint64_t)WRITERS * RECORDS, 0, "all in one chain");
	file_read(e.log, &sb);
	for (int i = 0; i < WRITERS * RECORDS; i++) {
		(void)snprintf(id, sizeof(id), "\"request_id\":\"w%d.%d.\"", i / RECORDS,
			       i % RECORDS);
		missing += strstr(strbuf_str(&sb), id) == NULL;
	}
	tap_int(t, (long long)missing, 0, "each record of each writer");
}

/* Large and small lines, for ever. */
static void endless(const char *dir, unsigned seed)
{
	static char fill[60000];

	memset(fill, 'f', sizeof(fill));
	for (;;) {
		JSON_AUTO *argv = json_stringn(fill, (size_t)rand_r(&seed) % sizeof(fill));
		JSON_AUTO *extra = json_pack("{s:O}", "argv", argv);
		struct audit_record recs[3] = { { .extra = extra }, { 0 }, { .extra = extra } };
		struct audit_head head;
		struct err err = { 0 };

		if (log_append(dir, recs, 3, &head, &err) != 0) {
			printf("# %s\n", err.msg);
			fflush(stdout);
			_exit(1);
		}
	}
}

static void test_killed(struct tap *t)
{
	ENV_AUTO e = { 0 };
	unsigned seed = (unsigned)getpid();
	unsigned long long recovered = 0, records = 0;
	int refused = 0, broken = 0;

	env_make(&e);
	printf("# seed %u\n", seed);
	fflush(stdout);
	for (int i = 0; i < KILLS; i++) {
		struct timespec nap = { 0, rand_r(&seed) % 4000000 };
		struct audit_verify v;
		struct err err = { 0 };
		pid_t pids[2];

		for (int k = 0; k < 2; k++) {
			pids[k] = fork();
			if (pids[k] == 0)
				endless(e.dir, (unsigned)rand_r(&seed) + (unsigned)k);
		}
		(void)nanosleep(&nap, NULL);
		for (int k = 0; k < 2; k++) {
			int status = 0;

			(void)kill(pids[k], SIGKILL);
			(void)waitpid(pids[k], &status, 0);
			refused += !WIFSIGNALED(status);
		}
		if (log_add(e.dir, "after", &err) == 0) {
			printf("# kill %d: %s\n", i, err.msg);
			refused++;
		}
		v = log_verify(e.log, NULL);
		broken += !v.ok;
		if (!v.ok)
			printf("# kill %d: line %llu: %s\n", i, (unsigned long long)v.bad_line,
			       v.reason);
		if (v.head.seq > 100 || i == KILLS - 1) {
			recovered += v.recovered;
			records += v.records;
			(void)unlink(e.log);
		}
	}
	tap_int(t, refused, 0, "no writer is refused by what a killed one left");
	tap_int(t, broken, 0, "the log verifies after each kill");
	tap_ok(t, records > KILLS, "%llu records, %llu torn lines closed", records, recovered);
}

int main(void)
{
	struct tap t = { 0 };

	test_at_once(&t);
	test_killed(&t);
	return tap_done(&t);
}
