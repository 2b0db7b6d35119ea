/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the command sees: tree, identity, privileges; and that each broken plan stops at its own
 * step and operation with nothing run. Usage: test-tree root|user|userns */
#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "box.h"
#include "sys/fs.h"
#include "tap.h"

static bool has(const struct box_result *r, const char *text)
{
	return strstr(r->out, text) != NULL;
}

/* @script must print @want; what it printed is shown when it did not. */
static void expect_out(struct tap *t, const struct box_result *r, const char *want)
{
	if (!tap_ok(t, has(r, want), "printed '%.*s'", (int)strcspn(want + 1, "\n") + 1, want))
		printf("# %s\n", r->out);
}

static void test_view(struct tap *t, enum box_caller caller)
{
	struct box *b;
	char script[1200];

	b = box_new(caller);
	box_put(box_path(b, "outside"), "secret");
	snprintf(script, sizeof(script),
		 "echo hi > /work/marker && echo work-writable\n"
		 "touch /usr/x 2>/dev/null || echo usr-read-only\n"
		 "touch /tmp/x && echo tmp-writable\n"
		 "mkdir /x 2>/dev/null || echo root-read-only\n"
		 "touch /etc/x 2>/dev/null || echo etc-read-only\n"
		 "cat %s 2>/dev/null || echo host-absent\n"
		 "echo uid=$(id -u):$(id -g) mask=$(umask) cwd=$(pwd) pid=$$ name=$(cat "
		 "/proc/sys/kernel/hostname)\n"
		 "echo caps=$(grep -c '^Cap[A-Z][a-z]*:.0000000000000000$' /proc/self/status)\n"
		 "grep -E 'NoNewPrivs|SigBlk|SigIgn' /proc/self/status | tr '\\n\\t' '; '\n"
		 "echo; echo fds: $(ls /proc/self/fd)\n"
		 "grep -q 127.0.0.1 /proc/net/fib_trie && echo lo-up\n"
		 "cat /proc/1/environ >/dev/null 2>&1 || echo init-closed\n"
		 "kill -9 1; kill -STOP 1; echo init-alive\n"
		 "echo x > /dev/null && echo random=$(head -c 4 /dev/urandom | wc -c)\n"
		 "cp /usr/bin/env /tmp/env && chmod 700 /tmp/env; /tmp/env 2>/dev/null || echo "
		 "tmp-noexec\n"
		 "head -c 2000000 /dev/zero > /tmp/big 2>/dev/null || echo tmp-bounded\n"
		 "cat /etc/passwd; exit 7\n",
		 box_path(b, "outside"));
	box_sh(b, script);
	box_run(b);
	tap_int(t, b->r.failed.kind, 0, "no step fails");
	if (b->r.failed.kind != 0)
		printf("# step %s op %u: %s\n", child_step_name(b->r.failed.step), b->r.failed.op,
		       strerror(b->r.failed.errnum));
	tap_ok(t, b->r.exec, "executed");
	tap_ok(t, WIFEXITED(b->r.exited.status) && WEXITSTATUS(b->r.exited.status) == 7,
	       "status 7");
	tap_ok(t, box_exists(box_path(b, "work/marker")), "marker on the host");
	static const char *const want[] = {
		"work-writable",
		"usr-read-only",
		"tmp-writable",
		"root-read-only",
		"etc-read-only",
		"host-absent",
		"uid=1000:1000 mask=0022 cwd=/work pid=2",
		"name=agentbox",
		"caps=5",
		"SigBlk: 0000000000000000;",
		"SigIgn: 0000000000000000;",
		"NoNewPrivs: 1;",
		"fds: 0 1 2 3\n", /* 3 is the directory that ls reads */
		"lo-up",
		"init-closed",
		"init-alive",
		"random=4",
		"tmp-noexec",
		"tmp-bounded",
		"agent:x:1000",
	};
	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++)
		expect_out(t, &b->r, want[i]);
	tap_ok(t, !has(&b->r, "secret"), "nothing of the host beside the plan");
	tap_ok(t,
	       b->r.exited.max_rss_bytes > 100000 &&
		       b->r.exited.utime_us + b->r.exited.stime_us > 0,
	       "usage is reported");
	box_free(b);
}

