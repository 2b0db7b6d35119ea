/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What facts_gather() refuses as a root: by what the directory is, whatever it is called. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "tap.h"
#include "world.h"

static int gather(struct world *w, const char *roots, struct err *err)
{
	struct facts_input in = {
		.state_dir = world_path(w, "state/agentbox"),
		.runtime_dir = world_path(w, "runtime"),
		.profiles_dir = world_path(w, "share/profiles"),
	};
	int r;

	world_roots(w, roots);
	in.profile = w->profile;
	facts_close(&w->facts);
	w->facts =
		(struct facts){ .caller = { .uid = getuid(), .home = world_path(w, "home/me") } };
	*err = (struct err){ 0 };
	r = facts_gather(&w->arena, &in, &w->facts, err);
	if (r == 0)
		r = facts_furnish(&w->arena, &in, &w->facts, err);
	if (r == 0)
		r = facts_judge_roots(&w->arena, &in, &w->facts, err);
	return r;
}

struct row {
	const char *what;
	const char *roots;
	const char *want; /* in the message; NULL: accepted */
};

static const struct row rows[] = {
	{ "a directory", "'@/w'", NULL },
	{ "a file", "'@/f'", NULL },
	{ "two beside each other", "'@/w', '@/home/me/project'", NULL },
	{ "below the home directory", "'@/home/me/project'", NULL },
	{ "the home directory", "{path: '@/home/me', at: /x}", "your home directory" },
	{ "what holds it", "{path: '@/home', at: /x}", "your home directory" },
	{ "what holds it all", "{path: '@', at: /x}", "is or contains" },
	{ "it through a link", "{path: '@/to-home', at: /x}", "your home directory" },
	{ "the state directory", "{path: '@/state/agentbox', at: /x}", "the state directory" },
	{ "what holds the state directory", "{path: '@/state', at: /x}", "the state directory" },
	{ "what will hold the runtime directory", "{path: '@/runtime', at: /x}", "the runtime" },
	{ "what holds the installed profiles", "{path: '@/share', at: /x}",
	  "the installed profiles" },
	{ "the root of all", "{path: '@/to-root', at: /x}", "is or contains" },
	{ "/usr", "{path: '@/to-usr', at: /x}", "is or contains /usr" },
	{ "/var", "{path: '@/to-var', at: /x}", "is or contains /var" },
	{ "/run", "{path: '@/to-run', at: /x}", "is or contains" },
	{ "/proc", "{path: '@/to-proc', at: /x}", "is or contains /proc" },
	{ "/dev", "{path: '@/to-dev', at: /x}", "is or contains /dev" },
	{ "/home", "{path: '@/to-all-homes', at: /x}", "is or contains /home" },
	{ "/etc through a link", "{path: '@/to-etc', at: /x}", "is or contains /etc" },
	{ "/etc through a chain of links", "{path: '@/to-to-etc', at: /x}", "is or contains /etc" },
	{ "on a kernel file system", "{path: '@/to-proc/self', at: /x}", "kernel file system" },
	{ "a fifo", "'@/fifo'", "neither a directory nor a regular file" },
	{ "a device", "{path: /dev/null, at: /x}", "neither a directory nor a regular file" },
	{ "absent", "'@/none'", "does not exist (create it, or say optional: true)" },
	{ "absent, but optional", "{path: '@/none', optional: true}", NULL },
	{ "optional and there", "{path: '@/w', optional: true}", NULL },
	{ "a dangling link", "'@/dangling'", "is a dangling symlink" },
	{ "a dangling link, optional", "{path: '@/dangling', optional: true}",
	  "is a dangling symlink" },
	{ "below a file", "'@/f/x'", "Not a directory" },
	{ "a link to a directory", "'@/to-w'", NULL },
	{ "a link below a writable root", "'@/w', '@/w/link'", "reached through a link" },
	{ "in any order", "'@/w/link', '@/w'", "reached through a link" },
	{ "through a directory that is a link", "'@/w', '@/w/link/x'", "reached through a link" },
	{ "a dangling link below a writable root", "'@/w', {path: '@/w/gone', optional: true}",
	  "is a dangling symlink" },
	{ "below a read-only root links are followed",
	  "{path: '@/w', mode: ro}, {path: '@/w/link', mode: ro}", NULL },
	{ "a directory below a writable root", "'@/w', '@/w/sub'", NULL },
	{ "an absent one below it, optional", "'@/w', {path: '@/w/none', optional: true}", NULL },
	{ "an absent one below it", "'@/w', '@/w/none'", "does not exist" },
	{ "a link out of the writable root", "'@/w', '@/w/etc'",
	  "reached through a link below a writable root" },
};

