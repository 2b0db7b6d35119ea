/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A file of variables: what is read of it, and where an error is said to be. */
#include "common.h"
#include "profile/envfile.h"

static const struct {
	const char *text;
	const char *want; /* NAME=VALUE; of each, or NULL */
	unsigned line, col;
} rows[] = {
	{ "", "", 0, 0 },
	{ "\n\n# A=1\n#\n", "", 0, 0 },
	{ "A=1\n_b2=x=y\n", "A=1;_b2=x=y;", 0, 0 },
	{ "A=1", "A=1;", 0, 0 },
	{ "A=\nB= b \t\n", "A=;B= b \t;", 0, 0 },
	{ "A=$B ${B} $(b) `b` \\n # no comment\nB=it's\n",
	  "A=$B ${B} $(b) `b` \\n # no comment;B=it's;", 0, 0 },
	{ "A=\xff\n", "A=\xff;", 0, 0 },
	{ "a=1\nA=2\n", "a=1;A=2;", 0, 0 },
	{ "A=1\nexport B=2\n", NULL, 2, 1 },
	{ " A=1\n", NULL, 1, 1 },
	{ "A =1\n", NULL, 1, 1 },
	{ "A\n", NULL, 1, 1 },
	{ "A", NULL, 1, 1 },
	{ "=1\n", NULL, 1, 1 },
	{ "1A=1\n", NULL, 1, 1 },
	{ "A-B=1\n", NULL, 1, 1 },
	{ " # A\n", NULL, 1, 1 },
	{ "A=\"x\"\n", NULL, 1, 3 },
	{ "AB='x'\n", NULL, 1, 4 },
	{ "A=`x`\n", NULL, 1, 3 },
	{ "A=1\r\n", NULL, 1, 4 },
	{ "\r\n", NULL, 1, 1 },
	{ "A=\x1b[0m\n", NULL, 1, 3 },
	{ "# \x7f\n", NULL, 1, 3 },
	{ "\xef\xbb\xbf"
	  "A=1\n",
	  NULL, 1, 1 },
	{ "A=1\nB=2\nA=1\n", NULL, 3, 1 },
};

static void read_one(struct tap *t, size_t i)
{
	struct arena a = { 0 };
	STRBUF_AUTO got = { 0 };
	struct profile_sandbox s = { 0 };
	struct err err = { 0 };
	const struct profile_text text = { .name = "v",
					   .text = rows[i].text,
					   .len = strlen(rows[i].text) };
	int r = envfile_parse(&a, &text, &s, &err);

	for (size_t k = 0; k < s.env_vars.n; k++)
		strbuf_printf(&got, "%s=%s;", s.env_vars.v[k].name, s.env_vars.v[k].value);
	if (rows[i].want != NULL)
		tap_str(t, r == 0 ? strbuf_str(&got) : err.msg, rows[i].want, "is read");
	else
		tap_ok(t, r == -1 && err.line == rows[i].line && err.col == rows[i].col,
		       "row %zu is refused at %u:%u", i, rows[i].line, rows[i].col);
	arena_free(&a);
}

/* A byte of NUL ends no value early. */
static void read_nul(struct tap *t)
{
	struct arena a = { 0 };
	struct profile_sandbox s = { 0 };
	struct err err = { 0 };
	const struct profile_text text = { .name = "v", .text = "A=x\0y\n", .len = 6 };

	tap_int(t, envfile_parse(&a, &text, &s, &err), -1, "a NUL is refused");
	tap_int(t, err.col, 4, "at its place");
	arena_free(&a);
}

static void read_many(struct tap *t, size_t n, int want)
{
	struct arena a = { 0 };
	STRBUF_AUTO sb = { 0 };
	struct profile_sandbox s = { 0 };
	struct err err = { 0 };
	struct profile_text text = { .name = "v" };

	for (size_t i = 0; i < n; i++)
		strbuf_printf(&sb, "A%zu=\n", i);
	text.text = strbuf_str(&sb);
	text.len = sb.len;
	tap_int(t, envfile_parse(&a, &text, &s, &err), want, "the bound of variables");
	arena_free(&a);
}

int main(void)
{
	struct tap t = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		read_one(&t, i);
	read_nul(&t);
	read_many(&t, 1024, 0);
	read_many(&t, 1025, -1);
	return tap_done(&t);
}
