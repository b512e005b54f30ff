/* SPDX-License-Identifier: MIT */
/* Connections to a port of this machine, each carried over one of its own to the gateway. Each has
 * a thread, which shares nothing with others; whoever listens sees to it that they end. */
#ifndef GH_CLIENT_TUNNEL_H
#define GH_CLIENT_TUNNEL_H

#include "client/client.h"

struct tunnels;

/* By what the next connection comes in at the gateway. */
struct tunnel_pass {
    struct client client;       /* with the token of now */
    struct slice credential_id; /* empty: its client proves a credential's secret */
    struct slice password;      /* that it proves else, which counts here alone */
    struct slice secret;        /* with which the tunnel signs in for it */
};

/* On the thread of a connection, several at once. 'was_refused': what it gave before is no longer
 * good. What it gives lives in the arena. */
typedef enum err (*tunnel_pass_fn)(void *context, struct arena *arena, bool was_refused,
                                   struct tunnel_pass *ret_pass, struct error *reterr);

/* What it points to must outlive them. */
struct tunnels_config {
    struct slice path;       /* where the gateway takes them */
    struct slice connection; /* its name */
    tunnel_pass_fn pass;
    void *context;
    /* Clients cannot prove who they are: the tunnel signs in for those of the same user alone. */
    bool signs_in;
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