static void make_world(struct world *w)
{
	world_open(w);
	world_mkdir(w, "w/sub");
	world_mkdir(w, "target/x");
	world_mkdir(w, "home/me/project");
	world_mkdir(w, "state/agentbox");
	world_mkdir(w, "runtime");
	world_mkdir(w, "share/profiles");
	world_file(w, "f", 0644);
	world_link(w, "../target", "w/link");
	world_link(w, "/etc", "w/etc");
	world_link(w, "nowhere", "w/gone");
	world_link(w, "nowhere", "dangling");
	world_link(w, "w", "to-w");
	world_link(w, "/etc", "to-etc");
	world_link(w, "/", "to-root");
	world_link(w, "/usr", "to-usr");
	world_link(w, "/var", "to-var");
	world_link(w, "/run", "to-run");
	world_link(w, "/proc", "to-proc");
	world_link(w, "/dev", "to-dev");
	world_link(w, "/home", "to-all-homes");
	world_link(w, "to-etc", "to-to-etc");
	world_link(w, "home/me", "to-home");
	if (mkfifo(world_path(w, "fifo"), 0600) != 0)
		abort();
}

static void test_rows(struct tap *t)
{
	struct world w;

	make_world(&w);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct err err;
		int r = gather(&w, rows[i].roots, &err);
		bool ok = rows[i].want == NULL
				  ? r == 0 && !err.set
				  : r == -1 && err.code == ERR_PROFILE && err.line == 1 &&
					    err.col > 1 && strstr(err.msg, rows[i].want) != NULL;

		tap_ok(t, ok, "%s: %s", rows[i].what,
		       rows[i].want == NULL ? "accepted" : rows[i].want);
		if (!ok)
			printf("# %d %u:%u %s\n", r, err.line, err.col, err.msg);
	}
	world_close(&w);
}

static void test_facts(struct tap *t)
{
	struct stat st;
	struct err err;
	struct world w;
	const struct facts_root *r;

	make_world(&w);
	tap_int(t, gather(&w, "'@/to-w', {path: '@/none', optional: true}, '@/f'", &err), 0,
		"three roots");
	r = w.facts.roots.v;
	tap_int(t, (long long)w.facts.roots.n, 3, "one fact for each, in order");
	tap_ok(t, r[0].present && !r[1].present && r[2].present && r[1].object.fd == -1,
	       "the absent one is absent");
	tap_str(t, r[0].object.path, world_path(&w, "w"), "the path is the canonical one");
	tap_ok(t,
	       fstat(r[0].object.fd, &st) == 0 && st.st_ino == r[0].object.id.ino &&
		       S_ISDIR(r[0].object.mode) && r[0].object.id.mnt_id > 0,
	       "and the object is held");
	tap_ok(t, S_ISREG(r[2].object.mode) && r[2].object.nlink == 1, "a file is a file");
	tap_ok(t, w.facts.self.fd >= 0 && w.facts.devices[0].object.fd >= 0 && w.facts.base.n > 0,
	       "the binary, the devices and the base are held");
	world_close(&w);
}

