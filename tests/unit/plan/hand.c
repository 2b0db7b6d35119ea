/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "hand.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static const struct profile_param params[] = { { "workspace", "/work/space" } };

int hand_load(struct hand *h, const char *text, size_t len)
{
	const struct profile_source src = {
		.fd = -1,
		.cwd = "/",
		.home = "/home/u",
		.uid = 1234,
		.gid = 1234,
		.params = params,
		.n_params = memmem(text, len, "${workspace}", 12) != NULL ? ARRAY_SIZE(params) : 0,
	};
	const struct profile_text pt = { .name = "p.yaml", .dir = "/p", .text = text, .len = len };

	*h = (struct hand){ .plan_arena = { .kind = ARENA_PLAN } };
	if (profile_parse(&h->arena, &src, &pt, &h->profile, &h->err) != 0 ||
	    policy_validate(&h->arena, h->profile, &h->err) != 0)
		return -1;
	if (h->profile->permissions.agents.n > 0)
		h->agent = agent_alone(&h->arena, &h->profile->permissions.agents.v[0]);
	if (h->agent != NULL && policy_enforceable(h->profile, h->agent, &h->err) != 0)
		return -1;
	return 0;
}

static void object_fill(struct facts_object *o, const char *path, uint64_t ino, uint32_t mode)
{
	*o = (struct facts_object){ .path = path,
				    .fd = 100,
				    .id = { .dev_major = 8,
					    .dev_minor = 1,
					    .ino = ino,
					    .mnt_id = 20,
					    .type = mode & S_IFMT },
				    .mode = mode,
				    .nlink = 1 };
}

static void base_add(struct hand *h, const char *at, enum facts_base_kind kind, const char *link)
{
	const char *prefix = h->profile->sandbox.base == PROFILE_BASE_PATH ? "/rootfs" : "";
	struct facts_base *b = array_push(&h->arena, &h->facts.base);

	b->at = at;
	b->object.fd = -1;
	b->link = link;
	b->kind = kind;
	if (kind == FACTS_BASE_DIR || kind == FACTS_BASE_FILE)
		object_fill(&b->object, arena_printf(&h->arena, "%s%s", prefix, at),
			    100 + h->facts.base.n,
			    kind == FACTS_BASE_DIR ? S_IFDIR | 0755 : S_IFREG | 0644);
}

static void fill_base(struct hand *h, const struct hand_options *o)
{
	static const char *const tops[] = { "bin", "sbin", "lib", "lib64" };

	if (o->base == HAND_BASE_PATH)
		base_add(h, "/", FACTS_BASE_MADE, NULL);
	base_add(h, "/usr", FACTS_BASE_DIR, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(tops); i++)
		base_add(h, arena_printf(&h->arena, "/%s", tops[i]),
			 o->split_usr ? FACTS_BASE_DIR : FACTS_BASE_LINK,
			 o->split_usr ? NULL : arena_printf(&h->arena, "usr/%s", tops[i]));
	base_add(h, "/lib32", FACTS_BASE_ABSENT, NULL);
	h->facts.etc_made = o->base != HAND_BASE_HOST;
	base_add(h, "/etc", h->facts.etc_made ? FACTS_BASE_MADE : FACTS_BASE_DIR, NULL);
	if (h->facts.etc_made) {
		base_add(h, "/etc/ld.so.cache", FACTS_BASE_FILE, NULL);
		base_add(h, "/etc/localtime", FACTS_BASE_LINK, "/usr/share/zoneinfo/Etc/UTC");
		base_add(h, "/etc/ssl", FACTS_BASE_DIR, NULL);
	}
	if (o->base == HAND_BASE_PATH) {
		base_add(h, "/srv", FACTS_BASE_MADE, NULL);
		base_add(h, "/srv/kept", FACTS_BASE_DIR, NULL);
		base_add(h, "/var", FACTS_BASE_MADE, NULL);
		base_add(h, "/var/lib", FACTS_BASE_DIR, NULL);
		base_add(h, "/nix", FACTS_BASE_DIR, NULL);
		base_add(h, "/run/current-system", FACTS_BASE_LINK, "/nix/store/abc");
	} else if (o->base == HAND_BASE_HOST) {
		base_add(h, "/opt", FACTS_BASE_DIR, NULL);
	}
	if (o->added != NULL) {
		base_add(h, o->added, FACTS_BASE_DIR, NULL);
		h->facts.base.v[h->facts.base.n - 1].added = true;
	}
}

