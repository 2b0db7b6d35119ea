/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "relay/sniff.h"

#define METHOD_MAX 32

struct head {
	const char *p;
	size_t n;
};

/* One line, without its CR LF. A lone CR, LF or a NUL could be read as an end by one and not by
 * another. */
static bool take_line(struct head *h, struct head *ret)
{
	const char *end = memmem(h->p, h->n, "\r\n", 2);
	size_t n;

	if (end == NULL)
		return false;
	n = (size_t)(end - h->p);
	if (memchr(h->p, '\0', n) != NULL || memchr(h->p, '\r', n) != NULL ||
	    memchr(h->p, '\n', n) != NULL)
		return false;
	*ret = (struct head){ h->p, n };
	h->p += n + 2;
	h->n -= n + 2;
	return true;
}

static bool is_token(const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (p[i] <= ' ' || p[i] >= 0x7f || strchr("\"(),/:;<=>?@[\\]{}", p[i]) != NULL)
			return false;
	}
	return n > 0;
}

/* "name", "name:port" or an address, as a host alone. */
static bool read_host(const char *p, size_t n, struct host_target *ret)
{
	char text[HOSTPAT_TEXT_SIZE];

	if (n == 0 || n >= sizeof(text) || memchr(p, '*', n) != NULL)
		return false;
	memcpy(text, p, n);
	text[n] = '\0';
	return hostpat_target(text, ret) == NULL;
}

static bool same_host(const struct host_target *a, const struct host_target *b)
{
	return strcmp(a->name, b->name) == 0 && memcmp(&a->addr, &b->addr, sizeof(a->addr)) == 0;
}

/* METHOD SP TARGET SP HTTP/1.x */
static bool read_request(struct head line, struct head *ret_target)
{
	const char *space = memchr(line.p, ' ', line.n);
	const char *last = memrchr(line.p, ' ', line.n);

	if (space == NULL || last == space || !is_token(line.p, (size_t)(space - line.p)) ||
	    line.p + line.n - last != 9 || memcmp(last, " HTTP/1.", 8) != 0 ||
	    (last[8] != '0' && last[8] != '1'))
		return false;
	*ret_target = (struct head){ space + 1, (size_t)(last - space - 1) };
	/* A tunnel to somewhere else is not for a server. */
	if (space - line.p == 7 && memcmp(line.p, "CONNECT", 7) == 0)
		return false;
	return ret_target->n > 0 && memchr(ret_target->p, ' ', ret_target->n) == NULL;
}

/* http://HOST/... must name the same host. */
static bool target_agrees(struct head target, const struct host_target *host)
{
	static const char scheme[] = "http://";
	const size_t len = sizeof(scheme) - 1;
	struct host_target named;
	size_t n = 0;

	if (target.p[0] == '/' || (target.n == 1 && target.p[0] == '*'))
		return true;
	if (target.n <= len || strncasecmp(target.p, scheme, len) != 0)
		return false;
	while (len + n < target.n && strchr("/?#", target.p[len + n]) == NULL)
		n++;
	return read_host(target.p + len, n, &named) && same_host(&named, host);
}

static bool is_word(struct head value, const char *word)
{
	return value.n == strlen(word) && strncasecmp(value.p, word, value.n) == 0;
}

static bool read_length(struct head value, uint64_t *ret)
{
	/* More digits than any body has, and fewer than overflow. */
	if (value.n == 0 || value.n > 18)
		return false;
	*ret = 0;
	for (size_t i = 0; i < value.n; i++) {
		if (value.p[i] < '0' || value.p[i] > '9')
			return false;
		*ret = *ret * 10 + (uint64_t)(value.p[i] - '0');
	}
	return true;
}

struct fields {
	struct host_target host;
	struct head_body body;
	bool has_host, has_length, has_coding, has_upgrade;
};

static bool once(bool *has)
{
	bool first = !*has;

	*has = true;
	return first;
}

static bool take_host(struct fields *f, struct head value)
{
	return once(&f->has_host) && read_host(value.p, value.n, &f->host);
}

static bool take_length(struct fields *f, struct head value)
{
	return once(&f->has_length) && read_length(value, &f->body.length);
}

static bool take_coding(struct fields *f, struct head value)
{
	f->body.chunked = is_word(value, "chunked");
	return once(&f->has_coding) && f->body.chunked;
}

static bool take_upgrade(struct fields *f, struct head value)
{
	f->body.websocket = once(&f->has_upgrade) && is_word(value, "websocket");
	return true;
}

static const struct {
	const char *name;
	bool (*take)(struct fields *f, struct head value);
} known_fields[] = {
	{ "host", take_host },
	{ "content-length", take_length },
	{ "transfer-encoding", take_coding },
	{ "upgrade", take_upgrade },
};

static bool read_field(struct head line, struct fields *f)
{
	const char *colon = memchr(line.p, ':', line.n);
	const char *end = line.p + line.n;
	struct head name, value;

	if (colon == NULL || !is_token(line.p, (size_t)(colon - line.p)))
		return false;
	name = (struct head){ line.p, (size_t)(colon - line.p) };
	value.p = colon + 1;
	while (value.p < end && (*value.p == ' ' || *value.p == '\t'))
		value.p++;
	while (end > value.p && (end[-1] == ' ' || end[-1] == '\t'))
		end--;
	value.n = (size_t)(end - value.p);
	for (size_t i = 0; i < sizeof(known_fields) / sizeof(known_fields[0]); i++) {
		if (is_word(name, known_fields[i].name))
			return known_fields[i].take(f, value);
	}
	return true;
}

/* What cannot become a request line any more is not waited for. */
static bool may_be_http(const uint8_t *p, size_t len)
{
	for (size_t i = 0; i < len && i <= METHOD_MAX; i++) {
		if (p[i] == ' ')
			return i > 0;
		if (p[i] < 'A' || p[i] > 'Z')
			return false;
	}
	return len <= METHOD_MAX;
}

enum sniff sniff_request(const uint8_t *p, size_t len, struct host_target *ret,
			 struct head_body *ret_body)
{
	struct head h = { (const char *)p, len };
	struct head line, target;
	struct fields f = { 0 };
	bool old;

	*ret = f.host;
	*ret_body = f.body;
	if (len > SNIFF_MAX || !may_be_http(p, len))
		return SNIFF_WRONG;
	if (memmem(p, len, "\r\n\r\n", 4) == NULL)
		return len == SNIFF_MAX ? SNIFF_WRONG : SNIFF_MORE;
	if (!take_line(&h, &line) || !read_request(line, &target))
		return SNIFF_WRONG;
	old = line.p[line.n - 1] == '0';
	for (;;) {
		if (!take_line(&h, &line))
			return SNIFF_WRONG;
		if (line.n == 0)
			break;
		if (!read_field(line, &f))
			return SNIFF_WRONG;
	}
	if (!f.has_host || !target_agrees(target, &f.host) ||
	    (f.has_coding && (f.has_length || old)))
		return SNIFF_WRONG;
	*ret = f.host;
	*ret_body = f.body;
	ret_body->end = len - h.n;
	return SNIFF_NAME;
}

enum sniff sniff_head(const uint8_t *p, size_t len, struct host_target *ret)
{
	struct head_body body;

	return sniff_request(p, len, ret, &body);
}
