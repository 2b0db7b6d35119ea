/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* gen-filter - the filters of one architecture, as C for src/filter/filter.c or as text for people.
 *
 *	gen-filter ARCH c|text
 *
 * Runs on the machine that builds, for the one that the program is built for; libseccomp knows
 * the numbers of both. A name in table.c that no architecture has is an error. */
#include <seccomp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emit.h"

struct arch {
	const char *name;
	uint32_t token; /* SCMP_ARCH_* is the AUDIT_ARCH_* of the kernel */
};

static const struct arch archs[] = {
	{ "x86_64", SCMP_ARCH_X86_64 },
	{ "aarch64", SCMP_ARCH_AARCH64 },
};

static const char *const answer_names[FILTER_ANSWERS] = {
	[FILTER_ENOSYS] = "ENOSYS",
	[FILTER_EPERM] = "EPERM",
	[FILTER_EAFNOSUPPORT] = "EAFNOSUPPORT",
	[FILTER_DONE] = "success without effect",
	[FILTER_ALLOW] = "allow",
};

static const struct {
	unsigned bit;
	const char *name;
} option_names[] = {
	{ FILTER_DEBUG, "debug" },       { FILTER_MEMFD, "memfd" },
	{ FILTER_IO_URING, "io_uring" }, { FILTER_USERNS, "userns" },
	{ FILTER_KEYRINGS, "keyrings" }, { FILTER_SETID_BITS, "setid_bits" },
};

struct call {
	const char *name; /* NULL: no call has this number */
	enum filter_verdict closed, open;
	unsigned option;
};

struct gen {
	const struct arch *arch;
	struct call calls[EMIT_NUMBERS];
};

static _Noreturn void die(const char *what, const char *name)
{
	fprintf(stderr, "gen-filter: %s: %s\n", name, what);
	exit(1);
}

static const struct filter_newer *newer_find(const char *name)
{
	for (const struct filter_newer *n = filter_newer; n->name != NULL; n++) {
		if (strcmp(n->name, name) == 0)
			return n;
	}
	return NULL;
}

/* The number, or -1 when this architecture has no such call. */
static int resolve(const struct gen *g, const char *name)
{
	const struct filter_newer *newer = newer_find(name);
	int nr = seccomp_syscall_resolve_name_arch(g->arch->token, name);
	int known = newer == NULL ? -1 : newer->number;

	if (newer != NULL && newer->arch != NULL && strcmp(newer->arch, g->arch->name) != 0)
		known = -1;
	if (nr == __NR_SCMP_ERROR && newer == NULL)
		die("no architecture has a system call of this name", name);
	/* Unknown to this libseccomp, or a placeholder from before it had a number. */
	if (nr < 0)
		return known;
	if (newer != NULL && nr != known)
		die("libseccomp has another number than table.c", name);
	if (nr >= EMIT_NUMBERS)
		die("the number is beyond the table", name);
	return nr;
}

static void add(struct gen *g, const char *name, struct call call)
{
	int nr = resolve(g, name);

	if (nr < 0)
		return;
	if (g->calls[nr].closed != FILTER_ENOSYS || g->calls[nr].option != 0)
		die("stands in two lists", name);
	call.name = g->calls[nr].name == NULL ? name : g->calls[nr].name;
	g->calls[nr] = call;
}

static void fill(struct gen *g)
{
	for (int nr = 0; nr < EMIT_NUMBERS; nr++)
		g->calls[nr].name = seccomp_syscall_resolve_num_arch(g->arch->token, nr);
	for (const struct filter_newer *n = filter_newer; n->name != NULL; n++) {
		if (n->arch == NULL || strcmp(n->arch, g->arch->name) == 0)
			g->calls[n->number].name = n->name;
	}
	for (size_t i = 0; filter_allowed[i] != NULL; i++)
		add(g, filter_allowed[i], (struct call){ .closed = FILTER_ALLOW });
	for (size_t i = 0; filter_refused[i] != NULL; i++)
		add(g, filter_refused[i], (struct call){ .closed = FILTER_EPERM });
	for (const struct filter_switch *s = filter_switches; s->name != NULL; s++)
		add(g, s->name,
		    (struct call){ .closed = s->closed, .open = s->open, .option = s->option });
}

static enum filter_verdict call_verdict(const struct call *c, unsigned options)
{
	return c->option != 0 && (options & c->option) != 0 ? c->open : c->closed;
}

static void make(const struct gen *g, unsigned options, struct emit *e)
{
	unsigned char verdicts[EMIT_NUMBERS];
	const char *wrong;

	for (unsigned nr = 0; nr < EMIT_NUMBERS; nr++)
		verdicts[nr] = (unsigned char)call_verdict(&g->calls[nr], options);
	e->audit_arch = g->arch->token;
	e->verdicts = verdicts;
	wrong = emit_program(e);
	e->verdicts = NULL;
	if (wrong != NULL)
		die(wrong, g->arch->name);
}

