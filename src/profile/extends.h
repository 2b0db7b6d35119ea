/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* extends - one tree of values from a profile, those that it extends and the files of its blocks.
 *
 * Every node keeps the name of the file that it comes from, for errors and relative paths. */
#pragma once

#include "profile/builtin.h"
#include "profile/schema.h"

#define EXTENDS_DEPTH_MAX 8  /* profiles in one chain, the first included */
#define EXTENDS_FILES_MAX 64 /* files in all: chains may meet */

/* A file that was opened, judged and read. */
struct extends_file {
	struct profile_text text;
	struct profile_file file;
};

/* Open, judge and read the file at @path (absolute); @name is what errors call it. */
typedef int extends_open_fn(struct arena *a, const struct profile_source *src, const char *path,
			    const char *name, struct extends_file *ret, struct err *err);

/* extends_builtin() - a shipped profile as if it had been read. @tests: with them; they are most of
 * the text, and only few verbs want them. */
void extends_builtin(const struct builtin *b, bool tests, struct extends_file *ret);

/* extends_follow() - replace *root by the tree that it and all it names make. *root stays as it is
 * when it names nothing. @open: NULL when no file may be opened. What was read is added to
 * @files and to the context's. */
MUST_CHECK int extends_follow(struct schema_ctx *c, extends_open_fn *open,
			      const struct yaml_node **root, profile_files *files);

/* extends_parse() - profile_parse() with files. @files: the profile's own file, if it has one. */
MUST_CHECK int extends_parse(struct arena *a, const struct profile_source *src,
			     const struct profile_text *text, extends_open_fn *open,
			     profile_files *files, const struct profile **ret, struct err *err);
