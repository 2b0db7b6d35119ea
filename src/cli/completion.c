/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/completion.h"

#include <stdio.h>
#include <string.h>

#include "base/exitcode.h"
#include "cli/cli.h"

/* What a value is, told by its placeholder: how each shell completes it. One without a row is the
 * user's own, as a time or a number. */
static const struct kind {
	const char *value;
	const char *bash, *zsh, *fish;
} kinds[] = {
	{ "FILE", "compgen -f -- \"$2\"", "_files", "-F" },
	{ "PROFILE",
	  "compgen -f -- \"$2\"; compgen -W \"$(command agentbox profiles 2>/dev/null)\" -- \"$2\"",
	  "_agentbox_profiles", "-F -a '(command agentbox profiles 2>/dev/null)'" },
	{ "DIR", "compgen -d -- \"$2\"", "_files -/", "-f -a '(__fish_complete_directories)'" },
	{ "NAME", "compgen -e -- \"$2\"", "_parameters -g \"*export*\"", "-f -a '(set -nx)'" },
	{ "split", "compgen -W split -- \"$2\"", "(split)", "-f -a split" },
};

static const struct kind *find_kind(const struct cli_option *o)
{
	static const struct kind none = { "", ":", "", "-f" };

	for (size_t i = 0; o->value != NULL && i < ARRAY_SIZE(kinds); i++) {
		if (strcmp(o->value, kinds[i].value) == 0)
			return &kinds[i];
	}
	return &none;
}

/* @text within single quotes of a shell; what @special lists gets a backslash before it. */
static void put_quoted(const char *text, const char *special)
{
	for (const char *c = text; *c != '\0'; c++) {
		if (*c == '\'')
			(void)fputs("'\\'", stdout);
		else if (strchr(special, *c) != NULL)
			(void)putchar('\\');
		(void)putchar(*c);
	}
}

static void put_words(const struct cli_command *cmd)
{
	for (size_t i = 0; cmd->word_at != NULL && cmd->word_at(i) != NULL; i++)
		(void)printf("%s%s", i == 0 ? "" : " ", cmd->word_at(i));
}

/* --- bash: three tables, and the one function that reads them */

static const char bash_function[] =
	"_agentbox()\n"
	"{\n"
	"\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}\n"
	"\tlocal command=${COMP_WORDS[1]} matches='' i\n"
	"\tCOMPREPLY=()\n"
	"\tfor ((i = 2; i < COMP_CWORD; i++)); do\n"
	"\t\t[ \"${COMP_WORDS[i]}\" = -- ] || continue\n"
	"\t\tif declare -F _command_offset >/dev/null; then\n"
	"\t\t\t_command_offset $((i + 1))\n"
	"\t\telif ((COMP_CWORD == i + 1)); then\n"
	"\t\t\tmapfile -t COMPREPLY < <(compgen -c -- \"$cur\")\n"
	"\t\telse\n"
	"\t\t\tcompopt -o default\n"
	"\t\tfi\n"
	"\t\treturn\n"
	"\tdone\n"
	"\t# --name=value is three words here.\n"
	"\tif ((COMP_CWORD > 2)) && [ \"$cur\" = = ]; then\n"
	"\t\tprev+='='\n"
	"\t\tcur=''\n"
	"\telif ((COMP_CWORD > 3)) && [ \"$prev\" = = ]; then\n"
	"\t\tprev=\"${COMP_WORDS[COMP_CWORD - 2]}=\"\n"
	"\tfi\n"
	"\tif ((COMP_CWORD == 1)); then\n"
	"\t\tmatches=$(compgen -W \"$(_agentbox_words) --help --version\" -- \"$cur\")\n"
	"\telif matches=$(_agentbox_value \"$command $prev\" \"$cur\"); then\n"
	"\t\tcompopt -o filenames\n"
	"\telif [[ $cur == -* ]]; then\n"
	"\t\tmatches=$(compgen -W \"$(_agentbox_options \"$command\")\" -- \"$cur\")\n"
	"\telif ((COMP_CWORD == 2)) && [ -n \"$(_agentbox_words \"$command\")\" ]; then\n"
	"\t\tmatches=$(compgen -W \"$(_agentbox_words \"$command\")\" -- \"$cur\")\n"
	"\telse\n"
	"\t\tcompopt -o default\n"
	"\tfi\n"
	"\t[ -z \"$matches\" ] || mapfile -t COMPREPLY <<<\"$matches\"\n"
	"}\n"
	"complete -F _agentbox agentbox\n";

