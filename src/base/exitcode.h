/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* exitcode - the exit statuses of agentbox itself; every other value is the command's. */
#pragma once

enum exitcode {
	EXITCODE_TOOL = 1,       /* a file tool could not do what it may: no such file, ... */
	EXITCODE_DENIED = 120,   /* by policy; nothing ran */
	EXITCODE_OUTSIDE = 121,  /* by the sandbox before start; nothing ran */
	EXITCODE_WAITING = 122,  /* for approval; nothing ran */
	EXITCODE_REJECTED = 123, /* the approval was rejected */
	EXITCODE_LIMIT = 124,    /* a limit ended the run */
	EXITCODE_FAILED = 125,   /* agentbox failed; nothing ran */
	EXITCODE_NOEXEC = 126,   /* found but not executable, inside */
	EXITCODE_NOTFOUND = 127, /* not found, inside */
};
