/* SPDX-License-Identifier: MIT */
/* What a command line says to an ordinary shell (POSIX sh, bash, dash, ksh, zsh): each command that
 * it would run, with its words as the program gets them. Nothing is run or looked up: what only the
 * target knows (variables, names of files, what a program does with its input) makes it unknown,
 * and so does what is not understood. Pure. */
#ifndef GH_SSH_SHELL_H
#define GH_SSH_SHELL_H

#include "base/arena.h"

#include <stddef.h>

struct sshd_shell {
    const struct slice *texts; /* all as it is; commands: words without quotes, blanks between */
    size_t count;
    const char *why; /* it is unknown, in words; NULL: it is known */
    /* It is one command, and all of its words are known. */
    bool is_plain;
    const struct slice *words; /* of that one */
    size_t word_count;
};

/* All is in the arena, or static. */
struct sshd_shell sshd_shell_in(struct arena *arena, struct slice text);

/* Whether a variable of that name changes what a command line means, or which program runs. */
bool sshd_shell_is_variable(struct slice name);

#endif
