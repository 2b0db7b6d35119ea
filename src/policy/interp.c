/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "policy/interp.h"

#include <elf.h>
#include <stdbool.h>
#include <string.h>

/* The kernel reads this much of a script's first line (BINPRM_BUF_SIZE). */
#define SCRIPT_BYTES 256
/* Programs have about a dozen. */
#define PHDRS_MAX 128

struct segment {
	uint64_t off, size;
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static bool is_end(char c)
{
	return c == '\0' || c == '\n' || is_blank(c);
}

static enum interp_kind find_script(const char *buf, size_t len, char ret[PATH_MAX])
{
	size_t from = 2;
	size_t to;

	while (from < len && is_blank(buf[from]))
		from++;
	to = from;
	while (to < len && !is_end(buf[to]))
		to++;
	/* A name that is cut off here is cut off for the kernel too, which refuses it. */
	if (to == from || to == len)
		return INTERP_NONE;
	memcpy(ret, buf + from, to - from);
	ret[to - from] = '\0';
	return INTERP_SCRIPT;
}

static bool table64(interp_read_fn *read, void *ctx, const char *buf, struct segment *ret)
{
	Elf64_Phdr ph[PHDRS_MAX];
	Elf64_Ehdr eh;
	size_t n;
	ssize_t got;

	memcpy(&eh, buf, sizeof(eh));
	n = eh.e_phnum < PHDRS_MAX ? eh.e_phnum : PHDRS_MAX;
	if (eh.e_phentsize != sizeof(ph[0]) || n == 0)
		return false;
	got = read(ctx, eh.e_phoff, ph, n * sizeof(ph[0]));
	for (size_t i = 0; got > 0 && i < (size_t)got / sizeof(ph[0]); i++) {
		if (ph[i].p_type != PT_INTERP)
			continue;
		*ret = (struct segment){ .off = ph[i].p_offset, .size = ph[i].p_filesz };
		return true;
	}
	return false;
}

static bool table32(interp_read_fn *read, void *ctx, const char *buf, struct segment *ret)
{
	Elf32_Phdr ph[PHDRS_MAX];
	Elf32_Ehdr eh;
	size_t n;
	ssize_t got;

	memcpy(&eh, buf, sizeof(eh));
	n = eh.e_phnum < PHDRS_MAX ? eh.e_phnum : PHDRS_MAX;
	if (eh.e_phentsize != sizeof(ph[0]) || n == 0)
		return false;
	got = read(ctx, eh.e_phoff, ph, n * sizeof(ph[0]));
	for (size_t i = 0; got > 0 && i < (size_t)got / sizeof(ph[0]); i++) {
		if (ph[i].p_type != PT_INTERP)
			continue;
		*ret = (struct segment){ .off = ph[i].p_offset, .size = ph[i].p_filesz };
		return true;
	}
	return false;
}

static enum interp_kind find_elf(interp_read_fn *read, void *ctx, const char *buf, size_t len,
				 char ret[PATH_MAX])
{
	struct segment s;
	ssize_t got;

	/* Both machines that agentbox knows are little-endian. */
	if (buf[EI_DATA] != ELFDATA2LSB)
		return INTERP_NONE;
	if (buf[EI_CLASS] == ELFCLASS64) {
		if (len < sizeof(Elf64_Ehdr) || !table64(read, ctx, buf, &s))
			return INTERP_NONE;
	} else if (buf[EI_CLASS] != ELFCLASS32 || len < sizeof(Elf32_Ehdr) ||
		   !table32(read, ctx, buf, &s)) {
		return INTERP_NONE;
	}
	/* With the NUL that ends it (binfmt_elf.c of the kernel). */
	if (s.size < 2 || s.size > PATH_MAX)
		return INTERP_NONE;
	got = read(ctx, s.off, ret, s.size);
	if (got < 0 || (uint64_t)got != s.size || ret[s.size - 1] != '\0' || ret[0] == '\0')
		return INTERP_NONE;
	return INTERP_ELF;
}

enum interp_kind interp_find(interp_read_fn *read, void *ctx, char ret[PATH_MAX])
{
	char buf[SCRIPT_BYTES];
	ssize_t got = read(ctx, 0, buf, sizeof(buf));
	size_t len = got < 0 ? 0 : (size_t)got;

	if (len > 2 && buf[0] == '#' && buf[1] == '!') {
		/* The end of the file ends the line. */
		if (len < sizeof(buf))
			buf[len++] = '\n';
		return find_script(buf, len, ret);
	}
	if (len >= EI_NIDENT && memcmp(buf, ELFMAG, SELFMAG) == 0)
		return find_elf(read, ctx, buf, len, ret);
	return INTERP_NONE;
}
