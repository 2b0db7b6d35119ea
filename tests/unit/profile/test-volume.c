/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What all files of one profile may hold together, values and text: at the bound and one above. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/io.h"
#include "base/path.h"
#include "base/strbuf.h"
#include "codec/yaml.h"
#include "profile/profile.h"
#include "profile/schema.h"
#include "tap.h"

static void put(const char *dir, const char *name, const struct strbuf *text)
{
	FD_AUTO at = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	FD_AUTO fd = openat(at, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0 || io_write_full(fd, strbuf_str(text), text->len) != 0)
		abort();
}

static bool loads(const char *dir, struct err *err)
{
	struct arena a = { 0 };
	struct profile_source src = {
		.fd = -1, .cwd = "/", .home = "/home/u", .uid = geteuid(), .gid = getegid()
	};
	const struct profile *p = NULL;
	bool ok;

	src.path = path_join(&a, dir, "p.yaml");
	*err = (struct err){ 0 };
	ok = profile_load(&a, &src, &p, err) == 0;
	if (!ok)
		err->file = NULL; /* its text goes with the arena */
	arena_free(&a);
	return ok;
}

static void check(struct tap *t, const char *dir, bool good, const char *want, const char *what)
{
	struct err err;
	bool ok = loads(dir, &err);

	tap_ok(t, ok == good && (good || strstr(err.msg, want) != NULL), "%s: %u:%u %s", what,
	       err.line, err.col, err.msg);
}

/* --- values ---
 * A file's map is one; each key is one, and so is what it says, each item of a list too. */
#define CASES        2900
#define CASES_MAX    ((size_t)4096)
#define CASE_VALUES  9 /* the map, four keys and what they say */
#define OTHER_VALUES 27

static void cases(struct strbuf *sb, size_t n)
{
	strbuf_puts(sb, "tests:\n");
	for (size_t i = 0; i < n; i++)
		strbuf_puts(sb, "- {agent: me, action: read_file, resource: /x, decision: deny}\n");
}

static void values_of(const char *dir, size_t pass)
{
	STRBUF_AUTO p = { 0 };
	STRBUF_AUTO b = { 0 };
	STRBUF_AUTO c = { 0 };

	strbuf_puts(&p, "extends: [b.yaml, c.yaml]\nsandbox: {}\n"
			"permissions: {agents: {me: allow}}\n");
	cases(&p, CASES_MAX);
	cases(&b, CASES_MAX);
	strbuf_puts(&c, "sandbox: {env: {pass: [");
	for (size_t i = 0; i < pass; i++)
		strbuf_printf(&c, "%sE%zu", i == 0 ? "" : ", ", i);
	strbuf_puts(&c, "]}}\n");
	cases(&c, CASES);
	put(dir, "p.yaml", &p);
	put(dir, "b.yaml", &b);
	put(dir, "c.yaml", &c);
}

static void test_values(struct tap *t, const char *dir)
{
	size_t pass = YAML_NODES_MAX - OTHER_VALUES - CASE_VALUES * (2 * CASES_MAX + CASES);
	const char *want = "'extends': more than 100000 values in all files of one profile";

	values_of(dir, pass);
	check(t, dir, true, NULL, "100,000 values in three files");
	values_of(dir, pass + 1);
	check(t, dir, false, want, "one more");
}

/* --- text --- */

static void fill(struct strbuf *sb, size_t len)
{
	while (sb->len < len)
		strbuf_putc(sb, (len - sb->len) % 80 == 1 ? '\n' : '#');
}

#define FILES 8

/* All but the first are full. */
static void files_of(const char *dir, size_t bytes)
{
	STRBUF_AUTO p = { 0 };

	strbuf_puts(&p, "extends: [f1, f2, f3, f4, f5, f6, f7, f8]\nsandbox: {}\n"
			"permissions: {agents: {me: allow}}\n");
	put(dir, "p.yaml", &p);
	bytes -= p.len;
	for (int i = 1; i <= FILES; i++) {
		STRBUF_AUTO sb = { 0 };
		char name[8];

		(void)snprintf(name, sizeof(name), "f%d", i);
		strbuf_puts(&sb, "{}\n");
		fill(&sb, bytes < PROFILE_BYTES_MAX ? bytes : PROFILE_BYTES_MAX);
		bytes -= sb.len;
		put(dir, name, &sb);
	}
}

#define WORD     4000
#define SETS_MAX 3000

/* One file whose values say ${p} 16 times each; the last fills up. */
static void replaced_of(const char *dir, size_t bytes)
{
	STRBUF_AUTO sb = { 0 };
	STRBUF_AUTO pad = { 0 };
	size_t n = 0;
	size_t sum = 0;

	strbuf_puts(&sb, "permissions: {agents: {me: allow}}\nparams: {p: {default: ");
	for (size_t i = 0; i < WORD; i++)
		strbuf_putc(&sb, 'x');
	strbuf_puts(&sb, "}}\nsandbox:\n  env:\n    set:\n");
	for (; n < 128; n++) {
		strbuf_printf(&sb, "      A%zu: \"", n);
		for (int i = 0; i < 16; i++)
			strbuf_puts(&sb, "${p}");
		strbuf_puts(&sb, "\"\n");
		sum += 16 * (size_t)WORD;
	}
	strbuf_puts(&sb, "      Z: \"${p}");
	sum += WORD;
	/* What is written counts as text of the file, and once more with what it stands beside. */
	bytes -= sb.len + sum + strlen("\"\n");
	fill(&pad, bytes / 2);
	for (size_t i = 0; i < pad.len; i++)
		strbuf_putc(&sb, 'y');
	strbuf_puts(&sb, "\"\n");
	if (bytes % 2 != 0)
		strbuf_puts(&sb, "\n");
	put(dir, "p.yaml", &sb);
}

static void test_text(struct tap *t, const char *dir)
{
	const char *want = "more than 8M of text in all files of one profile";

	files_of(dir, SCHEMA_TEXT_MAX);
	check(t, dir, true, NULL, "8M in nine files");
	files_of(dir, SCHEMA_TEXT_MAX + 1);
	check(t, dir, false, want, "a byte more");
	replaced_of(dir, SCHEMA_TEXT_MAX);
	check(t, dir, true, NULL, "8M by parameters");
	replaced_of(dir, SCHEMA_TEXT_MAX + 1);
	check(t, dir, false, want, "a byte more of it");
}

int main(void)
{
	char dir[] = "/tmp/agentbox-volume.XXXXXX";
	struct tap t = { 0 };
	static const char *const names[] = { "p.yaml", "b.yaml", "c.yaml", "f1", "f2", "f3",
					     "f4",     "f5",     "f6",     "f7", "f8" };
	struct arena a = { 0 };

	umask(022);
	if (mkdtemp(dir) == NULL)
		return 1;
	test_values(&t, dir);
	test_text(&t, dir);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		(void)unlink(path_join(&a, dir, names[i]));
	(void)rmdir(dir);
	arena_free(&a);
	return tap_done(&t);
}
