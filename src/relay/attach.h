/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* attach - the relay as a service of a run: started before the sandbox is, given its listeners by
 * the child while that is built, and gone when the run is. */
#pragma once

#include "plan/plan.h"
#include "policy/connect.h"
#include "relay/wire.h"
#include "run/run.h"

#define RELAY_CONNS 1024 /* at a time */

struct relay_attach {
	/* Filled in by the caller; all borrowed. */
	struct plan *plan; /* its handoff is set here */
	struct connect_rules rules;
	const struct addr_range *ranges;
	size_t n_ranges;
	const struct profile_publish *publish;
	size_t n_publish;
	struct relay_proxy proxy;
	uint32_t drop_id;   /* what a root caller's processes become; 0 for anybody else */
	bool drop_optional; /* where the host has no such id, they stay without capabilities */
	/* What the relay says, checked, in the order in which it came. A failure ends the run. */
	int (*report)(void *ctx, const struct relay_report *rep, struct err *err);
	void *ctx;

	/* Its own. */
	int fd;         /* reports; -1 when the relay is gone */
	int handoff[2]; /* ours for the child, the relay's */
	int theirs;     /* the other end of fd, until the relay is started */
	int config;     /* the same */
	pid_t pid;      /* of the resolver, whose child the relay is; 0: none */
	bool ready;
	bool lost;       /* ended before the run did */
	uint32_t tokens; /* so many reports are taken before the next moment */
	uint64_t tokens_ms;
	uint32_t dropped; /* reports beyond that */
	enum plan_net_topology topology;
};

/* relay_attach() - both point into @r, whose first part is filled in. @ret goes behind what it
 * reports to. @ret_end comes first, so that it finishes last: it collects processes that end
 * while the others finish. */
void relay_attach(struct relay_attach *r, struct run_attachment *ret,
		  struct run_attachment *ret_end);
