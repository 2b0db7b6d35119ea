/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <sched.h>

#include "audit-test.h"

/* Open a state directory as @euid; the error's text, or NULL when it opened. Static storage
 * would be shared, so the text lives in @err. */
static const char *open_as(const char *dir, uid_t euid, struct err *err)
{
	struct audit *au = NULL;

	*err = (struct err){ 0 };
	if (audit_open(dir, euid, NULL, &au, err) == 0) {
		audit_close(au);
		return NULL;
	}
	return err->msg;
}

static void opens(struct tap *t, const char *dir, const char *what)
{
	struct err err;
	const char *msg = open_as(dir, geteuid(), &err);

	tap_ok(t, msg == NULL, "accepted: %s%s%s", what, msg == NULL ? "" : ": ",
	       msg == NULL ? "" : msg);
}

static void refuses(struct tap *t, const char *dir, const char *says, const char *what)
{
	struct err err;
	const char *msg = open_as(dir, geteuid(), &err);

	tap_ok(t, msg != NULL && err.code == ERR_AUDIT && strstr(msg, says) != NULL,
	       "refused: %s: %s", what, msg == NULL ? "(it opened)" : msg);
}

static void test_state_dir(struct tap *t)
{
	static const struct {
		const char *override, *xdg, *home;
		uid_t euid;
		const char *want;
	} rows[] = {
		{ NULL, "/x", "/root", 0, "/var/lib/agentbox" },
		{ NULL, NULL, NULL, 0, "/var/lib/agentbox" },
		{ "/s", "/x", "/root", 0, "/s" },
		{ "/s/", "/x", "/h", 7, "/s" },
		{ "/", "/x", "/h", 7, "/" },
		{ NULL, "/x", "/h", 7, "/x/agentbox" },
		{ NULL, "/x//", "/h", 7, "/x/agentbox" },
		{ NULL, "", "/h", 7, "/h/.local/state/agentbox" },
		{ NULL, "rel", "/h/", 7, "/h/.local/state/agentbox" },
		{ NULL, NULL, "/h", 7, "/h/.local/state/agentbox" },
		{ NULL, NULL, "rel", 7, NULL },
		{ NULL, NULL, NULL, 7, NULL },
		{ "", "/x", "/h", 7, NULL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct arena a = { 0 };
		const char *got = NULL;
		struct err err = { 0 };
		int r = audit_state_dir(&a, rows[i].override, rows[i].xdg, rows[i].home,
					rows[i].euid, &got, &err);

		tap_str(t, got, rows[i].want, "state directory");
		tap_ok(t, r == (rows[i].want == NULL ? -1 : 0) && err.set == (r != 0),
		       "and its return: %d %s", r, err.msg);
		arena_free(&a);
	}
}

static void test_made(struct tap *t)
{
	ENV_AUTO e = { 0 };
	char path[160];
	struct stat st;
	mode_t old = umask(0);
	static const char *const made[] = { "/a", "/a/b", "/a/b/c" };

	env_make(&e);
	(void)snprintf(path, sizeof(path), "%s/a/b/c", e.dir);
	opens(t, path, "a directory to be made, umask 0");
	umask(old);
	for (size_t i = 0; i < ARRAY_SIZE(made); i++) {
		(void)snprintf(path, sizeof(path), "%s%s", e.dir, made[i]);
		tap_ok(t, stat(path, &st) == 0 && (st.st_mode & 07777) == 0700, "%s is 0700: %o",
		       made[i], st.st_mode);
	}
	(void)snprintf(path, sizeof(path), "%s/a/b/c/" AUDIT_FILE, e.dir);
	tap_ok(t, stat(path, &st) == 0 && (st.st_mode & 07777) == 0600, "log is 0600: %o",
	       st.st_mode);
	(void)unlink(path);
	(void)snprintf(path, sizeof(path), "%s/a/b/c/audit.lost", e.dir);
	tap_ok(t, stat(path, &st) == 0 && (st.st_mode & 07777) == 0600 && st.st_size == 4096,
	       "audit.lost is 0600 and taken beforehand: %o, %lld bytes", st.st_mode,
	       (long long)st.st_size);
	(void)unlink(path);
	for (size_t i = ARRAY_SIZE(made); i-- > 0;) {
		(void)snprintf(path, sizeof(path), "%s%s", e.dir, made[i]);
		(void)rmdir(path);
	}
}

static void test_links(struct tap *t)
{
	ENV_AUTO e = { 0 };
	char real[160], link[160], sub[200];

	env_make(&e);
	(void)snprintf(real, sizeof(real), "%s/real", e.dir);
	(void)snprintf(link, sizeof(link), "%s/link", e.dir);
	tap_ok(t, mkdir(real, 0700) == 0 && symlink("real", link) == 0, "a directory and a link");
	refuses(t, link, "symbolic link", "the last component is a link");
	(void)snprintf(sub, sizeof(sub), "%s/sub", link);
	refuses(t, sub, "symbolic link", "a component is a link");
	tap_int(t, rmdir(real), 0, "nothing was made behind the link");
	tap_int(t, mkdir(real, 0700), 0, "again");
	(void)snprintf(sub, sizeof(sub), "%s/%s", real, AUDIT_FILE);
	opens(t, real, "the same path without the link");
	(void)unlink(sub);
	(void)snprintf(sub, sizeof(sub), "%s/audit.lost", real);
	(void)unlink(sub);
	(void)rmdir(real);
	(void)unlink(link);
}

static void test_modes(struct tap *t)
{
	ENV_AUTO e = { 0 };
	struct err err;
	const char *msg;

	env_make(&e);
	opens(t, e.dir, "0700");
	for (mode_t mode = 0; mode < 0100; mode++) {
		bool ok = (mode & 022) == 0;

		(void)chmod(e.dir, 0700 | mode);
		msg = open_as(e.dir, geteuid(), &err);
		if ((msg == NULL) != ok)
			tap_ok(t, false, "mode %04o: %s", 0700 | mode, msg == NULL ? "" : msg);
	}
	(void)chmod(e.dir, 0702);
	refuses(t, e.dir, "chmod go-w", "others may write");
	(void)chmod(e.dir, 0720);
	refuses(t, e.dir, "chmod go-w", "the group may write");
	(void)chmod(e.dir, 01777);
	refuses(t, e.dir, "chmod go-w", "sticky, but where the files are");
	(void)chmod(e.dir, 0755);
	opens(t, e.dir, "0755");
	msg = open_as(e.dir, geteuid() + 1, &err);
	if (geteuid() == 0) {
		/* Its directory may be root's, its files may not. */
		tap_ok(t, msg != NULL && strstr(msg, "belongs to uid 0") != NULL,
		       "refused: a log of root's for another: %s", msg == NULL ? "opened" : msg);
		if (chown(e.dir, ORDINARY, ORDINARY) == 0)
			refuses(t, e.dir, "belongs to uid", "root, in a directory of another's");
		else
			tap_skip(t, "root, in a directory of another's", "no other id is mapped");
		tap_int(t, chown(e.dir, 0, 0), 0, "taken back");
	} else {
		tap_ok(t, msg != NULL && strstr(msg, "belongs to uid") != NULL,
		       "refused: a directory of another's: %s", msg == NULL ? "opened" : msg);
	}
	opens(t, e.dir, "one's own");
}

static void test_parent_modes(struct tap *t)
{
	ENV_AUTO e = { 0 };
	char sub[160], file[200];

	env_make(&e);
	(void)snprintf(sub, sizeof(sub), "%s/sub", e.dir);
	(void)chmod(e.dir, 0777);
	refuses(t, sub, "chmod go-w", "nothing is made below what others may write");
	tap_ok(t, rmdir(sub) == -1 && errno == ENOENT, "and it is not there");
	(void)chmod(e.dir, 0711);
	opens(t, sub, "below what others may only pass through");
	(void)snprintf(file, sizeof(file), "%s/" AUDIT_FILE, sub);
	(void)unlink(file);
	(void)snprintf(file, sizeof(file), "%s/audit.lost", sub);
	(void)unlink(file);
	(void)rmdir(sub);
}

static void test_log_file(struct tap *t)
{
	ENV_AUTO e = { 0 };
	char other[160];

	env_make(&e);
	(void)snprintf(other, sizeof(other), "%s/other", e.dir);
	opens(t, e.dir, "to begin with");
	(void)chmod(e.log, 0640);
	refuses(t, e.dir, "chmod 600", "log open to the group");
	(void)chmod(e.log, 0602);
	refuses(t, e.dir, "chmod 600", "log open to others");
	(void)chmod(e.log, 0600);
	opens(t, e.dir, "log closed again");
	tap_int(t, link(e.log, other), 0, "a second name");
	refuses(t, e.dir, "2 names", "log with two names");
	(void)unlink(e.log);
	tap_int(t, symlink("other", e.log), 0, "a link");
	refuses(t, e.dir, AUDIT_FILE, "log is a link");
	(void)unlink(e.log);
	(void)unlink(other);
	tap_int(t, mkfifo(e.log, 0600), 0, "a pipe");
	refuses(t, e.dir, "not a regular file", "log is a pipe");
	(void)unlink(e.log);
	opens(t, e.dir, "no log: a new one");
	(void)chmod(e.lost, 0644);
	refuses(t, e.dir, "audit.lost", "audit.lost open to others");
	(void)chmod(e.lost, 0600);
	tap_int(t, truncate(e.lost, 100), 0, "audit.lost cut");
	opens(t, e.dir, "it is made whole again");
}

static void test_paths(struct tap *t)
{
	char longer[400];

	refuses(t, "relative", "absolute", "a relative path");
	refuses(t, "", "absolute", "an empty path");
	refuses(t, "/tmp/../tmp/x", "absolute", "dot dot");
	refuses(t, "/tmp//x", "absolute", "an empty component");
	refuses(t, "/dev/null/x", "/dev/null", "a file in the way");
	refuses(t, "/proc/agentbox-no-such", "--state DIR", "where nothing can be made");
	(void)snprintf(longer, sizeof(longer), "/%0256d", 0);
	refuses(t, longer, "too long", "a component of 256 bytes");
}

static bool put(const char *path, const char *text)
{
	FD_AUTO fd = open(path, O_WRONLY | O_CLOEXEC);

	return fd >= 0 && io_write_full(fd, text, strlen(text)) == 0;
}

/* Inside `unshare -r`: own files are root's, those of the host's root are nobody's. */
static int in_userns(void)
{
	ENV_AUTO e = { 0 };
	struct err err;
	char map[64];
	const char *msg;

	if (become_ordinary() != 0)
		return CHILD_SKIP;
	env_make(&e);
	(void)snprintf(map, sizeof(map), "0 %u 1", (unsigned)geteuid());
	if (unshare(CLONE_NEWUSER) != 0 || !put("/proc/self/uid_map", map))
		return CHILD_SKIP;
	msg = open_as(e.dir, geteuid(), &err);
	printf("# uid %u: %s\n", (unsigned)geteuid(), msg == NULL ? "opened" : msg);
	return msg == NULL ? 0 : 1;
}

int main(void)
{
	struct tap t = { 0 };

	test_state_dir(&t);
	test_made(&t);
	test_links(&t);
	test_modes(&t);
	test_parent_modes(&t);
	test_log_file(&t);
	test_paths(&t);
	tap_child(&t, in_userns, "opened inside a user namespace");
	return tap_done(&t);
}
