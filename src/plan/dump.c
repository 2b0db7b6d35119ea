/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>
#include <sys/stat.h>

#include "base/escape.h"
#include "base/strbuf.h"
#include "codec/sha256.h"
#include "filter/filter.h"
#include "plan/compile.h"
#include "sys/landlock.h"

static const char *const op_names[] = {
	[PLAN_OP_NONE] = "none",       [PLAN_OP_MKDIR] = "mkdir", [PLAN_OP_FILE] = "file",
	[PLAN_OP_SYMLINK] = "symlink", [PLAN_OP_TREE] = "tree",   [PLAN_OP_TMPFS] = "tmpfs",
	[PLAN_OP_DEVPTS] = "devpts",   [PLAN_OP_PROC] = "proc",   [PLAN_OP_BIND] = "bind",
	[PLAN_OP_WRITE] = "write",
};
_Static_assert(ARRAY_SIZE(op_names) == PLAN_OP_MAX, "one name for each op");

static const struct {
	unsigned bit;
	const char *name;
} attr_names[] = {
	{ PLAN_ATTR_RO, "ro" },
	{ PLAN_ATTR_NOSUID, "nosuid" },
	{ PLAN_ATTR_NODEV, "nodev" },
	{ PLAN_ATTR_NOEXEC, "noexec" },
};

static json_t *attrs_json(unsigned attrs)
{
	json_t *a = json_array();

	for (size_t i = 0; i < ARRAY_SIZE(attr_names); i++) {
		if ((attrs & attr_names[i].bit) != 0)
			(void)json_array_append_new(a, json_text(attr_names[i].name));
	}
	return a;
}

static json_t *u64_json(uint64_t v)
{
	return json_integer((json_int_t)v);
}

static json_t *id_json(const struct file_id *id)
{
	json_t *o = json_object();

	json_put(o, "dev_major", u64_json(id->dev_major));
	json_put(o, "dev_minor", u64_json(id->dev_minor));
	json_put(o, "ino", u64_json(id->ino));
	json_put(o, "mnt_id", u64_json(id->mnt_id));
	json_put(o, "type",
		 json_text(S_ISDIR(id->type)   ? "dir"
			   : S_ISREG(id->type) ? "file"
			   : S_ISLNK(id->type) ? "link"
			   : S_ISCHR(id->type) ? "char"
					       : "other"));
	return o;
}

static json_t *strings_json(char *const *v)
{
	json_t *a = json_array();

	for (size_t i = 0; v[i] != NULL; i++)
		(void)json_array_append_new(a, json_text(v[i]));
	return a;
}

/* Names only: a value may be a secret, and a plan is something people paste into reports. */
static json_t *names_json(char *const *env)
{
	json_t *a = json_array();

	for (size_t i = 0; env[i] != NULL; i++)
		(void)json_array_append_new(a, json_bytes(env[i], strcspn(env[i], "=")));
	return a;
}

static json_t *ids_json(const struct plan_ids *ids)
{
	json_t *o = json_object();

	json_put(o, "identity", json_text(plan_identity_name(ids->identity)));
	json_put(o, "inside_uid", u64_json(ids->inside_uid));
	json_put(o, "inside_gid", u64_json(ids->inside_gid));
	json_put(o, "outside_uid", u64_json(ids->outside_uid));
	json_put(o, "outside_gid", u64_json(ids->outside_gid));
	json_put(o, "switch_ids", json_boolean(ids->switch_ids));
	json_put(o, "drop_groups", json_boolean(ids->drop_groups));
	return o;
}

static json_t *source_json(const struct plan_source *s)
{
	json_t *o = json_object();

	json_put(o, "path", json_text(s->path));
	json_put(o, "id", id_json(&s->id));
	json_put(o, "attrs", attrs_json(s->attrs));
	json_put(o, "idmapped", json_boolean(s->idmapped));
	return o;
}

