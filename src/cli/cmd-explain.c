/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/escape.h"
#include "base/exitcode.h"
#include "base/path.h"
#include "cli/context.h"
#include "cli/explain-request.h"
#include "policy/connect.h"
#include "policy/explain.h"

static const struct cli_option options[] = {
	{ .id = CLI_PROFILE },      { .id = CLI_PROFILE_FD }, { .id = CLI_AGENT },
	{ .id = CLI_ON_BEHALF_OF }, { .id = CLI_CONTEXT },    { .id = CLI_WORKSPACE },
	{ .id = CLI_PARAM },        { .id = CLI_STATE },      { .id = CLI_JSON },
};

static const char *const verdicts[] = {
	[PROFILE_DENY] = "deny", [PROFILE_INTERRUPT] = "interrupt", [PROFILE_ALLOW] = "allow"
};

/* As a run would have it. */
static enum profile_network network_of(const struct cli_context *c)
{
	struct request rq = { .action = ACTION_NET_CONNECT, .kind = REQUEST_HOST };
	enum profile_network n = c->profile->sandbox.network;
	struct connect_rules rules;
	struct decision d;

	if (n == PROFILE_NETWORK_NAMED) {
		connect_build(c->arena, c->profile, c->agent, &rules);
		return connect_network(c->profile, &rules) ? n : PROFILE_NETWORK_NONE;
	}
	policy_decide(c->profile, c->agent, &rq, &d);
	return d.verdict == PROFILE_ALLOW ? n : PROFILE_NETWORK_NONE;
}

static const struct {
	const char *word, *text;
} networks[] = {
	[PROFILE_NETWORK_NONE] = { "none", "none" },
	[PROFILE_NETWORK_NAMED] = { "named", "by name (TCP only, by a relay): of these what the "
					     "rules above allow too: " },
	[PROFILE_NETWORK_HOST] = { "host", "the host's" },
};

static json_t *hosts_json(const struct cli_context *c)
{
	const struct profile_named *n = &c->profile->sandbox.named;
	json_t *list;

	if (network_of(c) != PROFILE_NETWORK_NAMED)
		return json_null();
	list = json_array();
	for (size_t i = 0; i < n->allow.n; i++)
		(void)json_array_append_new(list, json_text(n->allow.v[i].text));
	return list;
}

static json_t *published_json(const struct cli_context *c)
{
	const struct profile_named *n = &c->profile->sandbox.named;
	json_t *list = json_array();

	for (size_t i = 0; i < n->publish.n; i++)
		(void)json_array_append_new(list, json_text(n->publish.v[i].text));
	return list;
}

static json_t *host_ports_json(const struct cli_context *c)
{
	const struct profile_named *n = &c->profile->sandbox.named;
	json_t *list = json_array();

	for (size_t i = 0; network_of(c) == PROFILE_NETWORK_NAMED && i < n->host_ports.n; i++)
		(void)json_array_append_new(list, json_integer(n->host_ports.v[i].port));
	return list;
}

static json_t *row_json(const struct explain_row *r)
{
	json_t *o = json_object();

	json_put(o, "path", json_text(r->path));
	json_put(o, "access", json_text(r->access));
	json_put(o, "source", json_text(r->source));
	json_put(o, "host", json_text(r->host));
	json_put(o, "mechanism", json_text(r->mechanism));
	json_put(o, "limit", json_text(r->limit));
	return o;
}

static json_t *rule_json(const struct explain_rule *r)
{
	json_t *o = json_object();

	json_put(o, "agent", json_text(r->agent));
	json_put(o, "file", json_text(r->pos.file));
	json_put(o, "line", json_integer(r->pos.line));
	json_put(o, "mode", json_text(verdicts[r->mode]));
	json_put(o, "what", json_text(r->what));
	json_put(o, "mechanism", json_text(r->mechanism));
	json_put(o, "limit", json_text(r->limit));
	return o;
}

static json_t *commands_json(const struct profile_sandbox *s)
{
	json_t *list;

	if (s->any_command)
		return json_null();
	list = json_array();
	for (size_t i = 0; i < s->commands.n; i++)
		(void)json_array_append_new(list, json_text(s->commands.v[i].text));
	return list;
}

