/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/exitcode.h"
#include "base/fd.h"
#include "base/io.h"
#include "cli/context.h"

#define FILE_NAME "agentbox.yaml"

static const char text[] =
	"# What may run in this folder, and how far: agentbox run -p " FILE_NAME " -- COMMAND\n"
	"# Every key: man agentbox.yaml. What it comes to: agentbox lint --dump " FILE_NAME "\n"
	"version: 1\n"
	"\n"
	"# This folder can be written, the system is there read-only, /tmp and HOME are private "
	"and\n"
	"# gone with the run, and there is no network. `agentbox profiles` lists what else there "
	"is.\n"
	"extends: [builtin:build]\n"
	"\n"
	"params:\n"
	"  workspace: {required: false, default: .} # another folder: -w DIR\n"
	"\n"
	"sandbox:\n"
	"  # What ends a run.\n"
	"  limits: {timeout: 1h}\n"
	"  # More folders of the host:\n"
	"  # roots:\n"
	"  #   - {path: ~/datasets, at: /data, mode: ro}\n"
	"  # Toolchains that live in your home, read-only:\n"
	"  # base: {from: host, add: [~/.rustup, ~/.nvm]}\n"
	"  # Variables of yours that a command needs:\n"
	"  # env: {pass: [EDITOR]}\n"
	"  # All of the host's network:\n"
	"  # network: host\n"
	"\n"
	"# The agent of builtin:build may do whatever the sandbox grants. To say it in rules, and "
	"for\n"
	"# more agents than one:\n"
	"# permissions:\n"
	"#   agents:\n"
	"#     reader:\n"
	"#       rules:\n"
	"#         - {operations: [read], paths: [\"${workspace}/**\"], mode: allow}\n"
	"#         - {operations: [execute], commands: [\"git log *\", \"git diff *\"], mode: "
	"allow}\n"
	"\n"
	"# What must stay true, whoever changes this file: agentbox test " FILE_NAME "\n"
	"tests:\n"
	"  - {agent: agent, action: write_file, resource: \"${workspace}/x\", decision: allow}\n"
	"  - {agent: agent, action: read_file, resource: \"${workspace}/.env\", decision: deny}\n"
	"  - {agent: agent, action: net_connect, resource: \"example.org:443\", decision: deny}\n";

/* What the folder holds says what is likely to be run in it. */
static const struct {
	const char *file;
	const char *command;
} habits[] = {
	{ "Makefile", "make" },
	{ "meson.build", "ninja -C build" },
	{ "Cargo.toml", "cargo test" },
	{ "go.mod", "go test ./..." },
	{ "package.json", "npm test" },
	{ "pyproject.toml", "python3 -m pytest" },
	{ "CMakeLists.txt", "cmake -B build" },
};

static int fill_file(int fd, struct err *err)
{
	int r = io_write_full(fd, text, strlen(text));

	return r == 0 ? 0
		      : err_set(err, ERR_HOST, -r, FILE_NAME " could not be written whole here");
}

static int is_there(struct err *err)
{
	return err_set(err, ERR_REQUEST, 0,
		       FILE_NAME " is here already and stays as it is: 'agentbox lint " FILE_NAME
				 "' looks at it");
}

/* A file without a name is given one when it is whole, and never that of another: whoever ends this
 * in the middle leaves nothing.
 * Return: 1 where the file system has no such files, or /proc is not there. */
static int write_unnamed(struct err *err)
{
	FD_AUTO fd = open(".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0644);
	char path[64];

	if (fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == ENOENT))
		return 1;
	if (fd < 0)
		return err_set(err, ERR_HOST, errno, FILE_NAME " cannot be made here");
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (access(path, F_OK) != 0)
		return 1;
	if (fill_file(fd, err) != 0)
		return -1;
	if (linkat(AT_FDCWD, path, AT_FDCWD, FILE_NAME, AT_SYMLINK_FOLLOW) == 0)
		return 0;
	return errno == EEXIST ? is_there(err)
			       : err_set(err, ERR_HOST, errno, FILE_NAME " cannot be made here");
}

static int write_file(struct err *err)
{
	struct stat st;
	FD_AUTO fd = -1;
	int r;

	/* Never over what is there, a link included. */
	if (fstatat(AT_FDCWD, FILE_NAME, &st, AT_SYMLINK_NOFOLLOW) == 0)
		return is_there(err);
	r = write_unnamed(err);
	if (r != 1)
		return r;
	fd = open(FILE_NAME, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (fd < 0 && errno == EEXIST)
		return is_there(err);
	if (fd < 0)
		return err_set(err, ERR_HOST, errno, FILE_NAME " cannot be made here");
	return fill_file(fd, err) != 0 ? err_prefix(err, "remove the rest of it") : 0;
}

static void print_next(void)
{
	const char *command = "ls -la";

	for (size_t i = 0; i < ARRAY_SIZE(habits); i++) {
		if (access(habits[i].file, F_OK) == 0) {
			command = habits[i].command;
			break;
		}
	}
	(void)printf("wrote " FILE_NAME ". Read it, change it, then:\n"
		     "  agentbox lint " FILE_NAME "\n"
		     "  agentbox test " FILE_NAME "\n"
		     "  agentbox run -p " FILE_NAME " -- %s\n",
		     command);
	if (access(".git", F_OK) == 0)
		(void)puts("Inside, the file is hidden: git there takes it for changed once it is "
			   "committed.");
}

static int command_init(struct arena *a, int argc, char **argv, struct err *err)
{
	struct cli_context c = { .arena = a };
	struct cli_source src;
	struct cli_parsed p;

	if (cli_parse(a, &cmd_init, argc, argv, &p, err) != 0)
		return EXITCODE_FAILED;
	if (p.help) {
		cli_print_help(&cmd_init);
		return 0;
	}
	if (p.words.n > 0 || p.rest != NULL) {
		(void)err_set(err, ERR_USAGE, 0,
			      "init takes no argument: it writes " FILE_NAME " in this folder");
		return EXITCODE_FAILED;
	}
	if (write_file(err) != 0)
		return cli_rc(err);
	/* A folder that others may write is told here and not at the first run. */
	src = cli_source_of(&p);
	src.profile = FILE_NAME;
	if (cli_context_profile(&c, &src, err) != 0)
		return cli_rc(err);
	print_next();
	if (fflush(stdout) != 0) {
		(void)err_set(err, ERR_HOST, errno, "cannot write to standard output");
		return EXITCODE_FAILED;
	}
	return 0;
}

const struct cli_command cmd_init = {
	.name = "init",
	.synopsis = "",
	.summary = "write a commented profile for this folder, agentbox.yaml; never over another",
	.examples = "  agentbox init && agentbox run -p agentbox.yaml -- make test\n",
	.run = command_init,
};
