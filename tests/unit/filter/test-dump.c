/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The list that people read says what the programs do: for every number, with every option.
 *
 *	test-dump FILE-OF-X86_64 FILE-OF-AARCH64 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arch.h"
#include "base/macro.h"
#include "tap.h"

#define NOSYS   (SECCOMP_RET_ERRNO | ENOSYS)
#define NUMBERS 601

static const struct {
	const char *name;
	uint32_t answer;
} words[] = {
	{ "allow", SECCOMP_RET_ALLOW },
	{ "ENOSYS", NOSYS },
	{ "EPERM", SECCOMP_RET_ERRNO | EPERM },
};

static const struct {
	const char *name;
	unsigned bit, with; /* the other options without which there is no program */
} options[] = {
	{ "debug", FILTER_DEBUG, 0 },
	{ "memfd", FILTER_MEMFD, 0 },
	{ "io_uring", FILTER_IO_URING, FILTER_SETID_BITS },
	{ "userns", FILTER_USERNS, 0 },
	{ "keyrings", FILTER_KEYRINGS, 0 },
	{ "setid_bits", FILTER_SETID_BITS, 0 },
};

struct line {
	char name[64], closed[160], open[160];
	unsigned option; /* FILTER_*, that brings the second verdict; 0: none */
};

static bool read_line(char *text, struct line *lines)
{
	char *field[4] = { NULL };
	char *end;
	unsigned long nr;
	size_t n = 0;

	text[strcspn(text, "\n")] = '\0';
	for (char *p = text; p != NULL && n < ARRAY_SIZE(field); n++) {
		field[n] = p;
		p = strchr(p, '\t');
		if (p != NULL)
			*p++ = '\0';
	}
	nr = n < 3 ? NUMBERS : strtoul(field[0], &end, 10);
	if (nr >= NUMBERS || *end != '\0' || lines[nr].name[0] != '\0')
		return false;
	(void)snprintf(lines[nr].name, sizeof(lines[nr].name), "%s", field[1]);
	(void)snprintf(lines[nr].closed, sizeof(lines[nr].closed), "%s", field[2]);
	if (field[3] == NULL)
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
		size_t len = strlen(options[i].name);

		if (strncmp(field[3], options[i].name, len) == 0 && field[3][len] == ':') {
			lines[nr].option = options[i].bit;
			(void)snprintf(lines[nr].open, sizeof(lines[nr].open), "%s",
				       field[3] + len + 2);
		}
	}
	return lines[nr].option != 0;
}

/* What the programs answer to arguments that differ: the least that every check tells apart. */
struct answers {
	bool allow, perm, family, nosys, done, other;
};

static void ask(const struct arch *a, unsigned o, int nr, const uint64_t *args, struct answers *ret)
{
	struct seccomp_data d = { .nr = nr, .arch = a->audit_arch };
	uint32_t got;

	memcpy(d.args, args, 4 * sizeof(*args));
	got = bpf_run(a->programs[o].code, a->programs[o].n, &d);
	ret->allow = ret->allow || got == SECCOMP_RET_ALLOW;
	ret->perm = ret->perm || got == (SECCOMP_RET_ERRNO | EPERM);
	ret->family = ret->family || got == (SECCOMP_RET_ERRNO | EAFNOSUPPORT);
	ret->nosys = ret->nosys || got == NOSYS;
	ret->done = ret->done || got == SECCOMP_RET_ERRNO;
	ret->other =
		ret->other ||
		(got != SECCOMP_RET_ALLOW && got != NOSYS && got != SECCOMP_RET_ERRNO &&
		 got != (SECCOMP_RET_ERRNO | EPERM) && got != (SECCOMP_RET_ERRNO | EAFNOSUPPORT));
}

