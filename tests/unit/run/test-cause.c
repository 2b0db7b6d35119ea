/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The table of causes with facts made up here: no host is asked. */
#include "run/cause.h"

#include <errno.h>

#include "base/macro.h"
#include "child/report.h"
#include "run/blame.h"
#include "tap.h"

/* A row is the fine host but for what it names after it. */
#pragma GCC diagnostic ignored "-Woverride-init"

/* A host where everything works: an ordinary user, a new kernel, nothing in the way. */
#define FINE                                                                                       \
	.max = { 100, 100, 100, 100, 100, 100, 100 }, .userns_clone = CAUSE_UNKNOWN,               \
	.apparmor_userns = CAUSE_UNKNOWN, .seccomp = 0, .caps = UINT64_MAX, .kernel_major = 6,     \
	.kernel_minor = 1

static const struct row {
	const char *what;
	struct cause_facts facts;
	enum cause_place place;
	int errnum;
	const char *name;   /* NULL: no cause */
	const char *text;   /* what the cause must hold */
	const char *remedy; /* what the remedy must hold */
} rows[] = {
	{ "no fact speaks", { FINE }, CAUSE_CLONE, EPERM, NULL, "", "" },
	{ "no place", { FINE, .seccomp = 2 }, CAUSE_NOWHERE, EPERM, NULL, "", "" },
	{ "seccomp, but another errno", { FINE, .seccomp = 2 }, CAUSE_CLONE, EIO, NULL, "", "" },
	{ "no user namespaces",
	  { FINE, .max = { 0, 9, 9, 9, 9, 9, 9 } },
	  CAUSE_CLONE,
	  ENOSPC,
	  "max_namespaces",
	  "user.max_user_namespaces is 0",
	  "sysctl user.max_user_namespaces=" },
	{ "the same, as older kernels say it",
	  { FINE, .max = { 0, 9, 9, 9, 9, 9, 9 } },
	  CAUSE_CLONE,
	  EUSERS,
	  "max_namespaces",
	  "user.max_user_namespaces is 0",
	  "sysctl" },
	{ "no net namespaces",
	  { FINE, .max = { 9, 9, 9, 9, 9, 9, 0 } },
	  CAUSE_CLONE,
	  ENOSPC,
	  "max_namespaces",
	  "user.max_net_namespaces is 0",
	  "sysctl user.max_net_namespaces=" },
	{ "too many", { FINE }, CAUSE_CLONE, ENOSPC, "max_reached", "exist already", "raise" },
	{ "no space for files is no namespace", { FINE }, CAUSE_MOUNT, ENOSPC, NULL, "", "" },
	{ "Debian's switch",
	  { FINE, .userns_clone = 0 },
	  CAUSE_CLONE,
	  EPERM,
	  "userns_clone",
	  "kernel.unprivileged_userns_clone is 0",
	  "sysctl kernel.unprivileged_userns_clone=1" },
	{ "on", { FINE, .userns_clone = 1 }, CAUSE_CLONE, EPERM, NULL, "", "" },
	{ "it spares root",
	  { FINE, .userns_clone = 0, .root = true },
	  CAUSE_CLONE,
	  EPERM,
	  NULL,
	  "",
	  "" },
	{ "Ubuntu's switch, at the maps",
	  { FINE, .apparmor_userns = 1 },
	  CAUSE_IDS,
	  EPERM,
	  "apparmor_userns",
	  "AppArmor",
	  "apparmor_parser -r /" },
	{ "Ubuntu's switch, at a mount",
	  { FINE, .apparmor_userns = 1 },
	  CAUSE_MOUNT,
	  EACCES,
	  "apparmor_userns",
	  "AppArmor",
	  "apparmor.d/agentbox" },
	{ "Ubuntu's switch, at the loopback",
	  { FINE, .apparmor_userns = 1 },
	  CAUSE_OTHER,
	  EPERM,
	  "apparmor_userns",
	  "AppArmor",
	  "" },
	{ "off", { FINE, .apparmor_userns = 0 }, CAUSE_IDS, EPERM, NULL, "", "" },
	{ "it spares root",
	  { FINE, .apparmor_userns = 1, .root = true },
	  CAUSE_IDS,
	  EPERM,
	  NULL,
	  "",
	  "" },
	{ "a container's filter, EPERM",
	  { FINE, .seccomp = 2 },
	  CAUSE_CLONE,
	  EPERM,
	  "seccomp",
	  "Seccomp: 2",
	  "seccomp=unconfined" },
	{ "a container's filter, ENOSYS",
	  { FINE, .seccomp = 2 },
	  CAUSE_CLONE,
	  ENOSYS,
	  "seccomp",
	  "Seccomp: 2",
	  "" },
	{ "a container's filter, at a mount",
	  { FINE, .seccomp = 2 },
	  CAUSE_MOUNT,
	  EPERM,
	  "seccomp",
	  "Seccomp: 2",
	  "" },
	{ "strict mode is no filter", { FINE, .seccomp = 1 }, CAUSE_CLONE, EPERM, NULL, "", "" },
	{ "masked /proc",
	  { FINE, .proc_masked = true },
	  CAUSE_PROC,
	  EPERM,
	  "masked_proc",
	  "procfs",
	  "degrade: [no_proc]" },
	{ "masked /proc in a container with a filter",
	  { FINE, .proc_masked = true, .seccomp = 2 },
	  CAUSE_PROC,
	  EPERM,
	  "masked_proc",
	  "masked",
	  "systempaths=unconfined" },
	{ "masked /proc has no say in mounts",
	  { FINE, .proc_masked = true },
	  CAUSE_MOUNT,
	  EPERM,
	  NULL,
	  "",
	  "" },
	{ "nor in other errors", { FINE, .proc_masked = true }, CAUSE_PROC, ENOMEM, NULL, "", "" },
	{ "chroot, at the clone",
	  { FINE, .chrooted = true },
	  CAUSE_CLONE,
	  EPERM,
	  "chroot",
	  "chroot",
	  "pivot_root" },
	{ "chroot, at the pivot",
	  { FINE, .chrooted = true },
	  CAUSE_PIVOT,
	  EINVAL,
	  "chroot",
	  "no mount",
	  "mount --bind" },
	{ "root without capabilities",
	  { FINE, .root = true, .caps = 0 },
	  CAUSE_IDS,
	  EPERM,
	  "no_capabilities",
	  "no capabilities",
	  "ordinary user" },
	{ "root without one of them",
	  { FINE, .root = true, .caps = ~(UINT64_C(1) << 31) },
	  CAUSE_IDS,
	  EPERM,
	  "no_setfcap",
	  "SETFCAP",
	  "--cap-add SETFCAP" },
	{ "root with all", { FINE, .root = true }, CAUSE_IDS, EPERM, NULL, "", "" },
	{ "a user needs none", { FINE, .caps = 0 }, CAUSE_IDS, EPERM, NULL, "", "" },
	{ "unmapped",
	  { FINE, .unmapped = true },
	  CAUSE_CLONE,
	  EPERM,
	  "unmapped",
	  "no mapping",
	  "--map-current-user" },
	{ "inside agentbox, by the sysctl",
	  { FINE, .in_agentbox = true, .max = { 0, 9, 9, 9, 9, 9, 9 } },
	  CAUSE_CLONE,
	  ENOSPC,
	  "nested",
	  "another agentbox",
	  "outer profile" },
	{ "inside agentbox, by the filter",
	  { FINE, .in_agentbox = true, .seccomp = 2 },
	  CAUSE_CLONE,
	  EPERM,
	  "nested",
	  "another agentbox",
	  "" },
	{ "the marker alone is a word",
	  { FINE, .in_agentbox = true },
	  CAUSE_CLONE,
	  EPERM,
	  NULL,
	  "",
	  "" },
	{ "an old kernel",
	  { FINE, .kernel_major = 5, .kernel_minor = 12 },
	  CAUSE_MOUNT,
	  ENOSYS,
	  "kernel",
	  "Linux 5.12,",
	  "newer" },
	{ "an older one",
	  { FINE, .kernel_major = 4, .kernel_minor = 19 },
	  CAUSE_CLONE,
	  EINVAL,
	  "kernel",
	  "Linux 4.19,",
	  "" },
	{ "the oldest that will do",
	  { FINE, .kernel_major = 5, .kernel_minor = 13 },
	  CAUSE_MOUNT,
	  ENOSYS,
	  NULL,
	  "",
	  "" },
	{ "no kernel says",
	  { FINE, .kernel_major = CAUSE_UNKNOWN },
	  CAUSE_MOUNT,
	  ENOSYS,
	  NULL,
	  "",
	  "" },
	{ "no seccomp",
	  { FINE },
	  CAUSE_FILTER,
	  EINVAL,
	  "no_seccomp",
	  "no seccomp filters",
	  "CONFIG_SECCOMP_FILTER" },
	{ "a kind of namespace is not built in",
	  { FINE },
	  CAUSE_CLONE,
	  EINVAL,
	  "no_namespaces",
	  "lacks",
	  "CGROUPS" },
	{ "an AppArmor profile",
	  { FINE, .apparmor = "docker-default (enforce)" },
	  CAUSE_MOUNT,
	  EACCES,
	  "apparmor",
	  "'docker-default'",
	  "apparmor=unconfined" },
	{ "one that only complains",
	  { FINE, .apparmor = "x (complain)" },
	  CAUSE_MOUNT,
	  EACCES,
	  NULL,
	  "",
	  "" },
	{ "unconfined", { FINE, .apparmor = "unconfined" }, CAUSE_MOUNT, EACCES, NULL, "", "" },
};

