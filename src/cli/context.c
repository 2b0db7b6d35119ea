/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/context.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "audit/audit.h"
#include "base/path.h"
#include "base/strbuf.h"
#include "base/suggest.h"
#include "run/blame.h"
#include "sys/fs.h"

#ifndef AGENTBOX_PROFILES_DIR
#define AGENTBOX_PROFILES_DIR "/usr/share/agentbox/profiles"
#endif

/* Text as given when it is canonical, so that links in it stay what the user sees; resolved
 * otherwise. */
static const char *absolute_dir(struct arena *a, const char *cwd, const char *dir, struct err *err)
{
	const char *path = dir;
	char *real;

	if (dir[0] != '/' && cwd == NULL) {
		(void)err_set(err, ERR_REQUEST, 0,
			      "'%s' is relative, and the current directory "
			      "is gone: give an absolute path",
			      dir);
		return NULL;
	}
	if (strcmp(dir, ".") == 0)
		path = cwd;
	else if (dir[0] != '/')
		path = path_join(a, cwd, dir);
	if (path_is_canonical(path))
		return path;
	real = realpath(path, NULL);
	if (real == NULL) {
		(void)err_set(err, ERR_REQUEST, errno, "'%s'", dir);
		return NULL;
	}
	path = arena_strdup(a, real);
	free(real);
	return path;
}

static int param_add(struct cli_context *c, const char *text, struct profile_param *ret,
		     struct err *err)
{
	size_t n = strcspn(text, "=");

	if (text[n] != '=' || n == 0)
		return err_set(err, ERR_USAGE, 0, "--param '%s': write it as NAME=VALUE", text);
	ret->name = arena_strndup(c->arena, text, n);
	ret->value = text + n + 1;
	if (strcmp(ret->name, "workspace") == 0) {
		ret->value = absolute_dir(c->arena, c->facts.caller.cwd, ret->value, err);
		return ret->value == NULL ? -1 : 0;
	}
	return 0;
}

static int collect_params(struct cli_context *c, const struct cli_source *src,
			  struct profile_source *ps, struct err *err)
{
	struct profile_param *params =
		arena_array(c->arena, src->parsed->options.n + 1, sizeof(*params));

	for (size_t i = 0; i < src->parsed->options.n; i++) {
		const struct cli_given *g = &src->parsed->options.v[i];

		if (g->id == CLI_PARAM && param_add(c, g->value, &params[ps->n_params++], err) != 0)
			return -1;
	}
	if (src->workspace != NULL) {
		const char *dir = absolute_dir(c->arena, c->facts.caller.cwd, src->workspace, err);

		if (dir == NULL)
			return -1;
		params[ps->n_params++] = (struct profile_param){ "workspace", dir };
	}
	ps->params = params;
	return 0;
}

int cli_label_add(struct cli_context *c, const char *text, struct profile_label *labels, size_t *n,
		  struct err *err)
{
	const profile_names *keys = &c->profile->permissions.context;
	size_t len = strcspn(text, "=");
	const char *best = NULL, *key;
	size_t distance = 0;
	bool declared = false;

	if (text[len] != '=' || len == 0)
		return err_set(err, ERR_USAGE, 0, "--context '%s': write it as KEY=VALUE", text);
	key = arena_strndup(c->arena, text, len);
	for (size_t i = 0; i < keys->n; i++) {
		declared = declared || strcmp(keys->v[i].name, key) == 0;
		suggest_best(key, keys->v[i].name, &best, &distance);
	}
	if (!declared && best != NULL)
		return err_set(err, ERR_USAGE, 0,
			       "--context: the profile declares no '%s' (did you mean '%s'?)", key,
			       best);
	if (!declared)
		return err_set(err, ERR_USAGE, 0,
			       "--context: the profile declares no '%s': add it to "
			       "permissions.context",
			       key);
	for (size_t i = 0; i < *n; i++) {
		if (strcmp(labels[i].key, key) == 0)
			return err_set(err, ERR_USAGE, 0, "--context: '%s' is given twice", key);
	}
	labels[(*n)++] = (struct profile_label){ key, text + len + 1 };
	return 0;
}