/* In a mount namespace of its own: another name for a directory that no path shows. */
static int bind_child(void)
{
	struct err err;
	struct world w;
	bool refused;
	bool control;

	if (unshare(CLONE_NEWNS | (geteuid() == 0 ? 0 : CLONE_NEWUSER)) != 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
		return 2;
	make_world(&w);
	world_mkdir(&w, "alias");
	control = gather(&w, "{path: '@/alias', at: /x}", &err) == 0;
	facts_close(&w.facts);
	if (mount("/etc", world_path(&w, "alias"), NULL, MS_BIND | MS_REC, NULL) != 0)
		return 2;
	refused = gather(&w, "{path: '@/alias', at: /x}", &err) == -1 &&
		  strstr(err.msg, "is or contains /etc") != NULL;
	facts_close(&w.facts);
	if (umount2(world_path(&w, "alias"), MNT_DETACH) != 0 ||
	    mount(world_path(&w, "home"), world_path(&w, "alias"), NULL, MS_BIND, NULL) != 0)
		return 2;
	refused = refused && gather(&w, "{path: '@/alias', at: /x}", &err) == -1 &&
		  strstr(err.msg, "your home directory") != NULL;
	facts_close(&w.facts);
	refused = refused && gather(&w, "{path: '@/alias/me/project', at: /x}", &err) == 0;
	facts_close(&w.facts);
	(void)umount2(world_path(&w, "alias"), MNT_DETACH);
	world_close(&w);
	return control && refused ? 0 : 1;
}

static void test_bind(struct tap *t)
{
	int status;
	pid_t pid = fork();

	if (pid < 0)
		abort();
	if (pid == 0)
		_exit(bind_child());
	if (waitpid(pid, &status, 0) != pid)
		abort();
	if (WIFEXITED(status) && WEXITSTATUS(status) == 2)
		tap_skip(t, "bind mounts of /etc and of the home's parent are refused",
			 "no mount namespace here");
	else
		tap_ok(t, status == 0, "bind mounts of /etc and of the home's parent are refused");
}

/* /etc of this host: what is named is what others may not read, and a directory is said to be
 * one. */
static void test_secrets(struct tap *t)
{
	struct facts f = { 0 };
	struct arena a = { 0 };
	struct err err = { 0 };
	struct facts_base *base;
	size_t bad = 0;
	bool shadow = false;
	struct stat st;
	FD_AUTO etc = open("/etc", O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (geteuid() != 0) {
		printf("# reading all of /etc is root's\n");
		return;
	}
	tap_int(t, facts_etc_secrets(&a, &f, &err), 0, "a base without an /etc");
	tap_int(t, (long long)f.etc_masked.n, 0, "shows no secret of it");
	base = array_push(&a, &f.base);
	*base = (struct facts_base){ .at = "/etc", .kind = FACTS_BASE_DIR };
	if (facts_object_open(&a, AT_FDCWD, "/etc", false, &base->object) != 0)
		abort();
	*array_push(&a, &f.base) = (struct facts_base){ .at = "/etc",
							.kind = FACTS_BASE_DIR,
							.object = { .fd = etc } };
	tap_int(t, facts_etc_secrets(&a, &f, &err), 0, "a walk through /etc");
	for (size_t i = 0; i < f.etc_masked.n; i++) {
		const struct facts_secret *s = &f.etc_masked.v[i];

		if (fstatat(etc, s->name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
			bad++;
			continue;
		}
		bad += S_ISDIR(st.st_mode) != s->is_dir ||
		       (st.st_mode & (s->is_dir ? S_IROTH | S_IXOTH : S_IROTH)) ==
			       (s->is_dir ? S_IROTH | S_IXOTH : S_IROTH);
		shadow = shadow || strcmp(s->name, "shadow") == 0;
	}
	tap_int(t, (long long)bad, 0, "names what others may not read");
	if (fstatat(etc, "shadow", &st, 0) == 0)
		tap_ok(t, shadow, "shadow is among it");
	fd_close(&base->object.fd);
	arena_free(&a);
}

int main(void)
{
	struct tap t = { 0 };

	test_rows(&t);
	test_facts(&t);
	test_bind(&t);
	test_secrets(&t);
	return tap_done(&t);
}
