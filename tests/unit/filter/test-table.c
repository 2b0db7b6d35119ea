/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Every number, on both architectures and with every set of options, against lists that were
 * written down from the kernel's own tables and not made from table.c. */
#include <errno.h>

#include "arch.h"
#include "base/macro.h"
#include "tap.h"

#define NOSYS (SECCOMP_RET_ERRNO | ENOSYS)
#define PERM  (SECCOMP_RET_ERRNO | EPERM)
#define FAMI  (SECCOMP_RET_ERRNO | EAFNOSUPPORT)
#define DONE  SECCOMP_RET_ERRNO
#define PASS  SECCOMP_RET_ALLOW

/* Numbers, ended by NONE. What is in no list is allowed up to the newest call, and ENOSYS after
 * it. */
struct expected {
	const int *refused, *unknown, *checked;
	/* Closed without the option: with EPERM, with ENOSYS. */
	const int *debug, *memfd, *io_uring, *keyrings, *userns_perm, *userns_nosys, *setid_nosys;
	const int *holes; /* pairs: first and last of a stretch that is not assigned */
};

static const int x86_refused[] = { 103, 153, 163, 164, 167, 168, 169, 172, 173, 175, 176, 179,
				   227, 246, 256, 279, 300, 301, 304, 313, 320, 443, NONE };
static const int x86_unknown[] = { 134, 136, 139, 154, 156, 174, 177, 178, 180, 181,
				   182, 183, 184, 185, 205, 211, 212, 214, 215, 236,
				   298, 321, 323, 459, 460, 461, 468, 469, NONE };
static const int x86_checked[] = { 2,   16,  41,  53,  56,  83,  85,  90,  91,  133, 135,
				   160, 240, 257, 258, 259, 268, 272, 302, 452, NONE };
static const int x86_debug[] = { 101, 310, 311, 312, 438, NONE };
static const int x86_memfd[] = { 319, 447, NONE };
static const int x86_keyrings[] = { 248, 249, 250, NONE };
static const int x86_userns_perm[] = { 155, 161, 165, 166, 170, 171, 308, NONE };
static const int x86_holes[] = { 337, 423, NONE };

static const int arm_refused[] = { 58,  60,  89,  104, 105, 106, 112, 116, 142, 170, 224,
				   225, 238, 239, 262, 263, 265, 273, 294, 443, NONE };
static const int arm_unknown[] = { 18, 42, 241, 280, 282, 459, 460, 461, 468, 469, NONE };
static const int arm_checked[] = { 29,  33,  34,  52,  53,  56,  92,  97,
				   164, 180, 198, 199, 220, 261, 452, NONE };
static const int arm_debug[] = { 117, 270, 271, 272, 438, NONE };
static const int arm_memfd[] = { 279, 447, NONE };
static const int arm_keyrings[] = { 217, 218, 219, NONE };
static const int arm_userns_perm[] = { 39, 40, 41, 51, 161, 162, 268, NONE };
static const int arm_holes[] = { 244, 259, 295, 423, NONE };

static const int io_uring[] = { 425, 426, 427, NONE };
static const int userns_nosys[] = { 428, 429, 430, 431, 432, 433, 435, 442, 457, 458, 467, NONE };
static const int setid_nosys[] = { 437, NONE };

#define NEWEST 469

static const struct expected x86_expected = {
	x86_refused,  x86_unknown,     x86_checked,  x86_debug,   x86_memfd, io_uring,
	x86_keyrings, x86_userns_perm, userns_nosys, setid_nosys, x86_holes,
};
static const struct expected arm_expected = {
	arm_refused,  arm_unknown,     arm_checked,  arm_debug,   arm_memfd, io_uring,
	arm_keyrings, arm_userns_perm, userns_nosys, setid_nosys, arm_holes,
};

static bool has(const int *list, int nr)
{
	while (*list != NONE && *list != nr)
		list++;
	return *list == nr;
}

static bool in_hole(const int *pairs, int nr)
{
	for (; *pairs != NONE; pairs += 2) {
		if (nr >= pairs[0] && nr <= pairs[1])
			return true;
	}
	return false;
}

