/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* grants - what the sandbox lends beside directories: programs, devices, sockets. */
#include <string.h>

#include "base/path.h"
#include "profile/block.h"

static int command_add(struct schema_ctx *c, const char *key, const struct yaml_node *n, void *out)
{
	struct profile_sandbox *s = out;
	struct profile_program p = { .pos = schema_pos(c, n) };
	const char *name;

	if (schema_scalar(c, key, n, &p.text) != 0)
		return -1;
	name = strrchr(p.text, '/');
	name = name == NULL ? p.text : name + 1;
	p.is_pattern = name[strcspn(name, "*?")] != '\0';
	if (p.text[strcspn(p.text, " \t\r\n")] != '\0')
		return schema_fail(c, n,
				   "'%s': '%.200s' is a command line: name the program alone, and "
				   "its arguments in a rule of the agent",
				   key, p.text);
	if (name[0] == '\0' || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return schema_fail(c, n, "'%s': '%.200s' names no file", key, p.text);
	if (name == p.text) {
		if (strlen(name) > 255)
			return schema_fail(c, n, "'%s': '%.80s...' is too long for a name", key,
					   name);
	} else if (!path_is_canonical(p.text) || strcspn(p.text, "*?") < (size_t)(name - p.text)) {
		return schema_fail(
			c, n,
			"'%s': '%.200s' must be a name, or an absolute path without '.', "
			"'..' and '//', with patterns in its last part alone",
			key, p.text);
	}
	*array_push(c->a, &s->commands) = p;
	return 0;
}

int block_parse_commands(struct schema_ctx *c, const struct schema_row *row,
			 const struct yaml_pair *p, void *field)
{
	struct profile_sandbox *s = field;

	(void)row;
	s->any_command = false;
	s->commands_pos = schema_pos(c, p->value);
	return schema_each(c, p, command_add, s);
}

static int device_add(struct schema_ctx *c, const char *key, const struct yaml_node *n, void *out)
{
	profile_names *names = out;
	const char *s;

	if (schema_scalar(c, key, n, &s) != 0)
		return -1;
	if (!path_is_canonical(s) || strncmp(s, "/dev/", 5) != 0)
		return schema_fail(c, n, "'%s': '%.200s' must be the path of a device below /dev",
				   key, s);
	*array_push(c->a, names) = (struct profile_name){ .name = s, .pos = schema_pos(c, n) };
	return 0;
}

int block_parse_devices(struct schema_ctx *c, const struct schema_row *row,
			const struct yaml_pair *p, void *field)
{
	(void)row;
	return schema_each(c, p, device_add, field);
}

/* Where the system or the kernel's own files are; a socket has no place of its own there. */
static const char *const no_sockets[] = { "/usr",   "/bin",    "/sbin", "/lib", "/lib32",
					  "/lib64", "/libx32", "/etc",  "/opt", "/nix",
					  "/gnu",   "/proc",   "/sys",  "/dev", "/home/agent" };

static int socket_add(struct schema_ctx *c, const char *key, const struct yaml_node *n, void *out)
{
	profile_names *names = out;
	const char *text, *path;

	if (schema_scalar(c, key, n, &text) != 0 || block_host_path(c, key, n, text, &path) != 0)
		return -1;
	if (path_depth(path) < 2)
		return schema_fail(c, n, "'%s': '%.200s' cannot be a socket inside", key, path);
	for (size_t i = 0; i < ARRAY_SIZE(no_sockets); i++) {
		if (path_covers(no_sockets[i], path))
			return schema_fail(c, n, "'%s': '%.200s': %s is not for sockets", key, path,
					   no_sockets[i]);
	}
	*array_push(c->a, names) = (struct profile_name){ .name = path, .pos = schema_pos(c, n) };
	return 0;
}

int block_parse_sockets(struct schema_ctx *c, const struct schema_row *row,
			const struct yaml_pair *p, void *field)
{
	(void)row;
	return schema_each(c, p, socket_add, field);
}
