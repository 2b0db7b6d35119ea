/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The verdict comes from a whole sandbox, built by the same code as for a run and left before it
 * has a command. What stands before it in the list is tried alone, for a closer answer. */
#include "cli/doctor.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/io.h"
#include "child/child.h"
#include "cli/network.h"
#include "run/blame.h"
#include "run/probe.h"
#include "sys/clone.h"

/* The least sandbox: what every profile builds on. */
static const char least_profile[] = "sandbox: {roots: []}\n"
				    "permissions: {agents: {doctor: allow}}\n";

/* Groups that a caller without rights cannot leave (setgroups(2) needs some), and what their
 * members may do. Names: the base-passwd of Debian, and the packages that bring a group. */
static const struct doctor_group dangerous_groups[] = {
	{ "root", "write what root's group may" },
	{ "wheel", "become root through sudo or su" },
	{ "sudo", "become root through sudo" },
	{ "admin", "become root through sudo" },
	{ "docker", "be root through the Docker daemon" },
	{ "lxd", "be root through the LXD daemon" },
	{ "incus", "be root through the Incus daemon" },
	{ "incus-admin", "be root through the Incus daemon" },
	{ "libvirt", "be root through the libvirt daemon" },
	{ "disk", "read and write the disks behind every file system" },
	{ "kmem", "read the kernel's memory" },
	{ "shadow", "read the password hashes" },
	{ "staff", "write to /usr/local" },
	{ "adm", "read the system's logs" },
	{ "systemd-journal", "read the system's logs" },
	{ "input", "read every key that is typed" },
	{ "video", "read the screen" },
	{ "kvm", "use the virtualisation device" },
};

static struct doctor_check *check_add(struct doctor *d, const char *name, enum doctor_state state)
{
	struct doctor_check *c = array_push(d->arena, &d->checks);

	*c = (struct doctor_check){ .name = name, .state = state };
	return c;
}

static void check_blame(struct doctor *d, struct doctor_check *c, enum cause_place place,
			int errnum)
{
	struct cause found;

	c->errnum = errnum;
	if (!cause_find(&d->facts, place, errnum, &found))
		return;
	c->cause = arena_strdup(d->arena, found.text);
	c->remedy = arena_strdup(d->arena, found.remedy);
}

static void check_kernel(struct doctor *d)
{
	struct doctor_check *c = check_add(d, "kernel", DOCTOR_OK);

	c->detail = arena_printf(d->arena, "Linux %ld.%ld", d->facts.kernel_major,
				 d->facts.kernel_minor);
	/* No other cause is known for this errno there. */
	check_blame(d, c, CAUSE_OTHER, EINVAL);
	c->errnum = 0;
	c->state = c->cause == NULL ? DOCTOR_OK : DOCTOR_FAILED;
}

static void check_namespaces(struct doctor *d)
{
	bool user = true;

	for (size_t i = 0; i < CAUSE_NAMESPACES; i++) {
		const struct cause_namespace *ns = &cause_namespaces[i];
		struct doctor_check *c =
			check_add(d, arena_printf(d->arena, "%s_namespace", ns->name), DOCTOR_OK);
		int r = user ? probe_namespaces(CLONE_NEWUSER | ns->flag) : 0;

		if (!user)
			c->state = DOCTOR_UNTRIED;
		if (r == 0)
			continue;
		user = ns->flag != CLONE_NEWUSER;
		c->state = DOCTOR_FAILED;
		check_blame(d, c, CAUSE_CLONE, -r);
	}
}

/* Something of the host that a run cannot do without was refused already. */
static bool is_told(const struct doctor *d)
{
	for (size_t i = d->n_policy; i < d->checks.n; i++) {
		if (d->checks.v[i].state == DOCTOR_FAILED)
			return true;
	}
	return false;
}

/* In words for people. The rest has those of the child's messages. */
static const char *step_label(enum child_step step)
{
	return step == CHILD_STEP_WAIT_IDS ? "id_maps" : child_step_name(step);
}

