/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A sealed loader: by bytes made here, and by this machine's own, which must go on working. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/io.h"
#include "policy/interp.h"
#include "policy/loader.h"
#include "tap.h"

#if defined(__x86_64__)
#define MACHINE EM_X86_64
#elif defined(__aarch64__)
#define MACHINE EM_AARCH64
#endif

struct elf_file {
	Elf64_Ehdr eh;
	Elf64_Phdr ph[2];
	char text[64];
};

static void elf_make(struct elf_file *f, const char *loader)
{
	*f = (struct elf_file){ .eh = { .e_type = ET_DYN,
					.e_machine = MACHINE,
					.e_phoff = sizeof(Elf64_Ehdr),
					.e_phentsize = sizeof(Elf64_Phdr),
					.e_phnum = 2 } };
	memcpy(f->eh.e_ident, ELFMAG, SELFMAG);
	f->eh.e_ident[EI_CLASS] = ELFCLASS64;
	f->eh.e_ident[EI_DATA] = ELFDATA2LSB;
	f->ph[0].p_type = PT_NOTE;
	f->ph[1].p_type = PT_INTERP;
	f->ph[1].p_offset = offsetof(struct elf_file, text);
	f->ph[1].p_filesz = strlen(loader) + 1;
	(void)snprintf(f->text, sizeof(f->text), "%s", loader);
}

static void test_seal_bytes(struct tap *t)
{
	struct arena a = { 0 };
	unsigned char *image = NULL;
	struct elf_file f, got;
	size_t len = 0;

	elf_make(&f, "");
	f.ph[1].p_type = PT_LOAD;
	tap_int(t, loader_seal(&a, (const unsigned char *)&f, sizeof(f), &image, &len), 0,
		"sealed");
	tap_int(t, (long long)len, sizeof(f) + sizeof("/dev/null"), "with a name behind it");
	memcpy(&got, image, sizeof(got));
	tap_int(t, got.ph[0].p_type, PT_INTERP, "the note asks for it");
	tap_str(t, (const char *)image + got.ph[0].p_offset, "/dev/null", "by its name");
	got.ph[0] = f.ph[0];
	tap_ok(t, memcmp(&got, &f, sizeof(f)) == 0, "nothing else is changed");
	f.ph[0].p_type = PT_GNU_STACK;
	tap_int(t, loader_seal(&a, (const unsigned char *)&f, sizeof(f), &image, &len), 0,
		"without a note the stack's flags go");
	f.ph[0].p_type = PT_DYNAMIC;
	tap_int(t, loader_seal(&a, (const unsigned char *)&f, sizeof(f), &image, &len), -EOPNOTSUPP,
		"nothing to spare");
	f.ph[0].p_type = PT_NOTE;
	f.eh.e_phoff = sizeof(f);
	tap_int(t, loader_seal(&a, (const unsigned char *)&f, sizeof(f), &image, &len), -ENOEXEC,
		"headers past the end");
	tap_int(t, loader_seal(&a, (const unsigned char *)"#!/bin/sh\n", 10, &image, &len),
		-ENOEXEC, "a script");
	arena_free(&a);
}

static int status_of(const char *exe, const char *arg)
{
	pid_t pid = fork();
	int status = -1;

	if (pid == 0) {
		int null = open("/dev/null", O_RDWR | O_CLOEXEC);

		if (null >= 0) {
			(void)dup2(null, 1);
			(void)dup2(null, 2);
		}
		(void)execl(exe, exe, arg, (char *)NULL);
		_exit(errno == EACCES ? 201 : 202);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return -1;
	return WEXITSTATUS(status);
}

static bool file_put(const char *path, const void *data, size_t len)
{
	FD_AUTO fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);

	return fd >= 0 && io_write_full(fd, data, len) == 0;
}

/* A copy of true(1) that asks for a loader of our choice. */
static bool program_put(struct arena *a, const char *path, const char *loader, const char *real)
{
	FD_AUTO fd = open("/bin/true", O_RDONLY | O_CLOEXEC);
	char *image;
	size_t len;
	char *at;

	if (fd < 0 || io_read_file(fd, 1 << 22, a, &image, &len) != 0)
		return false;
	at = memmem(image, len, real, strlen(real) + 1);
	if (at == NULL || strlen(loader) > strlen(real))
		return false;
	memset(at, 0, strlen(real));
	memcpy(at, loader, strlen(loader));
	return file_put(path, image, len);
}

static ssize_t read_file(void *ctx, uint64_t off, void *buf, size_t len)
{
	return pread(*(const int *)ctx, buf, len, (off_t)off);
}

static void test_seal_real(struct tap *t)
{
	char dir[] = "/tmp/abX.XXXXXX"; /* shorter than any loader's path */
	/* Crosses fork(). */
	struct arena a = { .kind = ARENA_PLAN };
	FD_AUTO self = open("/bin/true", O_RDONLY | O_CLOEXEC);
	FD_AUTO fd = -1;
	char real[PATH_MAX];
	unsigned char *sealed;
	char *image;
	size_t len, sealed_len;
	const char *loader, *prog;

	if (self < 0 || interp_find(read_file, &self, real) != INTERP_ELF || mkdtemp(dir) == NULL) {
		tap_skip(t, "the loader of this machine", "true(1) is static here");
		arena_free(&a);
		return;
	}
	loader = arena_printf(&a, "%s/l", dir);
	prog = arena_printf(&a, "%s/p", dir);
	fd = open(real, O_RDONLY | O_CLOEXEC);
	if (!tap_ok(t,
		    fd >= 0 && io_read_file(fd, LOADER_MAX, &a, &image, &len) == 0 &&
			    file_put(loader, image, len) && program_put(&a, prog, loader, real),
		    "a program with a copy of %s", real))
		goto out;
	tap_int(t, status_of(prog, NULL), 0, "it runs");
	tap_int(t, status_of(loader, "/bin/true"), 0, "the copy starts programs (control)");
	tap_int(t, loader_seal(&a, (const unsigned char *)image, len, &sealed, &sealed_len), 0,
		"sealed");
	tap_ok(t, file_put(loader, sealed, sealed_len), "put in its place");
	tap_int(t, status_of(prog, NULL), 0, "the program runs as before");
	tap_int(t, status_of(loader, "/bin/true"), 201, "the loader does not start: EACCES");
out:
	(void)unlink(loader);
	(void)unlink(prog);
	(void)rmdir(dir);
	arena_free(&a);
}

int main(void)
{
	struct tap t = { 0 };

	test_seal_bytes(&t);
	test_seal_real(&t);
	return tap_done(&t);
}
