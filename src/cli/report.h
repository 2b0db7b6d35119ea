/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* report - what a request that runs something says at its end, whatever it was. */
#pragma once

#include "cli/prepare.h"

/* report_weaker() - what is weaker than it could be, on this host or by the profile's own word. */
void report_weaker(const struct prepared *prep);
/* report_limit() - the limit that ended the run, if one did. */
void report_limit(const struct plan *p, const struct outcome *out);
/* report_verdict() - of a request that was not allowed. */
void report_verdict(const struct prepared *prep);
/* report_agents() - who could have asked: to a terminal only. */
void report_agents(const struct prepared *prep);
/* report_object() - print @o to @fd. Return: @rc, but never 0 when that fails. */
int report_object(int fd, const json_t *o, const char *what, int rc);
/* report_interrupt() - print *err and end by SIGINT where the run was ended by it. */
void report_interrupt(const struct outcome *out, struct err *err);
