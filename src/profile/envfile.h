/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* envfile - the variables of sandbox.env.file.
 *
 * A line is empty, begins with '#', or is NAME=VALUE. The value is the rest of the line as it
 * stands: nothing is expanded and nothing unquoted; a value that begins with a quote is an error,
 * for it would mean two things. Errors tell a place and never a text of the file. */
#pragma once

#include "profile/extends.h"

/* envfile_parse() - the variables of @t, added to @s. Names and values in @a. */
MUST_CHECK int envfile_parse(struct arena *a, const struct profile_text *t,
			     struct profile_sandbox *s, struct err *err);

/* envfile_read() - read the file that @p names, if it does, and add it to @p's files. Not when a
 * parameter has a value that nobody gave: the file is not there, and nothing will run.
 * @open_file: NULL when no file may be opened. */
MUST_CHECK int envfile_read(struct schema_ctx *c, extends_open_fn *open_file, struct profile *p);
