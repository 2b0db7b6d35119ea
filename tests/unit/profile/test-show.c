/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What profile_show() prints means what was read: the same blocks, and the same text again. */
#include <dirent.h>
#include <fcntl.h>

#include "base/fd.h"
#include "base/io.h"
#include "base/path.h"
#include "common.h"
#include "profile/builtin.h"
#include "profile/show.h"

static const struct profile_param everything[] = {
	{ "workspace", "/work/space" },
};
static const struct profile_param data[] = {
	{ "input", "/srv/in put.csv" },
	{ "output", "/srv/out" },
};

static void test_again(struct tap *t, struct arena *a, const struct profile_source *src,
		       const struct profile *p, const char *name)
{
	/* Without the parameters: their values are in the text. */
	struct profile_source bare = *src;
	struct profile_text in = { .name = "shown.yaml", .dir = "/elsewhere" };
	struct err err = { 0 };
	STRBUF_AUTO sb = { 0 };
	STRBUF_AUTO twice = { 0 };
	const struct profile *q = NULL;
	struct profile_hashes hp, hq;
	size_t start;

	bare.params = NULL;
	bare.n_params = 0;
	if (!tap_ok(t, profile_show(a, p, &sb, &err) == 0, "%s: is shown", name)) {
		printf("# %s:%u:%u %s\n", err.file, err.line, err.col, err.msg);
		return;
	}
	in.text = strbuf_str(&sb);
	in.len = sb.len;
	if (!tap_ok(t, profile_parse(a, &bare, &in, &q, &err) == 0, "%s: is read again", name)) {
		printf("# %u:%u %s\n", err.line, err.col, err.msg);
		return;
	}
	profile_hash_blocks(p, &hp);
	profile_hash_blocks(q, &hq);
	tap_str(t, hq.sandbox_sha256, hp.sandbox_sha256, "the same sandbox");
	tap_str(t, hq.permissions_sha256, hp.permissions_sha256, "the same permissions");
	tap_int(t, (long long)q->tests.n, (long long)p->tests.n, "the same number of tests");
	tap_int(t, profile_show(a, q, &twice, &err), 0, "and is shown again");
	/* But for where it came from. */
	start = strcspn(strbuf_str(&sb), "#");
	while (start > 0 && start < sb.len && strbuf_str(&sb)[start - 1] == ' ')
		start--;
	tap_ok(t, strncmp(strbuf_str(&sb), strbuf_str(&twice), start) == 0, "alike");
}

static void test_builtins(struct tap *t)
{
	const struct builtin *b;

	for (size_t i = 0; (b = builtin_at(i)) != NULL; i++) {
		struct profile_source src = common_source();
		struct arena a = { 0 };
		struct err err = { 0 };
		const struct profile *p = NULL;
		bool is_data = strcmp(builtin_word(b), "data") == 0;

		src.path = builtin_word(b);
		src.with_tests = true;
		src.params = is_data ? data : everything;
		src.n_params = is_data ? ARRAY_SIZE(data) : ARRAY_SIZE(everything);
		if (tap_ok(t, profile_load(&a, &src, &p, &err) == 0, "%s", b->name)) {
			tap_ok(t, p->tests.n >= 2, "%s: has tests", b->name);
			test_again(t, &a, &src, p, b->name);
		}
		arena_free(&a);
	}
}

static void test_good(struct tap *t)
{
	DIR *d = opendir(TEST_PROFILES "/good");
	const struct dirent *e;
	int n = 0;

	while (d != NULL && (e = readdir(d)) != NULL) {
		struct profile_source src = common_source();
		struct arena a = { 0 };
		struct err err = { 0 };
		struct profile_text in = { .name = e->d_name, .dir = "/srv/p" };
		const struct profile *p = NULL;
		FD_AUTO fd = -1;
		char *text = NULL;

		if (e->d_name[0] == '.')
			continue;
		fd = open(path_join(&a, TEST_PROFILES "/good", e->d_name), O_RDONLY | O_CLOEXEC);
		if (fd < 0 || io_read_file(fd, PROFILE_BYTES_MAX, &a, &text, &in.len) != 0)
			abort();
		in.text = text;
		if (strstr(text, "workspace:") != NULL) {
			src.params = everything;
			src.n_params = ARRAY_SIZE(everything);
		}
		if (tap_ok(t, profile_parse(&a, &src, &in, &p, &err) == 0, "good/%s", e->d_name))
			test_again(t, &a, &src, p, e->d_name);
		else
			printf("# %u:%u %s\n", err.line, err.col, err.msg);
		n++;
		arena_free(&a);
	}
	if (d != NULL)
		(void)closedir(d);
	tap_ok(t, n > 5, "there are good ones");
}

static const struct {
	const char *text;
	const char *want;
} rows[] = {
	{ "sandbox: {roots: [data, {path: ./x, at: /x}]}\npermissions: {}\n",
	  "sandbox:\n  roots:\n    - /srv/p/data\n    - {path: /srv/p/x, at: /x}\n" },
	{ "params: {name: {default: a}}\nsandbox: {roots: [\"data-${name}\"]}\npermissions: {}\n",
	  "  roots: [\"/srv/p/data-${name}\"]\n" },
	{ "params: {dir: {type: path, default: d}}\nsandbox: {roots: [\"${dir}/x\"]}\n"
	  "permissions: {}\n",
	  "params:\n  dir: {type: path, default: \"/srv/p/d\"}\n" },
	{ "params: {dir: {type: path, default: d}}\nsandbox: {roots: [\"${dir}/x\"]}\n"
	  "permissions: {}\n",
	  "  roots: [\"${dir}/x\"]\n" },
	{ "sandbox: {env: {set: {A: 'true', B: true, C: 'q\"\\', D: \"a\\tb\"}}}\n"
	  "permissions: {}\n",
	  "      A: \"true\"\n      B: true\n      C: \"q\\\"\\\\\"\n      D: \"a\\x09b\"\n" },
	{ "sandbox: {sockets: [s.sock]}\npermissions: {}\n", "  sockets: [/srv/p/s.sock]\n" },
	{ "extends: [builtin:readonly]\nparams: {workspace: {required: false, default: w}}\n",
	  "  network: none # builtin:readonly:" },
};

static void test_rows(struct tap *t)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct profile_source src = common_source();
		struct arena a = { 0 };
		struct err err = { 0 };
		STRBUF_AUTO sb = { 0 };
		const struct profile *p = common_good(t, &a, rows[i].text);

		if (p != NULL && profile_show(&a, p, &sb, &err) == 0) {
			if (!tap_ok(t, strstr(strbuf_str(&sb), rows[i].want) != NULL, "row %zu", i))
				printf("# got %s\n", strbuf_str(&sb));
			test_again(t, &a, &src, p, "the row");
		}
		arena_free(&a);
	}
}

int main(void)
{
	struct tap t = { 0 };

	test_builtins(&t);
	test_good(&t);
	test_rows(&t);
	return tap_done(&t);
}
