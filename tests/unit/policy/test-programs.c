/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which files `commands` comes to: by name, path and pattern, through links and scripts. */
#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/io.h"
#include "base/strbuf.h"
#include "tap.h"
#include "world.h"

static void put(struct world *w, const char *rel, const void *data, size_t len, unsigned mode)
{
	FD_AUTO fd = -1;

	world_file(w, rel, mode);
	fd = open(world_path(w, rel), O_WRONLY | O_TRUNC | O_CLOEXEC);
	if (fd < 0 || io_write_full(fd, data, len) != 0)
		printf("Bail out! %s\n", rel);
}

static void put_script(struct world *w, const char *rel, const char *text)
{
	put(w, rel, text, strlen(text), 0755);
}

/* A program with two headers: a note, and the loader if it has one. */
static void put_elf(struct world *w, const char *rel, const char *loader)
{
	struct {
		Elf64_Ehdr eh;
		Elf64_Phdr ph[2];
		char text[64];
		unsigned char unique[32];
	} f = { .eh = { .e_type = ET_DYN,
			.e_machine = sizeof(void *) == 8 ? EM_X86_64 : 0,
			.e_phoff = sizeof(Elf64_Ehdr),
			.e_phentsize = sizeof(Elf64_Phdr),
			.e_phnum = 2 } };

#if defined(__aarch64__)
	f.eh.e_machine = EM_AARCH64;
#endif
	memcpy(f.eh.e_ident, ELFMAG, SELFMAG);
	f.eh.e_ident[EI_CLASS] = ELFCLASS64;
	f.eh.e_ident[EI_DATA] = ELFDATA2LSB;
	f.ph[0].p_type = PT_NOTE;
	f.ph[1].p_type = loader == NULL ? PT_LOAD : PT_INTERP;
	f.ph[1].p_offset = (size_t)(f.text - (char *)&f);
	if (loader != NULL)
		f.ph[1].p_filesz = (size_t)snprintf(f.text, sizeof(f.text), "%s", loader) + 1;
	put(w, rel, &f, sizeof(f), 0755);
}

static void populate(struct world *w)
{
	put_elf(w, "usr/bin/git", "/usr/lib/ld.so");
	put_elf(w, "usr/bin/git-shell", "/bin/ld-link");
	put_elf(w, "usr/bin/static", NULL);
	put_elf(w, "usr/lib/ld.so", NULL);
	put_elf(w, "usr/local/git", NULL);
	put_elf(w, "usr/bin/python3.11", "/usr/lib/ld.so");
	world_link(w, "python3.11", "usr/bin/python3");
	world_link(w, "../lib/ld.so", "usr/bin/ld-link");
	put_script(w, "usr/bin/pip", "#!/usr/bin/python3\n");
	put_script(w, "usr/bin/twice", "#!/bin/pip -x\n");
	put_script(w, "usr/bin/lost", "#!/usr/bin/none\n");
	put_script(w, "usr/bin/evil", "#!/w/tool\n");
	put_script(w, "usr/bin/rel", "#!python3\n");
	world_file(w, "usr/bin/readme", 0644);
	put_elf(w, "usr/bin/[", NULL);
	put_elf(w, "w/tool", NULL);
	put_elf(w, "r/tool", NULL);
	put_elf(w, "r/two", NULL);
	put_script(w, "r/by-two", "#!/r/two\n");
	if (link(world_path(w, "r/two"), world_path(w, "w/other-name")) != 0)
		abort();
}

static const char *programs_of(struct world *w, const char *commands, int abi)
{
	struct resolve_input in = { .path_env = "/usr/local:/usr/bin:/bin::nowhere" };
	struct resolved r = { 0 };
	struct err err = { 0 };
	STRBUF_AUTO sb = { 0 };

	world_parse(w,
		    arena_printf(&w->arena,
				 "sandbox: {roots: [{path: '@/w', at: /w, mode: rw},\n"
				 "  {path: '@/r', at: /r, mode: ro}, {path: '@/w', at: /w2, mode: "
				 "ro}], commands: [%s]}\n"
				 "permissions: {agents: {me: allow}}\n",
				 commands));
	facts_close(&w->facts);
	w->facts = (struct facts){ .self = { .fd = -1 }, .landlock_abi = abi };
	for (size_t i = 0; i < FACTS_DEVICES; i++)
		w->facts.devices[i].object.fd = -1;
	world_facts(w);
	in.profile = w->profile;
	in.agent = w->agent;
	in.facts = &w->facts;
	in.view = &w->view;
	in.access = w->access;
	if (resolve_programs(&w->arena, &in, &r, &err) != 0)
		return arena_printf(&w->arena, "error %u: %s", err.line, err.msg);
	for (size_t i = 0; i < r.programs.n; i++)
		strbuf_printf(&sb, "%s%s;", r.programs.v[i].path,
			      r.programs.v[i].listed ? "" : " (script)");
	for (size_t i = 0; i < r.loaders.n; i++)
		strbuf_printf(&sb, "%s (loader)%s;", r.loaders.v[i].path,
			      r.loaders.v[i].len > 0 ? "" : " without a copy");
	return arena_strdup(&w->arena, strbuf_str(&sb));
}