/* One broken plan. */
struct broken {
	const char *name;
	void (*spoil)(struct box *b);
	enum child_step step;
	int errnum;
};

static void spoil_nothing_there(struct box *b)
{
	b->sources[b->plan.n_sources - 1].path = "/nowhere";
}

static void swap_work(struct box *b)
{
	(void)!rename(b->work, box_path(b, "old"));
	(void)!mkdir(b->work, 0777);
}

static void spoil_replaced(struct box *b)
{
	b->before_clone = swap_work;
}

static void link_work(struct box *b)
{
	(void)!rename(b->work, box_path(b, "old"));
	(void)!symlink("old", b->work);
}

static void spoil_link(struct box *b)
{
	b->before_clone = link_work;
}

static void spoil_hostname(struct box *b)
{
	static char name[80];

	memset(name, 'a', 65); /* the kernel takes 64 */
	b->plan.hostname = name;
}

static void spoil_root_unlimited(struct box *b)
{
	b->plan.root_bytes = "0";
}

static void spoil_root_inodes(struct box *b)
{
	b->plan.root_inodes = "";
}

static void spoil_mkdir_exists(struct box *b)
{
	box_op(b, PLAN_OP_MKDIR, "/usr");
}

static void spoil_mkdir_in_root(struct box *b)
{
	box_op(b, PLAN_OP_MKDIR, "/work/ghost");
}

static void spoil_file_in_root(struct box *b)
{
	box_op(b, PLAN_OP_FILE, "/work/ghost");
}

static void spoil_link_in_root(struct box *b)
{
	box_op(b, PLAN_OP_SYMLINK, "/work/ghost")->data = "x";
}

static void spoil_through_link(struct box *b)
{
	box_op(b, PLAN_OP_SYMLINK, "/l")->data = "tmp";
	box_op(b, PLAN_OP_MKDIR, "/l/x");
}

static void spoil_absolute_link(struct box *b)
{
	(void)!symlink("/proc", box_path(b, "work/l"));
	box_op(b, PLAN_OP_BIND, "/work/l")->from = "/tmp";
}

static void spoil_dotdot(struct box *b)
{
	box_op(b, PLAN_OP_MKDIR, "/../x");
}

static void spoil_relative(struct box *b)
{
	box_op(b, PLAN_OP_MKDIR, "x");
}

static void spoil_mkdir_mode(struct box *b)
{
	box_op(b, PLAN_OP_MKDIR, "/x")->mode = 02755;
}

static void spoil_file_mode(struct box *b)
{
	box_op(b, PLAN_OP_FILE, "/x")->mode = 04755;
}

static void spoil_over_root(struct box *b)
{
	box_op(b, PLAN_OP_BIND, "/")->from = "/tmp";
}

static void spoil_kind(struct box *b)
{
	box_op(b, PLAN_OP_NONE, "/x");
}

static void spoil_kind_past(struct box *b)
{
	box_op(b, PLAN_OP_MAX, "/x");
}

static void spoil_source_index(struct box *b)
{
	box_op(b, PLAN_OP_TREE, "/tmp")->source = b->plan.n_sources;
}

static void spoil_source_twice(struct box *b)
{
	box_op(b, PLAN_OP_TREE, "/tmp")->source = 0;
}

static void spoil_proc_twice(struct box *b)
{
	box_op(b, PLAN_OP_PROC, "/tmp");
}

static void spoil_tmpfs_bytes(struct box *b)
{
	box_op(b, PLAN_OP_TMPFS, "/tmp")->inodes = 1;
}

static void spoil_tmpfs_inodes(struct box *b)
{
	box_op(b, PLAN_OP_TMPFS, "/tmp")->bytes = 4096;
}

static void spoil_bind_absent(struct box *b)
{
	box_op(b, PLAN_OP_BIND, "/tmp")->from = "/absent";
}

static void spoil_expect(struct box *b)
{
	struct plan_op *op = box_op(b, PLAN_OP_BIND, "/work");

	op->from = "/work";
	op->has_expect = true;
	op->expect = b->sources[b->plan.n_sources - 1].id;
	op->expect.ino++;
}

static void spoil_write(struct box *b)
{
	struct plan_op *op = box_op(b, PLAN_OP_WRITE, "/proc/sys/user/max_user_namespaces");

	op->data = "007"; /* read back as 7 */
	op->data_len = 3;
}

