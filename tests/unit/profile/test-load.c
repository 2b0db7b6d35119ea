/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/io.h"
#include "base/path.h"
#include "common.h"

#define TEXT  "sandbox: {roots: [.]}\npermissions: {agents: {me: allow}}\n"
#define OTHER 4243

/* A directory of this run below /tmp; everything in it is removed at the end. */
struct place {
	struct tap *t;
	struct arena a;
	char dir[64];
	bool chown; /* may give files away: root, and not only of a user namespace */
	struct profile_source src;
};

static const char *in(struct place *pl, const char *name)
{
	return path_join(&pl->a, pl->dir, name);
}

static void put(struct place *pl, const char *name, const char *text, size_t len, mode_t mode)
{
	FD_AUTO fd = -1;

	(void)unlink(in(pl, name));
	fd = open(in(pl, name), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0 || io_write_full(fd, text, len) != 0 || fchmod(fd, mode) != 0)
		abort();
}

static void must(int r)
{
	if (r != 0)
		abort();
}

static const struct profile *load(struct place *pl, const char *path, const char *want)
{
	struct profile_source src = pl->src;
	struct err err = { 0 };
	const struct profile *p = NULL;
	bool ok;
	int r;

	src.path = path;
	r = profile_load(&pl->a, &src, &p, &err);
	ok = want == NULL ? r == 0 && p != NULL
			  : r == -1 && p == NULL && err.code == ERR_PROFILE && err.line == 0 &&
				    strstr(err.msg, want) != NULL;
	if (!tap_ok(pl->t, ok, "%s: %s", path == NULL ? "descriptor" : path_basename(path),
		    want == NULL ? "accepted" : want))
		printf("# got %d (code %d) %u:%u '%s'\n", r, (int)err.code, err.line, err.col,
		       err.msg);
	return p;
}

static void test_kinds(struct place *pl)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	FD_AUTO sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)load(pl, in(pl, "missing"), "No such file");
	(void)load(pl, "", "No such file");
	put(pl, "p.yaml", TEXT, strlen(TEXT), 0644);
	(void)load(pl, in(pl, "p.yaml"), NULL);
	(void)load(pl, in(pl, "p.yaml/x"), "Not a directory");
	must(mkdir(in(pl, "dir"), 0755));
	(void)load(pl, in(pl, "dir"), "is a directory");
	must(mkfifo(in(pl, "fifo"), 0644));
	(void)load(pl, in(pl, "fifo"), "is a FIFO");
	(void)load(pl, "/dev/null", "is a device");
	must(symlink("p.yaml", in(pl, "link")));
	(void)load(pl, in(pl, "link"), "is a symlink");
	must(symlink("nowhere", in(pl, "dangling")));
	(void)load(pl, in(pl, "dangling"), "is a symlink");
	(void)snprintf(sun.sun_path, sizeof(sun.sun_path), "%s/sock", pl->dir);
	must(bind(sock, (const struct sockaddr *)&sun, sizeof(sun)));
	(void)load(pl, in(pl, "sock"), "socket or a device");
}

static void test_sizes(struct place *pl)
{
	char *text = arena_alloc(&pl->a, PROFILE_BYTES_MAX + 1);

	memset(text, '#', PROFILE_BYTES_MAX + 1);
	memcpy(text, TEXT, strlen(TEXT));
	put(pl, "max", text, PROFILE_BYTES_MAX, 0644);
	(void)load(pl, in(pl, "max"), NULL);
	put(pl, "over", text, PROFILE_BYTES_MAX + 1, 0644);
	(void)load(pl, in(pl, "over"), "larger than 1048576 bytes");
	put(pl, "huge", TEXT, strlen(TEXT), 0644);
	must(truncate(in(pl, "huge"), 10 << 20));
	(void)load(pl, in(pl, "huge"), "larger than 1048576 bytes");
	must(unlink(in(pl, "huge")));
}