static void fill_system(struct hand *h, const struct hand_options *o)
{
	static const char *const etc[] = { "passwd",   "group",         "hosts",
					   "hostname", "nsswitch.conf", "resolv.conf" };
	static const char *const proc[] = { "sys", "irq", "bus", "fs", "sysrq-trigger" };
	static const char *const devices[FACTS_DEVICES] = { "null",   "zero",    "full",
							    "random", "urandom", "tty" };

	fill_base(h, o);
	for (size_t i = 0; i < ARRAY_SIZE(etc); i++)
		*array_push(&h->arena, &h->facts.etc) =
			(struct facts_etc){ .name = etc[i],
					    .is_link = i == 5 && !h->facts.etc_made };
	for (size_t i = 0; i < ARRAY_SIZE(proc); i++)
		*array_push(&h->arena, &h->facts.proc_ro) = proc[i];
	for (size_t i = 0; i < FACTS_DEVICES; i++) {
		h->facts.devices[i].name = devices[i];
		object_fill(&h->facts.devices[i].object,
			    arena_printf(&h->arena, "/dev/%s", devices[i]), 200 + i,
			    S_IFCHR | 0666);
	}
	/* A host without a terminal device. */
	h->facts.devices[5].object.fd = -1;
	h->facts.landlock_abi = o->abi == 0 ? 7 : o->abi == HAND_NO_LANDLOCK ? 0 : o->abi;
	h->facts.resolv_conf = "nameserver 192.0.2.1\n";
	h->facts.hosts = "127.0.0.1 localhost host\n";
	for (size_t i = 0; o->secrets != NULL && o->secrets[i] != NULL; i++) {
		size_t n = strlen(o->secrets[i]) - (strchr(o->secrets[i], '\0')[-1] == '/');

		*array_push(&h->arena, &h->facts.etc_masked) =
			(struct facts_secret){ .name = arena_strndup(&h->arena, o->secrets[i], n),
					       .is_dir = o->secrets[i][n] == '/' };
	}
}

static bool listed(const char *list, const char *name)
{
	char word[4096];

	(void)snprintf(word, sizeof(word), ";%s;", name);
	return list != NULL && strstr(list, word) != NULL;
}

static void fill_roots(struct hand *h, const struct hand_options *o)
{
	const struct profile_sandbox *s = &h->profile->sandbox;

	h->access = arena_array(&h->arena, s->roots.n, sizeof(*h->access));
	for (size_t i = 0; i < s->roots.n; i++) {
		const struct profile_root *root = &s->roots.v[i];
		struct facts_root *r = array_push(&h->arena, &h->facts.roots);
		bool file = listed(o->file_roots, root->path);

		*r = (struct facts_root){ .root = root, .object = { .fd = -1 } };
		r->present = !(root->optional && listed(o->absent, root->path));
		if (!r->present)
			continue;
		object_fill(&r->object, root->path, 300 + i,
			    file ? S_IFREG | 0644 : S_IFDIR | 0755);
		r->object.uid = o->caller == HAND_ROOT_OTHERS || o->caller == HAND_USER ? 1234 : 0;
		r->object.gid = o->caller == HAND_ROOT_OTHERS ? 1235 : 0;
		if (h->agent != NULL)
			policy_root_access(h->profile, h->agent, root, file, &h->access[i]);
	}
}

static void lend(struct hand *h, const profile_names *names, facts_grants *ret, uint64_t ino,
		 uint32_t mode)
{
	for (size_t i = 0; i < names->n; i++) {
		struct facts_grant *g = array_push(&h->arena, ret);

		g->at = names->v[i].name;
		object_fill(&g->object, g->at, ino + i, mode);
	}
}

static void fill_lent(struct hand *h)
{
	const struct profile_sandbox *s = &h->profile->sandbox;

	lend(h, &s->devices, &h->facts.lent_devices, 600, S_IFCHR | 0660);
	lend(h, &s->sockets, &h->facts.lent_sockets, 700, S_IFSOCK | 0777);
}

/* What resolve_programs() would have found: a program, a script's interpreter, their loader. */
static void fill_programs(struct hand *h)
{
	static unsigned char image[] = "sealed";
	static const struct resolved_program programs[] = {
		{ "/usr/bin/true", { .ino = 801, .type = S_IFREG }, true },
		{ "/usr/bin/python3.11", { .ino = 802, .type = S_IFREG }, false },
	};

	if (h->profile->sandbox.any_command)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(programs); i++)
		*array_push(&h->arena, &h->resolved.programs) = programs[i];
	*array_push(&h->arena, &h->resolved.loaders) =
		(struct resolved_loader){ .path = "/usr/lib/ld.so",
					  .id = { .ino = 803, .type = S_IFREG },
					  .image = image,
					  .len = sizeof(image) };
}

