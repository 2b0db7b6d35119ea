/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Each system call of the steps fails in turn, or answers an idle 0 where the step looks at what
 * came of it: the command must not run. Usage: test-fault root|user|userns */
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "box.h"
#include "tap.h"

#define ANY (-1)

struct fault {
	const char *name;
	int nr;
	int arg_index;        /* ANY: whatever the arguments */
	uint32_t arg;         /* low half of that argument */
	int errnum;           /* 0: an idle success */
	enum child_step step; /* NONE: tolerated, the command runs */
	enum { ALL, ROOT, NOT_ROOT } callers;
};

/* clang-format off */
static const struct fault faults[] = {
	{ "mount_setattr", 442, ANY, 0, EPERM, CHILD_STEP_PROPAGATION, ALL },
	{ "mount_setattr of a tree", 442, 2, 0x9000, EPERM, CHILD_STEP_SOURCES, ALL },
	{ "mount_setattr of the root", 442, 2, 0x1000, EPERM, CHILD_STEP_SEAL, ALL },
	{ "openat2", 437, ANY, 0, ENOSYS, CHILD_STEP_SOURCES, ALL },
	{ "statx", SYS_statx, ANY, 0, ENOSYS, CHILD_STEP_SOURCES, ALL },
	{ "open_tree", 428, ANY, 0, ENOSYS, CHILD_STEP_SOURCES, ALL },
	{ "prlimit", SYS_prlimit64, ANY, 0, EPERM, CHILD_STEP_SOURCES, ALL },
	{ "recvfrom", SYS_recvfrom, 2, 16, EIO, CHILD_STEP_WAIT_IDS, ALL },
	{ "setgroups", SYS_setgroups, ANY, 0, EPERM, CHILD_STEP_IDENTITY, ROOT },
	{ "getgroups", SYS_getgroups, ANY, 0, EPERM, CHILD_STEP_IDENTITY, ROOT },
	{ "setresgid", SYS_setresgid, ANY, 0, EPERM, CHILD_STEP_IDENTITY, ROOT },
	{ "setresuid", SYS_setresuid, ANY, 0, EPERM, CHILD_STEP_IDENTITY, ROOT },
	{ "getresuid", SYS_getresuid, ANY, 0, EPERM, CHILD_STEP_IDENTITY, ALL },
	{ "getresgid", SYS_getresgid, ANY, 0, EPERM, CHILD_STEP_IDENTITY, ALL },
	{ "PR_SET_PDEATHSIG", SYS_prctl, 0, 1, EINVAL, CHILD_STEP_DEATH_SIGNAL, ALL },
	{ "setsid", SYS_setsid, ANY, 0, EPERM, CHILD_STEP_SESSION, ALL },
	{ "rt_sigaction", SYS_rt_sigaction, ANY, 0, EINVAL, CHILD_STEP_SESSION, ALL },
	{ "rt_sigprocmask", SYS_rt_sigprocmask, 0, 2, EINVAL, CHILD_STEP_SESSION, ALL },
	{ "umask", SYS_umask, ANY, 0, EPERM, CHILD_STEP_SESSION, ALL },
	{ "umask while building", SYS_umask, 0, 0, EPERM, CHILD_STEP_BUILD, ALL },
	{ "idle umask", SYS_umask, ANY, 0, 0, CHILD_STEP_SESSION, ALL },
	{ "keyctl absent", SYS_keyctl, ANY, 0, ENOSYS, CHILD_STEP_NONE, ALL },
	{ "keyctl", SYS_keyctl, ANY, 0, EPERM, CHILD_STEP_KEYRING, ALL },
	{ "sethostname", SYS_sethostname, ANY, 0, EPERM, CHILD_STEP_HOSTNAME, ALL },
	{ "socket", SYS_socket, ANY, 0, EPERM, CHILD_STEP_LOOPBACK, ALL },
	{ "SIOCGIFFLAGS", SYS_ioctl, 1, 0x8913, EPERM, CHILD_STEP_LOOPBACK, ALL },
	{ "SIOCSIFFLAGS", SYS_ioctl, 1, 0x8914, EPERM, CHILD_STEP_LOOPBACK, ALL },
	{ "fsopen", 430, ANY, 0, EPERM, CHILD_STEP_ROOT, ALL },
	{ "fsconfig text", 431, 1, 1, EINVAL, CHILD_STEP_ROOT, ALL },
	{ "fsconfig create", 431, 1, 6, EPERM, CHILD_STEP_ROOT, ALL },
	{ "fsmount", 432, ANY, 0, EPERM, CHILD_STEP_ROOT, ALL },
	{ "move_mount", 429, ANY, 0, EPERM, CHILD_STEP_ROOT, ALL },
	{ "fchdir", SYS_fchdir, ANY, 0, EPERM, CHILD_STEP_PIVOT, ALL },
	{ "pivot_root", SYS_pivot_root, ANY, 0, EPERM, CHILD_STEP_PIVOT, ALL },
	{ "umount2", SYS_umount2, ANY, 0, EPERM, CHILD_STEP_PIVOT, ALL },
	{ "chdir", SYS_chdir, ANY, 0, EPERM, CHILD_STEP_PIVOT, ALL },
	{ "mkdirat", SYS_mkdirat, ANY, 0, EPERM, CHILD_STEP_BUILD, ALL },
	{ "mkdirat of the probe", SYS_mkdirat, 2, 0700, EPERM, CHILD_STEP_SEAL, ALL },
	{ "symlinkat", SYS_symlinkat, ANY, 0, EPERM, CHILD_STEP_BUILD, ALL },
	{ "getcwd", SYS_getcwd, ANY, 0, ENOENT, CHILD_STEP_WORKDIR, ALL },
	{ "fcntl", SYS_fcntl, 1, 1030, EMFILE, CHILD_STEP_DESCRIPTORS, ALL },
	{ "dup3", SYS_dup3, ANY, 0, EBUSY, CHILD_STEP_DESCRIPTORS, ALL },
	{ "close_range", 436, ANY, 0, ENOSYS, CHILD_STEP_DESCRIPTORS, ALL },
	{ "PR_CAP_AMBIENT", SYS_prctl, 0, 47, EINVAL, CHILD_STEP_PRIVILEGES, ALL },
	{ "PR_CAPBSET_DROP", SYS_prctl, 0, 24, EPERM, CHILD_STEP_PRIVILEGES, ALL },
	{ "PR_CAPBSET_DROP unknown", SYS_prctl, 0, 24, EINVAL, CHILD_STEP_PRIVILEGES, ALL },
	{ "capset", SYS_capset, ANY, 0, EPERM, CHILD_STEP_PRIVILEGES, ALL },
	{ "PR_SET_NO_NEW_PRIVS", SYS_prctl, 0, 38, EINVAL, CHILD_STEP_PRIVILEGES, ALL },
	{ "PR_SET_DUMPABLE", SYS_prctl, 0, 4, EINVAL, CHILD_STEP_PRIVILEGES, ALL },
	{ "capget", SYS_capget, ANY, 0, EPERM, CHILD_STEP_PRIVILEGES, ALL },
	{ "PR_CAPBSET_READ", SYS_prctl, 0, 23, EPERM, CHILD_STEP_PRIVILEGES, ALL },
	{ "PR_GET_NO_NEW_PRIVS", SYS_prctl, 0, 39, EINVAL, CHILD_STEP_PRIVILEGES, ALL },
	{ "PR_GET_DUMPABLE", SYS_prctl, 0, 3, EINVAL, CHILD_STEP_PRIVILEGES, ALL },
	{ "PR_GET_PDEATHSIG", SYS_prctl, 0, 2, EINVAL, CHILD_STEP_PRIVILEGES, ALL },
	{ "signalfd4", SYS_signalfd4, ANY, 0, EMFILE, CHILD_STEP_SPAWN, ALL },
	{ "clone", SYS_clone, ANY, 0, EAGAIN, CHILD_STEP_SPAWN, ALL },
	{ "setpgid", SYS_setpgid, ANY, 0, EPERM, CHILD_STEP_SPAWN, ALL },
	{ "prlimit of init", SYS_prlimit64, 1, 4, EPERM, CHILD_STEP_FILTER, ALL },
	{ "prlimit of the command", SYS_prlimit64, 1, 1, EPERM, CHILD_STEP_SPAWN, ALL },
	{ "idle mount_setattr", 442, ANY, 0, 0, CHILD_STEP_SEAL, ALL },
	{ "idle setresuid", SYS_setresuid, ANY, 0, 0, CHILD_STEP_IDENTITY, ROOT },
	{ "idle setresgid", SYS_setresgid, ANY, 0, 0, CHILD_STEP_IDENTITY, ROOT },
	{ "idle PR_SET_PDEATHSIG", SYS_prctl, 0, 1, 0, CHILD_STEP_PRIVILEGES, ALL },
	{ "idle setsid", SYS_setsid, ANY, 0, 0, CHILD_STEP_SESSION, ALL },
	{ "idle keyctl", SYS_keyctl, ANY, 0, 0, CHILD_STEP_KEYRING, ALL },
	{ "idle pivot_root", SYS_pivot_root, ANY, 0, 0, CHILD_STEP_PIVOT, ALL },
	{ "idle umount2", SYS_umount2, ANY, 0, 0, CHILD_STEP_PIVOT, ALL },
	{ "idle mkdirat", SYS_mkdirat, ANY, 0, 0, CHILD_STEP_BUILD, ALL },
	{ "idle mkdirat of the probe", SYS_mkdirat, 2, 0700, 0, CHILD_STEP_SEAL, ALL },
	{ "idle fchdir", SYS_fchdir, ANY, 0, 0, CHILD_STEP_PIVOT, ALL },
	{ "idle close_range", 436, ANY, 0, 0, CHILD_STEP_DESCRIPTORS, ALL },
	{ "idle capset", SYS_capset, ANY, 0, 0, CHILD_STEP_PRIVILEGES, ALL },
	{ "idle PR_CAPBSET_DROP", SYS_prctl, 0, 24, 0, CHILD_STEP_PRIVILEGES, ALL },
	/* The change of ids has cleared it already where there is one. */
	{ "idle PR_SET_DUMPABLE", SYS_prctl, 0, 4, 0, CHILD_STEP_PRIVILEGES, NOT_ROOT },
	{ "seccomp", SYS_seccomp, ANY, 0, EINVAL, CHILD_STEP_FILTER, ALL },
	/* There is a filter then, the one of this test, but it is not ours. */
	{ "idle seccomp", SYS_seccomp, ANY, 0, 0, CHILD_STEP_FILTER, ALL },
	{ "PR_GET_SECCOMP", SYS_prctl, 0, 21, EPERM, CHILD_STEP_FILTER, ALL },
	{ "idle PR_GET_SECCOMP", SYS_prctl, 0, 21, 0, CHILD_STEP_FILTER, ALL },
	{ "nothing", SYS_reboot, ANY, 0, EPERM, CHILD_STEP_NONE, ALL },
};
/* clang-format on */

static int install(const struct fault *f)
{
	const uint32_t off = (uint32_t)(offsetof(struct seccomp_data, args) +
					8 * (size_t)(f->arg_index == ANY ? 0 : f->arg_index));
	/* Always equal when the arguments do not matter. */
	struct sock_filter prog[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)f->nr, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, off),
		BPF_JUMP(BPF_JMP | (f->arg_index == ANY ? BPF_JGE : BPF_JEQ) | BPF_K,
			 f->arg_index == ANY ? 0 : f->arg, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (uint32_t)f->errnum),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog p = { sizeof(prog) / sizeof(prog[0]), prog };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p) != 0;
}

/* The step that the child named, CHILD_STEP_NONE when the command ran; -1 for anything else. */
static int step_under(const struct fault *f, struct box *b)
{

	if (install(f) != 0)
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
