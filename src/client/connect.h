/* SPDX-License-Identifier: MIT */
/* A port of this machine for a connection of the gateway, or a client that is run there. */
#ifndef GH_CLIENT_CONNECT_H
#define GH_CLIENT_CONNECT_H

#include "client/protocol.h"

/* Until a signal comes, or the client has ended. */
enum err client_connect_port(struct client_run *run, const struct client_target *target,
                             struct error *reterr) MUST_USE;

#endif