static uint32_t expect(const struct expected *e, int nr, unsigned options)
{
	if (nr > NEWEST || in_hole(e->holes, nr) || has(e->unknown, nr))
		return NOSYS;
	if (has(e->refused, nr))
		return PERM;
	if (has(e->debug, nr))
		return options & FILTER_DEBUG ? PASS : PERM;
	if (has(e->userns_perm, nr))
		return options & FILTER_USERNS ? PASS : PERM;
	if ((has(e->memfd, nr) && !(options & FILTER_MEMFD)) ||
	    (has(e->io_uring, nr) && !(options & FILTER_IO_URING)) ||
	    (has(e->keyrings, nr) && !(options & FILTER_KEYRINGS)) ||
	    (has(e->userns_nosys, nr) && !(options & FILTER_USERNS)) ||
	    (has(e->setid_nosys, nr) && !(options & FILTER_SETID_BITS)))
		return NOSYS;
	return PASS;
}

static uint32_t ask(const struct arch *a, unsigned options, uint32_t arch, uint32_t nr,
		    const uint64_t *args)
{
	struct seccomp_data d = { .nr = (int)nr, .arch = arch };

	for (int i = 0; args != NULL && i < 4; i++)
		d.args[i] = args[i];
	return bpf_run(a->programs[options].code, a->programs[options].n, &d);
}

static void test_numbers(struct tap *t, const struct arch *a, const struct expected *e)
{
	for (unsigned o = 0; o < FILTER_OPTIONS_END; o++) {
		unsigned wrong = 0;

		if (a->programs[o].n == 0) {
			tap_ok(t, (o & FILTER_IO_URING) && !(o & FILTER_SETID_BITS),
			       "%s: no program for options %#x, which cannot hold", a->name, o);
			continue;
		}
		for (int nr = 0; nr <= 600; nr++) {
			uint32_t got, want;

			if (has(e->checked, nr))
				continue;
			got = ask(a, o, a->audit_arch, (uint32_t)nr, NULL);
			want = expect(e, nr, o);
			if (got == want)
				continue;
			wrong++;
			printf("# %s %d: got %#x, want %#x\n", a->name, nr, got, want);
		}
		tap_ok(t, wrong == 0, "%s: options %#x, numbers 0 to 600 (%u instructions)",
		       a->name, o, a->programs[o].n);
	}
}

/* Calls of another ABI, and numbers that are none. */
static void test_foreign(struct tap *t, const struct arch *a)
{
	static const struct {
		const char *what;
		uint32_t arch, bits;
	} foreign[] = {
		{ "i386", 0x40000003U, 0 },     { "arm", 0x40000028U, 0 },
		{ "no architecture", 0, 0 },    { "x32", 0, 0x40000000U },
		{ "negative", 0, 0x80000000U }, { "all high bits", 0, 0xfffff000U },
	};

	for (size_t i = 0; i < ARRAY_SIZE(foreign); i++) {
		uint32_t arch = foreign[i].bits != 0 ? a->audit_arch : foreign[i].arch;
		unsigned wrong = 0;

		for (unsigned o = 0; o < FILTER_OPTIONS_END; o++) {
			for (uint32_t nr = 0; nr <= 600 && a->programs[o].n > 0; nr++)
				wrong += ask(a, o, arch, nr | foreign[i].bits, NULL) != NOSYS;
		}
		tap_int(t, wrong, 0, foreign[i].what);
	}
	tap_int(t, ask(a, FILTER_DEFAULT, a->audit_arch, ~0U, NULL), NOSYS, "number -1");
}

#define HIGH 0xffffffff00000000ULL

#define IOCTL                                                                                      \
	{                                                                                          \
		16, 29                                                                             \
	}
#define SOCKET                                                                                     \
	{                                                                                          \
		41, 198                                                                            \
	}
#define SOCKETPAIR                                                                                 \
	{                                                                                          \
		53, 199                                                                            \
	}
#define CLONE                                                                                      \
	{                                                                                          \
		56, 220                                                                            \
	}
#define UNSHARE                                                                                    \
	{                                                                                          \
		272, 97                                                                            \
	}
#define PERSON                                                                                     \
	{                                                                                          \
		135, 92                                                                            \
	}
#define SETRLIMIT                                                                                  \
	{                                                                                          \
		160, 164                                                                           \
	}
#define PRLIMIT                                                                                    \
	{                                                                                          \
		302, 261                                                                           \
	}
#define USERNS FILTER_USERNS
#define SETID  FILTER_SETID_BITS

struct row {
	const char *what;
	struct number call;
	uint64_t args[4];
	uint32_t want;
	unsigned option; /* with it open: allowed */
};

