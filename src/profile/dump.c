/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "profile/dump.h"

#include <stdlib.h>

static const char *const mode_words[] = {
	[PROFILE_MODE_RO] = "ro", [PROFILE_MODE_RW] = "rw", [PROFILE_MODE_RIGHTS] = "rights"
};
static const char *const network_words[] = {
	[PROFILE_NETWORK_NONE] = "none",
	[PROFILE_NETWORK_NAMED] = "named",
	[PROFILE_NETWORK_HOST] = "host",
};
static const char *const tls_words[] = {
	[PROFILE_TLS_CHECK] = "check", [PROFILE_TLS_OFF] = "off", [PROFILE_TLS_RAW] = "raw"
};
static const char *const preset_words[] = {
	[PROFILE_PRESET_STRICT] = "strict", [PROFILE_PRESET_DEFAULT] = "default"
};
static const char *const unix_words[] = {
	[PROFILE_UNIX_NONE] = "none", [PROFILE_UNIX_PRIVATE] = "private"
};
static const char *const verdict_words[] = {
	[PROFILE_DENY] = "deny", [PROFILE_INTERRUPT] = "interrupt", [PROFILE_ALLOW] = "allow"
};

static json_t *need(json_t *v)
{
	if (v == NULL)
		abort();
	return v;
}

static json_t *number(uint64_t v)
{
	return need(json_integer((json_int_t)v)); /* schema_number() keeps it below INT64_MAX */
}

static json_t *limit(const struct profile_limit *l)
{
	return l->set ? number(l->value) : need(json_null());
}

static json_t *limits_json(const struct profile_limits *l)
{
	json_t *o = need(json_object());

	json_put(o, "timeout_ms", limit(&l->timeout_ms));
	json_put(o, "grace_ms", number(l->grace_ms.value));
	json_put(o, "cpu_time_ms", limit(&l->cpu_time_ms));
	json_put(o, "cpus_milli", limit(&l->cpus_milli));
	json_put(o, "memory_bytes", limit(&l->memory_bytes));
	json_put(o, "processes", number(l->processes.value));
	json_put(o, "open_files", number(l->open_files.value));
	json_put(o, "file_size_bytes", limit(&l->file_bytes));
	json_put(o, "output_bytes", limit(&l->output_bytes));
	json_put(o, "disk_bytes", limit(&l->disk_bytes));
	json_put(o, "enforce", json_text(l->enforce == PROFILE_ENFORCE_KERNEL ? "kernel" : "any"));
	json_put(o, "on_output_limit",
		 json_text(l->on_output_limit == PROFILE_OUTPUT_KILL ? "kill" : "drain"));
	return o;
}

static void append(json_t *list, json_t *v)
{
	if (json_array_append_new(list, v) != 0)
		abort();
}

static json_t *traps_json(const struct profile_trap *v, size_t n)
{
	json_t *list = need(json_array());

	for (size_t i = 0; i < n; i++)
		append(list, json_text(v[i].pattern));
	return list;
}

static json_t *names_json(const struct profile_name *v, size_t n)
{
	json_t *list = need(json_array());

	for (size_t i = 0; i < n; i++)
		append(list, json_text(v[i].name));
	return list;
}

static json_t *roots_json(const struct profile_sandbox *s)
{
	json_t *list = need(json_array());

	for (size_t i = 0; i < s->roots.n; i++) {
		const struct profile_root *r = &s->roots.v[i];
		json_t *o = need(json_object());

		json_put(o, "path", json_text(r->path));
		json_put(o, "at", json_text(r->at));
		json_put(o, "mode", json_text(mode_words[r->mode]));
		json_put(o, "optional", json_boolean(r->optional));
		if (r->sensitive)
			json_put(o, "label", json_text("sensitive"));
		append(list, o);
	}
	return list;
}

static json_t *env_json(const struct profile_sandbox *s)
{
	json_t *o = need(json_object());
	json_t *set = need(json_object());

	for (size_t i = 0; i < s->env_set.n; i++)
		json_put(set, s->env_set.v[i].name, json_text(s->env_set.v[i].value));
	json_put(o, "pass", names_json(s->env_pass.v, s->env_pass.n));
	json_put(o, "set", set);
	json_put(o, "deny", names_json(s->env_deny.v, s->env_deny.n));
	if (s->env_required.n > 0)
		json_put(o, "required", names_json(s->env_required.v, s->env_required.n));
	if (s->env_file != NULL)
		json_put(o, "file", json_text(s->env_file));
	return o;
}

