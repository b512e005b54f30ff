/* SPDX-License-Identifier: MIT */
/* What the two ends of a link tell each other first, as JSON in the messages of the channel
 * "/hello" (docs/agent-protocol.md). Unknown members are passed over and missing ones are empty, so
 * that old and new ends understand each other: what an end can do it says itself, as a list of
 * words, and nobody concludes it from a version. Pure: bytes in, struct out, and back. */
#ifndef GH_TUNNEL_HELLO_H
#define GH_TUNNEL_HELLO_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/limits.h"
#include "model/agent.h"

#include <stdint.h>

/* Of the HTTP upgrade; the number rises when old and new ends cannot talk any more. */
#define HELLO_PROTOCOL "gatehouse-link/1"
#define HELLO_KIND     "/hello"
#define HELLO_PATH     "/api/agent-link"
/* Of the hello itself: told, and not judged by. */
#define HELLO_VERSION 1

struct hello_node {
    struct slice id;
    struct slice url; /* where agents dial it */
};

/* From the gateway, also later when something of it changed. */
struct hello_gateway {
    int64_t protocol;
    struct slice version; /* of the program */
    struct slice node_id;
    struct slice agent_name; /* whom it took the agent for */
    int64_t links;           /* how many it wants of an agent; at least 1 */
    const struct hello_node *nodes;
    size_t node_count;
};

/* The agent's answer. */
struct hello_agent {
    int64_t protocol;
    struct slice version;
    const struct slice *kinds; /* of channels that it serves */
    size_t kind_count;
    struct agent_metadata machine;
};

/* ERR_LIMIT when the buffer is too small. */
enum err hello_gateway_write(const struct hello_gateway *hello, struct buf *buf) MUST_USE;
enum err hello_agent_write(const struct hello_agent *hello, struct buf *buf) MUST_USE;

/* What is too long or too much is cut; ERR_INPUT: not JSON, or a member of the wrong type. */
enum err hello_gateway_read_in(struct arena *arena, struct slice bytes,
                               struct hello_gateway *ret_hello, struct error *reterr) MUST_USE;
enum err hello_agent_read_in(struct arena *arena, struct slice bytes, struct hello_agent *ret_hello,
                             struct error *reterr) MUST_USE;

#endif