/* The building of the whole, as the steps that it got through. */
static void check_building(struct doctor *d, const struct outcome *o)
{
	const struct run_failure *f = &o->failure;
	bool failed = o->status == OUTCOME_FAILED;
	/* What stopped it is said already, or will be in its own words. */
	bool told = is_told(d) || (failed && f->place == CAUSE_NOWHERE);
	struct doctor_check *c;
	unsigned at = f->step; /* where it stopped */

	/* The maps of a root caller are the supervisor's to write, while the child waits. */
	if (f->place == CAUSE_IDS)
		at = CHILD_STEP_WAIT_IDS;
	c = check_add(d, "clone", told ? DOCTOR_UNTRIED : DOCTOR_OK);
	if (failed && f->place == CAUSE_CLONE && !told) {
		c->state = DOCTOR_FAILED;
		check_blame(d, c, f->place, f->errnum);
	}
	for (unsigned step = CHILD_STEP_NONE + 1; step < CHILD_STEP_WAIT_START; step++) {
		c = check_add(d, step_label((enum child_step)step), DOCTOR_OK);
		if (failed && step >= at)
			c->state = DOCTOR_UNTRIED;
		if (!failed || step != at)
			continue;
		c->state = DOCTOR_FAILED;
		check_blame(d, c, f->place, f->errnum);
		/* The step's own word for it; what is missing is in the row about that. */
		if (step == CHILD_STEP_NETWORK && f->errnum == ENOPROTOOPT) {
			c->cause = "a host of the profile has any port (:*), see any_port";
			c->remedy = "list ports or ranges";
		}
	}
}

static void check_message(struct doctor *d, const char *name, const struct err *err,
			  const char *remedy)
{
	struct doctor_check *c = check_add(d, name, DOCTOR_FAILED);

	c->errnum = err->errnum;
	c->cause = err->file == NULL ? arena_strdup(d->arena, err->msg)
		   : err->line == 0  ? arena_printf(d->arena, "%s: %s", err->file, err->msg)
				     : arena_printf(d->arena, "%s:%u:%u: %s", err->file, err->line,
						    err->col, err->msg);
	c->remedy = remedy;
}

static int check_sandbox(struct doctor *d, const struct prepare_input *in, struct err *err)
{
	struct run_options opt = { .capture = true,
				   .cgroup = &d->prep.cgroup,
				   .caller_stdio = { 0, 1, 2 } };
	struct err why = { 0 };
	struct outcome o = { 0 };
	struct run_attachment relay, relay_end;
	const struct run_attachment *const attached[] = { &relay_end, &relay };
	struct network network;

	if (prepare_probe(d->arena, in, &d->prep, &why) != 0) {
		check_message(d, "host", &why, NULL);
		return 0;
	}
	opt.namespaces = d->prep.namespaces;
	if (run_plan(d->prep.plan, &opt, attached,
		     network_attach(&network, &d->prep, NULL, &relay, &relay_end) ? 2 : 0, &o,
		     err) != 0)
		return -1;
	check_building(d, &o);
	d->sandbox_ready = o.status != OUTCOME_FAILED;
	/* Refused where no step reports: its own words are all there is. */
	if (!d->sandbox_ready && !is_told(d))
		check_message(d, "building", &o.err, NULL);
	outcome_free(&o);
	return 0;
}

/* A root caller has an unprivileged identity in a tree of root's only through an id mapping. */
static void check_idmap(struct doctor *d)
{
	FD_AUTO cwd = -1;
	int slot = -1;
	struct run_trees trees = { .fds = &slot };
	struct doctor_check *c;
	struct err err = { 0 };

	if (!d->prep.context.facts.caller.kernel_root)
		return;
	cwd = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	c = check_add(d, "idmapped_mounts", DOCTOR_OK);
	c->optional = true;
	c->detail = "in the current directory";
	if (run_trees_make(&cwd, 1, true, PLAN_FIXED_ID, PLAN_FIXED_ID, &trees, &err) != 0) {
		c->state = DOCTOR_FAILED;
		c->errnum = err.errnum;
		c->cause = arena_strdup(d->arena, err.msg);
	} else if (trees.unsupported) {
		c->state = DOCTOR_FAILED;
		c->errnum = trees.errnum;
		c->cause = trees.errnum == EINVAL
				   ? "the file system here has no id mapping (overlayfs is one)"
				   : "this root may not map ids or mount";
		c->remedy = "give a root that an ordinary user owns, or run as an ordinary user; "
			    "else commands run as kernel uid 0 without capabilities";
	}
	run_trees_close(&trees);
}

