/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdlib.h>
#include <string.h>

#include "profile/block.h"

#define FD_MAX 1023

static bool parse_fd(const char *text, int *ret)
{
	size_t n = strspn(text, "0123456789");

	if (n == 0 || n > 4 || text[n] != '\0' || (n > 1 && text[0] == '0'))
		return false;
	*ret = (int)strtol(text, NULL, 10);
	return *ret <= FD_MAX;
}

/* schema_item_fn */
static int sink_add(struct schema_ctx *c, const char *key, const struct yaml_node *item, void *out)
{
	struct profile_audit *audit = out;
	const char *text = NULL;
	int fd = 2;

	if (schema_scalar(c, key, item, &text) != 0)
		return -1;
	if (strcmp(text, "file") == 0) {
		audit->no_file = false;
		return 0;
	}
	if (strcmp(text, "stderr") != 0 &&
	    (strncmp(text, "fd:", 3) != 0 || !parse_fd(text + 3, &fd)))
		return schema_fail(c, item, "'to' takes file, stderr and fd:N (N up to %d), not %s",
				   FD_MAX, schema_got(c, item));
	if (fd < 2)
		return schema_fail(
			c, item, "records cannot go to descriptor %d: it is the command's own", fd);
	for (size_t i = 0; i < audit->fds.n; i++) {
		if (audit->fds.v[i] == fd)
			return 0;
	}
	if (audit->fds.n == PROFILE_SINKS_MAX)
		return schema_fail(c, item, "more than %d descriptors take records",
				   PROFILE_SINKS_MAX);
	*array_push(c->a, &audit->fds) = fd;
	return 0;
}

static int parse_to(struct schema_ctx *c, const struct schema_row *row, const struct yaml_pair *p,
		    void *field)
{
	struct profile_audit *audit = field;

	(void)row;
	audit->no_file = true;
	if (schema_each(c, p, sink_add, audit) != 0)
		return -1;
	if (audit->no_file && audit->fds.n == 0)
		return schema_fail(c, p->value,
				   "an empty 'to' would keep no record: leave the key out, or name "
				   "file, stderr or fd:N");
	return 0;
}

static int parse_rotate(struct schema_ctx *c, const struct schema_row *row,
			const struct yaml_pair *p, void *field)
{
	struct profile_audit *audit = field;

	if (schema_parse_size(c, row, p, &audit->rotate) != 0)
		return -1;
	if (audit->rotate < PROFILE_ROTATE_MIN)
		return schema_fail(c, p->value,
				   "'rotate' must be at least 64K, the longest record");
	return 0;
}

/* Both fill all of it. */
static const struct schema_row rows[] = {
	{ .key = "to",
	  .parse = parse_to,
	  .type = "list of file, stderr or fd:N",
	  .help = "what takes the records, all of it (default file)" },
	{ .key = "rotate",
	  .parse = parse_rotate,
	  .type = "size",
	  .help = "a file of the log that has grown to this is put aside (default 64M)" },
};

const struct schema_map block_audit_map = SCHEMA_MAP("audit", rows);