static json_t *network_json(const struct profile_sandbox *s)
{
	const struct profile_named *n = &s->named;
	json_t *o, *allow, *deny, *ranges, *publish, *ports;

	if (s->network != PROFILE_NETWORK_NAMED)
		return json_text(network_words[s->network]);
	o = need(json_object());
	allow = need(json_array());
	deny = need(json_array());
	ranges = need(json_array());
	publish = need(json_array());
	ports = need(json_array());
	for (size_t i = 0; i < n->allow.n; i++) {
		json_t *entry = need(json_object());

		json_put(entry, "host", json_text(n->allow.v[i].text));
		json_put(entry, "tls", json_text(tls_words[n->allow.v[i].tls]));
		append(allow, entry);
	}
	for (size_t i = 0; i < n->deny.n; i++)
		append(deny, json_text(n->deny.v[i].text));
	for (size_t i = 0; i < n->private_ranges.n; i++)
		append(ranges, json_text(n->private_ranges.v[i].text));
	json_put(o, "allow", allow);
	json_put(o, "deny", deny);
	json_put(o, "private_ranges", ranges);
	for (size_t i = 0; i < n->publish.n; i++)
		append(publish, json_text(n->publish.v[i].text));
	json_put(o, "publish", publish);
	for (size_t i = 0; i < n->host_ports.n; i++)
		append(ports, need(json_integer(n->host_ports.v[i].port)));
	json_put(o, "host_ports", ports);
	if (n->proxy.url != NULL) {
		json_t *proxy = need(json_object());

		json_put(proxy, "url", json_text(n->proxy.url));
		if (n->proxy.credentials != NULL)
			json_put(proxy, "credentials", json_text(n->proxy.credentials));
		json_put(o, "upstream_proxy", proxy);
	}
	return o;
}

static json_t *base_json(const struct profile_sandbox *s)
{
	const char *word = s->base == PROFILE_BASE_HOST ? "host" : "minimal";
	json_t *o;
	json_t *list;

	if (s->base != PROFILE_BASE_PATH && s->base_add.n == 0)
		return json_text(word);
	o = need(json_object());
	if (s->base == PROFILE_BASE_PATH) {
		json_put(o, "path", json_text(s->base_path));
		return o;
	}
	list = need(json_array());
	for (size_t i = 0; i < s->base_add.n; i++)
		append(list, json_text(s->base_add.v[i].path));
	json_put(o, "from", json_text(word));
	json_put(o, "add", list);
	return o;
}

static json_t *syscalls_json(const struct profile_sandbox *s)
{
	json_t *o = need(json_object());
	json_t *allow = need(json_array());

	for (size_t i = 0; i < FILTER_GROUPS; i++) {
		if ((s->syscalls_open & filter_groups[i].option) != 0)
			append(allow, json_text(filter_groups[i].name));
	}
	json_put(o, "preset", json_text(preset_words[s->syscalls_preset]));
	json_put(o, "deny", names_json(s->syscalls_deny.v, s->syscalls_deny.n));
	json_put(o, "allow", allow);
	return o;
}

/* null: every program. */
static json_t *commands_json(const struct profile_sandbox *s)
{
	json_t *list;

	if (s->any_command)
		return need(json_null());
	list = need(json_array());
	for (size_t i = 0; i < s->commands.n; i++)
		append(list, json_text(s->commands.v[i].text));
	return list;
}

static json_t *user_json(const struct profile_sandbox *s)
{
	if (s->user == PROFILE_USER_CALLER)
		return json_text("caller");
	return s->user_id == 0 ? json_text("root") : number(s->user_id);
}

