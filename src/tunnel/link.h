/* SPDX-License-Identifier: MIT */
/* A link: one HTTP/2 session between a gateway and an agent, over a stream that the agent dialled.
 * The gateway's end is the HTTP/2 client, for it opens the channels; the agent's end is the server.
 * Belongs to the loop of its stream.
 *
 * A channel whose owner does not read fills its own window and nothing else: what comes for the
 * others goes on. A peer that says nothing at all for 'dead_ms' is taken for dead. */
#ifndef GH_TUNNEL_LINK_H
#define GH_TUNNEL_LINK_H

#include "base/error.h"
#include "base/limits.h"
#include "io/stream.h"

#include <stdint.h>

struct channel;
struct link;

enum link_end {
    LINK_GATEWAY, /* opens channels */
    LINK_AGENT,   /* is asked for them */
};

struct link_deadlines {
    uint64_t ping_ms; /* how often the other end is asked whether it is there */
    uint64_t dead_ms; /* without a byte from it */
};

#define LINK_DEADLINES                                                                             \
    ((struct link_deadlines){.ping_ms = LIMIT_TUNNEL_PING_MS, .dead_ms = LIMIT_TUNNEL_DEAD_MS})

/* The agent's end is asked for a channel; see channel.h for what may be done with it, now or later.
 * 'kind' and 'message' are valid during the call; the message may hold secrets. */
typedef void (*link_asked_fn)(void *owner, struct channel *channel, struct slice kind,
                              struct slice message);
/* The link is over, once; all its channels are broken by then. ERR_CLOSED: in order, after a drain
 * or by the peer; else ERR_IO, ERR_TIMEOUT or ERR_INPUT and what happened. The link is gone when
 * this returns. */
typedef void (*link_ended_fn)(void *owner, const struct error *error);
/* The peer drains: it will open nothing and accept nothing more; channels go on. May be NULL. */
typedef void (*link_draining_fn)(void *owner);

struct link_settings {
    enum link_end end;
    struct stream *take_stream;
    struct slice waiting; /* what was read of it before; copied */
    struct link_deadlines deadlines;
    char *scratch; /* for reading, shared by all links of the loop; LIMIT_READ_SIZE bytes */
    link_asked_fn on_asked; /* of the agent's end */
    link_ended_fn on_ended;
    link_draining_fn on_draining;
    void *owner;
};

struct link *link_new(const struct link_settings *settings);
/* Cuts it: all its channels are broken at once. No callback of the link itself comes any more. */
void link_close(struct link *link);
/* Tells the peer that nothing new is wanted; ends when the last channel has. */
void link_drain(struct link *link);

/* Neither end drains, so that a channel may be asked for. */
bool link_is_open(const struct link *link);
size_t link_channel_count(const struct link *link);

struct channel_request {
    struct slice kind;    /* like "/postgres"; copied */
    struct slice message; /* at most LIMIT_TUNNEL_MESSAGE_SIZE; copied, and wiped once sent */
};

/* One of the two: the channel as a stream, which is now the owner's, or what went wrong.
 * ERR_DENIED: the agent refused, and 'message' is why, in its own words; ERR_BUSY: too many
 * channels; ERR_UNAVAILABLE: the link is over or drains. 'message' is valid during the call. */
typedef void (*channel_opened_fn)(void *owner, struct stream *take_stream, struct slice message,
                                  const struct error *error);

/* Asks the agent for a channel; at the gateway's end only. 'on_opened' is called once, never inside
 * this. There is no deadline but the link's own: who wants one cancels. */
struct channel *link_open(struct link *link, const struct channel_request *request,
                          channel_opened_fn on_opened, void *owner);
/* Before 'on_opened', which is not called any more. Not from within a callback of the link. */
void link_open_cancel(struct channel *channel);

#endif
