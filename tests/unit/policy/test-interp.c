/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a program needs beside itself, from its bytes and in the view. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "policy/interp.h"
#include "tap.h"
#include "world.h"

struct file {
	const char *data;
	size_t size;
};

static ssize_t read_memory(void *ctx, uint64_t off, void *buf, size_t len)
{
	const struct file *f = ctx;
	size_t n = off >= f->size ? 0 : f->size - (size_t)off;

	n = n < len ? n : len;
	memcpy(buf, f->data + (n == 0 ? 0 : off), n);
	return (ssize_t)n;
}

static ssize_t read_nothing(void *ctx, uint64_t off, void *buf, size_t len)
{
	(void)ctx;
	(void)off;
	(void)buf;
	(void)len;
	return -1;
}

static void find(struct tap *t, const char *what, const void *data, size_t size,
		 enum interp_kind want, const char *text)
{
	struct file f = { .data = data, .size = size };
	char got[PATH_MAX] = "";

	tap_int(t, interp_find(read_memory, &f, got), want, what);
	if (want != INTERP_NONE)
		tap_str(t, got, text, what);
}

static void test_scripts(struct tap *t)
{
	static const struct {
		const char *text, *want;
	} rows[] = {
		{ "#!/bin/sh\n", "/bin/sh" },
		{ "#!/bin/sh", "/bin/sh" },
		{ "#! /bin/sh -e\necho", "/bin/sh" },
		{ "#!\t /usr/bin/env\tpython3\n", "/usr/bin/env" },
		{ "#!sh\n", "sh" },
		{ "#!\n/bin/sh\n", NULL },
		{ "#!", NULL },
		{ "#!  ", NULL },
		{ "#", NULL },
		{ "", NULL },
		{ "/bin/sh", NULL },
		{ " #!/bin/sh\n", NULL },
	};
	char line[600];

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		find(t, rows[i].text[0] == '\0' ? "an empty file" : "a script", rows[i].text,
		     strlen(rows[i].text), rows[i].want == NULL ? INTERP_NONE : INTERP_SCRIPT,
		     rows[i].want);
	/* The kernel's 256 bytes: the name must end within them. */
	memset(line, 'a', sizeof(line));
	memcpy(line, "#!/", 3);
	line[255] = '\n';
	find(t, "a name that ends at byte 255", line, sizeof(line), INTERP_SCRIPT,
	     arena_strndup(&(struct arena){ 0 }, line + 2, 253));
	line[255] = 'a';
	line[256] = '\n';
	find(t, "one that ends a byte later", line, sizeof(line), INTERP_NONE, NULL);
}

struct program {
	Elf64_Ehdr eh;
	Elf64_Phdr ph[2];
	char interp[32];
};

static struct program program64(void)
{
	struct program p = {
		.eh = { .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB },
			.e_phoff = offsetof(struct program, ph),
			.e_phentsize = sizeof(Elf64_Phdr),
			.e_phnum = 2 },
		.ph = { { .p_type = PT_LOAD },
			{ .p_type = PT_INTERP,
			  .p_offset = offsetof(struct program, interp),
			  .p_filesz = sizeof("/lib/ld.so") } },
		.interp = "/lib/ld.so",
	};

	return p;
}

