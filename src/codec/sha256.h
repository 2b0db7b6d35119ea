/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* sha256 - one-shot digests (libmd). */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define SHA256_BYTES    32
#define SHA256_HEX_SIZE 65 /* 64 digits and NUL */

void sha256_hex(const void *data, size_t len, char ret[SHA256_HEX_SIZE]);
