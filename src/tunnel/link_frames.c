/* SPDX-License-Identifier: MIT */
/* What nghttp2 calls. Nothing here calls an owner: it is noted, and channel_notify() asks for the
 * call. A peer that breaks the rules of a channel loses the channel, not the link. */
#include "base/limits.h"
#include "base/must.h"
#include "base/reader.h"
#include "tunnel/link_internal.h"

static struct channel *frames_channel(struct link *link, int32_t id)
{
    return nghttp2_session_get_stream_user_data(link->session, id);
}

/* The channel is over for us, whatever the peer still sends. */
static void frames_refuse(struct channel *channel, uint32_t code)
{
    must(nghttp2_submit_rst_stream(channel->link->session, NGHTTP2_FLAG_NONE, channel->id, code) ==
         0);
    channel_break(channel, ERR_INPUT);
}

/* Heads --------------------------------------------------------------------------------------- */

static int frames_on_begin_headers(nghttp2_session *session, const nghttp2_frame *frame,
                                   void *owner)
{
    struct link *link = owner;
    if (link->end == LINK_AGENT && frame->headers.cat == NGHTTP2_HCAT_REQUEST) {
        struct channel *channel = channel_new(link, CHANNEL_ASKED);
        channel->id = frame->hd.stream_id;
        must(nghttp2_session_set_stream_user_data(session, channel->id, channel) == 0);
    }
    return 0;
}

static enum channel_answer frames_answer(struct slice status)
{
    if (slice_equals(status, SLICE("200"))) {
        return CHANNEL_ACCEPTED;
    }
    return slice_equals(status, SLICE("404")) ? CHANNEL_KIND_UNKNOWN : CHANNEL_SAID_NO;
}

/* check-sizes: given parameters */
static int frames_on_header(nghttp2_session *session, const nghttp2_frame *frame,
                            const uint8_t *name_at, size_t name_len, const uint8_t *value_at,
                            size_t value_len, uint8_t flags, void *owner)
{
    (void)session;
    (void)flags;
    struct link *link = owner;
    struct channel *channel = frames_channel(link, frame->hd.stream_id);
    struct slice name = slice_of(name_at, name_len);
    struct slice value = slice_of(value_at, value_len);
    if (channel == NULL) {
        return 0;
    }
    if (channel->phase == CHANNEL_ASKED && slice_equals(name, SLICE(":path")) &&
        value.len <= LIMIT_TUNNEL_KIND_SIZE) {
        memory_free(channel->kind);
        channel->kind = memory_new(value.len + 1);
        memcpy(channel->kind, value.at, value.len);
    }
    if (channel->phase == CHANNEL_OPENING && slice_equals(name, SLICE(":status"))) {
        channel->answer = frames_answer(value);
    }
    return 0;
}

static void frames_on_end(struct channel *channel)
{
    channel->has_ended_in = true;
    if (!channel->head_in.is_whole) {
        frames_refuse(channel, NGHTTP2_PROTOCOL_ERROR);
        return;
    }
    channel_notify(channel);
}

static void frames_on_head(struct channel *channel)
{
    if (channel->phase == CHANNEL_ASKED && channel->kind == NULL) {
        frames_refuse(channel, NGHTTP2_REFUSED_STREAM); /* a kind that is too long to be one */
    }
}

static void frames_on_goaway(struct link *link)
{
    link->must_tell_draining = !link->is_peer_draining;
    link->is_peer_draining = true;
    link_flush_soon(link);
}

/* There may be room again for one who waits for it, or for all. */
static void frames_on_window(struct link *link, int32_t id)
{
    struct channel *channel = id == 0 ? NULL : frames_channel(link, id);
    if (channel != NULL) {
        channel_notify(channel);
    } else if (id == 0) {
        link_flush_soon(link);
    }
}

static void frames_on_settings(struct link *link)
{
    LIST_EACH(at, &link->channels) {
        channel_notify(LIST_ITEM(at, struct channel, all));
    }
}

