/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/escape.h"
#include "base/exitcode.h"
#include "base/io.h"
#include "cli/cli.h"
#include "cli/doctor.h"
#include "cli/result.h"

static const struct cli_option options[] = {
	{ .id = CLI_PROFILE, .help = "say of this profile whether a run with it can work" },
	{ .id = CLI_PROFILE_FD },
	{ .id = CLI_AGENT, .help = "for which agent (default: the first)" },
	{ .id = CLI_WORKSPACE },
	{ .id = CLI_PARAM },
	{ .id = CLI_STATE },
	{ .id = CLI_JSON },
};

static const char *const state_words[] = {
	[DOCTOR_UNTRIED] = "-",
	[DOCTOR_OK] = "ok",
	[DOCTOR_FAILED] = "FAILED",
};

static json_t *errno_json(int errnum)
{
	const char *name = strerrorname_np(errnum);

	return errnum == 0 ? json_null() : name != NULL ? json_text(name) : json_integer(errnum);
}

static json_t *check_json(const struct doctor_check *c)
{
	json_t *o = json_object();

	json_put(o, "name", json_text(c->name));
	json_put(o, "ok",
		 c->state == DOCTOR_UNTRIED ? json_null() : json_boolean(c->state == DOCTOR_OK));
	json_put(o, "required", json_boolean(!c->optional));
	json_put(o, "errno", errno_json(c->errnum));
	json_put(o, "detail", json_text(c->detail));
	json_put(o, "cause", json_text(c->cause));
	json_put(o, "remedy", json_text(c->remedy));
	return o;
}

static json_t *identity_json(const struct doctor *d)
{
	const struct plan *p = d->prep.plan;
	json_t *o = json_object();
	json_t *groups = json_array();

	for (size_t i = 0; i < d->groups.n; i++) {
		json_t *g = json_object();

		json_put(g, "name", json_text(d->groups.v[i].name));
		json_put(g, "opens", json_text(d->groups.v[i].opens));
		(void)json_array_append_new(groups, g);
	}
	json_put(o, "kind", json_text(p == NULL ? NULL : plan_identity_name(p->ids.identity)));
	json_put(o, "inside_uid", p == NULL ? json_null() : json_integer(p->ids.inside_uid));
	json_put(o, "outside_uid", p == NULL ? json_null() : json_integer(p->ids.outside_uid));
	json_put(o, "reason",
		 json_text(p == NULL || p->ids.identity != PLAN_IDENTITY_ROOT
				   ? NULL
				   : prepare_identity_reason(d->arena, &d->prep)));
	json_put(o, "groups", groups);
	return o;
}

static json_t *mechanisms_json(const struct doctor *d)
{
	json_t *o = d->prep.plan == NULL ? json_object() : result_mechanisms(d->prep.plan);

	json_put(o, "cgroup", json_text(d->cgroup));
	json_put(o, "landlock_abi", d->landlock < 0 ? json_null() : json_integer(d->landlock));
	return o;
}

static json_t *mechanism_json(enum plan_mechanism m)
{
	return m == PLAN_MECHANISM_NONE ? json_null() : json_text(plan_mechanism_name(m));
}

static json_t *ways_json(enum plan_limit limit)
{
	json_t *list = json_array();

	for (const enum plan_mechanism *m = plan_limit_ways(limit); *m != PLAN_MECHANISM_NONE; m++)
		(void)json_array_append_new(list, json_text(plan_mechanism_name(*m)));
	return list;
}

/* For each limit what there is, whether or not the profile sets it. */
static json_t *limits_json(const struct doctor *d)
{
	json_t *o = json_object();

	for (unsigned i = 0; i < PLAN_LIMIT_MAX; i++) {
		const struct doctor_limit *l = &d->limits[i];
		json_t *one = json_object();

		json_put(one, "any", mechanism_json(l->any));
		json_put(one, "kernel", mechanism_json(l->kernel));
		json_put(one, "ways", ways_json(i));
		json_put(one, "why", json_text(l->kernel == PLAN_MECHANISM_NONE ? l->why : NULL));
		json_put(o, plan_limit_name(i)->name, one);
	}
	return o;
}

