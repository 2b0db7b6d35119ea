/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "audit/audit.h"
#include "audit/log.h"
#include "base/fd.h"
#include "base/io.h"
#include "base/path.h"

#define SYSTEM_STATE_DIR "/var/lib/agentbox"
#define DIR_FLAGS        (O_PATH | O_NOFOLLOW | O_DIRECTORY | O_CLOEXEC)
#define LOCK_WAIT_NS     (10 * 1000000000LL)
#define REOPEN_MAX       8
#define OVERFLOW_UID     65534 /* user_namespaces(7): what an unmapped owner looks like */

struct walk {
	const char *path;
	size_t len; /* of path, up to and with the component looked at */
	uid_t euid;
};

/* "dir/" and "dir//" are dir: what follows the last component names nothing. */
static const char *dir_text(struct arena *a, const char *s)
{
	size_t n = strlen(s);

	while (n > 1 && s[n - 1] == '/')
		n--;
	return arena_strndup(a, s, n);
}

int audit_state_dir(struct arena *a, const char *override, const char *xdg_state_home,
		    const char *home, uid_t euid, const char **ret, struct err *err)
{
	if (override != NULL) {
		if (override[0] == '\0')
			return err_set(err, ERR_AUDIT, 0, "the state directory given is empty");
		*ret = dir_text(a, override);
		return 0;
	}
	if (euid == 0) {
		*ret = SYSTEM_STATE_DIR;
		return 0;
	}
	/* The XDG specification: a value that is not absolute is to be ignored. */
	if (xdg_state_home != NULL && xdg_state_home[0] == '/') {
		*ret = path_join(a, dir_text(a, xdg_state_home), "agentbox");
		return 0;
	}
	if (home == NULL || home[0] != '/')
		return err_set(err, ERR_AUDIT, 0,
			       "no state directory: neither XDG_STATE_HOME nor a home directory is "
			       "known; give one with --state DIR");
	*ret = path_join(a, dir_text(a, home), ".local/state/agentbox");
	return 0;
}

/* In a user namespace that does not map every id, directories of the host's root show up as the
 * overflow uid. Nobody in there can tell root from other users outside, so they are taken for
 * root; the namespace's creator chose the path, and the log itself must still be the caller's. */
static bool owner_is_outside(uid_t uid)
{
	static const char all[] = "         0          0 4294967295\n";
	char map[sizeof(all)];
	FD_AUTO fd = -1;
	ssize_t n;

	if (uid != OVERFLOW_UID)
		return false;
	fd = open("/proc/self/uid_map", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = io_read_full(fd, map, sizeof(map));
	return n > 0 && ((size_t)n != sizeof(all) - 1 || memcmp(map, all, sizeof(all) - 1) != 0);
}

static int walk_check(const struct walk *w, int fd, struct err *err)
{
	bool last = w->path[w->len] == '\0';
	int len = (int)w->len;
	struct stat st;
	bool root;

	if (fstat(fd, &st) != 0)
		return err_set(err, ERR_AUDIT, errno, "cannot look at '%.*s'", len, w->path);
	root = st.st_uid == 0 || owner_is_outside(st.st_uid);
	if (!root && st.st_uid != w->euid)
		return err_set(err, ERR_AUDIT, 0,
			       "state directory '%s': '%.*s' belongs to uid %u, not to uid %u or "
			       "root; give another with --state DIR",
			       w->path, len, w->path, (unsigned)st.st_uid, (unsigned)w->euid);
	if ((st.st_mode & 022) == 0)
		return 0;
	/* In a sticky directory of root's nobody can move what is not theirs; but anybody could
	 * sit on the names of our files, so the state directory itself must be closed. */
	if (root && (st.st_mode & S_ISVTX) != 0 && !last)
		return 0;
	return err_set(err, ERR_AUDIT, 0,
		       "state directory '%s': others may write to '%.*s' (mode %04o); "
		       "chmod go-w it, or give another with --state DIR",
		       w->path, len, w->path, (unsigned)st.st_mode & 07777);
}

static int walk_fail(const struct walk *w, int dir_fd, const char *name, int errnum,
		     struct err *err)
{
	struct stat st;

	if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st.st_mode))
		return err_set(err, ERR_AUDIT, 0,
			       "state directory '%s': '%.*s' is a symbolic link, and links are not "
			       "followed; give the real path with --state DIR",
			       w->path, (int)w->len, w->path);
	return err_set(err, ERR_AUDIT, errnum,
		       "state directory '%s': cannot open or create '%.*s' (--state DIR gives "
		       "another)",
		       w->path, (int)w->len, w->path);
}

/* Only called below a directory that passed walk_check(). */
static int walk_step(const struct walk *w, int dir_fd, const char *name, struct err *err)
{
	int fd = openat(dir_fd, name, DIR_FLAGS);

	if (fd < 0 && errno == ENOENT) {
		if (mkdirat(dir_fd, name, 0700) != 0 && errno != EEXIST)
			return walk_fail(w, dir_fd, name, errno, err);
		fd = openat(dir_fd, name, DIR_FLAGS);
	}
	if (fd < 0)
		return walk_fail(w, dir_fd, name, errno, err);
	return fd;
}

