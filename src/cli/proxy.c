/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/proxy.h"

#include <string.h>

#define BASIC     "Basic "
#define BASIC_LEN (sizeof(BASIC) - 1)
/* Of USER:PASSWORD: with four characters for three bytes it fits. */
#define CREDENTIALS_MAX ((RELAY_AUTH_SIZE - sizeof(BASIC)) / 4 * 3)

static const char *find(char *const *environ, const char *name)
{
	size_t n = strlen(name);

	for (; *environ != NULL; environ++) {
		if (strncmp(*environ, name, n) == 0 && (*environ)[n] == '=')
			return *environ + n + 1;
	}
	return NULL;
}

/* RFC 4648 4. */
static void base64(const char *text, size_t n, char *ret)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const unsigned char *p = (const unsigned char *)text;

	for (size_t i = 0; i < n; i += 3) {
		unsigned v = (unsigned)p[i] << 16;

		v |= i + 1 < n ? (unsigned)p[i + 1] << 8 : 0;
		v |= i + 2 < n ? p[i + 2] : 0;
		*ret++ = digits[v >> 18];
		*ret++ = digits[v >> 12 & 63];
		*ret++ = i + 1 < n ? digits[v >> 6 & 63] : '=';
		*ret++ = i + 2 < n ? digits[v & 63] : '=';
	}
	*ret = '\0';
}

int proxy_settle(const struct profile_proxy *p, char *const *environ, struct relay_proxy *ret,
		 struct err *err)
{
	const char *text;
	size_t n;

	*ret = (struct relay_proxy){ 0 };
	if (p->url == NULL)
		return 0;
	ret->host = p->host;
	if (p->credentials == NULL)
		return 0;
	text = find(environ, p->credentials);
	n = text == NULL ? 0 : strlen(text);
	if (n == 0 || strchr(text, ':') == NULL || n > CREDENTIALS_MAX)
		return err_set_at(err, ERR_REQUEST, p->pos.file, p->pos.line, p->pos.col,
				  "'upstream_proxy': the variable '%s' must hold USER:PASSWORD, at "
				  "most %zu bytes, and %s",
				  p->credentials, (size_t)CREDENTIALS_MAX,
				  text == NULL ? "is not set" : "does not");
	memcpy(ret->auth, BASIC, BASIC_LEN);
	base64(text, n, ret->auth + BASIC_LEN);
	return 0;
}
