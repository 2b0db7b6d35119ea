/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "policy/facts.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/io.h"
#include "base/path.h"
#include "policy/facts-answers.h"
#include "policy/facts-base.h"
#include "policy/facts-roots.h"
#include "policy/passwd.h"
#include "sys/landlock.h"

/* Devices are judged by what they are, not by their names: a container may hold a plain file or
 * a link where a device should be (runc CVE-2025-31133). Numbers: Documentation/admin-guide/
 * devices.txt of the kernel. */
static const struct {
	const char *name;
	unsigned major, minor;
	bool required;
} device_table[] = {
	{ "null", 1, 3, true },   { "zero", 1, 5, true },    { "full", 1, 7, false },
	{ "random", 1, 8, true }, { "urandom", 1, 9, true }, { "tty", 5, 0, false },
};
_Static_assert(ARRAY_SIZE(device_table) == FACTS_DEVICES, "one slot for each device");

/* Kernel files that a process with kernel uid 0 could write, whatever its capabilities
 * (reference: the owner check of /proc/sys is by kernel uid). */
static const char *const proc_ro_names[] = { "sys",           "irq",  "bus",  "fs",
					     "sysrq-trigger", "mtrr", "acpi", "scsi" };
_Static_assert(ARRAY_SIZE(proc_ro_names) == FACTS_PROC_RO, "one slot for each file");

static void object_from_statx(const struct statx *sx, struct facts_object *ret)
{
	ret->id = (struct file_id){
		.dev_major = sx->stx_dev_major,
		.dev_minor = sx->stx_dev_minor,
		.ino = sx->stx_ino,
		.mnt_id = sx->stx_mnt_id,
		.type = sx->stx_mode & S_IFMT,
	};
	if (S_ISCHR(sx->stx_mode) || S_ISBLK(sx->stx_mode)) {
		ret->id.rdev_major = sx->stx_rdev_major;
		ret->id.rdev_minor = sx->stx_rdev_minor;
	}
	ret->uid = sx->stx_uid;
	ret->gid = sx->stx_gid;
	ret->mode = sx->stx_mode;
	ret->nlink = sx->stx_nlink;
}

int facts_object_hold(int fd, struct facts_object *ret)
{
	struct statx sx;

	*ret = (struct facts_object){ .fd = -1 };
	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_BASIC_STATS | STATX_MNT_ID,
		  &sx) != 0)
		return -errno;
	/* Without a mount id the source cannot be pinned to what was judged: 5.8 has it. */
	if ((sx.stx_mask & STATX_MNT_ID) == 0)
		return -ENOSYS;
	object_from_statx(&sx, ret);
	ret->fd = fd;
	return 0;
}

int facts_object_path(struct arena *a, struct facts_object *o)
{
	char link[64];
	char path[PATH_MAX + 1];
	ssize_t n;

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", o->fd);
	n = readlink(link, path, sizeof(path));
	if (n < 0)
		return -errno;
	if (n >= (ssize_t)sizeof(path) || n == 0 || path[0] != '/')
		return -ENAMETOOLONG;
	o->path = arena_strndup(a, path, (size_t)n);
	return 0;
}

int facts_look(int dirfd, const char *path, struct stat *st)
{
	if (fstatat(dirfd, path, st, AT_SYMLINK_NOFOLLOW) == 0)
		return 1;
	return errno == ENOENT || errno == ENOTDIR || errno == EACCES || errno == ELOOP ? 0
											: -errno;
}

int facts_object_open(struct arena *a, int dirfd, const char *path, bool follow,
		      struct facts_object *ret)
{
	FD_AUTO fd = openat(dirfd, path, O_PATH | O_CLOEXEC | (follow ? 0 : O_NOFOLLOW));
	int r;

	*ret = (struct facts_object){ .fd = -1 };
	if (fd < 0)
		return -errno;
	r = facts_object_hold(fd, ret);
	if (r < 0)
		return r;
	(void)fd_take(&fd);
	r = facts_object_path(a, ret);
	if (r < 0)
		fd_close(&ret->fd);
	return r;
}

#define PASSWD_MAX ((size_t)64 << 20)

/* passwd first: loading the NSS modules costs more than the whole rest. A passwd that cannot be
 * read is not one without the entry: home is refused as a root. */
