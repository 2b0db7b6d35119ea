/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "audit/read.h"

#include "audit-test.h"

struct room {
	struct log_env e;
	struct arena a;
	struct audit_reader *r;
	struct strbuf got; /* what was read, each line followed by ';' */
};

static void put(struct room *room, const char *name, const char *text)
{
	char path[512];

	(void)snprintf(path, sizeof(path), "%s/%s", room->e.dir, name);
	file_write(path, text, strlen(text));
}

static void drop(struct room *room, const char *name)
{
	char path[512];

	(void)snprintf(path, sizeof(path), "%s/%s", room->e.dir, name);
	(void)unlink(path);
}

static void put_aside(struct room *room, uint64_t last)
{
	char name[NAME_MAX + 1], path[512];

	audit_aside_name(last, name);
	(void)snprintf(path, sizeof(path), "%s/%s", room->e.dir, name);
	if (rename(room->e.log, path) != 0)
		exit(99);
}

/* Everything there is, as one text. */
static const char *read_on(struct room *room)
{
	const char *line = NULL;
	struct err err = { 0 };
	size_t len = 0;
	int r;

	room->got.len = 0;
	while ((r = audit_read_next(room->r, &line, &len, &err)) == 1) {
		strbuf_add(&room->got, line, len);
		strbuf_putc(&room->got, ';');
	}
	if (r < 0)
		strbuf_printf(&room->got, "error: %s", err.msg);
	strbuf_putc(&room->got, '\0');
	return room->got.buf;
}

static void room_open(struct room *room, bool follow)
{
	struct err err = { 0 };

	if (audit_read_dir(&room->a, room->e.dir, follow, &room->r, &err) != 0) {
		printf("Bail out! %s\n", err.msg);
		exit(99);
	}
}

static void room_close(struct room *room)
{
	audit_read_close(room->r);
	arena_free(&room->a);
	strbuf_free(&room->got);
}

static void test_order(struct tap *t)
{
	struct room room = { 0 };
	audit_files files;

	env_make(&room.e);
	put(&room, AUDIT_FILE, "e\nf\n");
	put(&room, "audit-00000000000000000004.jsonl", "d\n");
	put(&room, "audit-00000000000000000002.jsonl", "a\nb\n");
	put(&room, "audit-00000000000000000003.jsonl", "c\n");
	put(&room, "audit-3.jsonl", "no\n");
	put(&room, "audit-00000000000000000000.jsonl", "no\n");
	put(&room, "audit-00000000000000000003.jsonl~", "no\n");
	room_open(&room, false);
	tap_str(t, read_on(&room), "a;b;c;d;e;f;", "all files, in the order of their numbers");
	tap_int(t, audit_files_aside(&room.a, open(room.e.dir, O_PATH | O_CLOEXEC), &files), 0,
		"listed by a descriptor that only names it");
	tap_int(t, (long long)files.n, 3, "and only those of this very form");
	room_close(&room);
	for (int i = 2; i < 5; i++) {
		char name[NAME_MAX + 1];

		audit_aside_name((uint64_t)i, name);
		drop(&room, name);
	}
	drop(&room, "audit-3.jsonl");
	drop(&room, "audit-00000000000000000000.jsonl");
	drop(&room, "audit-00000000000000000003.jsonl~");
	env_free(&room.e);
}

/* What a writer does while somebody looks on. */
static void test_follow(struct tap *t)
{
	struct room room = { 0 };
	struct err err = { 0 };
	int out[2];

	env_make(&room.e);
	room_open(&room, true);
	tap_str(t, read_on(&room), "", "no log yet");
	put(&room, AUDIT_FILE, "a\nb");
	tap_int(t, audit_read_wait(room.r, -1, &err), 1, "one is made");
	tap_str(t, read_on(&room), "a;", "its whole lines");
	put(&room, AUDIT_FILE, "a\nc\nd\n");
	tap_int(t, audit_read_wait(room.r, -1, &err), 1, "it is written to");
	tap_str(t, read_on(&room), "c;d;", "the beginning of a line that was taken back is gone");
	tap_str(t, read_on(&room), "", "nothing twice");
	put(&room, AUDIT_FILE, "a\nc\nd\ne\n");
	put_aside(&room, 4);
	put(&room, AUDIT_FILE, "f\n");
	put_aside(&room, 5);
	put(&room, AUDIT_FILE, "g\n");
	tap_int(t, audit_read_wait(room.r, -1, &err), 1, "put aside twice");
	tap_str(t, read_on(&room), "e;f;g;", "its last lines, the file between, the new one");
	put_aside(&room, 6);
	tap_str(t, read_on(&room), "", "put aside, and no new one yet");
	put(&room, AUDIT_FILE, "h\n");
	tap_str(t, read_on(&room), "h;", "the new one");
	drop(&room, AUDIT_FILE);
	put(&room, AUDIT_FILE, "i\n");
	tap_str(t, read_on(&room), "i;", "one that somebody took away is followed by the next");
	if (pipe(out) != 0)
		exit(99);
	while (audit_read_wait(room.r, out[1], &err) == 1 && read_on(&room)[0] != '\0')
		;
	(void)close(out[0]);
	tap_int(t, audit_read_wait(room.r, out[1], &err), 0, "nobody reads any more");
	(void)close(out[1]);
	room_close(&room);
	for (uint64_t i = 4; i < 7; i++) {
		char name[NAME_MAX + 1];

		audit_aside_name(i, name);
		drop(&room, name);
	}
	env_free(&room.e);
}

static void test_refused(struct tap *t)
{
	struct room room = { 0 };
	STRBUF_AUTO line = { 0 };
	struct err err = { 0 };

	env_make(&room.e);
	tap_int(t, audit_read_dir(&room.a, room.e.dir, false, &room.r, &err), -1, "no log");
	tap_ok(t, strstr(err.msg, AUDIT_FILE) != NULL && err.errnum == ENOENT, "is named: %s",
	       err.msg);
	for (size_t i = 0; i < AUDIT_LINE_MAX - 1; i++)
		strbuf_putc(&line, 'x');
	strbuf_putc(&line, '\n');
	file_write(room.e.log, line.buf, line.len);
	err = (struct err){ 0 };
	tap_int(t, audit_read_file(&room.a, room.e.log, &room.r, &err), 0, "the longest line");
	tap_int(t, (long long)strlen(read_on(&room)), (long long)AUDIT_LINE_MAX, "is read");
	audit_read_close(room.r);
	line.buf[line.len - 1] = 'x';
	strbuf_puts(&line, "x\nno\n");
	file_write(room.e.log, line.buf, line.len);
	tap_int(t, audit_read_file(&room.a, room.e.log, &room.r, &err), 0, "a longer one");
	tap_ok(t, strstr(read_on(&room), "line 1 is longer than 65536 bytes") != NULL,
	       "is no log: %s", room.got.buf);
	room_close(&room);
	env_free(&room.e);
}

int main(void)
{
	struct tap t = { 0 };

	test_order(&t);
	test_follow(&t);
	test_refused(&t);
	return tap_done(&t);
}
