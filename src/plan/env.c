/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <ctype.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/path.h"
#include "base/strbuf.h"
#include "plan/compile.h"
#include "policy/match.h"

#define SYSTEM_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

/* The fixed minimum: a value of ours, or (NULL) the caller's if it has one. */
static const struct {
	const char *name;
	const char *value;
} minimum[] = {
	{ "HOME", "/home/agent" }, { "USER", "agent" },
	{ "LOGNAME", "agent" },    { "SHELL", "/bin/sh" },
	{ "TMPDIR", "/tmp" },      { "container", "agentbox" },
	{ "LANG", NULL },          { "LC_*", NULL },
	{ "TERM", NULL },          { "TZ", NULL },
};

/* git refuses a repository that is not its user's own (git-config(1), safe.directory). Inside
 * there is one user, and the refusal would protect nobody: whoever owns the tree outside cannot
 * reach beyond the sandbox through it. */
static const struct {
	const char *name;
	const char *value;
} git_trust[] = {
	{ "GIT_CONFIG_COUNT", "1" },
	{ "GIT_CONFIG_KEY_0", "safe.directory" },
	{ "GIT_CONFIG_VALUE_0", "*" },
};

static const char *const secret_words[] = { "KEY", "TOKEN", "SECRET", "PASS", "CREDENTIAL", "DSN" };

struct env {
	struct arena *arena;
	ARRAY_OF(char *) vars; /* "NAME=value" */
};

static const char *var_value(const char *var, const char *name)
{
	size_t n = strlen(name);

	return strncmp(var, name, n) == 0 && var[n] == '=' ? var + n + 1 : NULL;
}

static const char *environ_get(char *const *environ, const char *name)
{
	for (size_t i = 0; environ[i] != NULL; i++) {
		const char *v = var_value(environ[i], name);

		if (v != NULL)
			return v;
	}
	return NULL;
}

static void env_put(struct env *e, const char *name, size_t name_len, const char *value)
{
	char *var = arena_printf(e->arena, "%.*s=%s", (int)name_len, name, value);

	for (size_t i = 0; i < e->vars.n; i++) {
		if (strncmp(e->vars.v[i], var, name_len + 1) == 0) {
			e->vars.v[i] = var;
			return;
		}
	}
	*array_push(e->arena, &e->vars) = var;
}

static bool env_has(const struct env *e, const char *name)
{
	for (size_t i = 0; i < e->vars.n; i++) {
		if (var_value(e->vars.v[i], name) != NULL)
			return true;
	}
	return false;
}

bool plan_env_is_secret(const char *name)
{
	char upper[128];
	size_t n = strlen(name);

	/* Absurdly long names are treated as the worse case. */
	if (n >= sizeof(upper))
		return true;
	for (size_t i = 0; i <= n; i++)
		upper[i] = (char)toupper((unsigned char)name[i]);
	for (size_t i = 0; i < ARRAY_SIZE(secret_words); i++) {
		if (strstr(upper, secret_words[i]) != NULL)
			return true;
	}
	return false;
}

/* A URL with a password in it: scheme://user:pass@host */
static bool value_is_secret(const char *value)
{
	const char *p = strstr(value, "://");
	size_t n;

	if (p == NULL)
		return false;
	p += 3;
	n = strcspn(p, "/@");
	return p[n] == '@' && memchr(p, ':', n) != NULL;
}

/* Of a resolver or a proxy that is not inside: with a network of names they would only lead
 * programs astray. In small letters; the first is an ending. */
static const char *const net_words[] = { "_proxy", "localdomain", "res_options", "hostaliases" };

static bool name_is_net(const char *name, size_t n)
{
	const size_t ending = strlen(net_words[0]);

	if (n >= ending && strncasecmp(name + n - ending, net_words[0], ending) == 0)
		return true;
	for (size_t i = 1; i < ARRAY_SIZE(net_words); i++) {
		if (n == strlen(net_words[i]) && strncasecmp(name, net_words[i], n) == 0)
			return true;
	}
	return false;
}

static bool is_pattern(const char *s)
{
	return strchr(s, '*') != NULL;
}

/* @environ: what is picked from. */
static void env_pass(struct env *e, const struct plan_request *rq, char *const *environ,
		     const char *pattern)
{
	for (size_t i = 0; environ[i] != NULL; i++) {
		size_t n = strcspn(environ[i], "=");
		const char *name;

		if (environ[i][n] != '=' || n == 0 || !match_name(pattern, environ[i], n))
			continue;
		if (rq->named_network && name_is_net(environ[i], n))
			continue;
		name = arena_strndup(e->arena, environ[i], n);
		/* A pattern takes no secret, and nothing that has a value of ours: HOME and PATH of
		 * the caller lead nowhere inside. */
		if (is_pattern(pattern) && (env_has(e, name) || plan_env_is_secret(name) ||
					    value_is_secret(environ[i] + n + 1)))
			continue;
		env_put(e, name, n, environ[i] + n + 1);
	}
}

