/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/selftest-host.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "audit/audit.h"
#include "base/fd.h"
#include "base/io.h"
#include "base/path.h"

#define TREE_DEPTH  16
#define NAMES_TRIED 100
#define PREFIX      "selftest-"

/* A directory has no text. */
static const struct {
	const char *path;
	const char *text;
} tree[] = {
	{ "state", NULL },
	{ "outside", NULL },
	{ "outside/file", "a file of the host\n" },
	{ "outside/input", "input\n" },
	{ "room", NULL },
	{ "room/" SELFTEST_LOCK, "" },
	{ "room/plain", "plain\n" },
	{ "room/directory", NULL },
	{ "room/directory/a", NULL },
	{ "room/directory/a/b", NULL },
	{ "room/.env", "TOKEN=secret\n" },
	{ "room/.git", NULL },
	{ "room/.git/HEAD", "ref: refs/heads/main\n" },
	{ "room/.git/config", "[core]\n\trepositoryformatversion = 0\n" },
	{ "room/.git/hooks", NULL },
	{ "room/.git/objects", NULL },
	{ "room/.git/refs", NULL },
};

static int write_file(int dir, const char *path, const char *text)
{
	FD_AUTO fd = openat(dir, path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	return fd < 0 ? -errno : io_write_full(fd, text, strlen(text));
}

static int fill(struct selftest_host *h, int dir, const char *base)
{
	const char *text =
		arena_printf(h->arena, "version: 1\n"
				       "sandbox:\n"
				       "  roots:\n"
				       "    - {path: \".\", at: " SELFTEST_ROOM ", mode: rw}\n"
				       "permissions:\n"
				       "  agents: {selftest: allow}\n");
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(tree); i++) {
		if (tree[i].text != NULL)
			r = write_file(dir, tree[i].path, tree[i].text);
		else if (mkdirat(dir, tree[i].path, 0700) != 0)
			r = -errno;
	}
	if (r == 0)
		r = write_file(dir, "room/selftest.yaml", text);
	h->room = path_join(h->arena, base, "room");
	h->state = path_join(h->arena, base, "state");
	h->profile = path_join(h->arena, h->room, "selftest.yaml");
	if (r == 0 && (size_t)snprintf(h->ctx.outside, sizeof(h->ctx.outside), "%s/outside/file",
				       base) >= sizeof(h->ctx.outside))
		r = -ENAMETOOLONG;
	return r;
}

static int listen_on(const struct sockaddr *sa, socklen_t len, int *ret)
{
	*ret = socket(sa->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (*ret < 0 || bind(*ret, sa, len) != 0 || listen(*ret, 8) != 0)
		return -errno;
	return 0;
}

static int open_sockets(struct selftest_host *h, int dir)
{
	struct sockaddr_in in = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	socklen_t len = sizeof(in);
	char *name = h->ctx.abstract;
	static const char *const places[] = { "room/host.sock", "room/directory/a/b/host.sock" };
	int r = listen_on((const struct sockaddr *)&in, len, &h->listeners[0]);

	if (r == 0 && getsockname(h->listeners[0], (struct sockaddr *)&in, &len) != 0)
		r = -errno;
	h->ctx.port = ntohs(in.sin_port);
	(void)snprintf(name, sizeof(h->ctx.abstract), "@agentbox-selftest-%d", (int)getpid());
	memcpy(un.sun_path, name, strlen(name));
	un.sun_path[0] = '\0';
	if (r == 0)
		r = listen_on((const struct sockaddr *)&un,
			      (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name)),
			      &h->listeners[1]);
	/* By its directory's descriptor: the path may be too long for an address. */
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(places); i++) {
		(void)snprintf(un.sun_path, sizeof(un.sun_path), "/proc/self/fd/%d/%s", dir,
			       places[i]);
		r = listen_on((const struct sockaddr *)&un, sizeof(un), &h->listeners[2 + i]);
	}
	return r;
}

/* What the attacker is to find: a FIFO that the host reads, its own input, a descriptor too many.
 */
