/* SPDX-License-Identifier: MIT */
/* The commands of the program, in one table. */
#ifndef GH_APP_CLI_H
#define GH_APP_CLI_H

/* Runs the command that 'arguments' name; returns the process's exit code. */
int cli_run(char **arguments, char **environment);

#endif
