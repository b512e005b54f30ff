/* SPDX-License-Identifier: MIT */
/* 'gatehouse tcp': a client of connections of subtype tcp, on standard input and output, so that it
 * stands where others take a ProxyCommand or nc. The secret comes from the environment: arguments
 * are seen by everybody on the machine. */
#ifndef GH_APP_TCP_COMMAND_H
#define GH_APP_TCP_COMMAND_H

#include "base/arena.h"
#include "base/error.h"

enum err tcp_command_run(struct arena *arena, char **arguments, char **environment,
                         struct error *reterr) MUST_USE;

#endif
