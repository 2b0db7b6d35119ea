/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/check.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/exitcode.h"
#include "base/path.h"
#include "plan/compile.h"
#include "policy/connect.h"

static void deny(struct decision *d, const char *layer, const char *code, const char *reason)
{
	*d = (struct decision){ .layer = layer, .code = code, .reason = reason };
}

/* Is this a file of agentbox itself, under whatever name? */
static bool is_control_plane(const struct profile *p, const struct view_target *t)
{
	struct stat st;

	if (t->object.fd < 0 || fstat(t->object.fd, &st) != 0)
		return false;
	for (size_t i = 0; i < p->files.n; i++) {
		if (p->files.v[i].dev == st.st_dev && p->files.v[i].ino == st.st_ino)
			return true;
	}
	return false;
}

/* Directories of our own are only looked at: what is written there is gone with the run. */
static bool root_bounds(const struct cli_context *c, const struct view_target *t,
			enum action action)
{
	bool write = action_operation(action) == OPERATION_WRITE;

	if (t->node == NULL)
		return false;
	if (t->is_own_dir)
		return action == ACTION_LS;
	if (t->node->kind != VIEW_ROOT)
		return !write && t->node->kind == VIEW_BASE;
	return !write || c->profile->sandbox.roots.v[t->node->root].mode != PROFILE_MODE_RO;
}

static bool trap_binds(enum policy_trap trap, bool write)
{
	return trap == POLICY_TRAP_HIDE || (trap == POLICY_TRAP_FREEZE && write);
}

/* What the sandbox itself would grant of each root: traps do not depend on who asks. */
static const struct tree_access *whole_access(const struct cli_context *c)
{
	const struct facts *f = &c->facts;
	struct tree_access *ret = arena_array(c->arena, f->roots.n, sizeof(*ret));

	for (size_t i = 0; i < f->roots.n; i++)
		ret[i] = (struct tree_access){
			.read = true, .write = f->roots.v[i].root->mode != PROFILE_MODE_RO
		};
	return ret;
}

static struct resolve_input guards_input(const struct cli_context *c,
					 const struct tree_access *access)
{
	return (struct resolve_input){
		.profile = c->profile,
		.agent = c->agent,
		.facts = &c->facts,
		.view = &c->view,
		.access = access,
	};
}

/* Who asks, as text: the guards of one who asks again are known. */
static const char *asker(struct arena *a, const struct agent_asked *asked)
{
	STRBUF_AUTO sb = { 0 };

	strbuf_puts(&sb, asked->id == NULL ? "" : asked->id);
	for (size_t i = 0; i < asked->n_on_behalf; i++)
		strbuf_printf(&sb, "\n%s", asked->on_behalf[i]);
	for (size_t i = 0; i < asked->n_context; i++)
		strbuf_printf(&sb, "\n%s=%s", asked->context[i].key, asked->context[i].value);
	return arena_strdup(a, strbuf_str(&sb));
}

/* The guards that a plan is made of: those of the sandbox itself, and those of a run of this agent,
 * to which rules bring more, by whatever names. Where rules stand in the way of any run, only the
 * former.
 */
int check_guards(struct cli_context *c, struct err *err)
{
	const char *who = asker(c->arena, &c->asked);
	struct resolve_input own = guards_input(c, whole_access(c));
	struct resolve_input all = guards_input(c, c->access);
	struct err refused = { 0 };

	if (c->guards_of != NULL && strcmp(c->guards_of, who) == 0)
		return 0;
	memset(c->guards, 0, sizeof(c->guards));
	own.no_rules = true;
	if (resolve_guards(c->arena, &own, &c->guards[0], err) != 0)
		return -1;
	all.names_only = true;
	if (resolve_guards(c->arena, &all, &c->guards[1], &refused) != 0)
		c->guards[1] = (struct resolved){ 0 };
	c->guards_of = who;
	return 0;
}

/* What a run would put over @path, or (@below) over something in it, which goes with it; the
 * sandbox's own first, then the strictest. */
static const struct guard *stricter(const struct guard *x, const struct guard *y)
{
	if (x == NULL || x->rule == NULL || y == NULL)
		return x != NULL ? x : y;
	return y->rule == NULL || y->rule->mode < x->rule->mode ? y : x;
}

static const struct guard *guard_over(const struct resolved *r, const char *path, bool write,
				      bool below)
{
	const struct guard *nearest = NULL;
	const struct guard *in_it = NULL;

	/* Each after its parents: the nearest one speaks, and below a hidden one there is none. */
	for (size_t i = 0; i < r->guards.n; i++) {
		const struct guard *g = &r->guards.v[i];
		bool binds = g->kind == GUARD_HIDE || (g->kind == GUARD_FREEZE && write);

		if (path_covers(g->at, path))
			nearest = binds ? g : NULL;
		else if (below && g->kind != GUARD_KEEP && path_covers(path, g->at))
			in_it = stricter(in_it, g);
	}
	return stricter(nearest, in_it);
}

