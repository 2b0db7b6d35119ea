/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "base/path.h"
#include "cli/tool.h"

static bool may_see(const struct tool *t, const char *path)
{
	const struct cli_context *c = &t->prep.context;
	struct request rq = { .action = t->verb->action,
			      .kind = REQUEST_PATH,
			      .path = path,
			      .control_plane = check_guarded(c, path, false, false) };
	struct decision d;

	policy_decide(c->profile, c->agent, &rq, &d);
	return d.verdict == PROFILE_ALLOW;
}

/* Return: past the number and the space after it, or NULL. */
static const char *take_number(const char *s, uint64_t *ret)
{
	char *end;

	if (s == NULL || *s < '0' || *s > '9')
		return NULL;
	errno = 0;
	*ret = strtoull(s, &end, 10);
	return errno == 0 && *end == ' ' ? end + 1 : NULL;
}

/* One record of child/work.c. */
static bool take_entry(struct arena *a, const char *s, struct tool_entry *ret)
{
	ret->type = s[0];
	if (s[0] == '\0' || s[1] != ' ')
		return false;
	s = take_number(s + 2, &ret->mode);
	s = take_number(s, &ret->size);
	s = take_number(s, &ret->mtime);
	if (s == NULL || *s == '\0' || strchr(s, '/') != NULL)
		return false;
	ret->name = arena_strdup(a, s);
	return true;
}

static int by_name(const void *a, const void *b)
{
	const struct tool_entry *x = a;
	const struct tool_entry *y = b;

	return strcmp(x->name, y->name);
}

static void take(struct tool_list *l, const struct strbuf *out)
{
	struct tool *t = l->tool;
	struct arena *a = t->prep.context.arena;

	for (size_t at = 0; at < out->len;) {
		const char *s = out->buf + at;
		size_t len = strnlen(s, out->len - at);
		struct tool_entry e;

		/* The last one of a work that was ended may be a part. */
		if (at + len == out->len || !take_entry(a, s, &e)) {
			l->broken = true;
			break;
		}
		at += len + 1;
		if (may_see(t, path_join(a, t->place.target.path, e.name)))
			*array_push(a, &l->entries) = e;
		else
			l->hidden++;
	}
	if (l->entries.n > 0)
		qsort(l->entries.v, l->entries.n, sizeof(*l->entries.v), by_name);
	t->prep.record.lists = true;
	t->prep.record.listed = l->entries.n;
	t->prep.record.hidden = l->hidden;
}

static int hook_finish(void *ctx, const struct outcome *o, struct err *err)
{
	(void)err;
	take(ctx, &o->output[0]);
	return 0;
}

void tool_list_attachment(struct tool_list *l, struct run_attachment *ret)
{
	*ret = (struct run_attachment){ .name = "list", .ctx = l, .finish = hook_finish };
}

static const char *type_name(char letter)
{
	static const struct {
		char letter;
		const char *name;
	} names[] = { { 'f', "file" },   { 'd', "directory" }, { 'l', "link" }, { 'p', "fifo" },
		      { 's', "socket" }, { 'c', "character" }, { 'b', "block" } };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (names[i].letter == letter)
			return names[i].name;
	}
	return "other";
}

json_t *tool_list_json(const struct tool_list *l)
{
	json_t *list = json_array();

	for (size_t i = 0; i < l->entries.n; i++) {
		const struct tool_entry *e = &l->entries.v[i];
		json_t *o = json_object();
		char mode[24];

		(void)snprintf(mode, sizeof(mode), "%04llo", (unsigned long long)e->mode);
		json_put(o, "name", json_text(e->name));
		json_put(o, "type", json_text(type_name(e->type)));
		json_put(o, "size", json_integer((json_int_t)e->size));
		json_put(o, "mode", json_text(mode));
		json_put(o, "mtime", json_integer((json_int_t)e->mtime));
		(void)json_array_append_new(list, o);
	}
	return list;
}

int tool_list_print(const struct tool_list *l, bool null)
{
	for (size_t i = 0; i < l->entries.n; i++) {
		const struct tool_entry *e = &l->entries.v[i];
		STRBUF_AUTO sb = { 0 };

		if (null) {
			(void)fwrite(e->name, strlen(e->name) + 1, 1, stdout);
			continue;
		}
		escape_add(&sb, e->name, strlen(e->name));
		(void)printf("%s%s\n", strbuf_str(&sb), e->type == 'd' ? "/" : "");
	}
	return fflush(stdout) == 0 && ferror(stdout) == 0 ? 0 : -errno;
}