static int home_of(struct arena *a, const char *name, uid_t uid, const char **ret, struct err *err)
{
	FD_AUTO fd = open("/etc/passwd", O_RDONLY | O_CLOEXEC);
	const struct passwd *pw;
	const char *home = NULL;
	char *text = NULL;
	size_t len;
	int r = fd >= 0 ? io_read_file(fd, PASSWD_MAX, a, &text, &len) : -errno;

	if (r < 0 && (fd >= 0 || r != -ENOENT))
		return err_set(err, ERR_HOST, -r, "/etc/passwd cannot be read");
	if (text != NULL)
		home = passwd_home(a, text, name, uid);
	if (home == NULL) {
		pw = name == NULL ? getpwuid(uid) : getpwnam(name);
		if (pw != NULL)
			home = arena_strdup(a, pw->pw_dir);
	}
	*ret = home != NULL && path_is_canonical(home) ? home : NULL;
	return 0;
}

int facts_home(struct arena *a, const char *user, const char **ret, struct err *err)
{
	return home_of(a, user, 0, ret, err);
}

/* What an owner that has no id in this user namespace looks like (user_namespaces(7)). */
#define OVERFLOW_UID 65534

/* How many ids are mapped to themselves from 0 on, by the first line of uid_map(5). */
static uint32_t identity_map_count(const char *map)
{
	unsigned long v[3];
	char *end;

	for (size_t i = 0; i < ARRAY_SIZE(v); i++) {
		v[i] = strtoul(map, &end, 10);
		if (end == map)
			return 0;
		map = end;
	}
	return v[0] == 0 && v[1] == 0 && v[2] <= UINT32_MAX ? (uint32_t)v[2] : 0;
}

static int read_identity_map(uint32_t *ret)
{
	FD_AUTO fd = open("/proc/self/uid_map", O_RDONLY | O_CLOEXEC);
	char map[256];
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = io_read_full(fd, map, sizeof(map) - 1);
	if (n < 0)
		return (int)n;
	map[n] = '\0';
	*ret = identity_map_count(map);
	return 0;
}

bool facts_uid_is_unmapped(uid_t uid)
{
	uint32_t count = 0;

	return uid == OVERFLOW_UID && read_identity_map(&count) == 0 && count != UINT32_MAX;
}

int facts_caller(struct arena *a, struct facts_caller *ret, struct err *err)
{
	char cwd[PATH_MAX];
	int r;

	*ret = (struct facts_caller){ .uid = geteuid(), .gid = getegid() };
	if (home_of(a, NULL, ret->uid, &ret->home, err) != 0)
		return -1;
	if (getcwd(cwd, sizeof(cwd)) != NULL && cwd[0] == '/')
		ret->cwd = arena_strdup(a, cwd);
	/* Only to uid 0 does the map say something. */
	if (ret->uid != 0)
		return 0;
	r = read_identity_map(&ret->map_count);
	if (r < 0)
		return err_set(err, ERR_HOST, -r, "/proc/self/uid_map (is /proc mounted here?)");
	ret->kernel_root = ret->map_count > 0;
	return 0;
}

