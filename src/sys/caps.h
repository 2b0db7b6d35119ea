/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* caps - give up every capability, and see that none is left. All return 0 or -errno. */
#pragma once

/* sys_caps_drop() - the ambient set, then the bounding set (which needs CAP_SETPCAP), then the
 * effective, permitted and inheritable ones. */
int sys_caps_drop(void);
/* sys_caps_clear() - the effective, permitted and inheritable sets alone. */
int sys_caps_clear(void);
/* sys_caps_none() - -EPERM when one is left in any of the five sets. */
int sys_caps_none(void);
