/* SPDX-License-Identifier: MIT */
/* The way to one gateway: dial, TLS, the upgrade, the link; then a pause, and again. */
#include "base/limits.h"
#include "base/must.h"
#include "io/log.h"
#include "io/tls_stream.h"
#include "tunnel/agent_internal.h"
#include "tunnel/upgrade.h"

#include <unistd.h>

static void agent_node_start(struct agent_node *node);

/* Between 1 and 1.5 times the pause, so that a thousand agents do not come back at once. */
static uint64_t agent_node_jitter(uint64_t pause_ms)
{
    uint32_t random = 0;
    must(getentropy(&random, sizeof(random)) == 0);
    return pause_ms + pause_ms / 2 * (random % 1000) / 1000;
}

/* Lets go of whatever it was doing. */
static void agent_node_stop(struct agent_node *node)
{
    timer_stop(&node->timer);
    if (node->dial != NULL) {
        dial_cancel(node->dial);
    }
    if (node->handshake != NULL) {
        tls_handshake_cancel(node->handshake);
    }
    if (node->stream != NULL) {
        stream_close(node->stream);
    }
    if (node->link != NULL) {
        link_close(node->link);
    }
    node->dial = NULL;
    node->handshake = NULL;
    node->stream = NULL;
    node->link = NULL;
    node->is_greeted = false;
    buf_wipe(&node->request);
    buf_wipe(&node->answer);
}

static void agent_node_pause(struct agent_node *node, uint64_t pause_ms)
{
    if (node->side->is_draining) {
        agent_node_free(node);
        return;
    }
    node->phase = AGENT_WAITS;
    timer_start(node->side->loop, &node->timer, agent_node_jitter(pause_ms));
}

static void agent_node_lost(struct agent_node *node, const struct error *error)
{
    const struct agent_pauses *pauses = &node->side->settings.pauses;
    bool was_greeted = node->is_greeted;
    bool is_drained = was_greeted && error->code == ERR_CLOSED;
    agent_node_stop(node);
    uint64_t pause_ms = was_greeted ? pauses->least_ms : node->pause_ms;
    uint64_t most_ms = pauses->most_ms / 3 * 2; /* the jitter comes on top */
    node->pause_ms = pause_ms * 2 < most_ms ? pause_ms * 2 : most_ms;
    log_line(LOG_TUNNEL, is_drained ? LOG_INFO : LOG_WARN,
             was_greeted ? "the link to the gateway is over" : "no link to the gateway",
             log_text("gateway", node->text), log_error_field(error),
             log_number("again_in_ms", (int64_t)pause_ms));
    agent_node_pause(node, pause_ms);
}

static void agent_node_fail(struct agent_node *node, enum err code, const char *message)
{
    struct error error = {0};
    must(fail(&error, code, "%s", message) == code);
    agent_node_lost(node, &error);
}

void agent_node_rest(struct agent_node *node)
{
    agent_node_stop(node);
    agent_node_pause(node, node->side->settings.pauses.most_ms / 3 * 2);
}

/* The link --------------------------------------------------------------------------------------
 */

static void agent_node_on_ended(void *owner, const struct error *error)
{
    struct agent_node *node = owner;
    node->link = NULL;
    agent_node_lost(node, error);
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

static void agent_node_on_hello(struct agent_node *node, struct channel *channel,
                                struct slice message)
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
    struct stream *stream = agent_side_answer_hello(node->side, channel);
    stream_own(stream, agent_hello_on_event, stream);
    stream_watch(stream, STREAM_READABLE);
    if (!node->is_greeted) {
        log_line(LOG_TUNNEL, LOG_INFO, "linked to the gateway", log_text("gateway", node->text),
                 log_text("agent", hello.agent_name), log_text("version", hello.version),
                 log_text("node", hello.node_id));
    }
    timer_stop(&node->timer);
    node->is_greeted = true;
    node->pause_ms = node->side->settings.pauses.least_ms;
    (void)snprintf(node->id, sizeof(node->id), "%.*s", SLICE_ARG(hello.node_id));
    agent_side_learn(node, &hello);
    arena_release(&arena);
}

