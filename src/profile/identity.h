/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* identity - who the command is, and what a run may do without. Part of profile.h. */
#pragma once

/* The uid that the command sees itself as; the kernel's own is never root's for that. */
enum profile_user {
	PROFILE_USER_CALLER = 0, /* the caller's, and 1000 for uid 0 */
	PROFILE_USER_ID,         /* user_id, which is 0 for the word root */
};

/* What a run must have, or it does not start. Bits. */
enum profile_require {
	PROFILE_REQUIRE_UNPRIVILEGED_IDENTITY = 1 << 0, /* never kernel uid 0, DESIGN 6.3 */
};

/* Weaker modes, each only where the profile names it. Bits. */
enum profile_degrade {
	PROFILE_DEGRADE_NO_PROC = 1 << 0, /* no proc of its own: the outer one, read-only */
};
