/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "child/child.h"

#include <stddef.h>

static const char *const names[CHILD_STEP_MAX] = {
	[CHILD_STEP_NONE] = "none",
	[CHILD_STEP_PROPAGATION] = "propagation",
	[CHILD_STEP_SOURCES] = "sources",
	[CHILD_STEP_WAIT_IDS] = "wait_ids",
	[CHILD_STEP_IDENTITY] = "identity",
	[CHILD_STEP_DEATH_SIGNAL] = "death_signal",
	[CHILD_STEP_SESSION] = "session",
	[CHILD_STEP_KEYRING] = "keyring",
	[CHILD_STEP_HOSTNAME] = "hostname",
	[CHILD_STEP_NETWORK] = "network",
	[CHILD_STEP_ROOT] = "root",
	[CHILD_STEP_PROC] = "proc",
	[CHILD_STEP_PIVOT] = "pivot",
	[CHILD_STEP_BUILD] = "build",
	[CHILD_STEP_DETACH] = "detach",
	[CHILD_STEP_SEAL] = "seal",
	[CHILD_STEP_WATCHED] = "watched",
	[CHILD_STEP_WORKDIR] = "workdir",
	[CHILD_STEP_NETNS] = "netns",
	[CHILD_STEP_LOOPBACK] = "loopback",
	[CHILD_STEP_TERMINAL] = "terminal",
	[CHILD_STEP_LANDLOCK] = "landlock",
	[CHILD_STEP_DESCRIPTORS] = "descriptors",
	[CHILD_STEP_PRIVILEGES] = "privileges",
	[CHILD_STEP_FILTER] = "filter",
	[CHILD_STEP_WAIT_START] = "wait_start",
	[CHILD_STEP_SPAWN] = "spawn",
};

const char *child_step_name(enum child_step step)
{
	/* The number came over a socket. */
	if ((unsigned)step >= CHILD_STEP_MAX || names[step] == NULL)
		return "unknown";
	return names[step];
}