static void bash_options(void)
{
	const struct cli_command *cmd;

	(void)puts("_agentbox_options()\n{\n\tcase $1 in");
	for (size_t i = 0; (cmd = cli_command_at(i)) != NULL; i++) {
		(void)printf("\t%s) echo '--help -h", cmd->name);
		for (size_t j = 0; j < cmd->n_options; j++) {
			const struct cli_option o = cli_option_at(cmd, j);

			(void)printf(" --%s", o.name);
			if (o.short_name != '\0')
				(void)printf(" -%c", o.short_name);
		}
		(void)puts("' ;;");
	}
	(void)puts("\tesac\n}");
}

/* The words before the value of an option, as patterns of a case. */
static void bash_patterns(const struct cli_command *cmd, const struct cli_option *o)
{
	(void)printf("\t'%s --%s='", cmd->name, o->name);
	if (o->arg != CLI_ARG_OPTIONAL)
		(void)printf(" | '%s --%s'", cmd->name, o->name);
	if (o->short_name != '\0')
		(void)printf(" | '%s -%c'", cmd->name, o->short_name);
}

static void bash_values(void)
{
	const struct cli_command *cmd;

	(void)puts("_agentbox_value()\n{\n\tcase $1 in");
	for (size_t i = 0; (cmd = cli_command_at(i)) != NULL; i++) {
		for (size_t j = 0; j < cmd->n_options; j++) {
			const struct cli_option o = cli_option_at(cmd, j);

			if (o.arg == CLI_ARG_NONE)
				continue;
			bash_patterns(cmd, &o);
			(void)printf(") %s ;;\n", find_kind(&o)->bash);
		}
	}
	(void)puts("\t*) return 1 ;;\n\tesac\n\treturn 0\n}");
}

static void print_bash(void)
{
	const struct cli_command *cmd;

	(void)puts("# bash completion of agentbox, written from its tables\n"
		   "_agentbox_words()\n{\n\tcase ${1:-} in");
	(void)printf("\t'') echo '");
	for (size_t i = 0; (cmd = cli_command_at(i)) != NULL; i++)
		(void)printf("%s%s", i == 0 ? "" : " ", cmd->name);
	(void)puts("' ;;");
	for (size_t i = 0; (cmd = cli_command_at(i)) != NULL; i++) {
		if (cmd->word_at == NULL)
			continue;
		(void)printf("\t%s) echo '", cmd->name);
		put_words(cmd);
		(void)puts("' ;;");
	}
	(void)puts("\tesac\n}");
	bash_options();
	bash_values();
	(void)fputs(bash_function, stdout);
}

/* --- zsh: one specification for each option */

static void zsh_option(const struct cli_option *o)
{
	static const char *const end[] = {
		[CLI_ARG_NONE] = "",
		[CLI_ARG_VALUE] = "=",
		[CLI_ARG_OPTIONAL] = "=-",
		[CLI_ARG_REPEATED] = "=",
	};

	(void)printf(" \\\n\t\t\t'");
	if (o->arg == CLI_ARG_REPEATED)
		(void)putchar('*');
	else if (o->short_name != '\0')
		(void)printf("(-%c --%s)", o->short_name, o->name);
	if (o->short_name != '\0')
		(void)printf("'{-%c%s,--%s%s}'", o->short_name, o->arg == CLI_ARG_NONE ? "" : "+",
			     o->name, end[o->arg]);
	else
		(void)printf("--%s%s", o->name, end[o->arg]);
	(void)putchar('[');
	put_quoted(o->help, "[]:\\");
	(void)putchar(']');
	if (o->arg != CLI_ARG_NONE)
		(void)printf(":%s%s:%s", o->arg == CLI_ARG_OPTIONAL ? ":" : "", o->value,
			     find_kind(o)->zsh);
	(void)putchar('\'');
}

static void zsh_command(const struct cli_command *cmd)
{
	(void)printf("\t\t%s)\n\t\t\t_arguments -s -S '(- *)'{-h,--help}'[print help]'", cmd->name);
	for (size_t i = 0; i < cmd->n_options; i++) {
		const struct cli_option o = cli_option_at(cmd, i);

		zsh_option(&o);
	}
	if (cmd->word_at != NULL) {
		(void)printf(" \\\n\t\t\t'1:word:(");
		put_words(cmd);
		(void)printf(")'");
	}
	(void)printf(" \\\n\t\t\t'*:::argument:%s'\n\t\t\t;;\n",
		     cmd == &cmd_run ? "_normal" : "_files");
}