static void test_modes(struct place *pl)
{
	struct profile_source mine = pl->src;

	put(pl, "p.yaml", TEXT, strlen(TEXT), 0666);
	(void)load(pl, in(pl, "p.yaml"), "can be written by others (mode 0666)");
	put(pl, "p.yaml", TEXT, strlen(TEXT), 0602);
	(void)load(pl, in(pl, "p.yaml"), "can be written by others");
	put(pl, "p.yaml", TEXT, strlen(TEXT), 0400);
	(void)load(pl, in(pl, "p.yaml"), NULL);
	put(pl, "p.yaml", TEXT, strlen(TEXT), 0664);
	(void)load(pl, in(pl, "p.yaml"), getuid() == getgid() ? NULL : "can be written by others");
	pl->src.gid = pl->src.gid + 1;
	(void)load(pl, in(pl, "p.yaml"), "can be written by others");
	pl->src = mine;
	put(pl, "p.yaml", TEXT, strlen(TEXT), 0644);

	must(mkdir(in(pl, "open"), 0755));
	must(mkdir(in(pl, "open/in"), 0755));
	put(pl, "open/in/p.yaml", TEXT, strlen(TEXT), 0644);
	(void)load(pl, in(pl, "open/in/p.yaml"), NULL);
	must(chmod(in(pl, "open/in"), 0777));
	(void)load(pl, in(pl, "open/in/p.yaml"), "/open/in above the profile can be written");
	must(chmod(in(pl, "open/in"), 0755));
	must(chmod(in(pl, "open"), 0777));
	(void)load(pl, in(pl, "open/in/p.yaml"), "/open above the profile can be written");
	must(chmod(in(pl, "open"), 01777));
	(void)load(pl, in(pl, "open/in/p.yaml"), NULL);
	must(chmod(in(pl, "open/in"), 0777));
	(void)load(pl, in(pl, "open/in/p.yaml"), "/open/in above the profile can be written");
	must(chmod(in(pl, "open/in"), 0755));
	must(chmod(in(pl, "open"), 0755));
}

/* acl(5) as the kernel stores it (linux/posix_acl_xattr.h): version 2, then tag, rights and id of
 * each entry, little endian. Owner rwx, one user rwx, group rx, mask rwx, others rx. */
static const unsigned char acl[] = {
	2, 0,    0,    0,    0x01, 0,    7,    0, 0xff, 0xff, 0xff, 0xff, 0x02, 0,    7,
	0, 0x93, 0x10, 0,    0,    0x04, 0,    5, 0,    0xff, 0xff, 0xff, 0xff, 0x10, 0,
	7, 0,    0xff, 0xff, 0xff, 0xff, 0x20, 0, 5,    0,    0xff, 0xff, 0xff, 0xff,
};

static void test_acl(struct place *pl)
{
	static const char has[] = "has an access control list: remove it (setfacl -b)";
	const char *file = in(pl, "listed/p.yaml");
	const char *dir = in(pl, "listed");

	/* Only there can the group be the caller's private one. */
	if (getuid() != getgid()) {
		tap_skip(pl->t, "access control lists", "uid and gid differ");
		return;
	}
	must(mkdir(dir, 0755));
	put(pl, "listed/p.yaml", TEXT, strlen(TEXT), 0664);
	must(chmod(dir, 0775));
	(void)load(pl, file, NULL);
	if (setxattr(file, "system.posix_acl_access", acl, sizeof(acl), 0) != 0) {
		tap_skip(pl->t, "access control lists", strerror(errno));
		return;
	}
	(void)load(pl, file, has);
	/* The mask is the group's right to write: without it the list grants none. */
	must(chmod(file, 0644));
	(void)load(pl, file, NULL);
	must(chmod(file, 0664));
	(void)load(pl, file, has);
	must(removexattr(file, "system.posix_acl_access"));
	must(chmod(file, 0664));
	(void)load(pl, file, NULL);
	must(setxattr(dir, "system.posix_acl_access", acl, sizeof(acl), 0));
	(void)load(pl, file, "/listed has an access control list");
	must(chmod(dir, 0755));
	(void)load(pl, file, NULL);
}

