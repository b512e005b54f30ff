/* SPDX-License-Identifier: MIT */
#include "tunnel/channel.h"

#include "base/limits.h"
#include "base/must.h"
#include "base/writer.h"
#include "tunnel/link_internal.h"

#define CHANNEL_HEAD_SIZE (4 + LIMIT_TUNNEL_MESSAGE_SIZE)
/* An inbox that has grown no further is kept for the next message. */
#define CHANNEL_KEPT_SIZE LIMIT_KIB(4)

static struct channel *channel_of(struct stream *stream)
{
    return CONTAINER_OF(stream, struct channel, stream);
}

static void channel_free(void *owner)
{
    struct channel *channel = owner;
    buf_wipe(&channel->head_in.bytes);
    buf_wipe(&channel->head_out.bytes);
    buf_release(&channel->inbox);
    memory_free(channel->kind);
    memory_free(channel);
}

void channel_free_later(struct channel *channel)
{
    channel->phase = CHANNEL_CLOSED;
    loop_task_cancel(&channel->task);
    loop_task_init(&channel->task, channel_free, channel);
    loop_defer(channel->stream.loop, &channel->task);
}

void channel_leave(struct channel *channel)
{
    struct link *link = channel->link;
    if (link == NULL) {
        return;
    }
    if (channel->id > 0) {
        /* of a stream that is over there is nothing any more to forget */
        (void)nghttp2_session_set_stream_user_data(link->session, channel->id, NULL);
    }
    list_remove(&channel->all);
    list_remove(&channel->ready);
    list_remove(&channel->writer);
    link->channel_count--;
    channel->link = NULL;
    link_let_go(link, channel->inbox.len);
}

static void channel_reset(struct channel *channel, uint32_t code)
{
    struct link *link = channel->link;
    bool is_over = channel->has_ended_in && channel->has_ended_out;
    if (link != NULL && channel->id > 0 && !is_over) {
        must(nghttp2_submit_rst_stream(link->session, NGHTTP2_FLAG_NONE, channel->id, code) == 0);
        link_flush_soon(link);
    }
    channel_leave(channel);
}

/* What can be done, and would be told ---------------------------------------------------------- */

static size_t channel_window(const struct channel *channel)
{
    int32_t size =
        nghttp2_session_get_stream_remote_window_size(channel->link->session, channel->id);
    return size > 0 ? (size_t)size : 0;
}

static bool channel_is_readable(const struct channel *channel)
{
    return channel->inbox.len > 0 || channel->has_ended_in || channel->is_broken;
}

/* Whether a write would do more than say that it is too early; room in the outbox is the link's. */
static bool channel_is_writable(const struct channel *channel)
{
    if (channel->is_broken || channel->has_ended_out) {
        return true;
    }
    return !channel->wants_end && channel->head_out.bytes.len == 0 && channel_window(channel) > 0;
}

static unsigned channel_ready_events(const struct channel *channel)
{
    unsigned events = channel_is_readable(channel) ? STREAM_READABLE : 0;
    if (channel->is_broken || channel->has_ended_out) {
        events |= STREAM_WRITABLE;
    }
    return events & channel->watched;
}

static void channel_queue(struct channel *channel, struct list *queue, struct list *place)
{
    if (list_is_empty(place)) {
        list_append(queue, place);
    }
    link_flush_soon(channel->link);
}

void channel_notify(struct channel *channel)
{
    struct link *link = channel->link;
    bool must_tell = false;
    switch (channel->phase) {
    case CHANNEL_OPENING:
        must_tell = channel->head_in.is_whole || channel->is_broken;
        break;
    case CHANNEL_ASKED:
        must_tell = channel->head_in.is_whole || channel->is_broken;
        break;
    case CHANNEL_PENDING:
        must_tell = channel->is_broken && channel->on_gone != NULL;
        break;
    case CHANNEL_OPEN:
        must_tell = channel_ready_events(channel) != 0;
        break;
    case CHANNEL_REFUSED:
        must_tell = channel->is_broken;
        break;
    case CHANNEL_CLOSED:
        return;
    }
    if (must_tell && link == NULL) {
        loop_defer(channel->stream.loop, &channel->task);
    } else if (must_tell) {
        channel_queue(channel, &link->ready, &channel->ready);
    }
    bool wants_room = channel->phase == CHANNEL_OPEN && link != NULL &&
                      (channel->watched & STREAM_WRITABLE) != 0 && !channel->has_ended_out;
    if (wants_room && channel_is_writable(channel)) {
        channel_queue(channel, &link->writers, &channel->writer);
    }
}

void channel_break(struct channel *channel, enum err err)
{
    if (channel->is_broken) {
        return;
    }
    channel->is_broken = true;
    channel->broken_err = err;
    channel_leave(channel);
    channel_notify(channel);
}