static void agent_node_on_asked(void *owner, struct channel *channel, struct slice kind,
                                struct slice message)
{
    struct agent_node *node = owner;
    if (slice_equals(kind, SLICE(HELLO_KIND))) {
        agent_node_on_hello(node, channel, message);
    } else {
        agent_side_serve(node->side, channel, kind, message);
    }
}

static void agent_node_link(struct agent_node *node, struct slice waiting)
{
    struct stream *stream = node->stream;
    node->stream = NULL;
    node->phase = AGENT_LINKED;
    node->link = link_new(&(struct link_settings){
        .end = LINK_AGENT,
        .take_stream = stream,
        .waiting = waiting,
        .deadlines = node->side->settings.deadlines,
        .scratch = node->side->place.scratch,
        .on_asked = agent_node_on_asked,
        .on_ended = agent_node_on_ended,
        .owner = node,
    });
    timer_start(node->side->loop, &node->timer, LIMIT_TUNNEL_HELLO_MS);
}

/* The upgrade -----------------------------------------------------------------------------------
 */

static void agent_node_read_answer(struct agent_node *node)
{
    struct error error = {0};
    char *scratch = node->side->place.scratch;
    size_t len = 0;
    size_t size = 0;
    enum err err = stream_read(node->stream, scratch, LIMIT_READ_SIZE, &len);
    if (err == ERR_AGAIN) {
        return;
    }
    if (err != ERR_NONE) {
        bool is_tls = stream_is_encrypted(node->stream);
        if (!is_tls || tls_stream_explain(node->stream, &error) == ERR_NONE) {
            must(fail(&error, ERR_UNAVAILABLE, "the gateway closed the connection") != ERR_NONE);
        }
        agent_node_lost(node, &error);
        return;
    }
    must(buf_append(&node->answer, slice_of(scratch, len)) == ERR_NONE);
    err = upgrade_read(buf_view(&node->answer), &size, &error);
    if (err == ERR_NONE) {
        agent_node_link(node, slice_from(buf_view(&node->answer), size));
        buf_clear(&node->answer);
    } else if (err != ERR_MORE) {
        agent_node_lost(node, &error);
    }
}

static void agent_node_send_request(struct agent_node *node)
{
    while (node->request.len > 0) {
        struct slice bytes = buf_view(&node->request);
        size_t len = 0;
        enum err err = stream_write(node->stream, &bytes, 1, &len);
        if (err == ERR_AGAIN) {
            break;
        }
        if (err != ERR_NONE) {
            agent_node_fail(node, ERR_UNAVAILABLE, "the connection broke");
            return;
        }
        buf_consume(&node->request, len);
    }
    stream_watch(node->stream, node->request.len > 0 ? STREAM_WRITABLE : STREAM_READABLE);
    if (node->request.len == 0) {
        buf_wipe(&node->request);
    }
}

static void agent_node_on_event(void *owner, unsigned events)
{
    struct agent_node *node = owner;
    if ((events & STREAM_WRITABLE) != 0) {
        agent_node_send_request(node);
    } else if ((events & STREAM_READABLE) != 0) {
        agent_node_read_answer(node);
    }
}

static void agent_node_ask(struct agent_node *node, struct stream *take_stream)
{
    const struct agent_side_settings *settings = &node->side->settings;
    struct slice path = node->url.path;
    const struct upgrade_request request = {
        .authority = node->authority,
        .prefix = slice_ends_with(path, SLICE("/")) ? slice_sub(path, 0, path.len - 1) : path,
        .name = settings->name,
        .secret = settings->secret,
    };
    node->stream = take_stream;
    node->phase = AGENT_ASKS;
    stream_own(take_stream, agent_node_on_event, node);
    if (upgrade_write(&request, &node->request) != ERR_NONE) {
        agent_node_fail(node, ERR_INPUT, "the token or the URL cannot stand in a request");
        return;
    }
    timer_start(node->side->loop, &node->timer, LIMIT_TUNNEL_HELLO_MS);
    agent_node_send_request(node);
}