static void check_layers(struct doctor *d)
{
	struct doctor_check *c = check_add(d, "seccomp_filters", DOCTOR_OK);

	c->optional = true;
	if (prctl(PR_GET_SECCOMP) < 0) {
		c->state = DOCTOR_FAILED;
		c->errnum = errno;
		c->cause = "this kernel has no seccomp";
		c->remedy = "use a kernel with SECCOMP_FILTER";
	}
	d->landlock = probe_landlock();
	c = check_add(d, "landlock", DOCTOR_OK);
	c->optional = true;
	if (d->landlock < 0) {
		c->state = DOCTOR_FAILED;
		c->errnum = -d->landlock;
		c->cause = "this kernel has no Landlock, or does not use it";
		c->remedy = "add landlock to the list of the boot parameter lsm=";
	} else {
		c->detail = arena_printf(d->arena, "ABI %d", d->landlock);
	}
}

static void check_resolver(struct doctor *d, const struct profile *p)
{
	struct doctor_check *c = check_add(d, "resolver", DOCTOR_OK);

	c->optional = true;
	doctor_resolver(d->arena, p, c);
}

static void check_any_port(struct doctor *d)
{
	struct doctor_check *c = check_add(d, "any_port", DOCTOR_OK);
	int r = probe_any_port();

	c->optional = true;
	c->detail = "network by name, HOST:*";
	if (r == 0)
		return;
	c->state = DOCTOR_FAILED;
	c->errnum = -r;
	if (r == -EOPNOTSUPP || r == -ENOPROTOOPT) {
		c->cause = r == -EOPNOTSUPP ? "this kernel has no veth"
					    : "this kernel has no nf_tables with tproxy";
		c->remedy = "list ports or ranges, not HOST:*; or use a kernel with VETH and "
			    "NFT_TPROXY";
	}
}

static const char *find_cgroup(struct arena *a)
{
	FD_AUTO fd = open("/proc/self/cgroup", O_RDONLY | O_CLOEXEC);
	const char *path;
	char *text;
	size_t len;

	if (fd < 0 || io_read_file(fd, 65536, a, &text, &len) != 0 || len == 0)
		return "none";
	path = strncmp(text, "0::", 3) == 0 ? text : strstr(text, "\n0::");
	if (path == NULL || access("/sys/fs/cgroup/cgroup.controllers", F_OK) != 0)
		return "v1";
	path = strstr(path, "0::") + 3;
	path = arena_printf(a, "/sys/fs/cgroup%.*s/cgroup.procs", (int)strcspn(path, "\n"), path);
	return access(path, W_OK) == 0 ? "v2 delegated" : "v2";
}

/* As a run with that limit alone would find it. */
static struct plan_limit_host limit_host(struct doctor *d, enum plan_limit limit, bool kernel)
{
	const struct plan *p = d->prep.plan;
	struct run_cgroup cgroup;
	struct plan_limit_host host;

	run_cgroup_find_one(&run_cgroup_host, limit, kernel, &cgroup);
	host = (struct plan_limit_host){
		.identity = p == NULL ? PLAN_IDENTITY_CALLER : p->ids.identity,
		.outer_proc = p != NULL && p->outer_proc,
		.cgroup = cgroup.own >= 0 || cgroup.scope,
		.scope = cgroup.scope,
		.cgroup_why = arena_strdup(d->arena, cgroup.reason),
	};
	run_cgroup_close(&cgroup);
	return host;
}

static void find_limits(struct doctor *d)
{
	for (unsigned i = 0; i < PLAN_LIMIT_MAX; i++) {
		const struct plan_limit_host any = limit_host(d, i, false);
		const struct plan_limit_host kernel = limit_host(d, i, true);
		struct doctor_limit *l = &d->limits[i];

		l->any = plan_limit_choose(i, &any, false, &l->why);
		l->kernel = plan_limit_choose(i, &kernel, true, &l->why);
	}
}

static void find_groups(struct doctor *d)
{
	gid_t ids[256];
	int n = getgroups(ARRAY_SIZE(ids), ids);

	/* Only a caller that cannot drop them has them inside. */
	if (d->prep.plan != NULL && d->prep.plan->ids.identity != PLAN_IDENTITY_CALLER)
		return;
	for (int i = 0; i < n; i++) {
		const struct group *g = getgrgid(ids[i]);
		struct doctor_group *out = array_push(d->arena, &d->groups);

		out->name = g != NULL ? arena_strdup(d->arena, g->gr_name)
				      : arena_printf(d->arena, "%u", ids[i]);
		for (size_t j = 0; j < ARRAY_SIZE(dangerous_groups); j++) {
			if (strcmp(dangerous_groups[j].name, out->name) == 0)
				out->opens = dangerous_groups[j].opens;
		}
	}
}