/* Telling ---------------------------------------------------------------------------------------
 */

static struct slice channel_message(const struct channel *channel)
{
    return slice_from(buf_view(&channel->head_in.bytes), 4);
}

static void channel_fail_opening(struct channel *channel, const struct error *error,
                                 struct slice message)
{
    channel_opened_fn on_opened = channel->on_opened;
    void *owner = channel->owner;
    channel_free_later(channel);
    on_opened(owner, NULL, message, error);
}

static void channel_tell_broken_opening(struct channel *channel)
{
    struct error error = {0};
    enum err err = channel->broken_err;
    if (err == ERR_BUSY) {
        must(fail(&error, err, "the agent has too many channels") == err);
    } else if (err == ERR_INPUT) {
        must(fail(&error, err, "the agent answered what is no answer") == err);
    } else {
        err = ERR_UNAVAILABLE;
        must(fail(&error, err, "the link to the agent ended before it answered") == err);
    }
    channel_fail_opening(channel, &error, SLICE_NONE);
}

static void channel_tell_opened(struct channel *channel)
{
    struct error error = {0};
    if (channel->is_broken) {
        channel_tell_broken_opening(channel);
        return;
    }
    if (channel->answer == CHANNEL_ACCEPTED) {
        channel->phase = CHANNEL_OPEN;
        channel->on_opened(channel->owner, &channel->stream, channel_message(channel), NULL);
        buf_wipe(&channel->head_in.bytes);
        return;
    }
    bool is_unknown = channel->answer == CHANNEL_KIND_UNKNOWN;
    enum err err = is_unknown ? ERR_UNSUPPORTED : ERR_DENIED;
    must(fail(&error, err, is_unknown ? "the agent is too old for this" : "the agent refused") ==
         err);
    channel_reset(channel, NGHTTP2_CANCEL);
    channel_fail_opening(channel, &error, channel_message(channel));
}

static void channel_tell_asked(struct channel *channel)
{
    struct link *link = channel->link;
    if (channel->is_broken) {
        channel_free_later(channel);
        return;
    }
    channel->phase = CHANNEL_PENDING;
    char *kind = channel->kind;
    channel->kind = NULL;
    link->on_asked(link->owner, channel, slice_of_text(kind), channel_message(channel));
    buf_wipe(&channel->head_in.bytes);
    memory_free(kind);
}

void channel_tell(struct channel *channel)
{
    channel_gone_fn on_gone = channel->on_gone;
    switch (channel->phase) {
    case CHANNEL_OPENING:
        channel_tell_opened(channel);
        return;
    case CHANNEL_ASKED:
        channel_tell_asked(channel);
        return;
    case CHANNEL_PENDING:
        channel->on_gone = NULL;
        if (on_gone != NULL) {
            on_gone(channel->owner);
        }
        return;
    case CHANNEL_OPEN:
        if (channel_ready_events(channel) != 0) {
            channel->stream.on_event(channel->stream.owner, channel_ready_events(channel));
            channel_notify(channel);
        }
        return;
    case CHANNEL_REFUSED:
        channel_free_later(channel);
        return;
    case CHANNEL_CLOSED:
        return;
    }
}

void channel_tell_room(struct channel *channel)
{
    if ((channel->watched & STREAM_WRITABLE) != 0 && channel_is_writable(channel)) {
        channel->stream.on_event(channel->stream.owner, STREAM_WRITABLE);
        channel_notify(channel);
    }
}

static void channel_on_task(void *owner)
{
    channel_tell(owner);
}

/* Bytes -----------------------------------------------------------------------------------------
 */

size_t channel_ready_size(const struct channel *channel)
{
    return channel->head_out.bytes.len + channel->allowance;
}

static void channel_skip(struct channel *channel, size_t len)
{
    channel->part_offset += len;
    channel->taken += len;
    channel->allowance -= len;
    while (channel->part_count > 0 && channel->part_offset >= channel->parts->len) {
        channel->part_offset -= channel->parts->len;
        channel->parts++;
        channel->part_count--;
    }
}

void channel_copy_out(struct channel *channel, char *at, size_t size)
{
    struct buf *head = &channel->head_out.bytes;
    if (head->len > 0) {
        struct slice part = slice_sub(buf_view(head), 0, size);
        if (part.len > 0) {
            memcpy(at, part.at, part.len);
        }
        buf_consume(head, part.len);
        channel->link->has_secret_out = true;
        at += part.len;
        size -= part.len;
        if (head->len == 0) {
            buf_wipe(head);
            channel_notify(channel);
        }
    }
    while (size > 0) {
        must(channel->part_count > 0);
        struct slice part = slice_sub(*channel->parts, channel->part_offset, size);
        if (part.len > 0) {
            memcpy(at, part.at, part.len);
        }
        at += part.len;
        size -= part.len;
        channel_skip(channel, part.len);
    }
}