static void test_owners(struct place *pl)
{
	struct profile_source mine = pl->src;

	if (!pl->chown) {
		printf("# files of other owners: only root can make them\n");
		return;
	}
	must(mkdir(in(pl, "owned"), 0755));
	put(pl, "owned/p.yaml", TEXT, strlen(TEXT), 0644);
	must(chown(in(pl, "owned/p.yaml"), OTHER, OTHER));
	(void)load(pl, in(pl, "owned/p.yaml"), "is owned by uid 4243");
	pl->src.uid = OTHER;
	pl->src.gid = OTHER;
	(void)load(pl, in(pl, "owned/p.yaml"), NULL);
	(void)load(pl, in(pl, "p.yaml"), NULL); /* root's */
	must(chmod(in(pl, "owned/p.yaml"), 0664));
	(void)load(pl, in(pl, "owned/p.yaml"), NULL);
	pl->src.gid = OTHER + 1;
	(void)load(pl, in(pl, "owned/p.yaml"), "can be written by others");
	pl->src = mine;
	must(chmod(in(pl, "owned/p.yaml"), 0644));
	must(chown(in(pl, "owned/p.yaml"), 0, 0));
	(void)load(pl, in(pl, "owned/p.yaml"), NULL);
	must(chown(in(pl, "owned"), OTHER, OTHER));
	(void)load(pl, in(pl, "owned/p.yaml"), "/owned above the profile is owned by uid 4243");
	pl->src.uid = OTHER + 1;
	pl->src.gid = OTHER + 1;
	(void)load(pl, in(pl, "owned/p.yaml"), "/owned above the profile is owned by uid 4243");
	pl->src = mine;
}

static void test_facts(struct place *pl)
{
	const struct profile *p;
	char digest[SHA256_HEX_SIZE];
	char cwd[4096];
	struct stat st;

	must(mkdir(in(pl, "real"), 0755));
	must(symlink("real", in(pl, "way")));
	put(pl, "real/p.yaml", TEXT, strlen(TEXT), 0644);
	must(link(in(pl, "real/p.yaml"), in(pl, "real/second")));
	must(stat(in(pl, "real/p.yaml"), &st));
	p = load(pl, in(pl, "way/p.yaml"), NULL);
	if (p == NULL)
		return;
	sha256_hex(TEXT, strlen(TEXT), digest);
	tap_int(pl->t, (long long)p->files.n, 1, "one file");
	tap_str(pl->t, p->files.v[0].name, in(pl, "way/p.yaml"), "the name as given");
	tap_str(pl->t, p->files.v[0].real, in(pl, "real/p.yaml"), "the canonical path");
	tap_str(pl->t, p->files.v[0].sha256, digest, "the digest of the file");
	tap_int(pl->t, (long long)p->files.v[0].ino, (long long)st.st_ino, "the inode");
	tap_int(pl->t, (long long)p->files.v[0].dev, (long long)st.st_dev, "the device");
	tap_int(pl->t, (long long)p->files.v[0].nlink, 2, "the links");
	tap_str(pl->t, p->sandbox.roots.v[0].path, in(pl, "real"), "relative to its own folder");
	if (getcwd(cwd, sizeof(cwd)) == NULL || chdir(in(pl, "real")) != 0)
		abort();
	p = load(pl, "p.yaml", NULL);
	tap_str(pl->t, p == NULL ? NULL : p->files.v[0].real, in(pl, "real/p.yaml"),
		"a relative name");
	must(chdir(cwd));
}

static void by_fd(struct place *pl, int fd, const char *real, const char *want)
{
	const struct profile *p;

	pl->src.fd = fd;
	p = load(pl, NULL, want);
	if (p == NULL)
		return;
	tap_str(pl->t, p->files.v[0].real, real, "real path of a descriptor");
	tap_str(pl->t, p->sandbox.roots.v[0].path, "/cwd", "relative to the caller's directory");
	tap_int(pl->t, strncmp(p->files.v[0].name, "fd:", 3), 0, "named by its number");
}

static void test_fds(struct place *pl)
{
	FD_AUTO file = open(in(pl, "p.yaml"), O_RDONLY | O_CLOEXEC);
	FD_AUTO dir = open(pl->dir, O_RDONLY | O_CLOEXEC);
	FD_AUTO mem = memfd_create("profile", MFD_CLOEXEC);
	FD_AUTO sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int pipes[2];

	by_fd(pl, file, in(pl, "p.yaml"), NULL);
	must(io_write_full(mem, TEXT, strlen(TEXT)));
	must(lseek(mem, 0, SEEK_SET) != 0);
	by_fd(pl, mem, NULL, NULL);
	must(ftruncate(mem, (off_t)PROFILE_BYTES_MAX + 1));
	must(lseek(mem, 0, SEEK_SET) != 0);
	by_fd(pl, mem, NULL, "larger than 1048576 bytes");
	must(pipe2(pipes, O_CLOEXEC));
	must(io_write_full(pipes[1], TEXT, strlen(TEXT)));
	must(close(pipes[1]));
	by_fd(pl, pipes[0], NULL, NULL);
	must(close(pipes[0]));
	by_fd(pl, pipes[0], NULL, "Bad file descriptor");
	by_fd(pl, dir, NULL, "is a directory");
	by_fd(pl, sock, NULL, "is a socket");
	must(lseek(file, 0, SEEK_SET) != 0);
	must(unlink(in(pl, "p.yaml")));
	by_fd(pl, file, NULL, NULL);
	pl->src.fd = -1;
}