/* What a run of this caller has in its environment when nothing more is asked for. */
static bool check_env(struct doctor *d, char *const *env)
{
	const struct cli_context *c = &d->prep.context;
	const struct plan_request rq = { .profile = c->profile,
					 .facts = &c->facts,
					 .environ = env };
	struct err err = { 0 };

	if (plan_env_check(&rq, plan_env_build(d->arena, &rq), &err) == 0) {
		check_add(d, "env", DOCTOR_OK);
		return true;
	}
	check_message(d, "env", &err, NULL);
	return false;
}

/* Whether the profile loads, declares somebody, and everything that it names is there. */
static bool load_policy(struct doctor *d, const struct cli_source *source, char *const *env)
{
	struct cli_context *c = &d->prep.context;
	struct err err = { 0 };

	if (cli_context_load(c, source, &err) != 0) {
		check_message(d, "profile", &err, "correct the profile or the command line there");
		return false;
	}
	check_add(d, "profile", DOCTOR_OK);
	if (c->agent == NULL && source->agent == NULL && c->profile->permissions.agents.n > 1)
		c->agent = agent_alone(c->arena, &c->profile->permissions.agents.v[0]);
	if (c->agent == NULL) {
		err_set(&err, ERR_PROFILE, 0, "%s", c->identity.reason);
		check_message(d, "agents", &err, cli_agent_hint(c, source->agent));
		return false;
	}
	check_add(d, "agents", DOCTOR_OK)->detail = c->agent->id;
	if (cli_context_facts(c, false, &err) == 0) {
		check_add(d, "roots", DOCTOR_OK);
		return check_env(d, env);
	}
	/* Else it is the host that is not as it should be, and the sandbox says so. */
	check_message(d, err.code == ERR_PROFILE ? "roots" : "host", &err,
		      err.code == ERR_PROFILE ? "correct the root, or make what it names" : NULL);
	return false;
}

/* A fresh context: the facts of an earlier pass are its own. */
static void context_renew(struct doctor *d)
{
	prepare_close(&d->prep);
	prepare_init(&d->prep, d->arena);
}

int doctor_examine(struct arena *a, const struct cli_source *source, char *const *env,
		   struct doctor *d, struct err *err)
{
	const struct prepare_input in = { .source = *source, .environ = env, .dry_run = true };
	struct cli_context *c = &d->prep.context;
	const struct policy_agent *agent = NULL;
	const struct profile *profile = NULL;

	*d = (struct doctor){ .arena = a };
	prepare_init(&d->prep, a);
	cause_facts_gather(&d->facts);
	d->has_profile = source->profile != NULL || source->profile_fd != NULL;
	if (d->has_profile) {
		d->policy_ready = load_policy(d, source, env);
		if (d->policy_ready) {
			profile = c->profile;
			agent = c->agent;
		}
		context_renew(d);
		d->n_policy = d->checks.n;
	}
	check_kernel(d);
	check_namespaces(d);
	if (cli_context_parse(c, least_profile, err) != 0)
		return -1;
	if (profile != NULL) {
		c->profile = profile;
		c->agent = agent;
	}
	if (check_sandbox(d, &in, err) != 0)
		return -1;
	check_idmap(d);
	check_layers(d);
	check_resolver(d, profile);
	check_any_port(d);
	d->cgroup = find_cgroup(a);
	find_limits(d);
	find_groups(d);
	return 0;
}

void doctor_close(struct doctor *d)
{
	prepare_close(&d->prep);
}

const char *const *doctor_uncovered(void)
{
	static const char *const texts[] = {
		"the agent's own process, and tools of its harness that do not go through "
		"agentbox: only the command is inside",
		"MCP servers that run outside, and whatever an agent makes them do",
		"code that an allowed program interprets (sh, python, node, make): a list of "
		"commands does not judge it",
		"applications, browsers and desktops that are driven directly, not through a "
		"command",
		"what programs on the host do later with files that were written into a writable "
		"root",
		"what an allowed host is sent",
		"groups that an ordinary caller cannot drop",
		"the kernel itself, and what processors leak",
		NULL,
	};

	return texts;
}
