/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* macro - attributes and the few macros that every floor may use. */
#pragma once

#include <stddef.h>

#define PRINTF_LIKE(fmt, args) __attribute__((format(printf, fmt, args)))
#define MUST_CHECK             __attribute__((warn_unused_result))
#define ARRAY_SIZE(a)          (sizeof(a) / sizeof((a)[0]))

/* Run a destructor when a variable leaves its scope. */
#define CLEANUP(fn) __attribute__((cleanup(fn)))
