/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Replays tests/profiles/broken.tsv: each file is refused at that place for that reason, and
 * no file of broken/ is left out. What is in good/ is accepted. */
#include <dirent.h>
#include <fcntl.h>

#include "base/fd.h"
#include "base/io.h"
#include "base/path.h"
#include "common.h"
#include "profile/schema.h"

#ifndef TEST_PROFILES
#error "TEST_PROFILES must name tests/profiles"
#endif

static int parse_file(struct arena *a, const struct profile_source *src, const char *name,
		      const struct profile **p, struct err *err)
{
	FD_AUTO fd = open(path_join(a, TEST_PROFILES, name), O_RDONLY | O_CLOEXEC);
	struct profile_text in = { .name = name, .dir = "/srv/p" };
	char *text;

	if (fd < 0 || io_read_file(fd, PROFILE_BYTES_MAX, a, &text, &in.len) != 0) {
		printf("Bail out! cannot read %s\n", name);
		exit(1);
	}
	*p = NULL;
	in.text = text;
	return profile_parse(a, src, &in, p, err);
}

static void check_broken(struct tap *t, const char *name, const char *at, const char *want)
{
	struct profile_source src = common_source();
	struct arena a = { 0 };
	struct err err = { 0 };
	const struct profile *p;
	char got[32];
	int r = parse_file(&a, &src, name, &p, &err);
	bool ok;

	(void)snprintf(got, sizeof(got), "%u:%u", err.line, err.col);
	ok = r == -1 && p == NULL && err.code == ERR_PROFILE && strcmp(got, at) == 0 &&
	     strstr(err.msg, want) != NULL;
	tap_ok(t, ok, "%s:%s: %s", name, at, want);
	if (!ok)
		printf("# got %d %s '%s'\n", r, got, err.msg);
	arena_free(&a);
}

static int count_files(const char *dir)
{
	DIR *d = opendir(dir);
	const struct dirent *e;
	int n = 0;

	while (d != NULL && (e = readdir(d)) != NULL)
		n += e->d_name[0] != '.';
	if (d != NULL)
		(void)closedir(d);
	return n;
}

static void test_broken(struct tap *t)
{
	FILE *f = fopen(TEST_PROFILES "/broken.tsv", "re");
	char line[1024];
	int n = 0;

	while (f != NULL && fgets(line, sizeof(line), f) != NULL) {
		char *rest = line;
		char *name = strsep(&rest, "\t\n");
		char *at = strsep(&rest, "\t\n");
		char *want = strsep(&rest, "\t\n");

		if (line[0] == '#')
			continue;
		if (!tap_ok(t, want != NULL && want[0] != '\0', "a whole row"))
			continue;
		n += strncmp(name, "broken/", 7) == 0;
		check_broken(t, name, at, want);
	}
	if (f != NULL)
		(void)fclose(f);
	tap_int(t, n, count_files(TEST_PROFILES "/broken"), "every file of broken/ has its row");
	tap_ok(t, n >= 30, "thirty or more");
}

static void test_good(struct tap *t)
{
	DIR *d = opendir(TEST_PROFILES "/good");
	struct profile_source src = common_source();
	const struct dirent *e;
	int n = 0;

	while (d != NULL && (e = readdir(d)) != NULL) {
		struct arena a = { 0 };
		struct err err = { 0 };
		const struct profile *p;

		if (e->d_name[0] == '.')
			continue;
		n++;
		if (!tap_ok(t,
			    parse_file(&a, &src, path_join(&a, "good", e->d_name), &p, &err) == 0,
			    "good/%s", e->d_name))
			printf("# got %u:%u '%s'\n", err.line, err.col, err.msg);
		arena_free(&a);
	}
	if (d != NULL)
		(void)closedir(d);
	tap_ok(t, n > 0, "there are good ones");
}

static void test_short_form(struct tap *t)
{
	struct profile_source src = common_source();
	struct arena a = { 0 };
	struct err err = { 0 };
	struct profile_hashes hx, hy;
	const struct profile *x, *y;

	if (tap_int(t, parse_file(&a, &src, "short-form.yaml", &x, &err), 0, "short form") &&
	    tap_int(t, parse_file(&a, &src, "short-form-long.yaml", &y, &err), 0, "long form")) {
		profile_hash_blocks(x, &hx);
		profile_hash_blocks(y, &hy);
		tap_str(t, hx.sandbox_sha256, hy.sandbox_sha256, "the same sandbox");
		tap_str(t, hx.permissions_sha256, hy.permissions_sha256, "the same permissions");
		tap_int(t, (long long)x->sandbox.limits.timeout_ms.value, 30000, "timeout_seconds");
		tap_int(t, (long long)x->sandbox.limits.output_bytes.value, 65536,
			"max_output_bytes");
	}
	arena_free(&a);
}

static void test_default(struct tap *t)
{
	struct profile_source src = common_source();
	struct arena a = { 0 };
	struct err err = { 0 };
	const struct profile *p;

	tap_int(t, parse_file(&a, &src, "../../profiles/default.yaml", &p, &err), -1,
		"default.yaml needs -w");
	tap_ok(t, strstr(err.msg, "give -w DIR") != NULL, "and says so");
	src.params = common_params;
	src.n_params = ARRAY_SIZE(common_params);
	if (tap_int(t, parse_file(&a, &src, "../../profiles/default.yaml", &p, &err), 0,
		    "default.yaml with -w")) {
		tap_str(t, p->sandbox.roots.v[0].path, "/work/space", "its root");
		tap_int(t, p->sandbox.roots.v[0].mode, PROFILE_MODE_RW, "writable");
		tap_int(t, p->sandbox.network, PROFILE_NETWORK_NONE, "no network");
		tap_int(t, (long long)p->permissions.agents.n, 1, "one agent");
	}
	arena_free(&a);
}

/* Every key is reachable from the root, has its texts, and no table names a key twice. */
static int walk_schema(struct tap *t, const struct schema_map *map, int depth)
{
	int n = 0;

	if (!tap_ok(t, depth < 8, "%s: no table holds itself", map->name))
		return 0;
	for (size_t i = 0; i < map->n; i++) {
		const struct schema_row *r = &map->rows[i];

		n++;
		if (r->help == NULL || r->type == NULL || r->parse == NULL || r->help[0] == '\0')
			tap_ok(t, false, "%s.%s: has help, type and parser", map->name, r->key);
		for (size_t j = 0; j < i; j++) {
			if (strcmp(map->rows[j].key, r->key) == 0)
				tap_ok(t, false, "%s.%s: twice", map->name, r->key);
		}
		if (r->sub != NULL)
			n += walk_schema(t, r->sub, depth + 1);
	}
	return n;
}

int main(void)
{
	struct tap t = { 0 };

	test_broken(&t);
	test_good(&t);
	test_short_form(&t);
	test_default(&t);
	tap_ok(&t, walk_schema(&t, schema_root(), 0) > 40, "the tables hold every key");
	return tap_done(&t);
}