/* TLS and the connection ------------------------------------------------------------------------
 */

static void agent_node_on_shaken(void *owner, struct stream *take_stream, const struct error *error)
{
    struct agent_node *node = owner;
    node->handshake = NULL;
    if (take_stream == NULL) {
        agent_node_lost(node, error);
    } else {
        agent_node_ask(node, take_stream);
    }
}

static void agent_node_on_dialled(void *owner, struct stream *take_stream,
                                  const struct error *error)
{
    struct agent_node *node = owner;
    struct error failure = {0};
    struct stream *tls = NULL;
    node->dial = NULL;
    if (take_stream == NULL) {
        agent_node_lost(node, error);
        return;
    }
    if (!slice_equals_nocase(node->url.scheme, SLICE("https"))) {
        agent_node_ask(node, take_stream);
        return;
    }
    enum err err = tls_stream_new_client(node->side->settings.tls, node->url.host, take_stream,
                                         &tls, &failure);
    if (err != ERR_NONE) {
        agent_node_lost(node, &failure);
        return;
    }
    node->phase = AGENT_SHAKES_HANDS;
    node->handshake = tls_handshake_start(tls, LIMIT_TLS_HANDSHAKE_MS, agent_node_on_shaken, node);
}

static void agent_node_start(struct agent_node *node)
{
    const struct dial_request request = {
        .host = node->url.host,
        .port = node->url.port,
        .timeout_ms = LIMIT_TUNNEL_DIAL_MS,
    };
    node->phase = AGENT_DIALS;
    node->dial = dial_start(node->side->place.worker, node->side->place.resolver, &request,
                            agent_node_on_dialled, node);
}

static void agent_node_on_timer(void *owner)
{
    struct agent_node *node = owner;
    if (node->phase == AGENT_WAITS) {
        agent_node_start(node);
    } else {
        agent_node_fail(node, ERR_TIMEOUT, "the gateway does not answer");
    }
}

/* Life ------------------------------------------------------------------------------------------
 */

static void agent_node_on_task(void *owner)
{
    struct agent_node *node = owner;
    if (node->phase == AGENT_WAITS) {
        agent_node_start(node);
        return;
    }
    struct agent_side *side = node->side;
    arena_release(&node->arena);
    memory_free(node);
    agent_side_ended(side);
}

struct agent_node *agent_node_new(struct agent_side *side, struct slice url, bool is_first)
{
    struct agent_node *node = memory_new(sizeof(*node));
    node->side = side;
    node->is_first = is_first;
    node->is_listed = true;
    node->pause_ms = side->settings.pauses.least_ms;
    arena_init(&node->arena);
    node->text = arena_copy(&node->arena, url);
    must(url_parse(node->text, &node->url, NULL) == ERR_NONE);
    node->authority =
        arena_format(&node->arena, "%s%.*s%s:%u", node->url.is_ipv6 ? "[" : "",
                     SLICE_ARG(node->url.host), node->url.is_ipv6 ? "]" : "", node->url.port);
    buf_init(&node->request, LIMIT_KIB(16));
    buf_init(&node->answer, LIMIT_TUNNEL_ANSWER_SIZE + LIMIT_READ_SIZE);
    timer_init(&node->timer, agent_node_on_timer, node);
    loop_task_init(&node->task, agent_node_on_task, node);
    list_append(&side->nodes, &node->at);
    side->node_count++;
    loop_defer(side->loop, &node->task);
    return node;
}

void agent_node_drain(struct agent_node *node)
{
    if (node->phase == AGENT_LINKED) {
        link_drain(node->link);
    } else {
        agent_node_free(node);
    }
}

void agent_node_free(struct agent_node *node)
{
    if (node->phase == AGENT_GONE) {
        return;
    }
    agent_node_stop(node);
    node->phase = AGENT_GONE;
    list_remove(&node->at);
    node->side->node_count--;
    loop_defer(node->side->loop, &node->task);
}