static int walk_open(const char *path, uid_t euid, int *ret, struct err *err)
{
	struct walk w = { .path = path, .len = 1, .euid = euid };
	FD_AUTO fd = -1;

	if (!path_is_canonical(path))
		return err_set(err, ERR_AUDIT, 0,
			       "state directory '%s' is not an absolute path without '.', '..' and "
			       "empty components",
			       path);
	fd = open("/", DIR_FLAGS);
	if (fd < 0)
		return err_set(err, ERR_AUDIT, errno, "cannot open '/'");
	if (walk_check(&w, fd, err) != 0)
		return -1;
	for (const char *p = path + 1; *p != '\0';) {
		size_t n = strcspn(p, "/");
		char name[NAME_MAX + 1];
		int next;

		w.len = (size_t)(p - path) + n;
		if (n > NAME_MAX)
			return err_set(err, ERR_AUDIT, ENAMETOOLONG, "state directory '%s'", path);
		memcpy(name, p, n);
		name[n] = '\0';
		next = walk_step(&w, fd, name, err);
		if (next < 0)
			return -1;
		fd_close(&fd);
		fd = next;
		if (walk_check(&w, fd, err) != 0)
			return -1;
		p += n;
		p += *p == '/';
	}
	*ret = fd_take(&fd);
	return 0;
}

static int log_check(const struct audit *au, const struct stat *st, struct err *err)
{
	if (!S_ISREG(st->st_mode))
		return err_set(err, ERR_AUDIT, 0,
			       "audit log '%s/" AUDIT_FILE "' is not a regular file; move it away",
			       au->dir);
	if (st->st_uid != au->euid)
		return err_set(err, ERR_AUDIT, 0,
			       "audit log '%s/" AUDIT_FILE "' belongs to uid %u, not to uid %u; "
			       "move it away, or give another directory with --state DIR",
			       au->dir, (unsigned)st->st_uid, (unsigned)au->euid);
	if ((st->st_mode & 077) != 0)
		return err_set(err, ERR_AUDIT, 0,
			       "audit log '%s/" AUDIT_FILE "' is open to others (mode %04o); run: "
			       "chmod 600 '%s/" AUDIT_FILE "'",
			       au->dir, (unsigned)st->st_mode & 07777, au->dir);
	if (st->st_nlink > 1)
		return err_set(err, ERR_AUDIT, 0,
			       "audit log '%s/" AUDIT_FILE "' has %lu names; remove the others",
			       au->dir, (unsigned long)st->st_nlink);
	return 0;
}

int audit_log_open(struct audit *au, struct err *err)
{
	struct stat st;

	fd_close(&au->fd);
	au->wrote_size = 0;
	for (int i = 0; i < REOPEN_MAX; i++) {
		FD_AUTO fd = openat(au->dir_fd, AUDIT_FILE,
				    O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC |
					    O_NONBLOCK | O_NOCTTY,
				    0600);

		if (fd < 0 && errno == ELOOP)
			return err_set(err, ERR_AUDIT, 0,
				       "audit log '%s/" AUDIT_FILE "' is a symbolic link; move it "
				       "away",
				       au->dir);
		if (fd < 0)
			return err_set(err, ERR_AUDIT, errno,
				       "cannot open the audit log '%s/" AUDIT_FILE "'", au->dir);
		if (fstat(fd, &st) != 0)
			return err_set(err, ERR_AUDIT, errno,
				       "cannot look at the audit log '%s/" AUDIT_FILE "'", au->dir);
		if (log_check(au, &st, err) != 0)
			return -1;
		/* Renamed over or removed between the two calls: there is a newer one. */
		if (st.st_nlink == 0)
			continue;
		au->dev = st.st_dev;
		au->ino = st.st_ino;
		au->fd = fd_take(&fd);
		return 0;
	}
	return err_set(err, ERR_AUDIT, 0, "audit log '%s/" AUDIT_FILE "' keeps being replaced",
		       au->dir);
}

int audit_lock_fd(int fd, int op)
{
	struct timespec start, now;
	struct timespec nap = { .tv_nsec = 20000 };

	if (flock(fd, op | LOCK_NB) == 0)
		return 0;
	(void)clock_gettime(CLOCK_MONOTONIC, &start);
	for (;;) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return -errno;
		(void)clock_gettime(CLOCK_MONOTONIC, &now);
		if ((now.tv_sec - start.tv_sec) * 1000000000LL + now.tv_nsec - start.tv_nsec >
		    LOCK_WAIT_NS)
			return -ETIMEDOUT;
		(void)nanosleep(&nap, NULL);
		if (nap.tv_nsec < 2000000)
			nap.tv_nsec *= 2;
		if (flock(fd, op | LOCK_NB) == 0)
			return 0;
	}
}

int audit_open(const char *state_dir, uid_t euid, const struct audit_options *opt,
	       struct audit **ret, struct err *err)
{
	struct arena mem = { .kind = ARENA_HOST };
	struct audit *au = arena_new(&mem, struct audit);

	*au = (struct audit){ .dir_fd = -1, .fd = -1, .lost_fd = -1, .euid = euid };
	au->dir = arena_strdup(&mem, state_dir);
	au->mem = mem;
	if (opt != NULL)
		au->opt = *opt;
	audit_head_init(&au->wrote_head);
	if (audit_sinks_check(&au->opt, err) != 0 ||
	    (!au->opt.no_file && (walk_open(state_dir, euid, &au->dir_fd, err) != 0 ||
				  audit_log_open(au, err) != 0 || audit_lost_open(au, err) != 0))) {
		audit_close(au);
		return -1;
	}
	*ret = au;
	return 0;
}

void audit_close(struct audit *au)
{
	struct arena mem;

	if (au == NULL)
		return;
	fd_close(&au->dir_fd);
	fd_close(&au->fd);
	fd_close(&au->lost_fd);
	mem = au->mem;
	arena_free(&mem);
}
