/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "codec/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "base/escape.h"
#include "base/io.h"

static json_t *json_must(json_t *v)
{
	if (v == NULL)
		abort();
	return v;
}

void json_seed(void)
{
	size_t seed = 0;

	/* Against keys made to collide; a seed that could not be had is only a slower table, and
	 * 0 lets jansson look for itself. */
	if (getrandom(&seed, sizeof(seed), 0) != (ssize_t)sizeof(seed))
		seed = 0;
	json_object_seed(seed);
}

json_t *json_bytes(const void *s, size_t len)
{
	STRBUF_AUTO b64 = { 0 };
	json_t *obj;

	if (len == 0)
		return json_must(json_string(""));
	/* The check is ours, so that nocheck cannot let through what a reader would refuse. */
	if (memchr(s, '\0', len) == NULL && escape_utf8_valid(s, len))
		return json_must(json_stringn_nocheck(s, len));
	json_b64(s, len, &b64);
	obj = json_must(json_object());
	json_put(obj, "b64", json_stringn_nocheck(strbuf_str(&b64), b64.len));
	return obj;
}

json_t *json_text(const char *s)
{
	return s == NULL ? json_null() : json_bytes(s, strlen(s));
}

void json_put(json_t *obj, const char *key, json_t *value)
{
	if (value == NULL || json_object_set_new(obj, key, value) != 0)
		abort();
}

/* Civil date of a day number (days since 1970-01-01) in the proleptic Gregorian calendar, counted
 * from 0000-03-01 so that the leap day is the last of its year. gmtime_r() would do, but the first
 * call of it in a process reads the time zone file of the host. */
static void civil_from_days(long long days, long long *ret_year, unsigned *ret_month,
			    unsigned *ret_day)
{
	long long z = days + 719468;
	long long era = (z >= 0 ? z : z - 146096) / 146097;
	unsigned doe = (unsigned)(z - era * 146097);
	unsigned yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
	unsigned doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
	unsigned mp = (5 * doy + 2) / 153;

	*ret_day = doy - (153 * mp + 2) / 5 + 1;
	*ret_month = mp < 10 ? mp + 3 : mp - 9;
	*ret_year = (long long)yoe + era * 400 + (*ret_month <= 2);
}

void json_time(const struct timespec *ts, char ret[JSON_TIME_SIZE])
{
	unsigned sec = (unsigned)((ts->tv_sec % 86400 + 86400) % 86400);
	long long year;
	unsigned month, day;

	civil_from_days((ts->tv_sec - (time_t)sec) / 86400, &year, &month, &day);
	(void)snprintf(ret, JSON_TIME_SIZE, "%04lld-%02u-%02uT%02u:%02u:%02u.%06ldZ", year, month,
		       day, sec / 3600, sec / 60 % 60, sec % 60, ts->tv_nsec / 1000);
}

void json_put_now(json_t *obj, const char *key)
{
	char text[JSON_TIME_SIZE];
	struct timespec ts;

	if (clock_gettime(CLOCK_REALTIME, &ts) != 0)
		abort();
	json_time(&ts, text);
	json_put(obj, key, json_string(text));
}

static int json_to_strbuf(const char *buf, size_t len, void *ctx)
{
	strbuf_add(ctx, buf, len);
	return 0;
}

static void json_dump(const json_t *v, struct strbuf *sb, size_t flags)
{
	if (json_dump_callback(v, json_to_strbuf, sb, flags | JSON_COMPACT | JSON_ENCODE_ANY) != 0)
		abort();
}

void json_line(const json_t *v, struct strbuf *sb)
{
	json_dump(v, sb, 0);
}

/* jansson leaves DEL as it is; it can only stand in a string. */
static int json_to_ascii(const char *buf, size_t len, void *ctx)
{
	const char *del;

	while ((del = memchr(buf, '\x7f', len)) != NULL) {
		size_t n = (size_t)(del - buf);

		strbuf_add(ctx, buf, n);
		strbuf_puts(ctx, "\\u007f");
		buf += n + 1;
		len -= n + 1;
	}
	strbuf_add(ctx, buf, len);
	return 0;
}

void json_line_ascii(const json_t *v, struct strbuf *sb)
{
	if (json_dump_callback(v, json_to_ascii, sb,
			       JSON_COMPACT | JSON_ENCODE_ANY | JSON_ENSURE_ASCII) != 0)
		abort();
}

struct json_out {
	int fd;
	int r;
	size_t len;
	char buf[64 * 1024];
};

static int json_flush(struct json_out *out)
{
	if (out->r == 0 && out->len > 0)
		out->r = io_write_full(out->fd, out->buf, out->len);
	out->len = 0;
	return out->r;
}

static int json_to_fd(const char *text, size_t len, void *ctx)
{
	struct json_out *out = ctx;

	if (len > sizeof(out->buf) - out->len && json_flush(out) != 0)
		return -1;
	if (len > sizeof(out->buf)) {
		out->r = io_write_full(out->fd, text, len);
		return out->r;
	}
	memcpy(out->buf + out->len, text, len);
	out->len += len;
	return 0;
}

int json_write_line(const json_t *v, int fd)
{
	struct json_out out;

	out.fd = fd;
	out.r = 0;
	out.len = 0;
	if (json_dump_callback(v, json_to_fd, &out, JSON_COMPACT | JSON_ENCODE_ANY) != 0) {
		if (out.r == 0)
			abort();
		return out.r;
	}
	if (json_to_fd("\n", 1, &out) != 0)
		return out.r;
	return json_flush(&out);
}

void json_canonical_sha256(const json_t *v, char ret[SHA256_HEX_SIZE])
{
	STRBUF_AUTO sb = { 0 };

	json_dump(v, &sb, JSON_SORT_KEYS);
	sha256_hex(strbuf_str(&sb), sb.len, ret);
}

void json_b64(const void *s, size_t len, struct strbuf *sb)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const unsigned char *p = s;

	for (size_t i = 0; i < len; i += 3) {
		size_t left = len - i;
		unsigned v = (unsigned)p[i] << 16 | (left > 1 ? (unsigned)p[i + 1] << 8 : 0) |
			     (left > 2 ? (unsigned)p[i + 2] : 0);
		char quad[4] = { digits[v >> 18], digits[v >> 12 & 63],
				 left > 1 ? digits[v >> 6 & 63] : '=',
				 left > 2 ? digits[v & 63] : '=' };

		strbuf_add(sb, quad, sizeof(quad));
	}
}
