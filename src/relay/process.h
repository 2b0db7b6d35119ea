/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* process - what the program is when it was started as RELAY_ARGV0. */
#pragma once

/* relay_main() - with the descriptors of wire.h. Return: the exit status. */
int relay_main(void);
