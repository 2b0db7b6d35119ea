/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Replays tests/table/globs.tsv, written here by hand, and tests/table/micromatch.tsv, whose
 * answers are those of another implementation (tools/compare-globs): each pattern as the path of a
 * rule. */
#include "common.h"

#ifndef TEST_TABLES
#error "TEST_TABLES must name tests/table"
#endif

/* As a JSON string, which YAML reads. */
static const char *quoted(struct arena *a, const char *s)
{
	STRBUF_AUTO sb = { 0 };

	for (; *s != '\0'; s++) {
		if (*s == '\\' || *s == '"')
			strbuf_puts(&sb, "\\");
		strbuf_add(&sb, s, 1);
	}
	return arena_strdup(a, strbuf_str(&sb));
}

static const char *judge(struct arena *a, const char *pattern, const char *path)
{
	struct profile_source src = common_source();
	const struct profile_text in = common_text(arena_printf(
		a,
		"sandbox: {}\npermissions: {agents: {me: {rules: [{operations: [read], paths: "
		"[\"%s\"], mode: allow}]}}}\n",
		quoted(a, pattern)));
	const struct profile_rule *rule;
	const struct profile *p;
	struct err err = { 0 };

	if (profile_parse(a, &src, &in, &p, &err) != 0)
		return arena_strdup(a, err.msg);
	rule = &p->permissions.agents.v[0].rules.v[0];
	for (size_t i = 0; i < rule->paths.n; i++) {
		if (glob_match(&rule->paths.v[i].glob, path))
			return "yes";
	}
	return "no";
}

static size_t replay(struct tap *t, const char *name, size_t least)
{
	char line[2048];
	size_t n = 0;
	FILE *f = fopen(name, "re");

	if (f == NULL) {
		printf("Bail out! cannot read %s\n", name);
		exit(1);
	}
	while (fgets(line, sizeof(line), f) != NULL) {
		struct arena a = { 0 };
		char *save = NULL;
		const char *pattern, *path, *want, *got;
		bool refused;

		if (line[0] == '#')
			continue;
		pattern = strtok_r(line, "\t\n", &save);
		path = strtok_r(NULL, "\t\n", &save);
		want = strtok_r(NULL, "\t\n", &save);
		if (pattern == NULL || path == NULL || want == NULL) {
			tap_ok(t, false, "a row of %s has three columns", name);
			break;
		}
		refused = strcmp(path, "-") == 0;
		got = judge(&a, pattern, path);
		if (!tap_ok(t, refused ? strstr(got, want) != NULL : strcmp(got, want) == 0,
			    "%s on %s: %s", pattern, path, want))
			printf("# got %s\n", got);
		/* Where it is printed, one is \x5c. */
		if (refused && strchr(pattern, '\\') == NULL && strchr(got, '\\') != NULL)
			tap_ok(t, false, "%s: no backslash in the message: %s", pattern, got);
		arena_free(&a);
		n++;
	}
	(void)fclose(f);
	tap_ok(t, n >= least, "%zu rows of %s", n, name);
	return n;
}

int main(void)
{
	struct tap t = { 0 };

	(void)replay(&t, TEST_TABLES "/globs.tsv", 100);
	(void)replay(&t, TEST_TABLES "/micromatch.tsv", 500);
	return tap_done(&t);
}