static json_t *op_json(const struct plan_op *op)
{
	json_t *o = json_object();

	json_put(o, "op", json_text(op_names[op->kind]));
	json_put(o, "at", json_text(op->at));
	switch (op->kind) {
	case PLAN_OP_MKDIR:
		json_put(o, "mode", u64_json(op->mode));
		break;
	case PLAN_OP_FILE:
		json_put(o, "mode", u64_json(op->mode));
		if (op->data_elsewhere)
			json_put(o, "bytes", u64_json(op->data_len));
		else
			json_put(o, "data", json_bytes(op->data, op->data_len));
		break;
	case PLAN_OP_SYMLINK:
	case PLAN_OP_WRITE:
		json_put(o, "data", json_bytes(op->data, op->data_len));
		break;
	case PLAN_OP_TREE:
		json_put(o, "source", u64_json(op->source));
		break;
	case PLAN_OP_TMPFS:
		json_put(o, "mode", u64_json(op->mode));
		json_put(o, "bytes", u64_json(op->bytes));
		json_put(o, "inodes", u64_json(op->inodes));
		json_put(o, "attrs", attrs_json(op->attrs));
		break;
	case PLAN_OP_BIND:
		json_put(o, "from", json_text(op->from));
		json_put(o, "attrs", attrs_json(op->attrs));
		json_put(o, "over_link", json_boolean(op->over_link));
		if (op->shallow)
			json_put(o, "shallow", json_true());
		if (op->has_expect)
			json_put(o, "expect", id_json(&op->expect));
		break;
	case PLAN_OP_NONE:
	case PLAN_OP_DEVPTS:
	case PLAN_OP_PROC:
	case PLAN_OP_MAX:
		break;
	}
	return o;
}

static json_t *limits_json(const struct plan *p)
{
	json_t *o = json_object();
	json_t *rl = json_array();

	for (uint32_t i = 0; i < p->n_rlimits; i++) {
		json_t *r = json_object();

		json_put(r, "resource", json_integer(p->rlimits[i].resource));
		json_put(r, "soft", u64_json(p->rlimits[i].soft));
		json_put(r, "hard", u64_json(p->rlimits[i].hard));
		(void)json_array_append_new(rl, r);
	}
	json_put(o, "rlimits", rl);
	json_put(o, "timeout_ms", p->timeout_ms == 0 ? json_null() : u64_json(p->timeout_ms));
	json_put(o, "grace_ms", u64_json(p->grace_ms));
	json_put(o, "output_bytes", p->output_limited ? u64_json(p->output_bytes) : json_null());
	json_put(o, "on_output_limit", json_text(p->output_kill ? "kill" : "drain"));
	return o;
}

/* The bytes as their hash: the text of what they do is in syscalls-ARCH.txt. */
static json_t *filter_json(const struct plan *p)
{
	json_t *o = json_object();
	json_t *groups = json_array();
	json_t *deny = json_array();
	char hash[SHA256_HEX_SIZE];

	for (size_t i = 0; i < FILTER_GROUPS; i++) {
		if ((p->filter_options & filter_groups[i].option) != 0)
			(void)json_array_append_new(groups, json_text(filter_groups[i].name));
	}
	for (size_t i = 0; i < p->n_denied; i++)
		(void)json_array_append_new(deny, json_text(filter_call_name(p->denied[i])));
	sha256_hex(p->filter, p->n_filter * sizeof(*p->filter), hash);
	json_put(o, "preset", json_text(plan_filter_preset(p)));
	json_put(o, "allow", groups);
	json_put(o, "deny", deny);
	json_put(o, "memfd", json_boolean((p->filter_options & FILTER_MEMFD) != 0));
	json_put(o, "instructions", u64_json(p->n_filter));
	json_put(o, "sha256", json_text(hash));
	json_put(o, "deny_sha256", json_null());
	if (p->n_filter_deny > 0) {
		sha256_hex(p->filter_deny, p->n_filter_deny * sizeof(*p->filter_deny), hash);
		json_put(o, "deny_sha256", json_text(hash));
	}
	return o;
}

static const struct {
	uint64_t bit;
	const char *name;
} right_names[] = {
	{ SYS_LANDLOCK_EXECUTE, "execute" },       { SYS_LANDLOCK_WRITE_FILE, "write_file" },
	{ SYS_LANDLOCK_REMOVE_DIR, "remove_dir" }, { SYS_LANDLOCK_REMOVE_FILE, "remove_file" },
	{ SYS_LANDLOCK_MAKE_CHAR, "make_char" },   { SYS_LANDLOCK_MAKE_DIR, "make_dir" },
	{ SYS_LANDLOCK_MAKE_REG, "make_reg" },     { SYS_LANDLOCK_MAKE_SOCK, "make_sock" },
	{ SYS_LANDLOCK_MAKE_FIFO, "make_fifo" },   { SYS_LANDLOCK_MAKE_BLOCK, "make_block" },
	{ SYS_LANDLOCK_MAKE_SYM, "make_sym" },     { SYS_LANDLOCK_REFER, "refer" },
	{ SYS_LANDLOCK_TRUNCATE, "truncate" },     { SYS_LANDLOCK_IOCTL_DEV, "ioctl_dev" },
};

/* One text: a line for each right would make a page of every plan. */
static json_t *rights_json(uint64_t rights)
{
	STRBUF_AUTO sb = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(right_names); i++) {
		if ((rights & right_names[i].bit) != 0)
			strbuf_printf(&sb, "%s%s", sb.len > 0 ? " " : "", right_names[i].name);
	}
	return json_text(strbuf_str(&sb));
}

