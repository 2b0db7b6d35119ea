/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* network - a run's network of names: the relay's attachment, its records, and what it denied. */
#pragma once

#include "cli/prepare.h"
#include "relay/attach.h"

/* Kinds of denials that are told apart at the end of a run. */
#define NETWORK_DENIALS_MAX 32

struct network_denial {
	struct host_target target; /* port 0: a name was asked for */
	enum relay_why why;
	struct host_addr peer; /* NOT_PUBLIC, OWN: where the name leads */
	uint32_t status;       /* PROXY: what it said */
	uint64_t count;
};

struct network {
	struct relay_attach relay;
	struct record *record; /* borrowed; NULL: nothing is written */
	struct network_denial denials[NETWORK_DENIALS_MAX];
	size_t n_denials;
	uint64_t more;    /* denials of further kinds */
	uint64_t skipped; /* names and connections, denied or not, that came without a record */
};

/* network_attach() - for the plan of @p. @record: where it is written, or NULL. False: the plan has
 * no such network, and neither is set. Both point into @n; *ret_end goes in front of all others. */
bool network_attach(struct network *n, struct prepared *p, struct record *record,
		    struct run_attachment *ret, struct run_attachment *ret_end);
/* network_say() - one line for each kind of denial. */
void network_say(const struct network *n);
/* network_denials() - the same for the result; new reference. */
json_t *network_denials(const struct network *n);
/* network_why() - the word for it in records. Static. */
const char *network_why(enum relay_why why);
