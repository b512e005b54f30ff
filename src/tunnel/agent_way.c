/* SPDX-License-Identifier: MIT */
/* One link of a node: dial, TLS, the upgrade, the link; then a pause, and again. */
#include "base/limits.h"
#include "base/must.h"
#include "io/log.h"
#include "io/tls_stream.h"
#include "tunnel/agent_internal.h"
#include "tunnel/upgrade.h"

#include <unistd.h>

static void agent_way_start(struct agent_way *way);

/* Between 1 and 1.5 times the pause, so that a thousand agents do not come back at once. */
static uint64_t agent_way_jitter(uint64_t pause_ms)
{
    uint32_t random = 0;
    must(getentropy(&random, sizeof(random)) == 0);
    return pause_ms + pause_ms / 2 * (random % 1000) / 1000;
}

/* Lets go of whatever it was doing. */
static void agent_way_stop(struct agent_way *way)
{
    timer_stop(&way->timer);
    if (way->dial != NULL) {
        dial_cancel(way->dial);
    }
    if (way->handshake != NULL) {
        tls_handshake_cancel(way->handshake);
    }
    if (way->stream != NULL) {
        stream_close(way->stream);
    }
    if (way->link != NULL) {
        link_close(way->link);
    }
    way->dial = NULL;
    way->handshake = NULL;
    way->stream = NULL;
    way->link = NULL;
    way->is_greeted = false;
    buf_wipe(&way->request);
    buf_wipe(&way->answer);
}

static void agent_way_pause(struct agent_way *way, uint64_t pause_ms)
{
    if (way->side->is_draining) {
        agent_way_free(way);
        return;
    }
    way->phase = AGENT_WAITS;
    timer_start(way->side->loop, &way->timer, agent_way_jitter(pause_ms));
}

/* The first link is the one that people read of; of another one they do if it alone is missing. */
static void agent_way_log_loss(const struct agent_way *way, bool was_greeted, uint64_t pause_ms,
                               const struct error *error)
{
    bool is_drained = was_greeted && error->code == ERR_CLOSED;
    bool is_main = way->index == 0 || !was_greeted;
    enum log_level level = is_drained ? LOG_INFO : LOG_WARN;
    log_line(LOG_TUNNEL, is_main ? level : LOG_DEBUG,
             was_greeted ? "the link to the gateway is over" : "no link to the gateway",
             log_text("gateway", way->node->text), log_number("link", (int64_t)way->index),
             log_error_field(error), log_number("again_in_ms", (int64_t)pause_ms));
}

static void agent_way_lost(struct agent_way *way, const struct error *error)
{
    const struct agent_pauses *pauses = &way->side->settings.pauses;
    bool was_greeted = way->is_greeted;
    agent_way_stop(way);
    if (!was_greeted && way->index > 0 && !agent_node_is_linked(way->node)) {
        agent_way_free(
            way); /* the first one goes on trying, and makes the others when it is linked */
        return;
    }
    uint64_t pause_ms = was_greeted ? pauses->least_ms : way->pause_ms;
    uint64_t most_ms = pauses->most_ms / 3 * 2; /* the jitter comes on top */
    way->pause_ms = pause_ms * 2 < most_ms ? pause_ms * 2 : most_ms;
    agent_way_log_loss(way, was_greeted, pause_ms, error);
    agent_way_pause(way, pause_ms);
}

static void agent_way_fail(struct agent_way *way, enum err code, const char *message)
{
    struct error error = {0};
    must(fail(&error, code, "%s", message) == code);
    agent_way_lost(way, &error);
}

void agent_way_rest(struct agent_way *way)
{
    agent_way_stop(way);
    agent_way_pause(way, way->side->settings.pauses.most_ms / 3 * 2);
}

/* The link --------------------------------------------------------------------------------------
 */

static void agent_way_on_ended(void *owner, const struct error *error)
{
    struct agent_way *way = owner;
    way->link = NULL;
    agent_way_lost(way, error);
}

/* Nothing comes over it but its end. */
static void agent_hello_on_event(void *owner, unsigned events)
{
    struct stream *stream = owner;
    char bytes[64];
    size_t len = 0;
    (void)events;
    enum err err = stream_read(stream, bytes, sizeof(bytes), &len);
    if (err != ERR_NONE && err != ERR_AGAIN) {
        stream_close(stream);
    }
}

