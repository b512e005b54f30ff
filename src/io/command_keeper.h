/* SPDX-License-Identifier: MIT */
/* One command, in a process of its own that keeps it: it is started when its input comes, given
 * that, and ended, with all that came of it, when it is over, when a limit is reached, or when the
 * socket is closed. Blocks; is called in a child of the helper alone. */
#ifndef GH_IO_COMMAND_KEEPER_H
#define GH_IO_COMMAND_KEEPER_H

#include "io/commands.h"

/* Takes the socket. */
void command_keeper_run(int take_fd, const struct commands_settings *settings);
/* Says on the socket why nothing is run. */
void command_keeper_refuse(int fd, const char *words);

#endif