static void spoil_write_refused(struct box *b)
{
	struct plan_op *op = box_op(b, PLAN_OP_WRITE, "/proc/sys/user/max_user_namespaces");

	op->data = "none";
	op->data_len = 4;
}

static void spoil_workdir(struct box *b)
{
	b->plan.workdir = "/usr/absent";
}

static void spoil_workdir_link(struct box *b)
{
	box_op(b, PLAN_OP_SYMLINK, "/l")->data = "work";
	b->plan.workdir = "/l";
}

static void spoil_workdir_dots(struct box *b)
{
	b->plan.workdir = "/work/../tmp";
}

static void spoil_stdio_file(struct box *b)
{
	b->stdio[0] = open("/etc/passwd", O_RDONLY | O_CLOEXEC);
}

static void spoil_stdio_dir(struct box *b)
{
	b->stdio[1] = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static void spoil_rlimit(struct box *b)
{
	b->rlimits[0] = (struct plan_rlimit){ .resource = 99 };
	b->plan.n_rlimits = 1;
}

static const struct broken broken[] = {
	{ "source absent", spoil_nothing_there, CHILD_STEP_SOURCES, ENOENT },
	{ "source replaced after the decision", spoil_replaced, CHILD_STEP_SOURCES, ESTALE },
	{ "source became a link", spoil_link, CHILD_STEP_SOURCES, ELOOP },
	{ "host name too long", spoil_hostname, CHILD_STEP_HOSTNAME, EINVAL },
	{ "root without a size", spoil_root_unlimited, CHILD_STEP_ROOT, EINVAL },
	{ "root without a number of files", spoil_root_inodes, CHILD_STEP_ROOT, EINVAL },
	{ "directory exists", spoil_mkdir_exists, CHILD_STEP_BUILD, EEXIST },
	{ "directory in a tree of the host", spoil_mkdir_in_root, CHILD_STEP_BUILD, EXDEV },
	{ "file in a tree of the host", spoil_file_in_root, CHILD_STEP_BUILD, EXDEV },
	{ "link in a tree of the host", spoil_link_in_root, CHILD_STEP_BUILD, EXDEV },
	{ "through a link", spoil_through_link, CHILD_STEP_BUILD, ELOOP },
	{ "onto a link without over_link", spoil_absolute_link, CHILD_STEP_BUILD, ELOOP },
	{ "above the root", spoil_dotdot, CHILD_STEP_BUILD, EXDEV },
	{ "relative place", spoil_relative, CHILD_STEP_BUILD, EINVAL },
	{ "directory with a set-id bit", spoil_mkdir_mode, CHILD_STEP_BUILD, EINVAL },
	{ "file with a set-id bit", spoil_file_mode, CHILD_STEP_BUILD, EINVAL },
	{ "over the root", spoil_over_root, CHILD_STEP_BUILD, EINVAL },
	{ "no kind", spoil_kind, CHILD_STEP_BUILD, EINVAL },
	{ "kind past the last", spoil_kind_past, CHILD_STEP_BUILD, EINVAL },
	{ "source past the last", spoil_source_index, CHILD_STEP_BUILD, EINVAL },
	{ "source used twice", spoil_source_twice, CHILD_STEP_BUILD, EINVAL },
	{ "proc used twice", spoil_proc_twice, CHILD_STEP_BUILD, EINVAL },
	{ "tmpfs without a size", spoil_tmpfs_bytes, CHILD_STEP_BUILD, EINVAL },
	{ "tmpfs without a number of files", spoil_tmpfs_inodes, CHILD_STEP_BUILD, EINVAL },
	{ "bind of something absent", spoil_bind_absent, CHILD_STEP_BUILD, ENOENT },
	{ "place is another object", spoil_expect, CHILD_STEP_BUILD, ESTALE },
	{ "sysctl reads back otherwise", spoil_write, CHILD_STEP_BUILD, EIO },
	{ "sysctl refuses", spoil_write_refused, CHILD_STEP_BUILD, EINVAL },
	{ "working directory absent", spoil_workdir, CHILD_STEP_WORKDIR, ENOENT },
	{ "working directory is a link", spoil_workdir_link, CHILD_STEP_WORKDIR, ELOOP },
	{ "working directory not canonical", spoil_workdir_dots, CHILD_STEP_WORKDIR, ESTALE },
	{ "a file as stdin", spoil_stdio_file, CHILD_STEP_DESCRIPTORS, EBADF },
	{ "a directory as stdout", spoil_stdio_dir, CHILD_STEP_DESCRIPTORS, EBADF },
	{ "no such limit", spoil_rlimit, CHILD_STEP_SPAWN, EINVAL },
};

static void test_broken(struct tap *t, enum box_caller caller)
{
	for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
		const struct broken *row = &broken[i];
		struct box *b;
		uint32_t want_op = 0;

		b = box_new(caller);
		box_sh(b, "echo ran > /work/marker");
		row->spoil(b);
		if (row->step == CHILD_STEP_BUILD)
			want_op = b->plan.n_ops - 1;
		else if (row->step == CHILD_STEP_SOURCES)
			want_op = b->plan.n_sources - 1;
		else if (b->stdio[1] >= 0)
			want_op = 1;
		box_run(b);
		if (!tap_ok(t,
			    b->r.failed.kind == CHILD_REPORT_FAILED &&
				    b->r.failed.step == row->step &&
				    b->r.failed.errnum == row->errnum && b->r.failed.op == want_op,
			    "%s: stops", row->name))
			printf("# step %s op %u (want %u) errno %d\n",
			       child_step_name(b->r.failed.step), b->r.failed.op, want_op,
			       b->r.failed.errnum);
		tap_ok(t,
		       !b->r.exec && b->r.exited.kind == 0 &&
			       !box_exists(box_path(b, "work/marker")) &&
			       !box_exists(box_path(b, "old/marker")) &&
			       !box_exists(box_path(b, "work/ghost")),
		       "%s: nothing ran, nothing was made", row->name);
		for (int fd = 0; fd < 3; fd++)
			if (b->stdio[fd] >= 0)
				close(b->stdio[fd]);
		box_free(b);
	}
}