static const struct row rows[] = {
	{ "ioctl TIOCSTI", IOCTL, { 0, 0x5412 }, PERM, 0 },
	{ "ioctl TIOCSTI, high bit", IOCTL, { 0, 0x100005412 }, PERM, 0 },
	{ "ioctl TIOCSTI, all high bits", IOCTL, { 0, HIGH | 0x5412 }, PERM, 0 },
	{ "ioctl TIOCLINUX", IOCTL, { 0, 0x541c }, PERM, 0 },
	{ "ioctl TIOCLINUX, high bit", IOCTL, { 0, HIGH | 0x541c }, PERM, 0 },
	{ "ioctl TIOCSETD", IOCTL, { 0, 0x5423 }, PERM, 0 },
	{ "ioctl TIOCSETD, high bit", IOCTL, { 0, HIGH | 0x5423 }, PERM, 0 },
	{ "ioctl TIOCGETD", IOCTL, { 0, 0x5424 }, PASS, 0 },
	{ "ioctl TCGETS", IOCTL, { 0x5412, 0x5401, 0x5412 }, PASS, 0 },
	{ "ioctl TIOCGWINSZ", IOCTL, { 0, 0x5413 }, PASS, 0 },

	{ "socket unix", SOCKET, { 1, 1, 0 }, PASS, 0 },
	{ "socket inet", SOCKET, { 2, 1, 6 }, PASS, 0 },
	{ "socket inet, flags", SOCKET, { 2, 1 | 02000000, 0 }, PASS, 0 },
	{ "socket inet6", SOCKET, { 10, 2, 17 }, PASS, 0 },
	{ "socket netlink route", SOCKET, { 16, 3, 0 }, PASS, 0 },
	{ "socket netlink route, high", SOCKET, { HIGH | 16, 3, HIGH }, PASS, 0 },
	{ "socket netlink usersock", SOCKET, { 16, 3, 2 }, FAMI, 0 },
	{ "socket netlink audit", SOCKET, { 16, 3, 9 }, FAMI, 0 },
	{ "socket netlink uevent, high", SOCKET, { 16, 3, HIGH | 15 }, FAMI, 0 },
	{ "socket packet", SOCKET, { 17, 3, 0 }, FAMI, 0 },
	{ "socket vsock", SOCKET, { 40, 1, 0 }, FAMI, 0 },
	{ "socket vsock, high", SOCKET, { HIGH | 40, 1, 0 }, FAMI, 0 },
	{ "socket alg", SOCKET, { 38, 5, 0 }, FAMI, 0 },
	{ "socketpair unix", SOCKETPAIR, { 1, 1, 0 }, PASS, 0 },
	{ "socketpair tipc", SOCKETPAIR, { 30, 1, 0 }, FAMI, 0 },

	{ "clone as fork", CLONE, { 0x01200011 }, PASS, USERNS },
	{ "clone as pthread_create", CLONE, { 0x003d0f00 }, PASS, USERNS },
	{ "clone as vfork", CLONE, { 0x4111 }, PASS, USERNS },
	{ "clone NEWUSER", CLONE, { 0x10000011 }, PERM, USERNS },
	{ "clone NEWNS", CLONE, { 0x00020011 }, PERM, USERNS },
	{ "clone NEWCGROUP", CLONE, { 0x02000011 }, PERM, USERNS },
	{ "clone NEWUTS", CLONE, { 0x04000011 }, PERM, USERNS },
	{ "clone NEWIPC", CLONE, { 0x08000011 }, PERM, USERNS },
	{ "clone NEWPID", CLONE, { 0x20000011 }, PERM, USERNS },
	{ "clone NEWNET", CLONE, { 0x40000011 }, PERM, USERNS },
	{ "clone NEWUSER, high", CLONE, { HIGH | 0x10000011 }, PERM, USERNS },
	{ "clone, bit 7 is the signal's", CLONE, { 0x91 }, PASS, USERNS },
	{ "unshare FILES FS", UNSHARE, { 0x600 }, PASS, USERNS },
	{ "unshare NEWTIME", UNSHARE, { 0x80 }, PERM, USERNS },
	{ "unshare NEWUSER", UNSHARE, { 0x10000000 }, PERM, USERNS },
	{ "unshare NEWNS FS", UNSHARE, { 0x20200 }, PERM, USERNS },

	{ "chmod 4755", { 90, NONE }, { 0, 04755 }, PERM, SETID },
	{ "chmod 2755", { 90, NONE }, { 0, 02755 }, PERM, SETID },
	{ "chmod 1755", { 90, NONE }, { 04755, 01755, 04755 }, PASS, SETID },
	{ "chmod 4755, high", { 90, NONE }, { 0, HIGH | 04755 }, PERM, SETID },
	{ "fchmod 4755", { 91, 52 }, { 0, 04755 }, PERM, SETID },
	{ "fchmod 755", { 91, 52 }, { 06000, 0755 }, PASS, SETID },
	{ "fchmodat 2755", { 268, 53 }, { 0, 0, 02755 }, PERM, SETID },
	{ "fchmodat 755", { 268, 53 }, { 06000, 06000, 0755 }, PASS, SETID },
	{ "fchmodat2 2755", { 452, 452 }, { 0, 0, 02755 }, PERM, SETID },
	{ "fchmodat2 755", { 452, 452 }, { 0, 06000, 0755, 06000 }, PASS, SETID },
	{ "mkdir 2777", { 83, NONE }, { 0, 02777 }, PERM, SETID },
	{ "mkdir 1777", { 83, NONE }, { 0, 01777 }, PASS, SETID },
	{ "mkdirat 2777", { 258, 34 }, { 0, 0, 02777 }, PERM, SETID },
	{ "mkdirat 777", { 258, 34 }, { 0, 06000, 0777 }, PASS, SETID },
	{ "mknod 4777", { 133, NONE }, { 0, 0104777 }, PERM, SETID },
	{ "mknod fifo", { 133, NONE }, { 0, 010666 }, PASS, SETID },
	{ "mknodat 4777", { 259, 33 }, { 0, 0, 0104777 }, PERM, SETID },
	{ "mknodat socket", { 259, 33 }, { 0, 0, 0140777 }, PASS, SETID },
	{ "creat 4755", { 85, NONE }, { 0, 04755 }, PERM, SETID },
	{ "creat 644", { 85, NONE }, { 0, 0644 }, PASS, SETID },
	{ "open O_CREAT 4755", { 2, NONE }, { 0, 0101, 04755 }, PERM, SETID },
	{ "open O_CREAT 644", { 2, NONE }, { 0, 0101, 0644, 06000 }, PASS, SETID },
	{ "open, mode unused", { 2, NONE }, { 0, 0, 0xdead }, PASS, SETID },
	{ "openat O_CREAT 4755", { 257, 56 }, { 0, 0, 0101, 04755 }, PERM, SETID },
	{ "openat O_CREAT, high", { 257, 56 }, { 0, 0, HIGH | 0101, HIGH | 04755 }, PERM, SETID },
	{ "openat O_TMPFILE 2755", { 257, 56 }, { 0, 0, 020000001, 02755 }, PERM, SETID },
	{ "openat O_TMPFILE 755", { 257, 56 }, { 0, 0, 020000001, 0755 }, PASS, SETID },
	{ "openat, mode unused", { 257, 56 }, { 0, 0, 0200000, 06000 }, PASS, SETID },
	{ "mq_open O_CREAT 4600", { 240, 180 }, { 0, 0100, 04600 }, PERM, SETID },
	{ "mq_open O_CREAT 600", { 240, 180 }, { 0, 0100, 0600 }, PASS, SETID },

	{ "setrlimit of cores", SETRLIMIT, { 4, 0x1000 }, DONE, 0 },
	{ "setrlimit of cores, high", SETRLIMIT, { HIGH | 4, 0x1000 }, DONE, 0 },
	{ "setrlimit of cores, from nowhere", SETRLIMIT, { 4 }, DONE, 0 },
	{ "setrlimit of files", SETRLIMIT, { 7, 4, 4 }, PASS, 0 },
	{ "prlimit of cores", PRLIMIT, { 0, 4, 0x1000 }, DONE, 0 },
	{ "prlimit of cores, of another", PRLIMIT, { 17, 4, 0x1000 }, DONE, 0 },
	{ "prlimit of cores, high", PRLIMIT, { 0, HIGH | 4, 0x1000 }, DONE, 0 },
	{ "prlimit of cores, from 4 GiB", PRLIMIT, { 0, 4, 1ULL << 32 }, DONE, 0 },
	{ "prlimit of cores, from 128 TiB", PRLIMIT, { 0, 4, 1ULL << 47 }, DONE, 0 },
	{ "prlimit of cores, asking", PRLIMIT, { 0, 4, 0, 0x1000 }, PASS, 0 },
	{ "prlimit of files", PRLIMIT, { 4, 7, 0x1000, 4 }, PASS, 0 },

	{ "personality ask", PERSON, { 0xffffffff }, PASS, 0 },
	{ "personality ask, as a long", PERSON, { ~0ULL }, PASS, 0 },
	{ "personality LINUX", PERSON, { 0 }, PASS, 0 },
	{ "personality NO_RANDOMIZE", PERSON, { 0x40000 }, PERM, FILTER_DEBUG },
	{ "personality LINUX32", PERSON, { 8 }, PERM, FILTER_DEBUG },
	{ "personality LINUX32 NO_RANDOMIZE", PERSON, { 0x40008 }, PERM, FILTER_DEBUG },
	{ "personality UNAME26", PERSON, { 0x20000 }, PERM, FILTER_DEBUG },
	{ "personality UNAME26 LINUX32", PERSON, { 0x20008 }, PERM, FILTER_DEBUG },
	{ "personality READ_IMPLIES_EXEC", PERSON, { 0x400000 }, PERM, 0 },
	{ "personality ADDR_COMPAT_LAYOUT", PERSON, { 0x200000 }, PERM, 0 },
	{ "personality SVR4", PERSON, { 0x4100001 }, PERM, 0 },
};

