/* SPDX-License-Identifier: MIT */
/* Connections to a port of this machine, each carried over one of its own to the gateway. Each has
 * a thread, which shares nothing with others; whoever listens sees to it that they end. */
#ifndef GH_CLIENT_TUNNEL_H
#define GH_CLIENT_TUNNEL_H

#include "client/client.h"

struct tunnels;

/* What it points to must outlive them. */
struct tunnels_config {
    const struct client *client;
    struct slice path;       /* where the gateway takes them */
    struct slice connection; /* its name */
    /* Of clients that cannot prove who they are: the tunnel signs in with it, and takes those of
     * the same user alone. Empty: clients do it themselves. */
    struct slice secret;
    int take_fd; /* that listens */
};

/* Takes over the socket, whatever becomes of it. */
enum err tunnels_new(const struct tunnels_config *config, struct tunnels **ret_tunnels,
                     struct error *reterr) MUST_USE;
/* To be polled for POLLIN; then tunnels_accept(). */
int tunnels_fd(const struct tunnels *tunnels);
void tunnels_accept(struct tunnels *tunnels);
/* Ends them all. False: some still wait for the network, and nothing may be freed. */
bool tunnels_free(struct tunnels *tunnels);

#endif
