/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* proxy - connections that go through the upstream proxy: HTTP CONNECT (RFC 9110 9.3.6). */
#pragma once

#include "relay/internal.h"

/* proxy_is_for() - what @c wants is to be had from the proxy: all but ports of the host itself. */
bool proxy_is_for(const struct relay *r, const struct conn *c);
/* proxy_begin() - the proxy is connected to: ask it for the target. */
void proxy_begin(struct relay *r, uint32_t i);
void proxy_turn(struct relay *r, uint32_t i);