static void test_arguments(struct tap *t, const struct arch *a)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct row *r = &rows[i];
		int nr = number_of(&r->call, a);
		unsigned wrong = 0;

		if (nr == NONE)
			continue;
		for (unsigned o = 0; o < FILTER_OPTIONS_END; o++) {
			uint32_t got, want = (o & r->option) != 0 ? PASS : r->want;

			if (a->programs[o].n == 0)
				continue;
			got = ask(a, o, a->audit_arch, (uint32_t)nr, r->args);
			if (got != want && wrong++ == 0)
				printf("# options %#x: got %#x, want %#x\n", o, got, want);
		}
		tap_ok(t, wrong == 0, "%s: %s", a->name, r->what);
	}
}

/* Every family, every netlink protocol, and every single bit of a mode and of clone's flags. */
static void test_sweeps(struct tap *t, const struct arch *a)
{
	const struct number family = SOCKET, clone_call = CLONE, fchmod_call = { 91, 52 };
	unsigned wrong = 0;

	for (uint64_t f = 0; f < 300; f++) {
		for (uint64_t p = 0; p < 40; p++) {
			const uint64_t args[4] = { f, 2, p };
			bool ok = f == 1 || f == 2 || f == 10 || (f == 16 && p == 0);

			wrong += ask(a, FILTER_DEFAULT, a->audit_arch,
				     (uint32_t)number_of(&family, a), args) != (ok ? PASS : FAMI);
		}
	}
	tap_int(t, wrong, 0, "socket: 300 families, 40 protocols each");
	wrong = 0;
	for (int bit = 0; bit < 64; bit++) {
		const uint64_t flags[4] = { 1ULL << bit };
		const uint64_t mode[4] = { 0, 1ULL << bit };
		bool ns = bit == 17 || (bit >= 25 && bit <= 30);

		wrong += ask(a, FILTER_DEFAULT, a->audit_arch, (uint32_t)number_of(&clone_call, a),
			     flags) != (ns ? PERM : PASS);
		wrong += ask(a, FILTER_DEFAULT, a->audit_arch, (uint32_t)number_of(&fchmod_call, a),
			     mode) != (bit == 10 || bit == 11 ? PERM : PASS);
	}
	tap_int(t, wrong, 0, "clone and fchmod: each bit alone");
}

int main(void)
{
	static const struct expected *const expected[] = { &x86_expected, &arm_expected };
	struct arch archs[2];
	struct tap t = { 0 };

	arch_x86_64(&archs[0]);
	arch_aarch64(&archs[1]);
	tap_int(&t, archs[0].audit_arch, 0xc000003eU, "AUDIT_ARCH_X86_64");
	tap_int(&t, archs[1].audit_arch, 0xc00000b7U, "AUDIT_ARCH_AARCH64");
	for (size_t i = 0; i < ARRAY_SIZE(archs); i++) {
		test_numbers(&t, &archs[i], expected[i]);
		test_foreign(&t, &archs[i]);
		test_arguments(&t, &archs[i]);
		test_sweeps(&t, &archs[i]);
	}
	return tap_done(&t);
}
