/* SPDX-License-Identifier: MIT */
#include "protocol/postgres/pg_open.h"

#include "base/arena.h"
#include "base/memory.h"
#include "base/must.h"
#include "io/tls_stream.h"
#include "protocol/postgres/pg_cancel.h"
#include "protocol/postgres/pg_ending.h"
#include "protocol/postgres/pg_target.h"
#include "protocol/target_server.h"
#include "wire/address.h"
#include "wire/pgwire_answer.h"

/* TLS as pg_encryption wants it --------------------------------------------------------------- */

struct pg_wrapping {
    struct tls_handshake *handshake;
    pg_tls_done_fn on_done;
    void *owner;
};

static void pg_wrapping_end(void *owner, struct stream *take_stream, const struct error *error)
{
    struct pg_wrapping wrapping = *(struct pg_wrapping *)owner;
    struct scram_end_point end_point = {.size = 0};
    memory_free(owner);
    if (take_stream != NULL) {
        struct buf hash;
        buf_init(&hash, sizeof(end_point.bytes));
        if (tls_stream_end_point(take_stream, &hash) == ERR_NONE && hash.len > 0) {
            memcpy(end_point.bytes, buf_view(&hash).at, hash.len);
            end_point.size = hash.len;
        }
        buf_release(&hash);
    }
    wrapping.on_done(wrapping.owner, take_stream, end_point.size > 0 ? &end_point : NULL, error);
}

static void *pg_server_wrap(void *context, struct stream *take_stream, pg_tls_done_fn on_done,
                            void *owner)
{
    const struct target_server *server = context;
    struct tls_handshake *handshake = NULL;
    struct error error;
    struct pg_wrapping *wrapping = memory_new(sizeof(*wrapping));
    wrapping->on_done = on_done;
    wrapping->owner = owner;
    if (target_server_encrypt(server, take_stream, pg_wrapping_end, wrapping, &handshake, &error) !=
        ERR_NONE) {
        memory_free(wrapping);
        on_done(owner, NULL, NULL, &error);
        return NULL;
    }
    wrapping->handshake = handshake;
    return wrapping;
}

static void pg_wrapping_cancel(void *at)
{
    struct pg_wrapping *wrapping = at;
    tls_handshake_cancel(wrapping->handshake);
    memory_free(wrapping);
}

static struct pg_encryption_settings pg_server_encryption(struct target_server *server)
{
    return (struct pg_encryption_settings){
        .mode = server->mode,
        .tls = {.wrap = pg_server_wrap, .cancel = pg_wrapping_cancel, .context = server},
    };
}

/* Another process on this machine could listen where the server should be, but nobody in between
 * can: a password in clear text stays here. */
static bool pg_server_is_local(const struct target_server *server)
{
    struct address address;
    return slice_equals(server->host, SLICE("localhost")) ||
           (address_parse(server->host, &address) && address_is_loopback(&address));
}

/* A session ----------------------------------------------------------------------------------- */

struct pg_open {
    struct opening opening;
    struct target_server server;
    struct dial *dial;
    struct pg_target *target;
    struct pg_secret *secret;
    struct slice user;
    struct slice database;
    struct pgwire_parameter *parameters;
    size_t parameter_count;
    uint32_t version;
    opened_fn on_done;
    void *owner;
    struct loop_task free_task;
};

static void pg_open_free(void *owner)
{
    struct pg_open *self = owner;
    target_server_release(&self->server);
    memory_free(self);
}

static void pg_open_leave(struct pg_open *self)
{
    pg_secret_free(self->secret);
    self->secret = NULL;
    loop_defer(self->server.loop, &self->free_task);
}

static void pg_open_on_target(void *owner, const struct arrival *ready,
                              const struct target_failure *failure)
{
    struct pg_open *self = owner;
    pg_open_leave(self);
    self->on_done(self->owner, ready, failure);
}

/* What a client sees of a server that cannot be reached: not where it is. */
static void pg_open_fail(struct pg_open *self, const struct error *error)
{
    struct target_failure failure = {.stage = TARGET_STAGE_NETWORK, .error = *error};
    const struct ending_words words = {.why = ENDING_CONNECTION,
                                       .message = SLICE("the target cannot be reached")};
    struct buf answer;
    buf_init(&answer, LIMIT_KIB(4));
    must(pg_answer_write(&words, failure.code, &answer) == ERR_NONE);
    failure.answer = buf_view(&answer);
    pg_open_leave(self);
    self->on_done(self->owner, NULL, &failure);
    buf_release(&answer);
}

