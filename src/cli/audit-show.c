/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "audit/read.h"
#include "base/exitcode.h"
#include "base/suggest.h"
#include "cli/audit-verbs.h"
#include "policy/match.h"
#include "profile/schema.h"

#define LAST_MAX 100000

/* What a record must say; an option that is not given asks for nothing. */
struct filter {
	int id;
	const char *key;
	const char *(*word_at)(unsigned i); /* the words there are, or NULL: any text */
};

static const char *decision_at(unsigned i)
{
	static const char *const words[] = { "allow", "deny", "interrupt" };

	return i < ARRAY_SIZE(words) ? words[i] : NULL;
}

static const char *action_at(unsigned i)
{
	return i < ACTION_MAX ? action_name((enum action)i) : NULL;
}

static const struct filter filters[] = {
	{ AUDIT_OPT_EVENT, "event", audit_event_name },
	{ AUDIT_OPT_LAYER, "layer", audit_layer_name },
	{ AUDIT_OPT_DECISION, "decision", decision_at },
	{ AUDIT_OPT_ACTION, "action", action_at },
	{ AUDIT_OPT_CODE, "code", NULL },
};

struct show {
	const struct audit_args *args;
	char since[JSON_TIME_SIZE]; /* "": any */
	char until[JSON_TIME_SIZE];
	bool json, follow;
	size_t last;         /* only so many of the first look; 0: all */
	struct strbuf *kept; /* a ring of @last lines, each owned; or NULL */
	size_t n_kept;
	int64_t no_records; /* lines that are none, and that no record closes */
};

static const char *value(const struct show *s, int id)
{
	return cli_value(s->args->parsed, id);
}

/* --- what is asked for --- */

static int check_words(const struct show *s, struct err *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(filters); i++) {
		const struct filter *f = &filters[i];
		const char *text = value(s, f->id), *best = NULL;
		size_t distance = 0;
		unsigned k = 0;

		if (text == NULL || f->word_at == NULL)
			continue;
		while (f->word_at(k) != NULL && strcmp(f->word_at(k), text) != 0)
			suggest_best(text, f->word_at(k++), &best, &distance);
		if (f->word_at(k) != NULL)
			continue;
		return err_set(err, ERR_USAGE, 0, "no record has the %s '%s'%s%s%s", f->key, text,
			       best == NULL ? "" : " (did you mean '", best == NULL ? "" : best,
			       best == NULL ? "" : "'?)");
	}
	return 0;
}

/* The beginning of 2026-01-31T09:00:00.000000Z, from the day on; what is left out is zero. */
static bool time_point(const char *text, char ret[JSON_TIME_SIZE])
{
	static const char form[] = "0000-00-00T00:00:00.000000Z";
	size_t n = strlen(text), whole = sizeof(form) - 1;

	if (n > 0 && n < whole && text[n - 1] == 'Z')
		n--;
	if (n < 10 || n > whole)
		return false;
	for (size_t i = 0; i < n; i++) {
		if (form[i] == '0' ? isdigit((unsigned char)text[i]) == 0
				   : text[i] != form[i] && !(form[i] == 'T' && text[i] == ' '))
			return false;
	}
	(void)snprintf(ret, JSON_TIME_SIZE, "%.*s%s", (int)n, text, form + n);
	ret[10] = 'T';
	return true;
}

static int parse_time(const struct show *s, int id, const char *name, char ret[JSON_TIME_SIZE],
		      struct err *err)
{
	const char *text = value(s, id);
	struct timespec now;
	uint64_t ms = 0;

	ret[0] = '\0';
	if (text == NULL || time_point(text, ret))
		return 0;
	if (schema_duration(text, &ms) != 0)
		return err_set(err, ERR_USAGE, 0,
			       "%s '%s': write a UTC time, as 2026-01-31 or 2026-01-31T09:00, or "
			       "how long ago, as 90m",
			       name, text);
	(void)clock_gettime(CLOCK_REALTIME, &now);
	now.tv_sec -= ms / 1000 < (uint64_t)now.tv_sec ? (time_t)(ms / 1000) : now.tv_sec;
	json_time(&now, ret);
	return 0;
}

static int parse_last(struct show *s, struct err *err)
{
	const char *text = value(s, AUDIT_OPT_LAST);
	char *end = NULL;
	unsigned long v;

	if (text == NULL)
		return 0;
	errno = 0;
	v = strtoul(text, &end, 10);
	if (isdigit((unsigned char)text[0]) == 0 || *end != '\0' || errno != 0 || v == 0 ||
	    v > LAST_MAX)
		return err_set(err, ERR_USAGE, 0, "--last '%s': write a number from 1 to %d", text,
			       LAST_MAX);
	s->last = v;
	s->kept = arena_array(s->args->arena, v, sizeof(*s->kept));
	return 0;
}

static bool is_of_agent(const json_t *rec, const char *pattern)
{
	const char *id = json_string_value(json_object_get(rec, "agent_id"));
	const json_t *one;
	size_t i;

	json_array_foreach(json_object_get(rec, "delegation"), i, one)
	{
		if (json_is_string(one) && match_wildcards(pattern, json_string_value(one)))
			return true;
	}
	return id != NULL && match_wildcards(pattern, id);
}

