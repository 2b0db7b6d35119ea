/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "policy/explain.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/path.h"
#include "base/strbuf.h"
#include "policy/match.h"

struct build {
	struct arena *arena;
	const struct resolve_input *in;
	struct explain *ret;
};

#define WHEN_REPLACED "open for a moment when the host replaces the file"

static const char *place(struct arena *a, const struct profile_pos *pos)
{
	return arena_printf(a, "%s:%u", pos->file, pos->line);
}

static void row_add(struct build *b, struct explain_row row)
{
	*array_push(b->arena, &b->ret->rows) = row;
}

static void add_base(struct build *b)
{
	const struct facts *f = b->in->facts;

	for (size_t i = 0; i < f->base.n; i++) {
		const struct facts_base *base = &f->base.v[i];
		struct explain_row row = { .path = base->at,
					   .access = "ro",
					   .source = base->added ? "base.add" : "base",
					   .host = base->object.path,
					   .mechanism = "read-only mount",
					   .limit = "rules of all paths do not hide it" };

		if (base->kind == FACTS_BASE_ABSENT)
			continue;
		if (base->kind == FACTS_BASE_LINK) {
			row.access = "link";
			row.host = base->link;
			row.mechanism = "link";
			row.limit = NULL;
		}
		row_add(b, row);
	}
}

static void add_scratch(struct build *b)
{
	static const char *const places[] = { "/tmp", "/var/tmp", "/home/agent" };
	const struct profile_sandbox *s = &b->in->profile->sandbox;

	for (size_t i = 0; i < ARRAY_SIZE(places); i++)
		row_add(b, (struct explain_row){
				   .path = places[i],
				   .access = "rw",
				   .source = "scratch",
				   .mechanism = arena_printf(
					   b->arena, "private memory, %lluK for all of it",
					   (unsigned long long)s->scratch_bytes >> 10),
				   .limit = "gone with the run" });
}

/* What decides on a tree: the rule, or why there is none. */
static const char *decided_by(struct build *b, enum action action, const char *at, bool is_file,
			      enum profile_verdict *ret)
{
	struct request rq = {
		.action = action, .kind = REQUEST_TREE, .path = at, .path_is_file = is_file
	};
	struct decision d;

	policy_decide(b->in->profile, b->in->agent, &rq, &d);
	*ret = d.verdict;
	return d.has_rule ? place(b->arena, &d.rule) : d.reason;
}

static void add_root(struct build *b, size_t i)
{
	const struct facts_root *r = &b->in->facts->roots.v[i];
	const struct tree_access *access = &b->in->access[i];
	bool is_file = S_ISREG(r->object.mode);
	enum profile_verdict read, write;
	const char *by_read = decided_by(b, ACTION_READ_FILE, r->root->at, is_file, &read);
	const char *by_write = decided_by(b, ACTION_WRITE_FILE, r->root->at, is_file, &write);
	struct explain_row row = { .path = r->root->at, .host = r->root->path };

	if (!r->present) {
		row.access = "none";
		row.source = place(b->arena, &r->root->pos);
		row.mechanism = "not mounted";
		row.limit = "it is optional and not there";
	} else if (access->write) {
		row.access = "rw";
		row.source = by_write;
		row.mechanism = "mount";
		row.limit = "what programs write there, the host may act on later";
	} else if (access->read) {
		row.access = "ro";
		row.source = write == PROFILE_ALLOW ? place(b->arena, &r->root->pos) : by_read;
		row.mechanism = "read-only mount";
		row.limit = write == PROFILE_INTERRUPT
				    ? "writing asks a person first, and binds programs as a denial"
				    : NULL;
	} else {
		row.access = "none";
		row.source = by_read;
		row.mechanism = "not mounted";
		row.limit = read == PROFILE_INTERRUPT
				    ? "reading asks a person first, and binds programs as a denial"
				    : NULL;
	}
	row_add(b, row);
}

static const char *guard_source(const struct build *b, const struct guard *g)
{
	if (g->rule != NULL)
		return place(b->arena, &g->rule->pos);
	if (policy_trap(&b->in->profile->sandbox, g->at) != POLICY_TRAP_NONE)
		return "protect";
	if (S_ISSOCK(g->id.type) || S_ISFIFO(g->id.type))
		return "unix_sockets";
	return "agentbox";
}

static void add_guards(struct build *b, const struct resolved *resolved)
{
	static const char *const access[] = {
		[GUARD_HIDE] = "hidden", [GUARD_FREEZE] = "frozen", [GUARD_KEEP] = "as its root"
	};
	static const char *const mechanism[] = { [GUARD_HIDE] = "mask",
						 [GUARD_FREEZE] = "read-only mount of itself",
						 [GUARD_KEEP] = "mount" };

	for (size_t i = 0; i < resolved->guards.n; i++) {
		const struct guard *g = &resolved->guards.v[i];
		bool replaced = g->kind != GUARD_KEEP && g->root_writable && !g->is_dir;

		row_add(b, (struct explain_row){ .path = g->at,
						 .access = access[g->kind],
						 .source = guard_source(b, g),
						 .mechanism = mechanism[g->kind],
						 .limit = replaced ? WHEN_REPLACED : NULL });
	}
}