static void agent_way_greet(struct agent_way *way, struct channel *channel,
                            const struct hello_gateway *hello)
{
    struct stream *stream = agent_side_answer_hello(way->side, channel);
    stream_own(stream, agent_hello_on_event, stream);
    stream_watch(stream, STREAM_READABLE);
    if (!way->is_greeted) {
        log_line(LOG_TUNNEL, way->index == 0 ? LOG_INFO : LOG_DEBUG, "linked to the gateway",
                 log_text("gateway", way->node->text), log_number("link", (int64_t)way->index),
                 log_text("agent", hello->agent_name), log_text("version", hello->version),
                 log_text("node", hello->node_id));
    }
    timer_stop(&way->timer);
    way->is_greeted = true;
    way->pause_ms = way->side->settings.pauses.least_ms;
}

static void agent_way_on_hello(struct agent_way *way, struct channel *channel, struct slice message)
{
    struct hello_gateway hello = {0};
    struct error error = {0};
    struct arena arena;
    arena_init(&arena);
    enum err err = hello_gateway_read_in(&arena, message, &hello, &error);
    if (err != ERR_NONE) {
        channel_refuse(channel, slice_of_text(error.message));
        arena_release(&arena);
        return;
    }
    if (agent_node_is_other(way, hello.node_id)) {
        channel_refuse(channel, SLICE("this link is for another node"));
        arena_release(&arena);
        agent_way_fail(way, ERR_UNAVAILABLE, "it leads to another node than the other links");
        return;
    }
    agent_way_greet(way, channel, &hello);
    agent_node_learn(way->node, &hello);
    arena_release(&arena);
}

static void agent_way_on_asked(void *owner, struct channel *channel, struct slice kind,
                               struct slice message)
{
    struct agent_way *way = owner;
    if (slice_equals(kind, SLICE(HELLO_KIND))) {
        agent_way_on_hello(way, channel, message);
    } else {
        agent_side_serve(way->side, channel, kind, message);
    }
}

static void agent_way_link(struct agent_way *way, struct slice waiting)
{
    struct stream *stream = way->stream;
    way->stream = NULL;
    way->phase = AGENT_LINKED;
    way->link = link_new(&(struct link_settings){
        .end = LINK_AGENT,
        .take_stream = stream,
        .waiting = waiting,
        .deadlines = way->side->settings.deadlines,
        .scratch = way->side->place.scratch,
        .on_asked = agent_way_on_asked,
        .on_ended = agent_way_on_ended,
        .owner = way,
    });
    timer_start(way->side->loop, &way->timer, LIMIT_TUNNEL_HELLO_MS);
}

/* The upgrade -----------------------------------------------------------------------------------
 */

static void agent_way_read_answer(struct agent_way *way)
{
    struct error error = {0};
    char *scratch = way->side->place.scratch;
    size_t len = 0;
    size_t size = 0;
    enum err err = stream_read(way->stream, scratch, LIMIT_READ_SIZE, &len);
    if (err == ERR_AGAIN) {
        return;
    }
    if (err != ERR_NONE) {
        bool is_tls = stream_is_encrypted(way->stream);
        if (!is_tls || tls_stream_explain(way->stream, &error) == ERR_NONE) {
            must(fail(&error, ERR_UNAVAILABLE, "the gateway closed the connection") != ERR_NONE);
        }
        agent_way_lost(way, &error);
        return;
    }
    must(buf_append(&way->answer, slice_of(scratch, len)) == ERR_NONE);
    err = upgrade_read(buf_view(&way->answer), &size, &error);
    if (err == ERR_NONE) {
        agent_way_link(way, slice_from(buf_view(&way->answer), size));
        buf_clear(&way->answer);
    } else if (err != ERR_MORE) {
        agent_way_lost(way, &error);
    }
}

static void agent_way_send_request(struct agent_way *way)
{
    while (way->request.len > 0) {
        struct slice bytes = buf_view(&way->request);
        size_t len = 0;
        enum err err = stream_write(way->stream, &bytes, 1, &len);
        if (err == ERR_AGAIN) {
            break;
        }
        if (err != ERR_NONE) {
            agent_way_fail(way, ERR_UNAVAILABLE, "the connection broke");
            return;
        }
        buf_consume(&way->request, len);
    }
    stream_watch(way->stream, way->request.len > 0 ? STREAM_WRITABLE : STREAM_READABLE);
    if (way->request.len == 0) {
        buf_wipe(&way->request);
    }
}

static void agent_way_on_event(void *owner, unsigned events)
{
    struct agent_way *way = owner;
    if ((events & STREAM_WRITABLE) != 0) {
        agent_way_send_request(way);
    } else if ((events & STREAM_READABLE) != 0) {
        agent_way_read_answer(way);
    }
}

