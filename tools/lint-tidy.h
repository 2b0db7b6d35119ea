/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* lint-tidy - included before every file that clang-tidy reads, and by nothing else.
 *
 * The analyzer sees one file at a time. Without being told that these return -1 it follows every
 * failed call on as if it had succeeded, with nothing written to its out-parameters. */
#pragma once

#include "base/err.h"

#define err_set(...)    (err_set(__VA_ARGS__), -1)
#define err_set_at(...) (err_set_at(__VA_ARGS__), -1)
#define err_prefix(...) (err_prefix(__VA_ARGS__), -1)
