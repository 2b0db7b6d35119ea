/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Each system call of the steps fails in turn, or answers an idle 0 where the step looks at what
 * came of it: the command must not run. Usage: test-fault root|user|userns */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "box.h"
#include "tap.h"

struct fault {
	const char *name;
	int nr;
	int arg_index;        /* BOX_ANY: whatever the arguments */
	uint32_t arg;         /* low half of that argument */
	int errnum;           /* 0: an idle success */
	enum child_step step; /* NONE: tolerated, the command runs */
	enum { ALL, ROOT, NOT_ROOT } callers;
};

/* clang-format off */
static const struct fault faults[] = {
	{ "mount_setattr", 442, BOX_ANY, 0, EPERM, CHILD_STEP_PROPAGATION, ALL },
	{ "mount_setattr of a tree", 442, 2, 0x9000, EPERM, CHILD_STEP_SOURCES, ALL },
	{ "mount_setattr of the root", 442, 2, 0x1000, EPERM, CHILD_STEP_SEAL, ALL },
	{ "openat2", 437, BOX_ANY, 0, ENOSYS, CHILD_STEP_SOURCES, ALL },
	{ "statx", SYS_statx, BOX_ANY, 0, ENOSYS, CHILD_STEP_SOURCES, ALL },
	{ "open_tree", 428, BOX_ANY, 0, ENOSYS, CHILD_STEP_SOURCES, ALL },
	{ "prlimit", SYS_prlimit64, BOX_ANY, 0, EPERM, CHILD_STEP_SOURCES, ALL },
	{ "recvfrom", SYS_recvfrom, 2, 16, EIO, CHILD_STEP_WAIT_IDS, ALL },
	{ "setgroups", SYS_setgroups, BOX_ANY, 0, EPERM, CHILD_STEP_IDENTITY, ROOT },
	{ "getgroups", SYS_getgroups, BOX_ANY, 0, EPERM, CHILD_STEP_IDENTITY, ROOT },
	{ "setresgid", SYS_setresgid, BOX_ANY, 0, EPERM, CHILD_STEP_IDENTITY, ROOT },
	{ "setresuid", SYS_setresuid, BOX_ANY, 0, EPERM, CHILD_STEP_IDENTITY, ROOT },
	{ "getresuid", SYS_getresuid, BOX_ANY, 0, EPERM, CHILD_STEP_IDENTITY, ALL },
	{ "getresgid", SYS_getresgid, BOX_ANY, 0, EPERM, CHILD_STEP_IDENTITY, ALL },
	{ "PR_SET_PDEATHSIG", SYS_prctl, 0, 1, EINVAL, CHILD_STEP_DEATH_SIGNAL, ALL },
	{ "setsid", SYS_setsid, BOX_ANY, 0, EPERM, CHILD_STEP_SESSION, ALL },
	{ "rt_sigaction", SYS_rt_sigaction, BOX_ANY, 0, EINVAL, CHILD_STEP_SESSION, ALL },
	{ "rt_sigprocmask", SYS_rt_sigprocmask, 0, 2, EINVAL, CHILD_STEP_SESSION, ALL },
	{ "umask", SYS_umask, BOX_ANY, 0, EPERM, CHILD_STEP_SESSION, ALL },
	{ "umask while building", SYS_umask, 0, 0, EPERM, CHILD_STEP_BUILD, ALL },
	{ "idle umask", SYS_umask, BOX_ANY, 0, 0, CHILD_STEP_SESSION, ALL },
	{ "keyctl absent", SYS_keyctl, BOX_ANY, 0, ENOSYS, CHILD_STEP_NONE, ALL },
	{ "keyctl", SYS_keyctl, BOX_ANY, 0, EPERM, CHILD_STEP_KEYRING, ALL },
	{ "sethostname", SYS_sethostname, BOX_ANY, 0, EPERM, CHILD_STEP_HOSTNAME, ALL },
	{ "socket", SYS_socket, BOX_ANY, 0, EPERM, CHILD_STEP_NETNS, ALL },
	{ "SIOCGSKNS", SYS_ioctl, 1, 0x894c, EPERM, CHILD_STEP_NETNS, ALL },
	{ "SIOCGIFFLAGS", SYS_ioctl, 1, 0x8913, EPERM, CHILD_STEP_LOOPBACK, ALL },
	{ "SIOCSIFFLAGS", SYS_ioctl, 1, 0x8914, EPERM, CHILD_STEP_LOOPBACK, ALL },
	{ "fsopen", 430, BOX_ANY, 0, EPERM, CHILD_STEP_ROOT, ALL },
	{ "fsconfig text", 431, 1, 1, EINVAL, CHILD_STEP_ROOT, ALL },
	{ "fsconfig create", 431, 1, 6, EPERM, CHILD_STEP_ROOT, ALL },
	{ "fsmount", 432, BOX_ANY, 0, EPERM, CHILD_STEP_ROOT, ALL },
	{ "move_mount", 429, BOX_ANY, 0, EPERM, CHILD_STEP_ROOT, ALL },
	{ "fchdir", SYS_fchdir, BOX_ANY, 0, EPERM, CHILD_STEP_PIVOT, ALL },
	{ "pivot_root", SYS_pivot_root, BOX_ANY, 0, EPERM, CHILD_STEP_PIVOT, ALL },
	{ "umount2", SYS_umount2, BOX_ANY, 0, EPERM, CHILD_STEP_DETACH, ALL },
	{ "chdir", SYS_chdir, BOX_ANY, 0, EPERM, CHILD_STEP_DETACH, ALL },
	{ "mkdirat", SYS_mkdirat, BOX_ANY, 0, EPERM, CHILD_STEP_BUILD, ALL },
	{ "mkdirat of the probe", SYS_mkdirat, 2, 0700, EPERM, CHILD_STEP_SEAL, ALL },
	{ "symlinkat", SYS_symlinkat, BOX_ANY, 0, EPERM, CHILD_STEP_BUILD, ALL },
	{ "getcwd", SYS_getcwd, BOX_ANY, 0, ENOENT, CHILD_STEP_WORKDIR, ALL },
	{ "fcntl", SYS_fcntl, 1, 1030, EMFILE, CHILD_STEP_DESCRIPTORS, ALL },
	{ "dup3", SYS_dup3, BOX_ANY, 0, EBUSY, CHILD_STEP_DESCRIPTORS, ALL },
	{ "close_range", 436, BOX_ANY, 0, ENOSYS, CHILD_STEP_DESCRIPTORS, ALL },
	{ "PR_CAP_AMBIENT", SYS_prctl, 0, 47, EINVAL, CHILD_STEP_PRIVILEGES, ALL },
	{ "PR_CAPBSET_DROP", SYS_prctl, 0, 24, EPERM, CHILD_STEP_PRIVILEGES, ALL },
	{ "PR_CAPBSET_DROP unknown", SYS_prctl, 0, 24, EINVAL, CHILD_STEP_PRIVILEGES, ALL },
	{ "capset", SYS_capset, BOX_ANY, 0, EPERM, CHILD_STEP_PRIVILEGES, ALL },
	{ "PR_SET_NO_NEW_PRIVS", SYS_prctl, 0, 38, EINVAL, CHILD_STEP_PRIVILEGES, ALL },
	{ "PR_SET_DUMPABLE", SYS_prctl, 0, 4, EINVAL, CHILD_STEP_PRIVILEGES, ALL },
	{ "capget", SYS_capget, BOX_ANY, 0, EPERM, CHILD_STEP_PRIVILEGES, ALL },
	{ "PR_CAPBSET_READ", SYS_prctl, 0, 23, EPERM, CHILD_STEP_PRIVILEGES, ALL },
	{ "PR_GET_NO_NEW_PRIVS", SYS_prctl, 0, 39, EINVAL, CHILD_STEP_PRIVILEGES, ALL },
	{ "PR_GET_DUMPABLE", SYS_prctl, 0, 3, EINVAL, CHILD_STEP_PRIVILEGES, ALL },
	{ "PR_GET_PDEATHSIG", SYS_prctl, 0, 2, EINVAL, CHILD_STEP_PRIVILEGES, ALL },
	{ "signalfd4", SYS_signalfd4, BOX_ANY, 0, EMFILE, CHILD_STEP_SPAWN, ALL },
	{ "clone", SYS_clone, BOX_ANY, 0, EAGAIN, CHILD_STEP_SPAWN, ALL },
	{ "setpgid", SYS_setpgid, BOX_ANY, 0, EPERM, CHILD_STEP_SPAWN, ALL },
	{ "prlimit of init", SYS_prlimit64, 1, 4, EPERM, CHILD_STEP_FILTER, ALL },
	{ "prlimit of the command", SYS_prlimit64, 1, 1, EPERM, CHILD_STEP_SPAWN, ALL },
	{ "idle mount_setattr", 442, BOX_ANY, 0, 0, CHILD_STEP_SEAL, ALL },
	{ "idle setresuid", SYS_setresuid, BOX_ANY, 0, 0, CHILD_STEP_IDENTITY, ROOT },
	{ "idle setresgid", SYS_setresgid, BOX_ANY, 0, 0, CHILD_STEP_IDENTITY, ROOT },
	{ "idle PR_SET_PDEATHSIG", SYS_prctl, 0, 1, 0, CHILD_STEP_PRIVILEGES, ALL },
	{ "idle setsid", SYS_setsid, BOX_ANY, 0, 0, CHILD_STEP_SESSION, ALL },
	{ "idle keyctl", SYS_keyctl, BOX_ANY, 0, 0, CHILD_STEP_KEYRING, ALL },
	{ "idle pivot_root", SYS_pivot_root, BOX_ANY, 0, 0, CHILD_STEP_PIVOT, ALL },
	{ "idle umount2", SYS_umount2, BOX_ANY, 0, 0, CHILD_STEP_DETACH, ALL },
	{ "idle mkdirat", SYS_mkdirat, BOX_ANY, 0, 0, CHILD_STEP_BUILD, ALL },
	{ "idle mkdirat of the probe", SYS_mkdirat, 2, 0700, 0, CHILD_STEP_SEAL, ALL },
	{ "idle fchdir", SYS_fchdir, BOX_ANY, 0, 0, CHILD_STEP_PIVOT, ALL },
	{ "idle close_range", 436, BOX_ANY, 0, 0, CHILD_STEP_DESCRIPTORS, ALL },
	{ "idle capset", SYS_capset, BOX_ANY, 0, 0, CHILD_STEP_PRIVILEGES, ALL },
	{ "idle PR_CAPBSET_DROP", SYS_prctl, 0, 24, 0, CHILD_STEP_PRIVILEGES, ALL },
	/* The change of ids has cleared it already where there is one. */
	{ "idle PR_SET_DUMPABLE", SYS_prctl, 0, 4, 0, CHILD_STEP_PRIVILEGES, NOT_ROOT },
	{ "seccomp", SYS_seccomp, BOX_ANY, 0, EINVAL, CHILD_STEP_FILTER, ALL },
	/* There is a filter then, the one of this test, but it is not ours. */
	{ "idle seccomp", SYS_seccomp, BOX_ANY, 0, 0, CHILD_STEP_FILTER, ALL },
	{ "PR_GET_SECCOMP", SYS_prctl, 0, 21, EPERM, CHILD_STEP_FILTER, ALL },
	{ "idle PR_GET_SECCOMP", SYS_prctl, 0, 21, 0, CHILD_STEP_FILTER, ALL },
	{ "nothing", SYS_reboot, BOX_ANY, 0, EPERM, CHILD_STEP_NONE, ALL },
};
/* clang-format on */

