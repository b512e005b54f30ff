/* SPDX-License-Identifier: MIT */
#include "tunnel/link.h"

#include "base/limits.h"
#include "base/must.h"
#include "tunnel/link_internal.h"

/* One frame beyond what is a good write. */
#define LINK_OUTBOX_SIZE (LIMIT_TUNNEL_WRITE_SIZE + LIMIT_KIB(32))

static void link_free(void *owner)
{
    struct link *link = owner;
    nghttp2_session_del(link->session);
    buf_wipe(&link->outbox);
    buf_wipe(&link->first);
    memory_free(link);
}

void link_close(struct link *link)
{
    if (link->is_closed) {
        return;
    }
    link->is_closed = true;
    timer_stop(&link->timer);
    loop_task_cancel(&link->task);
    stream_close(link->stream);
    LIST_EACH(at, &link->channels) {
        channel_break(LIST_ITEM(at, struct channel, all), ERR_UNAVAILABLE);
    }
    loop_defer(link->loop, &link->free_task);
}

/* Calls the owner; the link is gone when this returns. */
static void link_end(struct link *link)
{
    struct error failure = link->failure;
    link_ended_fn on_ended = link->on_ended;
    void *owner = link->owner;
    link_close(link);
    on_ended(owner, &failure);
}

void link_fail(struct link *link, enum err code, const char *message)
{
    if (link->failure.code == ERR_NONE) {
        must(fail(&link->failure, code, "%s", message) == code);
    }
    if (!link->is_closed) {
        loop_defer(link->loop, &link->task);
    }
}

/* Writing ------------------------------------------------------------------------------------- */

bool link_has_room(const struct link *link)
{
    return link->outbox.len < LIMIT_TUNNEL_WRITE_SIZE && link->failure.code == ERR_NONE &&
           nghttp2_session_get_remote_window_size(link->session) > 0;
}

void link_fill(struct link *link)
{
    char *at = NULL;
    must(buf_reserve(&link->outbox, LINK_OUTBOX_SIZE - link->outbox.len, &at) == ERR_NONE);
    link->is_inside = true;
    while (link->failure.code == ERR_NONE && link->outbox.len < LIMIT_TUNNEL_WRITE_SIZE) {
        const uint8_t *frame = NULL;
        ssize_t len = nghttp2_session_mem_send(link->session, &frame);
        if (len == 0) {
            break;
        }
        if (len < 0 || buf_append(&link->outbox, slice_of(frame, (size_t)len)) != ERR_NONE) {
            link_fail(link, ERR_INTERNAL, nghttp2_strerror((int)len));
        }
    }
    link->is_inside = false;
}

static enum err link_write_outbox(struct link *link)
{
    while (link->outbox.len > 0) {
        struct slice out = buf_view(&link->outbox);
        size_t size = 0;
        enum err err = stream_write(link->stream, &out, 1, &size);
        if (err != ERR_NONE) {
            return err;
        }
        if (link->has_secret_out) {
            explicit_bzero(link->outbox.memory + link->outbox.start, size);
        }
        buf_consume(&link->outbox, size);
    }
    link->has_secret_out = false;
    return ERR_NONE;
}

static bool link_is_over(const struct link *link)
{
    return nghttp2_session_want_read(link->session) == 0 &&
           nghttp2_session_want_write(link->session) == 0;
}

static enum err link_shut_down(struct link *link)
{
    enum err err = stream_shutdown(link->stream);
    if (err != ERR_AGAIN && (link->is_draining || link->is_peer_draining)) {
        link_fail(link, ERR_CLOSED, "the link was drained");
    } else if (err != ERR_AGAIN) {
        link_fail(link, ERR_INPUT, "the other end broke the rules of HTTP/2");
    }
    return err;
}

static void link_flush(struct link *link)
{
    enum err err = ERR_NONE;
    bool is_full = false;
    if (link->is_blocked) {
        return;
    }
    do {
        if (nghttp2_session_want_write(link->session) != 0) {
            link_fill(link);
        }
        is_full = link->outbox.len >= LIMIT_TUNNEL_WRITE_SIZE; /* nghttp2 may have more */
        err = link_write_outbox(link);
    } while (is_full && err == ERR_NONE && link->failure.code == ERR_NONE);
    if (err == ERR_NONE && link_is_over(link)) {
        err = link_shut_down(link);
    }
    if (err != ERR_NONE && err != ERR_AGAIN) {
        link_fail(link, ERR_IO, "the connection broke");
    }
    link->is_blocked = err == ERR_AGAIN;
    stream_watch(link->stream, STREAM_READABLE | (link->is_blocked ? STREAM_WRITABLE : 0));
}

void link_flush_soon(struct link *link)
{
    if (!link->is_closed) {
        loop_defer(link->loop, &link->task);
    }
}

/* Reading ------------------------------------------------------------------------------------- */

