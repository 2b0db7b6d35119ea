/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "policy/passwd.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* name:password:uid:gid:gecos:home:shell */
enum { FIELD_NAME, FIELD_UID = 2, FIELD_GID = 3, FIELD_HOME = 5, FIELDS = 7 };

static bool id_read(const char *s, unsigned long *ret)
{
	char *end;

	if (!isdigit((unsigned char)s[0]))
		return false;
	*ret = strtoul(s, &end, 10);
	return *end == '\0' && *ret <= UINT32_MAX;
}

/* What comes after the ids may be missing, and is empty then. */
static bool fields_split(char *line, const char *field[FIELDS])
{
	bool ids = false;

	for (size_t n = 0; n < FIELDS; n++) {
		ids = ids || (n == FIELD_GID && line != NULL);
		field[n] = strsep(&line, n == FIELDS - 1 ? "" : ":");
		if (field[n] == NULL)
			field[n] = "";
	}
	return ids;
}

const char *passwd_home(struct arena *a, char *text, const char *name, uid_t uid)
{
	for (char *line; (line = strsep(&text, "\n")) != NULL;) {
		const char *field[FIELDS];
		unsigned long id, gid;

		line += strspn(line, " \t");
		if (line[0] == '#' || line[0] == '+' || line[0] == '-' ||
		    !fields_split(line, field) || !id_read(field[FIELD_UID], &id) ||
		    !id_read(field[FIELD_GID], &gid))
			continue;
		if (name == NULL ? id == uid : strcmp(field[FIELD_NAME], name) == 0)
			return arena_strdup(a, field[FIELD_HOME]);
	}
	return NULL;
}
