/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/escape.h"
#include "base/fd.h"
#include "base/io.h"
#include "cli/check.h"

#define BATCH_BYTES_MAX ((size_t)16 * 1024 * 1024)

/* A line did not come out as it says. */
#define RC_UNEXPECTED 1

enum column { WHO, ACTION, RESOURCE, EXPECTED, LABELS, COLUMNS };

struct batch {
	struct arena *arena;
	struct check *check;
	const char *file;
	unsigned line;
	bool json;
	int rc;
	struct err *err;
};

static int fail(struct batch *b, const char *what, const char *value)
{
	return err_set_at(b->err, ERR_REQUEST, b->file, b->line, 1, "%s '%.200s'", what, value);
}

/* "a,b" as two texts. */
static size_t split(struct arena *a, const char *text, const char *at, const char ***ret)
{
	size_t n = 0;

	*ret = arena_array(a, strlen(text) + 1, sizeof(**ret));
	while (*text != '\0') {
		size_t len = strcspn(text, at);

		if (len > 0)
			(*ret)[n++] = arena_strndup(a, text, len);
		text += len + (text[len] != '\0');
	}
	return n;
}

static size_t count(const char *text, char c)
{
	size_t n = 0;

	for (; *text != '\0'; text++)
		n += *text == c;
	return n;
}

/* The last id is who asks, those before it are on whose behalf. "-": as on the command line. */
static int line_asked(struct batch *b, char *const *column, struct agent_asked *asked)
{
	const char **ids, **texts;
	size_t n_ids = split(b->arena, column[WHO], ",", &ids);
	size_t n_texts = split(b->arena, column[LABELS], ",", &texts);
	struct profile_label *labels = arena_array(b->arena, n_texts + 1, sizeof(*labels));

	/* An id that was lost, perhaps an empty variable, must not make the chain shorter. */
	if (n_ids == 0 || n_ids != 1 + count(column[WHO], ','))
		return fail(b, "an id is missing in the principals", column[WHO]);
	if (strcmp(column[WHO], "-") != 0) {
		asked->id = ids[n_ids - 1];
		asked->on_behalf = ids;
		asked->n_on_behalf = n_ids - 1;
	}
	if (n_texts == 0)
		return 0;
	asked->context = labels;
	asked->n_context = 0;
	for (size_t i = 0; i < n_texts; i++) {
		if (cli_label_add(&b->check->context, texts[i], labels, &asked->n_context,
				  b->err) != 0)
			return fail(b, b->err->msg, texts[i]);
	}
	return 0;
}

static void print_text(const struct batch *b, char *const *column)
{
	const struct check *c = b->check;
	const char *who = check_principal(c);
	const char *const out[] = { check_verdict(c->decision.verdict), c->decision.code,
				    who == NULL ? "-" : who, column[ACTION], column[RESOURCE] };
	STRBUF_AUTO sb = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(out); i++) {
		strbuf_puts(&sb, i == 0 ? "" : "\t");
		escape_add(&sb, out[i], strlen(out[i]));
	}
	(void)printf("%s\n", strbuf_str(&sb));
}

static void print_object(const struct batch *b, const char *expected)
{
	JSON_AUTO *o = check_json(b->check);

	json_put(o, "line", json_integer(b->line));
	json_put(o, "expected", json_text(expected[0] == '\0' ? NULL : expected));
	(void)cli_print_json(STDOUT_FILENO, o);
}

/* Once a line was not as it says, that is the status; else the strictest of those that say
 * nothing. */
static void judge(struct batch *b, const char *expected)
{
	static const int order[] = { 0, 122, 121, 120 };
	const char *got = check_verdict(b->check->decision.verdict);
	int rc = check_rc(&b->check->decision);
	size_t now = 0, before = 0;

	if (expected[0] != '\0' && strcmp(expected, got) != 0) {
		cli_say("%s:%u: got %s (%s), expected %s", b->file, b->line, got,
			b->check->decision.code, expected);
		b->rc = RC_UNEXPECTED;
	}
	if (expected[0] != '\0' || b->rc == RC_UNEXPECTED)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(order); i++) {
		now = order[i] == rc ? i : now;
		before = order[i] == b->rc ? i : before;
	}
	b->rc = order[now > before ? now : before];
}

