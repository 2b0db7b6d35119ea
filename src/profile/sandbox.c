/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>

#include "profile/block.h"

#define SCRATCH_BYTES     ((uint64_t)256 << 20)
#define SCRATCH_BYTES_MIN ((uint64_t)64 << 10)
#define SCRATCH_FILES     ((uint64_t)65536)
#define HOSTNAME          "agentbox"
#define NAME_BYTES_MAX    255
#define PROTECT_DEPTH_MAX 16

#define UPPER  "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define LOWER  "abcdefghijklmnopqrstuvwxyz"
#define DIGITS "0123456789"

/* DESIGN 3.1: known traps, on by default. */
static const char *const hide_defaults[] = { ".env", ".env.*", ".netrc" };
static const char *const freeze_defaults[] = {
	".envrc",         ".mcp.json",
	".vscode",        ".idea",
	".claude",        ".codex",
	".gemini",        ".cursor",
	".husky",         ".npmrc",
	".yarnrc.yml",    ".pre-commit-config.yaml",
	".git/config",    ".git/config.worktree",
	".git/hooks",     ".git/info",
	".git/commondir",
};
static const char *const except_defaults[] = { ".env.example", ".env.sample", ".env.template",
					       ".env.dist", ".env.test" };

static bool trap_name_ok(const char *s, size_t len)
{
	if (len == 0 || len > NAME_BYTES_MAX || (len == 1 && s[0] == '.'))
		return false;
	return !(len == 2 && s[0] == '.' && s[1] == '.');
}

static bool brackets_closed(const char *s)
{
	for (s = strchr(s, '['); s != NULL; s = strchr(s, '[')) {
		/* A bracket right after the opening one is a member of the set. */
		size_t skip = 1 + (s[1] == '!' || s[1] == '^');

		if (s[skip] == '\0')
			return false;
		s = strchr(s + skip + 1, ']');
		if (s == NULL)
			return false;
	}
	return true;
}

static int trap_add(struct schema_ctx *c, const char *key, const struct yaml_node *n, void *out)
{
	profile_traps *traps = out;
	const char *slash;
	const char *s;

	if (schema_scalar(c, key, n, &s) != 0)
		return -1;
	slash = strchr(s, '/');
	if (s[strcspn(s, "\\{}\t\r\n")] != '\0')
		return schema_fail(c, n, "'%s': '%.80s': only * ? and [...] are read in a name",
				   key, s);
	if (slash != NULL && (strchr(slash + 1, '/') != NULL || s[strcspn(s, "*?[]")] != '\0'))
		return schema_fail(c, n,
				   "'%s': '%.80s' must be one name or pattern, or DIR/NAME without "
				   "patterns",
				   key, s);
	if (!trap_name_ok(s, strcspn(s, "/")) ||
	    (slash != NULL && !trap_name_ok(slash + 1, strlen(slash + 1))))
		return schema_fail(c, n, "'%s': '%.80s' is not the name of a file", key, s);
	if (!brackets_closed(s))
		return schema_fail(c, n, "'%s': '%.80s' has '[' without ']'", key, s);
	array_push(c->a, traps)->pattern = s;
	return 0;
}

static int parse_traps(struct schema_ctx *c, const struct schema_row *row,
		       const struct yaml_pair *p, void *field)
{
	(void)row;
	return schema_each(c, p, trap_add, field);
}

static int parse_depth(struct schema_ctx *c, const struct schema_row *row,
		       const struct yaml_pair *p, void *field)
{
	const char *text;

	if (schema_scalar(c, row->key, p->value, &text) != 0)
		return -1;
	*(uint64_t *)field = 0;
	if (strcmp(text, "0") == 0)
		return 0;
	if (schema_parse_count(c, row, p, field) != 0)
		return -1;
	if (*(uint64_t *)field > PROTECT_DEPTH_MAX)
		return schema_fail(c, p->value, "'depth' of protect must be at most %d",
				   PROTECT_DEPTH_MAX);
	return 0;
}

static const struct schema_row protect_rows[] = {
	{ .key = "hide",
	  .parse = parse_traps,
	  .offset = offsetof(struct profile_sandbox, hide),
	  .shape = SCHEMA_SHAPE_LIST,
	  .type = "list of names",
	  .help = "no read and no write, at the top of each root (added to the defaults)" },
	{ .key = "freeze",
	  .parse = parse_traps,
	  .offset = offsetof(struct profile_sandbox, freeze),
	  .shape = SCHEMA_SHAPE_LIST,
	  .type = "list of names",
	  .help = "no write, rename or removal there (added to the defaults)" },
	{ .key = "except",
	  .parse = parse_traps,
	  .offset = offsetof(struct profile_sandbox, except),
	  .shape = SCHEMA_SHAPE_LIST,
	  .type = "list of names",
	  .help = "wins over both (added to the defaults)" },
	{ .key = "depth",
	  .parse = parse_depth,
	  .offset = offsetof(struct profile_sandbox, protect_depth),
	  .type = "number",
	  .help = "how many levels of directories below each root are looked at too (default 0)" },
};
static const struct schema_map protect_map = SCHEMA_MAP("sandbox.protect", protect_rows);

