/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What is not whole yet waits here, so that no server can take the beginning of a head for all of
 * it. */
#include "relay/http.h"

#include <string.h>

#include "base/heap.h"

static void hold(struct http *h, const uint8_t *p, size_t n)
{
	uint8_t *old = h->held;

	h->held = n > 0 ? heap_alloc(n, 1) : NULL;
	h->n_held = n;
	if (n > 0)
		memcpy(h->held, p, n);
	if (old != NULL)
		heap_free(old);
}

bool http_take(struct conn *c, const uint8_t *p, size_t n, size_t *ret)
{
	*ret = n;
	if (!c->http->upgraded && !requests_take(&c->http->requests, c->target.name, p, n, ret))
		return false;
	hold(c->http, p + *ret, n - *ret);
	if (c->http->upgraded)
		http_free(c);
	return true;
}

bool http_begin(struct conn *c)
{
	struct half *h = &c->half[SIDE_CLIENT];
	size_t goes_on;

	c->http = heap_alloc(1, sizeof(*c->http));
	if (!http_take(c, h->buf + h->off, h->len, &goes_on))
		return false;
	h->len = goes_on;
	return true;
}

bool http_waits(const struct conn *c)
{
	return c->http != NULL && c->http->requests.state == REQUESTS_UPGRADE && !c->http->upgraded;
}

void http_answer(struct conn *c, const uint8_t *p, size_t n)
{
	static const char switching[] = "HTTP/1.1 101";
	struct http *h = c->http;
	size_t more;

	if (!http_waits(c))
		return;
	more = sizeof(h->status) - h->n_status;
	more = n < more ? n : more;
	memcpy(h->status + h->n_status, p, more);
	h->n_status += (uint8_t)more;
	if (n > 0 && h->n_status < sizeof(h->status))
		return;
	h->upgraded = h->n_status == sizeof(h->status) &&
		      memcmp(h->status, switching, sizeof(h->status)) == 0;
	h->requests.state = REQUESTS_HEAD;
	h->again = true;
}

void http_free(struct conn *c)
{
	if (c->http == NULL)
		return;
	if (c->http->held != NULL)
		heap_free(c->http->held);
	heap_free(c->http);
	c->http = NULL;
}
