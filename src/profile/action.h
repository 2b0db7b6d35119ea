/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* action - what an agent may do, and the operations that stand for sets of actions. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* The closed list of actions (DESIGN 5.1); a rule and a right are sets of them. */
enum action {
	ACTION_READ_FILE,
	ACTION_LS,
	ACTION_GLOB,
	ACTION_GREP,
	ACTION_DOWNLOAD,
	ACTION_WRITE_FILE,
	ACTION_EDIT_FILE,
	ACTION_DELETE,
	ACTION_UPLOAD,
	ACTION_RUN_COMMAND,
	ACTION_NET_CONNECT,
	ACTION_HOST_RUN,
	ACTION_MAX,
};

typedef uint32_t action_set;
#define ACTION_BIT(a) ((action_set)1 << (a))

enum action_operation {
	OPERATION_READ,
	OPERATION_WRITE,
	OPERATION_EXECUTE,
	OPERATION_CONNECT,
	OPERATION_HOST,
	OPERATION_MAX,
};

/* action_name() - the word of the profile and of requests, e.g. "read_file". */
const char *action_name(enum action a);
/* action_from_name() - exact and case-sensitive. Return: false when unknown. */
bool action_from_name(const char *name, enum action *ret);
/* action_operation_set() - the actions that an operation word stands for. */
action_set action_operation_set(enum action_operation op);
/* action_operation_name() - "read", "write", "execute", "connect", "host". */
const char *action_operation_name(enum action_operation op);
/* action_operation() - the operation that an action belongs to. */
enum action_operation action_operation(enum action a);
