/* SPDX-License-Identifier: MIT */
/* The gateways that use one store: who they are, and what they ask of each other, over the port
 * that agents use. They find each other in the store, where each says for a while that it is there.
 * What they say is sealed with the master key, which all of them have, and bound to its request: so
 * they need no other secret, and who reads the network learns and changes nothing. Used by any
 * thread; a store of one gateway alone has no others. */
#ifndef GH_TUNNEL_NODES_H
#define GH_TUNNEL_NODES_H

#include "base/arena.h"
#include "store/seal.h"
#include "store/store.h"
#include "tunnel/node_request.h"

struct nodes;

struct node {
    struct slice id;
    struct slice url; /* where agents and the others reach it */
};

struct nodes_settings {
    struct store *store;
    struct seal_keys *keys;
    struct node self;
    const char *issuers; /* a PEM file: these alone are trusted for https; NULL: the system's */
};

/* The settings are copied, what they name must last as long. */
struct nodes *nodes_new(const struct nodes_settings *settings);
void nodes_free(struct nodes *nodes);

/* For one thread; blocks. Says that this one is there if that is due, and looks who else is. True:
 * it is not who was there before. */
bool nodes_refresh(struct nodes *nodes);
/* It is not there any more. */
void nodes_leave(struct nodes *nodes);
struct node nodes_self(const struct nodes *nodes);
/* Whether there may ever be others. */
bool nodes_are_shared(const struct nodes *nodes);

/* As of the last look; this one is the first. */
struct node *nodes_list_in(struct arena *arena, struct nodes *nodes, size_t *ret_count);

/* Asks another one, and waits: for LIMIT_FETCH_MS at most. Of the request, what it is about; the
 * answer is of the kind of the wish. ERR_NOT_FOUND: it has no such thing; ERR_UNAVAILABLE: it does
 * not answer, or not in a way that can be believed. */
enum err nodes_ask_in(struct arena *arena, struct nodes *nodes, const struct node *node,
                      const struct node_request *request, struct slice *ret_answer,
                      struct error *reterr) MUST_USE;

/* The other side: what was asked, and how the answer is written. ERR_UNAUTHENTICATED: no gateway of
 * this store asks, or not now, or again; ERR_STALE: another one was meant. */
enum err nodes_open_in(struct arena *arena, struct nodes *nodes, struct slice text,
                       struct node_request *ret_request, struct error *reterr) MUST_USE;
struct slice nodes_close_in(struct arena *arena, struct nodes *nodes,
                            const struct node_request *request, struct slice answer);

#endif
