/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "run/stdfd.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/fd.h"
#include "run/blame.h"
#include "run/tty.h"

/* Output kept in memory when the plan names no limit. */
#define CAPTURE_DEFAULT ((uint64_t)1024 * 1024)

enum std_class {
	STD_REFUSED = 0,
	STD_NULL,   /* /dev/null */
	STD_CLOSED, /* not open; counts as /dev/null */
	STD_PIPE,   /* with a name or without */
	STD_REGULAR,
	STD_SOCKET,
	STD_TERMINAL,
};

struct std_look {
	enum std_class class;
	const char *word; /* for messages */
	struct stat st;
};

static const char *const std_names[] = { "standard input", "standard output", "standard error" };

static enum std_class look_char(int fd, const struct stat *st)
{
	if (st->st_rdev == makedev(1, 3))
		return STD_NULL;
	return isatty(fd) ? STD_TERMINAL : STD_REFUSED;
}

static void std_look(int fd, struct std_look *ret)
{
	*ret = (struct std_look){ .word = "an object of a kind that is not passed on" };
	if (fstat(fd, &ret->st) != 0) {
		if (errno == EBADF)
			ret->class = STD_CLOSED;
		return;
	}
	switch (ret->st.st_mode & S_IFMT) {
	case S_IFREG:
		ret->class = STD_REGULAR;
		break;
	case S_IFSOCK:
		ret->class = STD_SOCKET;
		break;
	case S_IFIFO:
		ret->class = STD_PIPE;
		break;
	case S_IFCHR:
		ret->class = look_char(fd, &ret->st);
		ret->word = "a device";
		break;
	case S_IFBLK:
		ret->word = "a block device";
		break;
	case S_IFDIR:
		ret->word = "a directory";
		break;
	}
}

static int std_refuse(int i, const struct std_look *look, struct err *err)
{
	return err_set(err, ERR_REQUEST, 0,
		       "%s is %s, which the sandbox does not take; redirect it %s /dev/null, a "
		       "file or a pipe",
		       std_names[i], look->word, i == 0 ? "from" : "to");
}

static enum pump_far far_kind(enum std_class class)
{
	switch (class) {
	case STD_REGULAR:
		return PUMP_FAR_REGULAR;
	case STD_SOCKET:
		return PUMP_FAR_SOCKET;
	case STD_PIPE:
	case STD_TERMINAL:
	case STD_NULL:
	case STD_CLOSED:
	case STD_REFUSED:
		break;
	}
	return PUMP_FAR_STREAM;
}

/* The numbers must not be 0 to 2, or the child would overwrite one while placing another. */
static int fd_above(int fd, int *ret, struct err *err)
{
	*ret = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	if (*ret < 0)
		return err_set(err, ERR_HOST, errno, "cannot duplicate a descriptor");
	return 0;
}

static int child_null(int i, int *ret, struct err *err)
{
	FD_AUTO fd = open("/dev/null", (i == 0 ? O_RDONLY : O_WRONLY) | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) != 0)
		return err_set(err, ERR_HOST, errno, "cannot open /dev/null");
	if (!S_ISCHR(st.st_mode) || st.st_rdev != makedev(1, 3))
		return err_set(err, ERR_HOST, 0, "/dev/null of this host is not the null device");
	return fd_above(fd, ret, err);
}

/* A pipe of ours: @near stays here, *ret_child is for the child. */
static int child_pipe(int i, const struct plan *plan, int *ret_near, int *ret_child,
		      struct err *err)
{
	int p[2];

	if (pipe2(p, O_CLOEXEC) != 0)
		return err_set(err, ERR_HOST, errno, "cannot make a pipe");

	FD_AUTO near = p[i == 0 ? 1 : 0];
	FD_AUTO other = p[i == 0 ? 0 : 1];

	/* Only our end: O_NONBLOCK belongs to the open file, and each end is one. */
	if (fcntl(near, F_SETFL, O_NONBLOCK) != 0)
		return err_set(err, ERR_HOST, errno, "cannot prepare a pipe");
	/* The command may open it again by name (/dev/stdout): it must own it. */
	if (plan->ids.switch_ids && fchown(near, plan->ids.outside_uid, plan->ids.outside_gid) != 0)
		return blame_at(err, CAUSE_IDS, errno, "cannot give a pipe to the sandbox's user");
	if (fd_above(other, ret_child, err) != 0)
		return -1;
	*ret_near = fd_take(&near);
	return 0;
}

/* Do two descriptors write to one place, so that one pump can serve both and keep the order? */
static bool same_target(int a, int b, const struct std_look *la, const struct std_look *lb)
{
	if (la->class != lb->class)
		return false;
	if (a == b)
		return true;
	if (la->class == STD_TERMINAL)
		return la->st.st_rdev == lb->st.st_rdev;
	if (la->class == STD_PIPE)
		return la->st.st_dev == lb->st.st_dev && la->st.st_ino == lb->st.st_ino;
	/* A file opened twice has two positions: only one and the same opening is one target. */
	return syscall(SYS_kcmp, getpid(), getpid(), KCMP_FILE, a, b) == 0;
}

static struct pump *pump_add(struct stdfd_set *set)
{
	return &set->pumps[set->n_pumps++];
}

static int output_pump(struct stdfd_set *set, int i, const struct plan *plan, int far,
		       enum pump_far kind, struct strbuf *sink, struct err *err)
{
	struct pump *p;
	int near = -1;

	if (child_pipe(i, plan, &near, &set->child[i], err) != 0)
		return -1;
	p = pump_add(set);
	pump_init_output(p, std_names[i], near, far, kind);
	p->sink = sink;
	p->budget = &set->budget;
	p->guard = &set->guard;
	return 0;
}

