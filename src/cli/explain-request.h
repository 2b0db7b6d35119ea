/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* explain-request - what became of one request, by the audit log: for the operator. */
#pragma once

#include "cli/cli.h"

/* explain_request() - @id: of the request, or the beginning of one; @dir: the state directory.
 * Return: the exit status, with *err set for 125. */
int explain_request(struct arena *a, const char *dir, const char *id, bool json, struct err *err);
