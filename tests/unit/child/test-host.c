/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Hosts as the child finds them: mounts that come late, a masked /proc, trees made by the
 * supervisor, a supervisor whose memory is not mapped. Usage: test-host root|user|userns */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "box.h"
#include "sys/fs.h"
#include "sys/mountapi.h"
#include "tap.h"

/* The old calls, which this test's host uses. <sys/mount.h> does not go with mountapi.h. */
int mount(const char *source, const char *target, const char *type, unsigned long flags,
	  const void *data);
int umount2(const char *target, int flags);

#define MARK "echo ran > /work/marker; "

/* Run @fn in a mount namespace of its own; 0 is success. */
static int in_own_mounts(int (*fn)(enum box_caller caller), enum box_caller caller)
{
	pid_t pid;
	int status;

	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		if (unshare(CLONE_NEWNS) != 0 || mount("", "/", "", MS_REC | MS_PRIVATE, "") != 0)
			_exit(64);
		_exit(fn(caller));
	}
	if (waitpid(pid, &status, 0) != pid)
		return -1;
	return status;
}

static void mount_late(struct box *b)
{
	(void)!mount("late", box_path(b, "work/sub"), "tmpfs", 0, "mode=777");
	box_put(box_path(b, "work/sub/late"), "late");
}

static int late_mount(enum box_caller caller)
{
	struct box *b;
	int n = 0;

	b = box_new(caller);
	(void)!mount("t", b->work, "tmpfs", 0, "mode=777");
	(void)!mkdir(box_path(b, "work/sub"), 0777);
	(void)!mount("", b->work, "", MS_SHARED, "");
	/* The mount is a new object: name it in the plan. */
	sys_file_id(AT_FDCWD, b->work, 0, &b->sources[b->plan.n_sources - 1].id);
	b->before_start = mount_late;
	box_sh(b, "ls -A sub; echo end");
	box_run(b);
	n |= !box_exists(box_path(b, "work/sub/late")) ? 1 : 0;
	n |= strcmp(b->r.out, "end\n") != 0 ? 2 : 0;
	(void)!umount2(box_path(b, "work/sub"), MNT_DETACH);
	(void)!umount2(b->work, MNT_DETACH);
	box_free(b);
	return n;
}

/* Mounts of the host after the start must not arrive; needs the right to mount. */
static void test_propagation(struct tap *t, enum box_caller caller)
{
	if (caller == BOX_CALLER_USER)
		return;
	tap_int(t, in_own_mounts(late_mount, caller), 0,
		"a mount made on the host during the run does not arrive");
}

/* As containers do it. */
static int masked_proc(enum box_caller caller)
{
	struct box *b;
	int n = 0;

	b = box_new(caller);
	(void)!mount("t", "/proc/fs", "tmpfs", MS_RDONLY, "");
	box_sh(b, MARK);
	box_run(b);
	n |= b->r.failed.step != CHILD_STEP_PROC || b->r.failed.errnum != EPERM ? 1 : 0;
	n |= box_exists(box_path(b, "work/marker")) ? 2 : 0;
	/* The outer one instead, as a source. */
	for (uint32_t i = 0; i < b->plan.n_ops; i++) {
		if (b->ops[i].kind == PLAN_OP_PROC) {
			b->ops[i].kind = PLAN_OP_TREE;
			b->ops[i].source = box_source(b, "/proc", PLAN_ATTR_RO);
		}
	}
	box_run(b);
	n |= !b->r.exec || !box_exists(box_path(b, "work/marker")) ? 4 : 0;
	(void)!umount2("/proc/fs", MNT_DETACH);
	box_free(b);
	return n;
}

static void test_masked_proc(struct tap *t, enum box_caller caller)
{
	if (caller == BOX_CALLER_USER)
		return;
	tap_int(t, in_own_mounts(masked_proc, caller), 0,
		"a masked /proc: the step stops, the outer one can be bound");
}

/* A tree made by the supervisor, as root makes those that carry an id mapping. */
static void test_tree_fd(struct tap *t, enum box_caller caller)
{
	struct plan_source *s;
	struct box *b;

	if (caller != BOX_CALLER_ROOT)
		return;
	b = box_new(caller);
	s = &b->sources[b->plan.n_sources - 1];
	s->tree_fd = sys_open_tree(AT_FDCWD, b->work, AT_RECURSIVE | OPEN_TREE_CLONE);
	tap_ok(t, s->tree_fd >= 0, "tree made by the supervisor");
	s->path = "/nowhere";
	s->attrs |= PLAN_ATTR_NOEXEC;
	box_sh(b, MARK "cp /usr/bin/env e; chmod 755 e; ./e 2>/dev/null || echo noexec");
	box_run(b);
	tap_ok(t, box_exists(box_path(b, "work/marker")), "is attached");
	tap_str(t, b->r.out, "noexec\n", "with the attributes of the plan");
	close(s->tree_fd);
	box_free(b);
}

