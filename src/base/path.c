/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/path.h"

#include <limits.h>
#include <string.h>

static bool component_ok(const char *s, size_t n)
{
	if (n == 0 || (n == 1 && s[0] == '.'))
		return false;
	return !(n == 2 && s[0] == '.' && s[1] == '.');
}

bool path_is_canonical(const char *p)
{
	if (p[0] != '/' || strlen(p) >= PATH_MAX)
		return false;
	if (p[1] == '\0')
		return true;
	for (p++;;) {
		size_t n = strcspn(p, "/");

		if (!component_ok(p, n))
			return false;
		if (p[n] == '\0')
			return true;
		p += n + 1;
	}
}

bool path_covers(const char *dir, const char *p)
{
	size_t n = strlen(dir);

	if (n == 1)
		return true;
	return strncmp(dir, p, n) == 0 && (p[n] == '\0' || p[n] == '/');
}

const char *path_rest(const char *dir, const char *p)
{
	const char *r = p + (dir[1] == '\0' ? 0 : strlen(dir));

	return *r == '/' ? r + 1 : r;
}

size_t path_depth(const char *p)
{
	size_t n = 0;

	if (p[1] == '\0')
		return 0;
	for (; *p != '\0'; p++)
		n += *p == '/';
	return n;
}

char *path_join(struct arena *a, const char *dir, const char *name)
{
	return arena_printf(a, "%s/%s", dir[1] == '\0' && dir[0] == '/' ? "" : dir, name);
}

char *path_dirname(struct arena *a, const char *p)
{
	const char *slash = strrchr(p, '/');

	if (slash == NULL || slash == p)
		return arena_strdup(a, "/");
	return arena_strndup(a, p, (size_t)(slash - p));
}

const char *path_basename(const char *p)
{
	const char *slash = strrchr(p, '/');

	return slash == NULL ? p : slash + 1;
}