static void test_masks(struct tap *t, enum box_caller caller)
{
	struct plan_op *op;
	struct box *b;

	b = box_new(caller);
	box_put(box_path(b, "work/.env"), "TOKEN");
	box_put(box_path(b, "work/plain"), "plain");
	(void)!symlink("plain", box_path(b, "work/link"));
	(void)!mkdir(box_path(b, "work/dir"), 0777);
	(void)!chmod(box_path(b, "work/dir"), 0777);
	box_put(box_path(b, "work/dir/f"), "deep");
	box_op(b, PLAN_OP_MKDIR, "/mask");
	box_op(b, PLAN_OP_FILE, "/mask/empty")->mode = 0;
	box_op(b, PLAN_OP_MKDIR, "/mask/none")->mode = 0;
	op = box_op(b, PLAN_OP_BIND, "/work/.env");
	op->from = "/mask/empty";
	op->attrs = PLAN_ATTR_RO;
	op->has_expect = true;
	sys_file_id(AT_FDCWD, box_path(b, "work/.env"), 0, &op->expect);
	op = box_op(b, PLAN_OP_BIND, "/work/link");
	op->from = "/mask/empty";
	op->attrs = PLAN_ATTR_RO;
	op->over_link = true;
	op->has_expect = true;
	sys_file_id(AT_FDCWD, box_path(b, "work/link"), AT_SYMLINK_NOFOLLOW, &op->expect);
	op = box_op(b, PLAN_OP_BIND, "/work/dir");
	op->from = "/work/dir";
	op->attrs = PLAN_ATTR_RO;
	box_sh(b, "cat .env 2>/dev/null || echo env-closed\n"
		  "rm .env 2>/dev/null || echo env-fixed\n"
		  "mv plain2 .env 2>/dev/null; cat link 2>/dev/null || echo link-closed\n"
		  "rm link 2>/dev/null || echo link-fixed\n"
		  "mv dir dir2 2>/dev/null || echo dir-fixed\n"
		  "touch dir/x 2>/dev/null || echo dir-frozen\n"
		  "cat dir/f plain; echo\n"
		  "rm plain && echo plain-removed\n");
	box_run(b);
	static const char *const want[] = { "env-closed", "env-fixed",    "link-closed",
					    "link-fixed", "dir-fixed",    "dir-frozen",
					    "deep",       "plain-removed" };
	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		/* Another uid's files cannot be removed by the mapped one in a directory of its
		 * own only when sticky, so every caller sees the same. */
		expect_out(t, &b->r, want[i]);
	}
	tap_ok(t, !has(&b->r, "TOKEN"), "masked text is not shown");
	tap_ok(t, box_exists(box_path(b, "work/.env")), ".env is still there on the host");
	tap_ok(t, !box_exists(box_path(b, "work/dir/x")), "nothing new in the frozen directory");
	box_free(b);
}

