/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>

#include "base/escape.h"
#include "cli/audit-verbs.h"

/* Of a cell of the table; the JSON has it all. */
#define CELL_MAX ((size_t)160)

static const char *get(const json_t *rec, const char *key)
{
	return json_string_value(json_object_get(rec, key));
}

static void add_word(const json_t *v, bool quoted, struct strbuf *sb)
{
	const char *s = json_string_value(v);

	if (s == NULL) {
		json_line(v, sb);
		return;
	}
	quoted = quoted && (s[0] == '\0' || strpbrk(s, " \t\n\"'") != NULL);
	strbuf_puts(sb, quoted ? "'" : "");
	for (; *s != '\0'; s++)
		strbuf_puts(sb, quoted && *s == '\'' ? "'\\''" : (char[]){ *s, '\0' });
	strbuf_puts(sb, quoted ? "'" : "");
}

void audit_text_resource(const json_t *rec, bool quoted, struct strbuf *sb)
{
	const json_t *resource = json_object_get(rec, "resource");
	const json_t *argv = json_object_get(resource, "argv");
	const json_t *port = json_object_get(rec, "port");
	const char *host = get(rec, "host");
	const json_t *word;
	size_t i;

	if (host != NULL) {
		strbuf_puts(sb, host);
		if (port != NULL)
			strbuf_printf(sb, ":%lld", (long long)json_integer_value(port));
	} else if (json_is_array(argv)) {
		json_array_foreach(argv, i, word)
		{
			strbuf_puts(sb, i == 0 ? "" : " ");
			add_word(word, quoted, sb);
		}
	} else if (json_is_string(resource)) {
		strbuf_puts(sb, json_string_value(resource));
	} else if (resource != NULL && !json_is_null(resource)) {
		json_line(resource, sb);
	}
}

/* "deny", "exited 3", "signaled 9", "limit timeout": what is looked for first. */
static void add_what(const json_t *rec, struct strbuf *sb)
{
	const char *decision = get(rec, "decision");
	const char *event = get(rec, "event");
	const char *status = get(rec, "status");
	const char *limit = get(rec, "limit");
	const json_t *code = json_object_get(rec, "exit_code");
	const json_t *sig = json_object_get(rec, "signal");

	if (event == NULL || strcmp(event, "outcome") != 0 || status == NULL) {
		strbuf_puts(sb, decision != NULL ? decision : event == NULL ? "?" : event);
		return;
	}
	strbuf_puts(sb, status);
	if (limit != NULL)
		strbuf_printf(sb, " %s", limit);
	else if (json_is_integer(sig))
		strbuf_printf(sb, " %lld", (long long)json_integer_value(sig));
	else if (json_is_integer(code))
		strbuf_printf(sb, " %lld", (long long)json_integer_value(code));
}

/* "bob>alice": on whose behalf, the first principal first. */
static void add_agent(const json_t *rec, struct strbuf *sb)
{
	const json_t *chain = json_object_get(rec, "delegation");
	const char *id = get(rec, "agent_id");
	const json_t *one;
	size_t i;

	if (json_array_size(chain) < 2) {
		strbuf_puts(sb, id == NULL ? "-" : id);
		return;
	}
	json_array_foreach(chain, i, one)
	{
		strbuf_puts(sb, i == 0 ? "" : ">");
		add_word(one, false, sb);
	}
}

static void add_why(const json_t *rec, struct strbuf *sb)
{
	const char *code = get(rec, "code");
	const char *reason = get(rec, "reason");
	const char *rule = get(rec, "rule");

	if (code == NULL && reason == NULL && rule == NULL)
		return;
	strbuf_printf(sb, "[%s%s%s%s%s]", code == NULL ? "" : code,
		      code == NULL || reason == NULL ? "" : ": ", reason == NULL ? "" : reason,
		      rule == NULL                     ? ""
		      : code == NULL && reason == NULL ? "at "
						       : ", at ",
		      rule == NULL ? "" : rule);
}

/* @width: 0 for the last, which is not padded. */
static void cell(struct strbuf *sb, const char *text, size_t len, size_t width)
{
	size_t at = sb->len, cut = len;

	if (cut > CELL_MAX) {
		cut = CELL_MAX;
		while (cut > 0 && ((unsigned char)text[cut] & 0xc0) == 0x80)
			cut--;
	}
	escape_add(sb, text, cut);
	if (cut < len)
		strbuf_puts(sb, "...");
	if (width == 0)
		return;
	while (sb->len - at < width)
		strbuf_putc(sb, ' ');
	strbuf_puts(sb, "  ");
}

static void cell_str(struct strbuf *sb, const char *text, size_t width)
{
	cell(sb, text, strlen(text), width);
}

typedef void add_fn(const json_t *rec, struct strbuf *sb);

static void add_time(const json_t *rec, struct strbuf *sb)
{
	const char *ts = get(rec, "ts");

	if (ts == NULL || strlen(ts) < 19) {
		strbuf_puts(sb, "-");
		return;
	}
	strbuf_add(sb, ts, 10);
	strbuf_putc(sb, ' ');
	strbuf_add(sb, ts + 11, 8);
}

static void add_request(const json_t *rec, struct strbuf *sb)
{
	const char *id = get(rec, "request_id");

	strbuf_add(sb, id == NULL ? "-" : id, id == NULL ? 1 : strnlen(id, 9));
}

static void add_action(const json_t *rec, struct strbuf *sb)
{
	const char *action = get(rec, "action");

	strbuf_puts(sb, action == NULL ? "-" : action);
}

static void add_resource(const json_t *rec, struct strbuf *sb)
{
	audit_text_resource(rec, true, sb);
}

static const struct {
	const char *head;
	add_fn *add;
	size_t width;
} columns[] = {
	{ "TIME (UTC)", add_time, 19 }, { "REQUEST", add_request, 9 },
	{ "AGENT", add_agent, 10 },     { "WHAT", add_what, 10 },
	{ "ACTION", add_action, 11 },   { "RESOURCE", add_resource, 24 },
	{ "WHY", add_why, 0 },
};

void audit_text_head(struct strbuf *sb)
{
	for (size_t i = 0; i < ARRAY_SIZE(columns); i++)
		cell_str(sb, columns[i].head, columns[i].width);
	strbuf_putc(sb, '\n');
}

void audit_text_row(const json_t *rec, struct strbuf *sb)
{
	for (size_t i = 0; i < ARRAY_SIZE(columns); i++) {
		STRBUF_AUTO text = { 0 };

		columns[i].add(rec, &text);
		cell(sb, strbuf_str(&text), text.len, columns[i].width);
	}
	while (sb->len > 0 && sb->buf[sb->len - 1] == ' ')
		sb->len--;
	strbuf_putc(sb, '\n');
}