/* Who asks, on whose behalf, with which labels. */
static int collect_asked(struct cli_context *c, const struct cli_source *src, struct err *err)
{
	size_t max = src->parsed == NULL ? 0 : src->parsed->options.n;
	const char **chain = arena_array(c->arena, max + 1, sizeof(*chain));
	struct profile_label *labels = arena_array(c->arena, max + 1, sizeof(*labels));
	struct agent_asked *asked = &c->asked;

	*asked = (struct agent_asked){ .id = src->agent, .on_behalf = chain, .context = labels };
	for (size_t i = 0; i < max; i++) {
		const struct cli_given *g = &src->parsed->options.v[i];

		if (g->id == CLI_ON_BEHALF_OF)
			chain[asked->n_on_behalf++] = g->value;
		if (g->id == CLI_CONTEXT &&
		    cli_label_add(c, g->value, labels, &asked->n_context, err) != 0)
			return -1;
	}
	return 0;
}

static int parse_fd(const char *text, int *ret, struct err *err)
{
	char *end;
	long v;

	errno = 0;
	v = strtol(text, &end, 10);
	if (errno != 0 || end == text || *end != '\0' || v < 0 || v > INT_MAX ||
	    fcntl((int)v, F_GETFD) < 0)
		return err_set(err, ERR_USAGE, 0, "--profile-fd '%s' is no open descriptor", text);
	*ret = (int)v;
	return 0;
}

static int check_expected(const struct profile *p, const char *expect, struct err *err)
{
	if (expect == NULL || strcasecmp(expect, p->sha256) == 0)
		return 0;
	return err_set(err, ERR_PROFILE, 0, "%s%s SHA-256 %s, not the expected one",
		       p->files.v[0].name,
		       p->files.n > 1 ? " and the files that it pulls in have" : " has", p->sha256);
}

/* Root of a namespace that an ordinary user made has no /var/lib to write to, and the home that
 * passwd names for uid 0 is not its own; a container's uid may have no entry at all. There the
 * caller's environment says where home is. */
int cli_state_dir(struct arena *a, const struct facts_caller *caller, const char *state,
		  const char **ret, struct err *err)
{
	bool borrowed_root = caller->uid == 0 && !caller->kernel_root;
	uid_t uid = borrowed_root ? 1 : caller->uid;
	const char *home = borrowed_root || caller->home == NULL ? getenv("HOME") : caller->home;

	if (state != NULL && state[0] != '/' && caller->cwd != NULL)
		state = path_join(a, caller->cwd, state);
	return audit_state_dir(a, state, getenv("XDG_STATE_HOME"), home, uid, ret, err);
}

static int choose_state(struct cli_context *c, const struct cli_source *src, struct err *err)
{
	const char *state = src->state;
	struct err none = { 0 };

	c->room = src->room;

	/* The log of the other runs is no less to be guarded. Who has none has nothing there. */
	if (state != NULL &&
	    cli_state_dir(c->arena, &c->facts.caller, NULL, &c->default_state_dir, &none) != 0)
		c->default_state_dir = NULL;
	none = (struct err){ 0 };
	if (cli_state_dir(c->arena, &c->facts.caller, state, &c->state_dir, &none) == 0)
		return 0;
	/* Who has no home has no default state to keep out of the roots either. */
	c->state_dir = NULL;
	if (src->state_optional && state == NULL)
		return 0;
	*err = none;
	return -1;
}

void cli_context_init(struct cli_context *c, struct arena *a)
{
	*c = (struct cli_context){ .arena = a, .facts = { .self = { .fd = -1 } } };
	for (size_t i = 0; i < FACTS_DEVICES; i++)
		c->facts.devices[i].object.fd = -1;
}

