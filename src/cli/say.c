/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/escape.h"
#include "base/exitcode.h"
#include "cli/cli.h"

static void say_line(const char *text)
{
	STRBUF_AUTO sb = { 0 };

	strbuf_puts(&sb, "agentbox: ");
	escape_add(&sb, text, strlen(text));
	strbuf_putc(&sb, '\n');
	/* One write, so that lines of parallel runs do not mix. Nobody to tell when it fails. */
	(void)!write(STDERR_FILENO, sb.buf, sb.len);
}

void cli_say(const char *fmt, ...)
{
	char text[2048];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	say_line(text);
}

void cli_say_err(const struct err *err)
{
	if (err->file != NULL && err->line > 0)
		cli_say("%s:%u:%u: %s", err->file, err->line, err->col, err->msg);
	else if (err->file != NULL)
		cli_say("%s: %s", err->file, err->msg);
	else
		cli_say("%s", err->msg);
}

int cli_print_json(int fd, const json_t *v)
{
	return json_write_line(v, fd);
}

int cli_rc(const struct err *err)
{
	return err->code == ERR_OUTSIDE ? EXITCODE_OUTSIDE : EXITCODE_FAILED;
}
