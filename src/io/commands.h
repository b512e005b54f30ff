/* SPDX-License-Identifier: MIT */
/* Commands are run by a helper: a process that is made before this one has read any secret, has
 * threads, or is confined, and which does nothing else. For each command it makes one more process,
 * the keeper (command_keeper.h), which speaks the frames of wire/execwire.h over a socket. Whoever
 * closes that socket ends the command and all that came of it. */
#ifndef GH_IO_COMMANDS_H
#define GH_IO_COMMANDS_H

#include "base/error.h"

#include <stdbool.h>

#define COMMANDS_HIDDEN_MAX 8

struct commands_settings {
    /* Absolute or relative paths that no command may read, whatever else it may: where the keys
     * and the store are. NULL behind the last. */
    const char *hidden[COMMANDS_HIDDEN_MAX];
};

struct commands;

/* While there is one thread. What has been opened or read by now, the helper has, too. */
enum err commands_start(const struct commands_settings *settings, struct commands **ret_commands,
                        struct error *reterr) MUST_USE;
/* The helper ends, and with it what it runs. Takes NULL. */
void commands_free(struct commands *commands);

/* From any thread: a keeper at the other end of the socket, which does not block. */
enum err commands_connect(const struct commands *commands, int *ret_fd,
                          struct error *reterr) MUST_USE;

#endif