static int parse_scratch_size(struct schema_ctx *c, const struct schema_row *row,
			      const struct yaml_pair *p, void *field)
{
	if (schema_parse_size(c, row, p, field) != 0)
		return -1;
	if (*(uint64_t *)field < SCRATCH_BYTES_MIN)
		return schema_fail(c, p->value, "'size' of the scratch must be at least 64K");
	return 0;
}

/* Our own directories in it count as well. */
#define SCRATCH_FILES_MIN 64

static int parse_scratch_files(struct schema_ctx *c, const struct schema_row *row,
			       const struct yaml_pair *p, void *field)
{
	if (schema_parse_count(c, row, p, field) != 0)
		return -1;
	if (*(uint64_t *)field < SCRATCH_FILES_MIN)
		return schema_fail(c, p->value, "'files' of the scratch must be at least 64");
	return 0;
}

static const struct schema_row scratch_rows[] = {
	{ .key = "size",
	  .parse = parse_scratch_size,
	  .offset = offsetof(struct profile_sandbox, scratch_bytes),
	  .type = "size",
	  .help = "all bytes of /tmp, /var/tmp and HOME together (default 256M)" },
	{ .key = "files",
	  .parse = parse_scratch_files,
	  .offset = offsetof(struct profile_sandbox, scratch_files),
	  .type = "number",
	  .help = "all files and directories there (default 65536)" },
};
static const struct schema_map scratch_map = SCHEMA_MAP("sandbox.scratch", scratch_rows);

static bool env_name_ok(const char *s, const char *more)
{
	size_t n;

	if (*s == '\0' || strchr(DIGITS, *s) != NULL)
		return false;
	for (n = 0; s[n] != '\0'; n++) {
		if (strchr(UPPER LOWER DIGITS "_", s[n]) == NULL && strchr(more, s[n]) == NULL)
			return false;
	}
	return n <= NAME_BYTES_MAX;
}

static int env_name_add(struct schema_ctx *c, const char *key, const struct yaml_node *n, void *out)
{
	/* What must be there is no pattern. */
	const bool exact = strcmp(key, "required") == 0;
	profile_names *names = out;
	const char *s;

	if (schema_scalar(c, key, n, &s) != 0)
		return -1;
	if (!env_name_ok(s, exact ? "" : "*"))
		return schema_fail(c, n,
				   "'%s': '%.80s' is not the name of a variable (letters, digits, "
				   "'_'%s)",
				   key, s, exact ? "" : ", and '*' for any run of them");
	*array_push(c->a, names) = (struct profile_name){ .name = s, .pos = schema_pos(c, n) };
	return 0;
}

static int parse_env_names(struct schema_ctx *c, const struct schema_row *row,
			   const struct yaml_pair *p, void *field)
{
	(void)row;
	return schema_each(c, p, env_name_add, field);
}

static int parse_set(struct schema_ctx *c, const struct schema_row *row, const struct yaml_pair *p,
		     void *field)
{
	struct profile_sandbox *s = field;
	const struct yaml_node *map = p->value;

	(void)row;
	if (map->kind != YAML_MAP)
		return schema_fail(c, map, "'set' must be a map of names and values, not %s",
				   schema_got(c, map));
	for (size_t i = 0; i < map->n; i++) {
		const struct yaml_node *k = map->pairs[i].key;
		const struct yaml_node *v = map->pairs[i].value;
		struct profile_env *e = array_push(c->a, &s->env_set);

		if (!env_name_ok(k->text, ""))
			return schema_fail(c, k,
					   "'set': '%.80s' is not the name of a variable (letters, "
					   "digits and '_')",
					   k->text);
		e->name = k->text;
		e->pos = schema_pos(c, k);
		if (schema_scalar_raw(c, k->text, v, &e->value) != 0 ||
		    param_expand(c, k->text, v, e->value, &e->value) != 0)
			return -1;
	}
	return 0;
}

