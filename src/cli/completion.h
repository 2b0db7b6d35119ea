/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* completion - what shells complete, written from the tables of commands and options. */
#pragma once

/* A word that help does not list: the build asks it for the files that are installed. */
#define COMPLETION_VERB "completion"

/* completion_print() - the script for the shell argv[0] on stdout; the exit status. */
int completion_print(int argc, char **argv);