struct cli_source cli_source_of(const struct cli_parsed *p)
{
	return (struct cli_source){
		.profile = cli_value(p, CLI_PROFILE),
		.profile_fd = cli_value(p, CLI_PROFILE_FD),
		.agent = cli_value(p, CLI_AGENT),
		.workspace = cli_value(p, CLI_WORKSPACE),
		.state = cli_value(p, CLI_STATE),
		.expect = cli_value(p, CLI_EXPECT),
		.parsed = p,
	};
}

static int check_named(const struct cli_source *src, struct err *err)
{
	if ((src->profile == NULL) != (src->profile_fd == NULL))
		return 0;
	return err_set(err, ERR_USAGE, 0,
		       src->profile == NULL
			       ? "no profile: give -p PROFILE, a file or a shipped name such as "
				 "'default' ('agentbox profiles' lists them)"
			       : "give -p or --profile-fd, not both");
}

static int load_profile(struct cli_context *c, const struct cli_source *src, struct err *err)
{
	struct profile_source ps = { .path = src->profile,
				     .fd = -1,
				     .stand_in = src->stand_in,
				     .with_tests = src->stand_in };
	const struct facts_caller *caller = &c->facts.caller;

	if (src->profile_fd != NULL && parse_fd(src->profile_fd, &ps.fd, err) != 0)
		return -1;
	if (collect_params(c, src, &ps, err) != 0)
		return -1;
	ps.cwd = caller->cwd == NULL ? "/" : caller->cwd;
	ps.home = caller->home;
	ps.instance = agent_instance(src->agent);
	if (ps.instance != NULL && !profile_id_ok(ps.instance))
		ps.instance = NULL; /* such an agent is unknown */
	ps.uid = caller->uid;
	ps.gid = caller->gid;
	if (profile_load(c->arena, &ps, &c->profile, err) != 0 ||
	    check_expected(c->profile, src->expect, err) != 0)
		return -1;
	return policy_validate(c->arena, c->profile, err);
}

int cli_context_profile(struct cli_context *c, const struct cli_source *src, struct err *err)
{
	if (check_named(src, err) != 0 || facts_caller(c->arena, &c->facts.caller, err) != 0)
		return -1;
	return load_profile(c, src, err);
}

int cli_context_load(struct cli_context *c, const struct cli_source *src, struct err *err)
{
	if (check_named(src, err) != 0 || facts_caller(c->arena, &c->facts.caller, err) != 0 ||
	    choose_state(c, src, err) != 0 || load_profile(c, src, err) != 0)
		return -1;
	if (collect_asked(c, src, err) != 0)
		return -1;
	c->agent = policy_identify(c->arena, c->profile, &c->asked, &c->identity);
	return 0;
}

/* ID, or the ID of ID/INSTANCE. */
static bool is_declared(const struct cli_context *c, const char *id)
{
	return profile_agent_find(c->profile, arena_strndup(c->arena, id, strcspn(id, "/"))) !=
	       NULL;
}

const char *cli_agent_hint(const struct cli_context *c, const char *given)
{
	const struct profile *p = c->profile;
	const char *best = NULL, *ret;
	size_t distance = 0;
	STRBUF_AUTO ids = { 0 };

	for (size_t i = 0; i < c->asked.n_on_behalf; i++) {
		if (!is_declared(c, c->asked.on_behalf[i])) {
			given = c->asked.on_behalf[i];
			break;
		}
	}

	for (size_t i = 0; i < p->permissions.agents.n; i++) {
		const char *id = p->permissions.agents.v[i].id;

		strbuf_printf(&ids, "%s%s", i == 0 ? "" : ", ", id);
		if (given != NULL)
			suggest_best(given, id, &best, &distance);
	}
	if (ids.len == 0)
		ret = "the profile declares no agent: add one under permissions.agents";
	else if (best != NULL)
		ret = arena_printf(c->arena, "no agent '%s' (did you mean '%s'?): %s declares %s",
				   given, best, p->files.v[0].name, strbuf_str(&ids));
	else
		ret = arena_printf(c->arena, "give one of %s's agents with -a: %s",
				   p->files.v[0].name, strbuf_str(&ids));
	return ret;
}