static int parse_env_file(struct schema_ctx *c, const struct schema_row *row,
			  const struct yaml_pair *p, void *field)
{
	struct profile_sandbox *s = field;
	const char *text;

	if (block_path_text(c, row->key, p->value, &text) != 0)
		return -1;
	s->env_file_pos = schema_pos(c, p->value);
	return block_host_path(c, row->key, p->value, text, &s->env_file);
}

static const struct schema_row env_rows[] = {
	{ .key = "pass",
	  .parse = parse_env_names,
	  .offset = offsetof(struct profile_sandbox, env_pass),
	  .shape = SCHEMA_SHAPE_LIST,
	  .type = "list of names",
	  .help = "variables taken from the caller's environment; '*' stands for any run" },
	{ .key = "set",
	  .parse = parse_set,
	  .shape = SCHEMA_SHAPE_NAMED,
	  .type = "text",
	  .help = "variables with these values" },
	{ .key = "file",
	  .parse = parse_env_file,
	  .type = "host path",
	  .help = "a file of NAME=VALUE that 'pass' picks from too; hidden inside" },
	{ .key = "deny",
	  .parse = parse_env_names,
	  .offset = offsetof(struct profile_sandbox, env_deny),
	  .shape = SCHEMA_SHAPE_LIST,
	  .type = "list of names",
	  .help = "variables that never arrive, whatever else says so" },
	{ .key = "required",
	  .parse = parse_env_names,
	  .offset = offsetof(struct profile_sandbox, env_required),
	  .shape = SCHEMA_SHAPE_LIST,
	  .type = "list of names",
	  .help = "variables without which no command is started" },
};
static const struct schema_map env_map = SCHEMA_MAP("sandbox.env", env_rows);

static const struct schema_word runtimes[] = { { "subprocess", 0 },
					       { "namespace", 0 },
					       { NULL, 0 } };

static int parse_runtime(struct schema_ctx *c, const struct schema_row *row,
			 const struct yaml_pair *p, void *field)
{
	unsigned only;

	(void)field;
	return schema_parse_word(c, row, p, &only);
}

static const struct schema_word unix_words[] = { { "private", PROFILE_UNIX_PRIVATE },
						 { "none", PROFILE_UNIX_NONE },
						 { NULL, 0 } };

static int parse_nested(struct schema_ctx *c, const struct schema_row *row,
			const struct yaml_pair *p, void *field)
{
	struct profile_sandbox *s = field;

	s->nested_pos = schema_pos(c, p->value);
	return schema_parse_bool(c, row, p, &s->nested_sandboxes);
}

static int parse_allow_network(struct schema_ctx *c, const struct schema_row *row,
			       const struct yaml_pair *p, void *field)
{
	struct profile_sandbox *s = field;
	bool on = true;

	if (schema_parse_bool(c, row, p, &on) != 0)
		return -1;
	if (on)
		return schema_fail(c, p->value,
				   "'allow_network: true' says too little: write 'network: host' "
				   "instead");
	s->network = PROFILE_NETWORK_NONE;
	s->network_pos = schema_pos(c, p->value);
	return 0;
}

static int parse_workdir(struct schema_ctx *c, const struct schema_row *row,
			 const struct yaml_pair *p, void *field)
{
	struct profile_sandbox *s = field;

	s->workdir_pos = schema_pos(c, p->value);
	return block_virtual_path(c, row->key, p->value, &s->workdir);
}

static int parse_hostname(struct schema_ctx *c, const struct schema_row *row,
			  const struct yaml_pair *p, void *field)
{
	const char **ret = field;
	size_t n;

	if (schema_scalar(c, row->key, p->value, ret) != 0)
		return -1;
	n = strspn(*ret, UPPER LOWER DIGITS "-");
	if ((*ret)[n] != '\0' || n == 0 || n > 63 || (*ret)[0] == '-' || (*ret)[n - 1] == '-')
		return schema_fail(c, p->value,
				   "'hostname' must be 1 to 63 letters, digits and '-' (not first "
				   "or last), not '%.80s'",
				   *ret);
	return 0;
}

/* Of files that have no owner in the sandbox, Documentation/admin-guide/sysctl/fs.rst,
 * overflowuid: an own user there would seem to own them all. */
#define OVERFLOW_ID 65534U

