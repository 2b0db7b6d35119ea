/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "filter/filter.h"

#include <stdlib.h>

#include "plan/internal.h"

const char *plan_filter_preset(const struct plan *p)
{
	return (p->filter_options & FILTER_DEBUG) != 0 ? "default" : "strict";
}

static void deny_build(struct plan_builder *b, struct plan *p)
{
	const struct profile_sandbox *s = &b->rq->profile->sandbox;
	bool no_unix = s->unix_sockets == PROFILE_UNIX_NONE;
	struct filter_program deny;
	uint16_t *numbers;

	if (s->syscalls_deny.n == 0 && !no_unix)
		return;
	numbers = arena_array(b->arena, s->syscalls_deny.n, sizeof(*numbers));
	for (size_t i = 0; i < s->syscalls_deny.n; i++) {
		/* Looked up when the profile was read. */
		if (!filter_call_number(s->syscalls_deny.v[i].name, &numbers[i]))
			abort();
	}
	filter_deny(b->arena, numbers, s->syscalls_deny.n, no_unix, &deny);
	p->denied = numbers;
	p->n_denied = (uint16_t)s->syscalls_deny.n;
	p->filter_deny = deny.code;
	p->n_filter_deny = deny.n;
}

int plan_filter_build(struct plan_builder *b, struct plan *p, struct err *err)
{
	const struct profile_sandbox *s = &b->rq->profile->sandbox;
	const struct profile_pos *pos = &s->syscalls_pos;
	unsigned options = s->syscalls_open;
	struct filter_program base;

	/* An executable file in memory would be one that `commands` does not list. */
	if (s->any_command)
		options |= FILTER_MEMFD;
	if (s->nested_sandboxes)
		options |= FILTER_USERNS;
	if (s->syscalls_preset == PROFILE_PRESET_DEFAULT)
		options |= FILTER_DEBUG;
	/* Files of kernel uid 0, in /proc and elsewhere, would be its own to change again. */
	if ((options & FILTER_USERNS) != 0 && p->ids.identity == PLAN_IDENTITY_ROOT)
		return err_set_at(err, ERR_HOST, pos->file, pos->line, pos->col,
				  "'allow: [userns]': this host has no unprivileged identity for "
				  "a root caller, and with that of root it is refused: run "
				  "agentbox as an ordinary user");
	if (!filter_base(options, &base))
		return err_set_at(err, ERR_PROFILE, pos->file, pos->line, pos->col,
				  "'allow': no filter has these groups");
	p->filter = base.code;
	p->n_filter = base.n;
	p->filter_options = (uint16_t)options;
	deny_build(b, p);
	return 0;
}