/* What the profile comes to here: names only, never a value. */
static json_t *effective_json(const struct doctor *d)
{
	const struct cli_context *c = &d->prep.context;
	const struct plan *p = d->prep.plan;
	json_t *o = json_object();
	json_t *roots = json_array();
	json_t *env = json_array();

	for (size_t i = 0; i < c->facts.roots.n; i++) {
		const struct facts_root *r = &c->facts.roots.v[i];
		json_t *one = json_object();

		json_put(one, "at", json_text(r->root->at));
		json_put(one, "present", json_boolean(r->present));
		json_put(one, "mode",
			 json_text(!r->present || !c->access[i].read ? "absent"
				   : c->access[i].write              ? "rw"
								     : "ro"));
		(void)json_array_append_new(roots, one);
	}
	for (size_t i = 0; p->envp[i] != NULL; i++)
		(void)json_array_append_new(env, json_bytes(p->envp[i], strcspn(p->envp[i], "=")));
	json_put(o, "agent", json_text(c->agent->id));
	json_put(o, "network", json_text(plan_network_name(p)));
	json_put(o, "roots", roots);
	json_put(o, "env", env);
	return o;
}

static json_t *doctor_json(const struct doctor *d, const char *kernel)
{
	json_t *o = json_object();
	json_t *checks = json_array();
	json_t *uncovered = json_array();

	for (size_t i = 0; i < d->checks.n; i++)
		(void)json_array_append_new(checks, check_json(&d->checks.v[i]));
	for (const char *const *t = doctor_uncovered(); *t != NULL; t++)
		(void)json_array_append_new(uncovered, json_text(*t));
	json_put(o, "version", json_text(AGENTBOX_VERSION));
	json_put(o, "kernel", json_text(kernel));
	json_put(o, "sandbox_ready", json_boolean(d->sandbox_ready));
	json_put(o, "policy_ready", d->has_profile ? json_boolean(d->policy_ready) : json_null());
	json_put(o, "identity", identity_json(d));
	json_put(o, "mechanisms", mechanisms_json(d));
	json_put(o, "limits", limits_json(d));
	json_put(o, "effective",
		 d->policy_ready && d->prep.plan != NULL ? effective_json(d) : json_null());
	json_put(o, "checks", checks);
	json_put(o, "uncovered", uncovered);
	return o;
}

static void line(struct strbuf *sb, const char *label, const char *text)
{
	strbuf_printf(sb, "%-8s", label);
	escape_add(sb, text, strlen(text));
	strbuf_putc(sb, '\n');
}

static void put_check(struct strbuf *sb, const struct doctor_check *c)
{
	STRBUF_AUTO text = { 0 };

	strbuf_puts(&text, c->name);
	if (c->detail != NULL)
		strbuf_printf(&text, " (%s)", c->detail);
	if (c->state == DOCTOR_UNTRIED)
		strbuf_puts(&text, ": not reached");
	if (c->errnum != 0)
		strbuf_printf(&text, ": %s", strerror(c->errnum));
	line(sb, c->state == DOCTOR_FAILED && c->optional ? "weak" : state_words[c->state],
	     strbuf_str(&text));
	if (c->cause != NULL)
		line(sb, "", c->cause);
	if (c->remedy != NULL) {
		strbuf_puts(sb, "        remedy: ");
		escape_add(sb, c->remedy, strlen(c->remedy));
		strbuf_putc(sb, 0x0a);
	}
}