static void pg_open_on_connected(void *owner, struct stream *take_stream, const struct error *error)
{
    struct pg_open *self = owner;
    self->dial = NULL;
    if (take_stream == NULL) {
        pg_open_fail(self, error);
        return;
    }
    const struct pg_target_settings settings = {
        .user = self->user,
        .database = self->database,
        .parameters = self->parameters,
        .parameter_count = self->parameter_count,
        .version = self->version,
        .encryption = pg_server_encryption(&self->server),
        .take_secret = self->secret,
        .is_local = pg_server_is_local(&self->server),
        .timeout_ms = target_server_left_ms(&self->server),
    };
    self->secret = NULL;
    self->target = pg_target_start(take_stream, &settings, pg_open_on_target, self);
}

static void pg_open_take_request(struct pg_open *self, const struct open_request *request)
{
    const struct place *place = request->place;
    struct arena *arena = &self->server.arena;
    struct slice database = request->database.len > 0 ? request->database : place->database;
    size_t count = request->parameters.count;
    self->user = arena_copy(arena, place->user);
    self->database = arena_copy(arena, database);
    self->version = request->version;
    self->parameter_count = count;
    self->parameters = arena_alloc_array(arena, count, sizeof(*self->parameters));
    for (size_t i = 0; i < count; i++) {
        self->parameters[i] = (struct pgwire_parameter){
            .name = arena_copy(arena, request->parameters.pairs[i].key),
            .value = arena_copy(arena, request->parameters.pairs[i].value),
        };
    }
}

static struct pg_secret *pg_open_secret(const struct dial_context *context, struct slice text)
{
    struct secret password;
    if (text.len == 0) {
        return NULL;
    }
    secret_init(&password);
    must(secret_set(&password, text) == ERR_NONE);
    return pg_secret_new(context->worker, context->pool, context->cache, &password);
}

static void pg_open_cancel(struct opening *opening)
{
    struct pg_open *self = CONTAINER_OF(opening, struct pg_open, opening);
    if (self->dial != NULL) {
        dial_cancel(self->dial);
    } else {
        pg_target_cancel(self->target);
    }
    pg_open_leave(self);
}

struct opening *pg_open_start(const struct dial_context *context,
                              const struct open_request *request, opened_fn on_done, void *owner)
{
    struct pg_open *self = memory_new(sizeof(*self));
    self->opening.cancel = pg_open_cancel;
    target_server_init(&self->server, request->place, request->tls, worker_loop(context->worker),
                       request->timeout_ms);
    pg_open_take_request(self, request);
    self->secret = pg_open_secret(context, request->place->password);
    self->on_done = on_done;
    self->owner = owner;
    loop_task_init(&self->free_task, pg_open_free, self);
    self->dial = target_server_dial(&self->server, context, pg_open_on_connected, self);
    return &self->opening;
}

/* A cancel request ---------------------------------------------------------------------------- */

struct pg_stop {
    struct opening opening;
    struct target_server server;
    struct dial *dial;
    struct pg_cancel *cancel;
    struct cancel_key key;
    stopped_fn on_done;
    void *owner;
    struct loop_task free_task;
};

static void pg_stop_free(void *owner)
{
    struct pg_stop *self = owner;
    explicit_bzero((char *)(uintptr_t)self->key.secret.at, self->key.secret.len);
    target_server_release(&self->server);
    memory_free(self);
}

static void pg_stop_end(void *owner, const struct error *error)
{
    struct pg_stop *self = owner;
    loop_defer(self->server.loop, &self->free_task);
    self->on_done(self->owner, error);
}

static void pg_stop_on_connected(void *owner, struct stream *take_stream, const struct error *error)
{
    struct pg_stop *self = owner;
    self->dial = NULL;
    if (take_stream == NULL) {
        pg_stop_end(self, error);
        return;
    }
    const struct pg_cancel_settings settings = {
        .encryption = pg_server_encryption(&self->server),
        .key = self->key,
        .timeout_ms = target_server_left_ms(&self->server),
    };
    self->cancel = pg_cancel_start(take_stream, &settings, pg_stop_end, self);
}

static void pg_stop_cancel(struct opening *opening)
{
    struct pg_stop *self = CONTAINER_OF(opening, struct pg_stop, opening);
    if (self->dial != NULL) {
        dial_cancel(self->dial);
    } else {
        pg_cancel_abort(self->cancel);
    }
    loop_defer(self->server.loop, &self->free_task);
}

struct opening *pg_stop_start(const struct dial_context *context,
                              const struct stop_request *request, stopped_fn on_done, void *owner)
{
    struct pg_stop *self = memory_new(sizeof(*self));
    self->opening.cancel = pg_stop_cancel;
    target_server_init(&self->server, request->place, request->tls, worker_loop(context->worker),
                       request->timeout_ms);
    self->key.number = request->key.number;
    self->key.secret = arena_copy(&self->server.arena, request->key.secret);
    self->on_done = on_done;
    self->owner = owner;
    loop_task_init(&self->free_task, pg_stop_free, self);
    self->dial = target_server_dial(&self->server, context, pg_stop_on_connected, self);
    return &self->opening;
}
