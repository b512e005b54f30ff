/* SPDX-License-Identifier: MIT */
/* The way to a target: the connection, and TLS from its first byte where the connection's SSLMODE
 * is require or stronger. Nobody signs in. */
#include "base/memory.h"
#include "base/must.h"
#include "protocol/target_server.h"
#include "protocol/tcp/tcp.h"

struct tcp_open {
    struct opening opening;
    struct target_server server; /* without TLS: it has no tls */
    struct dial *dial;
    struct tls_handshake *handshake;
    opened_fn on_done;
    void *owner;
    struct loop_task free_task;
};

static void tcp_open_free(void *owner)
{
    struct tcp_open *self = owner;
    target_server_release(&self->server);
    memory_free(self);
}

static void tcp_open_fail(struct tcp_open *self, enum target_stage stage, const struct error *error)
{
    struct target_failure failure = {.stage = stage, .error = *error};
    const struct ending_words words = {.why = ENDING_CONNECTION,
                                       .message = SLICE("the target cannot be reached")};
    struct buf answer;
    buf_init(&answer, TCP_ANSWER_SIZE_MAX);
    must(tcp_answer_write(&words, failure.code, &answer) == ERR_NONE);
    failure.answer = buf_view(&answer);
    loop_defer(self->server.loop, &self->free_task);
    self->on_done(self->owner, NULL, &failure);
    buf_release(&answer);
}

static void tcp_open_succeed(struct tcp_open *self, struct stream *take_stream)
{
    const struct arrival arrival = {.take_stream = take_stream,
                                    .key = {.secret = SLICE_NONE},
                                    .greeting = SLICE(""),
                                    .rest = SLICE("")};
    stream_watch(take_stream, 0);
    loop_defer(self->server.loop, &self->free_task);
    self->on_done(self->owner, &arrival, NULL);
}

static void tcp_open_on_encrypted(void *owner, struct stream *take_stream,
                                  const struct error *error)
{
    struct tcp_open *self = owner;
    self->handshake = NULL;
    if (take_stream == NULL) {
        tcp_open_fail(self, TARGET_STAGE_TLS, error);
    } else {
        tcp_open_succeed(self, take_stream);
    }
}

static void tcp_open_on_connected(void *owner, struct stream *take_stream,
                                  const struct error *error)
{
    struct tcp_open *self = owner;
    struct error problem;
    self->dial = NULL;
    if (take_stream == NULL) {
        tcp_open_fail(self, TARGET_STAGE_NETWORK, error);
    } else if (self->server.tls == NULL) {
        tcp_open_succeed(self, take_stream);
    } else if (target_server_encrypt(&self->server, take_stream, tcp_open_on_encrypted, self,
                                     &self->handshake, &problem) != ERR_NONE) {
        tcp_open_fail(self, TARGET_STAGE_TLS, &problem);
    }
}

static void tcp_open_cancel(struct opening *opening)
{
    struct tcp_open *self = CONTAINER_OF(opening, struct tcp_open, opening);
    if (self->dial != NULL) {
        dial_cancel(self->dial);
    } else {
        tls_handshake_cancel(self->handshake);
    }
    loop_defer(self->server.loop, &self->free_task);
}

struct opening *tcp_open_start(const struct dial_context *context,
                               const struct open_request *request, opened_fn on_done, void *owner)
{
    struct tcp_open *self = memory_new(sizeof(*self));
    const struct place *place = request->place;
    bool wants_tls = place->mode >= PLACE_TLS_REQUIRE;
    self->opening.cancel = tcp_open_cancel;
    target_server_init(&self->server, place, wants_tls ? request->tls : NULL,
                       worker_loop(context->worker), request->timeout_ms);
    self->on_done = on_done;
    self->owner = owner;
    loop_task_init(&self->free_task, tcp_open_free, self);
    self->dial = target_server_dial(&self->server, context, tcp_open_on_connected, self);
    return &self->opening;
}