static const struct {
	const char *what, *commands, *want;
} rows[] = {
	{ "nothing", "", "" },
	{ "a name is the first in PATH", "git", "/usr/local/git;" },
	{ "a path", "/usr/bin/git", "/usr/bin/git;/usr/lib/ld.so (loader);" },
	{ "through the base's link", "/bin/git", "/usr/bin/git;/usr/lib/ld.so (loader);" },
	{ "static", "static", "/usr/bin/static;" },
	{ "what does not exist is no mistake", "none, /usr/bin/none, static", "/usr/bin/static;" },
	{ "what is not executable is none", "readme", "" },
	{ "a link is followed", "python3", "/usr/bin/python3.11;/usr/lib/ld.so (loader);" },
	{ "one file by two names", "python3, python3.11",
	  "/usr/bin/python3.11;/usr/lib/ld.so (loader);" },
	{ "a script brings its interpreter", "pip",
	  "/usr/bin/pip;/usr/bin/python3.11 (script);/usr/lib/ld.so (loader);" },
	{ "which may be listed too, later", "pip, python3",
	  "/usr/bin/pip;/usr/bin/python3.11;/usr/lib/ld.so (loader);" },
	{ "a script of a script", "twice",
	  "/usr/bin/twice;/usr/bin/pip (script);/usr/bin/python3.11 (script);/usr/lib/ld.so "
	  "(loader);" },
	{ "an interpreter that is not there", "lost", "/usr/bin/lost;" },
	{ "one that programs may write to", "evil", "/usr/bin/evil;" },
	{ "a relative one", "rel", "/usr/bin/rel;" },
	{ "two loaders that are one", "/usr/bin/git, git-shell",
	  "/usr/bin/git;/usr/bin/git-shell;/usr/lib/ld.so (loader);" },
	{ "a loader that is listed is a command", "/usr/bin/git, /usr/lib/ld.so",
	  "/usr/bin/git;/usr/lib/ld.so;" },
	{ "the other way round", "/usr/lib/ld.so, /usr/bin/git", "/usr/lib/ld.so;/usr/bin/git;" },
	{ "a pattern is all of them", "'git*'",
	  "/usr/local/git;/usr/bin/git;/usr/bin/git-shell;/usr/lib/ld.so (loader);" },
	{ "in one directory", "'/usr/bin/git*'",
	  "/usr/bin/git;/usr/bin/git-shell;/usr/lib/ld.so (loader);" },
	{ "one character", "'/usr/bin/gi?'", "/usr/bin/git;/usr/lib/ld.so (loader);" },
	{ "a bracket is a name", "'['", "/usr/bin/[;" },
	{ "a pattern of nothing", "'zz*', '/none/*'", "" },
	{ "a read-only root", "/r/tool", "/r/tool;" },
	{ "a writable one", "/w/tool",
	  "error 2: command '/w/tool': /w/tool lies where programs may write, and nothing is "
	  "executed from there: grant it read-only" },
	{ "under another name of the directory", "/w2/tool",
	  "error 2: command '/w2/tool': /w2/tool lies where programs may write, and nothing is "
	  "executed from there: grant it read-only" },
	{ "one with another name, and a writable root there", "/r/two",
	  "error 2: command '/r/two': /r/two has 2 names (hard links): copy it, or a program may "
	  "write to it by another one" },
	{ "the same as an interpreter", "/r/by-two",
	  "error 2: command '/r/by-two': /r/two has 2 names (hard links): copy it, or a program "
	  "may write to it by another one" },
	{ "by a pattern it is left out", "'/w/*', '/r/t*l'", "/r/tool;" },
};

int main(void)
{
	struct tap t = { 0 };
	struct world w;

	world_open(&w);
	populate(&w);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		tap_str(&t, programs_of(&w, rows[i].commands, 7), rows[i].want, rows[i].what);
	tap_ok(&t, strstr(programs_of(&w, "git", 0), "needs Landlock") != NULL,
	       "a kernel without Landlock");
	tap_str(&t, programs_of(&w, "git", 1), "/usr/local/git;", "the first version will do");
	(void)unlink(world_path(&w, "w/other-name"));
	tap_str(&t, programs_of(&w, "/r/two", 7), "/r/two;", "one name again");
	world_close(&w);
	return tap_done(&t);
}