static void fill_caller(struct hand *h, enum hand_caller caller)
{
	static const struct facts_caller callers[] = {
		[HAND_USER] = { .uid = 1234, .gid = 1234 },
		[HAND_NESTED] = { .uid = 0, .gid = 0 },
		[HAND_ROOT] = { .kernel_root = true, .map_count = 4294967295U },
		[HAND_ROOT_OTHERS] = { .kernel_root = true, .map_count = 65536 },
		[HAND_ROOT_SMALL] = { .kernel_root = true, .map_count = 65535 },
	};

	h->facts.caller = callers[caller];
	h->facts.caller.cwd = "/";
	h->facts.caller.home = "/home/u";
}

/* What resolve_guards() and resolve_command() would have found. */
static void fill_resolved(struct hand *h, const struct hand_options *o)
{
	h->resolved.workdir = "/";
	for (size_t i = 0; i < h->facts.roots.n; i++) {
		if (h->facts.roots.v[i].present && h->access[i].read &&
		    S_ISDIR(h->facts.roots.v[i].object.mode)) {
			h->resolved.workdir = h->facts.roots.v[i].root->at;
			break;
		}
	}
	h->resolved.exe = "/usr/bin/true";
	for (const struct hand_guard *g = o->guards; g != NULL && g->root_at != NULL; g++) {
		struct guard *to = array_push(&h->arena, &h->resolved.guards);

		*to = (struct guard){ .at = g->at,
				      .root_at = g->root_at,
				      .kind = g->kind,
				      .is_dir = g->is_dir,
				      .is_link = g->is_link,
				      .from = g->from };
		to->id = (struct file_id){ .dev_major = 8,
					   .dev_minor = 1,
					   .ino = 400 + h->resolved.guards.n,
					   .mnt_id = 20,
					   .type = g->is_link  ? S_IFLNK
						   : g->is_dir ? S_IFDIR
							       : S_IFREG };
		for (size_t i = 0; i < h->facts.roots.n; i++) {
			if (strcmp(h->facts.roots.v[i].root->at, g->root_at) == 0)
				to->root_writable = h->access[i].write;
		}
	}
}

static bool grants_network(const struct hand *h)
{
	struct request rq = { .action = ACTION_NET_CONNECT, .kind = REQUEST_HOST };
	struct decision d = { 0 };

	if (h->agent != NULL)
		policy_decide(h->profile, h->agent, &rq, &d);
	return d.verdict == PROFILE_ALLOW && h->profile->sandbox.network == PROFILE_NETWORK_HOST;
}

void hand_facts(struct hand *h, const struct hand_options *o)
{
	static char a0[] = "true";
	static char a1[] = "--now";
	static char *const argv[] = { a0, a1, NULL };
	static char e0[] = "PATH=/usr/local/bin:/home/u/bin:/bin";
	static char e1[] = "TERM=dumb";
	static char e2[] = "SECRET_TOKEN=hush";
	static char *const environ_fixed[] = { e0, e1, e2, NULL };

	fill_caller(h, o->caller);
	fill_system(h, o);
	fill_roots(h, o);
	fill_lent(h);
	fill_resolved(h, o);
	fill_programs(h);
	h->rq = (struct plan_request){
		.profile = h->profile,
		.facts = &h->facts,
		.access = h->access,
		.resolved = &h->resolved,
		.host_network = grants_network(h),
		.argv = argv,
		.environ = o->environ != NULL ? o->environ : environ_fixed,
		.env_pass = o->env_pass,
		.n_env_pass = o->n_env_pass,
		.timeout_ms = o->timeout_ms,
		.capture = o->capture,
		.cgroup = o->cgroup,
	};
	plan_ids_choose(&h->facts, h->access, o->fallback, &h->rq.ids, &h->rq.idmapped);
	/* As the command line floor does for a root caller. */
	if (h->rq.ids.identity == PLAN_IDENTITY_ROOT_MAPPED) {
		int *trees = arena_array(&h->arena, h->facts.roots.n, sizeof(*trees));

		for (size_t i = 0; i < h->facts.roots.n; i++)
			trees[i] = 500 + (int)i;
		h->rq.root_trees = trees;
	}
}

int hand_compile(struct hand *h)
{
	return plan_compile(&h->plan_arena, &h->arena, &h->rq, &h->plan, &h->err);
}

void hand_free(struct hand *h)
{
	arena_free(&h->arena);
	arena_free(&h->plan_arena);
}
