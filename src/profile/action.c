/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>

#include "base/macro.h"
#include "profile/profile.h"

static const struct {
	const char *name;
	enum action_operation operation;
} actions[] = {
	[ACTION_READ_FILE] = { "read_file", OPERATION_READ },
	[ACTION_LS] = { "ls", OPERATION_READ },
	[ACTION_GLOB] = { "glob", OPERATION_READ },
	[ACTION_GREP] = { "grep", OPERATION_READ },
	[ACTION_DOWNLOAD] = { "download", OPERATION_READ },
	[ACTION_WRITE_FILE] = { "write_file", OPERATION_WRITE },
	[ACTION_EDIT_FILE] = { "edit_file", OPERATION_WRITE },
	[ACTION_DELETE] = { "delete", OPERATION_WRITE },
	[ACTION_UPLOAD] = { "upload", OPERATION_WRITE },
	[ACTION_RUN_COMMAND] = { "run_command", OPERATION_EXECUTE },
	[ACTION_NET_CONNECT] = { "net_connect", OPERATION_CONNECT },
	[ACTION_HOST_RUN] = { "host_run", OPERATION_HOST },
};
_Static_assert(ARRAY_SIZE(actions) == ACTION_MAX, "one row for each action");

static const char *const operations[] = {
	[OPERATION_READ] = "read",       [OPERATION_WRITE] = "write",
	[OPERATION_EXECUTE] = "execute", [OPERATION_CONNECT] = "connect",
	[OPERATION_HOST] = "host",
};
_Static_assert(ARRAY_SIZE(operations) == OPERATION_MAX, "one word for each operation");

const char *action_name(enum action a)
{
	return actions[a].name;
}

bool action_from_name(const char *name, enum action *ret)
{
	for (size_t i = 0; i < ACTION_MAX; i++) {
		if (strcmp(actions[i].name, name) == 0) {
			*ret = (enum action)i;
			return true;
		}
	}
	return false;
}

action_set action_operation_set(enum action_operation op)
{
	action_set set = 0;

	for (size_t i = 0; i < ACTION_MAX; i++) {
		if (actions[i].operation == op)
			set |= ACTION_BIT(i);
	}
	return set;
}

const char *action_operation_name(enum action_operation op)
{
	return operations[op];
}

enum action_operation action_operation(enum action a)
{
	return actions[a].operation;
}