/* A user namespace whose map says that what belongs to root on disk is @outside here. */
static int userns_fd(uint32_t outside)
{
	char path[64], map[32];
	int ready[2], fd;
	pid_t pid;

	(void)!pipe2(ready, O_CLOEXEC);
	pid = fork();
	if (pid == 0) {
		(void)!unshare(CLONE_NEWUSER);
		(void)!write(ready[1], "r", 1);
		pause();
		_exit(0);
	}
	(void)!read(ready[0], map, 1);
	snprintf(map, sizeof(map), "0 %u 1", outside);
	snprintf(path, sizeof(path), "/proc/%d/uid_map", (int)pid);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	(void)!write(fd, map, strlen(map));
	close(fd);
	snprintf(path, sizeof(path), "/proc/%d/gid_map", (int)pid);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	(void)!write(fd, map, strlen(map));
	close(fd);
	snprintf(path, sizeof(path), "/proc/%d/ns/user", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(ready[0]);
	close(ready[1]);
	return fd;
}

/* Root's own tree, writable for the unprivileged id that root is mapped to. */
static void test_idmapped(struct tap *t, enum box_caller caller)
{
	struct sys_mount_attr attr = { .attr_set = MOUNT_ATTR_IDMAP };
	struct plan_source *s;
	struct stat st;
	struct box *b;
	int ns, e;

	if (caller != BOX_CALLER_ROOT)
		return;
	b = box_new(caller);
	(void)!chown(b->work, 0, 0);
	box_put(box_path(b, "work/old"), "old");
	(void)!chmod(box_path(b, "work/old"), 0600);
	s = &b->sources[b->plan.n_sources - 1];
	box_sh(b, "cat old; " MARK);
	box_run(b);
	tap_ok(t,
	       b->r.exec && !box_exists(box_path(b, "work/marker")) &&
		       strstr(b->r.out, "old\n") == NULL,
	       "without the map root's files are closed");
	ns = userns_fd(b->plan.ids.outside_uid);
	s->tree_fd = sys_open_tree(AT_FDCWD, b->work, AT_RECURSIVE | OPEN_TREE_CLONE);
	attr.userns_fd = (uint64_t)ns;
	e = sys_mount_setattr(s->tree_fd, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr);
	if (e != 0) {
		tap_skip(t, "idmapped tree", strerror(-e));
	} else {
		s->idmapped = true;
		box_run(b);
		tap_ok(t, strncmp(b->r.out, "old", 3) == 0, "with it they are the command's");
		tap_ok(t,
		       stat(box_path(b, "work/marker"), &st) == 0 && st.st_uid == 0 &&
			       st.st_gid == 0,
		       "and what it writes is root's on disk");
	}
	close(ns);
	close(s->tree_fd);
	box_free(b);
}

/* Keep the mappings with one of the names out of the child, as the supervisor does. */
static int hide_memory(void)
{
	char line[512];
	FILE *maps = fopen("/proc/self/maps", "re");
	int hidden = 0;

	while (maps != NULL && fgets(line, sizeof(line), maps) != NULL) {
		char *next;
		uintptr_t from = strtoul(line, &next, 16);
		uintptr_t to = *next == '-' ? strtoul(next + 1, &next, 16) : 0;

		if (to <= from ||
		    (strstr(line, "[stack]") == NULL && strstr(line, "[heap]") == NULL))
			continue;
		if (madvise((void *)from, to - from, MADV_DONTFORK) == 0)
			hidden++;
	}
	if (maps != NULL)
		fclose(maps);
	return hidden;
}

static void test_unmapped(struct tap *t, enum box_caller caller)
{
	struct box *b = box_new(caller);
	pid_t pid;
	int status;

	box_sh(b, MARK "exit 6");
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		int hidden;

		free(malloc(1)); /* so that there is a heap */
		hidden = hide_memory();
		box_run(b);
		_exit(hidden < 1 || b->r.exited.status != 6 << 8);
	}
	waitpid(pid, &status, 0);
	tap_int(t, status, 0, "runs without the supervisor's stack and heap");
	tap_ok(t, box_exists(box_path(b, "work/marker")), "to the end");
	box_free(b);
}

int main(int argc, char **argv)
{
	static const box_test tests[] = {
		test_propagation, test_masked_proc, test_tree_fd, test_idmapped, test_unmapped,
	};

	return box_main(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
