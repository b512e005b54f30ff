/* SPDX-License-Identifier: MIT */
/* A terminal of a connection, on the person's own: what is typed goes there as it is, what comes is
 * shown, and the person's terminal is as it was again, however that ends. */
#ifndef GH_CLIENT_TERMINAL_H
#define GH_CLIENT_TERMINAL_H

#include "client/command.h"

/* Whether connections like this one have a terminal. */
enum err client_terminal_find(struct client_run *run, bool *ret_is_there,
                              struct error *reterr) MUST_USE;
/* Until it ends; the exit code is that of the program there. */
enum err client_terminal(struct client_run *run, struct error *reterr) MUST_USE;

#endif