static const struct guard *guard_of_any(const struct cli_context *c, const char *path, bool write,
					bool below)
{
	const struct guard *ret = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(c->guards); i++)
		ret = stricter(ret, guard_over(&c->guards[i], path, write, below));
	return ret;
}

bool check_guarded(const struct cli_context *c, const char *path, bool write, bool below)
{
	const struct guard *g = guard_of_any(c, path, write, below);

	return g != NULL && (g->rule == NULL || g->rule->mode == PROFILE_DENY);
}

/* By the name as it is spelled too: a link that is covered leads nowhere. */
static const struct guard *find_guard(const struct cli_context *c, const struct view_target *t,
				      bool write, bool below)
{
	const struct guard *ret = guard_of_any(c, t->path, write, below);

	for (size_t i = 0; i < t->links.n; i++)
		ret = stricter(ret, guard_of_any(c, t->links.v[i], write, false));
	return ret;
}

/* A rule on another name of the same thing, which a mount binds as it does that one. */
static void bind_by_rule(struct decision *d, const struct profile_rule *rule)
{
	if (rule->mode >= d->verdict)
		return;
	*d = (struct decision){ .verdict = rule->mode,
				.layer = "policy",
				.code = "acl_deny",
				.reason = "denied by a rule on another name of it",
				.has_rule = true,
				.rule = rule->pos };
	if (rule->mode == PROFILE_INTERRUPT) {
		d->code = "interrupt";
		d->reason = "a person must approve this first";
	}
}

int check_path(struct arena *a, struct cli_context *c, enum action action, const char *path,
	       struct check_place *ret, struct err *err)
{
	struct request rq = { .action = action, .kind = REQUEST_PATH, .path = path };
	bool write = action_operation(action) == OPERATION_WRITE;
	const struct guard *guard = NULL;
	struct view_target *t = &ret->target;

	*ret = (struct check_place){ .result = VIEW_OUTSIDE, .target = { .object = { .fd = -1 } } };
	rq.path_invalid = !path_is_canonical(path);
	if (!rq.path_invalid) {
		ret->result = view_resolve(a, &c->view, path, t);
		rq.control_plane = is_control_plane(c->profile, t) ||
				   trap_binds(policy_trap(&c->profile->sandbox, path), write);
	}
	ret->inside = ret->result == VIEW_FOUND || ret->result == VIEW_ABSENT || t->no_parent;
	/* Where the links lead is what is judged; what cannot be followed is judged by its text,
	 * and then lies outside. */
	if (ret->inside)
		rq.path = t->path;
	/* What is not known to be a plain file may hold more than itself. */
	rq.path_below =
		action == ACTION_DELETE && !(ret->result == VIEW_FOUND && S_ISREG(t->object.mode));
	if (ret->inside) {
		if (check_guards(c, err) != 0) {
			view_target_close(t);
			return -1;
		}
		guard = find_guard(c, t, write, rq.path_below);
	}
	rq.control_plane = rq.control_plane || (guard != NULL && guard->rule == NULL);
	policy_decide(c->profile, c->agent, &rq, &ret->decision);
	if (guard != NULL && guard->rule != NULL)
		bind_by_rule(&ret->decision, guard->rule);
	if (ret->decision.verdict == PROFILE_ALLOW && (!ret->inside || !root_bounds(c, t, action)))
		deny(&ret->decision, "sandbox", "sandbox_deny", "outside what the sandbox grants");
	return 0;
}

static int check_command(struct arena *a, struct check *c, char *const *environ_in, struct err *err)
{
	struct cli_context *ctx = &c->context;
	char **argv = arena_array(a, c->n_words + 1, sizeof(char *));
	const struct plan_request env = { .profile = ctx->profile,
					  .facts = &ctx->facts,
					  .environ = environ_in };
	struct resolve_input ri = {
		.profile = ctx->profile,
		.agent = ctx->agent,
		.facts = &ctx->facts,
		.view = &ctx->view,
		.access = ctx->access,
		.argv = argv,
		.path_env = plan_env_search(a, &env),
		.workdir = ctx->profile->sandbox.workdir,
	};
	struct resolved resolved = { 0 };
	struct request_command command = { .argv = argv };
	struct request rq = { .action = ACTION_RUN_COMMAND,
			      .kind = REQUEST_COMMAND,
			      .command = &command };
	struct err outside = { 0 };

	for (size_t i = 0; i < c->n_words; i++)
		argv[i] = arena_strdup(a, c->words[i]);
	if (resolve_command(a, &ri, &resolved, &outside) != 0 && outside.code != ERR_OUTSIDE) {
		*err = outside;
		return -1;
	}
	command.file = resolved.file;
	command.pattern_files = resolved.pattern_files;
	command.n_pattern_files = resolved.n_pattern_files;
	policy_decide(ctx->profile, ctx->agent, &rq, &c->decision);
	if (c->decision.verdict == PROFILE_ALLOW && outside.set)
		deny(&c->decision, "sandbox", "sandbox_deny",
		     resolved.unlisted ? "none of the sandbox's commands"
				       : "outside what the sandbox grants");
	return 0;
}