static void add_grants(struct build *b)
{
	const struct facts *f = b->in->facts;

	for (size_t i = 0; i < f->lent_devices.n; i++)
		row_add(b, (struct explain_row){ .path = f->lent_devices.v[i].at,
						 .access = "rw",
						 .source = "devices",
						 .host = f->lent_devices.v[i].object.path,
						 .mechanism = "mount" });
	for (size_t i = 0; i < f->lent_sockets.n; i++)
		row_add(b, (struct explain_row){ .path = f->lent_sockets.v[i].at,
						 .access = "rw",
						 .source = "sockets",
						 .host = f->lent_sockets.v[i].object.path,
						 .mechanism = "mount",
						 .limit = "what its server does for whoever "
							  "connects" });
}

/* A slash is the lowest, so that what lies in a directory comes before its neighbours. */
static int row_order(const void *x, const void *y)
{
	const char *a = ((const struct explain_row *)x)->path;
	const char *b = ((const struct explain_row *)y)->path;

	while (*a != '\0' && *a == *b) {
		a++;
		b++;
	}
	return (*a == '\0'  ? 0
		: *a == '/' ? 1
			    : (unsigned char)*a + 1) -
	       (*b == '\0'  ? 0
		: *b == '/' ? 1
			    : (unsigned char)*b + 1);
}

static void join(struct strbuf *sb, const char *before, const char *text)
{
	strbuf_printf(sb, "%s%s", sb->len > 0 ? before : "", text);
}

static const char *rule_text(struct arena *a, const struct profile_rule *r)
{
	STRBUF_AUTO sb = { 0 };

	for (size_t i = 0; i < ACTION_MAX; i++) {
		if ((r->actions & ACTION_BIT(i)) != 0)
			join(&sb, " ", action_name((enum action)i));
	}
	for (size_t i = 0; i < r->paths.n; i++) {
		if (!r->paths.v[i].more)
			join(&sb, i == 0 ? ": " : ", ", r->paths.v[i].text);
	}
	for (size_t i = 0; i < r->commands.n; i++)
		join(&sb, i == 0 ? ": " : ", ", r->commands.v[i].text);
	for (size_t i = 0; i < r->hosts.n; i++)
		join(&sb, i == 0 ? ": " : ", ", r->hosts.v[i].text);
	return arena_strdup(a, strbuf_str(&sb));
}

static bool is_of_everything(const struct profile_rule *r)
{
	for (size_t i = 0; i < r->paths.n; i++) {
		if (!glob_is_everything(&r->paths.v[i].glob))
			return false;
	}
	return true;
}

/* Does it speak of a whole root? */
static bool binds_root(const struct build *b, const struct profile_rule *r)
{
	const struct facts *f = b->in->facts;

	for (size_t i = 0; i < r->paths.n; i++) {
		for (size_t k = 0; k < f->roots.n; k++) {
			if (f->roots.v[k].present &&
			    match_tree(&r->paths.v[i], f->roots.v[k].root->at, true))
				return true;
		}
	}
	return false;
}

/* Of what is stricter: what stands for it in this view. */
static void backed_by(const struct build *b, const struct resolved *resolved,
		      const struct profile_rule *r, struct explain_rule *row)
{
	size_t n = 0;
	bool replaced = false;

	for (size_t i = 0; i < resolved->guards.n; i++) {
		const struct guard *g = &resolved->guards.v[i];

		if (g->rule != r || g->kind == GUARD_KEEP)
			continue;
		n++;
		replaced = replaced || (g->root_writable && !g->is_dir);
	}
	row->mechanism = n > 0 || binds_root(b, r) ? "mounts" : "nothing is mounted there";
	if (replaced)
		row->limit = "of a file a mask, " WHEN_REPLACED;
	else if (is_of_everything(r))
		row->limit = "hides nothing of the base";
	else if (r->absent_report)
		row->limit = "what programs make there is told after the run";
}

static void add_rule(struct build *b, const struct resolved *resolved, const char *agent,
		     const struct profile_rule *r)
{
	action_set files =
		action_operation_set(OPERATION_READ) | action_operation_set(OPERATION_WRITE);
	struct explain_rule row = {
		.agent = agent, .pos = r->pos, .mode = r->mode, .what = rule_text(b->arena, r)
	};

	if ((r->actions & files) != 0 && r->mode == PROFILE_ALLOW) {
		row.mechanism = "mounts";
	} else if ((r->actions & files) != 0) {
		backed_by(b, resolved, r, &row);
	} else if ((r->actions & ACTION_BIT(ACTION_RUN_COMMAND)) != 0) {
		row.mechanism = "decision on the request";
		row.limit = "not on what the command starts: 'commands' of the sandbox binds that";
	} else {
		bool named = b->in->profile->sandbox.network == PROFILE_NETWORK_NAMED;

		row.mechanism = named ? "network namespace and relay" : "network namespace";
		row.limit = named ? "what is sent to an allowed host is not looked at" : NULL;
	}
	*array_push(b->arena, &b->ret->rules) = row;
}

void explain_build(struct arena *a, const struct resolve_input *in, const struct resolved *resolved,
		   struct explain *ret)
{
	struct build b = { .arena = a, .in = in, .ret = ret };

	add_base(&b);
	add_scratch(&b);
	for (size_t i = 0; i < in->facts->roots.n; i++)
		add_root(&b, i);
	add_guards(&b, resolved);
	add_grants(&b);
	if (ret->rows.n > 1)
		qsort(ret->rows.v, ret->rows.n, sizeof(*ret->rows.v), row_order);
	for (size_t i = 0; i < in->agent->lists.n; i++) {
		const struct agent_rules *list = &in->agent->lists.v[i];

		for (size_t k = 0; k < list->rules.n; k++)
			add_rule(&b, resolved, list->declared->id, &list->rules.v[k]);
	}
}
