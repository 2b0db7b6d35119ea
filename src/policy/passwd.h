/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* passwd - the lines of a passwd(5), by hand: every run asks for one home, and what the C library
 * takes for that is a tenth of the time until the namespaces can be asked for. */
#pragma once

#include <sys/types.h>

#include "base/arena.h"

/* passwd_home() - the home of the first entry of @name; NULL: of @uid.
 * @text: the whole file, NUL-terminated; it is changed.
 * Return: in @a, or NULL: there is no such entry. Lines that are no entry (comments, those of NIS,
 * no uid or gid that is a number) are passed over, as getpwent(3) passes them over. */
const char *passwd_home(struct arena *a, char *text, const char *name, uid_t uid);
