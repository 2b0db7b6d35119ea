/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "box.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/io.h"
#include "filter/filter.h"
#include "sys/fs.h"

#define BOX_OPS_MAX     24
#define BOX_SOURCES_MAX 4
#define BOX_ID          4242

static struct plan_op *box_op(struct box *b, enum plan_op_kind kind, const char *at)
{
	struct plan_op *op = &b->ops[b->plan.n_ops++];

	op->kind = kind;
	op->at = arena_strdup(&b->arena, at);
	op->mode = 0755;
	return op;
}

static void box_link(struct box *b, const char *at, const char *text)
{
	struct plan_op *op = box_op(b, PLAN_OP_SYMLINK, at);

	op->data = arena_strdup(&b->arena, text);
	op->data_len = (uint32_t)strlen(text);
}

static void box_tree(struct box *b, const char *path, const char *at, unsigned attrs)
{
	struct plan_source *s = &b->plan.sources[b->plan.n_sources];

	s->path = arena_strdup(&b->arena, path);
	s->tree_fd = -1;
	s->attrs = attrs;
	if (sys_file_id(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, &s->id) != 0)
		printf("# cannot look at %s\n", path);
	box_op(b, PLAN_OP_TREE, at)->source = b->plan.n_sources++;
}

/* The directories of the host's root that are links into /usr, or directories of their own. */
static void box_system(struct box *b)
{
	static const char *const names[] = { "/bin", "/sbin", "/lib", "/lib64" };
	char text[256];
	ssize_t n;

	box_op(b, PLAN_OP_MKDIR, "/usr");
	box_tree(b, "/usr", "/usr", PLAN_ATTR_RO | PLAN_ATTR_NOSUID | PLAN_ATTR_NODEV);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		n = readlink(names[i], text, sizeof(text) - 1);
		if (n <= 0)
			continue;
		text[n] = '\0';
		box_link(b, names[i], text);
	}
}

/* Root of the host, which has ids to give away; root of unshare(1) has not. */
static bool box_is_root(void)
{
	unsigned inside, outside, count = 0;
	FILE *f = fopen("/proc/self/uid_map", "re");

	if (f != NULL) {
		if (fscanf(f, "%u %u %u", &inside, &outside, &count) != 3)
			count = 0;
		fclose(f);
	}
	return geteuid() == 0 && count > 65536;
}

static void box_ids(struct plan_ids *ids)
{
	bool root = box_is_root();

	ids->identity = root             ? PLAN_IDENTITY_ROOT_MAPPED
			: geteuid() == 0 ? PLAN_IDENTITY_ROOT
					 : PLAN_IDENTITY_CALLER;
	ids->inside_uid = 1000;
	ids->inside_gid = 1000;
	ids->outside_uid = root ? BOX_ID : geteuid();
	ids->outside_gid = root ? BOX_ID : getegid();
	ids->switch_ids = root;
	ids->drop_groups = root;
}

static char **box_strings(struct box *b, size_t n)
{
	return arena_array(&b->arena, n + 1, sizeof(char *));
}