static json_t *landlock_json(const struct plan_landlock *ll)
{
	json_t *o = json_object();
	json_t *rules = json_object();

	for (uint32_t i = 0; i < ll->n_rules; i++) {
		STRBUF_AUTO at = { 0 };

		/* A key is text; what is none is written as it would be printed. */
		if (escape_utf8_valid(ll->rules[i].at, strlen(ll->rules[i].at)))
			strbuf_puts(&at, ll->rules[i].at);
		else
			escape_add(&at, ll->rules[i].at, strlen(ll->rules[i].at));
		json_put(rules, strbuf_str(&at), rights_json(ll->rules[i].access));
	}
	json_put(o, "abi", json_integer(ll->abi));
	json_put(o, "handled", rights_json(ll->fs));
	json_put(o, "scoped", json_boolean(ll->fs != 0 && ll->scoped != 0));
	json_put(o, "rules", rules);
	return o;
}

const char *plan_network_name(const struct plan *p)
{
	if (p->host_network)
		return "host";
	return p->net.named ? "named" : "none";
}

static json_t *net_json(const struct plan_net *net)
{
	json_t *o = json_object();
	json_t *ports = json_array();
	json_t *host_ports = json_array();
	json_t *routes = json_array();

	for (uint32_t i = 0; i < net->n_ports; i++)
		(void)json_array_append_new(ports, json_integer(net->ports[i]));
	for (uint32_t i = 0; i < net->n_host_ports; i++)
		(void)json_array_append_new(host_ports, json_integer(net->host_ports[i]));
	for (uint32_t i = 0; i < net->n_routes; i++) {
		const struct plan_net_route *r = &net->routes[i];
		char text[32];

		(void)snprintf(text, sizeof(text), "%u.%u.%u.%u/%u", r->net >> 24,
			       r->net >> 16 & 255, r->net >> 8 & 255, r->net & 255, r->bits);
		(void)json_array_append_new(routes, json_text(text));
	}
	json_put(o, "ports", ports);
	if (net->any_port)
		json_put(o, "any_port", json_true());
	json_put(o, "host_ports", host_ports);
	json_put(o, "routes", routes);
	return o;
}

static json_t *work_json(const struct plan_work *w)
{
	static const char *const kinds[] = {
		[PLAN_WORK_READ] = "read", [PLAN_WORK_WRITE] = "write", [PLAN_WORK_LIST] = "list"
	};
	json_t *o = json_object();

	json_put(o, "kind", json_text(kinds[w->kind]));
	json_put(o, "at", json_text(w->at));
	json_put(o, "name", json_text(w->name));
	json_put(o, "expect", w->exists ? id_json(&w->id) : json_null());
	json_put(o, "skip", u64_json(w->skip));
	json_put(o, "lines", w->lines == UINT64_MAX ? json_null() : u64_json(w->lines));
	json_put(o, "bytes", u64_json(w->bytes));
	return o;
}

json_t *plan_json(const struct plan *p)
{
	json_t *o = json_object();
	json_t *sources = json_array();
	json_t *ops = json_array();

	for (uint32_t i = 0; i < p->n_sources; i++)
		(void)json_array_append_new(sources, source_json(&p->sources[i]));
	for (uint32_t i = 0; i < p->n_ops; i++)
		(void)json_array_append_new(ops, op_json(&p->ops[i]));
	json_put(o, "ids", ids_json(&p->ids));
	json_put(o, "network", p->net.named ? net_json(&p->net) : json_text(plan_network_name(p)));
	json_put(o, "nested_sandboxes", json_boolean(p->nested));
	json_put(o, "only_commands", json_boolean(p->only_commands));
	json_put(o, "proc", json_text(p->outer_proc ? "outer" : "own"));
	json_put(o, "hostname", json_text(p->hostname));
	json_put(o, "root_bytes", json_text(p->root_bytes));
	json_put(o, "root_inodes", json_text(p->root_inodes));
	json_put(o, "sources", sources);
	json_put(o, "ops", ops);
	json_put(o, "workdir", json_text(p->workdir));
	if (p->work.kind != PLAN_WORK_NONE)
		json_put(o, "work", work_json(&p->work));
	json_put(o, "exe", json_text(p->exe));
	json_put(o, "argv", strings_json(p->argv));
	json_put(o, "env", names_json(p->envp));
	json_put(o, "syscalls", filter_json(p));
	json_put(o, "landlock", landlock_json(&p->landlock));
	json_put(o, "limits", limits_json(p));
	return o;
}