static bool occurs(unsigned options)
{
	return (options & FILTER_IO_URING) == 0 || (options & FILTER_SETID_BITS) != 0;
}

static void print_names(const struct gen *g)
{
	printf("static const char filter_names[] =\n");
	for (unsigned nr = 0; nr < EMIT_NUMBERS; nr++) {
		if (g->calls[nr].name != NULL)
			printf("\t\"%s\\0\"\n", g->calls[nr].name);
	}
	printf("\t\"\";\n\nstatic const uint16_t filter_numbers[] = {");
	for (unsigned nr = 0, n = 0; nr < EMIT_NUMBERS; nr++) {
		if (g->calls[nr].name != NULL)
			printf("%s%u,", n++ % 12 == 0 ? "\n\t" : " ", nr);
	}
	printf("\n};\n");
}

/* Names of the other architectures: to tell "not here" from "never heard of". */
static void print_elsewhere(const struct gen *g)
{
	printf("\nstatic const char filter_elsewhere[] =\n");
	for (size_t i = 0; i < sizeof(archs) / sizeof(archs[0]); i++) {
		struct gen other = { .arch = &archs[i] };

		if (other.arch == g->arch)
			continue;
		fill(&other);
		for (unsigned nr = 0; nr < EMIT_NUMBERS; nr++) {
			if (other.calls[nr].name != NULL && resolve(g, other.calls[nr].name) < 0)
				printf("\t\"%s\\0\"\n", other.calls[nr].name);
		}
	}
	printf("\t\"\";\n");
}

static void print_c(const struct gen *g)
{
	unsigned start = 0;
	struct emit e;

	printf("/* Made by gen-filter from src/filter/table.c for %s. */\n", g->arch->name);
	printf("#define FILTER_AUDIT_ARCH 0x%08xU\n\n", g->arch->token);
	printf("static const struct sock_filter filter_code[] = {\n");
	for (unsigned o = 0; o < FILTER_OPTIONS_END; o++) {
		if (!occurs(o))
			continue;
		make(g, o, &e);
		for (unsigned i = 0; i < e.n; i++)
			printf("\t{ 0x%02x, %u, %u, 0x%08x },\n", e.code[i].code, e.code[i].jt,
			       e.code[i].jf, e.code[i].k);
	}
	printf("};\n\nstatic const struct {\n\tuint16_t start, n;\n} filter_programs[] = {\n");
	for (unsigned o = 0; o < FILTER_OPTIONS_END; o++) {
		e.n = 0;
		if (occurs(o))
			make(g, o, &e);
		printf("\t{ %u, %u },\n", start, e.n);
		start += e.n;
	}
	printf("};\n\n");
	print_names(g);
	print_elsewhere(g);
}

static const char *verdict_text(enum filter_verdict v)
{
	return v < FILTER_ANSWERS ? answer_names[v] : filter_checks[v - FILTER_ANSWERS].text;
}

static void print_text(const struct gen *g)
{
	printf("# System calls of %s in a sandbox. What is not listed, and every call of another\n"
	       "# ABI, is answered ENOSYS.\n"
	       "# number name verdict [with an option open: verdict]\n",
	       g->arch->name);
	for (unsigned nr = 0; nr < EMIT_NUMBERS; nr++) {
		const struct call *c = &g->calls[nr];

		if (c->name == NULL)
			continue;
		printf("%u\t%s\t%s", nr, c->name, verdict_text(c->closed));
		for (size_t i = 0; i < sizeof(option_names) / sizeof(option_names[0]); i++) {
			if (c->option == option_names[i].bit)
				printf("\t%s: %s", option_names[i].name, verdict_text(c->open));
		}
		putchar('\n');
	}
}

int main(int argc, char **argv)
{
	struct gen g = { 0 };

	for (size_t i = 0; argc == 3 && i < sizeof(archs) / sizeof(archs[0]); i++) {
		if (strcmp(argv[1], archs[i].name) == 0)
			g.arch = &archs[i];
	}
	if (g.arch == NULL || (strcmp(argv[2], "c") != 0 && strcmp(argv[2], "text") != 0)) {
		fprintf(stderr, "usage: gen-filter x86_64|aarch64 c|text\n");
		return 2;
	}
	fill(&g);
	if (strcmp(argv[2], "c") == 0)
		print_c(&g);
	else
		print_text(&g);
	if (fflush(stdout) != 0 || ferror(stdout))
		die("cannot write", "standard output");
	return 0;
}