static void print_json(const struct cli_context *c, const struct explain *e)
{
	JSON_AUTO *o = json_object();
	json_t *view = json_array();
	json_t *rules = json_array();

	for (size_t i = 0; i < e->rows.n; i++)
		(void)json_array_append_new(view, row_json(&e->rows.v[i]));
	for (size_t i = 0; i < e->rules.n; i++)
		(void)json_array_append_new(rules, rule_json(&e->rules.v[i]));
	json_put(o, "version", json_integer(1));
	json_put(o, "profile", json_text(c->profile->files.v[0].name));
	json_put(o, "agent", json_text(c->agent->id));
	json_put(o, "view", view);
	json_put(o, "rules", rules);
	json_put(o, "network", json_text(networks[network_of(c)].word));
	json_put(o, "hosts", hosts_json(c));
	json_put(o, "published", published_json(c));
	json_put(o, "host_ports", host_ports_json(c));
	json_put(o, "commands", commands_json(&c->profile->sandbox));
	(void)cli_print_json(STDOUT_FILENO, o);
}

/* Names in a root are not the operator's: they must not write to the terminal. */
static void print_line(const char *text)
{
	STRBUF_AUTO sb = { 0 };

	escape_add(&sb, text, strlen(text));
	(void)puts(strbuf_str(&sb));
}

static const char *limited(struct arena *a, const char *mechanism, const char *limit)
{
	return limit == NULL ? mechanism : arena_printf(a, "%s (%s)", mechanism, limit);
}

static void print_rows(struct arena *a, const struct explain *e)
{
	for (size_t i = 0; i < e->rows.n; i++) {
		const struct explain_row *r = &e->rows.v[i];
		const char *parent = NULL;
		const char *name = r->path;
		unsigned depth = 0;

		for (size_t k = 0; k < i; k++) {
			if (!path_covers(e->rows.v[k].path, r->path))
				continue;
			parent = e->rows.v[k].path;
			depth++;
		}
		if (parent != NULL && strcmp(parent, r->path) != 0)
			name = path_rest(parent, r->path);
		print_line(arena_printf(
			a, "%*s%-*s %-8s %-24s %s%s%s", (int)depth * 2, "", 28 - (int)depth * 2,
			name, r->access, r->source, limited(a, r->mechanism, r->limit),
			r->host == NULL || strcmp(r->host, r->path) == 0 ? ""
			: strcmp(r->access, "link") == 0                 ? " to "
									 : " of ",
			r->host == NULL || strcmp(r->host, r->path) == 0 ? "" : r->host));
	}
}

static void print_network(struct arena *a, const struct cli_context *c)
{
	const struct profile_named *n = &c->profile->sandbox.named;
	enum profile_network network = network_of(c);
	const char *text = networks[network].text;

	if (network == PROFILE_NETWORK_NAMED && n->allow.n == 0)
		text = "no names; the ports below";
	for (size_t i = 0; network == PROFILE_NETWORK_NAMED && i < n->allow.n; i++)
		text = arena_printf(a, "%s%s%s", text, i == 0 ? "" : ", ", n->allow.v[i].text);
	for (size_t i = 0; network == PROFILE_NETWORK_NAMED && i < n->deny.n; i++)
		text = arena_printf(a, "%s%s%s", text, i == 0 ? "; but not " : ", ",
				    n->deny.v[i].text);
	(void)puts("");
	print_line(arena_printf(a, "network: %s", text));
	for (size_t i = 0; network == PROFILE_NETWORK_NAMED && i < n->host_ports.n; i++)
		print_line(arena_printf(a, "host port: 127.0.0.1:%u inside is that of the host",
					n->host_ports.v[i].port));
	for (size_t i = 0; i < n->publish.n; i++) {
		const struct profile_publish *p = &n->publish.v[i];
		struct host_target at = { .addr = p->addr, .port = p->port };
		char host[HOSTPAT_TEXT_SIZE];

		print_line(arena_printf(a, "published: %s of the host leads to port %u inside",
					hostpat_target_text(&at, host), p->inside));
	}
}

