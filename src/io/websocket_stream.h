/* SPDX-License-Identifier: MIT */
/* One end of a WebSocket (wire/websocket.h), the server's, over a stream on a loop: whole messages
 * both ways, pings and their answers, and the end. Memory is bounded: what the other end does not
 * take is refused beyond LIMIT_WEBSOCKET_OUT_SIZE, and who holds it is read no further. */
#ifndef GH_IO_WEBSOCKET_STREAM_H
#define GH_IO_WEBSOCKET_STREAM_H

#include "io/stream.h"
#include "wire/websocket.h"

struct websocket;

/* In these, websocket_send(), _hold() and _finish() may be called. */
struct websocket_events {
    /* TEXT or BINARY. */
    void (*on_message)(void *owner, enum websocket_kind kind, struct slice payload);
    /* After ERR_AGAIN of websocket_send(): there is room again. */
    void (*on_room)(void *owner);
    /* Once, and it is gone: the other end left (with this code, or WEBSOCKET_NO_CODE), broke the
     * protocol or was lost, or was told good bye by websocket_finish(). */
    void (*on_gone)(void *owner, uint16_t code);
};

/* Takes the stream. 'behind' was read of it already. */
struct websocket *websocket_new(struct stream *take_stream, struct slice behind,
                                const struct websocket_events *events, void *owner);
/* ERR_AGAIN: nothing of it is taken now; of TEXT a few always are, for what says why it ends. After
 * websocket_finish(): it is dropped. */
enum err websocket_send(struct websocket *websocket, enum websocket_kind kind,
                        struct slice payload) MUST_USE;
/* Nothing is read while this is set. */
void websocket_hold(struct websocket *websocket, bool is_held);
/* Says good bye behind all that was sent, and waits so long for the other end's. */
void websocket_finish(struct websocket *websocket, enum websocket_code code, struct slice reason,
                      uint64_t wait_ms);
/* At once and without a callback. */
void websocket_close(struct websocket *websocket);

#endif
