/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "run/cause.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/fd.h"
#include "base/io.h"

#define PROC_BYTES_MAX ((size_t)1 << 20)

/* The text of a file of the kernel's, or NULL. */
static char *read_text(struct arena *a, const char *path)
{
	FD_AUTO fd = open(path, O_RDONLY | O_CLOEXEC);
	char *text;
	size_t len;

	return fd >= 0 && io_read_file(fd, PROC_BYTES_MAX, a, &text, &len) == 0 ? text : NULL;
}

static long to_number(const char *text, int base)
{
	char *end;
	long v;

	if (text == NULL)
		return CAUSE_UNKNOWN;
	errno = 0;
	v = strtol(text, &end, base);
	return errno == 0 && end != text ? v : CAUSE_UNKNOWN;
}

/* What stands behind "NAME:" at the beginning of a line. */
static const char *status_field(const char *text, const char *name)
{
	size_t n = strlen(name);

	for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, name, n) == 0 && line[n] == ':')
			return line + n + 1;
	}
	return NULL;
}

static void look_status(struct arena *a, struct cause_facts *ret)
{
	const char *text = read_text(a, "/proc/self/status");
	const char *caps = text == NULL ? NULL : status_field(text, "CapEff");

	ret->seccomp = text == NULL ? CAUSE_UNKNOWN : to_number(status_field(text, "Seccomp"), 10);
	/* Not known is not none. */
	ret->caps = caps == NULL ? UINT64_MAX : strtoull(caps, NULL, 16);
}

/* Words of a line of mountinfo, proc_pid_mountinfo(5): the place is the fifth, the options of the
 * mount are the sixth. */
static bool masks_proc(const char *line)
{
	char at[64];

	for (int i = 0; i < 4; i++) {
		line = strchr(line, ' ');
		if (line == NULL)
			return false;
		line++;
	}
	(void)snprintf(at, sizeof(at), "%.*s", (int)strcspn(line, " \n"), line);
	line += strcspn(line, " \n");
	if (strcmp(at, "/proc") == 0)
		return strncmp(line, " ro", 3) == 0;
	/* The kernel keeps that directory empty: what is mounted there hides nothing. */
	return strncmp(at, "/proc/", 6) == 0 && strcmp(at, "/proc/sys/fs/binfmt_misc") != 0;
}

static bool look_proc(struct arena *a)
{
	const char *line = read_text(a, "/proc/self/mountinfo");

	while (line != NULL && *line != '\0') {
		if (masks_proc(line))
			return true;
		line = strchr(line, '\n');
		if (line != NULL)
			line++;
	}
	return false;
}

static bool same_link(const char *a, const char *b)
{
	char x[64], y[64];
	ssize_t n = readlink(a, x, sizeof(x));

	return n > 0 && n == readlink(b, y, sizeof(y)) && memcmp(x, y, (size_t)n) == 0;
}

/* A root directory that is no mount is a chroot's. One that is may be: then it is not that of
 * init, in the same mount namespace (which only root can see). */
static bool look_chroot(void)
{
	struct statx own, init;

	if (statx(AT_FDCWD, "/", 0, STATX_MNT_ID, &own) != 0)
		return false;
	if ((own.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT) != 0 &&
	    (own.stx_attributes & STATX_ATTR_MOUNT_ROOT) == 0)
		return true;
	if (!same_link("/proc/self/ns/mnt", "/proc/1/ns/mnt") ||
	    statx(AT_FDCWD, "/proc/1/root", 0, STATX_MNT_ID, &init) != 0)
		return false;
	return (own.stx_mask & init.stx_mask & STATX_MNT_ID) != 0 &&
	       own.stx_mnt_id != init.stx_mnt_id;
}

static bool look_marker(void)
{
	static const char marker[] = "container=agentbox";
	FD_AUTO fd = open("/proc/self/environ", O_RDONLY | O_CLOEXEC);
	struct arena a = { 0 };
	bool found = false;
	size_t len = 0;
	char *text;

	if (fd >= 0 && io_read_file(fd, PROC_BYTES_MAX, &a, &text, &len) == 0) {
		for (size_t i = 0; i < len && !found; i += strlen(text + i) + 1)
			found = strcmp(text + i, marker) == 0;
	}
	arena_free(&a);
	return found;
}

/* The overflow id is what an unmapped one looks like; it is somebody's own only by mistake. */
static bool look_unmapped(struct arena *a)
{
	return (long)geteuid() == to_number(read_text(a, "/proc/sys/kernel/overflowuid"), 10) ||
	       (long)getegid() == to_number(read_text(a, "/proc/sys/kernel/overflowgid"), 10);
}

static void look_kernel(struct cause_facts *ret)
{
	struct utsname u;
	const char *dot;

	ret->kernel_major = CAUSE_UNKNOWN;
	if (uname(&u) != 0)
		return;
	ret->kernel_major = to_number(u.release, 10);
	dot = strchr(u.release, '.');
	ret->kernel_minor = dot == NULL ? 0 : to_number(dot + 1, 10);
}

void cause_facts_gather(struct cause_facts *ret)
{
	struct arena a = { 0 };
	const char *label;

	*ret = (struct cause_facts){ .root = geteuid() == 0,
				     .unmapped = look_unmapped(&a),
				     .in_agentbox = look_marker(),
				     .chrooted = look_chroot(),
				     .proc_masked = look_proc(&a) };
	for (size_t i = 0; i < CAUSE_NAMESPACES; i++)
		ret->max[i] = to_number(read_text(&a, arena_printf(&a, "/proc/sys/user/%s",
								   cause_namespaces[i].file)),
					10);
	ret->userns_clone =
		to_number(read_text(&a, "/proc/sys/kernel/unprivileged_userns_clone"), 10);
	ret->apparmor_userns = to_number(
		read_text(&a, "/proc/sys/kernel/apparmor_restrict_unprivileged_userns"), 10);
	look_status(&a, ret);
	look_kernel(ret);
	label = read_text(&a, "/proc/self/attr/apparmor/current");
	if (label != NULL)
		(void)snprintf(ret->apparmor, sizeof(ret->apparmor), "%.*s",
			       (int)strcspn(label, "\n"), label);
	arena_free(&a);
}