/* The step that the child named, CHILD_STEP_NONE when the command ran; -1 for anything else. */
static int step_under(const struct fault *f, struct box *b)
{

	if (!box_fault(f->nr, f->arg_index, f->arg, f->errnum))
		return 200;
	box_run(b);
	if (b->r.failed.kind == CHILD_REPORT_FAILED && !b->r.exec)
		return (int)b->r.failed.step;
	return b->r.exec ? CHILD_STEP_NONE : 201;
}

static void test_faults(struct tap *t, enum box_caller caller)
{
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
		const struct fault *f = &faults[i];
		int status, step;
		struct box *b;
		pid_t pid;
		bool ran;

		if (f->callers != ALL && (f->callers == ROOT) != (caller == BOX_CALLER_ROOT))
			continue;
		b = box_new(caller);
		box_sh(b, "echo ran > /work/marker");
		b->rlimits[0] = (struct plan_rlimit){ 4 /* RLIMIT_CORE */, 1, 1 };
		b->rlimits[1] = (struct plan_rlimit){ 1 /* RLIMIT_FSIZE */, 1 << 20, 1 << 20 };
		b->plan.n_rlimits = 2;
		fflush(stdout);
		pid = fork();
		if (pid == 0)
			_exit(step_under(f, b));
		waitpid(pid, &status, 0);
		step = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
		ran = box_exists(box_path(b, "work/marker"));
		if (!tap_ok(t, step == (int)f->step && ran == (f->step == CHILD_STEP_NONE),
			    "%s (errno %d): %s", f->name, f->errnum,
			    f->step == CHILD_STEP_NONE ? "tolerated" : child_step_name(f->step)))
			printf("# step %d (%s), %s\n", step, child_step_name((enum child_step)step),
			       ran ? "ran" : "did not run");
		box_free(b);
	}
}

int main(int argc, char **argv)
{
	static const box_test tests[] = {
		test_faults,
	};

	return box_main(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