/* The directory that is held between operations must be the one that is seen at its path. */
static void test_covered(struct tap *t, enum box_caller caller)
{
	struct plan_op *op;
	struct box *b;

	b = box_new(caller);
	box_op(b, PLAN_OP_MKDIR, "/a");
	box_op(b, PLAN_OP_MKDIR, "/a/b");
	box_op(b, PLAN_OP_MKDIR, "/a/b/under");
	op = box_op(b, PLAN_OP_TMPFS, "/a/b");
	op->bytes = 4096;
	op->inodes = 8;
	box_op(b, PLAN_OP_MKDIR, "/a/b/over");
	op = box_op(b, PLAN_OP_TMPFS, "/a");
	op->bytes = 4096;
	op->inodes = 8;
	box_op(b, PLAN_OP_MKDIR, "/a/b");
	box_op(b, PLAN_OP_MKDIR, "/a/b/top");
	op = box_op(b, PLAN_OP_FILE, "/a/b/file");
	op->data = "four";
	op->data_len = 4;
	op->mode = 0664;
	box_sh(b, "ls /a/b; stat -c %a:%u:%s /a/b/file /a/b");
	box_run(b);
	tap_str(t, b->r.out, "file\ntop\n664:1000:4\n755:1000:80\n", "made on what is on top");
	box_free(b);
}

static void test_sysctl(struct tap *t, enum box_caller caller)
{
	for (int closed = 0; closed < 2; closed++) {
		struct box *b;

		b = box_new(caller);
		if (closed) {
			struct plan_op *op =
				box_op(b, PLAN_OP_WRITE, "/proc/sys/user/max_user_namespaces");

			op->data = "0";
			op->data_len = 1;
		}
		box_sh(b, "unshare -U true 2>/dev/null && echo nested || echo flat");
		box_run(b);
		expect_out(t, &b->r, closed ? "flat" : "nested");
		box_free(b);
	}
}

static void test_many_sources(struct tap *t, enum box_caller caller)
{
	struct rlimit old, low = { .rlim_cur = 100 };
	struct box *b;

	getrlimit(RLIMIT_NOFILE, &old);
	low.rlim_max = old.rlim_max;
	b = box_new(caller);
	box_op(b, PLAN_OP_MKDIR, "/many");
	for (int i = 0; i < 300; i++) {
		char at[32];

		snprintf(at, sizeof(at), "/many/%d", i);
		box_tree(b, at, "/etc/passwd", PLAN_ATTR_RO);
	}
	box_sh(b, "echo n=$(cat /many/* | grep -c ^root:) files=$(ulimit -n)");
	setrlimit(RLIMIT_NOFILE, &low);
	box_run(b);
	expect_out(t, &b->r, "n=300 files=100");
	b->rlimits[0] = (struct plan_rlimit){ RLIMIT_NOFILE, 50, 60 };
	b->rlimits[1] = (struct plan_rlimit){ RLIMIT_CORE, 1, 1 };
	b->rlimits[2] = (struct plan_rlimit){ RLIMIT_FSIZE, UINT64_MAX - 1, UINT64_MAX - 1 };
	b->plan.n_rlimits = 3;
	box_sh(b,
	       "echo soft=$(ulimit -n) hard=$(ulimit -Hn); grep -E 'core file' /proc/self/limits");
	box_run(b);
	expect_out(t, &b->r, "soft=50 hard=60");
	setrlimit(RLIMIT_NOFILE, &old);
	box_free(b);
}

int main(int argc, char **argv)
{
	static const box_test tests[] = {
		test_view, test_broken, test_masks, test_covered, test_sysctl, test_many_sources,
	};

	return box_main(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