static void put_identity(struct strbuf *sb, const struct doctor *d)
{
	const struct plan *p = d->prep.plan;

	if (p != NULL) {
		strbuf_printf(sb, "\nidentity: %s, uid %u inside, %u outside\n",
			      plan_identity_name(p->ids.identity), p->ids.inside_uid,
			      p->ids.outside_uid);
		if (p->ids.identity == PLAN_IDENTITY_ROOT)
			line(sb, "", prepare_identity_reason(d->arena, &d->prep));
	}
	for (size_t i = 0; i < d->groups.n; i++) {
		const struct doctor_group *g = &d->groups.v[i];

		if (g->opens != NULL)
			line(sb, "",
			     arena_printf(d->arena,
					  "group %s cannot be dropped: outside, it may %s; inside, "
					  "it opens what a root holds of it",
					  g->name, g->opens));
	}
}

static void put_limits(struct strbuf *sb, const struct doctor *d)
{
	strbuf_puts(sb, "\nlimits:\n");
	for (unsigned i = 0; i < PLAN_LIMIT_MAX; i++) {
		const struct doctor_limit *l = &d->limits[i];

		strbuf_printf(sb, "  %-11s %s\n", plan_limit_name(i)->name,
			      plan_mechanism_name(l->any));
		if (l->kernel == PLAN_MECHANISM_NONE)
			strbuf_printf(sb, "              not by the kernel: %s\n", l->why);
	}
}

static void put_text(struct strbuf *sb, const struct doctor *d, const char *kernel)
{
	strbuf_printf(sb, "agentbox %s on Linux %s\n\n", AGENTBOX_VERSION, kernel);
	for (size_t i = 0; i < d->checks.n; i++)
		put_check(sb, &d->checks.v[i]);
	put_identity(sb, d);
	strbuf_printf(sb, "cgroup: %s\n", d->cgroup);
	put_limits(sb, d);
	strbuf_printf(sb, "\nsandbox ready: %s\n", d->sandbox_ready ? "yes" : "no");
	strbuf_printf(sb, "policy ready:  %s\n",
		      !d->has_profile   ? "no profile given (-p)"
		      : d->policy_ready ? "yes"
					: "no");
	strbuf_puts(sb, "\nnot covered, whatever a profile says:\n");
	for (const char *const *t = doctor_uncovered(); *t != NULL; t++)
		strbuf_printf(sb, "  - %s\n", *t);
}

static int print(const struct doctor *d, bool json)
{
	STRBUF_AUTO sb = { 0 };
	struct utsname u;
	const char *kernel = uname(&u) == 0 ? u.release : "unknown";

	if (json) {
		JSON_AUTO *o = doctor_json(d, kernel);

		return cli_print_json(STDOUT_FILENO, o);
	}
	put_text(&sb, d, kernel);
	return io_write_full(STDOUT_FILENO, sb.buf, sb.len);
}

static int command_doctor(struct arena *a, int argc, char **argv, struct err *err)
{
	struct cli_parsed parsed;
	struct cli_source source;
	struct doctor d;
	bool ready;

	if (cli_parse(a, &cmd_doctor, argc, argv, &parsed, err) != 0)
		return EXITCODE_FAILED;
	if (parsed.help) {
		cli_print_help(&cmd_doctor);
		return 0;
	}
	if (parsed.words.n > 0 || parsed.rest != NULL) {
		(void)err_set(err, ERR_USAGE, 0, "doctor runs no command: it takes options alone");
		return EXITCODE_FAILED;
	}
	source = cli_source_of(&parsed);
	ready = doctor_examine(a, &source, environ, &d, err) == 0 && d.sandbox_ready &&
		(d.policy_ready || !d.has_profile);
	if (!err->set && print(&d, cli_has(&parsed, CLI_JSON)) != 0)
		ready = false;
	doctor_close(&d);
	return ready ? 0 : EXITCODE_FAILED;
}

const struct cli_command cmd_doctor = {
	.name = "doctor",
	.synopsis = "[-p FILE [-a ID]] [--json]",
	.summary = "what this host can enforce, and the cause of what it cannot",
	.options = options,
	.n_options = ARRAY_SIZE(options),
	.examples = "  agentbox doctor\n"
		    "  agentbox doctor -p profiles/default.yaml -w . --json\n",
	.run = command_doctor,
};