void box_init(struct box *b, const char *script)
{
	struct filter_program filter;
	char **argv, **envp;

	*b = (struct box){ .arena = { .kind = ARENA_PLAN } };
	b->ops = arena_array(&b->arena, BOX_OPS_MAX, sizeof(*b->ops));
	b->plan = (struct plan){ .hostname = arena_strdup(&b->arena, "box"),
				 .sources = arena_array(&b->arena, BOX_SOURCES_MAX,
							sizeof(struct plan_source)),
				 .tree_fds = arena_array(&b->arena, BOX_SOURCES_MAX, sizeof(int)),
				 .ops = b->ops,
				 .root_bytes = "1048576",
				 .root_inodes = "256",
				 .workdir = "/",
				 .exe = "/usr/bin/sh",
				 .grace_ms = 300,
				 .output_limited = true,
				 .output_bytes = 1024 * 1024 };
	if (filter_base(FILTER_DEFAULT, &filter)) {
		b->plan.filter = filter.code;
		b->plan.n_filter = filter.n;
	}
	box_ids(&b->plan.ids);
	box_system(b);
	box_op(b, PLAN_OP_MKDIR, "/proc");
	box_op(b, PLAN_OP_PROC, "/proc");
	box_op(b, PLAN_OP_MKDIR, "/dev");
	box_op(b, PLAN_OP_FILE, "/dev/null")->mode = 0644;
	box_tree(b, "/dev/null", "/dev/null", PLAN_ATTR_NOSUID);
	box_link(b, "/dev/fd", "/proc/self/fd");
	box_link(b, "/dev/stdin", "/proc/self/fd/0");
	box_link(b, "/dev/stdout", "/proc/self/fd/1");
	box_link(b, "/dev/stderr", "/proc/self/fd/2");
	box_op(b, PLAN_OP_MKDIR, "/tmp")->mode = 01777;
	argv = box_strings(b, 3);
	argv[0] = arena_strdup(&b->arena, "sh");
	argv[1] = arena_strdup(&b->arena, "-c");
	argv[2] = arena_strdup(&b->arena, script);
	envp = box_strings(b, 1);
	envp[0] = arena_strdup(&b->arena, "PATH=/usr/bin:/bin");
	b->plan.argv = argv;
	b->plan.envp = envp;
	b->opt = (struct run_options){ .capture = true, .caller_stdio = { 0, 1, 2 } };
}

void box_program(struct box *b, const char *exe)
{
	char **argv = box_strings(b, 1);

	argv[0] = arena_strdup(&b->arena, exe);
	b->plan.argv = argv;
	b->plan.exe = argv[0];
}

void box_free(struct box *b)
{
	arena_free(&b->arena);
}

int box_run(struct box *b, const struct run_attachment *const *attached, size_t n,
	    struct outcome *o)
{
	struct err err = { 0 };
	int r = run_plan(&b->plan, &b->opt, attached, n, o, &err);

	if (r != 0)
		printf("# run_plan: %s\n", err.msg);
	else if (o->err.set)
		printf("# outcome: %s\n", o->err.msg);
	return r;
}

bool box_usable(struct tap *t)
{
	struct outcome o;
	struct box b;
	bool ok;

	box_init(&b, "exit 7");
	ok = box_run(&b, NULL, 0, &o) == 0 && o.status == OUTCOME_EXITED && o.exit_code == 7;
	if (!ok)
		tap_skip(t, "a sandbox on this host", o.err.msg);
	outcome_free(&o);
	box_free(&b);
	return ok;
}

static bool has_needle(const char *pid, const char *needle)
{
	char path[300], buf[4096];
	ssize_t n;

	(void)snprintf(path, sizeof(path), "/proc/%s/cmdline", pid);

	FD_AUTO fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return false;
	n = io_read_full(fd, buf, sizeof(buf));
	return n > 0 && memmem(buf, (size_t)n, needle, strlen(needle)) != NULL;
}

int box_find(const char *needle)
{
	DIR *d = opendir("/proc");
	struct dirent *e;
	int found = -1;

	while (d != NULL && found < 0 && (e = readdir(d)) != NULL)
		if (isdigit((unsigned char)e->d_name[0]) && atoi(e->d_name) != getpid() &&
		    has_needle(e->d_name, needle))
			found = atoi(e->d_name);
	if (d != NULL)
		closedir(d);
	return found;
}

static bool box_wait(const char *needle, bool want)
{
	long long end = box_now_ms() + BOX_WAIT_MS;

	do {
		if ((box_find(needle) >= 0) == want)
			return true;
		box_sleep_ms(10);
	} while (box_now_ms() < end);
	return false;
}

bool box_wait_gone(const char *needle)
{
	return box_wait(needle, false);
}

bool box_wait_there(const char *needle)
{
	return box_wait(needle, true);
}

long long box_now_ms(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000LL + ts.tv_nsec / 1000000;
}

void box_sleep_ms(int ms)
{
	struct timespec ts = { ms / 1000, ms % 1000 * 1000000L };

	while (nanosleep(&ts, &ts) != 0)
		;
}