static int parse_user(struct schema_ctx *c, const struct schema_row *row, const struct yaml_pair *p,
		      void *field)
{
	static const struct schema_word no_units[] = { { "", 1 }, { NULL, 0 } };
	struct profile_sandbox *s = field;
	const char *text;
	uint64_t id;

	if (schema_scalar(c, row->key, p->value, &text) != 0)
		return -1;
	if (strcmp(text, "caller") == 0)
		return 0;
	s->user = PROFILE_USER_ID;
	if (strcmp(text, "root") == 0)
		return 0;
	if (schema_number(text, no_units, &id) != 0 || id >= UINT32_MAX)
		return schema_fail(c, p->value,
				   "'user' must be caller or root or the number of a user, not "
				   "'%.80s'",
				   text);
	if (id == OVERFLOW_ID)
		return schema_fail(c, p->value,
				   "'user' must not be 65534: files of everybody else look as if "
				   "they were its own");
	s->user_id = (uint32_t)id;
	return 0;
}

/* A list of ->words as a set of bits. */
static int parse_word_set(struct schema_ctx *c, const struct schema_row *row,
			  const struct yaml_pair *p, unsigned *set)
{
	const struct yaml_node *list = p->value;

	if (list->kind != YAML_LIST)
		return schema_fail(c, list, "'%s' must be a list, not %s", row->key,
				   schema_got(c, list));
	for (size_t i = 0; i < list->n; i++) {
		struct yaml_pair item = { .key = p->key, .value = list->items[i] };
		unsigned bit = 0;

		if (schema_parse_word(c, row, &item, &bit) != 0)
			return -1;
		*set |= bit;
	}
	return 0;
}

static int parse_require(struct schema_ctx *c, const struct schema_row *row,
			 const struct yaml_pair *p, void *field)
{
	struct profile_sandbox *s = field;

	s->require_pos = schema_pos(c, p->key);
	return parse_word_set(c, row, p, &s->require);
}

static int parse_degrade(struct schema_ctx *c, const struct schema_row *row,
			 const struct yaml_pair *p, void *field)
{
	struct profile_sandbox *s = field;

	return parse_word_set(c, row, p, &s->degrade);
}

static const struct schema_word requirements[] = {
	{ "unprivileged_identity", PROFILE_REQUIRE_UNPRIVILEGED_IDENTITY },
	{ NULL, 0 },
};
static const struct schema_word weaker_modes[] = {
	{ "no_proc", PROFILE_DEGRADE_NO_PROC },
	{ NULL, 0 },
};