static int write_text(const char *path, const char *text)
{
	FD_AUTO fd = open(path, O_WRONLY | O_CLOEXEC);

	return fd < 0 ? -1 : io_write_full(fd, text, strlen(text));
}

/* In a child: an ordinary user that became root of a user namespace of its own. There the
 * directories of the real root show an id that stands for everyone who is not mapped. */
static int userns_child(struct place *pl, bool others)
{
	char map[64];
	struct err err = { 0 };
	const struct profile *p;

	if (pl->chown &&
	    (setresgid(OTHER, OTHER, OTHER) != 0 || setresuid(OTHER, OTHER, OTHER) != 0))
		return 3;
	/* The change of uid took it away, and with it the right to write one's own maps. */
	(void)prctl(PR_SET_DUMPABLE, 1);
	(void)snprintf(map, sizeof(map), "0 %u 1", (unsigned)getuid());
	if (unshare(CLONE_NEWUSER) != 0 || write_text("/proc/self/setgroups", "deny") != 0 ||
	    write_text("/proc/self/uid_map", map) != 0)
		return 3;
	pl->src.uid = 0;
	pl->src.gid = 0;
	pl->src.path = in(pl, others ? "ns/theirs.yaml" : "ns/mine.yaml");
	return profile_load(&pl->a, &pl->src, &p, &err) == 0 ? 0 : 1;
}

static void userns_case(struct place *pl, bool others, int want, const char *what)
{
	int status = 0;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0)
		_exit(userns_child(pl, others));
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		abort();
	if (WIFEXITED(status) && WEXITSTATUS(status) == 3)
		tap_skip(pl->t, what, "no user namespaces here");
	else
		tap_int(pl->t, WIFEXITED(status) ? WEXITSTATUS(status) : -1, want, what);
}

static void test_userns(struct place *pl)
{
	must(mkdir(in(pl, "ns"), 0755));
	put(pl, "ns/mine.yaml", TEXT, strlen(TEXT), 0644);
	put(pl, "ns/theirs.yaml", TEXT, strlen(TEXT), 0644);
	if (pl->chown) {
		must(chown(pl->dir, OTHER, OTHER));
		must(chown(in(pl, "ns"), OTHER, OTHER));
		must(chown(in(pl, "ns/mine.yaml"), OTHER, OTHER));
	}
	/* ARENA_HOST memory does not cross fork. */
	pl->a.kind = ARENA_PLAN;
	arena_free(&pl->a);
	userns_case(pl, false, 0, "in a user namespace: one's own file");
	if (pl->chown)
		userns_case(pl, true, 1, "in a user namespace: a file of an unmapped owner");
}

static void remove_all(const char *dir)
{
	pid_t pid = fork();

	if (pid == 0) {
		(void)execlp("rm", "rm", "-rf", "--", dir, (char *)NULL);
		_exit(127);
	}
	(void)waitpid(pid, NULL, 0);
}

int main(void)
{
	struct tap t = { 0 };
	struct place pl = { .t = &t, .dir = "/tmp/agentbox-test-XXXXXX" };

	(void)umask(022);
	if (mkdtemp(pl.dir) == NULL || chmod(pl.dir, 0755) != 0)
		return 1;
	put(&pl, "probe", "", 0, 0600);
	pl.chown = chown(in(&pl, "probe"), OTHER, OTHER) == 0;
	pl.src = (struct profile_source){
		.fd = -1, .cwd = "/cwd", .home = "/home/u", .uid = getuid(), .gid = getgid()
	};
	test_kinds(&pl);
	test_sizes(&pl);
	test_modes(&pl);
	test_acl(&pl);
	test_owners(&pl);
	test_facts(&pl);
	test_fds(&pl);
	test_userns(&pl);
	arena_free(&pl.a);
	remove_all(pl.dir);
	return tap_done(&t);
}