static enum err channel_read(struct stream *stream, char *at, size_t size, size_t *ret_len)
{
    struct channel *channel = channel_of(stream);
    struct slice bytes = slice_sub(buf_view(&channel->inbox), 0, size);
    if (bytes.len == 0) {
        if (channel->has_ended_in) {
            return ERR_CLOSED;
        }
        return channel->is_broken ? ERR_IO : ERR_AGAIN;
    }
    memcpy(at, bytes.at, bytes.len);
    buf_consume(&channel->inbox, bytes.len);
    if (channel->inbox.len == 0 && channel->inbox.capacity > CHANNEL_KEPT_SIZE) {
        buf_clear(&channel->inbox);
    }
    if (channel->link != NULL) {
        must(nghttp2_session_consume_stream(channel->link->session, channel->id, bytes.len) == 0);
        link_let_go(channel->link, bytes.len);
    }
    *ret_len = bytes.len;
    return ERR_NONE;
}

/* Lets nghttp2 make frames of what this channel has, now. */
static void channel_push(struct channel *channel)
{
    struct link *link = channel->link;
    (void)nghttp2_session_resume_data(link->session, channel->id); /* refuses when it is queued */
    link_fill(link);
    link_flush_soon(link);
}

static size_t channel_allow(const struct channel *channel, size_t size)
{
    const struct link *link = channel->link;
    if (!link_has_room(link)) {
        return 0;
    }
    size_t window = channel_window(channel);
    size_t shared = (size_t)nghttp2_session_get_remote_window_size(link->session);
    window = window < shared ? window : shared;
    return size < window ? size : window;
}

static enum err channel_write(struct stream *stream, const struct slice *parts, size_t count,
                              size_t *ret_len)
{
    struct channel *channel = channel_of(stream);
    size_t size = 0;
    for (size_t i = 0; i < count; i++) {
        size += parts[i].len;
    }
    if (channel->is_broken || channel->wants_end) {
        return ERR_IO;
    }
    if (size == 0) {
        *ret_len = 0;
        return ERR_NONE;
    }
    channel->allowance = channel->head_out.bytes.len > 0 ? 0 : channel_allow(channel, size);
    if (channel->allowance == 0) {
        return ERR_AGAIN;
    }
    channel->parts = parts;
    channel->part_count = count;
    channel->part_offset = 0;
    channel->taken = 0;
    channel_skip(channel, 0);
    channel_push(channel);
    channel->allowance = 0;
    channel->parts = NULL;
    *ret_len = channel->taken;
    return channel->taken > 0 ? ERR_NONE : ERR_AGAIN;
}

static void channel_watch(struct stream *stream, unsigned events)
{
    struct channel *channel = channel_of(stream);
    channel->watched = events;
    if (events == 0) {
        list_remove(&channel->ready);
        list_remove(&channel->writer);
        loop_task_cancel(&channel->task);
        return;
    }
    channel_notify(channel);
}

static enum err channel_shutdown(struct stream *stream)
{
    struct channel *channel = channel_of(stream);
    if (channel->has_ended_out) {
        return ERR_NONE;
    }
    if (channel->is_broken) {
        return ERR_IO;
    }
    channel->wants_end = true;
    channel_push(channel);
    return channel->has_ended_out ? ERR_NONE : ERR_AGAIN;
}

static void channel_close(struct stream *stream)
{
    struct channel *channel = channel_of(stream);
    channel->watched = 0;
    channel_reset(channel, NGHTTP2_CANCEL);
    channel_free_later(channel);
}

static struct slice channel_protocol(const struct stream *stream)
{
    (void)stream;
    return SLICE_NONE;
}

static bool channel_is_encrypted(const struct stream *stream)
{
    const struct channel *channel =
        (const void *)((const char *)stream - offsetof(struct channel, stream));
    return channel->link != NULL && stream_is_encrypted(channel->link->stream);
}

static const struct stream_ops channel_ops = {
    .read = channel_read,
    .write = channel_write,
    .watch = channel_watch,
    .shutdown = channel_shutdown,
    .close = channel_close,
    .protocol = channel_protocol,
    .is_encrypted = channel_is_encrypted,
};

/* Asking ----------------------------------------------------------------------------------------
 */

