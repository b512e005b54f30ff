/* SPDX-License-Identifier: MIT */
/* A channel: one stream of a link's HTTP/2 session, as a 'struct stream' (io/stream.h) for whoever
 * has it. Both halves end on their own. Written bytes go straight into the link's frames; read ones
 * are held up to the window, and the peer may send more when they are read. When the link breaks,
 * reads answer what had come, then ERR_IO.
 *
 * Not movable between loops: it belongs to its link's. */
#ifndef GH_TUNNEL_CHANNEL_H
#define GH_TUNNEL_CHANNEL_H

#include "io/stream.h"

struct channel;

/* At the agent's end, for a channel that was asked for. Exactly one of them, at any time after
 * the asking; the channel is gone then. */

/* The channel as a stream, which is the caller's; the message goes before all of its bytes. When
 * the peer has gone meanwhile, the stream's reads and writes say so. */
struct stream *channel_accept(struct channel *channel, struct slice message) MUST_USE;
/* Says no, and why. */
void channel_refuse(struct channel *channel, struct slice message);
/* Says that nothing here serves its kind. */
void channel_refuse_kind(struct channel *channel);

/* Whoever asked does not wait any more, or the link is over: what is being prepared is for nobody.
 * Called at most once; the channel must still be accepted or refused. */
typedef void (*channel_gone_fn)(void *owner);
void channel_on_gone(struct channel *channel, channel_gone_fn on_gone, void *owner);

#endif
