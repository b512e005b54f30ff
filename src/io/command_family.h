/* SPDX-License-Identifier: MIT */
/* All processes that came of a command, wherever they moved to: the descendants of this process,
 * which adopts those whose parents are gone. */
#ifndef GH_IO_COMMAND_FAMILY_H
#define GH_IO_COMMAND_FAMILY_H

#include <stdbool.h>
#include <sys/types.h>

/* The group of the command is asked to end; of a terminal, as one whose person hung up. */
void command_family_ask(pid_t leader, bool is_terminal);
/* All are ended, and reaped; what does not die within LIMIT_COMMAND_KILL_MS is left. */
void command_family_kill(void);

#endif
