/* SPDX-License-Identifier: MIT */
/* The terminal that a command has instead of pipes, and whether it shows what is typed into it.
 * Used by a keeper alone. */
#ifndef GH_IO_COMMAND_TERMINAL_H
#define GH_IO_COMMAND_TERMINAL_H

#include "wire/execwire.h"

#include <sys/types.h>

/* False: errno. The command's side belongs to the user that it will be. */
bool command_terminal_open(const struct execwire_size *size, uid_t user, int *ret_keeper,
                           int *ret_command);
/* In the process that becomes the command, the first of its session. 0, or errno. */
int command_terminal_take(int command_fd);
void command_terminal_resize(int keeper_fd, const struct execwire_size *size);

/* Whether what is typed may be shown to others, and so be put on record. No: the terminal does not
 * echo it, and either takes it line by line, as those who ask for a password have it, or hands on
 * even Ctrl-C, as full-screen programs and clients of other machines have it. What edits its lines
 * itself (readline) turns the echo off, too, but shows what is typed. */
struct command_echo {
    bool is_watched;
    bool is_shown;
    int pause_ms; /* until it is looked at again though nothing happens */
};

void command_echo_init(struct command_echo *echo, bool is_watched);
bool command_echo_changed(struct command_echo *echo, int keeper_fd);
/* How long to wait at most. The kernel does not tell when a program changes its terminal: behind
 * something that happened it is looked at soon, then ever more rarely. */
int command_echo_wait(struct command_echo *echo, int timeout_ms);
void command_echo_stir(struct command_echo *echo);

#endif
