/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Acts on processes, credentials, keyrings and the environment. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <linux/keyctl.h>

#include "probe.h"

extern char **environ;

static int status_line(const char *key)
{
	FILE *f = fopen("/proc/self/status", "re");
	size_t len = strlen(key);
	char line[512];

	if (f == NULL)
		return -errno;
	while (fgets(line, sizeof(line), f) != NULL)
		if (strncmp(line, key, len) == 0 && line[len] == ':')
			printf(" %s=%s", key, line + len + 1 + strspn(line + len + 1, "\t "));
	fclose(f);
	return 0;
}

static int act_status(char **args)
{
	printf("ok");
	return status_line(args[0]);
}

static int act_caps(char **args)
{
	static const char *const keys[] = { "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb" };

	(void)args;
	printf("ok");
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (status_line(keys[i]) < 0)
			return -EIO;
	return 0;
}

static int act_ids(char **args)
{
	(void)args;
	printf("ok uid=%u euid=%u gid=%u egid=%u groups=%d\n", getuid(), geteuid(), getgid(),
	       getegid(), getgroups(0, NULL));
	return 0;
}

static int act_session(char **args)
{
	int tty = open("/dev/tty", O_RDWR | O_CLOEXEC);

	(void)args;
	printf("ok pid=%d ppid=%d pgid=%d sid=%d tty=%s\n", getpid(), getppid(), getpgrp(),
	       getsid(0), tty >= 0 ? "yes" : "no");
	return 0;
}

static int act_setuid(char **args)
{
	uid_t id = (uid_t)probe_number(args[0]);

	return probe_result(setresuid(id, id, id));
}

static int act_setgroups0(char **args)
{
	(void)args;
	return probe_result(syscall(SYS_setgroups, (size_t)0, NULL));
}

static int act_unshare_user(char **args)
{
	(void)args;
	return probe_result(unshare(CLONE_NEWUSER));
}

static int act_ptrace(char **args)
{
	return probe_result(ptrace(PTRACE_SEIZE, (pid_t)probe_number(args[0]), NULL, NULL));
}

static int act_kill(char **args)
{
	return probe_result(kill((pid_t)probe_number(args[0]), (int)probe_number(args[1])));
}

static int act_rlimit(char **args)
{
	struct rlimit rl;

	if (getrlimit((__rlimit_resource_t)probe_number(args[0]), &rl) < 0)
		return -errno;
	printf("ok %llu %llu\n", (unsigned long long)rl.rlim_cur, (unsigned long long)rl.rlim_max);
	return 0;
}

static int act_umask(char **args)
{
	(void)args;
	printf("ok %04o\n", umask(0));
	return 0;
}

/* Prints the session keyring: its serial and what the kernel calls it. */
static int act_keyring(char **args)
{
	char buf[256];
	long id = syscall(SYS_keyctl, KEYCTL_GET_KEYRING_ID, KEY_SPEC_SESSION_KEYRING, 0);

	(void)args;
	if (id < 0)
		return -errno;
	if (syscall(SYS_keyctl, KEYCTL_DESCRIBE, id, buf, sizeof(buf)) < 0)
		return -errno;
	printf("ok %ld %s\n", id, buf);
	return 0;
}

static int act_key_add(char **args)
{
	return probe_result(syscall(SYS_add_key, "user", args[0], args[1], strlen(args[1]),
				    KEY_SPEC_SESSION_KEYRING));
}

static int act_key_find(char **args)
{
	return probe_result(
		syscall(SYS_keyctl, KEYCTL_SEARCH, KEY_SPEC_SESSION_KEYRING, "user", args[0], 0));
}

/* For callers of the tests: a new session keyring with one key in it, then the command. */
static int act_key_exec(char **args)
{
	if (syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) < 0)
		return -errno;
	if (syscall(SYS_add_key, "user", args[0], "x", (size_t)1, KEY_SPEC_SESSION_KEYRING) < 0)
		return -errno;
	execvp(args[1], args + 1);
	return -errno;
}

static int act_spew(char **args)
{
	char buf[8192];
	long left = probe_number(args[0]);

	memset(buf, 'x', sizeof(buf));
	while (left > 0) {
		ssize_t n = write(1, buf, left < (long)sizeof(buf) ? (size_t)left : sizeof(buf));

		if (n < 0)
			return -errno;
		left -= n;
	}
	return 0;
}

/* Leaves behind a process in its own session that ignores TERM and HUP, holds stdout open and
 * touches MARKER once it is there. */