int cli_context_parse(struct cli_context *c, const char *text, struct err *err)
{
	const struct facts_caller *caller = &c->facts.caller;
	struct profile_source ps = { .fd = -1, .cwd = "/" };
	struct profile_text pt = {
		.name = "(built in)", .dir = "/", .text = text, .len = strlen(text)
	};

	if (facts_caller(c->arena, &c->facts.caller, err) != 0)
		return -1;
	ps.home = caller->home;
	ps.uid = caller->uid;
	ps.gid = caller->gid;
	if (profile_parse(c->arena, &ps, &pt, &c->profile, err) != 0 ||
	    policy_validate(c->arena, c->profile, err) != 0)
		return -1;
	c->agent = policy_identify(c->arena, c->profile, &c->asked, &c->identity);
	return 0;
}

/* Roots are opened by openat2(2), without which there is no opening below a directory that others
 * write to: where that is refused, it is the host's doing and not the root's. */
static int facts_failed(struct err *err)
{
	int r = sys_openat2(AT_FDCWD, "/", O_PATH | O_CLOEXEC, 0, 0);

	if (r == -ENOSYS || r == -EPERM)
		return blame_at(err, CAUSE_OTHER, -r, "openat2");
	if (r >= 0)
		(void)close(r);
	return -1;
}

/* As if the base had it: read-only, at a place of its own. */
static int show_self(struct cli_context *c, struct err *err)
{
	struct facts_object self;

	if (facts_self(c->arena, &c->facts, err) != 0)
		return -1;
	self = c->facts.self;
	self.fd = fcntl(self.fd, F_DUPFD_CLOEXEC, 3);
	if (self.fd < 0)
		return err_set(err, ERR_HOST, errno, "the running binary");
	*array_push(c->arena, &c->facts.base) =
		(struct facts_base){ .at = c->self_at, .kind = FACTS_BASE_FILE, .object = self };
	return 0;
}

int cli_context_gather(struct cli_context *c, bool all_roots, struct err *err)
{
	const struct facts_input in = {
		.profile = c->profile,
		.state_dir = c->state_dir,
		.default_state_dir = c->default_state_dir,
		.room = c->room,
		.runtime_dir = getenv("XDG_RUNTIME_DIR"),
		.profiles_dir = AGENTBOX_PROFILES_DIR,
	};

	c->input = in;
	if (facts_gather(c->arena, &c->input, &c->facts, err) != 0)
		return facts_failed(err);
	if (c->self_at != NULL && show_self(c, err) != 0)
		return -1;
	cli_context_view(c, all_roots);
	return 0;
}

void cli_context_view(struct cli_context *c, bool all_roots)
{
	struct tree_access *seen = arena_array(c->arena, c->facts.roots.n, sizeof(*seen));

	c->access = arena_array(c->arena, c->facts.roots.n, sizeof(*c->access));
	for (size_t i = 0; i < c->facts.roots.n; i++) {
		const struct facts_root *r = &c->facts.roots.v[i];

		if (r->present)
			policy_root_access(c->profile, c->agent, r->root, S_ISREG(r->object.mode),
					   &c->access[i]);
		seen[i] = all_roots ? (struct tree_access){ .read = true } : c->access[i];
	}
	view_build(c->arena, &c->facts, seen, &c->view);
}

int cli_context_judge(const struct cli_context *c, struct err *err)
{
	return facts_judge_roots(c->arena, &c->input, &c->facts, err);
}

int cli_context_furnish(struct cli_context *c, struct err *err)
{
	return facts_furnish(c->arena, &c->input, &c->facts, err);
}

int cli_context_facts(struct cli_context *c, bool all_roots, struct err *err)
{
	if (cli_context_gather(c, all_roots, err) != 0 || cli_context_furnish(c, err) != 0)
		return -1;
	return cli_context_judge(c, err);
}

void cli_context_close(struct cli_context *c)
{
	facts_close(&c->facts);
}