/* What the profile's `pass` picks from: its file, then what the file lacks of the caller's. */
static char *const *env_sources(struct arena *a, const struct plan_request *rq)
{
	const struct profile_sandbox *s = &rq->profile->sandbox;
	struct env e = { .arena = a };
	size_t from_file;

	if (s->env_vars.n == 0)
		return rq->environ;
	for (size_t i = 0; i < s->env_vars.n; i++)
		env_put(&e, s->env_vars.v[i].name, strlen(s->env_vars.v[i].name),
			s->env_vars.v[i].value);
	from_file = e.vars.n;
	for (size_t i = 0; rq->environ[i] != NULL; i++) {
		size_t n = strcspn(rq->environ[i], "=");
		size_t k = 0;

		while (k < from_file && strncmp(e.vars.v[k], rq->environ[i], n + 1) != 0)
			k++;
		if (k == from_file)
			*array_push(a, &e.vars) = rq->environ[i];
	}
	*array_push(a, &e.vars) = NULL;
	return e.vars.v;
}

static bool env_denied(const struct profile_sandbox *s, const char *var)
{
	size_t n = strcspn(var, "=");

	for (size_t i = 0; i < s->env_deny.n; i++) {
		if (match_name(s->env_deny.v[i].name, var, n))
			return true;
	}
	return false;
}

const char *plan_env_path(struct arena *a, const struct facts *f, char *const *environ)
{
	const char *p = environ_get(environ, "PATH");
	const char *path = NULL;

	while (p != NULL) {
		size_t n = strcspn(p, ":");
		const char *dir = arena_strndup(a, p, n);

		if (path_is_canonical(dir) && facts_base_holder(f, dir) != NULL)
			path = path == NULL ? dir : arena_printf(a, "%s:%s", path, dir);
		p = p[n] == '\0' ? NULL : p + n + 1;
	}
	return path == NULL ? SYSTEM_PATH : path;
}

/* A tree whose owner is not the command's user, as seen inside. */
static bool has_foreign_root(const struct plan_request *rq)
{
	/* With an id mapping on the tree, root's files are the user's own. */
	uint32_t own = rq->idmapped ? 0 : rq->ids.outside_uid;

	/* A search for PATH alone, before anybody knows who may do what. */
	if (rq->access == NULL)
		return false;
	for (size_t i = 0; i < rq->facts->roots.n; i++) {
		const struct facts_root *r = &rq->facts->roots.v[i];

		if (r->present && rq->access[i].read && S_ISDIR(r->object.mode) &&
		    r->object.uid != own)
			return true;
	}
	return false;
}

char *const *plan_env_build(struct arena *a, const struct plan_request *rq)
{
	const struct profile_sandbox *s = &rq->profile->sandbox;
	struct env e = { .arena = a };
	char *const *named = env_sources(a, rq);
	size_t kept = 0;

	env_put(&e, "PATH", 4, plan_env_path(a, rq->facts, rq->environ));
	for (size_t i = 0; i < ARRAY_SIZE(minimum); i++) {
		if (minimum[i].value != NULL)
			env_put(&e, minimum[i].name, strlen(minimum[i].name), minimum[i].value);
		else
			env_pass(&e, rq, rq->environ, minimum[i].name);
	}
	/* In the places of the rows above. */
	env_put(&e, "USER", 4, plan_user_name(&rq->ids));
	env_put(&e, "LOGNAME", 7, plan_user_name(&rq->ids));
	for (size_t i = 0; has_foreign_root(rq) && i < ARRAY_SIZE(git_trust); i++)
		env_put(&e, git_trust[i].name, strlen(git_trust[i].name), git_trust[i].value);
	for (size_t i = 0; i < s->env_pass.n; i++)
		env_pass(&e, rq, named, s->env_pass.v[i].name);
	for (size_t i = 0; i < rq->n_env_pass; i++)
		env_pass(&e, rq, rq->environ, rq->env_pass[i]);
	for (size_t i = 0; i < s->env_set.n; i++)
		env_put(&e, s->env_set.v[i].name, strlen(s->env_set.v[i].name),
			s->env_set.v[i].value);
	for (size_t i = 0; i < e.vars.n; i++) {
		if (!env_denied(s, e.vars.v[i]))
			e.vars.v[kept++] = e.vars.v[i];
	}
	e.vars.n = kept;
	*array_push(a, &e.vars) = NULL;
	return e.vars.v;
}

int plan_env_check(const struct plan_request *rq, char *const *envp, struct err *err)
{
	const profile_names *required = &rq->profile->sandbox.env_required;
	const struct profile_name *first = NULL;
	STRBUF_AUTO names = { 0 };

	for (size_t i = 0; i < required->n; i++) {
		const struct profile_name *name = &required->v[i];

		if (environ_get(envp, name->name) != NULL)
			continue;
		strbuf_printf(&names, "%s%s", first == NULL ? "" : ", ", name->name);
		first = first == NULL ? name : first;
	}
	if (first == NULL)
		return 0;
	return err_set_at(
		err, ERR_REQUEST, first->pos.file, first->pos.line, first->pos.col,
		"missing: %.300s ('required': the command would not have it; 'pass', 'file' "
		"and 'set' bring variables, --env NAME one of the caller's)",
		strbuf_str(&names));
}

const char *plan_env_search(struct arena *a, const struct plan_request *rq)
{
	const struct profile_sandbox *s = &rq->profile->sandbox;
	const char *path = NULL;

	if (s->env_pass.n + s->env_set.n + s->env_deny.n + rq->n_env_pass > 0)
		path = environ_get(plan_env_build(a, rq), "PATH");
	return path != NULL ? path : plan_env_path(a, rq->facts, rq->environ);
}
