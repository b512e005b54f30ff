/* SPDX-License-Identifier: MIT */
/* What the parts of a link share: link.c moves bytes between the stream and nghttp2 and calls the
 * owners, link_frames.c turns frames into what channels have, channel.c is the channels' side.
 *
 * Owners are called from two places only, link_dispatch() and a channel's own task: never while
 * nghttp2 works, and never inside a call of theirs. */
#ifndef GH_TUNNEL_LINK_INTERNAL_H
#define GH_TUNNEL_LINK_INTERNAL_H

#include "base/buf.h"
#include "base/list.h"
#include "io/timer.h"
#include "tunnel/channel.h"
#include "tunnel/link.h"

#include <nghttp2/nghttp2.h>

struct link {
    enum link_end end;
    struct loop *loop;
    struct stream *stream;
    nghttp2_session *session;
    struct link_deadlines deadlines;
    char *scratch;
    link_asked_fn on_asked;
    link_ended_fn on_ended;
    link_draining_fn on_draining;
    void *owner;
    struct buf first;  /* read of the stream before the link was made */
    struct buf outbox; /* frames on their way; as large as it may be while it is there at all */
    struct list channels;
    size_t channel_count;
    struct list ready;   /* channels that have something for their owner */
    struct list writers; /* channels whose owner waits for room in the outbox, first come */
    struct timer timer;
    uint64_t heard_ms; /* when the last byte came */
    size_t held;       /* bytes that came and were not read yet */
    size_t owed;       /* of the session's window, not given back yet */
    struct loop_task task;
    struct loop_task free_task;
    struct error failure;    /* its code is ERR_NONE while there is none */
    bool is_inside;          /* nghttp2 */
    bool is_blocked;         /* the stream takes no more right now */
    bool is_draining;        /* we told the peer */
    bool is_peer_draining;   /* the peer told us */
    bool must_tell_draining; /* and the owner does not know yet */
    bool is_closed;
    bool has_secret_out; /* in the outbox */
    bool has_secret_in;  /* in the scratch */
};

enum channel_phase {
    CHANNEL_OPENING, /* the gateway's end: no answer yet */
    CHANNEL_ASKED,   /* the agent's end: the owner was not asked yet */
    CHANNEL_PENDING, /* the agent's end: the owner has not answered yet */
    CHANNEL_OPEN,
    CHANNEL_REFUSED, /* the agent's end: the refusal is on its way */
    CHANNEL_CLOSED,
};

/* The agent's, as a status of HTTP: 200, 404, or another one. */
enum channel_answer {
    CHANNEL_SAID_NO,
    CHANNEL_ACCEPTED,
    CHANNEL_KIND_UNKNOWN,
};

/* The first piece of either direction: four bytes of length, and the message. */
struct channel_head {
    struct buf bytes;
    bool is_whole;
};

struct channel {
    struct stream stream;
    struct link *link;     /* NULL once it is over */
    struct list all;       /* in link->channels */
    struct list ready;     /* in link->ready */
    struct list writer;    /* in link->writers */
    struct loop_task task; /* without a link: tells the owner; frees */
    enum channel_phase phase;
    int32_t id;
    enum channel_answer answer;
    char *kind; /* the agent's end, until it is asked */
    struct channel_head head_in;
    struct channel_head head_out; /* not yet sent */
    struct buf inbox;
    /* What is being written, during the call alone. */
    const struct slice *parts;
    size_t part_count;
    size_t part_offset; /* in parts[0] */
    size_t allowance;   /* how much of it may be taken now */
    size_t taken;
    unsigned watched;
    bool has_ended_in; /* the peer's half */
    bool wants_end;    /* our half, once all is sent */
    bool has_ended_out;
    bool is_broken;
    enum err broken_err; /* for who opens it */
    channel_opened_fn on_opened;
    channel_gone_fn on_gone;
    void *owner;
};

/* link.c */
/* Frames out of nghttp2 into the outbox, as far as there is room. */
void link_fill(struct link *link);
/* In this turn, or at once when the outbox is full. */
void link_flush_soon(struct link *link);
/* Ends the link at the next good moment. The first reason counts. */
void link_fail(struct link *link, enum err code, const char *message);
bool link_has_room(const struct link *link);
/* What was received, and what of it was read. */
void link_hold(struct link *link, size_t size);
void link_let_go(struct link *link, size_t size);

/* link_frames.c */
void link_frames_set_callbacks(nghttp2_session_callbacks *callbacks);
/* Of the bytes that a channel sends. */
nghttp2_data_provider link_frames_provider(void);

/* channel.c */
struct channel *channel_new(struct link *link, enum channel_phase phase);
/* Takes it out of its link; nghttp2 forgets it. */
void channel_leave(struct channel *channel);
void channel_free_later(struct channel *channel);
/* The session's stream is over, or the link. */
void channel_break(struct channel *channel, enum err err);
/* Asks for a call of the owner, if there is something to tell. */
void channel_notify(struct channel *channel);
/* The owner's turn. */
void channel_tell(struct channel *channel);
void channel_tell_room(struct channel *channel);
/* Bytes for the frame that nghttp2 makes. */
size_t channel_ready_size(const struct channel *channel);
void channel_copy_out(struct channel *channel, char *at, size_t size);

#endif