static struct answers ask_all(const struct arch *a, unsigned o, int nr)
{
	static const uint64_t fixed[][4] = {
		{ 0 },
		{ 1 },
		{ 0, 0x5412 },
		{ 0, 0101, 04755 },
		{ 0, 0, 0101, 04755 },
		{ 17 },
		{ ~0ULL, 0, 0, 0 },
		{ 0, 0, 02755 },
		{ 0x10000000 },
		{ 4 },
		{ 0, 4, 1 },
	};
	struct answers ret = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(fixed); i++)
		ask(a, o, nr, fixed[i], &ret);
	for (unsigned arg = 0; arg < 4; arg++) {
		for (unsigned bit = 0; bit < 64; bit++) {
			uint64_t args[4] = { 0 };

			args[arg] = 1ULL << bit;
			ask(a, o, nr, args, &ret);
		}
	}
	return ret;
}

/* One word is one answer, whatever the arguments; a sentence names its refusal, and the rest is
 * allowed. */
static bool says(const char *verdict, const struct answers *g)
{
	unsigned kinds = g->allow + g->perm + g->family + g->nosys + g->done;

	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		if (strcmp(verdict, words[i].name) == 0)
			return !g->other && kinds == 1 &&
			       (words[i].answer == SECCOMP_RET_ALLOW ? g->allow
				: words[i].answer == NOSYS           ? g->nosys
								     : g->perm);
	}
	return !g->other && kinds == 2 && g->allow &&
	       ((g->done && strstr(verdict, "success without effect") != NULL) ||
		(g->perm && strstr(verdict, "EPERM") != NULL) ||
		(g->family && strstr(verdict, "EAFNOSUPPORT") != NULL));
}

static unsigned wrong_with(const struct arch *a, const struct line *lines, unsigned o)
{
	unsigned wrong = 0;

	for (int nr = 0; nr < NUMBERS; nr++) {
		const struct line *l = &lines[nr];
		struct answers got = ask_all(a, o, nr);
		const char *want = l->name[0] == '\0'     ? "ENOSYS"
				   : (o & l->option) != 0 ? l->open
							  : l->closed;

		if (says(want, &got))
			continue;
		wrong++;
		printf("# %s %d %s: the list says '%s', the program answers%s%s%s%s%s%s\n", a->name,
		       nr, l->name, want, got.allow ? " allow" : "", got.perm ? " EPERM" : "",
		       got.family ? " EAFNOSUPPORT" : "", got.nosys ? " ENOSYS" : "",
		       got.done ? " success" : "", got.other ? " something else" : "");
	}
	return wrong;
}

static void test_arch(struct tap *t, const struct arch *a, const char *path)
{
	static struct line lines[NUMBERS];
	char text[512];
	unsigned listed = 0, bad = 0;
	FILE *f = fopen(path, "re");

	memset(lines, 0, sizeof(lines));
	while (f != NULL && fgets(text, sizeof(text), f) != NULL) {
		if (text[0] == '#')
			continue;
		listed++;
		bad += !read_line(text, lines);
	}
	if (f != NULL)
		(void)fclose(f);
	tap_ok(t, listed > 250 && bad == 0, "%s: the list has %u calls, %u lines are none", a->name,
	       listed, bad);
	tap_int(t, wrong_with(a, lines, 0), 0, "with no option");
	tap_int(t, wrong_with(a, lines, FILTER_DEFAULT), 0, "with those of a plain run");
	for (size_t i = 0; i < ARRAY_SIZE(options); i++)
		tap_int(t, wrong_with(a, lines, options[i].bit | options[i].with), 0,
			options[i].name);
	/* The test can fail: a line that says something else is found. */
	(void)snprintf(lines[1].closed, sizeof(lines[1].closed), "%s",
		       strcmp(lines[1].closed, "allow") == 0 ? "EPERM" : "allow");
	tap_int(t, wrong_with(a, lines, 0), 1, "and with a wrong line");
}

int main(int argc, char **argv)
{
	struct arch archs[2];
	struct tap t = { 0 };

	if (argc != 3)
		return 2;
	arch_x86_64(&archs[0]);
	arch_aarch64(&archs[1]);
	for (size_t i = 0; i < ARRAY_SIZE(archs); i++)
		test_arch(&t, &archs[i], argv[i + 1]);
	return tap_done(&t);
}