static void test_row(struct tap *t, const struct row *r)
{
	struct cause c;
	bool found = cause_find(&r->facts, r->place, r->errnum, &c);

	tap_int(t, found, r->name != NULL, r->what);
	tap_str(t, c.name, r->name, r->what);
	if (!tap_ok(t, strstr(c.text, r->text) != NULL, "%s: text", r->what))
		printf("# %s\n", c.text);
	if (!tap_ok(t, strstr(c.remedy, r->remedy) != NULL, "%s: remedy", r->what))
		printf("# %s\n", c.remedy);
	tap_ok(t, strchr(c.text, '@') == NULL && strchr(c.remedy, '@') == NULL,
	       "%s: nothing left open", r->what);
	tap_ok(t, strlen(c.text) + 1 < sizeof(c.text) && strlen(c.remedy) + 1 < sizeof(c.remedy),
	       "%s: nothing cut", r->what);
}

static void test_places(struct tap *t)
{
	tap_int(t, blame_place(CHILD_STEP_PROC), CAUSE_PROC, "proc");
	tap_int(t, blame_place(CHILD_STEP_PIVOT), CAUSE_PIVOT, "pivot");
	tap_int(t, blame_place(CHILD_STEP_DETACH), CAUSE_PIVOT, "detach");
	tap_int(t, blame_place(CHILD_STEP_BUILD), CAUSE_MOUNT, "build");
	tap_int(t, blame_place(CHILD_STEP_WAIT_IDS), CAUSE_IDS, "id maps");
	tap_int(t, blame_place(CHILD_STEP_LOOPBACK), CAUSE_OTHER, "loopback");
	tap_int(t, blame_place(CHILD_STEP_MAX), CAUSE_OTHER, "a step that is none");
}

