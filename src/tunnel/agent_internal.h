/* SPDX-License-Identifier: MIT */
/* What agent_side.c and agent_node.c share: the side knows the nodes and what they tell of each
 * other, a node is the way to one gateway. */
#ifndef GH_TUNNEL_AGENT_INTERNAL_H
#define GH_TUNNEL_AGENT_INTERNAL_H

#include "codec/url.h"
#include "io/dial.h"
#include "io/timer.h"
#include "io/tls_handshake.h"
#include "tunnel/agent_side.h"
#include "tunnel/hello.h"

struct agent_side {
    struct agent_side_settings settings;
    struct agent_place place;
    struct loop *loop;
    struct list nodes;
    size_t node_count;
    bool is_draining;
    struct timer deadline; /* of the drain */
    struct loop_task task;
    void (*on_drained)(void *owner);
    void *owner;
};

enum agent_phase {
    AGENT_WAITS,
    AGENT_DIALS,
    AGENT_SHAKES_HANDS,
    AGENT_ASKS, /* for the upgrade */
    AGENT_LINKED,
    AGENT_GONE,
};

struct agent_node;

/* One link, or the way to it. */
struct agent_way {
    struct agent_node *node;
    struct agent_side *side;
    size_t index; /* among those of the node; the gateway is told of it */
    enum agent_phase phase;
    struct dial *dial;
    struct tls_handshake *handshake;
    struct stream *stream;
    struct buf request;
    struct buf answer;
    struct link *link;
    bool is_greeted;
    struct timer timer; /* the pause, or the deadline of a step */
    uint64_t pause_ms;
    struct loop_task task;
};

/* Without a first way it is on its way out. */
struct agent_node {
    struct list at;
    struct agent_side *side;
    struct arena arena;
    struct slice text; /* of the URL */
    struct url url;
    struct slice authority;                     /* host:port */
    bool is_first;                              /* what the agent was started with: it stays */
    bool is_listed;                             /* by the last hello */
    char id[64];                                /* as it says; empty: not known yet */
    struct agent_way *ways[LIMIT_TUNNEL_LINKS]; /* by index; NULL: none */
    size_t way_count;                           /* with those that are not freed yet */
};

/* agent_side.c */
/* What a gateway has told; may end nodes, also the one that told. */
void agent_side_learn(struct agent_node *node, const struct hello_gateway *hello);
void agent_side_ended(struct agent_side *side);
/* An answer to a hello, and the channels of all other kinds. */
void agent_side_serve(struct agent_side *side, struct channel *channel, struct slice kind,
                      struct slice message);
struct stream *agent_side_answer_hello(struct agent_side *side, struct channel *channel);

/* agent_node.c */
/* NULL when the URL may not be dialled. Dials at the end of the turn. */
struct agent_node *agent_node_new(struct agent_side *side, struct slice url, bool is_first);
/* Any of its ways is a link. */
bool agent_node_is_linked(const struct agent_node *node);
/* A node of this id is not the one that the other links lead to: a balancer may stand before. */
bool agent_node_is_other(const struct agent_way *way, struct slice id);
/* What a gateway has told; may end nodes, also this one. */
void agent_node_learn(struct agent_node *node, const struct hello_gateway *hello);
/* Ends what it does, without a word, and tries again after the longest pause. */
void agent_node_rest(struct agent_node *node);
void agent_node_drain(struct agent_node *node);
/* Cuts it; the memory goes at the end of the turn. */
void agent_node_free(struct agent_node *node);
void agent_node_way_ended(struct agent_node *node);

/* agent_way.c */
/* Dials at the end of the turn. */
struct agent_way *agent_way_new(struct agent_node *node, size_t index);
void agent_way_rest(struct agent_way *way);
void agent_way_drain(struct agent_way *way);
/* Cuts it; the memory goes at the end of the turn. */
void agent_way_free(struct agent_way *way);

#endif
