/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* world - a directory of its own, a profile from text, and facts made by hand over both. */
#pragma once

#include "policy/facts-roots.h"
#include "policy/resolve.h"

struct world {
	struct arena arena;
	const char *dir; /* canonical */
	const struct profile *profile;
	const struct policy_agent *agent; /* the first one */
	struct facts facts;
	struct tree_access *access;
	struct view view;
};

void world_open(struct world *w);
void world_close(struct world *w);

/* All paths are relative to the directory. */
const char *world_path(struct world *w, const char *rel);
void world_mkdir(struct world *w, const char *rel);
void world_file(struct world *w, const char *rel, unsigned mode);
/* '@' in the text is the directory. */
void world_text_file(struct world *w, const char *rel, const char *text);
void world_fifo(struct world *w, const char *rel);
void world_link(struct world *w, const char *text, const char *rel);

/* world_parse() - a profile; '@' in the text is the directory. Aborts with the message when it is
 * none. */
void world_parse(struct world *w, const char *text);
/* world_agent() - one of the profile, by id. */
const struct policy_agent *world_agent(struct world *w, const char *id);
/* The same, in the short way: roots (YAML list) of which the one agent may do everything. */
void world_roots(struct world *w, const char *roots);

/* world_facts() - descriptors of the roots, as they are; a base of usr/ below the directory seen
 * at /usr, with /bin a link to usr/bin. Then access of the agent, and the view. */
void world_facts(struct world *w);

/* world_resolve() - the result of view_resolve(), with the path reached in *path. '@' works. */
enum view_result world_resolve(struct world *w, const char *path, const char **ret);
/* world_text() - '@' replaced by the directory. */
const char *world_text(struct world *w, const char *text);

int world_guards(struct world *w, struct resolved *ret, struct err *err);
/* One line for each guard: kind, d for a directory, l for a link, ! in a writable root, path,
 * "< from"; or "error " and the message. */
const char *world_guards_text(struct world *w);