static void check_host(struct check *c)
{
	struct host_target target;
	struct request rq = { .action = ACTION_NET_CONNECT, .kind = REQUEST_HOST, .host = &target };
	const char *why = hostpat_target(c->words[0], &target);

	if (why != NULL) {
		deny(&c->decision, "policy", "invalid_host", why);
		return;
	}
	policy_decide(c->context.profile, c->context.agent, &rq, &c->decision);
	if (c->decision.verdict != PROFILE_ALLOW)
		return;
	why = connect_outside(c->context.arena, c->context.profile, c->context.agent, &target);
	if (why != NULL)
		deny(&c->decision, "sandbox", "sandbox_deny", why);
}

int check_decide(struct arena *a, struct check *c, struct err *err)
{
	struct check_place place;
	enum action action;
	bool all;

	if (c->context.agent == NULL) {
		c->decision = c->context.identity;
		return 0;
	}
	if (!action_from_name(c->action_word, &action)) {
		deny(&c->decision, "policy", "acl_deny", "unknown action");
		return 0;
	}
	all = action != ACTION_RUN_COMMAND;
	if (c->gathered)
		cli_context_view(&c->context, all);
	else if (cli_context_facts(&c->context, all, err) != 0)
		return -1;
	c->gathered = true;
	switch (action_operation(action)) {
	case OPERATION_READ:
	case OPERATION_WRITE:
		if (check_path(a, &c->context, action, c->words[0], &place, err) != 0)
			return -1;
		c->decision = place.decision;
		view_target_close(&place.target);
		return 0;
	case OPERATION_EXECUTE:
		return check_command(a, c, environ, err);
	case OPERATION_CONNECT:
		check_host(c);
		return 0;
	case OPERATION_HOST:
	case OPERATION_MAX:
		break;
	}
	deny(&c->decision, "policy", "acl_deny", "no matching rule");
	return 0;
}

const char *check_verdict(enum profile_verdict v)
{
	static const char *const words[] = { [PROFILE_DENY] = "deny",
					     [PROFILE_INTERRUPT] = "interrupt",
					     [PROFILE_ALLOW] = "allow" };

	return words[v];
}

int check_rc(const struct decision *d)
{
	if (d->verdict == PROFILE_ALLOW)
		return 0;
	if (d->verdict == PROFILE_INTERRUPT)
		return EXITCODE_WAITING;
	return strcmp(d->layer, "sandbox") == 0 ? EXITCODE_OUTSIDE : EXITCODE_DENIED;
}

const char *check_principal(const struct check *c)
{
	return c->context.agent != NULL ? c->context.agent->id : c->context.asked.id;
}

json_t *check_json(const struct check *c)
{
	const char *principal = check_principal(c);
	const struct agent_asked *asked = &c->context.asked;
	json_t *o = json_object();
	json_t *resource = json_array();
	json_t *chain = json_array();
	json_t *labels = json_object();

	for (size_t i = 0; i < asked->n_context; i++)
		json_put(labels, asked->context[i].key, json_text(asked->context[i].value));
	for (size_t i = 0; i < asked->n_on_behalf; i++)
		(void)json_array_append_new(chain, json_text(asked->on_behalf[i]));
	for (size_t i = 0; i < c->n_words; i++)
		(void)json_array_append_new(resource, json_text(c->words[i]));
	if (principal != NULL)
		(void)json_array_append_new(chain, json_text(principal));
	json_put(o, "principal", json_text(principal));
	json_put(o, "action", json_text(c->action_word));
	if (c->n_words == 1) {
		json_put(o, "resource", json_text(c->words[0]));
		json_decref(resource);
	} else {
		json_put(o, "resource", resource);
	}
	json_put(o, "context", labels);
	json_put(o, "delegation", chain);
	json_put(o, "decision", json_text(check_verdict(c->decision.verdict)));
	json_put(o, "layer", json_text(c->decision.layer));
	json_put(o, "code", json_text(c->decision.code));
	json_put(o, "reason", json_text(c->decision.reason));
	return o;
}