static int frames_on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *owner)
{
    (void)session;
    struct link *link = owner;
    struct channel *channel =
        frame->hd.stream_id == 0 ? NULL : frames_channel(link, frame->hd.stream_id);
    if (frame->hd.type == NGHTTP2_HEADERS && channel != NULL) {
        frames_on_head(channel);
    } else if (frame->hd.type == NGHTTP2_GOAWAY) {
        frames_on_goaway(link);
    } else if (frame->hd.type == NGHTTP2_WINDOW_UPDATE) {
        frames_on_window(link, frame->hd.stream_id);
    } else if (frame->hd.type == NGHTTP2_SETTINGS && frame->hd.flags != NGHTTP2_FLAG_ACK) {
        frames_on_settings(link);
    }
    bool has_flag = frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA;
    if (channel != NULL && !channel->is_broken && has_flag &&
        (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0) {
        frames_on_end(channel);
    }
    return 0;
}

/* Bytes --------------------------------------------------------------------------------------- */

/* The first piece of a direction, in whatever parts it comes. Returns what is behind it. */
static struct slice frames_take_head(struct channel *channel, struct slice bytes)
{
    struct channel_head *head = &channel->head_in;
    while (!head->is_whole && bytes.len > 0 && !channel->is_broken) {
        struct reader reader = reader_of(buf_view(&head->bytes));
        size_t wanted = head->bytes.len < 4 ? 4 : 4 + (size_t)reader_u32(&reader);
        char *at = NULL;
        if (buf_reserve(&head->bytes, wanted - head->bytes.len, &at) != ERR_NONE) {
            frames_refuse(channel, NGHTTP2_REFUSED_STREAM);
            break;
        }
        struct slice part = slice_sub(bytes, 0, wanted - head->bytes.len);
        must(buf_append(&head->bytes, part) == ERR_NONE);
        bytes = slice_from(bytes, part.len);
        if (head->bytes.len >= 4) {
            reader = reader_of(buf_view(&head->bytes));
            head->is_whole = head->bytes.len == 4 + (size_t)reader_u32(&reader);
        }
    }
    return bytes;
}

static int frames_on_data(nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *at,
                          size_t len, void *owner)
{
    (void)flags;
    struct link *link = owner;
    struct channel *channel = frames_channel(link, id);
    struct slice bytes = slice_of(at, len);
    if (channel != NULL && !channel->is_broken && !channel->head_in.is_whole) {
        link->has_secret_in = true;
        bytes = frames_take_head(channel, bytes);
    }
    bool is_kept = channel != NULL && !channel->is_broken && bytes.len > 0;
    if (is_kept && buf_append(&channel->inbox, bytes) != ERR_NONE) {
        frames_refuse(channel, NGHTTP2_FLOW_CONTROL_ERROR); /* nghttp2 holds the window */
        is_kept = false;
    }
    size_t held = is_kept ? bytes.len : 0;
    if (held < len) {
        must(nghttp2_session_consume(session, id, len - held) == 0);
    }
    if (held > 0) {
        link_hold(link, held);
    }
    if (channel != NULL && !channel->is_broken) {
        channel_notify(channel);
    }
    return 0;
}

/* check-sizes: given parameters */
static ssize_t frames_read_out(nghttp2_session *session, int32_t id, uint8_t *at, size_t size,
                               uint32_t *flags, nghttp2_data_source *source, void *owner)
{
    (void)at;
    (void)source;
    struct link *link = owner;
    struct channel *channel = nghttp2_session_get_stream_user_data(session, id);
    if (channel == NULL) {
        return NGHTTP2_ERR_DEFERRED;
    }
    must(channel->link == link);
    size_t ready = channel_ready_size(channel);
    if (ready == 0 && !channel->wants_end) {
        return NGHTTP2_ERR_DEFERRED;
    }
    *flags = NGHTTP2_DATA_FLAG_NO_COPY;
    if (ready <= size && channel->wants_end) {
        *flags |= NGHTTP2_DATA_FLAG_EOF;
        channel->has_ended_out = true;
        channel_notify(channel);
    }
    return (ssize_t)(ready < size ? ready : size);
}

static int frames_send_out(nghttp2_session *session, nghttp2_frame *frame, const uint8_t *head,
                           size_t len, nghttp2_data_source *source, void *owner)
{
    (void)source;
    struct link *link = owner;
    struct channel *channel = nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);
    char *at = NULL;
    must(channel != NULL && frame->data.padlen == 0);
    must(buf_append(&link->outbox, slice_of(head, 9)) == ERR_NONE);
    must(buf_reserve(&link->outbox, len, &at) == ERR_NONE);
    channel_copy_out(channel, at, len);
    buf_commit(&link->outbox, len);
    return link->outbox.len < LIMIT_TUNNEL_WRITE_SIZE ? 0 : NGHTTP2_ERR_PAUSE;
}

nghttp2_data_provider link_frames_provider(void)
{
    return (nghttp2_data_provider){.read_callback = frames_read_out};
}

/* Ends ---------------------------------------------------------------------------------------- */

static int frames_on_close(nghttp2_session *session, int32_t id, uint32_t code, void *owner)
{
    struct link *link = owner;
    struct channel *channel = frames_channel(link, id);
    (void)session;
    if (channel == NULL) {
        return 0;
    }
    bool is_whole = code == NGHTTP2_NO_ERROR && channel->has_ended_in && channel->has_ended_out;
    if (is_whole && (channel->phase == CHANNEL_OPEN || channel->phase == CHANNEL_OPENING)) {
        channel_notify(channel);
    } else {
        channel_break(channel, code == NGHTTP2_REFUSED_STREAM ? ERR_BUSY : ERR_IO);
    }
    return 0;
}

/* A request that never went out: the peer drains, or there are too many. */
static int frames_on_not_sent(nghttp2_session *session, const nghttp2_frame *frame, int code,
                              void *owner)
{
    (void)session;
    (void)code;
    struct link *link = owner;
    if (frame->hd.type == NGHTTP2_HEADERS && link->end == LINK_GATEWAY) {
        struct channel *channel = frames_channel(link, frame->hd.stream_id);
        if (channel != NULL) {
            channel_break(channel, ERR_UNAVAILABLE);
        }
    }
    return 0;
}

void link_frames_set_callbacks(nghttp2_session_callbacks *callbacks)
{
    nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, frames_on_begin_headers);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, frames_on_header);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, frames_on_frame);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, frames_on_data);
    nghttp2_session_callbacks_set_send_data_callback(callbacks, frames_send_out);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, frames_on_close);
    nghttp2_session_callbacks_set_on_frame_not_send_callback(callbacks, frames_on_not_sent);
}