static void test_elf(struct tap *t)
{
	struct program p = program64();
	Elf32_Ehdr small = { .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS32,
					  ELFDATA2LSB },
			     .e_phoff = sizeof(small),
			     .e_phentsize = sizeof(Elf32_Phdr),
			     .e_phnum = 1 };
	Elf32_Phdr small_ph = { .p_type = PT_INTERP,
				.p_offset = sizeof(small) + sizeof(small_ph),
				.p_filesz = 5 };
	char bytes[sizeof(small) + sizeof(small_ph) + 5];

	find(t, "a program", &p, sizeof(p), INTERP_ELF, "/lib/ld.so");
	for (size_t n = 0; n < offsetof(struct program, interp) + sizeof("/lib/ld.so"); n += 7)
		find(t, "a program that is cut off", &p, n, INTERP_NONE, NULL);
	p.ph[1].p_filesz--;
	find(t, "no NUL at the end", &p, sizeof(p), INTERP_NONE, NULL);
	p.ph[1].p_filesz = PATH_MAX + 1;
	find(t, "longer than any path", &p, sizeof(p), INTERP_NONE, NULL);
	p.ph[1].p_filesz = 1;
	find(t, "shorter than any path", &p, sizeof(p), INTERP_NONE, NULL);
	p = program64();
	p.ph[1].p_offset = UINT64_MAX;
	find(t, "beyond the end", &p, sizeof(p), INTERP_NONE, NULL);
	p = program64();
	p.eh.e_phoff = UINT64_MAX - 8;
	find(t, "a table beyond the end", &p, sizeof(p), INTERP_NONE, NULL);
	p = program64();
	p.ph[1].p_type = PT_NOTE;
	find(t, "a static program", &p, sizeof(p), INTERP_NONE, NULL);
	p = program64();
	p.eh.e_phentsize++;
	find(t, "entries of another size", &p, sizeof(p), INTERP_NONE, NULL);
	p = program64();
	p.eh.e_phnum = 0;
	find(t, "no entries", &p, sizeof(p), INTERP_NONE, NULL);
	p = program64();
	p.eh.e_phnum = UINT16_MAX;
	find(t, "more entries than there are", &p, sizeof(p), INTERP_ELF, "/lib/ld.so");
	p = program64();
	p.eh.e_ident[EI_DATA] = ELFDATA2MSB;
	find(t, "of another machine", &p, sizeof(p), INTERP_NONE, NULL);
	memcpy(bytes, &small, sizeof(small));
	memcpy(bytes + sizeof(small), &small_ph, sizeof(small_ph));
	memcpy(bytes + sizeof(small) + sizeof(small_ph), "/l/d", 5);
	find(t, "a program of 32 bits", bytes, sizeof(bytes), INTERP_ELF, "/l/d");
	tap_int(t, interp_find(read_nothing, NULL, (char[PATH_MAX]){ 0 }), INTERP_NONE,
		"what cannot be read");
}

static void write_file(struct world *w, const char *rel, const void *data, size_t len)
{
	int fd;

	world_file(w, rel, 0755);
	fd = open(world_path(w, rel), O_WRONLY | O_TRUNC | O_CLOEXEC);
	if (fd < 0 || write(fd, data, len) != (ssize_t)len)
		abort();
	(void)close(fd);
}

static void missing(struct tap *t, struct world *w, const char *exe, const char *of,
		    const char *path)
{
	struct resolve_missing m;
	bool found = resolve_missing(&w->arena, &w->view, "/w", exe, &m);

	tap_int(t, found, path != NULL, exe);
	if (!found || path == NULL)
		return;
	tap_str(t, m.of, of, "who needs it");
	tap_str(t, m.path, path, "what is missing");
}

static void test_missing(struct tap *t)
{
	struct program p = program64();
	struct resolve_missing m;
	struct err err = { 0 };
	struct world w;

	world_open(&w);
	write_file(&w, "w/lost", &p, sizeof(p));
	memcpy(p.interp, "/w/loader", sizeof("/w/loader"));
	p.ph[1].p_filesz = sizeof("/w/loader");
	write_file(&w, "w/good", &p, sizeof(p));
	write_file(&w, "w/loader", "x", 1);
	write_file(&w, "w/script", "#!/w/none\n", 10);
	write_file(&w, "w/relative", "#!lost\n", 7);
	write_file(&w, "w/outer", "#!/w/script\n", 12);
	write_file(&w, "w/self", "#!/w/self\n", 10);
	write_file(&w, "w/passwd", "#!/etc/passwd\n", 14);
	world_link(&w, "script", "w/link");
	world_roots(&w, "{path: '@/w', at: /w}");
	world_facts(&w);
	missing(t, &w, "/w/lost", "/w/lost", "/lib/ld.so");
	missing(t, &w, "/w/good", NULL, NULL);
	missing(t, &w, "/w/loader", NULL, NULL);
	missing(t, &w, "/w/script", "/w/script", "/w/none");
	missing(t, &w, "script", "/w/script", "/w/none");
	missing(t, &w, "/w/link", "/w/link", "/w/none");
	missing(t, &w, "/w/outer", "/w/script", "/w/none");
	missing(t, &w, "/w/relative", "/w/lost", "/lib/ld.so");
	missing(t, &w, "/w/self", NULL, NULL);
	missing(t, &w, "/w/gone", "/w/gone", "/w/gone");
	(void)resolve_missing(&w.arena, &w.view, "/w", "/w/passwd", &m);
	(void)resolve_missing_err(&m, &err);
	tap_ok(t,
	       strstr(err.msg, "names the interpreter '/etc/passwd', which the host has") != NULL,
	       "what the host has is said so: %s", err.msg);
	tap_int(t, err.errnum, ENOENT, "it is an ENOENT");
	world_close(&w);
}

int main(void)
{
	struct tap t = { 0 };

	test_scripts(&t);
	test_elf(&t);
	test_missing(&t);
	return tap_done(&t);
}
