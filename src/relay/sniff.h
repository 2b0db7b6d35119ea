/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* sniff - whom a client says it wants to talk to, in the first bytes that it sends: the server
 * name of a TLS ClientHello (RFC 8446 4.1.2, RFC 6066 3) and the Host of an HTTP/1 request
 * (RFC 9112); and of the requests that follow on the same connection. Any doubt is SNIFF_WRONG.
 * Pure; both start from the beginning at each call. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hostpat.h"

/* What must be enough for the first flight of a client. */
#define SNIFF_MAX 32768

enum sniff {
	SNIFF_WRONG = 0, /* not this protocol, or not as it should be */
	SNIFF_MORE,      /* not all there yet */
	SNIFF_NAME,      /* ret->name, or ret->addr */
	SNIFF_NONE,      /* a whole ClientHello without a server name */
};

/* sniff_hello() - TLS. */
enum sniff sniff_hello(const uint8_t *p, size_t len, struct host_target *ret);
/* sniff_head() - HTTP/1: exactly one Host, which an absolute target must repeat. */
enum sniff sniff_head(const uint8_t *p, size_t len, struct host_target *ret);

/* What follows a request's head, RFC 9112 6. */
struct head_body {
	uint64_t length; /* of Content-Length; 0: nothing */
	bool chunked;
	bool websocket; /* RFC 6455: something else follows, if the server says so */
	size_t end;     /* the bytes of the head */
};

/* sniff_request() - the same, with what follows. A head about which two readers could be of two
 * minds is SNIFF_WRONG: both Content-Length and Transfer-Encoding, one of them twice, any coding
 * but chunked. */
enum sniff sniff_request(const uint8_t *p, size_t len, struct host_target *ret,
			 struct head_body *ret_body);

/* requests - the requests of one connection, one after the other. Zeroed: before the first. */
enum requests_state {
	REQUESTS_HEAD = 0,
	REQUESTS_BODY,
	REQUESTS_CHUNK,     /* its line with the size */
	REQUESTS_CHUNK_END, /* the line end behind it */
	REQUESTS_LAST,      /* that behind the last chunk: no trailer is let through */
	REQUESTS_UPGRADE,   /* it is the server's to say what follows */
};

struct requests {
	enum requests_state state;
	bool later; /* the first head is through */
	bool chunked;
	uint64_t left; /* BODY: bytes of it, or of the chunk */
	size_t seen;   /* HEAD: of it, without its end */
};

/* requests_take() - how many of the @n bytes at @p may go on to the server: heads that are whole
 * and name @host, and what belongs to them. The rest, less than SNIFF_MAX or of REQUESTS_UPGRADE,
 * comes first at the next call. False: the connection must end; nothing more may go on. */
bool requests_take(struct requests *q, const char *host, const uint8_t *p, size_t n, size_t *ret);
