/* SPDX-License-Identifier: MIT */
/* The client's side: TLS, unless it came over HTTP, which has it; one line that proves who it is,
 * one line that answers (tcp.h). */
#include "base/memory.h"
#include "base/must.h"
#include "base/writer.h"
#include "identity/native_credential.h"
#include "io/tls_stream.h"
#include "protocol/front_exchange.h"
#include "protocol/tcp/tcp.h"

struct tcp_front {
    struct front_exchange exchange;
    struct tls_server *tls;
    struct arena arena;           /* wiped */
    char proof[NATIVE_HASH_SIZE]; /* the hash of what the client sent */
};

static struct tcp_front *tcp_front_of(struct front_exchange *exchange)
{
    return CONTAINER_OF(exchange, struct tcp_front, exchange);
}

static void tcp_front_free(struct front_exchange *exchange)
{
    struct tcp_front *self = tcp_front_of(exchange);
    buf_wipe(&exchange->input);
    buf_wipe(&exchange->output);
    arena_release(&self->arena);
    tls_server_unref(self->tls);
    memory_free(self);
}

static void tcp_front_end(struct tcp_front *self, struct slice message)
{
    const struct ending_words words = {.message = message, .hint = SLICE("")};
    front_exchange_end(&self->exchange, &words);
}

static void tcp_front_take_line(struct tcp_front *self, struct slice text)
{
    struct tcp_line line;
    if (!tcp_line_read(text, &line)) {
        tcp_front_end(self, SLICE("the first line must be 'GATEHOUSE' and the secret"));
        return;
    }
    native_credential_hash(line.secret, self->proof);
    struct slice name = line.name;
    if (name.len == 0 && self->tls != NULL) {
        name = tls_stream_server_name(self->exchange.stream);
    }
    if (name.len == 0) {
        tcp_front_end(self, SLICE("no connection is named, neither by TLS (SNI) nor in the line"));
        return;
    }
    front_exchange_ask(&self->exchange, arena_copy(&self->arena, name));
}

static void tcp_front_take(struct front_exchange *exchange)
{
    struct tcp_front *self = tcp_front_of(exchange);
    struct slice input = buf_view(&exchange->input);
    size_t end = slice_find_byte(input, '\n');
    if (end < input.len) {
        struct slice line = arena_copy(&self->arena, slice_sub(input, 0, end));
        buf_consume(&exchange->input, end + 1);
        tcp_front_take_line(self, line);
    } else if (exchange->input.len == exchange->input.size_max) {
        tcp_front_end(self, SLICE("the first line is too long"));
    }
}

static const struct exchange_ops tcp_exchange_ops = {
    .take = tcp_front_take,
    .write_words = tcp_answer_write,
    .free = tcp_front_free,
};

/* The owner's calls ---------------------------------------------------------------------------- */

static struct front *tcp_front_start(struct stream *take_stream, const struct front_config *config,
                                     const struct front_events *events, void *owner)
{
    struct tcp_front *self = memory_new(sizeof(*self));
    struct front_exchange *exchange = &self->exchange;
    must(config->tls != NULL || config->is_guest);
    exchange->front.ops = &tcp_front_ops;
    exchange->ops = &tcp_exchange_ops;
    exchange->events = events;
    exchange->owner = owner;
    buf_init(&exchange->input, TCP_LINE_SIZE_MAX);
    buf_init(&exchange->output, TCP_ANSWER_SIZE_MAX);
    self->tls = config->tls == NULL ? NULL : tls_server_ref(config->tls);
    arena_init(&self->arena);
    arena_hold_secrets(&self->arena);
    exchange->stream = take_stream;
    if (self->tls != NULL) {
        must(tls_stream_new(self->tls, take_stream, &exchange->stream) == ERR_NONE);
    }
    front_exchange_start(exchange, config->authentication_ms);
    return &exchange->front;
}

/* All of them are compared, so that the time says nothing of which. */
static void tcp_front_answer(struct front *front, const struct front_verifiers *verifiers)
{
    struct front_exchange *exchange = CONTAINER_OF(front, struct front_exchange, front);
    struct tcp_front *self = tcp_front_of(exchange);
    size_t found = verifiers->count;
    if (exchange->state != EXCHANGE_ASKING) {
        return; /* it is on its way out */
    }
    for (size_t i = 0; i < verifiers->count; i++) {
        if (native_credential_is_hash(verifiers->hashes[i], self->proof)) {
            found = i;
        }
    }
    if (found == verifiers->count) {
        front_exchange_reject(exchange, SLICE("the connection or the secret is wrong"));
    } else {
        front_exchange_prove(exchange, found);
    }
}

static enum err tcp_front_open(struct front *front, const struct arrival *arrival,
                               const struct cancel_key *key)
{
    (void)arrival;
    (void)key;
    return front_exchange_open(front, SLICE(TCP_OK));
}

static struct hello tcp_front_hello_in(struct arena *arena, const struct front *front)
{
    (void)arena;
    return (struct hello){
        .name = CONTAINER_OF_CONST(front, struct front_exchange, front)->name,
        .database = SLICE(""),
        .application_name = SLICE(""),
        .metadata_hint = "A connection of TCP has no way to give them.",
    };
}

const struct front_ops tcp_front_ops = {
    .start = tcp_front_start,
    .answer = tcp_front_answer,
    .open = tcp_front_open,
    .cancelled = front_exchange_cancelled,
    .refuse = front_exchange_refuse,
    .hello_in = tcp_front_hello_in,
    .close = front_exchange_close,
};