static bool is_wanted(const struct show *s, const json_t *rec)
{
	const char *agent = value(s, CLI_AGENT), *request = value(s, AUDIT_OPT_REQUEST);
	const char *resource = value(s, AUDIT_OPT_RESOURCE);
	const char *id = json_string_value(json_object_get(rec, "request_id"));
	const char *ts = json_string_value(json_object_get(rec, "ts"));
	STRBUF_AUTO text = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(filters); i++) {
		const char *want = value(s, filters[i].id);
		const char *got = json_string_value(json_object_get(rec, filters[i].key));

		if (want != NULL && (got == NULL || strcmp(got, want) != 0))
			return false;
	}
	if (s->since[0] != '\0' && (ts == NULL || strcmp(ts, s->since) < 0))
		return false;
	if (s->until[0] != '\0' && (ts == NULL || strcmp(ts, s->until) >= 0))
		return false;
	if (request != NULL && (id == NULL || strncmp(id, request, strlen(request)) != 0))
		return false;
	if (agent != NULL && !is_of_agent(rec, agent))
		return false;
	if (resource == NULL)
		return true;
	audit_text_resource(rec, false, &text);
	return match_wildcards(resource, strbuf_str(&text));
}

/* --- what is printed --- */

/* Whether it went out is known when it is flushed. */
static void print(const struct strbuf *text)
{
	(void)fwrite(strbuf_str(text), 1, text->len, stdout);
}

static void take_line(struct show *s, const char *line, size_t len)
{
	JSON_AUTO *rec = json_loadb(line, len, JSON_REJECT_DUPLICATES, NULL);
	const char *event = json_string_value(json_object_get(rec, "event"));
	STRBUF_AUTO text = { 0 };
	struct strbuf *kept;

	if (event == NULL) {
		s->no_records++;
		return;
	}
	if (strcmp(event, audit_event_name(AUDIT_RECOVERED)) == 0 && s->no_records > 0)
		s->no_records--;
	if (!is_wanted(s, rec))
		return;
	if (s->json) {
		json_line_ascii(rec, &text);
		strbuf_putc(&text, '\n');
	} else {
		audit_text_row(rec, &text);
	}
	if (s->kept == NULL) {
		print(&text);
		return;
	}
	kept = &s->kept[s->n_kept++ % s->last];
	strbuf_free(kept);
	*kept = text;
	text = (struct strbuf){ 0 };
}

/* Those that were kept; from here on each is printed as it comes. */
static void print_kept(struct show *s)
{
	size_t n = s->n_kept < s->last ? s->n_kept : s->last;

	for (size_t i = s->n_kept - n; s->kept != NULL && i < s->n_kept; i++) {
		print(&s->kept[i % s->last]);
		strbuf_free(&s->kept[i % s->last]);
	}
	s->kept = NULL;
}

static int read_all(struct show *s, struct audit_reader *reader, struct err *err)
{
	const char *line = NULL;
	size_t len = 0;
	int r;

	while ((r = audit_read_next(reader, &line, &len, err)) == 1)
		take_line(s, line, len);
	print_kept(s);
	if (fflush(stdout) != 0 && r == 0)
		return err_set(err, ERR_HOST, errno, "cannot write to standard output");
	return r;
}

static int show(struct show *s, struct err *err)
{
	const struct audit_args *args = s->args;
	struct audit_reader *reader = NULL;
	STRBUF_AUTO head = { 0 };
	int r = args->file != NULL
			? audit_read_file(args->arena, args->file, &reader, err)
			: audit_read_dir(args->arena, args->dir, s->follow, &reader, err);

	if (r != 0)
		return -1;
	audit_text_head(&head);
	if (!s->json)
		print(&head);
	r = read_all(s, reader, err);
	while (r == 0 && s->follow) {
		r = audit_read_wait(reader, STDOUT_FILENO, err);
		if (r != 1)
			break;
		r = read_all(s, reader, err);
	}
	audit_read_close(reader);
	if (r == 0 && s->no_records > 0)
		cli_say("%lld lines are no records: 'agentbox audit verify' tells where",
			(long long)s->no_records);
	return r;
}

int audit_show(const struct audit_args *args, struct err *err)
{
	struct show s = { .args = args,
			  .json = cli_has(args->parsed, CLI_JSON),
			  .follow = cli_has(args->parsed, AUDIT_OPT_FOLLOW) };

	if (s.follow && args->file != NULL) {
		(void)err_set(err, ERR_USAGE, 0,
			      "--follow is for the log of a state directory, not for FILE");
		return EXITCODE_FAILED;
	}
	if (check_words(&s, err) != 0 || parse_last(&s, err) != 0 ||
	    parse_time(&s, AUDIT_OPT_SINCE, "--since", s.since, err) != 0 ||
	    parse_time(&s, AUDIT_OPT_UNTIL, "--until", s.until, err) != 0 || show(&s, err) != 0)
		return cli_rc(err);
	return 0;
}
