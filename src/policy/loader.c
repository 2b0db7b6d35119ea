/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "policy/loader.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

/* The kernel takes at most this much of program headers (load_elf_phdrs()). */
#define PHDRS_MAX 65536

/* Neither a regular file nor absent, so the error is a refusal: EACCES. */
static const char no_loader[] = "/dev/null";

#if defined(__x86_64__)
#define MACHINE EM_X86_64
#elif defined(__aarch64__)
#define MACHINE EM_AARCH64
#endif

static bool ehdr_is_ours(const Elf64_Ehdr *eh)
{
	return memcmp(eh->e_ident, ELFMAG, SELFMAG) == 0 && eh->e_ident[EI_CLASS] == ELFCLASS64 &&
	       eh->e_machine == MACHINE && (eh->e_type == ET_EXEC || eh->e_type == ET_DYN) &&
	       eh->e_phentsize == sizeof(Elf64_Phdr) && eh->e_phnum > 0 &&
	       (size_t)eh->e_phnum * sizeof(Elf64_Phdr) <= PHDRS_MAX;
}

/* The last header of a kind that no one misses, or -1. */
static int phdr_to_spare(const unsigned char *image, const Elf64_Ehdr *eh)
{
	static const Elf64_Word spare[] = { PT_NOTE, PT_GNU_STACK };
	Elf64_Phdr ph;

	for (size_t k = 0; k < sizeof(spare) / sizeof(spare[0]); k++) {
		for (int i = eh->e_phnum - 1; i >= 0; i--) {
			memcpy(&ph, image + eh->e_phoff + (size_t)i * sizeof(ph), sizeof(ph));
			if (ph.p_type == spare[k])
				return i;
		}
	}
	return -1;
}

int loader_seal(struct arena *a, const unsigned char *image, size_t len, unsigned char **ret,
		size_t *ret_len)
{
	Elf64_Phdr ask = { .p_type = PT_INTERP,
			   .p_flags = PF_R,
			   .p_offset = len,
			   .p_filesz = sizeof(no_loader),
			   .p_memsz = sizeof(no_loader),
			   .p_align = 1 };
	Elf64_Ehdr eh;
	int at;

	if (len < sizeof(eh) || len > LOADER_MAX)
		return -ENOEXEC;
	memcpy(&eh, image, sizeof(eh));
	if (!ehdr_is_ours(&eh) || eh.e_phoff > len ||
	    (size_t)eh.e_phnum * sizeof(Elf64_Phdr) > len - eh.e_phoff)
		return -ENOEXEC;
	at = phdr_to_spare(image, &eh);
	if (at < 0)
		return -EOPNOTSUPP;
	*ret = arena_alloc(a, len + sizeof(no_loader));
	*ret_len = len + sizeof(no_loader);
	memcpy(*ret, image, len);
	memcpy(*ret + len, no_loader, sizeof(no_loader));
	memcpy(*ret + eh.e_phoff + (size_t)at * sizeof(ask), &ask, sizeof(ask));
	return 0;
}