static const struct schema_row rows[] = {
	{ .key = "base",
	  .parse = block_parse_base,
	  .sub = &block_base_map,
	  .type = "word or map",
	  .help = "the read-only view of the system: host (default), minimal, or a map" },
	{ .key = "roots",
	  .parse = block_parse_roots,
	  .shape = SCHEMA_SHAPE_LIST,
	  .sub = &block_root_map,
	  .twin = "allowed_roots",
	  .type = "list of host paths or maps",
	  .help = "host directories and files that exist inside" },
	{ .key = "protect",
	  .parse = schema_parse_map,
	  .sub = &protect_map,
	  .type = "map",
	  .help = "known traps at the top of each root: not a boundary" },
	{ .key = "scratch",
	  .parse = schema_parse_map,
	  .sub = &scratch_map,
	  .type = "map",
	  .help = "the private tmpfs of /tmp, /var/tmp and HOME" },
	{ .key = "workdir",
	  .parse = parse_workdir,
	  .type = "virtual path",
	  .help = "where the command starts (default: the caller's directory if it lies in a "
		  "root, else the first root, else /)" },
	{ .key = "env",
	  .parse = schema_parse_map,
	  .sub = &env_map,
	  .type = "map",
	  .help = "the environment, which starts empty but for a fixed minimum" },
	{ .key = "network",
	  .parse = block_parse_network,
	  .sub = &block_network_map,
	  .twin = "allow_network",
	  .type = "word or map",
	  .help = "none (default), host, or a map: network by name" },
	{ .key = "syscalls",
	  .parse = block_parse_syscalls,
	  .sub = &block_syscalls_map,
	  .type = "map",
	  .help = "the system call filter, which is always there" },
	{ .key = "commands",
	  .parse = block_parse_commands,
	  .shape = SCHEMA_SHAPE_LIST,
	  .twin = "allowed_commands",
	  .type = "list of names, paths or patterns",
	  .help = "which files can be executed inside (default: all); not a limit of code" },
	{ .key = "devices",
	  .parse = block_parse_devices,
	  .offset = offsetof(struct profile_sandbox, devices),
	  .shape = SCHEMA_SHAPE_LIST,
	  .type = "list of paths",
	  .help = "character devices of the host" },
	{ .key = "sockets",
	  .parse = block_parse_sockets,
	  .offset = offsetof(struct profile_sandbox, sockets),
	  .shape = SCHEMA_SHAPE_LIST,
	  .type = "list of host paths",
	  .help = "Unix sockets of the host, at the same path inside" },
	{ .key = "unix_sockets",
	  .parse = schema_parse_word,
	  .offset = offsetof(struct profile_sandbox, unix_sockets),
	  .words = unix_words,
	  .type = "word",
	  .help = "private (default): sockets and FIFOs at the top of a root are masked; none: no "
		  "Unix socket but pairs" },
	{ .key = "nested_sandboxes",
	  .parse = parse_nested,
	  .type = "true or false",
	  .help = "programs inside may make user namespaces; then there is no Landlock (default "
		  "false)" },
	{ .key = "limits",
	  .parse = schema_parse_map,
	  .sub = &block_limits_map,
	  .offset = offsetof(struct profile_sandbox, limits),
	  .type = "map",
	  .help = "what ends a run" },
	{ .key = "hostname",
	  .parse = parse_hostname,
	  .offset = offsetof(struct profile_sandbox, hostname),
	  .type = "text",
	  .help = "the host name inside (default agentbox)" },
	{ .key = "user",
	  .parse = parse_user,
	  .type = "caller, root or number",
	  .help = "the uid and gid that programs see themselves as (default caller); root is "
		  "uid 0 without any of its rights" },
	{ .key = "require",
	  .parse = parse_require,
	  .words = requirements,
	  .shape = SCHEMA_SHAPE_LIST,
	  .type = "list of words",
	  .help = "unprivileged_identity: do not run as kernel uid 0, even without capabilities" },
	{ .key = "degrade",
	  .parse = parse_degrade,
	  .words = weaker_modes,
	  .shape = SCHEMA_SHAPE_LIST,
	  .type = "list of words",
	  .help = "no_proc: where /proc cannot be mounted, the outer one is there, read-only" },
	{ .key = "runtime",
	  .parse = parse_runtime,
	  .words = runtimes,
	  .type = "word",
	  .help = "short form; both words mean the one runtime there is" },
	{ .key = "allowed_roots",
	  .parse = block_parse_roots,
	  .shape = SCHEMA_SHAPE_LIST,
	  .sub = &block_root_map,
	  .type = "list of host paths or maps",
	  .help = "short form of roots" },
	{ .key = "allowed_commands",
	  .parse = block_parse_commands,
	  .shape = SCHEMA_SHAPE_LIST,
	  .type = "list of names, paths or patterns",
	  .help = "short form of commands" },
	{ .key = "allow_network",
	  .parse = parse_allow_network,
	  .type = "false",
	  .help = "short form of network: none" },
	{ .key = "max_output_bytes",
	  .parse = schema_parse_limit_bytes,
	  .offset = offsetof(struct profile_sandbox, limits.output_bytes),
	  .twin = "limits.output",
	  .type = "number",
	  .help = "short form of limits.output" },
	{ .key = "timeout_seconds",
	  .parse = schema_parse_limit_seconds,
	  .offset = offsetof(struct profile_sandbox, limits.timeout_ms),
	  .twin = "limits.timeout",
	  .type = "number",
	  .help = "short form of limits.timeout" },
};

const struct schema_map block_sandbox_map = SCHEMA_MAP("sandbox", rows);

int block_parse_sandbox(struct schema_ctx *c, const struct schema_row *row,
			const struct yaml_pair *p, void *field)
{
	struct profile_sandbox *s = field;

	s->pos = schema_pos(c, p->key);
	s->base = PROFILE_BASE_HOST;
	s->base_pos = s->pos;
	s->network_pos = s->pos;
	s->nested_pos = s->pos;
	s->commands_pos = s->pos;
	s->any_command = true;
	s->unix_sockets = PROFILE_UNIX_PRIVATE;
	s->workdir_pos = s->pos;
	s->syscalls_pos = s->pos;
	s->syscalls_preset = PROFILE_PRESET_DEFAULT;
	s->scratch_bytes = SCRATCH_BYTES;
	s->scratch_files = SCRATCH_FILES;
	s->hostname = HOSTNAME;
	s->limits = block_limits_default;
	for (size_t i = 0; i < ARRAY_SIZE(hide_defaults); i++)
		array_push(c->a, &s->hide)->pattern = hide_defaults[i];
	for (size_t i = 0; i < ARRAY_SIZE(freeze_defaults); i++)
		array_push(c->a, &s->freeze)->pattern = freeze_defaults[i];
	for (size_t i = 0; i < ARRAY_SIZE(except_defaults); i++)
		array_push(c->a, &s->except)->pattern = except_defaults[i];
	if (schema_walk(c, row->sub, p->value, s) != 0)
		return -1;
	return block_base_check(c, s);
}
