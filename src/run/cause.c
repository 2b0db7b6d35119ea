/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "run/cause.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/macro.h"
#include "sys/clone.h"

#ifndef AGENTBOX_APPARMOR_PROFILE
#define AGENTBOX_APPARMOR_PROFILE "/etc/apparmor.d/agentbox"
#endif

const struct cause_namespace cause_namespaces[CAUSE_NAMESPACES] = {
	{ "user", "max_user_namespaces", CLONE_NEWUSER },
	{ "mount", "max_mnt_namespaces", CLONE_NEWNS },
	{ "pid", "max_pid_namespaces", CLONE_NEWPID },
	{ "ipc", "max_ipc_namespaces", CLONE_NEWIPC },
	{ "uts", "max_uts_namespaces", CLONE_NEWUTS },
	{ "cgroup", "max_cgroup_namespaces", CLONE_NEWCGROUP },
	{ "net", "max_net_namespaces", CLONE_NEWNET },
};

#define AT(place) (1U << (place))
#define AT_MOUNTS (AT(CAUSE_MOUNT) | AT(CAUSE_PROC) | AT(CAUSE_PIVOT))
#define AT_ANY    (AT(CAUSE_CLONE) | AT(CAUSE_IDS) | AT_MOUNTS | AT(CAUSE_FILTER) | AT(CAUSE_OTHER))

enum errnos {
	ON_EPERM = 1 << 0, /* EACCES too: security modules differ in which they say */
	ON_ENOSPC = 1 << 1,
	ON_ENOSYS = 1 << 2,
	ON_EINVAL = 1 << 3,
};

static unsigned errno_bit(int errnum)
{
	switch (errnum) {
	case EPERM:
	case EACCES:
		return ON_EPERM;
	case ENOSPC:
	case EUSERS: /* before Linux 4.9 */
		return ON_ENOSPC;
	case ENOSYS:
		return ON_ENOSYS;
	case EINVAL:
		return ON_EINVAL;
	default:
		return 0;
	}
}

#define CAP_SETFCAP_BIT (UINT64_C(1) << 31)

static bool old_kernel(const struct cause_facts *f)
{
	return f->kernel_major >= 0 &&
	       (f->kernel_major < 5 || (f->kernel_major == 5 && f->kernel_minor < 13));
}

static void kernel_detail(const struct cause_facts *f, char *buf, size_t size)
{
	(void)snprintf(buf, size, "%ld.%ld", f->kernel_major, f->kernel_minor);
}

/* The marker alone is a word that anybody may have in the environment. */
static bool nested(const struct cause_facts *f)
{
	return f->in_agentbox && (f->max[0] == 0 || f->seccomp == 2);
}

static bool unmapped(const struct cause_facts *f)
{
	return f->unmapped;
}

static bool in_chroot(const struct cause_facts *f)
{
	return f->chrooted;
}

static bool no_userns_clone(const struct cause_facts *f)
{
	return f->userns_clone == 0 && !f->root;
}

static const char *zero_limit(const struct cause_facts *f)
{
	for (size_t i = 0; i < CAUSE_NAMESPACES; i++) {
		if (f->max[i] == 0)
			return cause_namespaces[i].file;
	}
	return NULL;
}

static bool limit_zero(const struct cause_facts *f)
{
	return zero_limit(f) != NULL;
}

static void limit_detail(const struct cause_facts *f, char *buf, size_t size)
{
	(void)snprintf(buf, size, "%s", zero_limit(f));
}

static bool limit_reached(const struct cause_facts *f)
{
	return f->max[0] > 0;
}

static bool no_capabilities(const struct cause_facts *f)
{
	return f->root && f->caps == 0;
}

static bool no_setfcap(const struct cause_facts *f)
{
	return f->root && (f->caps & CAP_SETFCAP_BIT) == 0;
}

static bool apparmor_userns(const struct cause_facts *f)
{
	return f->apparmor_userns == 1 && !f->root;
}

