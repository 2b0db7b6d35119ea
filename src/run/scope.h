/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* scope - a cgroup from the caller's own service manager, where the one that agentbox was started
 * in is not delegated: a transient scope with agentbox alone in it (org.freedesktop.systemd1(5),
 * StartTransientUnit).
 *
 * agentbox leaves its cgroup for it. So it is asked for only where that cgroup, and each above it
 * that the scope is not in too, belongs to a login session or to a service of that manager and
 * carries no limit. The library for the bus is loaded when one is asked for, and not before. */
#pragma once

#include <stddef.h>

#include "base/macro.h"

struct run_scope_host {
	const char *mount;   /* of the cgroup file system */
	const char *runtime; /* "/run/user": of the user with id N the directory N */
	unsigned uid;
};

/* run_scope_check() - whether one may be asked for. Nothing is changed.
 * @path: of the cgroup of this process below the mount, without the leading slash.
 * Return: 0, or -1 with why not. */
MUST_CHECK int run_scope_check(const struct run_scope_host *host, const char *path, char *ret_why,
			       size_t size);
/* run_scope_ask() - have this process put into a scope of the name NAME.scope. Whether and when it
 * happens the caller sees in its own cgroup.
 * Return: 0, or -1 with why not. */
MUST_CHECK int run_scope_ask(const struct run_scope_host *host, const char *name, char *ret_why,
			     size_t size);