/* What is held for owners who do not read costs the others nothing, up to a limit: only then the
 * session's window is left to close. */
static void link_give_back(struct link *link)
{
    if (link->owed > 0 && link->held <= LIMIT_TUNNEL_HELD_SIZE) {
        must(nghttp2_session_consume_connection(link->session, link->owed) == 0);
        link->owed = 0;
    }
}

void link_hold(struct link *link, size_t size)
{
    link->held += size;
    link->owed += size;
    link_give_back(link);
}

void link_let_go(struct link *link, size_t size)
{
    must(size <= link->held);
    link->held -= size;
    link_give_back(link);
    if (!link->is_inside) {
        link_flush_soon(link); /* the peer may have to hear of its window */
    }
}

static void link_take_input(struct link *link, struct slice input)
{
    link->heard_ms = loop_now_ms(link->loop);
    link->is_inside = true;
    ssize_t used = nghttp2_session_mem_recv(link->session, (const uint8_t *)input.at, input.len);
    link->is_inside = false;
    if (used < 0) {
        link_fail(link, ERR_INPUT, nghttp2_strerror((int)used));
    }
}

static void link_receive(struct link *link)
{
    size_t len = 0;
    enum err err = stream_read(link->stream, link->scratch, LIMIT_READ_SIZE, &len);
    if (err == ERR_NONE) {
        link_take_input(link, slice_of(link->scratch, len));
        if (link->has_secret_in) {
            explicit_bzero(link->scratch, len);
            link->has_secret_in = false;
        }
    } else if (err == ERR_CLOSED && (link->is_draining || link->is_peer_draining)) {
        link_fail(link, ERR_CLOSED, "the link was drained");
    } else if (err == ERR_CLOSED) {
        link_fail(link, ERR_IO, "the other end closed the connection");
    } else if (err != ERR_AGAIN) {
        link_fail(link, ERR_IO, "the connection broke");
    }
}

/* The owners ---------------------------------------------------------------------------------- */

static void link_tell_ready(struct link *link)
{
    struct list due;
    list_init(&due);
    list_move_all(&due, &link->ready);
    for (struct list *at = list_take_first(&due); at != NULL; at = list_take_first(&due)) {
        channel_tell(LIST_ITEM(at, struct channel, ready));
        if (link->is_closed) {
            return; /* what is left in 'due' was taken out when the link broke */
        }
    }
}

/* Who is not served because there is no room any more stays first in line. What they wrote goes out
 * at once. */
static void link_tell_writers(struct link *link)
{
    struct list served;
    if (list_is_empty(&link->writers)) {
        return;
    }
    list_init(&served);
    list_move_all(&served, &link->writers);
    while (!list_is_empty(&served) && link_has_room(link)) {
        channel_tell_room(LIST_ITEM(list_take_first(&served), struct channel, writer));
        if (link->is_closed) {
            return;
        }
    }
    list_move_all(&served, &link->writers);
    list_move_all(&link->writers, &served);
    link_flush(link);
}

/* All that is to be done outside of callbacks. Frames that owners cause go out together. What
 * owners put off until the link's task is done then, too. */
static void link_tend(struct link *link)
{
    if (link->must_tell_draining) {
        link->must_tell_draining = false;
        if (link->on_draining != NULL) {
            link->on_draining(link->owner);
        }
    }
    if (!link->is_closed) {
        link_tell_ready(link);
    }
    if (!link->is_closed) {
        link_flush(link);
        link_tell_writers(link);
    }
    if (link->is_closed) {
        return;
    }
    bool has_more =
        !list_is_empty(&link->ready) || (!list_is_empty(&link->writers) && link_has_room(link));
    if (link->failure.code != ERR_NONE) {
        link_end(link);
    } else if (has_more) {
        loop_defer(link->loop, &link->task);
    } else {
        loop_task_cancel(&link->task);
    }
}

static void link_on_task(void *owner)
{
    struct link *link = owner;
    if (link->first.len > 0) {
        link_take_input(link, buf_view(&link->first));
        buf_wipe(&link->first);
    }
    link_tend(link);
}

static void link_on_event(void *owner, unsigned events)
{
    struct link *link = owner;
    if ((events & STREAM_WRITABLE) != 0) {
        link->is_blocked = false;
    }
    if ((events & STREAM_READABLE) != 0) {
        link_receive(link);
    }
    link_tend(link);
}

/* Is the other end there ---------------------------------------------------------------------- */