static void agent_way_ask(struct agent_way *way, struct stream *take_stream)
{
    const struct agent_side_settings *settings = &way->side->settings;
    struct slice path = way->node->url.path;
    const struct upgrade_request request = {
        .authority = way->node->authority,
        .prefix = slice_ends_with(path, SLICE("/")) ? slice_sub(path, 0, path.len - 1) : path,
        .name = settings->name,
        .link = way->index,
        .secret = settings->secret,
    };
    way->stream = take_stream;
    way->phase = AGENT_ASKS;
    stream_own(take_stream, agent_way_on_event, way);
    if (upgrade_write(&request, &way->request) != ERR_NONE) {
        agent_way_fail(way, ERR_INPUT, "the token or the URL cannot stand in a request");
        return;
    }
    timer_start(way->side->loop, &way->timer, LIMIT_TUNNEL_HELLO_MS);
    agent_way_send_request(way);
}

/* TLS and the connection ------------------------------------------------------------------------
 */

static void agent_way_on_shaken(void *owner, struct stream *take_stream, const struct error *error)
{
    struct agent_way *way = owner;
    way->handshake = NULL;
    if (take_stream == NULL) {
        agent_way_lost(way, error);
    } else {
        agent_way_ask(way, take_stream);
    }
}

static void agent_way_on_dialled(void *owner, struct stream *take_stream, const struct error *error)
{
    struct agent_way *way = owner;
    struct error failure = {0};
    struct stream *tls = NULL;
    way->dial = NULL;
    if (take_stream == NULL) {
        agent_way_lost(way, error);
        return;
    }
    if (!slice_equals_nocase(way->node->url.scheme, SLICE("https"))) {
        agent_way_ask(way, take_stream);
        return;
    }
    enum err err = tls_stream_new_client(way->side->settings.tls, way->node->url.host, take_stream,
                                         &tls, &failure);
    if (err != ERR_NONE) {
        agent_way_lost(way, &failure);
        return;
    }
    way->phase = AGENT_SHAKES_HANDS;
    way->handshake = tls_handshake_start(tls, LIMIT_TLS_HANDSHAKE_MS, agent_way_on_shaken, way);
}

static void agent_way_start(struct agent_way *way)
{
    const struct dial_request request = {
        .host = way->node->url.host,
        .port = way->node->url.port,
        .timeout_ms = LIMIT_TUNNEL_DIAL_MS,
    };
    way->phase = AGENT_DIALS;
    way->dial = dial_start(way->side->place.worker, way->side->place.resolver, &request,
                           agent_way_on_dialled, way);
}

static void agent_way_on_timer(void *owner)
{
    struct agent_way *way = owner;
    if (way->phase == AGENT_WAITS) {
        agent_way_start(way);
    } else {
        agent_way_fail(way, ERR_TIMEOUT, "the gateway does not answer");
    }
}

/* Life ------------------------------------------------------------------------------------------
 */

static void agent_way_on_task(void *owner)
{
    struct agent_way *way = owner;
    if (way->phase == AGENT_WAITS) {
        agent_way_start(way);
        return;
    }
    struct agent_node *node = way->node;
    buf_release(&way->request);
    buf_release(&way->answer);
    memory_free(way);
    agent_node_way_ended(node);
}

struct agent_way *agent_way_new(struct agent_node *node, size_t index)
{
    struct agent_way *way = memory_new(sizeof(*way));
    way->node = node;
    way->side = node->side;
    way->index = index;
    way->pause_ms = way->side->settings.pauses.least_ms;
    buf_init(&way->request, LIMIT_KIB(16));
    buf_init(&way->answer, LIMIT_TUNNEL_ANSWER_SIZE + LIMIT_READ_SIZE);
    timer_init(&way->timer, agent_way_on_timer, way);
    loop_task_init(&way->task, agent_way_on_task, way);
    node->ways[index] = way;
    node->way_count++;
    loop_defer(way->side->loop, &way->task);
    return way;
}

void agent_way_drain(struct agent_way *way)
{
    if (way->phase == AGENT_LINKED) {
        link_drain(way->link);
    } else {
        agent_way_free(way);
    }
}

void agent_way_free(struct agent_way *way)
{
    if (way->phase == AGENT_GONE) {
        return;
    }
    agent_way_stop(way);
    way->phase = AGENT_GONE;
    way->node->ways[way->index] = NULL;
    loop_defer(way->side->loop, &way->task);
}
