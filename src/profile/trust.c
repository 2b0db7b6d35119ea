/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "profile/trust.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>

#include "base/fd.h"
#include "base/io.h"

#define ACL_XATTR   "system.posix_acl_access" /* acl(5), xattr(7) */
#define UNMAPPED_ID 65534U /* default of /proc/sys/kernel/overflowuid (user_namespaces(7)) */

/* One decimal number of a map's line (user_namespaces(7)): each is at most 2^32 - 1. */
static bool map_number(const char **p, unsigned long *ret)
{
	char *end;

	*p += strspn(*p, " ");
	if (**p < '0' || **p > '9')
		return false;
	errno = 0;
	*ret = strtoul(*p, &end, 10);
	*p = end;
	return errno == 0 && *ret <= UINT32_MAX;
}

enum id_state { ID_UNKNOWN = 0, ID_MAPPED, ID_UNMAPPED };

/* What an id is called outside this user namespace, by one of /proc/self/{uid,gid}_map. */
static enum id_state id_outside(const char *map, unsigned id, unsigned *ret)
{
	FD_AUTO fd = open(map, O_RDONLY | O_CLOEXEC);
	char buf[4096];
	ssize_t n;

	if (fd < 0)
		return ID_UNKNOWN;
	n = io_read_full(fd, buf, sizeof(buf) - 1);
	if (n <= 0)
		return ID_UNKNOWN;
	buf[n] = '\0';
	for (const char *line = buf; *line != '\0';) {
		unsigned long in, out, count;
		const char *end = strchr(line, '\n');

		if (end == NULL || !map_number(&line, &in) || !map_number(&line, &out) ||
		    !map_number(&line, &count))
			return ID_UNKNOWN;
		if (id >= in && id - in < count) {
			*ret = (unsigned)(out + (id - in));
			return ID_MAPPED;
		}
		line = end + 1;
	}
	return ID_UNMAPPED;
}

/* Private: the group of the same number as the caller, both here and outside a user
 * namespace, where 0 can stand for a group with other members. */
static bool group_is_private(const struct profile_source *src, gid_t gid)
{
	unsigned user, group;

	if (gid != src->gid || src->gid != src->uid)
		return false;
	return id_outside("/proc/self/uid_map", src->uid, &user) == ID_MAPPED &&
	       id_outside("/proc/self/gid_map", src->gid, &group) == ID_MAPPED && user == group;
}

static bool written_by_others(const struct profile_source *src, const struct stat *st)
{
	if ((st->st_mode & S_IWOTH) != 0)
		return true;
	return (st->st_mode & S_IWGRP) != 0 && !group_is_private(src, st->st_gid);
}

/* Where there is an access control list the group bits are its mask, and say that somebody may
 * write but not who (acl(5)). @fd, or @path when that is -1. */
static int check_acl(int fd, const char *path, const char *what, const struct stat *st,
		     struct err *err)
{
	ssize_t n;

	if ((st->st_mode & S_IWGRP) == 0)
		return 0;
	n = fd >= 0 ? fgetxattr(fd, ACL_XATTR, NULL, 0) : lgetxattr(path, ACL_XATTR, NULL, 0);
	/* ENOTSUP is the same number. */
	if (n < 0 && (errno == ENODATA || errno == EOPNOTSUPP))
		return 0;
	return err_set(err, ERR_PROFILE, n < 0 ? errno : 0,
		       "%s%s %s an access control list: remove it (setfacl -b) or take the group's "
		       "right to write away",
		       what, path, n < 0 ? "may have" : "has");
}

/* Inside a user namespace without root in its map the directories of the real root show
 * the overflow id. They cannot be told from those of an unmapped user, who then could only
 * exchange the file for another of the caller's own. */
static bool owner_is_unmapped(const struct stat *st)
{
	unsigned outside;

	return st->st_uid == UNMAPPED_ID &&
	       id_outside("/proc/self/uid_map", UNMAPPED_ID, &outside) == ID_UNMAPPED;
}

int trust_check_file(const struct profile_source *src, const char *name, int fd,
		     const struct stat *st, struct err *err)
{
	if (st->st_uid != src->uid && st->st_uid != 0)
		return err_set(
			err, ERR_PROFILE, 0,
			"%s is owned by uid %u: a profile must belong to you (uid %u) or root; "
			"copy it, or give it with --profile-fd",
			name, (unsigned)st->st_uid, (unsigned)src->uid);
	if (written_by_others(src, st))
		return err_set(err, ERR_PROFILE, 0,
			       "%s can be written by others (mode %04o): chmod go-w it", name,
			       (unsigned)st->st_mode & 07777);
	return check_acl(fd, name, "", st, err);
}

static int check_dir(const struct profile_source *src, const char *dir, struct err *err)
{
	struct stat st;

	if (lstat(dir, &st) != 0)
		return err_set(err, ERR_PROFILE, errno, "directory %s above the profile", dir);
	if (!S_ISDIR(st.st_mode))
		return err_set(err, ERR_PROFILE, 0, "%s above the profile is no directory any more",
			       dir);
	if (st.st_uid != src->uid && st.st_uid != 0 && !owner_is_unmapped(&st))
		return err_set(
			err, ERR_PROFILE, 0,
			"directory %s above the profile is owned by uid %u, who could exchange "
			"it: move the profile, or give it with --profile-fd",
			dir, (unsigned)st.st_uid);
	/* In a sticky directory others can add names but not exchange the one below: that takes
	 * the owner of the name or of the directory, and both are root or the caller. */
	if ((st.st_mode & S_ISVTX) != 0)
		return 0;
	if (written_by_others(src, &st))
		return err_set(
			err, ERR_PROFILE, 0,
			"directory %s above the profile can be written by others (mode %04o): "
			"chmod go-w it, or move the profile",
			dir, (unsigned)st.st_mode & 07777);
	return check_acl(-1, dir, "directory ", &st, err);
}

int trust_check_above(const struct profile_source *src, const char *real, const struct stat *st,
		      struct err *err)
{
	char dir[PATH_MAX];
	struct stat now;

	if (check_dir(src, "/", err) != 0)
		return -1;
	/* From the top: once a directory is known to be safe, the next name in it stays what
	 * it is while it is looked at. */
	for (const char *p = strchr(real + 1, '/'); p != NULL; p = strchr(p + 1, '/')) {
		(void)snprintf(dir, sizeof(dir), "%.*s", (int)(p - real), real);
		if (check_dir(src, dir, err) != 0)
			return -1;
	}
	if (lstat(real, &now) != 0)
		return err_set(err, ERR_PROFILE, errno, "%s moved while it was read", real);
	if (now.st_dev != st->st_dev || now.st_ino != st->st_ino)
		return err_set(err, ERR_PROFILE, 0, "%s was exchanged while it was read", real);
	return 0;
}