static void link_on_timer(void *owner)
{
    struct link *link = owner;
    uint64_t silent_ms = loop_now_ms(link->loop) - link->heard_ms;
    if (silent_ms >= link->deadlines.dead_ms) {
        link_receive(link); /* it may be this process that stood still */
        link_flush_soon(link);
        silent_ms = loop_now_ms(link->loop) - link->heard_ms;
    }
    if (silent_ms >= link->deadlines.dead_ms) {
        link_fail(link, ERR_TIMEOUT, "the other end says nothing any more");
        return;
    }
    if (link->outbox.len == 0) {
        buf_clear(&link->outbox); /* an idle link needs none */
    }
    must(nghttp2_submit_ping(link->session, NGHTTP2_FLAG_NONE, NULL) == 0);
    link_flush_soon(link);
    uint64_t left_ms = link->deadlines.dead_ms - silent_ms;
    timer_start(link->loop, &link->timer,
                left_ms < link->deadlines.ping_ms ? left_ms : link->deadlines.ping_ms);
}

/* Life ---------------------------------------------------------------------------------------- */

static nghttp2_option *link_make_option(void)
{
    nghttp2_option *option = NULL;
    must(nghttp2_option_new(&option) == 0);
    nghttp2_option_set_no_auto_window_update(option, 1);
    nghttp2_option_set_no_closed_streams(option, 1);
    nghttp2_option_set_max_outbound_ack(option, LIMIT_HTTP2_ACKS);
    nghttp2_option_set_max_settings(option, LIMIT_HTTP2_SETTINGS);
    nghttp2_option_set_stream_reset_rate_limit(option, LIMIT_TUNNEL_RESETS,
                                               LIMIT_TUNNEL_RESETS_PER_SECOND);
    nghttp2_option_set_max_continuations(option, LIMIT_HTTP2_CONTINUATIONS);
    nghttp2_option_set_max_send_header_block_length(option, LIMIT_KIB(4));
    return option;
}

static void link_make_session(struct link *link)
{
    nghttp2_session_callbacks *callbacks = NULL;
    nghttp2_option *option = link_make_option();
    must(nghttp2_session_callbacks_new(&callbacks) == 0);
    link_frames_set_callbacks(callbacks);
    bool is_agent = link->end == LINK_AGENT;
    must((is_agent ? nghttp2_session_server_new2(&link->session, callbacks, link, option)
                   : nghttp2_session_client_new2(&link->session, callbacks, link, option)) == 0);
    nghttp2_option_del(option);
    nghttp2_session_callbacks_del(callbacks);
    const nghttp2_settings_entry settings[] = {
        {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, is_agent ? LIMIT_TUNNEL_CHANNELS : 0},
        {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, LIMIT_KIB(4)},
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, LIMIT_TUNNEL_CHANNEL_WINDOW},
        {NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
    };
    size_t count = is_agent ? COUNT_OF(settings) - 1 : COUNT_OF(settings); /* push: a client's */
    must(nghttp2_submit_settings(link->session, NGHTTP2_FLAG_NONE, settings, count) == 0);
    must(nghttp2_session_set_local_window_size(link->session, NGHTTP2_FLAG_NONE, 0,
                                               (int32_t)LIMIT_TUNNEL_LINK_WINDOW) == 0);
}

struct link *link_new(const struct link_settings *settings)
{
    struct link *link = memory_new(sizeof(*link));
    link->end = settings->end;
    link->loop = settings->take_stream->loop;
    link->stream = settings->take_stream;
    link->deadlines = settings->deadlines;
    link->scratch = settings->scratch;
    link->on_asked = settings->on_asked;
    link->on_ended = settings->on_ended;
    link->on_draining = settings->on_draining;
    link->owner = settings->owner;
    buf_init(&link->first, LIMIT_HTTP_HEAD_SIZE + LIMIT_READ_SIZE);
    buf_init(&link->outbox, LINK_OUTBOX_SIZE);
    list_init(&link->channels);
    list_init(&link->ready);
    list_init(&link->writers);
    timer_init(&link->timer, link_on_timer, link);
    loop_task_init(&link->task, link_on_task, link);
    loop_task_init(&link->free_task, link_free, link);
    link_make_session(link);
    link->heard_ms = loop_now_ms(link->loop);
    if (buf_append(&link->first, settings->waiting) != ERR_NONE) {
        link_fail(link, ERR_LIMIT, "too much came before the link was there");
    }
    stream_own(link->stream, link_on_event, link);
    timer_start(link->loop, &link->timer, link->deadlines.ping_ms);
    loop_defer(link->loop, &link->task);
    return link;
}

void link_drain(struct link *link)
{
    if (link->is_draining || link->is_closed) {
        return;
    }
    link->is_draining = true;
    must(nghttp2_submit_goaway(link->session, NGHTTP2_FLAG_NONE,
                               nghttp2_session_get_last_proc_stream_id(link->session),
                               NGHTTP2_NO_ERROR, NULL, 0) == 0);
    link_flush_soon(link);
}

bool link_is_open(const struct link *link)
{
    return !link->is_closed && !link->is_draining && !link->is_peer_draining &&
           link->failure.code == ERR_NONE;
}

size_t link_channel_count(const struct link *link)
{
    return link->channel_count;
}