static int act_daemonize(char **args)
{
	int gate[2];
	char c;

	if (pipe(gate) < 0)
		return -errno;
	if (fork() == 0) {
		setsid();
		if (fork() > 0)
			_exit(0);
		signal(SIGTERM, SIG_IGN);
		signal(SIGHUP, SIG_IGN);
		signal(SIGINT, SIG_IGN);
		close(open(args[1], O_WRONLY | O_CREAT | O_CLOEXEC, 0666));
		(void)!write(gate[1], "x", 1);
		sleep((unsigned)probe_number(args[0]));
		_exit(0);
	}
	close(gate[1]);
	return read(gate[0], &c, 1) == 1 ? PROBE_OK : -EPIPE;
}

/* N double-forked children that end at once; their ends are init's to collect. */
static int act_orphans(char **args)
{
	for (long i = probe_number(args[0]); i > 0; i--) {
		pid_t p = fork();
		int status;

		if (p < 0)
			return -errno;
		if (p == 0)
			_exit(fork() < 0 ? errno : 0);
		if (waitpid(p, &status, 0) != p || !WIFEXITED(status))
			return -ECHILD;
		if (WEXITSTATUS(status) != 0)
			return -WEXITSTATUS(status);
	}
	return PROBE_OK;
}

/* Memory that is used, of one kind. */
static char *hog_map(const char *kind, size_t size)
{
	int flags = strcmp(kind, "private") == 0 ? MAP_PRIVATE : MAP_SHARED;
	int fd = -1;

	if (strcmp(kind, "memfd") != 0)
		flags |= MAP_ANONYMOUS;
	else if ((fd = (int)syscall(SYS_memfd_create, "hog", 0)) < 0 ||
		 ftruncate(fd, (off_t)size) != 0)
		return MAP_FAILED;
	return mmap(NULL, size, PROT_READ | PROT_WRITE, flags, fd, 0);
}

/* BYTES in each of N processes, held for ten minutes. What is dropped is shared, and mapped
 * nowhere. */
static int act_hog(char **args)
{
	const struct timespec long_time = { .tv_sec = 600 };
	size_t size = (size_t)probe_number(args[1]);
	char *p;

	for (long n = probe_number(args[2]); n > 1; n--)
		if (fork() == 0)
			break;
	p = hog_map(args[0], size);
	if (p == MAP_FAILED)
		return -errno;
	for (size_t i = 0; i < size; i += 4096) {
		p[i] = 1;
		if (strcmp(args[0], "dropped") == 0)
			madvise(p + i, 4096, MADV_DONTNEED);
	}
	nanosleep(&long_time, NULL);
	return PROBE_OK;
}

static int act_sleep(char **args)
{
	struct timespec ts = { .tv_sec = probe_number(args[0]) };

	while (nanosleep(&ts, &ts) < 0 && errno == EINTR)
		;
	return PROBE_OK;
}

static int act_exit(char **args)
{
	exit((int)probe_number(args[0]));
}

static int act_signal(char **args)
{
	signal((int)probe_number(args[0]), SIG_DFL);
	raise((int)probe_number(args[0]));
	return PROBE_OK;
}

static int act_env(char **args)
{
	(void)args;
	puts("ok");
	for (char **e = environ; *e != NULL; e++)
		puts(*e);
	return 0;
}

static int act_getenv(char **args)
{
	const char *v = getenv(args[0]);

	if (v == NULL)
		return -ENOENT;
	printf("ok %s\n", v);
	return 0;
}

const struct probe_act probe_proc_acts[] = {
	{ "status", 1, act_status, "KEY" },
	{ "caps", 0, act_caps, "" },
	{ "ids", 0, act_ids, "" },
	{ "session", 0, act_session, "" },
	{ "setuid", 1, act_setuid, "UID" },
	{ "setgroups0", 0, act_setgroups0, "" },
	{ "unshare-user", 0, act_unshare_user, "" },
	{ "ptrace", 1, act_ptrace, "PID" },
	{ "kill", 2, act_kill, "PID SIGNAL" },
	{ "rlimit", 1, act_rlimit, "NUMBER" },
	{ "umask", 0, act_umask, "" },
	{ "keyring", 0, act_keyring, "" },
	{ "key-add", 2, act_key_add, "NAME VALUE" },
	{ "key-find", 1, act_key_find, "NAME" },
	{ "key-exec", 2, act_key_exec, "NAME CMD..." },
	{ "spew", 1, act_spew, "BYTES" },
	{ "daemonize", 2, act_daemonize, "SECONDS MARKER" },
	{ "orphans", 1, act_orphans, "N" },
	{ "hog", 3, act_hog, "private|shared|memfd|dropped BYTES PROCESSES" },
	{ "sleep", 1, act_sleep, "SECONDS [TOKEN]" },
	{ "exit", 1, act_exit, "STATUS" },
	{ "signal", 1, act_signal, "NUMBER" },
	{ "env", 0, act_env, "" },
	{ "getenv", 1, act_getenv, "NAME" },
	{ NULL, 0, NULL, NULL },
};
