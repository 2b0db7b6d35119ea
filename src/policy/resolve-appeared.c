/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Theory of operation: what would be guarded now and was not at the start has appeared. Guards are
 * found anew, by the same code; the times of the directories that matter say whether that can be
 * spared. A file's time of change cannot be set back by the one who owns it. */
#include <string.h>
#include <sys/stat.h>

#include "policy/guards.h"

static bool has_changed(const struct guard_watch *w)
{
	struct stat st;

	return w->recent || stat(w->path, &st) != 0 || st.st_dev != w->dev || st.st_ino != w->ino ||
	       st.st_ctim.tv_sec != w->ctime.tv_sec || st.st_ctim.tv_nsec != w->ctime.tv_nsec;
}

static bool any_changed(const struct resolved *before)
{
	for (size_t i = 0; i < before->watched.n; i++) {
		if (has_changed(&before->watched.v[i]))
			return true;
	}
	return false;
}

/* Both in the order of guard_order(), but of one path there may be another kind. */
static const struct guard *guard_at(const struct resolved *r, size_t *from, const char *at)
{
	struct guard key = { .at = at };

	while (*from < r->guards.n && strcmp(r->guards.v[*from].at, at) != 0 &&
	       guard_order(&r->guards.v[*from], &key) < 0)
		(*from)++;
	if (*from < r->guards.n && strcmp(r->guards.v[*from].at, at) == 0)
		return &r->guards.v[*from];
	return NULL;
}

int resolve_appeared(struct arena *a, const struct resolve_input *in, const struct resolved *before,
		     appeared_list *ret, struct err *err)
{
	struct resolve_input again = *in;
	struct resolved now = { 0 };
	size_t from = 0;

	if (!any_changed(before))
		return 0;
	again.names_only = true;
	if (resolve_guards(a, &again, &now, err) != 0)
		return -1;
	for (size_t i = 0; i < now.guards.n; i++) {
		const struct guard *g = &now.guards.v[i];
		const struct guard *old = guard_at(before, &from, g->at);

		if (g->kind == GUARD_KEEP || (old != NULL && file_id_same(&old->id, &g->id)))
			continue;
		*array_push(a, ret) =
			(struct appeared){ .at = g->at, .kind = g->kind, .replaced = old != NULL };
	}
	return 0;
}