struct channel *channel_new(struct link *link, enum channel_phase phase)
{
    struct channel *channel = memory_new(sizeof(*channel));
    channel->stream.ops = &channel_ops;
    channel->stream.loop = link->loop;
    channel->link = link;
    channel->phase = phase;
    list_append(&link->channels, &channel->all);
    list_init(&channel->ready);
    list_init(&channel->writer);
    loop_task_init(&channel->task, channel_on_task, channel);
    buf_init(&channel->head_in.bytes, CHANNEL_HEAD_SIZE);
    buf_init(&channel->head_out.bytes, CHANNEL_HEAD_SIZE);
    buf_init(&channel->inbox, LIMIT_TUNNEL_CHANNEL_WINDOW);
    link->channel_count++;
    return channel;
}

/* At once as large as it gets, so that no part of it stays behind in freed memory. */
static void channel_put_head(struct channel *channel, struct slice message)
{
    struct buf *head = &channel->head_out.bytes;
    struct writer writer = writer_to(head);
    char *at = NULL;
    must(message.len <= LIMIT_TUNNEL_MESSAGE_SIZE);
    must(buf_reserve(head, 4 + message.len, &at) == ERR_NONE);
    writer_u32(&writer, (uint32_t)message.len);
    writer_bytes(&writer, message);
    must(writer_done(&writer) == ERR_NONE);
}

static nghttp2_nv channel_header(struct slice name, struct slice value)
{
    return (nghttp2_nv){.name = (uint8_t *)(uintptr_t)name.at, /* nghttp2 has no const here */
                        .value = (uint8_t *)(uintptr_t)value.at,
                        .namelen = name.len,
                        .valuelen = value.len,
                        .flags = NGHTTP2_NV_FLAG_NONE};
}

static enum err channel_submit(struct channel *channel, const struct channel_request *request)
{
    struct link *link = channel->link;
    uint32_t most =
        nghttp2_session_get_remote_settings(link->session, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS);
    if (!link_is_open(link)) {
        return ERR_UNAVAILABLE;
    }
    if (link->channel_count > most || link->channel_count > LIMIT_TUNNEL_CHANNELS) {
        return ERR_BUSY;
    }
    const nghttp2_nv headers[] = {
        channel_header(SLICE(":method"), SLICE("POST")),
        channel_header(SLICE(":scheme"), SLICE("http")),
        channel_header(SLICE(":authority"), SLICE("agent")),
        channel_header(SLICE(":path"), request->kind),
    };
    nghttp2_data_provider provider = link_frames_provider();
    channel_put_head(channel, request->message);
    channel->id =
        nghttp2_submit_request(link->session, NULL, headers, COUNT_OF(headers), &provider, channel);
    if (channel->id < 0) {
        channel->id = 0;
        return ERR_UNAVAILABLE;
    }
    return ERR_NONE;
}

struct channel *link_open(struct link *link, const struct channel_request *request,
                          channel_opened_fn on_opened, void *owner)
{
    struct channel *channel = channel_new(link, CHANNEL_OPENING);
    channel->on_opened = on_opened;
    channel->owner = owner;
    enum err err = channel_submit(channel, request);
    if (err != ERR_NONE) {
        channel_break(channel, err);
    } else {
        link_flush_soon(link);
    }
    return channel;
}

void link_open_cancel(struct channel *channel)
{
    must(channel->phase == CHANNEL_OPENING);
    channel_reset(channel, NGHTTP2_CANCEL);
    channel_free_later(channel);
}

/* Answering -------------------------------------------------------------------------------------
 */

static void channel_answer(struct channel *channel, struct slice status, struct slice message)
{
    const nghttp2_nv headers[] = {channel_header(SLICE(":status"), status)};
    nghttp2_data_provider provider = link_frames_provider();
    channel_put_head(channel, message);
    must(nghttp2_submit_response(channel->link->session, channel->id, headers, COUNT_OF(headers),
                                 &provider) == 0);
    link_flush_soon(channel->link);
}

struct stream *channel_accept(struct channel *channel, struct slice message)
{
    must(channel->phase == CHANNEL_PENDING);
    channel->phase = CHANNEL_OPEN;
    if (!channel->is_broken) {
        channel_answer(channel, SLICE("200"), message);
    }
    return &channel->stream;
}

static void channel_say_no(struct channel *channel, struct slice status, struct slice message)
{
    must(channel->phase == CHANNEL_PENDING);
    channel->phase = CHANNEL_REFUSED;
    channel->wants_end = true;
    if (channel->is_broken) {
        channel_free_later(channel);
    } else {
        channel_answer(channel, status, message);
    }
}

void channel_refuse(struct channel *channel, struct slice message)
{
    channel_say_no(channel, SLICE("403"), message);
}

void channel_refuse_kind(struct channel *channel)
{
    channel_say_no(channel, SLICE("404"), SLICE_NONE);
}

void channel_on_gone(struct channel *channel, channel_gone_fn on_gone, void *owner)
{
    channel->on_gone = on_gone;
    channel->owner = owner;
    channel_notify(channel);
}