static void print_zsh(void)
{
	const struct cli_command *cmd;

	(void)puts(
		"#compdef agentbox\n"
		"# zsh completion of agentbox, written from its tables\n"
		"_agentbox_profiles() {\n"
		"\tlocal -a shipped\n"
		"\tshipped=(${(f)\"$(command agentbox profiles 2>/dev/null)\"})\n"
		"\t_alternative 'files:file:_files' 'profiles:shipped profile:compadd -a shipped'\n"
		"}\n"
		"_agentbox() {\n"
		"\tlocal curcontext=$curcontext state line\n"
		"\tlocal -a commands\n"
		"\tcommands=(");
	for (size_t i = 0; (cmd = cli_command_at(i)) != NULL; i++) {
		(void)printf("\t\t'%s:", cmd->name);
		put_quoted(cmd->summary, "\\");
		(void)puts("'");
	}
	(void)puts("\t)\n"
		   "\t_arguments -C '(- *)'{-h,--help}'[print help]' "
		   "'(- *)--version[print the version]' \\\n"
		   "\t\t'1:command:->command' '*::argument:->argument'\n"
		   "\tcase $state in\n"
		   "\tcommand) _describe command commands ;;\n"
		   "\targument)\n"
		   "\t\tcase $words[1] in");
	for (size_t i = 0; (cmd = cli_command_at(i)) != NULL; i++)
		zsh_command(cmd);
	(void)puts("\t\tesac\n"
		   "\t\t;;\n"
		   "\tesac\n"
		   "}\n"
		   "_agentbox \"$@\"");
}

/* --- fish: one line for each option */

static void fish_command(const struct cli_command *cmd)
{
	(void)printf("complete -c agentbox -n __fish_use_subcommand -a %s -d '", cmd->name);
	put_quoted(cmd->summary, "\\");
	(void)puts("'");
	if (cmd->word_at != NULL) {
		(void)printf("complete -c agentbox -n '_agentbox_in %s' -a '", cmd->name);
		put_words(cmd);
		(void)puts("'");
	}
	for (size_t i = 0; i < cmd->n_options; i++) {
		const struct cli_option o = cli_option_at(cmd, i);

		(void)printf("complete -c agentbox -n '_agentbox_in %s' -l %s", cmd->name, o.name);
		if (o.short_name != '\0')
			(void)printf(" -s %c", o.short_name);
		if (o.arg == CLI_ARG_VALUE || o.arg == CLI_ARG_REPEATED)
			(void)printf(" -r %s", find_kind(&o)->fish);
		else if (o.arg == CLI_ARG_OPTIONAL)
			(void)printf(" %s", find_kind(&o)->fish);
		(void)printf(" -d '");
		put_quoted(o.help, "\\");
		(void)puts("'");
	}
}

static void print_fish(void)
{
	const struct cli_command *cmd;

	(void)puts(
		"# fish completion of agentbox, written from its tables\n"
		"function _agentbox_in\n"
		"\tset -l words (commandline -opc)\n"
		"\ttest \"$words[2]\" = $argv[1]; and not contains -- -- $words\n"
		"end\n"
		"function _agentbox_rest\n"
		"\tset -l words (commandline -opc) (commandline -ct)\n"
		"\tset -l at (contains -i -- -- $words)\n"
		"\tset -e words[1..$at]\n"
		"\tcomplete -C \"$words\"\n"
		"end\n"
		"complete -c agentbox -n __fish_use_subcommand -f\n"
		"complete -c agentbox -n __fish_use_subcommand -l version -d 'print the version'\n"
		"complete -c agentbox -s h -l help -d 'print help'\n"
		"complete -c agentbox -n 'contains -- -- (commandline -opc)' -f "
		"-a '(_agentbox_rest)'");
	for (size_t i = 0; (cmd = cli_command_at(i)) != NULL; i++)
		fish_command(cmd);
}

static const struct shell {
	const char *name;
	void (*print)(void);
} shells[] = {
	{ "bash", print_bash },
	{ "zsh", print_zsh },
	{ "fish", print_fish },
};

int completion_print(int argc, char **argv)
{
	for (size_t i = 0; argc == 1 && i < ARRAY_SIZE(shells); i++) {
		if (strcmp(argv[0], shells[i].name) != 0)
			continue;
		shells[i].print();
		return fflush(stdout) == 0 ? 0 : EXITCODE_FAILED;
	}
	cli_say("'" COMPLETION_VERB "' takes bash, zsh or fish");
	return EXITCODE_FAILED;
}
