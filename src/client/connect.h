/* SPDX-License-Identifier: MIT */
/* A port of this machine for a connection of the gateway, or a client that is run there. */
#ifndef GH_CLIENT_CONNECT_H
#define GH_CLIENT_CONNECT_H

#include "client/credential.h"

/* Until a signal comes, or the client has ended. */
enum err client_connect_port(struct client_run *run, const struct client_target *target,
                             struct error *reterr) MUST_USE;

/* A port of 127.0.0.1 that nobody else has; 0 is any. -1 with errno. */
int client_listen(uint16_t port, uint16_t *ret_port);
/* The address, who one is there, and a line for each kind of client. */
void client_connect_print(struct client_run *run, const struct client_credential *credential);

#endif
