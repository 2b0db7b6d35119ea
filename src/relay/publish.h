/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* publish - what the relay process and the dialer do for published ports. */
#pragma once

#include "relay/internal.h"

/* publish.c: ports of the host that lead inside. */
/* publish_enter() - send the dialer into the sandbox's network. False: it cannot be told. */
bool publish_enter(struct relay *r, int ns);
/* publish_arm() - take connections from outside, or leave them in the backlog. */
void publish_arm(struct relay *r, bool on);
/* publish_close() - the host's ports are free from here on. */
void publish_close(struct relay *r);
void publish_begin(struct relay *r, uint32_t i, uint16_t inside);
void publish_answer(struct relay *r);
void publish_event(struct relay *r, uint32_t i, enum conn_side side, uint32_t events);

/* dialer.c: in a process of its own, until @fd ends. @become: take an id that is nobody's, once the
 * right to enter is used. */
void dialer_serve(int fd, const struct relay_config *c,
		  int (*become)(const struct relay_config *c));