/* A label that restricts: "docker-default (enforce)". */
static bool apparmor_label(const struct cause_facts *f)
{
	return strstr(f->apparmor, "(enforce)") != NULL;
}

static void label_detail(const struct cause_facts *f, char *buf, size_t size)
{
	(void)snprintf(buf, size, "%.*s", (int)strcspn(f->apparmor, " "), f->apparmor);
}

static bool masked_proc(const struct cause_facts *f)
{
	return f->proc_masked;
}

static bool filtered(const struct cause_facts *f)
{
	return f->seccomp == 2;
}

static bool always(const struct cause_facts *f)
{
	(void)f;
	return true;
}

/* The first row that holds is the cause: the certain before the likely. */
static const struct row {
	const char *name;
	unsigned places;
	unsigned errnos;
	bool (*holds)(const struct cause_facts *f);
	/* What stands for '@' in the texts, or NULL. */
	void (*detail)(const struct cause_facts *f, char *buf, size_t size);
	const char *text, *remedy;
} rows[] = {
	{ .name = "nested",
	  .places = AT_ANY,
	  .errnos = ON_EPERM | ON_ENOSPC | ON_ENOSYS,
	  .holds = nested,
	  .text = "this is the inside of another agentbox sandbox, which allows no further one",
	  .remedy = "run the command without a second agentbox, or have the outer profile allow it "
		    "(nested_sandboxes: true, with syscalls: {allow: [setid_bits]})" },
	{ .name = "kernel",
	  .places = AT_ANY,
	  .errnos = ON_ENOSYS | ON_EINVAL,
	  .holds = old_kernel,
	  .detail = kernel_detail,
	  .text = "this kernel is Linux @, and agentbox needs 5.13 or newer",
	  .remedy = "use a newer kernel" },
	{ .name = "max_namespaces",
	  .places = AT(CAUSE_CLONE),
	  .errnos = ON_ENOSPC,
	  .holds = limit_zero,
	  .detail = limit_detail,
	  .text = "user.@ is 0: nobody may make such namespaces here",
	  .remedy = "as administrator: sysctl user.@=15000" },
	{ .name = "max_reached",
	  .places = AT(CAUSE_CLONE),
	  .errnos = ON_ENOSPC,
	  .holds = limit_reached,
	  .text = "as many namespaces as user.max_user_namespaces and its siblings allow exist "
		  "already, or they are nested too deep",
	  .remedy = "end what holds them, or as administrator raise user.max_user_namespaces" },
	{ .name = "userns_clone",
	  .places = AT(CAUSE_CLONE),
	  .errnos = ON_EPERM,
	  .holds = no_userns_clone,
	  .text = "kernel.unprivileged_userns_clone is 0: only root may make user namespaces here",
	  .remedy = "as administrator: sysctl kernel.unprivileged_userns_clone=1" },
	{ .name = "chroot",
	  .places = AT(CAUSE_CLONE),
	  .errnos = ON_EPERM,
	  .holds = in_chroot,
	  .text = "this process is in a chroot, where the kernel makes no user namespaces",
	  .remedy = "enter the directory with pivot_root instead (a container tool does), or run "
		    "agentbox outside of it" },
	{ .name = "unmapped",
	  .places = AT(CAUSE_CLONE),
	  .errnos = ON_EPERM,
	  .holds = unmapped,
	  .text = "the uid or gid of this process has no mapping in its user namespace",
	  .remedy = "make that namespace with a mapping (unshare --map-current-user)" },
	{ .name = "masked_proc",
	  .places = AT(CAUSE_PROC),
	  .errnos = ON_EPERM,
	  .holds = masked_proc,
	  .text = "a new procfs cannot be mounted where parts of /proc are masked or read-only, as "
		  "they are in containers",
	  .remedy = "run the container with an unmasked /proc (docker: --security-opt "
		    "systempaths=unconfined, podman: --security-opt unmask=ALL), or write degrade: "
		    "[no_proc] in the profile" },
	{ .name = "chroot",
	  .places = AT(CAUSE_PIVOT),
	  .errnos = ON_EINVAL,
	  .holds = in_chroot,
	  .text = "the root directory is no mount of its own, as in a chroot",
	  .remedy = "make it one (mount --bind DIR DIR) before it is entered" },
	{ .name = "no_capabilities",
	  .places = AT(CAUSE_IDS) | AT_MOUNTS | AT(CAUSE_OTHER),
	  .errnos = ON_EPERM,
	  .holds = no_capabilities,
	  .text = "this root has no capabilities, and the kernel lets it give no identity to a "
		  "sandbox",
	  .remedy = "run agentbox as an ordinary user, or leave root its capabilities" },
	{ .name = "no_setfcap",
	  .places = AT(CAUSE_IDS),
	  .errnos = ON_EPERM,
	  .holds = no_setfcap,
	  .text = "this root lacks the capability SETFCAP, which a sandbox of root's needs",
	  .remedy = "run agentbox as an ordinary user, or add it (docker, podman: --cap-add "
		    "SETFCAP)" },
	{ .name = "apparmor_userns",
	  .places = AT_ANY,
	  .errnos = ON_EPERM,
	  .holds = apparmor_userns,
	  .text = "kernel.apparmor_restrict_unprivileged_userns is 1: AppArmor takes all rights "
		  "from user namespaces of programs without a profile",
	  .remedy = "as administrator load the profile that comes with agentbox: apparmor_parser "
		    "-r " AGENTBOX_APPARMOR_PROFILE },
	{ .name = "seccomp",
	  .places = AT_ANY,
	  .errnos = ON_EPERM | ON_ENOSYS,
	  .holds = filtered,
	  .text = "a seccomp filter around this process (Seccomp: 2 in /proc/self/status) refuses "
		  "the call, as in a container",
	  .remedy = "run the container with a filter that allows it (docker, podman: "
		    "--security-opt seccomp=unconfined)" },
	{ .name = "apparmor",
	  .places = AT_ANY,
	  .errnos = ON_EPERM,
	  .holds = apparmor_label,
	  .detail = label_detail,
	  .text = "the AppArmor profile '@' confines this process",
	  .remedy = "run it without (docker: --security-opt apparmor=unconfined)" },
	{ .name = "no_seccomp",
	  .places = AT(CAUSE_FILTER),
	  .errnos = ON_ENOSYS | ON_EINVAL,
	  .holds = always,
	  .text = "this kernel has no seccomp filters",
	  .remedy = "use a kernel with CONFIG_SECCOMP_FILTER" },
	{ .name = "no_namespaces",
	  .places = AT(CAUSE_CLONE),
	  .errnos = ON_EINVAL,
	  .holds = always,
	  .text = "this kernel lacks a kind of namespace that the sandbox needs",
	  .remedy = "use a kernel with USER_NS, PID_NS, NET_NS, IPC_NS, UTS_NS and CGROUPS" },
};

static void put_text(char *buf, size_t size, const char *text, const char *detail)
{
	const char *at = strchr(text, '@');

	if (at == NULL)
		(void)snprintf(buf, size, "%s", text);
	else
		(void)snprintf(buf, size, "%.*s%s%s", (int)(at - text), text, detail, at + 1);
}

bool cause_find(const struct cause_facts *f, enum cause_place place, int errnum, struct cause *ret)
{
	unsigned on = errno_bit(errnum);
	char detail[128] = "";

	*ret = (struct cause){ 0 };
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct row *r = &rows[i];

		if ((r->places & AT(place)) == 0 || (r->errnos & on) == 0 || !r->holds(f))
			continue;
		if (r->detail != NULL)
			r->detail(f, detail, sizeof(detail));
		ret->name = r->name;
		put_text(ret->text, sizeof(ret->text), r->text, detail);
		put_text(ret->remedy, sizeof(ret->remedy), r->remedy, detail);
		return true;
	}
	return false;
}
