/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* json - jansson, and the few forms that agentbox adds. The only header that includes it.
 *
 * Values are owned by whoever holds the reference, as jansson says. Objects keep
 * the order of insertion. OOM aborts in every helper here. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "base/macro.h"
#include "base/strbuf.h"
#include "codec/sha256.h"

#define JSON_AUTO CLEANUP(json_decrefp) json_t

/* json_seed() - once, before the first object: the seed of jansson's hash tables, which it would
 * otherwise read from a file. */
void json_seed(void);
/* json_bytes() - a string; {"b64": "..."} when the bytes are not UTF-8 or hold NUL. */
json_t *json_bytes(const void *s, size_t len);
/* json_text() - json_bytes() of a C string; JSON null for NULL. */
json_t *json_text(const char *s);
/* json_put() - set a key, stealing @value; aborts on failure. */
void json_put(json_t *obj, const char *key, json_t *value);
#define JSON_TIME_SIZE 64
/* json_time() - an RFC 3339 UTC time with microseconds, e.g. 2026-01-31T09:00:00.000000Z: such
 * texts sort as the times do. */
void json_time(const struct timespec *ts, char ret[JSON_TIME_SIZE]);
/* json_put_now() - the present, as that. */
void json_put_now(json_t *obj, const char *key);
/* json_line() - compact text of @v without a newline; appended to @sb. */
void json_line(const json_t *v, struct strbuf *sb);
/* json_line_ascii() - the same value in printable ASCII alone. */
void json_line_ascii(const json_t *v, struct strbuf *sb);
/* json_write_line() - the same to @fd, with a newline, through a small buffer: a long text is never
 * there twice. Returns 0 or -errno. */
MUST_CHECK int json_write_line(const json_t *v, int fd);
/* json_canonical_sha256() - digest of the compact form with sorted keys. */
void json_canonical_sha256(const json_t *v, char ret[SHA256_HEX_SIZE]);
/* json_b64() - standard base64 with padding, appended to @sb. */
void json_b64(const void *s, size_t len, struct strbuf *sb);
