/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "profile/envfile.h"

#include <string.h>

#include "base/path.h"

#define ENVFILE_VARS_MAX ((size_t)1024)
#define NAME_BYTES_MAX   255

static size_t name_len(const char *s, size_t n)
{
	size_t i = 0;

	while (i < n && ((s[i] >= 'A' && s[i] <= 'Z') || (s[i] >= 'a' && s[i] <= 'z') ||
			 s[i] == '_' || (i > 0 && s[i] >= '0' && s[i] <= '9')))
		i++;
	return i;
}

/* The column of the first byte that no value has, or 0. */
static unsigned control_at(const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		unsigned char b = (unsigned char)s[i];

		if ((b < 0x20 && b != '\t') || b == 0x7f)
			return (unsigned)i + 1;
	}
	return 0;
}

static int parse_line(struct arena *a, const char *file, unsigned line, const char *s, size_t n,
		      struct profile_sandbox *s_box, struct err *err)
{
	size_t len = name_len(s, n);
	unsigned bad = control_at(s, n);
	struct profile_env e = { .pos = { .file = file, .line = line, .col = 1 } };

	if (bad != 0)
		return err_set_at(err, ERR_PROFILE, file, line, bad,
				  "a control character (a line ends with a line feed alone)");
	if (n == 0 || s[0] == '#')
		return 0;
	if (len == 0 || len == n || s[len] != '=' || len > NAME_BYTES_MAX)
		return err_set_at(
			err, ERR_PROFILE, file, line, 1,
			"not NAME=VALUE, with a name of letters, digits and '_', and nothing "
			"before or after it");
	if (len + 1 < n && strchr("\"'`", s[len + 1]) != NULL)
		return err_set_at(
			err, ERR_PROFILE, file, line, (unsigned)len + 2,
			"the value begins with a quote: leave the quotes out, the value is "
			"the whole rest of the line");
	e.name = arena_strndup(a, s, len);
	e.value = arena_strndup(a, s + len + 1, n - len - 1);
	for (size_t i = 0; i < s_box->env_vars.n; i++) {
		const struct profile_env *other = &s_box->env_vars.v[i];

		if (strcmp(other->name, e.name) == 0)
			return err_set_at(err, ERR_PROFILE, file, line, 1,
					  "the name stands in line %u already", other->pos.line);
	}
	if (s_box->env_vars.n == ENVFILE_VARS_MAX)
		return err_set_at(err, ERR_PROFILE, file, line, 1, "more than %zu variables",
				  ENVFILE_VARS_MAX);
	*array_push(a, &s_box->env_vars) = e;
	return 0;
}

int envfile_parse(struct arena *a, const struct profile_text *t, struct profile_sandbox *s,
		  struct err *err)
{
	const char *p = t->text;
	const char *end = t->text + t->len;

	for (unsigned line = 1; p < end; line++) {
		const char *nl = memchr(p, '\n', (size_t)(end - p));
		size_t n = (size_t)((nl == NULL ? end : nl) - p);

		if (parse_line(a, t->name, line, p, n, s, err) != 0)
			return -1;
		p += n + 1;
	}
	return 0;
}

int envfile_read(struct schema_ctx *c, extends_open_fn *open_file, struct profile *p)
{
	struct profile_sandbox *s = &p->sandbox;
	const struct profile_pos *pos = &s->env_file_pos;
	struct extends_file f = { 0 };
	const char *shown;

	if (s->env_file == NULL || p->stood_in)
		return 0;
	if (open_file == NULL)
		return err_set_at(c->err, ERR_PROFILE, pos->file, pos->line, pos->col,
				  "'file': '%.200s': no file can be named here", s->env_file);
	shown = arena_printf(c->a, "%s (sandbox.env.file)", s->env_file);
	if (open_file(c->a, c->src, s->env_file, shown, &f, c->err) != 0) {
		/* It says what of the file is wrong; here is who names it. */
		c->err->file = pos->file;
		c->err->line = pos->line;
		c->err->col = pos->col;
		return -1;
	}
	/* By another name it could be read inside, wherever that name is. */
	if (f.file.nlink != 1)
		return err_set_at(
			c->err, ERR_PROFILE, pos->file, pos->line, pos->col,
			"'file': '%.200s' has %lu names (hard links), and could be read by "
			"another one: copy it",
			s->env_file, (unsigned long)f.file.nlink);
	f.file.values = true;
	f.text.name = s->env_file;
	*array_push(c->a, &p->files) = f.file;
	return envfile_parse(c->a, &f.text, s, c->err);
}
