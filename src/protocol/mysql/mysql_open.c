/* SPDX-License-Identifier: MIT */
#include "protocol/mysql/mysql_open.h"

#include "base/limits.h"
#include "base/memory.h"
#include "base/must.h"
#include "protocol/mysql/mysql_command.h"
#include "protocol/mysql/mysql_ending.h"
#include "protocol/mysql/mysql_hello.h"
#include "protocol/mysql/mysql_target.h"
#include "wire/address.h"

/* Enough for one statement without a result. */
#define MYSQL_STOP_CAPABILITIES (MYSQLWIRE_PROTOCOL_41 | MYSQLWIRE_SECURE_CONNECTION)

/* As another process on this machine could listen there, but nobody in between can. */
static bool server_is_local(const struct target_server *server)
{
    struct address address;
    return slice_equals(server->host, SLICE("localhost")) ||
           (address_parse(server->host, &address) && address_is_loopback(&address));
}

/* A session ------------------------------------------------------------------------------------ */

struct mysql_open {
    struct opening opening;
    struct target_server server;
    struct dial *dial;
    struct mysql_target *target;
    struct mysql_secret *secret;
    struct mysql_target_settings settings;
    opened_fn on_done;
    void *owner;
    struct loop_task free_task;
};

static void open_free(void *owner)
{
    struct mysql_open *self = owner;
    target_server_release(&self->server);
    memory_free(self);
}

static void open_leave(struct mysql_open *self)
{
    mysql_secret_free(self->secret);
    self->secret = NULL;
    loop_defer(self->server.loop, &self->free_task);
}

static void open_on_target(void *owner, const struct arrival *arrival,
                           const struct target_failure *failure)
{
    struct mysql_open *self = owner;
    open_leave(self);
    self->on_done(self->owner, arrival, failure);
}

/* What a client sees of a server that cannot be reached: not where it is. */
static void open_fail(struct mysql_open *self, const struct error *error)
{
    struct target_failure failure = {.stage = TARGET_STAGE_NETWORK, .error = *error};
    const struct ending_words words = {.why = ENDING_CONNECTION,
                                       .message = SLICE("the target cannot be reached")};
    struct buf answer;
    buf_init(&answer, LIMIT_KIB(4));
    must(mysql_answer_write(&words, failure.code, &answer) == ERR_NONE);
    failure.answer = buf_view(&answer);
    open_leave(self);
    self->on_done(self->owner, NULL, &failure);
    buf_release(&answer);
}

static void open_on_connected(void *owner, struct stream *take_stream, const struct error *error)
{
    struct mysql_open *self = owner;
    self->dial = NULL;
    if (take_stream == NULL) {
        open_fail(self, error);
        return;
    }
    self->settings.take_secret = self->secret;
    self->secret = NULL;
    self->target = mysql_target_start(take_stream, &self->settings, open_on_target, self);
}

static struct slice open_attributes(struct arena *arena, const struct shape_pairs *parameters)
{
    struct buf buf;
    buf_init(&buf, LIMIT_MYSQL_ATTRIBUTES_SIZE);
    must(mysql_attributes_write(parameters, &buf) == ERR_NONE);
    struct slice attributes = arena_copy(arena, buf_view(&buf));
    buf_release(&buf);
    return attributes;
}

static void open_take_request(struct mysql_open *self, const struct open_request *request)
{
    const struct place *place = request->place;
    struct arena *arena = &self->server.arena;
    struct slice database = request->database.len > 0 ? request->database : place->database;
    struct secret password;
    self->settings = (struct mysql_target_settings){
        .server = &self->server,
        .user = arena_copy(arena, place->user),
        .database = arena_copy(arena, database),
        .attributes = open_attributes(arena, &request->parameters),
        .charset = mysql_charset_of(&request->parameters),
        .capabilities = request->version & MYSQL_SERVED_CAPABILITIES,
        .is_local = server_is_local(&self->server),
    };
    secret_init(&password);
    must(secret_set(&password, place->password) == ERR_NONE);
    self->secret = mysql_secret_new(&password);
}

static void open_cancel(struct opening *opening)
{
    struct mysql_open *self = CONTAINER_OF(opening, struct mysql_open, opening);
    if (self->dial != NULL) {
        dial_cancel(self->dial);
    } else {
        mysql_target_cancel(self->target);
    }
    open_leave(self);
}

struct opening *mysql_open_start(const struct dial_context *context,
                                 const struct open_request *request, opened_fn on_done, void *owner)
{
    struct mysql_open *self = memory_new(sizeof(*self));
    self->opening.cancel = open_cancel;
    target_server_init(&self->server, request->place, request->tls, worker_loop(context->worker),
                       request->timeout_ms);
    open_take_request(self, request);
    self->on_done = on_done;
    self->owner = owner;
    loop_task_init(&self->free_task, open_free, self);
    self->dial = target_server_dial(&self->server, context, open_on_connected, self);
    return &self->opening;
}

/* Killing what a session runs ------------------------------------------------------------------ */

struct mysql_stop {
    struct opening opening;
    struct opening *open; /* NULL: it has signed in */
    struct mysql_command *command;
    struct loop *loop;
    uint32_t number;
    uint64_t deadline_ms;
    stopped_fn on_done;
    void *owner;
    struct loop_task free_task;
};

static void stop_free(void *owner)
{
    memory_free(owner);
}

static void stop_end(struct mysql_stop *self, const struct error *error)
{
    loop_defer(self->loop, &self->free_task);
    self->on_done(self->owner, error);
}

static void stop_on_answer(void *owner, const struct error *error)
{
    struct mysql_stop *self = owner;
    self->command = NULL;
    stop_end(self, error);
}

static void stop_on_open(void *owner, const struct arrival *arrival,
                         const struct target_failure *failure)
{
    struct mysql_stop *self = owner;
    char text[48];
    uint64_t now = loop_now_ms(self->loop);
    self->open = NULL;
    if (failure != NULL) {
        stop_end(self, &failure->error);
        return;
    }
    (void)snprintf(text, sizeof(text), "KILL QUERY %u", self->number);
    self->command = mysql_command_start(arrival->take_stream, slice_of_text(text),
                                        self->deadline_ms > now ? self->deadline_ms - now : 1,
                                        stop_on_answer, self);
}

static void stop_cancel(struct opening *opening)
{
    struct mysql_stop *self = CONTAINER_OF(opening, struct mysql_stop, opening);
    if (self->open != NULL) {
        opening_cancel(self->open);
    } else {
        mysql_command_cancel(self->command);
    }
    loop_defer(self->loop, &self->free_task);
}

struct opening *mysql_stop_start(const struct dial_context *context,
                                 const struct stop_request *request, stopped_fn on_done,
                                 void *owner)
{
    struct mysql_stop *self = memory_new(sizeof(*self));
    const struct open_request open = {
        .place = request->place,
        .tls = request->tls,
        .database = SLICE(""),
        .version = MYSQL_STOP_CAPABILITIES,
        .timeout_ms = request->timeout_ms,
    };
    self->opening.cancel = stop_cancel;
    self->loop = worker_loop(context->worker);
    self->number = request->key.number;
    self->deadline_ms = loop_now_ms(self->loop) + request->timeout_ms;
    self->on_done = on_done;
    self->owner = owner;
    loop_task_init(&self->free_task, stop_free, self);
    self->open = mysql_open_start(context, &open, stop_on_open, self);
    return &self->opening;
}