json_t *profile_sandbox_json(const struct profile *p)
{
	const struct profile_sandbox *s = &p->sandbox;
	json_t *o = need(json_object());
	json_t *protect = need(json_object());
	json_t *scratch = need(json_object());
	json_t *require = need(json_array());
	json_t *degrade = need(json_array());

	if ((s->require & PROFILE_REQUIRE_UNPRIVILEGED_IDENTITY) != 0)
		append(require, json_text("unprivileged_identity"));
	if ((s->degrade & PROFILE_DEGRADE_NO_PROC) != 0)
		append(degrade, json_text("no_proc"));
	json_put(protect, "hide", traps_json(s->hide.v, s->hide.n));
	json_put(protect, "freeze", traps_json(s->freeze.v, s->freeze.n));
	json_put(protect, "except", traps_json(s->except.v, s->except.n));
	json_put(protect, "depth", number(s->protect_depth));
	json_put(scratch, "size", number(s->scratch_bytes));
	json_put(scratch, "files", number(s->scratch_files));
	json_put(o, "base", base_json(s));
	json_put(o, "roots", roots_json(s));
	json_put(o, "protect", protect);
	json_put(o, "scratch", scratch);
	json_put(o, "workdir", json_text(s->workdir));
	json_put(o, "env", env_json(s));
	json_put(o, "network", network_json(s));
	json_put(o, "syscalls", syscalls_json(s));
	json_put(o, "commands", commands_json(s));
	json_put(o, "devices", names_json(s->devices.v, s->devices.n));
	json_put(o, "sockets", names_json(s->sockets.v, s->sockets.n));
	json_put(o, "unix_sockets", json_text(unix_words[s->unix_sockets]));
	json_put(o, "nested_sandboxes", json_boolean(s->nested_sandboxes));
	json_put(o, "limits", limits_json(&s->limits));
	json_put(o, "hostname", json_text(s->hostname));
	json_put(o, "user", user_json(s));
	json_put(o, "require", require);
	json_put(o, "degrade", degrade);
	return o;
}

static json_t *rule_json(const struct profile_rule *r)
{
	json_t *o = need(json_object());
	json_t *actions = need(json_array());
	json_t *paths = need(json_array());
	json_t *commands = need(json_array());
	json_t *hosts = need(json_array());
	json_t *when = need(json_object());

	for (size_t i = 0; i < r->when.n; i++)
		json_put(when, r->when.v[i].key, json_text(r->when.v[i].value));
	for (size_t i = 0; i < r->hosts.n; i++)
		append(hosts, json_text(r->hosts.v[i].text));
	for (size_t i = 0; i < ACTION_MAX; i++) {
		if ((r->actions & ACTION_BIT(i)) != 0)
			append(actions, json_text(action_name((enum action)i)));
	}
	for (size_t i = 0; i < r->paths.n; i++) {
		if (!r->paths.v[i].more)
			append(paths, json_text(r->paths.v[i].text));
	}
	for (size_t i = 0; i < r->commands.n; i++) {
		const struct profile_command *cmd = &r->commands.v[i];
		json_t *words = need(json_array());

		for (size_t j = 0; j < cmd->n; j++)
			append(words, json_text(cmd->words[j]));
		append(commands, words);
	}
	json_put(o, "actions", actions);
	json_put(o, "paths", paths);
	json_put(o, "commands", commands);
	json_put(o, "any_host", json_boolean(r->any_host));
	json_put(o, "hosts", hosts);
	json_put(o, "when", when);
	json_put(o, "mode", json_text(verdict_words[r->mode]));
	if (r->absent_report)
		json_put(o, "absent", json_text("report"));
	if (r->strict)
		json_put(o, "strict", json_true());
	return o;
}

json_t *profile_permissions_json(const struct profile *p)
{
	json_t *o = need(json_object());
	json_t *agents = need(json_object());

	for (size_t i = 0; i < p->permissions.agents.n; i++) {
		const struct profile_agent *agent = &p->permissions.agents.v[i];
		json_t *one = need(json_object());
		json_t *rules = need(json_array());

		for (size_t j = 0; j < agent->rules.n; j++)
			append(rules, rule_json(&agent->rules.v[j]));
		json_put(one, "allow_all", json_boolean(agent->allow_all));
		json_put(one, "parent",
			 json_text(agent->parent == NULL ? NULL : agent->parent->id));
		json_put(one, "inherits", json_boolean(agent->inherits));
		json_put(one, "rules", rules);
		json_put(agents, agent->id, one);
	}
	json_put(o, "default_deny", json_true());
	json_put(o, "context", names_json(p->permissions.context.v, p->permissions.context.n));
	json_put(o, "agents", agents);
	return o;
}
