/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* That sys/ links alone, the whole of it, and what its calls have in common: -errno, close-on-exec.
 */
#include "sys/fs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "tap.h"

static void test_file_id(struct tap *t)
{
	static const struct {
		const char *path;
		unsigned type;
	} rows[] = {
		{ ".", S_IFDIR },
		{ "/proc/self/exe", S_IFREG },
		{ "/dev/null", S_IFCHR },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct file_id id = { 0 }, again = { 0 };
		struct stat st;

		if (!tap_ok(t,
			    stat(rows[i].path, &st) == 0 &&
				    sys_file_id(AT_FDCWD, rows[i].path, 0, &id) == 0,
			    "%s is there", rows[i].path))
			continue;
		tap_ok(t, makedev(id.dev_major, id.dev_minor) == st.st_dev && id.ino == st.st_ino,
		       "%s: device and number as stat(2) has them", rows[i].path);
		tap_ok(t, id.type == rows[i].type, "%s: its type", rows[i].path);
		tap_ok(t, makedev(id.rdev_major, id.rdev_minor) == st.st_rdev,
		       "%s: the device that it stands for", rows[i].path);
		tap_ok(t,
		       sys_file_id(AT_FDCWD, rows[i].path, 0, &again) == 0 &&
			       file_id_same(&id, &again) && id.mnt_id == again.mnt_id,
		       "%s: the same when asked again", rows[i].path);
	}
}

/* The kernel's own word for the mount of an open file: proc_pid_fdinfo(5). */
static void test_mount_id(struct tap *t)
{
	int fd = sys_openat2(AT_FDCWD, ".", O_PATH | O_DIRECTORY, 0, 0);
	char path[64], text[256];
	const char *line = NULL;
	struct file_id id = { 0 };
	ssize_t n;
	int info;

	if (!tap_ok(t, fd >= 0, "the directory is held"))
		return;
	(void)snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	info = sys_openat(AT_FDCWD, path, O_RDONLY, 0);
	n = info >= 0 ? sys_read(info, text, sizeof(text) - 1) : -1;
	if (n > 0) {
		text[n] = '\0';
		line = strstr(text, "mnt_id:");
	}
	tap_ok(t,
	       line != NULL && sys_file_id(fd, "", AT_EMPTY_PATH, &id) == 0 &&
		       strtoull(line + 7, NULL, 10) == id.mnt_id,
	       "the mount as fdinfo has it");
	(void)sys_close(info);
	tap_int(t, fcntl(fd, F_GETFD), FD_CLOEXEC, "openat2: close-on-exec");
	tap_int(t, sys_close(fd), 0, "closed");
	tap_int(t, sys_close(fd), -EBADF, "and no more there");
}

static void test_errors(struct tap *t)
{
	struct file_id id = { 0 };

	errno = 0;
	tap_int(t, sys_file_id(AT_FDCWD, "no-such-file", 0, &id), -ENOENT,
		"a file that is not there");
	tap_int(t, sys_openat2(AT_FDCWD, "/proc/self/cwd", O_PATH, 0, SYS_RESOLVE_PLAIN), -ELOOP,
		"a link where none is followed");
	tap_int(t, errno, 0, "errno is not touched");
}

int main(void)
{
	struct tap t = { 0 };

	test_file_id(&t);
	test_mount_id(&t);
	test_errors(&t);
	return tap_done(&t);
}