static bool is_verdict(const char *s)
{
	return s[0] == '\0' || strcmp(s, "allow") == 0 || strcmp(s, "deny") == 0 ||
	       strcmp(s, "interrupt") == 0;
}

static int batch_line(struct batch *b, char *const *column, const struct agent_asked *given)
{
	struct check *c = b->check;
	const char **words;
	struct agent_asked asked = *given;
	bool command = strcmp(column[ACTION], action_name(ACTION_RUN_COMMAND)) == 0;

	if (!is_verdict(column[EXPECTED]))
		return fail(b, "expected is allow, deny or interrupt, not", column[EXPECTED]);
	if (line_asked(b, column, &asked) != 0)
		return -1;
	c->context.asked = asked;
	c->context.agent = policy_identify(b->arena, c->context.profile, &c->context.asked,
					   &c->context.identity);
	c->action_word = column[ACTION];
	c->n_words = command ? split(b->arena, column[RESOURCE], " ", &words) : 1;
	if (!command) {
		words = arena_array(b->arena, 1, sizeof(*words));
		words[0] = column[RESOURCE];
	}
	if (c->n_words == 0)
		return fail(b, "no command in", column[RESOURCE]);
	c->words = words;
	if (check_decide(b->arena, c, b->err) != 0)
		return -1;
	if (b->json)
		print_object(b, column[EXPECTED]);
	else
		print_text(b, column);
	judge(b, column[EXPECTED]);
	return 0;
}

static int batch_lines(struct batch *b, char *text)
{
	const struct agent_asked given = b->check->context.asked;
	char empty[] = "";

	for (char *next; text != NULL; text = next) {
		char *column[COLUMNS] = { empty, empty, empty, empty, empty };
		size_t n = 0;

		next = strchr(text, '\n');
		if (next != NULL)
			*next++ = '\0';
		b->line++;
		if (text[0] == '\0' || text[0] == '#')
			continue;
		for (char *p = text; p != NULL && n < COLUMNS; n++) {
			column[n] = p;
			p = strchr(p, '\t');
			if (p != NULL)
				*p++ = '\0';
			if (p != NULL && n + 1 == COLUMNS)
				return fail(b, "too many columns after", column[n]);
		}
		if (n < EXPECTED)
			return fail(b,
				    "a line is principal, action and resource with tabs "
				    "between, not",
				    text);
		if (batch_line(b, column, &given) != 0)
			return -1;
	}
	return 0;
}

int check_batch(struct arena *a, const struct cli_parsed *p, const char *file, struct check *c,
		struct err *err)
{
	bool is_stdin = strcmp(file, "-") == 0;
	FD_AUTO fd = is_stdin ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
			      : open(file, O_RDONLY | O_CLOEXEC);
	struct batch b = { .arena = a,
			   .check = c,
			   .file = is_stdin ? "stdin" : file,
			   .json = cli_has(p, CLI_JSON),
			   .err = err };
	size_t len;
	char *text;
	int r;

	if (fd < 0) {
		(void)err_set(err, ERR_REQUEST, errno, "--batch %s", file);
		return cli_rc(err);
	}
	r = io_read_file(fd, BATCH_BYTES_MAX, a, &text, &len);
	if (r != 0) {
		(void)err_set(err, ERR_REQUEST, -r, "--batch %s", file);
		return cli_rc(err);
	}
	if (memchr(text, '\0', len) != NULL) {
		(void)err_set(err, ERR_REQUEST, 0, "--batch %s holds a NUL byte", file);
		return cli_rc(err);
	}
	return batch_lines(&b, text) == 0 ? b.rc : cli_rc(err);
}
