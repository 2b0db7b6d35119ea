/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "codec/sha256.h"

#include <sha2.h>

void sha256_hex(const void *data, size_t len, char ret[SHA256_HEX_SIZE])
{
	static const char digits[] = "0123456789abcdef";
	uint8_t sum[SHA256_BYTES];
	SHA2_CTX ctx;

	SHA256Init(&ctx);
	SHA256Update(&ctx, data, len);
	SHA256Final(sum, &ctx);
	for (size_t i = 0; i < SHA256_BYTES; i++) {
		ret[2 * i] = digits[sum[i] >> 4];
		ret[2 * i + 1] = digits[sum[i] & 15];
	}
	ret[SHA256_HEX_SIZE - 1] = '\0';
}
