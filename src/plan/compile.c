/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "plan/compile.h"

#include <string.h>

#include "plan/internal.h"

static char *const *copy_argv(struct arena *a, char *const *argv)
{
	size_t n = 0;
	char **copy;

	while (argv[n] != NULL)
		n++;
	copy = arena_array(a, n + 1, sizeof(*copy));
	for (size_t i = 0; i < n; i++)
		copy[i] = arena_strdup(a, argv[i]);
	return copy;
}

static char *const *copy_env(struct plan_builder *b)
{
	return copy_argv(b->arena, plan_env_build(b->scratch, b->rq));
}

/* Room for what the plan makes on the root tmpfs, and nothing to spare for anyone else. */
static void plan_root_size(struct plan_builder *b, struct plan *p)
{
	size_t inodes = 16;
	size_t pages = 16;

	for (size_t i = 0; i < b->ops.n; i++) {
		const struct plan_op *op = &b->ops.v[i];

		if (op->kind == PLAN_OP_MKDIR || op->kind == PLAN_OP_FILE ||
		    op->kind == PLAN_OP_SYMLINK)
			inodes++;
		if (!op->data_elsewhere)
			pages += (op->data_len + 4095) / 4096;
	}
	p->root_bytes = arena_printf(b->arena, "%zuk", (pages + inodes) * 4);
	p->root_inodes = arena_printf(b->arena, "%zu", inodes);
}

/* Names of any host, or of a network, stand for addresses that a program may hold already. */
static void plan_net_routes(struct plan_builder *b, struct plan_net *net)
{
	const struct profile_named *named = &b->rq->profile->sandbox.named;
	ARRAY_OF(struct plan_net_route) routes = { 0 };

	for (size_t i = 0; i < named->allow.n; i++) {
		const struct hostpat *p = &named->allow.v[i].pattern;
		struct plan_net_route route = { 0 };

		if (p->kind == HOSTPAT_ADDR && p->addr.family == 4) {
			route.bits = p->bits;
			for (size_t k = 0; k < 4; k++)
				route.net = route.net << 8 | p->addr.bytes[k];
		} else if (p->kind != HOSTPAT_ANY) {
			continue;
		}
		*array_push(b->arena, &routes) = route;
	}
	net->routes = routes.v;
	net->n_routes = (uint32_t)routes.n;
}

static void plan_net_host_ports(struct plan_builder *b, struct plan_net *net)
{
	const struct profile_named *named = &b->rq->profile->sandbox.named;
	uint16_t *ports = arena_array(b->arena, named->host_ports.n, sizeof(*ports));

	for (size_t i = 0; i < named->host_ports.n; i++)
		ports[i] = named->host_ports.v[i].port;
	net->host_ports = ports;
	net->n_host_ports = (uint32_t)named->host_ports.n;
}

static int plan_net_build(struct plan_builder *b, struct plan_net *net, struct err *err)
{
	const struct plan_request *rq = b->rq;
	uint16_t *ports;

	net->handoff = -1;
	if (!rq->named_network)
		return 0;
	net->any_port = rq->any_port;
	if (rq->n_ports > PLAN_NET_PORTS_MAX)
		return err_set(err, ERR_PROFILE, 0, "the network has %zu ports; the most is %d",
			       rq->n_ports, PLAN_NET_PORTS_MAX);
	net->named = true;
	ports = arena_array(b->arena, rq->n_ports, sizeof(*ports));
	memcpy(ports, rq->ports, rq->n_ports * sizeof(*ports));
	net->ports = ports;
	net->n_ports = (uint32_t)rq->n_ports;
	plan_net_host_ports(b, net);
	plan_net_routes(b, net);
	return 0;
}

static void copy_work(struct arena *a, const struct plan_work *from, struct plan_work *to)
{
	if (from == NULL)
		return;
	*to = *from;
	to->at = arena_strdup(a, from->at);
	if (from->name != NULL)
		to->name = arena_strdup(a, from->name);
}

int plan_compile(struct arena *a, struct arena *scratch, const struct plan_request *rq,
		 struct plan **ret, struct err *err)
{
	struct plan_builder b = { .arena = a, .scratch = scratch, .rq = rq };
	struct plan *p = arena_new(a, struct plan);

	p->nested = rq->profile->sandbox.nested_sandboxes;
	p->only_commands = !rq->profile->sandbox.any_command;
	if (p->nested && rq->ids.identity == PLAN_IDENTITY_ROOT)
		return err_set_at(
			err, ERR_PROFILE, rq->profile->sandbox.nested_pos.file,
			rq->profile->sandbox.nested_pos.line, rq->profile->sandbox.nested_pos.col,
			"'nested_sandboxes: true' is not for kernel uid 0, and this host "
			"offers no other identity to a root caller here: call agentbox as "
			"an ordinary user");
	plan_mounts_build(&b);
	if (b.ops.n > PLAN_OPS_MAX || b.sources.n > PLAN_SOURCES_MAX)
		return err_set(err, ERR_PROFILE, 0,
			       "the profile needs %zu mount steps from %zu sources; the most is %d "
			       "from %d",
			       b.ops.n, b.sources.n, PLAN_OPS_MAX, PLAN_SOURCES_MAX);
	p->ids = rq->ids;
	if (!p->ids.switch_ids) {
		p->ids.uid_map =
			arena_printf(a, "%u %u 1\n", p->ids.inside_uid, p->ids.outside_uid);
		p->ids.gid_map =
			arena_printf(a, "%u %u 1\n", p->ids.inside_gid, p->ids.outside_gid);
	}
	p->host_network = rq->host_network;
	if (plan_net_build(&b, &p->net, err) != 0)
		return -1;
	p->outer_proc = rq->outer_proc;
	p->hostname = arena_strdup(a, rq->profile->sandbox.hostname);
	p->sources = b.sources.v;
	p->n_sources = (uint32_t)b.sources.n;
	p->tree_fds = arena_array(a, b.sources.n, sizeof(int));
	p->ops = b.ops.v;
	p->n_ops = (uint32_t)b.ops.n;
	plan_landlock_build(&b, &p->landlock);
	plan_root_size(&b, p);
	p->workdir = arena_strdup(a, rq->resolved->workdir);
	copy_work(a, rq->work, &p->work);
	p->exe = arena_strdup(a, rq->resolved->exe == NULL ? "" : rq->resolved->exe);
	p->argv = copy_argv(a, rq->argv);
	p->envp = copy_env(&b);
	/* A file tool's process has no use for any. */
	if (rq->work == NULL && plan_env_check(rq, p->envp, err) != 0)
		return -1;
	b.plan = p;
	if (plan_limits_build(&b, err) != 0 || plan_filter_build(&b, p, err) != 0)
		return -1;
	*ret = p;
	return 0;
}