static int open_files(struct selftest_host *h, int dir)
{
	if (mkfifoat(dir, "room/" SELFTEST_FIFO, 0600) != 0)
		return -errno;
	h->fifo_fd =
		openat(dir, "room/" SELFTEST_FIFO, O_RDWR | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
	h->stdin_fd = openat(dir, "outside/input", O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	h->lock_fd = openat(dir, "room/" SELFTEST_LOCK, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	h->leak_fd = fcntl(dir, F_DUPFD, 50);
	return h->fifo_fd < 0 || h->stdin_fd < 0 || h->lock_fd < 0 || h->leak_fd < 0 ? -errno : 0;
}

static int make_dir(struct selftest_host *h, const char *state_dir, const char **ret_base)
{
	for (unsigned i = 0; i < NAMES_TRIED; i++) {
		const char *name = arena_printf(h->arena, PREFIX "%d-%u", (int)getpid(), i);

		if (mkdirat(h->state_fd, name, 0700) == 0) {
			h->name = name;
			*ret_base = path_join(h->arena, state_dir, name);
			return 0;
		}
		if (errno != EEXIST)
			break;
	}
	return -errno;
}

/* Links are removed, never followed: it matters not who moves what meanwhile. */
static int remove_tree(int parent, const char *name, unsigned depth)
{
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;
	int r = 0;

	if (d == NULL)
		return -errno;
	while ((e = readdir(d)) != NULL) {
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		if (unlinkat(fd, e->d_name, 0) == 0)
			continue;
		if (errno != EISDIR || depth == 0)
			r = -errno;
		else if (remove_tree(fd, e->d_name, depth - 1) != 0)
			r = -errno;
	}
	(void)closedir(d);
	return unlinkat(parent, name, AT_REMOVEDIR) == 0 || r != 0 ? r : -errno;
}

/* The process that make_dir() names a directory by, or 0: then it is no name of ours. */
static pid_t maker_of(const char *name)
{
	char again[NAME_MAX + 1];
	char *end = NULL;
	long pid, i;

	if (strncmp(name, PREFIX, strlen(PREFIX)) != 0)
		return 0;
	pid = strtol(name + strlen(PREFIX), &end, 10);
	i = *end == '-' ? strtol(end + 1, NULL, 10) : -1;
	/* Exactly as it is written there. */
	(void)snprintf(again, sizeof(again), PREFIX "%ld-%ld", pid, i);
	return pid > 0 && pid <= INT_MAX && i >= 0 && strcmp(again, name) == 0 ? (pid_t)pid : 0;
}

/* Whether the directory is the caller's and its maker was killed. The pid alone does not tell, it
 * may be of another pid namespace; nor does the lock, which is taken after the directory is made.
 */
static bool is_left(int state_fd, const char *name)
{
	FD_AUTO fd = openat(state_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	pid_t pid = maker_of(name);
	struct stat st;

	return fd >= 0 && pid > 0 && kill(pid, 0) != 0 && errno == ESRCH && fstat(fd, &st) == 0 &&
	       st.st_uid == geteuid() && flock(fd, LOCK_EX | LOCK_NB) == 0;
}

/* What cannot be removed stays for the next one. */
static void remove_leftovers(int state_fd)
{
	int fd = openat(state_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *e;

	if (d == NULL) {
		fd_close(&fd);
		return;
	}
	while ((e = readdir(d)) != NULL)
		if (maker_of(e->d_name) != 0 && is_left(state_fd, e->d_name))
			(void)remove_tree(state_fd, e->d_name, TREE_DEPTH);
	(void)closedir(d);
}

int selftest_host_make(struct arena *a, const char *state_dir, struct selftest_host *ret,
		       struct err *err)
{
	struct audit *log;
	const char *base = NULL;
	FD_AUTO dir = -1;
	int r;

	*ret = (struct selftest_host){ .arena = a,
				       .state_fd = -1,
				       .lock_fd = -1,
				       .leak_fd = -1,
				       .fifo_fd = -1,
				       .stdin_fd = -1,
				       .listeners = { -1, -1, -1, -1 },
				       .ctx.pid = (int)getpid() };
	/* Walks there without following a link, and makes what is missing. */
	if (audit_open(state_dir, geteuid(), NULL, &log, err) != 0)
		return -1;
	audit_close(log);
	ret->state_fd = open(state_dir, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (ret->state_fd >= 0)
		remove_leftovers(ret->state_fd);
	r = ret->state_fd < 0 ? -errno : make_dir(ret, state_dir, &base);
	if (r == 0) {
		dir = openat(ret->state_fd, ret->name,
			     O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		/* Held for as long as leak_fd is open, which shares it. */
		r = dir < 0 || flock(dir, LOCK_EX | LOCK_NB) != 0 ? -errno : fill(ret, dir, base);
	}
	if (r == 0)
		r = open_sockets(ret, dir);
	if (r == 0)
		r = open_files(ret, dir);
	return r == 0 ? 0 : err_set(err, ERR_HOST, -r, "a private directory in %s", state_dir);
}

bool selftest_host_left(const struct selftest_host *h)
{
	if (flock(h->lock_fd, LOCK_EX | LOCK_NB) != 0)
		return true;
	(void)flock(h->lock_fd, LOCK_UN);
	return false;
}

int selftest_host_close(struct selftest_host *h)
{
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(h->listeners); i++)
		fd_close(&h->listeners[i]);
	fd_close(&h->lock_fd);
	fd_close(&h->leak_fd);
	fd_close(&h->fifo_fd);
	fd_close(&h->stdin_fd);
	if (h->state_fd >= 0 && h->name != NULL)
		r = remove_tree(h->state_fd, h->name, TREE_DEPTH);
	fd_close(&h->state_fd);
	return r;
}
