/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* filter - the system calls that each of the three processes has left, as the last of what it
 * gives up. no_new_privs is set before. All return 0 or -errno. */
#pragma once

int filter_relay(void);
int filter_dialer(void);
int filter_resolver(void);
