/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* isolate - what the two processes give up before they read a byte of anybody's.
 *
 * The relay reads what hostile code sends. It needs sockets that are there, new ones of the two
 * internet families, one pipe that is there, and nothing else: no file, no process, no Unix socket.
 * Of what it holds splice(2) and read(2) reach that pipe and the sockets alone. The resolver reads
 * answers of name servers through the C library, which opens files and loads modules: it may
 * read the system's, and write and execute nothing. The dialer is in the sandbox's own network and
 * user namespace, and reads what the relay sends it: new sockets, and what goes with them. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "base/macro.h"
#include "relay/filter.h"
#include "relay/internal.h"
#include "sys/caps.h"
#include "sys/fs.h"
#include "sys/landlock.h"
#include "sys/mountapi.h"
#include "sys/process.h"

#define RELAY_DATA_MAX    ((uint64_t)256 * 1024 * 1024)
#define RESOLVER_DATA_MAX ((uint64_t)256 * 1024 * 1024)

/* A root without anything in it. */
static int empty_root(void)
{
	const struct sys_mount_attr private = { .propagation = MS_PRIVATE };
	int fs, root, r;

	r = sys_mount_setattr(AT_FDCWD, "/", AT_RECURSIVE, &private);
	if (r < 0)
		return r;
	fs = sys_fsopen("tmpfs");
	if (fs < 0)
		return fs;
	r = sys_fsconfig_string(fs, "size", "4k");
	if (r == 0)
		r = sys_fsconfig_create(fs);
	root = r < 0 ? r
		     : sys_fsmount(fs, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV |
					       MOUNT_ATTR_NOEXEC);
	(void)sys_close(fs);
	if (root < 0)
		return root;
	r = sys_move_mount_at(root, AT_FDCWD, "/proc");
	if (r == 0)
		r = sys_fchdir(root);
	if (r == 0)
		r = sys_pivot_root(".", ".");
	if (r == 0)
		r = sys_umount2(".", MNT_DETACH);
	if (r == 0)
		r = sys_chdir("/");
	(void)sys_close(root);
	return r;
}

static int limit(int resource, uint64_t value)
{
	struct sys_rlimit now;
	int r = sys_rlimit_get(resource, &now);

	if (r < 0)
		return r;
	now.hard = value < now.hard ? value : now.hard;
	now.soft = now.hard;
	return sys_rlimit_set(resource, &now);
}

struct bound {
	int resource;
	uint64_t value;
};

static int limits(const struct bound *bounds, size_t n)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < n; i++)
		r = limit(bounds[i].resource, bounds[i].value);
	return r;
}

/* As the last of what makes a process of ours harmless. */
static int give_up(void)
{
	int r = sys_prctl(PR_SET_NO_NEW_PRIVS, 1);

	if (r == 0)
		r = sys_prctl(PR_SET_DUMPABLE, 0);
	if (r == 0)
		r = sys_prctl(PR_SET_PDEATHSIG, SIGKILL);
	return r;
}

int isolate_relay(uint32_t n_fds)
{
	const struct bound bounds[] = {
		{ RLIMIT_NOFILE, n_fds },        { RLIMIT_CORE, 1 },    { RLIMIT_FSIZE, 0 },
		{ RLIMIT_DATA, RELAY_DATA_MAX }, { RLIMIT_MEMLOCK, 0 },
	};
	int r = empty_root();

	if (r == 0)
		r = limits(bounds, ARRAY_SIZE(bounds));
	if (r == 0)
		r = sys_caps_drop();
	if (r == 0)
		r = sys_caps_none();
	if (r == 0)
		r = give_up();
	return r == 0 ? filter_relay() : r;
}

int isolate_dialer(void)
{
	const struct bound bounds[] = {
		{ RLIMIT_CORE, 1 },
		{ RLIMIT_FSIZE, 0 },
		{ RLIMIT_NPROC, 0 },
		{ RLIMIT_MEMLOCK, 0 },
	};
	int r = limits(bounds, ARRAY_SIZE(bounds));

	/* As for the resolver. */
	if (r == 0)
		r = sys_caps_clear();
	if (r == 0)
		r = give_up();
	return r == 0 ? filter_dialer() : r;
}

#define LANDLOCK_ABI1_ALL                                                                          \
	(SYS_LANDLOCK_EXECUTE | SYS_LANDLOCK_WRITE_FILE | SYS_LANDLOCK_READ_FILE |                 \
	 SYS_LANDLOCK_READ_DIR | SYS_LANDLOCK_REMOVE_DIR | SYS_LANDLOCK_REMOVE_FILE |              \
	 SYS_LANDLOCK_MAKE_CHAR | SYS_LANDLOCK_MAKE_DIR | SYS_LANDLOCK_MAKE_REG |                  \
	 SYS_LANDLOCK_MAKE_SOCK | SYS_LANDLOCK_MAKE_FIFO | SYS_LANDLOCK_MAKE_BLOCK |               \
	 SYS_LANDLOCK_MAKE_SYM)

/* What a name service reads: its configuration, its modules, its sockets' directories. */
static const char *const readable[] = { "/etc", "/usr",     "/lib", "/lib64", "/lib32",
					"/run", "/var/run", "/nix", "/gnu" };

static int landlock_resolver(int abi)
{
	uint64_t fs = LANDLOCK_ABI1_ALL;
	int rules, r = 0;

	if (abi >= 2)
		fs |= SYS_LANDLOCK_REFER;
	if (abi >= 3)
		fs |= SYS_LANDLOCK_TRUNCATE;
	rules = sys_landlock_ruleset(fs, 0);
	if (rules < 0)
		return rules;
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(readable); i++) {
		int fd = sys_openat2(AT_FDCWD, readable[i], O_PATH | O_DIRECTORY, 0, 0);

		/* Not on this host, or not the caller's to read. */
		if (fd == -ENOENT || fd == -ENOTDIR || fd == -EACCES)
			continue;
		r = fd;
		if (fd >= 0)
			r = sys_landlock_allow(rules, fd,
					       SYS_LANDLOCK_READ_FILE | SYS_LANDLOCK_READ_DIR);
		(void)sys_close(fd);
	}
	if (r == 0)
		r = sys_landlock_restrict(rules);
	(void)sys_close(rules);
	return r;
}

/* Without Landlock: a view of everything in which nothing can be written. */
static int readonly_view(void)
{
	const struct sys_mount_attr attr = { .attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID,
					     .propagation = MS_PRIVATE };
	int r = sys_unshare_mounts();

	return r < 0 ? r : sys_mount_setattr(AT_FDCWD, "/", AT_RECURSIVE, &attr);
}

int isolate_resolver(void)
{
	const struct bound bounds[] = {
		{ RLIMIT_CORE, 1 },
		{ RLIMIT_FSIZE, 0 },
		{ RLIMIT_DATA, RESOLVER_DATA_MAX },
		{ RLIMIT_MEMLOCK, 0 },
	};
	int abi = sys_landlock_abi();
	int r = 0;

	if (abi == -ENOSYS || abi == -EOPNOTSUPP)
		r = readonly_view();
	else if (abi < 0)
		r = abi;
	if (r == 0)
		r = limits(bounds, ARRAY_SIZE(bounds));
	/* The bounding set is not an ordinary caller's to change, and with no_new_privs, which
	 * comes next, of no use. */
	if (r == 0)
		r = sys_caps_clear();
	if (r == 0)
		r = give_up();
	if (r == 0 && abi > 0)
		r = landlock_resolver(abi);
	return r == 0 ? filter_resolver() : r;
}