static int open_input(struct stdfd_set *set, const struct plan *plan, const struct run_options *opt,
		      struct err *err)
{
	struct std_look look = { .class = STD_CLOSED };
	int fd = opt->caller_stdio[0];
	struct pump *p;
	int near = -1;

	if (opt->terminal) {
		set->terminal |= 1U << 0;
		return 0;
	}
	if (opt->stdin_mode == RUN_STDIN_CALLER)
		std_look(fd, &look);
	if (look.class == STD_REFUSED)
		return std_refuse(0, &look, err);
	if (look.class == STD_CLOSED || look.class == STD_NULL)
		return child_null(0, &set->child[0], err);
	if (child_pipe(0, plan, &near, &set->child[0], err) != 0)
		return -1;
	p = pump_add(set);
	pump_init_input(p, near, fd, far_kind(look.class));
	p->guard = &set->guard;
	return 0;
}

static int open_output(struct stdfd_set *set, int i, const struct plan *plan,
		       const struct run_options *opt, const struct std_look *look, struct err *err)
{
	int fd = opt->caller_stdio[i];

	if (look->class == STD_REFUSED)
		return std_refuse(i, look, err);
	/* Nothing that goes to /dev/null needs counting, but a limit is a limit. */
	if (look->class == STD_CLOSED || (look->class == STD_NULL && !plan->output_limited))
		return child_null(i, &set->child[i], err);
	return output_pump(set, i, plan, fd, far_kind(look->class), NULL, err);
}

static int open_capture(struct stdfd_set *set, const struct plan *plan,
			const struct run_options *opt, struct strbuf sink[2], struct err *err)
{
	if (!plan->output_limited) {
		set->budget.limited = true;
		set->budget.left = CAPTURE_DEFAULT;
	}
	if (output_pump(set, 1, plan, -1, PUMP_FAR_NONE, &sink[0], err) != 0)
		return -1;
	if (opt->capture_split)
		return output_pump(set, 2, plan, -1, PUMP_FAR_NONE, &sink[1], err);
	return fd_above(set->child[1], &set->child[2], err);
}

static int open_outputs(struct stdfd_set *set, const struct plan *plan,
			const struct run_options *opt, struct err *err)
{
	const int *fds = opt->caller_stdio;
	struct std_look out, errs;
	size_t before;

	std_look(fds[1], &out);
	std_look(fds[2], &errs);
	before = set->n_pumps;
	if (open_output(set, 1, plan, opt, &out, err) != 0)
		return -1;
	/* With one pipe for both, what the command wrote first comes out first. */
	if (set->n_pumps > before && same_target(fds[1], fds[2], &out, &errs))
		return fd_above(set->child[1], &set->child[2], err);
	return open_output(set, 2, plan, opt, &errs, err);
}

/* What is redirected away from the terminal stays so. */
static int open_terminal(struct stdfd_set *set, const struct plan *plan,
			 const struct run_options *opt, struct err *err)
{
	const int *fds = opt->caller_stdio;
	struct std_look errs;

	if (opt->capture || !tty_same(fds[0], fds[1]))
		return err_set(err, ERR_REQUEST, 0,
			       "standard input and output are not one terminal");
	set->terminal |= 1U << 1;
	if (tty_same(fds[1], fds[2])) {
		set->terminal |= 1U << 2;
		return 0;
	}
	std_look(fds[2], &errs);
	return open_output(set, 2, plan, opt, &errs, err);
}

int stdfd_add_terminal(struct stdfd_set *set, const struct run_options *opt, int master,
		       struct talk *talk, struct err *err)
{
	struct pump *p;
	int in, out;

	if (fd_above(master, &in, err) != 0)
		return -1;
	p = pump_add(set);
	pump_init_input(p, in, opt->caller_stdio[0], PUMP_FAR_STREAM);
	p->guard = &set->guard;
	p->pty = true;
	p->talk = talk;
	if (fd_above(master, &out, err) != 0)
		return -1;
	p = pump_add(set);
	pump_init_output(p, std_names[1], out, opt->caller_stdio[1], PUMP_FAR_STREAM);
	p->budget = &set->budget;
	p->guard = &set->guard;
	p->pty = true;
	p->talk = talk;
	return 0;
}

int stdfd_open(struct stdfd_set *set, const struct plan *plan, const struct run_options *opt,
	       struct strbuf sink[2], struct err *err)
{
	int r;

	memset(set, 0, sizeof(*set));
	for (size_t i = 0; i < ARRAY_SIZE(set->child); i++)
		set->child[i] = -1;
	pump_guard_init(&set->guard);
	set->budget.limited = plan->output_limited;
	set->budget.left = plan->output_bytes;
	r = open_input(set, plan, opt, err);
	if (r == 0)
		r = opt->terminal  ? open_terminal(set, plan, opt, err)
		    : opt->capture ? open_capture(set, plan, opt, sink, err)
				   : open_outputs(set, plan, opt, err);
	if (r != 0)
		stdfd_free(set);
	return r;
}

void stdfd_close_child(struct stdfd_set *set)
{
	for (size_t i = 0; i < ARRAY_SIZE(set->child); i++)
		fd_close(&set->child[i]);
}

void stdfd_free(struct stdfd_set *set)
{
	stdfd_close_child(set);
	for (size_t i = 0; i < set->n_pumps; i++)
		pump_free(&set->pumps[i]);
	set->n_pumps = 0;
	pump_guard_free(&set->guard);
}