static int gather_devices(struct facts *f, struct err *err)
{
	FD_AUTO dev = open("/dev", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (dev < 0)
		return err_set(err, ERR_HOST, errno, "/dev");
	for (size_t i = 0; i < FACTS_DEVICES; i++) {
		struct facts_device *d = &f->devices[i];
		int fd = openat(dev, device_table[i].name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
		int r;

		d->name = device_table[i].name;
		d->object.fd = -1;
		if (fd < 0 && errno == ENOENT && !device_table[i].required)
			continue;
		if (fd < 0)
			return err_set(err, ERR_HOST, errno, "/dev/%s", d->name);
		r = facts_object_hold(fd, &d->object);
		if (r < 0) {
			(void)close(fd);
			return err_set(err, ERR_HOST, -r, "/dev/%s", d->name);
		}
		if (!S_ISCHR(d->object.mode) || d->object.id.rdev_major != device_table[i].major ||
		    d->object.id.rdev_minor != device_table[i].minor)
			return err_set(
				err, ERR_HOST, 0,
				"/dev/%s is not the character device %u:%u that it should be",
				d->name, device_table[i].major, device_table[i].minor);
	}
	return 0;
}

static int gather_proc(struct arena *a, struct facts *f, struct err *err)
{
	FD_AUTO proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct stat st;

	if (proc < 0)
		return err_set(err, ERR_HOST, errno, "/proc");
	for (size_t i = 0; i < ARRAY_SIZE(proc_ro_names); i++) {
		int r = facts_look(proc, proc_ro_names[i], &st);

		if (r < 0)
			return err_set(err, ERR_HOST, -r, "/proc/%s", proc_ro_names[i]);
		if (r > 0)
			*array_push(a, &f->proc_ro) = proc_ro_names[i];
	}
	return 0;
}

static int gather_landlock(struct facts *f, struct err *err)
{
	int abi = sys_landlock_abi();

	if (abi == -ENOSYS || abi == -EOPNOTSUPP)
		return 0;
	if (abi < 0)
		return err_set(err, ERR_HOST, -abi,
			       "asking the kernel for Landlock (landlock_create_ruleset)");
	f->landlock_abi = abi;
	return 0;
}

static bool lends_devices(const struct facts_input *in)
{
	return in->profile->sandbox.devices.n > 0;
}

int facts_self(struct arena *a, struct facts *f, struct err *err)
{
	int r = f->self.fd >= 0 ? 0
				: facts_object_open(a, AT_FDCWD, "/proc/self/exe", true, &f->self);

	return r < 0 ? err_set(err, ERR_HOST, -r, "the running binary") : 0;
}

int facts_gather(struct arena *a, const struct facts_input *in, struct facts *ret, struct err *err)
{
	for (size_t i = 0; i < FACTS_DEVICES; i++)
		ret->devices[i].object.fd = -1;
	ret->self.fd = -1;
	ret->answers = arena_new(a, struct facts_answers);
	ret->answers->arena = a;
	if (facts_base_gather(a, in, ret, err) != 0 || gather_landlock(ret, err) != 0)
		return -1;
	/* A device that is lent and there anyway is not lent twice. */
	if (lends_devices(in) && gather_devices(ret, err) != 0)
		return -1;
	if (facts_grants_gather(a, in, ret, err) != 0)
		return -1;
	return facts_roots_gather(a, in, ret, err) != 0 ? -1 : facts_base_check(a, in, ret, err);
}

int facts_furnish(struct arena *a, const struct facts_input *in, struct facts *f, struct err *err)
{
	if (facts_self(a, f, err) != 0 || (!lends_devices(in) && gather_devices(f, err) != 0) ||
	    gather_proc(a, f, err) != 0)
		return -1;
	/* Whose files the command could read depends on the roots. */
	return facts_etc_gather(a, in, f, err);
}

int facts_outer_proc(struct arena *a, struct facts *f, struct err *err)
{
	struct statfs fs;
	struct facts_object *o = arena_new(a, struct facts_object);
	int r = facts_object_open(a, AT_FDCWD, "/proc", false, o);

	if (r < 0)
		return err_set(err, ERR_HOST, -r, "/proc");
	f->proc = o;
	if (fstatfs(o->fd, &fs) != 0)
		return err_set(err, ERR_HOST, errno, "/proc");
	if (fs.f_type != PROC_SUPER_MAGIC)
		return err_set(err, ERR_HOST, 0, "/proc is not a procfs");
	return 0;
}

void facts_close(struct facts *f)
{
	for (size_t i = 0; i < f->base.n; i++)
		fd_close(&f->base.v[i].object.fd);
	for (size_t i = 0; i < f->roots.n; i++)
		fd_close(&f->roots.v[i].object.fd);
	for (size_t i = 0; i < FACTS_DEVICES; i++)
		fd_close(&f->devices[i].object.fd);
	for (size_t i = 0; i < f->lent_devices.n; i++)
		fd_close(&f->lent_devices.v[i].object.fd);
	for (size_t i = 0; i < f->lent_sockets.n; i++)
		fd_close(&f->lent_sockets.v[i].object.fd);
	fd_close(&f->self.fd);
	if (f->proc != NULL)
		fd_close(&f->proc->fd);
}