/* A link that came after the decision: what happened and what to do, not the kernel's words. */
static void test_links(struct tap *t)
{
	struct plan_source source = { .path = "/srv/w" };
	const struct plan plan = { .sources = &source, .n_sources = 1, .workdir = "/w" };
	static const enum child_step steps[] = { CHILD_STEP_SOURCES, CHILD_STEP_WORKDIR,
						 CHILD_STEP_HOSTNAME };
	static const char *const want[] = {
		("/srv/w: changed while the sandbox was being built (a symbolic link stands "
		 "there now); try again"),
		"/w: changed while the sandbox was being built",
		"a symbolic link stands in the way",
	};

	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		const struct child_report r = { .step = steps[i], .errnum = ELOOP };
		struct err err = { 0 };

		tap_int(t, blame_step(&err, &plan, &r), -1, "a link in a step");
		tap_ok(t, strstr(err.msg, want[i]) != NULL && strstr(err.msg, "Too many") == NULL,
		       "%s", err.msg);
		tap_int(t, err.errnum, ELOOP, "the number stays");
	}
}

/* The facts of this very host are facts: where nothing failed, no number is made up. */
static void test_gather(struct tap *t)
{
	struct cause_facts f;

	cause_facts_gather(&f);
	tap_ok(t, f.kernel_major >= 5 && f.kernel_minor >= 0, "a kernel");
	tap_ok(t, f.seccomp >= 0 && f.seccomp <= 2, "a seccomp mode");
	tap_ok(t, f.max[0] >= 0, "a limit of user namespaces");
	tap_int(t, f.in_agentbox,
		getenv("container") != NULL && strcmp(getenv("container"), "agentbox") == 0,
		"the marker");
}

int main(void)
{
	struct tap t = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		test_row(&t, &rows[i]);
	test_places(&t);
	test_links(&t);
	test_gather(&t);
	return tap_done(&t);
}
