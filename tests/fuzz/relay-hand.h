/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* relay-hand - the relay's state without the process: a few rules, a resolver that is the other end
 * of a pair, and an answer to what a target asks of it: was anybody asked for a name that is not
 * allowed? */
#pragma once

#include "relay/internal.h"

struct hand {
	struct relay relay;
	int resolver; /* the end at which questions arrive */
	int client;   /* of the connection or of the name server's socket */
};

/* hand() - the only one, made at the first call. */
struct hand *hand(void);
/* hand_allowed() - as the rules of the hand say it, written out a second time. */
bool hand_allowed(const char *name);
/* hand_names() - ends the program when the table has a name that is not allowed. */
void hand_names(struct hand *h);
/* hand_connection() - a client of @name in the state SNIFF says @data on @port.
 * Return: the resolver was asked; for nothing but @name, or the program ends. */
bool hand_connection(struct hand *h, const char *name, uint16_t port, const uint8_t *data,
		     size_t size);
