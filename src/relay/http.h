/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* http - the requests of a connection on port 80: none goes to the server that does not name the
 * host which the connection is to. */
#pragma once

#include "relay/internal.h"

/* Of a connection whose requests are looked at, one after the other. */
struct http {
	struct requests requests;
	uint8_t *held; /* owned; what came and may not go on yet */
	size_t n_held;
	char status[sizeof("HTTP/1.1 101") - 1]; /* UPGRADE: how the server's answer begins */
	uint8_t n_status;
	bool again;    /* what is held is to be looked at anew */
	bool upgraded; /* no request follows */
};

/* http_begin() - of what the client has said already only goes on what may. False: nothing does. */
bool http_begin(struct conn *c);
/* http_take() - @n bytes at @p, of which the first *ret go on and the rest is held. */
bool http_take(struct conn *c, const uint8_t *p, size_t n, size_t *ret);
/* http_answer() - what the server says, 0 bytes at its end. */
void http_answer(struct conn *c, const uint8_t *p, size_t n);
/* http_waits() - for the server's word on what follows. */
bool http_waits(const struct conn *c);
void http_free(struct conn *c);