static void print_text(struct arena *a, const struct cli_context *c, const struct explain *e)
{
	const struct profile_sandbox *s = &c->profile->sandbox;
	const char *commands = "any that is there";

	print_line(arena_printf(a, "agent %s of %s", c->agent->id, c->profile->files.v[0].name));
	(void)puts("\nview:");
	print_rows(a, e);
	(void)puts("\nrules; of each agent the first match wins, and all must allow:");
	for (size_t i = 0; i < e->rules.n; i++) {
		const struct explain_rule *r = &e->rules.v[i];

		if (i == 0 || strcmp(r->agent, e->rules.v[i - 1].agent) != 0)
			print_line(arena_printf(a, "of %s:", r->agent));
		print_line(arena_printf(a, "  %s:%u %s %s: by %s", r->pos.file, r->pos.line,
					verdicts[r->mode], r->what,
					limited(a, r->mechanism, r->limit)));
	}
	for (size_t i = 0; !s->any_command && i < s->commands.n; i++)
		commands = i == 0 ? s->commands.v[i].text
				  : arena_printf(a, "%s, %s", commands, s->commands.v[i].text);
	if (!s->any_command && s->commands.n == 0)
		commands = "none";
	print_network(a, c);
	print_line(arena_printf(a, "commands: %s", commands));
}

static int explain(struct cli_context *c, const struct cli_parsed *p, struct err *err)
{
	struct cli_source src = cli_source_of(p);
	struct explain e = { 0 };
	struct resolved resolved = { 0 };
	struct resolve_input in;

	src.state_optional = true;
	if (cli_context_load(c, &src, err) != 0)
		return cli_rc(err);
	if (c->agent == NULL) {
		cli_say("%s", cli_agent_hint(c, src.agent));
		return EXITCODE_DENIED;
	}
	if (policy_enforceable(c->profile, c->agent, err) != 0 ||
	    cli_context_facts(c, false, err) != 0)
		return cli_rc(err);
	in = (struct resolve_input){
		.profile = c->profile,
		.agent = c->agent,
		.facts = &c->facts,
		.view = &c->view,
		.access = c->access,
	};
	if (resolve_guards(c->arena, &in, &resolved, err) != 0)
		return cli_rc(err);
	explain_build(c->arena, &in, &resolved, &e);
	if (cli_has(p, CLI_JSON))
		print_json(c, &e);
	else
		print_text(c->arena, c, &e);
	return 0;
}

static int explain_one(struct arena *a, const struct cli_parsed *p, struct err *err)
{
	struct facts_caller caller = { 0 };
	const char *dir = NULL;

	for (size_t i = 0; i < p->options.n; i++) {
		int id = p->options.v[i].id;

		if (id == CLI_STATE || id == CLI_JSON)
			continue;
		(void)err_set(err, ERR_USAGE, 0,
			      "a request is explained by the audit log alone: with its id, give no "
			      "other option than --state and --json");
		return EXITCODE_FAILED;
	}
	if (facts_caller(a, &caller, err) != 0 ||
	    cli_state_dir(a, &caller, cli_value(p, CLI_STATE), &dir, err) != 0)
		return cli_rc(err);
	return explain_request(a, dir, p->words.v[0], cli_has(p, CLI_JSON), err);
}

static int command_explain(struct arena *a, int argc, char **argv, struct err *err)
{
	struct cli_context c;
	struct cli_parsed p;
	int rc;

	cli_context_init(&c, a);
	if (cli_parse(a, &cmd_explain, argc, argv, &p, err) != 0)
		return EXITCODE_FAILED;
	if (p.help) {
		cli_print_help(&cmd_explain);
		return 0;
	}
	if (p.words.n > 1 || p.rest != NULL) {
		(void)err_set(
			err, ERR_USAGE, 0,
			"explain takes a profile with -p, or the id of one request; 'agentbox "
			"check' explains what was not asked yet");
		return EXITCODE_FAILED;
	}
	rc = p.words.n == 1 ? explain_one(a, &p, err) : explain(&c, &p, err);
	cli_context_close(&c);
	if (fflush(stdout) != 0 && !err->set) {
		(void)err_set(err, ERR_HOST, errno, "cannot write to standard output");
		return EXITCODE_FAILED;
	}
	return rc;
}

const struct cli_command cmd_explain = {
	.name = "explain",
	.synopsis = "-p FILE [-a ID] [-w DIR] [--json] | REQUEST [--state DIR] [--json]",
	.summary = "what an agent gets and what backs it; what became of a request",
	.options = options,
	.n_options = ARRAY_SIZE(options),
	.examples = "  agentbox explain -p default -w .\n"
		    "  agentbox explain -p p.yaml -a bob --json\n"
		    "  agentbox explain r0123456789abcdef   as run printed it, or audit show\n",
	.run = command_explain,
};
